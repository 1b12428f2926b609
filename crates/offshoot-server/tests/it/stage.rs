//! Golden logs, folded.

use offshoot_server::acp::{Fold, Form};
use offshoot_types::event::Entry;
use offshoot_types::id::{AgentId, TreeId};
use serde_json::Value;

/// The stories that the tests of every projection share.
macro_rules! log {
    ($name:literal) => {
        include_str!(concat!(
            "../../../offshoot-types/tests/golden/logs/",
            $name,
            ".jsonl"
        ))
    };
}
pub(crate) use log;

/// All of them, with their names.
pub(crate) const LOGS: &[(&str, &str)] = &[
    ("abort", log!("abort")),
    ("again", log!("again")),
    ("background", log!("background")),
    ("badagent", log!("badagent")),
    ("blocking", log!("blocking")),
    ("denied", log!("denied")),
    ("failed", log!("failed")),
    ("nested", log!("nested")),
    ("parts", log!("parts")),
    ("perm-hooks", log!("perm-hooks")),
    ("plain", log!("plain")),
    ("tool", log!("tool")),
];

pub(crate) fn entries(log: &str) -> Vec<Entry> {
    let lines = log.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) fn fold(form: Form) -> Fold {
    Fold::new(TreeId::of(AgentId::new("root")), form)
}

/// Folds a log from its beginning to its end.
pub(crate) fn folded(log: &str, form: Form) -> (Fold, Vec<Value>) {
    let mut fold = fold(form);
    let mut told = Vec::new();
    for entry in entries(log) {
        let values = fold.entry(&entry).into_iter();
        told.extend(values.map(|one| serde_json::to_value(one).unwrap()));
    }
    (fold, told)
}

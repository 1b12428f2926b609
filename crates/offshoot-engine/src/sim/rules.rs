//! The rules of a history: in every fourth, some have a person asked about the engine's own calls.

use std::sync::Arc;

use offshoot_types::permission::charter::{Charter, NoCharter};
use offshoot_types::permission::{Action, Layer, Rule, Standing};

struct Asking(Vec<Rule>);

/// Returns who has a say in a history before any agent has.
pub(crate) fn charter(seed: u64) -> Arc<dyn Charter> {
    if seed % 4 != 1 {
        return Arc::new(NoCharter);
    }
    let ask = |permission: &str, pattern: &str| Rule::new(permission, pattern, Action::Ask);
    Arc::new(Asking(match (seed / 4) % 3 {
        0 => vec![ask("task", "*")],
        1 => vec![ask("*", "*"), Rule::new("read", "*", Action::Allow)],
        _ => vec![
            ask("task", "worker"),
            ask("message", "*"),
            Rule::new("task", "watched", Action::Deny),
        ],
    }))
}

impl Charter for Asking {
    fn layers(&self, _workspace: &str) -> Vec<Layer> {
        vec![Layer {
            name: "the user's rules".to_owned(),
            rules: self.0.clone(),
            standing: Standing::Grants,
            ..Layer::default()
        }]
    }
}

//! What agents changed in files, from the journal: shown, or put back.
//!
//! Pure: records and what stands there now in, a plan out. A change was recorded
//! before it was made, so the last may not have been. A file is put back only
//! where nobody else has touched it since: not another agent, not a person.

use std::collections::{BTreeMap, BTreeSet};

use offshoot_types::id::AgentId;
use offshoot_types::journal::Recorded;
use similar::TextDiff;

use crate::render;

/// What some agents did to one file, taken together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) path: String,
    /// What stood there before; `None` where there was no file.
    pub(crate) before: Option<Vec<u8>>,
    /// What stood there after; `None` where there was no file.
    pub(crate) after: Option<Vec<u8>>,
    /// Why it cannot be put back, if it cannot.
    pub(crate) kept: Option<String>,
}

/// Collects what some agents did, file by file; `now` reads what stands there.
pub(crate) fn collect(
    records: &[Recorded],
    agents: &BTreeSet<AgentId>,
    mut now: impl FnMut(&str) -> Option<Vec<u8>>,
) -> Vec<FileChange> {
    let mut paths: BTreeMap<&str, Vec<&Recorded>> = BTreeMap::new();
    for record in records {
        paths.entry(&record.change.path).or_default().push(record);
    }
    let mut changes = Vec::new();
    for (path, history) in paths {
        let made = made(&history, now(path).as_ref());
        let own = |record: &&&Recorded| agents.contains(&record.writer.agent);
        let (Some(first), Some(last)) = (
            made.iter().position(|record| own(&record)),
            made.iter().rfind(own),
        ) else {
            continue;
        };
        let change = FileChange {
            path: path.to_owned(),
            before: made[first].change.before.clone(),
            after: last.change.after.clone(),
            kept: touched(&made[first..], agents, now(path).as_ref()),
        };
        if change.before != change.after {
            changes.push(change);
        }
    }
    changes
}

/// Leaves out what was recorded and then not made: the process died in between.
fn made<'a>(history: &[&'a Recorded], now: Option<&Vec<u8>>) -> Vec<&'a Recorded> {
    let mut made = Vec::new();
    for (index, record) in history.iter().enumerate() {
        let next = match history.get(index + 1) {
            Some(next) => next.change.before.as_ref(),
            None => now,
        };
        let change = &record.change;
        let is_undone = next == change.before.as_ref() && next != change.after.as_ref();
        if !is_undone {
            made.push(*record);
        }
    }
    made
}

/// Says who else touched a file since the first of these changes, if anybody did.
fn touched(
    made: &[&Recorded],
    agents: &BTreeSet<AgentId>,
    now: Option<&Vec<u8>>,
) -> Option<String> {
    let mut expected = made.first()?.change.before.as_ref();
    for record in made {
        let writer = &record.writer;
        if record.change.before.as_ref() != expected {
            return Some(
                "somebody who is no agent of this session edited it in between".to_owned(),
            );
        }
        if !agents.contains(&writer.agent) {
            let agent = render::short(&writer.agent);
            return Some(format!("{} {agent} edited it later", writer.definition));
        }
        expected = record.change.after.as_ref();
    }
    match (now == expected, now) {
        (true, _) => None,
        (false, Some(_)) => Some("it was edited since".to_owned()),
        (false, None) => Some("it was removed since".to_owned()),
    }
}

/// Renders a change as a unified diff; `shown` is the path as people see it.
pub(crate) fn diff(change: &FileChange, shown: &str) -> String {
    let shown = render::harmless(shown);
    let name = |side: char, content: &Option<Vec<u8>>| match content {
        Some(_) => format!("{side}/{shown}"),
        None => "/dev/null".to_owned(),
    };
    let (old, new) = (name('a', &change.before), name('b', &change.after));
    let text = |content: &Option<Vec<u8>>| match content {
        Some(bytes) => String::from_utf8(bytes.clone()).ok(),
        None => Some(String::new()),
    };
    let (Some(before), Some(after)) = (text(&change.before), text(&change.after)) else {
        return format!("Binary files {old} and {new} differ\n");
    };
    TextDiff::configure()
        .timeout(std::time::Duration::from_secs(2))
        .diff_lines(&before, &after)
        .unified_diff()
        .header(&old, &new)
        .to_string()
}

#[cfg(test)]
mod tests {
    use offshoot_types::id::{CallId, Timestamp};
    use offshoot_types::journal::{Change, Writer};

    use super::*;

    fn text(content: &str) -> Option<Vec<u8>> {
        (content != "-").then(|| content.as_bytes().to_vec())
    }

    fn record(agent: &str, before: &str, after: &str) -> Recorded {
        Recorded {
            writer: Writer {
                agent: AgentId::new(agent),
                definition: "general".to_owned(),
                at: Timestamp::new(0),
            },
            call: CallId::new("c"),
            change: Change {
                path: "/w/f".to_owned(),
                before: text(before),
                after: text(after),
            },
        }
    }

    /// Checks what agent `a` did to the file, which is `now`; `-` is no file.
    #[track_caller]
    fn check(
        history: &[(&str, &str, &str)],
        now: &str,
        expected: Option<(&str, &str, Option<&str>)>,
    ) {
        let records: Vec<Recorded> = history
            .iter()
            .map(|(agent, before, after)| record(agent, before, after))
            .collect();
        let agents = BTreeSet::from([AgentId::new("a")]);
        let found = collect(&records, &agents, |_| text(now));
        let expected: Vec<FileChange> = expected
            .into_iter()
            .map(|(before, after, kept)| FileChange {
                path: "/w/f".to_owned(),
                before: text(before),
                after: text(after),
                kept: kept.map(str::to_owned),
            })
            .collect();
        assert_eq!(found, expected, "{history:?} {now}");
    }

    #[test]
    fn changes_of_one_agent_are_one_change() {
        check(&[("a", "-", "1")], "1", Some(("-", "1", None)));
        check(
            &[("a", "1", "2"), ("a", "2", "3")],
            "3",
            Some(("1", "3", None)),
        );
        check(&[("a", "1", "2"), ("a", "2", "1")], "1", None);
        check(&[("b", "1", "2")], "2", None);
    }

    #[test]
    fn what_was_recorded_and_not_made_does_not_count() {
        check(&[("a", "1", "2")], "1", None);
        check(
            &[("a", "1", "2"), ("a", "1", "3")],
            "3",
            Some(("1", "3", None)),
        );
        check(
            &[("a", "1", "2"), ("a", "2", "3")],
            "2",
            Some(("1", "2", None)),
        );
    }

    #[test]
    fn a_file_that_somebody_else_touched_is_kept() {
        let since = "it was edited since";
        check(&[("a", "1", "2")], "x", Some(("1", "2", Some(since))));
        let removed = "it was removed since";
        check(&[("a", "1", "2")], "-", Some(("1", "2", Some(removed))));
        let later = "general b edited it later";
        let both = [("a", "1", "2"), ("b", "2", "3")];
        check(&both, "3", Some(("1", "2", Some(later))));
        let first = [("b", "1", "2"), ("a", "2", "3")];
        check(&first, "3", Some(("2", "3", None)));
        let between = "somebody who is no agent of this session edited it in between";
        let edited = [("a", "1", "2"), ("a", "x", "3")];
        check(&edited, "3", Some(("1", "3", Some(between))));
    }

    #[test]
    fn a_change_is_shown_as_a_diff() {
        let change = FileChange {
            path: "/w/f".to_owned(),
            before: None,
            after: text("one\n"),
            kept: None,
        };
        assert_eq!(
            diff(&change, "f"),
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+one\n"
        );
        let binary = FileChange {
            before: Some(vec![0xff]),
            ..change
        };
        assert_eq!(diff(&binary, "f"), "Binary files a/f and b/f differ\n");
    }
}

//! What agents changed in files, from the journal: shown, or put back.
//!
//! Pure: records, how their calls ended and what stands there now in, a plan out.
//! A change was recorded before it was made, so it may not have been. Changes of
//! others in between are not ours: what was done before and after them is told
//! apart. A file is put back only where nobody else has touched it since: not
//! another agent, not a person.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use offshoot_types::id::AgentId;
use offshoot_types::journal::Recorded;
use offshoot_types::outcome::{Body, ErrorKind, Outcome};
use similar::TextDiff;

use crate::render;

/// What some agents did to one file in a row, taken together.
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

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Now {
    /// Nothing.
    Absent,
    /// A file that an agent may have written.
    File(Vec<u8>),
    /// What no agent wrote, in words.
    Other(String),
}

impl Now {
    /// Tells whether it is this content; `None` is no file.
    pub(crate) fn is(&self, content: Option<&Vec<u8>>) -> bool {
        match self {
            Self::Absent => content.is_none(),
            Self::File(now) => content == Some(now),
            Self::Other(_) => false,
        }
    }
}

/// What the log says of whether a change was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing, or that it was: it counts unless what stands there tells otherwise.
    Likely,
    /// Its call failed: it counts only where what stands there tells so.
    Doubtful,
    /// It was not: the file was found to be another one, or the call was stopped before.
    Unmade,
}

impl Fate {
    /// Judges by the outcome of the call; `None` if it has none.
    pub(crate) fn of(outcome: Option<&Outcome>) -> Self {
        match outcome.map(|outcome| &outcome.body) {
            None | Some(Body::Output(_)) => Self::Likely,
            Some(Body::Error { kind, .. }) => match kind {
                ErrorKind::Conflict | ErrorKind::Cancelled => Self::Unmade,
                // It was cut off, and nobody knows where.
                ErrorKind::Interrupted => Self::Likely,
                ErrorKind::InvalidInput
                | ErrorKind::UnknownTool
                | ErrorKind::Denied
                | ErrorKind::Failed
                | ErrorKind::TooLarge
                | ErrorKind::UnknownAgent
                | ErrorKind::WrongMode
                | ErrorKind::Depth
                | ErrorKind::Caps
                | ErrorKind::AbortedByParent
                | ErrorKind::ChildFailed => Self::Doubtful,
            },
        }
    }
}

/// Collects what some agents did, file by file and in order; `now` looks at a path, once.
pub(crate) fn collect(
    records: &[Recorded],
    agents: &BTreeSet<AgentId>,
    fate: impl Fn(&Recorded) -> Fate,
    mut now: impl FnMut(&str) -> Now,
) -> Vec<FileChange> {
    let mut paths: BTreeMap<&str, Vec<(&Recorded, Fate)>> = BTreeMap::new();
    for record in records {
        let fate = fate(record);
        if fate != Fate::Unmade {
            let history = paths.entry(&record.change.path).or_default();
            history.push((record, fate));
        }
    }
    let mut changes = Vec::new();
    for (path, history) in paths {
        let now = now(path);
        let made = made(&history, &now);
        let mut rest = made.as_slice();
        while let Some(first) = rest.first() {
            let length = in_a_row(rest, agents);
            if length == 0 {
                rest = &rest[1..];
                continue;
            }
            let after = rest[length - 1].change.after.as_ref();
            rest = &rest[length..];
            let before = first.change.before.as_ref();
            if before != after {
                changes.push(FileChange {
                    path: path.to_owned(),
                    before: before.cloned(),
                    after: after.cloned(),
                    kept: touched(after, rest.first(), &now),
                });
            }
        }
    }
    changes
}

/// Leaves out what was recorded and then not made.
fn made<'a>(history: &[(&'a Recorded, Fate)], now: &Now) -> Vec<&'a Recorded> {
    let mut made = Vec::new();
    for (index, (record, fate)) in history.iter().enumerate() {
        let stood = |content: Option<&Vec<u8>>| match history.get(index + 1) {
            Some((next, _)) => next.change.before.as_ref() == content,
            None => now.is(content),
        };
        let change = &record.change;
        let [before, after] =
            [&change.before, &change.after].map(|content| stood(content.as_ref()));
        let counts = match fate {
            Fate::Likely => after || !before,
            Fate::Doubtful => after,
            Fate::Unmade => false,
        };
        if counts {
            made.push(*record);
        }
    }
    made
}

/// Counts the first changes that are of these agents, each going on where the last one ended.
fn in_a_row(made: &[&Recorded], agents: &BTreeSet<AgentId>) -> usize {
    let own = |record: &Recorded| agents.contains(&record.writer.agent);
    if !made.first().is_some_and(|first| own(first)) {
        return 0;
    }
    let follows = |pair: &&[&Recorded]| {
        own(pair[1]) && pair[0].change.after.as_ref() == pair[1].change.before.as_ref()
    };
    1 + made.windows(2).take_while(follows).count()
}

/// Says who else touched a file after changes that left it with `after`, if anybody did.
fn touched(after: Option<&Vec<u8>>, next: Option<&&Recorded>, now: &Now) -> Option<String> {
    if let Some(Recorded { writer, change, .. }) = next {
        if change.before.as_ref() != after {
            return Some(
                "somebody who is no agent of this session edited it in between".to_owned(),
            );
        }
        let agent = render::short(&writer.agent);
        return Some(format!("{} {agent} edited it later", writer.definition));
    }
    match now {
        now if now.is(after) => None,
        Now::File(_) => Some("it was edited since".to_owned()),
        Now::Absent => Some("it was removed since".to_owned()),
        Now::Other(what) => Some(what.clone()),
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

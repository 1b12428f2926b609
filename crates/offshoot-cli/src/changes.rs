//! What agents changed in files, from the journal: shown, or put back.
//!
//! Pure: records, how their calls ended and what stands there now in, a plan out.
//! A change was recorded before it was made, so it may not have been; and it may
//! have been put back. Changes of others in between are not ours: what was done
//! before and after them is told apart. A file is put back only where nobody else
//! has touched it since: not another agent, not a person. Contents are told apart
//! by their ids; what they say is read when it is shown.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use offshoot_types::id::{AgentId, Timestamp};
use offshoot_types::journal::{ContentId, Traced};
use offshoot_types::outcome::{Body, ErrorKind, Outcome};
use similar::TextDiff;

use crate::render;

/// What some agents did to one file in a row, taken together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) path: String,
    /// When the first of it was recorded.
    pub(crate) since: Timestamp,
    /// What stood there before; `None` where there was no file.
    pub(crate) before: Option<ContentId>,
    /// What stood there after; `None` where there was no file.
    pub(crate) after: Option<ContentId>,
    /// Why it cannot be put back, if it cannot.
    pub(crate) kept: Option<Kept>,
}

/// Why a change cannot be put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Somebody else has touched the file; in words.
    Touched(String),
    /// Nobody knows whether it was made.
    Unknown,
}

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Now {
    /// Nothing.
    Absent,
    /// A file that the journal knows.
    Known(ContentId),
    /// A file that it does not.
    Unknown,
    /// What no agent wrote, in words.
    Other(String),
}

/// The changes of one file, in order.
pub(crate) type History<'a> = Vec<(&'a Traced, Fate)>;

impl Kept {
    /// Says why in words.
    pub(crate) fn why(&self) -> &str {
        match self {
            Self::Touched(why) => why,
            Self::Unknown => "it was interrupted and may not have been made",
        }
    }
}

impl Now {
    /// Tells whether it is this content; `None` is no file.
    pub(crate) fn is(&self, content: Option<ContentId>) -> bool {
        match self {
            Self::Absent => content.is_none(),
            Self::Known(now) => content == Some(*now),
            Self::Unknown | Self::Other(_) => false,
        }
    }
}

/// What the log says of whether a change was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// That it was: it counts unless what stands there tells otherwise.
    Likely,
    /// Nothing: it was cut off, or goes on. It counts where what stands there tells so, and is told of
    /// where that tells nothing.
    Unknown,
    /// Its call failed: it counts only where what stands there tells so.
    Doubtful,
    /// It was not: the file was found to be another one, or the call was stopped before.
    Unmade,
}

impl Fate {
    /// Judges by the outcome of the call; `None` if it has none.
    pub(crate) fn of(outcome: Option<&Outcome>) -> Self {
        match outcome.map(|outcome| &outcome.body) {
            None => Self::Unknown,
            Some(Body::Output(_)) => Self::Likely,
            Some(Body::Error { kind, .. }) => match kind {
                ErrorKind::Conflict | ErrorKind::Cancelled => Self::Unmade,
                // Nobody knows where.
                ErrorKind::Interrupted => Self::Unknown,
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

/// Sorts records by their files; what was not made is left out.
pub(crate) fn histories(
    records: &[Traced],
    fate: impl Fn(&Traced) -> Fate,
) -> BTreeMap<&str, History<'_>> {
    let mut files: BTreeMap<&str, History<'_>> = BTreeMap::new();
    for record in records {
        let fate = fate(record);
        if fate != Fate::Unmade {
            files.entry(&record.path).or_default().push((record, fate));
        }
    }
    files
}

/// Collects what some agents did to a file, in order.
pub(crate) fn of_file(
    history: &History<'_>,
    agents: &BTreeSet<AgentId>,
    now: &Now,
) -> Vec<FileChange> {
    let Told { made, unknown } = made(history, now);
    let mut changes = Vec::new();
    let mut rest = made.as_slice();
    while let Some(first) = rest.first() {
        let length = in_a_row(rest, agents);
        if length == 0 {
            rest = &rest[1..];
            continue;
        }
        let after = rest[length - 1].after;
        rest = &rest[length..];
        if first.before != after {
            changes.push(FileChange {
                after,
                kept: touched(after, rest.first(), now).map(Kept::Touched),
                ..alone(first)
            });
        }
    }
    let own = unknown.into_iter();
    let own = own.filter(|record| agents.contains(&record.writer.agent));
    changes.extend(own.map(|record| FileChange {
        kept: Some(Kept::Unknown),
        ..alone(record)
    }));
    changes
}

fn alone(record: &Traced) -> FileChange {
    FileChange {
        path: record.path.clone(),
        since: record.writer.at,
        before: record.before,
        after: record.after,
        kept: None,
    }
}

/// What was recorded of a file, told apart.
struct Told<'a> {
    /// What was made and has not been put back.
    made: Vec<&'a Traced>,
    /// What nobody knows of.
    unknown: Vec<&'a Traced>,
}

/// Leaves out what was recorded and then not made, or put back.
fn made<'a>(history: &History<'a>, now: &Now) -> Told<'a> {
    let mut made: Vec<&Traced> = Vec::new();
    let mut unknown = Vec::new();
    for (index, (record, fate)) in history.iter().enumerate() {
        let stood = |content: Option<ContentId>| match history.get(index + 1) {
            Some((next, _)) => next.before == content,
            None => now.is(content),
        };
        let (before, after) = (stood(record.before), stood(record.after));
        match fate {
            Fate::Likely => made.push(record),
            Fate::Unknown | Fate::Doubtful if after => made.push(record),
            Fate::Unknown if !before => unknown.push(*record),
            Fate::Unknown | Fate::Doubtful | Fate::Unmade => {}
        }
        if !made.last().is_some_and(|last| stood(last.after)) {
            put_back(&mut made, stood);
        }
    }
    Told { made, unknown }
}

/// Takes away the last changes if the file stood afterwards as it had before them.
///
/// That is what putting back does, with one change or with several in a row.
fn put_back(made: &mut Vec<&Traced>, stood: impl Fn(Option<ContentId>) -> bool) {
    for index in (0..made.len()).rev() {
        if stood(made[index].before) {
            made.truncate(index);
            return;
        }
        if index > 0 && made[index - 1].after != made[index].before {
            return;
        }
    }
}

/// Counts the first changes that are of these agents, each going on where the last one ended.
fn in_a_row(made: &[&Traced], agents: &BTreeSet<AgentId>) -> usize {
    let own = |record: &Traced| agents.contains(&record.writer.agent);
    if !made.first().is_some_and(|first| own(first)) {
        return 0;
    }
    let follows = |pair: &&[&Traced]| own(pair[1]) && pair[0].after == pair[1].before;
    1 + made.windows(2).take_while(follows).count()
}

/// Says who else touched a file after changes that left it with `after`, if anybody did.
fn touched(after: Option<ContentId>, next: Option<&&Traced>, now: &Now) -> Option<String> {
    if let Some(Traced { writer, before, .. }) = next {
        if *before != after {
            return Some(
                "somebody who is no agent of this session edited it in between".to_owned(),
            );
        }
        let agent = render::short(&writer.agent);
        return Some(format!("{} {agent} edited it later", writer.definition));
    }
    match now {
        now if now.is(after) => None,
        Now::Known(_) | Now::Unknown => Some("it was edited since".to_owned()),
        Now::Absent => Some("it was removed since".to_owned()),
        Now::Other(what) => Some(what.clone()),
    }
}

/// Renders a change as a unified diff; `shown` is the path as people see it.
pub(crate) fn diff(before: Option<Vec<u8>>, after: Option<Vec<u8>>, shown: &str) -> String {
    let shown = render::harmless(shown);
    let name = |side: char, content: &Option<Vec<u8>>| match content {
        Some(_) => format!("{side}/{shown}"),
        None => "/dev/null".to_owned(),
    };
    let (old, new) = (name('a', &before), name('b', &after));
    let text = |content: Option<Vec<u8>>| String::from_utf8(content.unwrap_or_default()).ok();
    let (Some(before), Some(after)) = (text(before), text(after)) else {
        return format!("Binary files {old} and {new} differ\n");
    };
    if before == after {
        // An empty file that was made or removed: there is no line to show.
        return format!("--- {old}\n+++ {new}\n");
    }
    TextDiff::configure()
        .timeout(std::time::Duration::from_secs(2))
        .diff_lines(&before, &after)
        .unified_diff()
        .header(&old, &new)
        .to_string()
}

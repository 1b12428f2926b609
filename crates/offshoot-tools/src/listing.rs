//! An answer of many lines, shown as far as it is short.
//!
//! The first lines go into the answer. Once there are more than may be shown, all
//! of them go to a sidecar as well. In brackets at the end stands what the reader
//! has to know of the rest.

use std::io::{BufWriter, IntoInnerError, Write as _};
use std::path::Path;

use offshoot_types::json::RawJson;
use offshoot_types::outcome::Outcome;
use offshoot_types::tool::Place;

use crate::patience::Enough;
use crate::sidecar::{self, Finished, Sidecar};
use crate::target::Root;
use crate::walk::Walked;

/// Most bytes of an answer, with its notes. Less than the engine shows a model of an outcome (its
/// `MAX_ITEM_BYTES`), which of what is longer leaves out the middle.
pub(crate) const ANSWER_BYTES: usize = 200 * 1024;

/// Most bytes of what was found or read that an answer shows. Notes have room of their own.
pub(crate) const MOST_BYTES: usize = ANSWER_BYTES - ROOM_FOR_NOTES;

/// What the notes of an answer may take: they name at most one path, of 4 KiB at most.
const ROOM_FOR_NOTES: usize = 6 * 1024;

/// An answer in the making.
pub(crate) struct Listing<'a> {
    place: &'a Place,
    tool: &'static str,
    /// What a line is called, in the plural.
    unit: &'static str,
    most: usize,
    head: String,
    shown: usize,
    lines: usize,
    rest: Rest,
}

/// Where the lines go that are not shown.
enum Rest {
    /// All are shown.
    None,
    Sidecar(BufWriter<Sidecar>),
    /// Nowhere, and why.
    Lost(String),
}

impl<'a> Listing<'a> {
    /// Begins an answer that shows at most so many lines.
    pub(crate) fn new(
        place: &'a Place,
        tool: &'static str,
        unit: &'static str,
        most: usize,
    ) -> Self {
        Self {
            place,
            tool,
            unit,
            most,
            head: String::new(),
            shown: 0,
            lines: 0,
            rest: Rest::None,
        }
    }

    /// Adds a line.
    pub(crate) fn push(&mut self, line: &str) {
        self.lines += 1;
        let fits = self.shown < self.most && self.head.len() + line.len() < MOST_BYTES;
        if matches!(self.rest, Rest::None) {
            if fits {
                self.head.push_str(line);
                self.head.push('\n');
                self.shown += 1;
                return;
            }
            self.rest = self.begin_rest();
        }
        if let Rest::Sidecar(sidecar) = &mut self.rest
            && let Err(error) = writeln!(sidecar, "{line}")
        {
            self.rest = Rest::Lost(format!("the rest could not be kept: {error}"));
        }
    }

    /// Returns how many lines were added.
    pub(crate) fn lines(&self) -> usize {
        self.lines
    }

    /// Ends the answer with what the walk did not see and a summary.
    pub(crate) fn finish(self, walked: &Walked, notes: &[String], summary: &str) -> Outcome {
        let Self {
            unit,
            mut head,
            shown,
            lines,
            rest,
            ..
        } = self;
        let (where_rest, path) = end_rest(rest);
        let mut note = |text: &str| {
            head.push('[');
            head.push_str(text);
            head.push_str("]\n");
        };
        if let Some(where_rest) = &where_rest {
            note(&format!(
                "truncated: {shown} of {lines} {unit} shown; {where_rest}"
            ));
        }
        let is_late = walked.enough == Some(Enough::OutOfTime);
        if is_late {
            note("truncated: stopped after 30 seconds, there may be more; search in a subfolder");
        }
        if walked.overfull {
            note("truncated: a folder has too many files to look at all of them");
        }
        if walked.unreadable > 0 {
            let count = walked.unreadable;
            note(&format!("folders that could not be read: {count}"));
        }
        if walked.narrowed {
            note("files that rules keep from this search are left out, if there are any");
        }
        notes.iter().for_each(|text| note(text));
        head.push_str(summary);
        let outcome = Outcome::output(RawJson::of(&head));
        if where_rest.is_some() || is_late || walked.overfull {
            sidecar::truncated(outcome, path)
        } else {
            outcome
        }
    }

    fn begin_rest(&self) -> Rest {
        let begun = Sidecar::create(self.place, self.tool).and_then(|sidecar| {
            let mut sidecar = sidecar.map(BufWriter::new);
            if let Some(sidecar) = &mut sidecar {
                sidecar.write_all(self.head.as_bytes())?;
            }
            Ok(sidecar)
        });
        match begun {
            Ok(Some(sidecar)) => Rest::Sidecar(sidecar),
            Ok(None) => {
                Rest::Lost("the rest is not kept, for there is no scratch folder".to_owned())
            }
            Err(error) => Rest::Lost(format!("the rest could not be kept: {error}")),
        }
    }
}

/// Says where the rest is and returns the path of that; `None` where there is no rest.
fn end_rest(rest: Rest) -> (Option<String>, Option<String>) {
    let sidecar = match rest {
        Rest::None => return (None, None),
        Rest::Lost(why) => return (Some(why), None),
        Rest::Sidecar(sidecar) => sidecar,
    };
    let flushed = sidecar.into_inner().map_err(IntoInnerError::into_error);
    match flushed.and_then(Sidecar::finish) {
        Ok(Finished {
            path,
            kept,
            is_whole,
        }) => {
            let kept = match kept {
                _ if is_whole => format!("all of them are in {path}"),
                sidecar::MOST_BYTES => format!("the first 10 MB of them are in {path}"),
                bytes => {
                    let full = sidecar::FULL;
                    format!("the first {bytes} bytes of them are in {path}, for {full}")
                }
            };
            (Some(kept), Some(path))
        }
        Err(error) => {
            let why = format!("the rest could not be kept: {error}");
            (Some(why), None)
        }
    }
}

/// Names a file on one line: from the workspace, or absolute in the scratch folder.
pub(crate) fn name(root: &Root, path: &Path) -> String {
    match path.to_str() {
        Some(path) if !path.chars().any(char::is_control) => root.name(path),
        Some(path) => format!("{:?}", root.name(path)),
        None => format!("{path:?}"),
    }
}

/// Counts things in words.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    let word = if number == 1 { one } else { many };
    format!("{number} {word}")
}

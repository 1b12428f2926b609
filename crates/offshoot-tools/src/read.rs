//! `read`: the text of a file, or some lines of it.
//!
//! Reads regular files only and never waits for one: what could block is opened
//! without blocking and refused. Memory is bounded by the most that is returned,
//! whatever the file's size or the length of its lines.

use std::fs::File;
use std::io::{self, Read as _};
use std::num::NonZeroUsize;

use futures_core::future::BoxFuture;
use offshoot_types::cancel::Cancel;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use rustix::fs::FileType;
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::json;

use crate::target::Target;
use crate::{blocking, confined};

/// Most bytes of a file that one call returns.
const MOST_BYTES: usize = 200 * 1024;

/// The tool.
pub(crate) struct Read {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    #[serde(default)]
    offset: Option<NonZeroUsize>,
    #[serde(default)]
    limit: Option<NonZeroUsize>,
}

impl Read {
    pub(crate) fn new() -> Self {
        let description = "Reads a text file and returns its content as it is. Give `offset` and \
             `limit` to read some lines of a long file. Returns at most 200 KB and says where to \
             read on. Does not list folders (use glob) or search (use grep), and does not read \
             binary files or follow links.";
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "Path of the file: from the workspace, or absolute inside it or the scratch folder."
                },
                "offset": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "First line to read; the first of the file is 1."
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "How many lines to read."
                }
            },
            "required": ["path"],
            "additionalProperties": false
        });
        Self {
            spec: ToolSpec::new("read", description, &parameters, Effect::Read),
        }
    }
}

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn requires(&self) -> &[&'static str] {
        &[Need::FS_READ]
    }

    fn needs(&self, arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String> {
        let (target, _) = parse(arguments, place)?;
        Ok(vec![Need::new(Need::FS_READ, target.absolute())])
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        Box::pin(blocking::run(move || {
            match parse(&work.arguments, &work.place) {
                Ok((target, window)) => read(&target, window, &work.cancel),
                Err(text) => Outcome::error(ErrorKind::InvalidInput, text),
            }
        }))
    }
}

fn parse(arguments: &RawJson, place: &Place) -> Result<(Target, Window), String> {
    let Arguments {
        path,
        offset,
        limit,
    } = arguments
        .read()
        .map_err(|error| format!("take the arguments of read: {error}"))?;
    let window = Window {
        first: offset.map_or(1, NonZeroUsize::get),
        count: limit.map_or(usize::MAX, NonZeroUsize::get),
    };
    Ok((Target::new(&path, place)?, window))
}

/// Which lines are wanted, counted from 1.
#[derive(Clone, Copy)]
struct Window {
    first: usize,
    count: usize,
}

fn read(target: &Target, window: Window, cancel: &Cancel) -> Outcome {
    let excerpt = match open(target).and_then(|file| collect(target, file, window, cancel)) {
        Ok(Some(excerpt)) => excerpt,
        Ok(None) => {
            let text = format!("read {}: cancelled", target.shown());
            return Outcome::error(ErrorKind::Cancelled, text);
        }
        Err(why) => {
            let text = format!("read {}: {why}", target.shown());
            return Outcome::error(ErrorKind::Failed, text);
        }
    };
    let truncated = excerpt.truncated;
    let mut outcome = Outcome::output(RawJson::of(&excerpt.into_text(window)));
    if truncated {
        outcome.metadata.truncated = Some(true);
        outcome.metadata.output_path = Some(target.absolute());
    }
    outcome
}

fn open(target: &Target) -> Result<File, String> {
    let explain = |errno| confined::explain(target, errno);
    let root = confined::root(target.root())?.ok_or_else(|| explain(Errno::NOENT))?;
    let file = confined::open(&root, target.relative(), confined::READ).map_err(explain)?;
    let stat = rustix::fs::fstat(&file).map_err(explain)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        return Err("it is a folder; use glob to list what is in it".to_owned());
    }
    confined::regular(&stat)?;
    Ok(File::from(file))
}

/// The lines that were wanted, as far as they fit.
struct Excerpt {
    bytes: Vec<u8>,
    /// The line after the last byte taken.
    next: usize,
    truncated: bool,
}

/// Reads until the window is full; `None` when cancelled.
fn collect(
    target: &Target,
    mut file: File,
    window: Window,
    cancel: &Cancel,
) -> Result<Option<Excerpt>, String> {
    let mut buffer = vec![0; 64 * 1024];
    let mut excerpt = Excerpt {
        bytes: Vec::new(),
        next: 1,
        truncated: false,
    };
    let mut ends_in_newline = true;
    loop {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let length = match file.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.to_string()),
        };
        let piece = &buffer[..length];
        if piece.contains(&0) {
            return Err("it is a binary file, not text".to_owned());
        }
        let Some(last) = piece.last() else {
            break;
        };
        ends_in_newline = *last == b'\n';
        if excerpt.take(piece, window) {
            return Ok(Some(excerpt));
        }
    }
    let lines = excerpt.next - usize::from(ends_in_newline);
    if window.first > lines.max(1) {
        let first = window.first;
        let shown = target.shown();
        return Err(format!(
            "{shown} has {lines} lines, so none at offset {first}"
        ));
    }
    Ok(Some(excerpt))
}

impl Excerpt {
    /// Takes what is wanted of the next piece of the file; true when nothing more is.
    fn take(&mut self, piece: &[u8], window: Window) -> bool {
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            if self.next >= window.first {
                if self.next - window.first >= window.count {
                    return true;
                }
                let room = MOST_BYTES - self.bytes.len();
                self.bytes.extend_from_slice(&line[..line.len().min(room)]);
                if line.len() > room {
                    self.truncated = true;
                    return true;
                }
            }
            self.next += usize::from(line.ends_with(b"\n"));
        }
        false
    }

    fn into_text(mut self, window: Window) -> String {
        if !self.truncated {
            return lossy(self.bytes);
        }
        // Whole lines are easier to read on from; a line that does not fit alone is cut.
        let whole = self.bytes.iter().rposition(|byte| *byte == b'\n');
        let note = match whole {
            Some(end) => {
                self.bytes.truncate(end + 1);
                let (first, last, next) = (window.first, self.next - 1, self.next);
                format!(
                    "[truncated: lines {first} to {last} are shown; read on with offset {next}]"
                )
            }
            None => {
                let line = self.next;
                let next = line + 1;
                format!(
                    "\n[truncated: line {line} is too long to show; the next is at offset {next}]"
                )
            }
        };
        lossy(self.bytes) + &note
    }
}

/// Decodes text; a character that was cut in half at the end is dropped.
fn lossy(mut bytes: Vec<u8>) -> String {
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

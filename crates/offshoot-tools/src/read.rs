//! `read`: the text of a file, or some lines of it.
//!
//! Reads regular files only and never waits for one: what could block is opened
//! without blocking and refused. Memory is bounded by the most that is returned,
//! whatever the file's size or the length of its lines. Where the session has a client
//! with text files, the text is the client's, which may not be saved.

use std::fs::File;
use std::io::{self, Read as _};
use std::num::NonZeroUsize;

use futures_core::future::BoxFuture;
use offshoot_types::content::{Attached, AttachmentError, Part, image_type};
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use rustix::fs::FileType;
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::json;

use crate::patience::{self, Enough, Patience};
use crate::refusal::Refusal;
use crate::target::Target;
use crate::{blocking, change, client_text, confined, listing, whole};

/// Most bytes of a file that one call returns.
const MOST_BYTES: usize = listing::MOST_BYTES;

/// Most bytes that are read of a picture; the session's limits refuse fewer.
const MOST_OF_PICTURE: u64 = 64 * 1024 * 1024;

/// The tool.
pub(crate) struct Read {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    #[serde(default, deserialize_with = "whole::from_one")]
    offset: Option<NonZeroUsize>,
    #[serde(default, deserialize_with = "whole::from_one")]
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
        if work.takes_images {
            return Box::pin(read_text_or_image(work));
        }
        Box::pin(read_text(work))
    }
}

async fn read_text(work: Work) -> Outcome {
    let (target, window) = match parse(&work.arguments, &work.place) {
        Ok(parsed) => parsed,
        Err(text) => return Outcome::error(ErrorKind::InvalidInput, text),
    };
    let text = client_text(&work, &target).await;
    let read = move |patience: &Patience| match text {
        Some(text) => read(&target, Ok(text.as_slice()), window, patience),
        None => read(&target, open(&target), window, patience),
    };
    patience::search(work.cancel.clone(), patience::TIME, read).await
}

/// Returns the text that the client has of a file; `None` where the disk is to be read.
///
/// That is also where the client has no such file, or fails: what is on disk is then the best there is.
async fn client_text(work: &Work, target: &Target) -> Option<Vec<u8>> {
    work.files.as_ref()?;
    // A link, a folder or a file that is too large is for the disk to refuse or to read. The client
    // resolves the path by itself, so it is looked at again behind the answer.
    let look = || {
        blocking::attempt({
            let target = target.clone();
            move || change::content(&target)
        })
    };
    let on_disk = look().await.ok()?.ok()?;
    let text = client_text::ask(work, target, on_disk.as_deref())
        .await
        .ok()??;
    look().await.ok()?.ok()?;
    text.content.filter(|text| !text.contains(&0))
}

/// Returns a picture as an image that the model sees, and anything else as text.
async fn read_text_or_image(work: Work) -> Outcome {
    let (arguments, place) = (work.arguments.clone(), work.place.clone());
    let Ok(picture) = blocking::attempt(move || picture(&arguments, &place)).await else {
        return read_text(work).await;
    };
    let Some((target, bytes)) = picture else {
        return read_text(work).await;
    };
    let attempted = format!("read {}", target.shown());
    // The file was a picture when it was opened.
    let Some(media_type) = image_type(&bytes) else {
        return read_text(work).await;
    };
    let length = bytes.len() as u64;
    let digest = match work.blobs.store(bytes).await {
        Ok(digest) => digest,
        Err(error) => {
            let kind = match error {
                AttachmentError::TooLarge { .. } | AttachmentError::SessionFull { .. } => {
                    ErrorKind::TooLarge
                }
                _ => ErrorKind::Failed,
            };
            return Outcome::error(kind, format!("{attempted}: {error}"));
        }
    };
    let image = Part::Image(Attached {
        digest,
        media_type: media_type.to_owned(),
        bytes: length,
        name: Some(target.shown().to_string()),
        uri: None,
    });
    let text = format!("{} is an image.", target.shown());
    Outcome::output(RawJson::of(&text)).with(image)
}

/// Reads a picture, up to one byte more than any limit lets through; `None` if it is none.
fn picture(arguments: &RawJson, place: &Place) -> Option<(Target, Vec<u8>)> {
    let (target, _) = parse(arguments, place).ok()?;
    let mut file = open(&target).ok()?;
    let mut bytes = Vec::new();
    file.by_ref().take(16).read_to_end(&mut bytes).ok()?;
    image_type(&bytes)?;
    file.take(MOST_OF_PICTURE).read_to_end(&mut bytes).ok()?;
    Some((target, bytes))
}

/// Returns the first `most` bytes of a file, or why it cannot be read.
pub(crate) fn bytes(place: &Place, path: &str, most: u64) -> Result<Vec<u8>, String> {
    let target = Target::new(path, place)?;
    let file = open(&target).map_err(|refusal| {
        let refused = refusal.into_outcome(&format!("read {}", target.shown()));
        refused.for_model()
    })?;
    let mut bytes = Vec::new();
    let read = file.take(most).read_to_end(&mut bytes);
    read.map_err(|error| format!("read {}: {error}", target.shown()))?;
    Ok(bytes)
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

fn read(
    target: &Target,
    source: Result<impl io::Read, Refusal>,
    window: Window,
    patience: &Patience,
) -> Outcome {
    let excerpt = source.and_then(|source| collect(target, source, window, patience));
    let (text, truncated) = match excerpt {
        Ok(excerpt) => excerpt.into_text(window),
        Err(refusal) => return refusal.into_outcome(&format!("read {}", target.shown())),
    };
    let mut outcome = Outcome::output(RawJson::of(&text));
    if truncated {
        outcome.metadata.truncated = Some(true);
        outcome.metadata.output_path = Some(target.absolute());
    }
    outcome
}

fn open(target: &Target) -> Result<File, Refusal> {
    let explain = |errno| Refusal::from(confined::explain(target, errno));
    let root = confined::root(target.root())?.ok_or_else(|| explain(Errno::NOENT))?;
    let file = confined::open(&root, target.relative(), confined::READ).map_err(explain)?;
    let stat = rustix::fs::fstat(&file).map_err(explain)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        return Err("it is a folder; use glob to list what is in it".into());
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
    /// What is known of a line that does not fit alone.
    long: Option<Long>,
}

/// A line that does not fit alone.
#[derive(Default)]
struct Long {
    /// As far as it has been read.
    bytes: u64,
    /// Whether all of it has been read.
    ended: bool,
    /// Whether something comes after it.
    followed: bool,
}

/// Reads until the window is full.
fn collect(
    target: &Target,
    mut source: impl io::Read,
    window: Window,
    patience: &Patience,
) -> Result<Excerpt, Refusal> {
    let mut buffer = vec![0; 64 * 1024];
    let mut excerpt = Excerpt {
        bytes: Vec::new(),
        next: 1,
        truncated: false,
        long: None,
    };
    let mut ends_in_newline = true;
    loop {
        match patience.ends() {
            None => {}
            Some(Enough::Cancelled) => return Err(Refusal::cancelled()),
            // There is something to show; only how long the line is stays open.
            Some(Enough::OutOfTime) if excerpt.long.is_some() => return Ok(excerpt),
            Some(Enough::OutOfTime) => {
                let why = "stopped after 30 seconds; use bash to read so far into a large file";
                return Err(why.into());
            }
        }
        let length = match source.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.to_string().into()),
        };
        let piece = &buffer[..length];
        if piece.contains(&0) {
            return Err("it is a binary file, not text".into());
        }
        let Some(last) = piece.last() else {
            break;
        };
        ends_in_newline = *last == b'\n';
        if excerpt.take(piece, window) {
            return Ok(excerpt);
        }
    }
    if let Some(long) = &mut excerpt.long {
        long.ended = true;
        return Ok(excerpt);
    }
    let lines = excerpt.next - usize::from(ends_in_newline);
    if window.first > lines.max(1) {
        let first = window.first;
        let shown = target.shown();
        return Err(format!("{shown} has {lines} lines, so none at offset {first}").into());
    }
    Ok(excerpt)
}

impl Excerpt {
    /// Takes what is wanted of the next piece of the file; true when nothing more is.
    fn take(&mut self, piece: &[u8], window: Window) -> bool {
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            if let Some(long) = &mut self.long {
                if long.ended {
                    long.followed = true;
                    return true;
                }
                long.take(line);
                continue;
            }
            if self.next >= window.first {
                if self.next - window.first >= window.count {
                    return true;
                }
                let room = MOST_BYTES - self.bytes.len();
                self.bytes.extend_from_slice(&line[..line.len().min(room)]);
                if line.len() > room {
                    self.truncated = true;
                    if self.bytes.contains(&b'\n') {
                        return true;
                    }
                    let mut long = Long {
                        bytes: (self.bytes.len() - room) as u64,
                        ..Long::default()
                    };
                    long.take(line);
                    self.long = Some(long);
                    continue;
                }
            }
            self.next += usize::from(line.ends_with(b"\n"));
        }
        false
    }

    /// Returns what is shown, and whether that is less than was wanted.
    fn into_text(self, window: Window) -> (String, bool) {
        let mut text = lossy(self.bytes);
        // What is no text grows when it is made text.
        let fits = text.len() <= MOST_BYTES;
        if fits && !self.truncated {
            return (text, false);
        }
        text.truncate(text.floor_char_boundary(MOST_BYTES));
        // Whole lines are easier to read on from; a line that does not fit alone is cut.
        let first = window.first;
        let note = if let Some(end) = text.rfind('\n') {
            text.truncate(end + 1);
            let next = first + text.matches('\n').count();
            let last = next - 1;
            format!("[truncated: lines {first} to {last} are shown; read on with offset {next}]")
        } else {
            self.long.unwrap_or_default().note(first, text.len())
        };
        (text + &note, true)
    }
}

impl Long {
    fn take(&mut self, line: &[u8]) {
        self.ended = line.ends_with(b"\n");
        self.bytes += (line.len() - usize::from(self.ended)) as u64;
    }

    /// Says how much of a line is shown, and where to go on. There is no offset within a line.
    fn note(&self, line: usize, shown: usize) -> String {
        let bytes = if self.ended {
            self.bytes.to_string()
        } else {
            format!("more than {}", self.bytes.max(shown as u64))
        };
        let next = if self.followed {
            format!("; the next line is at offset {}", line + 1)
        } else {
            String::new()
        };
        format!(
            "\n[truncated: line {line} has {bytes} bytes; the first {shown} are shown; use bash to \
             see the rest{next}]"
        )
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

//! `write`: a whole file, at once or not at all.
//!
//! The text goes to a new file beside the target, which is then renamed over it:
//! whoever reads the target sees the old text or the new, also after a crash. It
//! does not edit, append or change what is not a regular file.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_core::future::BoxFuture;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::json;

use crate::target::Target;
use crate::{blocking, confined};

/// The tool.
pub(crate) struct Write {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    content: String,
}

impl Write {
    pub(crate) fn new() -> Self {
        let description = "Writes a text file in the workspace: creates it, with the folders on \
             the way, or replaces all it contains. Give the whole content. Does not append.";
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "Path of the file, from the workspace or absolute inside it."
                },
                "content": {
                    "type": "string",
                    "description": "All that the file shall contain."
                }
            },
            "required": ["path", "content"],
            "additionalProperties": false
        });
        Self {
            spec: ToolSpec {
                id: "write".to_owned(),
                description: description.to_owned(),
                parameters: RawJson::of(&parameters),
                effect: Effect::Write,
            },
        }
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self, arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String> {
        let (target, _) = parse(arguments, place)?;
        Ok(vec![Need {
            capability: "fs.write".to_owned(),
            target: target.absolute(),
        }])
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        Box::pin(blocking::run(move || {
            match parse(&work.arguments, &work.place) {
                // Once begun it is carried through: a short write is quicker than explaining half of one.
                Ok((target, _)) if work.cancel.is_cancelled() => {
                    let text = format!("write {}: cancelled", target.shown());
                    Outcome::error(ErrorKind::Cancelled, text)
                }
                Ok((target, content)) => write(&target, &content),
                Err(text) => Outcome::error(ErrorKind::InvalidInput, text),
            }
        }))
    }
}

fn parse(arguments: &RawJson, place: &Place) -> Result<(Target, String), String> {
    let Arguments { path, content } = arguments
        .read()
        .map_err(|error| format!("take the arguments of write: {error}"))?;
    if path.ends_with('/') {
        return Err(format!("`{path}` names a folder; give the path of a file"));
    }
    Ok((Target::new(&path, place)?, content))
}

fn write(target: &Target, content: &str) -> Outcome {
    let shown = target.shown();
    match replace(target, content) {
        Ok(before) => {
            let did = match before {
                Before::Absent => "created",
                Before::File(_) => "replaced",
            };
            let text = format!("{did} {shown}, {} bytes", content.len());
            Outcome::output(RawJson::of(&text))
        }
        Err(why) => Outcome::error(ErrorKind::Failed, format!("write {shown}: {why}")),
    }
}

/// What stood at the target before.
enum Before {
    Absent,
    /// A file, whose mode the new one takes over.
    File(Mode),
}

fn replace(target: &Target, content: &str) -> Result<Before, String> {
    let Some((folders, name)) = target.folder_and_name() else {
        return Err("it is the workspace, not a file".to_owned());
    };
    let explain = |errno| confined::explain(target, errno);
    let mut folder = confined::made_root(target.root())?;
    for part in folders.split('/').filter(|part| *part != ".") {
        let mode = Mode::from_raw_mode(0o777);
        folder = confined::enter(&folder, part, mode).map_err(explain)?;
    }
    let before = look(&folder, name, target)?;
    let (draft, file) = create_draft(&folder).map_err(explain)?;
    let result = fill(file, content, &before)
        .and_then(|()| rustix::fs::renameat(&folder, &draft, &folder, name).map_err(explain));
    match result {
        Ok(()) => Ok(before),
        Err(why) => match rustix::fs::unlinkat(&folder, &draft, AtFlags::empty()) {
            Ok(()) => Err(why),
            Err(errno) => Err(format!("{why}; {draft} stays behind: {errno}")),
        },
    }
}

fn look(folder: &OwnedFd, name: &str, target: &Target) -> Result<Before, String> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
            Err(confined::explain(target, Errno::LOOP))
        }
        Ok(stat) => {
            confined::regular(&stat)?;
            Ok(Before::File(Mode::from_raw_mode(stat.st_mode)))
        }
        Err(Errno::NOENT) => Ok(Before::Absent),
        Err(errno) => Err(confined::explain(target, errno)),
    }
}

/// Creates a new, empty file under a name that nobody else has.
fn create_draft(folder: &OwnedFd) -> Result<(String, File), Errno> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let draft = format!(".offshoot-{}-{number}.tmp", std::process::id());
        match rustix::fs::openat(folder, &draft, flags, Mode::from_raw_mode(0o666)) {
            // Left behind by a process of the same number; take the next name.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
            Ok(file) => return Ok((draft, File::from(file))),
        }
    }
}

fn fill(mut file: File, content: &str, before: &Before) -> Result<(), String> {
    if let Before::File(mode) = before {
        rustix::fs::fchmod(&file, *mode).map_err(|errno| errno.to_string())?;
    }
    // Synced before the rename: a crash must not leave the name without the text.
    file.write_all(content.as_bytes())
        .and_then(|()| file.sync_data())
        .map_err(|error| error.to_string())
}

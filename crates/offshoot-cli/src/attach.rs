//! Files that go with a prompt: those of `--attach`, and those that `@path` in the prompt names.
//!
//! What a file is, is decided by its bytes: a picture goes as an image, anything else as a file,
//! whatever its name says. A word that names no file of the workspace stays what it is, a word. The
//! prompt itself is never changed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use offshoot_engine::{CommandError, Runtime};
use offshoot_types::content::{Content, Part, image_type, media_type};
use offshoot_types::id::AgentId;

use crate::exit::Stop;

/// A file that was read, before a session has it.
pub(crate) struct Attachment {
    name: String,
    media_type: &'static str,
    bytes: Vec<u8>,
}

/// Reads the files of `--attach`. One that cannot be read is refused before anything is opened.
pub(crate) fn read(files: &[PathBuf], most: u64) -> Result<Vec<Attachment>, Stop> {
    let files = files.iter().map(|file| {
        let shown = file.display();
        let attachment =
            open(file, most).and_then(|file| file.ok_or(io::ErrorKind::IsADirectory.into()));
        match attachment {
            Ok(attachment) if attachment.bytes.len() as u64 > most => Err(Stop::usage(format!(
                "attach {shown}: it has more than {most} bytes, which is the limit"
            ))),
            Ok(attachment) => Ok(attachment),
            Err(error) => Err(Stop::usage(format!("attach {shown}: {error}"))),
        }
    });
    files.collect()
}

/// Reads the files of a workspace that a prompt names as `@path`, each once.
pub(crate) fn mentioned(prompt: &str, workspace: &Path, most: u64) -> Vec<Attachment> {
    let Ok(workspace) = workspace.canonicalize() else {
        return Vec::new();
    };
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut found = Vec::new();
    let words = prompt.split_whitespace();
    for word in words.filter_map(|word| word.strip_prefix('@')) {
        // A sentence may end behind the path.
        let bare = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
        let path = [word, bare].into_iter().find_map(|name| {
            let path = workspace.join(name).canonicalize().ok()?;
            path.starts_with(&workspace).then_some(path)
        });
        let Some(path) = path.filter(|path| !seen.contains(path)) else {
            continue;
        };
        if let Ok(Some(mut attachment)) = open(&path, most) {
            let inside = path.strip_prefix(&workspace).unwrap_or(&path);
            attachment.name = inside.to_string_lossy().into_owned();
            found.push(attachment);
        }
        seen.push(path);
    }
    found
}

/// Reads a file, as far as it is taken and one byte more; `None` if it is no file.
fn open(path: &Path, most: u64) -> io::Result<Option<Attachment>> {
    // A pipe or a device could keep us for ever.
    if !path.metadata()?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    let media_type = media_type(&bytes);
    Ok(Some(Attachment {
        name: name.to_string_lossy().into_owned(),
        media_type,
        bytes,
    }))
}

/// Stores the files in the session, and returns the prompt with them behind its words.
pub(crate) async fn content(
    runtime: &Runtime,
    session: &AgentId,
    prompt: String,
    attachments: Vec<Attachment>,
) -> Result<Content, CommandError> {
    let mut content = Content::from(prompt);
    for attachment in attachments {
        let Attachment {
            name,
            media_type,
            bytes,
        } = attachment;
        let is_image = image_type(&bytes).is_some();
        let stored = runtime
            .store_blob(session, Some(name), media_type, bytes)
            .await?;
        content.push(if is_image {
            Part::Image(stored)
        } else {
            Part::File(stored)
        });
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

    fn names(prompt: &str, workspace: &Path) -> Vec<String> {
        let found = mentioned(prompt, workspace, 100);
        found.into_iter().map(|file| file.name).collect()
    }

    #[test]
    fn a_word_that_names_a_file_of_the_workspace_attaches_it_once() {
        let home = tempfile::tempdir().unwrap();
        let workspace = home.path().join("w");
        std::fs::create_dir_all(workspace.join("src")).unwrap();
        std::fs::write(home.path().join("secret"), "s").unwrap();
        std::fs::write(workspace.join("src/a.rs"), "fn a() {}").unwrap();
        std::fs::write(workspace.join("b.png"), PNG).unwrap();
        let prompt = "Compare @src/a.rs, (not user@b.png) and @b.png. Again @./src/a.rs!";
        assert_eq!(names(prompt, &workspace), ["src/a.rs", "b.png"]);
        let stays = "@nobody @src @../secret @/etc/hostname @ @param";
        assert!(names(stays, &workspace).is_empty());
    }

    #[test]
    fn the_bytes_say_what_a_file_is() {
        let home = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = home.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let read = read(&[path], 100).map(|mut read| read.remove(0));
            read.map(|attachment| attachment.media_type)
                .map_err(|stop| stop.code())
        };
        assert_eq!(file("a.txt", PNG), Ok("image/png"));
        assert_eq!(file("b.png", b"no picture"), Ok("text/plain"));
        assert_eq!(file("c", b"%PDF-1.7\xff"), Ok("application/pdf"));
        assert_eq!(file("d", b"\xff"), Ok("application/octet-stream"));
        assert_eq!(file("e", &[b'x'; 101]), Err(crate::exit::Code::Usage));
        let folder = read(&[home.path().to_owned()], 100).map(drop);
        assert!(matches!(folder, Err(Stop::Usage(_))));
        let missing = read(&[home.path().join("none")], 100).map(drop);
        assert!(matches!(missing, Err(Stop::Usage(_))));
    }
}

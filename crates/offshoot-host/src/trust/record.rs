//! The file that says what was accepted: `trust.json` in the data folder.
//!
//! Read whole, replaced whole, under a lock, so that of two who accept at once none
//! is forgotten. A file that cannot be read accepts nothing and is never replaced.
//! Kinds that this program does not know stay as they are.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Digest, Key, Kind};
use crate::config::Settings;
use crate::error::HostError;

/// The form in which the file is written.
const VERSION: u32 = 1;

/// Most that is read of it: some tens of thousands of things.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// The file.
pub(super) struct Record {
    folder: PathBuf,
}

/// What was accepted in one folder: by kind, by key, the digest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Accepted(BTreeMap<String, BTreeMap<String, String>>);

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u32,
    /// By the real path of the folder.
    projects: BTreeMap<String, Accepted>,
}

impl Record {
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            folder: settings.data_dir.value.clone(),
        }
    }

    /// Returns what was accepted in a folder; fails with a sentence if that is not known.
    pub(super) fn accepted(&self, workspace: &str) -> Result<Accepted, String> {
        let contents = read(&self.path()).map_err(|why| self.unreadable(&why))?;
        Ok(contents
            .and_then(|mut contents| contents.projects.remove(workspace))
            .unwrap_or_default())
    }

    /// Changes what was accepted in a folder.
    pub(super) fn change(
        &self,
        workspace: &str,
        change: impl FnOnce(&mut Accepted),
    ) -> Result<(), HostError> {
        let path = self.path();
        let failed =
            |error: io::Error| HostError::failed(format!("write {}", path.display()), error);
        let _lock = self.lock().map_err(failed)?;
        let contents = read(&path).map_err(|why| {
            let what = format!("{} cannot be read", path.display());
            HostError::failed(what, format!("{why}; it says what you have accepted"))
        })?;
        let mut contents = contents.unwrap_or(Contents {
            version: VERSION,
            projects: BTreeMap::new(),
        });
        let mut accepted = contents.projects.remove(workspace).unwrap_or_default();
        change(&mut accepted);
        if accepted.len() > 0 {
            contents.projects.insert(workspace.to_owned(), accepted);
        }
        let text = serde_json::to_string_pretty(&contents)
            .map_err(|error| HostError::failed("write what is trusted", error))?;
        replace(&self.folder, &path, &text).map_err(failed)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.join("trust.json")
    }

    /// Keeps others from changing the file until what is returned is dropped.
    fn lock(&self) -> io::Result<File> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.folder.join("trust.lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    fn unreadable(&self, why: &str) -> String {
        let path = self.path();
        format!(
            "{} cannot be read: {why}; it says what you have accepted",
            path.display()
        )
    }
}

impl Accepted {
    /// Tells whether something was accepted as it is.
    pub(super) fn has(&self, kind: Kind, key: &Key, digest: &Digest) -> bool {
        let Some(kept) = self.0.get(kind.word()) else {
            return false;
        };
        match key {
            Key::Path(path) => kept.get(path).is_some_and(|kept| kept == digest.as_str()),
            // Under whatever it is kept: once it was kept under its place in the file.
            Key::Content { .. } => kept.values().any(|kept| kept == digest.as_str()),
        }
    }

    /// Tells whether something was accepted that is none of these.
    pub(super) fn has_other(&self, kind: Kind, there: &[Digest]) -> bool {
        let kept = self.0.get(kind.word());
        kept.is_some_and(|kept| kept.values().any(|kept| !is_among(there, kept)))
    }

    /// Tells whether something was accepted that this has taken the place of, and that is none of
    /// those beside it.
    pub(super) fn had(&self, kind: Kind, key: &Key, beside: &[Digest]) -> bool {
        let kept = self.0.get(kind.word());
        kept.is_some_and(|kept| {
            let mut kept = kept.iter();
            kept.any(|(at, kept)| key.follows(at, kept) && !is_among(beside, kept))
        })
    }

    /// Keeps that something was accepted, in the place of what it follows and is not there any more.
    pub(super) fn put(&mut self, kind: Kind, key: &Key, digest: &Digest, there: &[Digest]) {
        let kept = self.0.entry(kind.word().to_owned()).or_default();
        kept.retain(|at, kept| !key.follows(at, kept) || is_among(there, kept));
        kept.insert(key.to_string(), digest.as_str().to_owned());
    }

    pub(super) fn len(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }
}

fn is_among(digests: &[Digest], digest: &str) -> bool {
    digests.iter().any(|one| one.as_str() == digest)
}

/// Reads the file; `None` if there is none.
fn read(path: &Path) -> Result<Option<Contents>, String> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("it has more than {MOST_BYTES} bytes"));
    }
    let contents: Contents = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    if contents.version != VERSION {
        let version = contents.version;
        return Err(format!(
            "it is of version {version}, and this program knows {VERSION}"
        ));
    }
    Ok(Some(contents))
}

/// Puts a text in the place of a file, all of it or nothing.
fn replace(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    // For its owner only, as the crate makes them.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    fs::File::open(folder)?.sync_all()
}

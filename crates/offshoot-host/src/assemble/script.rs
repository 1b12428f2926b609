//! Reading a script from its file.
//!
//! A script may be named by whoever wrote another one. So nothing is waited for
//! and not more is read than a script can have: a pipe or a device is refused
//! after it was opened, by what was opened.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use offshoot_models::Scripted;
use offshoot_types::model::{Model, ModelError, ModelErrorKind, Models};
use rustix::fs::{FileType, Mode, OFlags};

use crate::error::HostError;

/// Most bytes of a script.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Scripts by their whole path, each loaded when it is first asked for: a hook, or the log of a session,
/// may name one that was not known at the start.
#[derive(Default)]
pub(crate) struct Scripts {
    loaded: Mutex<BTreeMap<String, Arc<Scripted>>>,
}

impl Scripts {
    /// Returns the script at a whole path.
    pub(super) fn get(&self, path: &str) -> Result<Arc<Scripted>, HostError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(script) = loaded.get(path) {
            return Ok(script.clone());
        }
        // The log would keep the name, and another folder has another file of it.
        if !Path::new(path).is_absolute() {
            return Err(HostError::invalid(format!(
                "load script {path}: it has to be named by its whole path, as in \
                 scripted//home/me/script.yaml"
            )));
        }
        let script = Arc::new(load(path)?);
        loaded.insert(path.to_owned(), script.clone());
        Ok(script)
    }
}

impl Models for Scripts {
    fn find(&self, path: &str) -> Result<Arc<dyn Model>, ModelError> {
        let found = self.get(path).map(|script| script as Arc<dyn Model>);
        found.map_err(|stop| ModelError::new(ModelErrorKind::Config, stop.to_string()))
    }
}

/// Loads the script at `path`.
fn load(path: &str) -> Result<Scripted, HostError> {
    let text = read(Path::new(path))
        .map_err(|why| HostError::invalid(format!("load script {path}: {why}")))?;
    Scripted::load(&text, path).map_err(|error| HostError::invalid(error.to_string()))
}

fn read(path: &Path) -> Result<String, String> {
    // A pipe that nobody writes to would never be opened otherwise.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|errno| std::io::Error::from(errno).to_string())?;
    let stat = rustix::fs::fstat(&file).map_err(|errno| errno.to_string())?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    File::from(file)
        .take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("it has more than {MOST_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

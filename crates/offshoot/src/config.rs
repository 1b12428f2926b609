//! What the environment says: the only place that reads it.
//!
//! No file is read and nothing is created here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::exit::Stop;

/// Returns the data folder: the one that was asked for, else the environment's, else the usual one.
pub(crate) fn data_dir(asked: Option<PathBuf>) -> Result<PathBuf, Stop> {
    if let Some(folder) = asked.or_else(|| variable("OFFSHOOT_DATA_DIR").map(PathBuf::from)) {
        return absolute(&folder);
    }
    // By the XDG rules a relative path there is to be ignored.
    let shared = variable("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute());
    let shared = shared.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local/share")));
    match shared {
        Some(shared) => Ok(shared.join("offshoot")),
        None => Err(Stop::usage(
            "there is no home folder to keep sessions in; give --data-dir DIR",
        )),
    }
}

/// Makes a path absolute, as seen from the current folder.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Stop> {
    let whole = std::path::absolute(path)
        .with_context(|| format!("make path {} absolute", path.display()))
        .map_err(Stop::Failed)?;
    Ok(whole)
}

/// Returns the folder to work in, as the log keeps it.
pub(crate) fn workspace(asked: Option<&Path>) -> Result<String, Stop> {
    let folder = asked.unwrap_or(Path::new("."));
    let real = folder
        .canonicalize()
        .map_err(|error| Stop::usage(format!("work in {}: {error}", folder.display())))?;
    if !real.is_dir() {
        let text = format!("work in {}: it is not a folder", folder.display());
        return Err(Stop::usage(text));
    }
    real.into_os_string().into_string().map_err(|_| {
        Stop::usage(format!(
            "work in {}: its path is not UTF-8",
            folder.display()
        ))
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

//! The file that holds a whole output.
//!
//! Made only when it is needed, in the scratch folder, readable by its user
//! only, and bounded: what comes after the bound is dropped, so that a flood
//! fills no disk, and neither do many: all the outputs of an agent have a bound,
//! too. Written by the keeper, because processes that were left running go on
//! writing when the call is over.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::sidecar::{FULL, MOST_IN_ALL, kept_in, make_durable};

/// Most bytes in one file.
const MOST: u64 = 50 * 1024 * 1024;

/// After so many bytes it is looked how much the others have by now.
const LOOK_EVERY: u64 = 1024 * 1024;

pub(super) enum Sidecar {
    /// There is no folder for it.
    Nowhere,
    /// It would be below this folder.
    Below(PathBuf),
    /// It is being written.
    Open {
        file: File,
        path: PathBuf,
        written: u64,
        /// How far it may be written before the next look; where that is, it is full.
        until: u64,
    },
    /// It could not be written.
    Broken(String),
}

impl Sidecar {
    pub(super) fn new(scratch: Option<&str>) -> Self {
        scratch.map_or(Self::Nowhere, |scratch| Self::Below(scratch.into()))
    }

    /// Begins the file with all that has come out so far, if it was not begun.
    pub(super) fn begin(&mut self, so_far: impl FnOnce() -> Vec<u8>) {
        let Self::Below(scratch) = self else {
            return;
        };
        *self = match create(scratch) {
            Ok((file, path)) => Self::Open {
                file,
                path,
                written: 0,
                until: 0,
            },
            Err(error) => Self::Broken(error.to_string()),
        };
        self.write(&so_far());
    }

    /// Adds to the file, if it was begun.
    pub(super) fn write(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            let Self::Open {
                file,
                path,
                written,
                until,
            } = self
            else {
                return;
            };
            if *written == *until {
                *until += room(path, *written);
            }
            let room = usize::try_from(*until - *written).unwrap_or(usize::MAX);
            let (kept, rest) = piece.split_at(piece.len().min(room));
            if kept.is_empty() {
                return;
            }
            *written += kept.len() as u64;
            piece = rest;
            if let Err(error) = file.write_all(kept) {
                *self = Self::Broken(error.to_string());
            }
        }
    }

    /// Writes what there is to disk, because an answer is about to name the file.
    pub(super) fn sync(&mut self) {
        if let Self::Open { file, path, .. } = self
            && let Err(error) = make_durable(file, path)
        {
            *self = Self::Broken(error.to_string());
        }
    }

    pub(super) fn path(&self) -> Option<String> {
        match self {
            Self::Open { path, .. } => Some(path.to_string_lossy().into_owned()),
            Self::Nowhere | Self::Below(_) | Self::Broken(_) => None,
        }
    }

    /// Says where what is not shown can be found; `total` is how many bytes came out.
    pub(super) fn whereabouts(&self, total: u64) -> String {
        match self {
            Self::Open { path, written, .. } if *written >= total => {
                format!("the whole output is in {}", path.display())
            }
            Self::Open { path, written, .. } => {
                let megabytes = written / 1024 / 1024;
                let why = match *written {
                    MOST => String::new(),
                    _ => format!("; {FULL}"),
                };
                format!("the first {megabytes} MB are in {}{why}", path.display())
            }
            Self::Broken(why) => format!("the whole output could not be kept: {why}"),
            Self::Nowhere | Self::Below(_) => "the rest was not kept".to_owned(),
        }
    }
}

/// Returns how many more bytes a file may have before the next look.
fn room(path: &Path, written: u64) -> u64 {
    let all = path.parent().map_or(0, kept_in);
    let in_all = MOST_IN_ALL.saturating_sub(all);
    LOOK_EVERY.min(MOST - written).min(in_all)
}

fn create(scratch: &Path) -> io::Result<(File, PathBuf)> {
    let folder = scratch.join("outputs");
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)?;
    if kept_in(&folder) >= MOST_IN_ALL {
        return Err(io::Error::other(FULL));
    }
    // Numbers only rise while the folder is left alone; if it was not, the next free one is found.
    let mut number = folder.read_dir()?.count() + 1;
    loop {
        let path = folder.join(format!("{number}-bash.txt"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        match options.open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_begins_with_what_was_before_and_ends_at_the_bound() {
        let folder = tempfile::tempdir().unwrap();
        let mut sidecar = Sidecar::new(folder.path().to_str());
        sidecar.write(b"not begun");
        sidecar.begin(|| b"before".to_vec());
        sidecar.begin(|| b"twice".to_vec());
        let piece = vec![b'x'; 20 * 1024 * 1024];
        for _ in 0..3 {
            sidecar.write(&piece);
        }
        let path = sidecar.path().unwrap();
        let content = fs::read(&path).unwrap();
        assert!(content.starts_with(b"beforexxx"));
        assert_eq!(content.len() as u64, MOST);
        assert_eq!(
            sidecar.whereabouts(MOST + 1),
            format!("the first 50 MB are in {path}")
        );
    }

    #[test]
    fn all_outputs_of_an_agent_have_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let mut sidecars = [(); 2].map(|()| Sidecar::new(folder.path().to_str()));
        for sidecar in &mut sidecars {
            sidecar.begin(|| b"begun".to_vec());
        }
        let outputs = folder.path().join("outputs");
        let others = File::create(outputs.join("other")).unwrap();
        others.set_len(MOST_IN_ALL - 5 * LOOK_EVERY).unwrap();
        let piece = vec![b'x'; 4 * 1024 * 1024];
        for sidecar in &mut sidecars {
            sidecar.write(&piece);
        }
        let kept = kept_in(&outputs);
        assert!(kept >= MOST_IN_ALL - 2 * LOOK_EVERY, "{kept}");
        assert!(kept <= MOST_IN_ALL + 2 * LOOK_EVERY, "{kept}");
        let said = sidecars[1].whereabouts(piece.len() as u64 + 5);
        assert!(said.ends_with(FULL), "{said}");
        others.set_len(MOST_IN_ALL).unwrap();
        let mut third = Sidecar::new(folder.path().to_str());
        third.begin(Vec::new);
        assert_eq!(third.path(), None);
        let said = third.whereabouts(1);
        assert_eq!(said, format!("the whole output could not be kept: {FULL}"));
    }

    #[test]
    fn a_file_that_is_not_on_disk_is_not_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut sidecar = Sidecar::new(folder.path().to_str());
        sidecar.sync();
        sidecar.begin(|| b"begun".to_vec());
        sidecar.sync();
        assert!(sidecar.path().is_some());
        fs::remove_dir_all(folder.path().join("outputs")).unwrap();
        sidecar.sync();
        assert_eq!(sidecar.path(), None);
        let said = sidecar.whereabouts(5);
        assert!(
            said.starts_with("the whole output could not be kept: "),
            "{said}"
        );
    }

    #[test]
    fn two_files_do_not_share_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let paths = [(); 3].map(|()| {
            let mut sidecar = Sidecar::new(folder.path().to_str());
            sidecar.begin(Vec::new);
            sidecar.path().unwrap()
        });
        let outputs = folder.path().join("outputs");
        let expected = [1, 2, 3].map(|n| outputs.join(format!("{n}-bash.txt")));
        assert_eq!(paths.map(PathBuf::from), expected);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_told() {
        let mut sidecar = Sidecar::new(Some("/dev/null/scratch"));
        sidecar.begin(Vec::new);
        sidecar.write(b"x");
        assert_eq!(sidecar.path(), None);
        let whereabouts = sidecar.whereabouts(1);
        assert!(
            whereabouts.starts_with("the whole output could not be kept: "),
            "{whereabouts}"
        );
    }
}

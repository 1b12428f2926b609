//! The file that holds a whole output.
//!
//! Made only when it is needed, in the scratch folder, readable by its user
//! only, and bounded: what comes after the bound is dropped, so that a flood
//! fills no disk. Written by the keeper, because processes that were left
//! running go on writing when the call is over.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Most bytes in one file.
const MOST: u64 = 50 * 1024 * 1024;

pub(super) enum Sidecar {
    /// There is no folder for it.
    Nowhere,
    /// It would be below this folder.
    Below(PathBuf),
    /// It is being written.
    Open {
        file: File,
        path: PathBuf,
        room: u64,
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
                room: MOST,
            },
            Err(error) => Self::Broken(error.to_string()),
        };
        self.write(&so_far());
    }

    /// Adds to the file, if it was begun.
    pub(super) fn write(&mut self, piece: &[u8]) {
        let Self::Open { file, room, .. } = self else {
            return;
        };
        let piece = &piece[..piece
            .len()
            .min(usize::try_from(*room).unwrap_or(usize::MAX))];
        *room -= piece.len() as u64;
        if let Err(error) = file.write_all(piece) {
            *self = Self::Broken(error.to_string());
        }
    }

    pub(super) fn path(&self) -> Option<String> {
        match self {
            Self::Open { path, .. } => Some(path.to_string_lossy().into_owned()),
            Self::Nowhere | Self::Below(_) | Self::Broken(_) => None,
        }
    }

    /// Says where what is not shown can be found.
    pub(super) fn whereabouts(&self) -> String {
        match self {
            Self::Open { path, room: 0, .. } => {
                let megabytes = MOST / 1024 / 1024;
                format!("the first {megabytes} MB are in {}", path.display())
            }
            Self::Open { path, .. } => format!("the whole output is in {}", path.display()),
            Self::Broken(why) => format!("the whole output could not be kept: {why}"),
            Self::Nowhere | Self::Below(_) => "the rest was not kept".to_owned(),
        }
    }
}

fn create(scratch: &Path) -> io::Result<(File, PathBuf)> {
    let folder = scratch.join("outputs");
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)?;
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
            sidecar.whereabouts(),
            format!("the first 50 MB are in {path}")
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
        let whereabouts = sidecar.whereabouts();
        assert!(
            whereabouts.starts_with("the whole output could not be kept: "),
            "{whereabouts}"
        );
    }
}

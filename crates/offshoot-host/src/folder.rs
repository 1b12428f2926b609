//! Finding agent files in a folder, and reading them.
//!
//! A project's folder comes from somebody else. So nothing outside of it is read,
//! whatever links say; nothing is waited for; and neither their number nor their
//! size is without bound. What cannot be read is told of, and the rest is read.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use offshoot_agents::{Diagnostic, MAX_FILE_BYTES, Reading, read};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, lstat, open, openat2, stat,
    statat,
};
use rustix::io::Errno;

/// Most agent files of a folder, those of its subfolders included.
const MOST_FILES: usize = 256;

/// Most names that are looked at on the way to them.
const MOST_NAMES: usize = 4096;

/// How far below the folder a file may be.
const MOST_LEVELS: usize = 8;

/// How often a file is opened while somebody renames what leads to it.
const MOST_TRIES: usize = 16;

/// How a folder is opened.
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// How a file is opened: a pipe without a writer would keep us for ever.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// A folder of agent files.
pub struct Folder {
    folder: OwnedFd,
    path: PathBuf,
    /// The same, as seen from where it was looked for.
    name: PathBuf,
}

/// An agent file, and what it was read from.
pub struct File {
    pub reading: Reading,
    /// As seen from where the folder was looked for.
    pub path: PathBuf,
    /// What was read, and nothing that was there later; empty where nothing could be.
    pub bytes: Vec<u8>,
}

/// What a folder holds.
pub struct Contents {
    /// By name.
    pub files: Vec<File>,
    /// What is wrong with what is not an agent file.
    pub problems: Vec<Diagnostic>,
}

/// What tells a file from itself after a change.
///
/// The time of the change cannot be set by programs. Two changes in one tick of the kernel's clock that
/// keep the size are told apart by nothing; then the file counts as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    file: (u64, u64),
    size: i64,
    modified: (i64, u64),
    changed: (i64, u64),
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        Self {
            file: (stat.st_dev, stat.st_ino),
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// Returns the stamp of what a path leads to, and of the link if it is one; `None` where there is
    /// nothing.
    pub(crate) fn at(path: &Path) -> [Option<Self>; 2] {
        let own = lstat(path).ok();
        let is_link = |stat: &&Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        let target = own.as_ref().filter(is_link).and_then(|_| stat(path).ok());
        [own, target].map(|stat| stat.as_ref().map(Self::of))
    }
}

impl Folder {
    /// Opens a folder of the user's own; `None` if there is none.
    pub fn open(path: &Path) -> Result<Option<Self>, Diagnostic> {
        let opened = open(path, FOLDER, Mode::empty());
        Self::of(opened, path.to_owned(), PathBuf::new())
    }

    /// Opens a folder in a workspace, to which no link leads from outside; `None` if there is none.
    pub fn beneath(workspace: &Path, name: &str) -> Result<Option<Self>, Diagnostic> {
        let opened = open(workspace, FOLDER, Mode::empty());
        let opened = opened.and_then(|workspace| enter(&workspace, Path::new(name), FOLDER));
        Self::of(opened, workspace.join(name), PathBuf::from(name))
    }

    fn of(
        opened: Result<OwnedFd, Errno>,
        path: PathBuf,
        name: PathBuf,
    ) -> Result<Option<Self>, Diagnostic> {
        match opened {
            Ok(folder) => Ok(Some(Self { folder, path, name })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(Diagnostic::error(&shown(&path), None, &explain(errno))),
        }
    }

    /// Tells whether both are the same folder, by whatever names.
    pub fn is_same(&self, other: &Self) -> bool {
        let [one, other] = [&self.folder, &other.folder].map(fstat);
        matches!((one, other), (Ok(one), Ok(other))
            if (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
    }

    /// Reads the agent files, by name.
    pub fn read(&self) -> Contents {
        let mut problems = Vec::new();
        let mut names = self.names(is_agent, &mut problems);
        names.sort();
        if names.len() > MOST_FILES {
            let what =
                format!("it holds more than {MOST_FILES} agent files; the others are not read");
            problems.push(self.problem(Path::new(""), &what));
        }
        names.truncate(MOST_FILES);
        let files = names.iter().map(|name| self.file(name)).collect();
        Contents { files, problems }
    }

    /// Lists the files that `read` would read, each with what tells whether it has changed since.
    pub(crate) fn stamps(&self) -> Vec<(PathBuf, Option<Stamp>)> {
        let mut names = self.names(is_agent, &mut Vec::new());
        names.sort();
        names.truncate(MOST_FILES);
        let stamped = names.into_iter().map(|name| {
            let file = enter(&self.folder, &name, OFlags::PATH | OFlags::CLOEXEC);
            let stamp = file.and_then(fstat).ok().map(|stat| Stamp::of(&stat));
            (self.path.join(name), stamp)
        });
        stamped.collect()
    }

    /// Counts the files whose name fits, as far as names are looked at.
    pub fn count(&self, fits: fn(&Path) -> bool) -> usize {
        self.names(fits, &mut Vec::new()).len()
    }

    /// Lists the files whose name fits.
    fn names(&self, fits: fn(&Path) -> bool, problems: &mut Vec<Diagnostic>) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut left = MOST_NAMES;
        // Level by level, so that what is near is found however much there is below.
        let mut folders = VecDeque::from([(PathBuf::new(), 0)]);
        while let Some((folder, level)) = folders.pop_front() {
            let entries = match self.list(&folder, &mut left) {
                Ok(entries) => entries,
                Err(errno) => {
                    problems.push(self.problem(&folder, &explain(errno)));
                    continue;
                }
            };
            for name in entries {
                let path = folder.join(&name);
                match self.kind(&path) {
                    Kind::Folder if level < MOST_LEVELS => folders.push_back((path, level + 1)),
                    Kind::Folder => {
                        let what =
                            format!("it is more than {MOST_LEVELS} folders down; it is not read");
                        problems.push(self.problem(&path, &what));
                    }
                    Kind::LinkToFolder => {
                        let what = "it is a link to a folder, which is not followed";
                        problems.push(self.problem(&path, what));
                    }
                    Kind::Other if fits(&name) => found.push(path),
                    Kind::Other => {}
                }
            }
            if left == 0 {
                let what =
                    format!("it holds more than {MOST_NAMES} names; the others are not looked at");
                problems.push(self.problem(Path::new(""), &what));
                break;
            }
        }
        found
    }

    /// Lists a folder in the folder, as long as names are left.
    fn list(&self, path: &Path, left: &mut usize) -> Result<Vec<PathBuf>, Errno> {
        let path = if path == Path::new("") {
            Path::new(".")
        } else {
            path
        };
        let folder = enter(&self.folder, path, FOLDER)?;
        let mut names = Vec::new();
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            // With dots begin what editors and file managers leave behind, and the folder itself.
            if name.as_bytes().starts_with(b".") {
                continue;
            }
            if *left == 0 {
                break;
            }
            *left -= 1;
            names.push(PathBuf::from(name));
        }
        Ok(names)
    }

    fn kind(&self, path: &Path) -> Kind {
        let stat = statat(&self.folder, path, AtFlags::SYMLINK_NOFOLLOW);
        let kind = stat.map(|stat| FileType::from_raw_mode(stat.st_mode));
        if kind == Ok(FileType::Directory) {
            Kind::Folder
        } else if kind == Ok(FileType::Symlink) && self.leads_to_folder(path) {
            Kind::LinkToFolder
        } else {
            Kind::Other
        }
    }

    /// Tells whether a link leads to a folder; of one that leaves ours its name is all there is.
    fn leads_to_folder(&self, path: &Path) -> bool {
        let target = enter(&self.folder, path, OFlags::PATH | OFlags::CLOEXEC).and_then(fstat);
        match target {
            Ok(stat) => FileType::from_raw_mode(stat.st_mode) == FileType::Directory,
            Err(_) => path.extension().is_none(),
        }
    }

    /// Reads an agent file. Its name is its path without the ending.
    fn file(&self, path: &Path) -> File {
        let whole = shown(&self.path.join(path));
        let name = path.with_extension("");
        let (reading, bytes) = match (
            name.to_str(),
            bytes(&self.folder, path, MAX_FILE_BYTES).map_err(explain),
        ) {
            (None, _) => {
                let why = "its name is not UTF-8 text";
                (Reading::failed(&whole, &shown(&name), why), Vec::new())
            }
            (Some(name), Ok(bytes)) => (read(&bytes, &whole, name), bytes),
            (Some(name), Err(why)) => (Reading::failed(&whole, name, &why), Vec::new()),
        };
        File {
            reading,
            path: self.name.join(path),
            bytes,
        }
    }

    fn problem(&self, path: &Path, what: &str) -> Diagnostic {
        let path = if path == Path::new("") {
            self.path.clone()
        } else {
            self.path.join(path)
        };
        Diagnostic::error(&shown(&path), None, what)
    }
}

/// What a name leads to.
enum Kind {
    Folder,
    LinkToFolder,
    Other,
}

/// Returns what a file of a workspace holds, to which no link leads from outside, up to one byte more
/// than is taken; `None` if there is none.
pub fn read_beneath(workspace: &Path, name: &Path, most: usize) -> Result<Option<Vec<u8>>, String> {
    let opened = open(workspace, FOLDER, Mode::empty());
    match opened.and_then(|workspace| bytes(&workspace, name, most)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(explain(errno)),
    }
}

/// Returns what a file in a folder holds, up to one byte more than is taken.
fn bytes(folder: impl AsFd, path: &Path, most: usize) -> Result<Vec<u8>, Errno> {
    let file = enter(folder, path, FILE)?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(Errno::NXIO);
    }
    let mut bytes = Vec::new();
    std::fs::File::from(file)
        .take(most as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(bytes)
}

/// Opens what lies in a folder; links are followed as long as they stay in it.
fn enter(folder: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let open = || openat2(&folder, path, flags, Mode::empty(), resolve);
    for _ in 1..MOST_TRIES {
        match open() {
            Err(Errno::AGAIN | Errno::INTR) => {}
            result => return result,
        }
    }
    open()
}

/// Tells whether a file is called like an agent; a folder may say in a README what it is for.
pub fn is_agent(name: &Path) -> bool {
    let is_markdown = name.extension() == Some(OsStr::new("md"));
    is_markdown && !name.as_os_str().eq_ignore_ascii_case("readme.md")
}

fn explain(errno: Errno) -> String {
    match errno {
        Errno::XDEV => "it leads out of its folder, and such a link is not followed".to_owned(),
        Errno::LOOP => "its links lead nowhere".to_owned(),
        Errno::NOTDIR => "it is not a folder".to_owned(),
        Errno::NXIO => "it is not a file".to_owned(),
        errno => format!("it cannot be read: {}", io::Error::from(errno)),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

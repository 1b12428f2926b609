//! Walking a folder for files, in the order of their paths.
//!
//! Every folder is opened anew beneath its root and no link is followed, so a
//! folder that is swapped for a link during the walk leads nowhere. Only regular
//! files are seen: nothing is opened that could block. Ignore files count, hidden
//! names must be asked for, `.git` and what is off limits are never entered. What
//! is held in memory is bounded, whatever the size of the tree.

mod rules;

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::vec;

use offshoot_types::tool::Sight;
use rustix::fs::{AtFlags, Dir, DirEntry, FileType, OFlags};
use rustix::io::Errno;

use self::rules::Rules;
use crate::confined;
use crate::patience::{Enough, Patience};
use crate::pattern::Pattern;
use crate::refusal::Refusal;
use crate::target::Target;

/// Most names that are held at a time, over all folders on the way.
const MOST_HELD: usize = 200_000;

/// What a walk may start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// A folder only.
    Folder,
    /// A file too, which is then the only one and need not fit the pattern.
    FolderOrFile,
}

/// A regular file that was found.
pub(crate) struct Seen<'a> {
    /// From the root.
    pub(crate) path: &'a Path,
    pub(crate) size: u64,
}

/// What a walk did not see.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    /// Why it ended before its end.
    pub(crate) enough: Option<Enough>,
    /// How many folders could not be read.
    pub(crate) unreadable: usize,
    /// Whether a folder had too many names to be held.
    pub(crate) overfull: bool,
    /// Whether rules may have kept files from being looked at. Not whether they did, and not how many:
    /// with a pattern, that would answer what stands in a folder that nobody may look into.
    pub(crate) narrowed: bool,
}

/// A name in a folder.
struct Entry {
    name: OsString,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Folder,
    File { size: u64 },
}

/// A folder on the way.
struct Level {
    /// From the root; empty for the root.
    path: PathBuf,
    rules: Rules,
    entries: vec::IntoIter<Entry>,
}

/// What is looked for, where and how long.
pub(crate) struct Search<'a> {
    pub(crate) target: &'a Target,
    pub(crate) from: Start,
    /// Which files, by their paths from the target.
    pub(crate) pattern: &'a Pattern,
    /// Which of them may be looked at.
    pub(crate) sight: &'a Sight,
    pub(crate) patience: &'a Patience,
}

struct Walk<'a> {
    root: OwnedFd,
    search: &'a Search<'a>,
    /// From the root to where the walk starts.
    start: &'a Path,
    /// Names that are held in all levels, and the most that may be.
    held: usize,
    most_held: usize,
    walked: Walked,
}

/// Shows `visit` every file below a folder whose path from there fits the pattern.
pub(crate) fn walk(search: &Search, visit: impl FnMut(&OwnedFd, &Seen)) -> Result<Walked, Refusal> {
    walk_holding(MOST_HELD, search, visit)
}

fn walk_holding(
    most_held: usize,
    search: &Search,
    mut visit: impl FnMut(&OwnedFd, &Seen),
) -> Result<Walked, Refusal> {
    let target = search.target;
    let explain = |errno| match errno {
        Errno::NOENT => Refusal::failed("there is no such file or folder"),
        errno => Refusal::from(confined::explain(target, errno)),
    };
    let root = confined::root(target.root())?.ok_or_else(|| explain(Errno::NOENT))?;
    let start = confined::open(&root, target.relative(), OFlags::PATH).map_err(explain)?;
    let stat = rustix::fs::fstat(&start).map_err(explain)?;
    let mut walk = Walk {
        root,
        search,
        start: Path::new(target.below_root()),
        held: 0,
        most_held,
        walked: Walked::default(),
    };
    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        walk.run(&mut visit);
        return Ok(walk.walked);
    }
    confined::regular(&stat)?;
    if search.from == Start::Folder {
        return Err("it is a file, not a folder".into());
    }
    // It was allowed by its own name, so nobody is asked whether it may be looked at.
    let seen = Seen {
        path: walk.start,
        size: u64::try_from(stat.st_size).unwrap_or(0),
    };
    visit(&walk.root, &seen);
    Ok(walk.walked)
}

/// Tells whether a target is a folder at this moment.
pub(crate) fn is_folder(target: &Target) -> bool {
    let Ok(Some(root)) = confined::root(target.root()) else {
        return false;
    };
    confined::open(&root, target.relative(), confined::FOLDER).is_ok()
}

impl Walk<'_> {
    fn run(&mut self, visit: &mut impl FnMut(&OwnedFd, &Seen)) {
        let root = self.search.target.root();
        let start = root.join(&self.start.to_string_lossy());
        let start = format!("{}/", start.trim_end_matches('/'));
        self.walked.narrowed = self.search.sight.narrows(&start);
        let rules = self.rules_above();
        let mut levels = Vec::new();
        levels.extend(self.enter(self.start.to_owned(), &rules));
        while let Some(level) = levels.last_mut() {
            self.walked.enough = self.search.patience.ends();
            if self.walked.enough.is_some() {
                return;
            }
            let Some(Entry { name, kind }) = level.entries.next() else {
                levels.pop();
                continue;
            };
            self.held -= 1;
            let path = level.path.join(name);
            match kind {
                Kind::File { size } if self.shows(&path) => {
                    let path = &path;
                    visit(&self.root, &Seen { path, size });
                }
                Kind::File { .. } => {}
                Kind::Folder => {
                    let rules = level.rules.clone();
                    levels.extend(self.enter(path, &rules));
                }
            }
        }
    }

    /// Tells whether a file may be looked at; `path` is from the root.
    fn shows(&self, path: &Path) -> bool {
        let root = self.search.target.root();
        self.search.sight.shows(&root.join(&path.to_string_lossy()))
    }

    /// Reads the rules of the folders above the start, which hold below it too, unless they leave
    /// nothing of it: whoever names an ignored folder wants to see what is in it.
    fn rules_above(&self) -> Rules {
        let mut rules = Rules::default();
        let Some(above) = self.start.parent() else {
            return rules;
        };
        let folders: Vec<&Path> = above.ancestors().collect();
        for path in folders.into_iter().rev() {
            if let Ok(folder) = open_folder(&self.root, path) {
                rules = rules.below(path, &folder);
            }
        }
        // A rule for all that is in the folder (`vendor/**`) is not about the folder (`vendor/`). It
        // is met by any name. Where the folder itself is allowed (`!*/`), files are by their names too.
        let any = self.start.join("any name, whatever it is");
        if rules.ignore(&any, false) && !rules.keep(self.start, true) {
            Rules::default()
        } else {
            rules
        }
    }

    /// Reads a folder; `None` if that cannot be done.
    fn enter(&mut self, path: PathBuf, above: &Rules) -> Option<Level> {
        let read = open_folder(&self.root, &path).and_then(|folder| {
            let rules = above.below(&path, &folder);
            let entries = self.read(&path, &folder, &rules)?;
            Ok((rules, entries))
        });
        match read {
            Ok((rules, mut entries)) => {
                entries.sort_unstable_by(Entry::in_order_of_paths);
                self.held += entries.len();
                Some(Level {
                    path,
                    rules,
                    entries: entries.into_iter(),
                })
            }
            // Removed since, or swapped for something that is not walked.
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => None,
            Err(_) => {
                self.walked.unreadable += 1;
                None
            }
        }
    }

    fn read(&mut self, path: &Path, folder: &OwnedFd, rules: &Rules) -> Result<Vec<Entry>, Errno> {
        let Search {
            target, pattern, ..
        } = self.search;
        let mut entries = Vec::new();
        let from_start = path.strip_prefix(self.start).unwrap_or(path);
        let depth = from_start.components().count();
        for entry in Dir::read_from(folder)? {
            if self.search.patience.ends().is_some() {
                break;
            }
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if !self.is_looked_at(name) {
                continue;
            }
            let Some(is_folder) = is_folder_entry(folder, &entry) else {
                continue;
            };
            let is_wanted = if is_folder {
                pattern.enters(depth, name) && !target.root().hides(&path.join(name))
            } else {
                pattern.fits(&from_start.join(name))
            };
            if !is_wanted || rules.ignore(&path.join(name), is_folder) {
                continue;
            }
            let kind = if is_folder {
                Kind::Folder
            } else if let Some(size) = size(folder, name) {
                Kind::File { size }
            } else {
                continue;
            };
            if self.held + entries.len() >= self.most_held {
                self.walked.overfull = true;
                break;
            }
            let name = name.to_owned();
            entries.push(Entry { name, kind });
        }
        Ok(entries)
    }

    fn is_looked_at(&self, name: &OsStr) -> bool {
        match name.as_bytes() {
            b"." | b".." | b".git" => false,
            [b'.', ..] => self.search.pattern.names_hidden(name),
            _ => true,
        }
    }
}

impl Entry {
    /// Puts a folder where the paths of its files belong: `a.rs` comes before `a/b`.
    fn in_order_of_paths(&self, other: &Self) -> Ordering {
        self.bytes().cmp(other.bytes())
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        let slash = (self.kind == Kind::Folder).then_some(b'/');
        self.name.as_bytes().iter().copied().chain(slash)
    }
}

/// Tells a folder from a file; `None` for what is neither, such as links and pipes.
fn is_folder_entry(folder: &OwnedFd, entry: &DirEntry) -> Option<bool> {
    let mut kind = entry.file_type();
    if kind == FileType::Unknown {
        // Some file systems do not say.
        let name = entry.file_name();
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        kind = FileType::from_raw_mode(stat.st_mode);
    }
    match kind {
        FileType::Directory => Some(true),
        FileType::RegularFile => Some(false),
        FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => None,
    }
}

/// Returns the size of a regular file; `None` if it has become something else.
fn size(folder: &OwnedFd, name: &OsStr) -> Option<u64> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    confined::regular(&stat).ok()?;
    u64::try_from(stat.st_size).ok()
}

fn open_folder(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    confined::open(root.as_fd(), path, OFlags::RDONLY | OFlags::DIRECTORY)
}

#[cfg(test)]
mod tests;

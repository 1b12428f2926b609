//! Which files a tree wants to be ignored.
//!
//! `.gitignore` and `.git/info/exclude` as git reads them, also where there is no
//! repository, and `.ignore`, whose word goes before theirs. A deeper file goes
//! before a higher one, and a repository begins anew. Nothing outside the root is
//! asked: no folder above it, no home, no configuration of git.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, FileType};

use crate::confined;

/// How much of an ignore file is read. What a pattern becomes takes several hundred times its length.
const MOST_BYTES: u64 = 64 * 1024;

/// Most patterns that are taken from one file.
const MOST_PATTERNS: usize = 2000;

/// The rules that hold in a folder. Cloning shares them.
#[derive(Clone, Default)]
pub(super) struct Rules(Option<Arc<Node>>);

/// What one folder adds.
struct Node {
    above: Rules,
    /// From the root.
    folder: PathBuf,
    ignore: Gitignore,
    gitignore: Gitignore,
    exclude: Gitignore,
    is_repository: bool,
}

/// What the files of one kind say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Silent,
    Ignore,
    Keep,
}

impl Rules {
    /// Returns the rules of a folder below; `path` is from the root.
    pub(super) fn below(&self, path: &Path, folder: &OwnedFd) -> Self {
        let git = rustix::fs::statat(folder, ".git", AtFlags::SYMLINK_NOFOLLOW);
        let is_repository = git.is_ok_and(|stat| {
            let kind = FileType::from_raw_mode(stat.st_mode);
            // A file in work trees and submodules.
            kind == FileType::Directory || kind == FileType::RegularFile
        });
        let node = Node {
            above: self.clone(),
            folder: path.to_owned(),
            ignore: read(folder, ".ignore"),
            gitignore: read(folder, ".gitignore"),
            exclude: if is_repository {
                read(folder, ".git/info/exclude")
            } else {
                Gitignore::empty()
            },
            is_repository,
        };
        if node.says_nothing() {
            return self.clone();
        }
        Self(Some(Arc::new(node)))
    }

    /// Tells whether a file or folder is to be ignored; `path` is from the root.
    pub(super) fn ignore(&self, path: &Path, is_folder: bool) -> bool {
        self.word(path, is_folder) == Word::Ignore
    }

    /// Tells whether a rule says that a file or folder is not to be ignored.
    pub(super) fn keep(&self, path: &Path, is_folder: bool) -> bool {
        self.word(path, is_folder) == Word::Keep
    }

    fn word(&self, path: &Path, is_folder: bool) -> Word {
        let (mut ignore, mut gitignore, mut exclude) = (Word::Silent, Word::Silent, Word::Silent);
        let mut in_repository = true;
        let mut rules = self;
        while let Some(node) = &rules.0 {
            let path = path.strip_prefix(&node.folder).unwrap_or(path);
            ignore = ignore.or(|| word(&node.ignore, path, is_folder));
            if in_repository {
                gitignore = gitignore.or(|| word(&node.gitignore, path, is_folder));
                exclude = exclude.or(|| word(&node.exclude, path, is_folder));
            }
            in_repository &= !node.is_repository;
            rules = &node.above;
        }
        ignore.or(|| gitignore).or(|| exclude)
    }
}

impl Node {
    fn says_nothing(&self) -> bool {
        let files = [&self.ignore, &self.gitignore, &self.exclude];
        !self.is_repository && files.iter().all(|file| file.is_empty())
    }
}

impl Word {
    fn or(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Silent => other(),
            Self::Ignore | Self::Keep => self,
        }
    }
}

fn word(file: &Gitignore, path: &Path, is_folder: bool) -> Word {
    match file.matched(path, is_folder) {
        Match::None => Word::Silent,
        Match::Ignore(_) => Word::Ignore,
        Match::Whitelist(_) => Word::Keep,
    }
}

/// Reads an ignore file. One that is missing or makes no sense says nothing.
fn read(folder: &OwnedFd, name: &str) -> Gitignore {
    let Some(text) = read_text(folder, name) else {
        return Gitignore::empty();
    };
    // Paths are given from the folder of the file, so there is nothing to strip from them.
    let mut builder = GitignoreBuilder::new(".");
    let lines = text.trim_start_matches('\u{feff}').lines();
    let patterns = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in patterns.take(MOST_PATTERNS) {
        // A line that is no pattern is skipped, as git does.
        drop(builder.add_line(None, line));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn read_text(folder: &OwnedFd, name: &str) -> Option<String> {
    let file = confined::open(folder, name, confined::READ).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    confined::regular(&stat).ok()?;
    let mut bytes = Vec::new();
    let mut limited = File::from(file).take(MOST_BYTES + 1);
    limited.read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > MOST_BYTES {
        // Half a pattern would be another one.
        let end = bytes.iter().rposition(|byte| *byte == b'\n')?;
        bytes.truncate(end);
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

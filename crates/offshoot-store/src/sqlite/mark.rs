//! What a database looked like when it was closed in good order.
//!
//! Size, time of the last change and inode: what a file system says of a file
//! without anybody reading it. A file that looks otherwise was changed by somebody
//! else since, and is looked through before it is written to. Damage that leaves
//! no trace in these is met later (`damage.rs`).

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What a file looked like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    size: u64,
    changed: (i64, i64),
    inode: u64,
}

impl Mark {
    /// Returns what a file looks like; `None` if it is not there.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let file = path.metadata().ok()?;
        Some(Self {
            size: file.size(),
            changed: (file.mtime(), file.mtime_nsec()),
            inode: file.ino(),
        })
    }

    /// Reads what `line` wrote; `None` for anything else.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut words = text.strip_prefix("closed ")?.split_whitespace();
        let mut number = || words.next()?.parse::<i64>().ok();
        let mark = Self {
            size: number()?.try_into().ok()?,
            changed: (number()?, number()?),
            inode: number()?.cast_unsigned(),
        };
        (number().is_none() && text.ends_with('\n')).then_some(mark)
    }

    /// Returns a line that says it.
    pub(crate) fn line(&self) -> String {
        let Self {
            size,
            changed: (secs, nanos),
            inode,
        } = self;
        format!("closed {size} {secs} {nanos} {}\n", inode.cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::Mark;

    #[test]
    fn a_mark_is_read_as_it_was_written_and_nothing_else_is() {
        let mark = Mark {
            size: 7,
            changed: (-1, 999_999_999),
            inode: u64::MAX,
        };
        let line = mark.line();
        assert_eq!(Mark::read(&line), Some(mark));
        for other in [
            "",
            "closed",
            "closed 7 1 2",
            "closed 7 1 2 3",
            "closed 7 1 2 3 4\n",
        ] {
            assert_eq!(Mark::read(other), None, "{other:?}");
        }
    }
}

//! Looking at a file that was changed, and putting it back.
//!
//! On the same terms as the change: beneath the roots of its session, following
//! no link, under the lock of the folder, at once or not at all, and only if the
//! file is still what the change left. Folders that the change had made go with
//! the file, if nothing else is in them.

use std::os::fd::OwnedFd;
use std::path::Path;

use offshoot_types::id::Timestamp;
use offshoot_types::outcome::ErrorKind;
use offshoot_types::tool::Place;
use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;

use super::file;
use crate::confined;
use crate::refusal::Refusal;
use crate::target::Target;

/// How far the clock of a file system may be behind, in milliseconds: it ticks seldom.
const CLOCK_LAG: u64 = 20;

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Nothing,
    /// A file that an agent may have written.
    File(Vec<u8>),
    /// What no agent wrote, in words.
    Other(String),
}

/// Returns what stands at an absolute path of a place.
pub fn look(path: &str, place: &Place) -> Standing {
    match Target::new(path, place) {
        Ok(target) => stands(&target),
        Err(why) => Standing::Other(why),
    }
}

/// Replaces what a file contains, if that is still `after`, by what it contained.
pub fn put_back(path: &str, place: &Place, after: &[u8], before: &[u8]) -> Result<(), String> {
    let target = ready(path, place)?;
    file::replace(&target, Some(after), before).map_err(|refusal| explain(&refusal, &target, after))
}

/// Makes a file again that was removed, if there is still none.
///
/// No tool of ours removes files; a tool of an embedder may, and record it.
pub fn make_again(path: &str, place: &Place, before: &[u8]) -> Result<(), String> {
    let target = ready(path, place)?;
    let made = file::replace(&target, None, before);
    made.map_err(|refusal| refusal.why().to_owned())
}

/// Removes a file that was created, if it is still `after`, and the folders that were made for it at
/// that time or later.
pub fn remove(path: &str, place: &Place, after: &[u8], since: Timestamp) -> Result<(), String> {
    let target = ready(path, place)?;
    file::remove(&target, after).map_err(|refusal| explain(&refusal, &target, after))?;
    remove_folders(&target, since);
    Ok(())
}

impl Standing {
    fn is(&self, content: &[u8]) -> bool {
        matches!(self, Self::File(found) if found == content)
    }
}

/// Looks at a file before anything is made beside it: nobody made a folder to put something back.
fn ready(path: &str, place: &Place) -> Result<Target, String> {
    let target = Target::new(path, place)?;
    match stands(&target) {
        Standing::Other(why) => Err(why),
        Standing::Nothing | Standing::File(_) => Ok(target),
    }
}

/// Says why a file was left as it is.
fn explain(refusal: &Refusal, target: &Target, after: &[u8]) -> String {
    if refusal.kind() == ErrorKind::Conflict && !stands(target).is(after) {
        return "it was edited just now".to_owned();
    }
    refusal.why().to_owned()
}

fn stands(target: &Target) -> Standing {
    let root = match confined::root(target.root()) {
        Ok(Some(root)) => root,
        Ok(None) => return Standing::Nothing,
        Err(why) => return Standing::Other(why),
    };
    match confined::open(&root, target.relative(), confined::READ) {
        Ok(_) => {}
        Err(Errno::NOENT | Errno::NOTDIR) => return Standing::Nothing,
        Err(Errno::LOOP | Errno::XDEV) => return Standing::Other(link(&root, target)),
        Err(errno) => return Standing::Other(format!("it cannot be read: {errno}")),
    }
    match file::find(target) {
        Ok(Some(found)) => Standing::File(found.content),
        Ok(None) => Standing::Nothing,
        // A folder, a pipe, or more than any agent writes.
        Err(_) => Standing::Other("it was edited since".to_owned()),
    }
}

fn link(root: &OwnedFd, target: &Target) -> String {
    let folder = target.folder_and_name().map_or(".", |(folder, _)| folder);
    match confined::open(root, folder, confined::FOLDER) {
        Ok(_) => "a link stands there now".to_owned(),
        Err(_) => "a link stands on the way now".to_owned(),
    }
}

/// Removes the folders above a target that are empty and not older than that, from below.
///
/// One whose age the file system does not tell stays.
fn remove_folders(target: &Target, since: Timestamp) {
    let Ok(Some(root)) = confined::root(target.root()) else {
        return;
    };
    let above = Path::new(target.below_root()).ancestors().skip(1);
    for folder in above {
        let (Some(name), Some(parent)) = (folder.file_name(), folder.parent()) else {
            return;
        };
        let parent = if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        };
        let removed = confined::open(&root, parent, confined::FOLDER).and_then(|parent| {
            let folder = confined::open(&parent, name, confined::FOLDER)?;
            match born(&folder) {
                Some(born) if born + CLOCK_LAG >= since.get() => {
                    rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR)
                }
                Some(_) | None => Err(Errno::EXIST),
            }
        });
        if removed.is_err() {
            return;
        }
    }
}

/// Returns when something was made, in milliseconds as timestamps have them.
fn born(folder: &OwnedFd) -> Option<u64> {
    let stat = rustix::fs::statx(folder, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    let known = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
    let seconds = u64::try_from(stat.stx_btime.tv_sec).ok()?;
    known.then(|| seconds * 1000 + u64::from(stat.stx_btime.tv_nsec) / 1_000_000)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::Mode;

    use super::*;

    fn place(folder: &Path) -> Place {
        Place::new(folder.to_str().unwrap())
    }

    #[test]
    fn what_was_edited_in_the_last_moment_is_neither_removed_nor_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        let path = folder.path().join("f");
        let text = path.to_str().unwrap();
        fs::write(&path, "theirs").unwrap();
        let edited = Err("it was edited just now".to_owned());
        let since = Timestamp::new(0);
        assert_eq!(put_back(text, &place, b"ours", b"old"), edited);
        assert_eq!(remove(text, &place, b"ours", since), edited);
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        fs::write(&path, "ours").unwrap();
        assert_eq!(put_back(text, &place, b"ours", b"old"), Ok(()));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(remove(text, &place, b"old", since), Ok(()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_a_tool_removed_is_made_again_unless_there_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        let path = folder.path().join("f");
        let text = path.to_str().unwrap();
        assert_eq!(make_again(text, &place, b"old"), Ok(()));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert!(make_again(text, &place, b"older").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn a_link_on_the_way_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("w"), folder.path().join("outside"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("f"), "ours").unwrap();
        symlink(&outside, inside.join("way")).unwrap();
        let place = place(&inside);
        let path = inside.join("way/f");
        let path = path.to_str().unwrap();
        let why = "a link stands on the way now";
        assert_eq!(look(path, &place), Standing::Other(why.to_owned()));
        let kept = Err(why.to_owned());
        assert_eq!(put_back(path, &place, b"ours", b"old"), kept);
        assert_eq!(remove(path, &place, b"ours", Timestamp::new(0)), kept);
        assert_eq!(fs::read(outside.join("f")).unwrap(), b"ours");
        let beside = outside.join("f");
        let beside = look(beside.to_str().unwrap(), &place);
        assert!(matches!(beside, Standing::Other(why) if why.contains("outside")));
    }

    #[test]
    fn folders_that_were_made_for_a_file_go_with_it_and_older_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        let path = folder.path().join("a/b/c/f");
        let text = path.to_str().unwrap();
        let again = || {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "ours").unwrap();
        };
        again();
        assert_eq!(
            remove(text, &place, b"ours", Timestamp::new(u64::MAX)),
            Ok(())
        );
        assert!(folder.path().join("a/b/c").exists());
        again();
        fs::write(folder.path().join("a/theirs"), "").unwrap();
        assert_eq!(remove(text, &place, b"ours", Timestamp::new(0)), Ok(()));
        let tells =
            born(&rustix::fs::open(folder.path(), confined::FOLDER, Mode::empty()).unwrap());
        assert_eq!(folder.path().join("a/b").exists(), tells.is_none());
        assert!(folder.path().join("a/theirs").exists());
    }

    #[test]
    fn a_link_a_pipe_and_a_huge_file_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        let at = |name: &str| folder.path().join(name);
        let look = |name: &str| look(at(name).to_str().unwrap(), &place);
        assert_eq!(look("none"), Standing::Nothing);
        fs::write(at("file"), "text").unwrap();
        assert_eq!(look("file"), Standing::File(b"text".to_vec()));
        symlink(at("file"), at("link")).unwrap();
        let link = Standing::Other("a link stands there now".to_owned());
        assert_eq!(look("link"), link);
        let edited = Standing::Other("it was edited since".to_owned());
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), mode).unwrap();
        assert_eq!(look("pipe"), edited);
        let huge = fs::File::create(at("huge")).unwrap();
        huge.set_len(1 << 36).unwrap();
        assert_eq!(look("huge"), edited);
        assert_eq!(look("."), edited);
    }
}

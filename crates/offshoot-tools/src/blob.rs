//! Blobs: bytes that messages name by their SHA-256.
//!
//! One file a blob, in a folder of its session, named by its digest and readable by
//! its owner only. A blob is written under another name, synced, renamed, and its
//! folder synced, so a name that is there has all of its bytes, also after a crash.
//! What is read is checked against its name: an agent may have changed the file.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_types::content::{AttachmentError, Digest};
use ring::digest::{SHA256, digest};

use crate::sidecar::kept_in;

/// Most bytes that are read of a blob; nothing larger is stored.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// Stores bytes, unless they are there already.
pub(crate) fn store(folder: &str, bytes: &[u8], most: u64) -> Result<Digest, AttachmentError> {
    let name = name_of(bytes)?;
    let folder = Path::new(folder);
    if read(folder, &name).is_ok_and(|stored| stored == bytes) {
        return Ok(name);
    }
    if kept_in(folder).saturating_add(bytes.len() as u64) > most {
        return Err(AttachmentError::SessionFull { most });
    }
    write(folder, &name, bytes).map_err(|error| failed("store an attachment", &error))?;
    Ok(name)
}

/// Returns the bytes of a blob.
pub(crate) fn read(folder: &Path, name: &Digest) -> Result<Vec<u8>, AttachmentError> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    let mut options = OpenOptions::new();
    let opened = options
        .read(true)
        .custom_flags(flags.cast_signed())
        .open(folder.join(name.as_str()));
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(AttachmentError::Missing(name.clone()));
        }
        Err(error) => return Err(failed("read an attachment", &error)),
    };
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| failed("read an attachment", &error))?;
    if name_of(&bytes)? == *name {
        Ok(bytes)
    } else {
        Err(AttachmentError::Damaged(name.clone()))
    }
}

/// Copies blobs to another folder. One that is not there, or was changed, is left out: what names it
/// says so, in the copy as in the original.
pub(crate) fn copy(from: &str, to: &str, names: &[Digest]) -> Result<(), AttachmentError> {
    let (from, to) = (Path::new(from), Path::new(to));
    for name in names {
        match read(from, name) {
            Ok(bytes) => {
                write(to, name, &bytes).map_err(|error| failed("copy an attachment", &error))?;
            }
            Err(AttachmentError::Missing(_) | AttachmentError::Damaged(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn write(folder: &Path, name: &Digest, bytes: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // No digest ends like this; another process has another id.
    let part = folder.join(format!("{name}.{}-{number}.part", std::process::id()));
    let written = write_and_sync(&part, bytes).and_then(|()| {
        fs::rename(&part, folder.join(name.as_str()))?;
        // The folder may be new, and so may the two above it.
        for folder in folder.ancestors().take(3) {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    });
    if written.is_err() {
        fs::remove_file(&part).ok();
    }
    written
}

fn write_and_sync(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o400)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn name_of(bytes: &[u8]) -> Result<Digest, AttachmentError> {
    let digest = digest(&SHA256, bytes);
    let digits: Vec<String> = digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Digest::new(digits.concat()).map_err(|why| AttachmentError::Io(why.to_owned()))
}

fn failed(what: &str, error: &io::Error) -> AttachmentError {
    AttachmentError::Io(format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    const MOST: u64 = 100;

    fn files(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_blob_is_named_by_its_sha_256_and_stored_once() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("s/blobs");
        let text = folder.to_str().unwrap();
        let name = store(text, b"abc", MOST).unwrap();
        assert_eq!(
            name.as_str(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        let file = folder.join(name.as_str());
        let inode = fs::metadata(&file).unwrap().ino();
        assert_eq!(store(text, b"abc", MOST).unwrap(), name);
        assert_eq!(fs::metadata(&file).unwrap().ino(), inode);
        assert_eq!(files(&folder), [name.as_str()]);
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o400);
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        assert_eq!(read(&folder, &name).unwrap(), b"abc");
    }

    #[test]
    fn a_session_has_a_bound() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().to_str().unwrap();
        store(folder, &[1; 60], MOST).unwrap();
        let full = store(folder, &[2; 41], MOST).unwrap_err();
        assert_eq!(full, AttachmentError::SessionFull { most: MOST });
        // What is there takes no more room.
        store(folder, &[1; 60], MOST).unwrap();
        store(folder, &[2; 40], MOST).unwrap();
        assert_eq!(files(home.path()).len(), 2);
    }

    #[test]
    fn what_was_deleted_or_changed_behind_our_back_is_told_apart_and_stored_anew() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().to_str().unwrap();
        let name = store(folder, b"abc", MOST).unwrap();
        let file = home.path().join(name.as_str());
        fs::remove_file(&file).unwrap();
        let missing = AttachmentError::Missing(name.clone());
        assert_eq!(read(home.path(), &name).unwrap_err(), missing);
        fs::write(&file, b"other").unwrap();
        let damaged = AttachmentError::Damaged(name.clone());
        assert_eq!(read(home.path(), &name).unwrap_err(), damaged);
        assert_eq!(store(folder, b"abc", MOST).unwrap(), name);
        assert_eq!(read(home.path(), &name).unwrap(), b"abc");
        fs::remove_file(&file).unwrap();
        symlink("/etc/hostname", &file).unwrap();
        assert!(read(home.path(), &name).is_err());
    }

    #[test]
    fn a_copy_loses_nothing_with_the_original_and_leaves_out_what_is_gone() {
        let home = tempfile::tempdir().unwrap();
        let (from, to) = (home.path().join("a"), home.path().join("b"));
        let [from_text, to_text] = [&from, &to].map(|path| path.to_str().unwrap());
        let kept = store(from_text, b"kept", MOST).unwrap();
        let gone = store(from_text, b"gone", MOST).unwrap();
        store(from_text, b"not named", MOST).unwrap();
        fs::remove_file(from.join(gone.as_str())).unwrap();
        copy(from_text, to_text, &[kept.clone(), gone.clone()]).unwrap();
        fs::remove_dir_all(&from).unwrap();
        assert_eq!(files(&to), [kept.as_str()]);
        assert_eq!(read(&to, &kept).unwrap(), b"kept");
    }

    #[test]
    fn a_blob_that_cannot_be_written_leaves_nothing_behind() {
        let home = tempfile::tempdir().unwrap();
        let name = name_of(b"abc").unwrap();
        // A folder in its place cannot be replaced by a file.
        fs::create_dir(home.path().join(name.as_str())).unwrap();
        store(home.path().to_str().unwrap(), b"abc", MOST).unwrap_err();
        assert_eq!(files(home.path()), [name.as_str()]);
    }
}

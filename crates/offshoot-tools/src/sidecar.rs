//! Where the whole of an answer goes that is too long to be shown (TLS-14).
//!
//! A file of its own in the scratch folder, readable by its owner only, whose
//! path goes into the outcome. It takes whatever is written and keeps the first
//! ten megabytes, and all of an agent's have a bound as well: a command that talks
//! for ever, or many that talk long, fill neither memory nor disk. Its path is given
//! out only once the file is on disk (`finish`): the log may name it from then on. It
//! needs no second name until then, because no reader knows the first one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_core::future::BoxFuture;
use offshoot_types::content::{AttachmentError, Digest};
use offshoot_types::outcome::Outcome;
use offshoot_types::tool::Place;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::blob;
use crate::blocking;
use crate::confined;
use crate::target::Root;

/// Most bytes that one sidecar keeps.
pub(crate) const MOST_BYTES: usize = 10_000_000;

/// Most bytes that all sidecars in one scratch folder keep, those of `bash` included.
pub(crate) const MOST_IN_ALL: u64 = 200_000_000;

/// What is said where there is no room for another one.
pub(crate) const FULL: &str = "the outputs in the scratch folder have 200 MB already";

const FOLDER: &str = "outputs";

/// A file that takes the whole of an answer.
#[derive(Debug)]
pub(crate) struct Sidecar {
    file: File,
    path: String,
    /// How many bytes it still keeps.
    room: usize,
    /// How many bytes it has kept.
    kept: usize,
    /// Whether something was written that is not kept.
    cut: bool,
}

impl Sidecar {
    /// Creates an empty one for an answer of `tool`; `None` where there is no scratch folder.
    pub(crate) fn create(place: &Place, tool: &str) -> io::Result<Option<Self>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let Some(root) = Root::scratch(place) else {
            return Ok(None);
        };
        let scratch = confined::try_made_root(&root)?;
        let folder = confined::enter(&scratch, FOLDER, Mode::RWXU)?.folder;
        let room = MOST_IN_ALL.saturating_sub(kept_in(Path::new(&root.join(FOLDER))));
        if room == 0 {
            return Err(io::Error::other(FULL));
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{number}-{tool}.txt");
            match confined::create(&folder, name.as_str(), flags, Mode::RUSR | Mode::WUSR) {
                // From another process, or from before; take the next name.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
                Ok(file) => {
                    return Ok(Some(Self {
                        file: File::from(file),
                        path: root.join(&format!("{FOLDER}/{name}")),
                        room: MOST_BYTES.min(usize::try_from(room).unwrap_or(usize::MAX)),
                        kept: 0,
                        cut: false,
                    }));
                }
            }
        }
    }

    /// Makes the file durable, which is when it may be named.
    pub(crate) fn finish(self) -> io::Result<Finished> {
        make_durable(&self.file, Path::new(&self.path))?;
        Ok(Finished {
            path: self.path,
            kept: self.kept,
            is_whole: !self.cut,
        })
    }
}

/// A sidecar that is on disk.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The absolute path.
    pub(crate) path: String,
    /// How many bytes are kept.
    pub(crate) kept: usize,
    /// Whether that is all that was written.
    pub(crate) is_whole: bool,
}

/// Writes a file and its name to disk. The first sidecar of an agent may have made the folder it is
/// in, the scratch folder and the one above, so those are written too.
pub(crate) fn make_durable(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    for folder in path.ancestors().skip(1).take(3) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Keeps texts that are no answer of a tool, and blobs.
pub struct Sidecars;

impl offshoot_types::sidecar::Sidecars for Sidecars {
    fn keep(
        &self,
        place: Place,
        what: &'static str,
        text: String,
    ) -> BoxFuture<'static, Option<String>> {
        let keep = move || {
            // Half of it would be taken for the whole.
            if text.len() > MOST_BYTES {
                return None;
            }
            let mut sidecar = Sidecar::create(&place, what).ok()??;
            sidecar.write_all(text.as_bytes()).ok()?;
            let Finished { path, is_whole, .. } = sidecar.finish().ok()?;
            if !is_whole {
                fs::remove_file(path).ok();
                return None;
            }
            Some(path)
        };
        Box::pin(async move { blocking::attempt(keep).await.ok().flatten() })
    }

    fn store_blob(
        &self,
        folder: String,
        bytes: Vec<u8>,
        most: u64,
    ) -> BoxFuture<'static, Result<Digest, AttachmentError>> {
        Box::pin(attempt(move || blob::store(&folder, &bytes, most)))
    }

    fn read_file(
        &self,
        place: Place,
        path: String,
        most: u64,
    ) -> BoxFuture<'static, Result<Vec<u8>, AttachmentError>> {
        Box::pin(attempt(move || {
            crate::read::bytes(&place, &path, most).map_err(AttachmentError::Io)
        }))
    }

    fn remove_folder(&self, folder: String) -> BoxFuture<'static, Result<(), AttachmentError>> {
        Box::pin(attempt(move || match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(AttachmentError::Io(format!("remove {folder}: {error}")))
            }
            Ok(()) | Err(_) => Ok(()),
        }))
    }

    fn read_blob(
        &self,
        folder: String,
        digest: Digest,
    ) -> BoxFuture<'static, Result<Vec<u8>, AttachmentError>> {
        Box::pin(attempt(move || blob::read(Path::new(&folder), &digest)))
    }

    fn copy_blobs(
        &self,
        from: String,
        to: String,
        digests: Vec<Digest>,
    ) -> BoxFuture<'static, Result<(), AttachmentError>> {
        Box::pin(attempt(move || blob::copy(&from, &to, &digests)))
    }
}

async fn attempt<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AttachmentError> + Send + 'static,
) -> Result<T, AttachmentError> {
    let done = blocking::attempt(work).await;
    done.unwrap_or_else(|why| Err(AttachmentError::Io(why)))
}

/// Takes everything; what does not fit is not kept. Unbuffered.
impl Write for Sidecar {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let kept = bytes.len().min(self.room);
        self.file.write_all(&bytes[..kept])?;
        self.room -= kept;
        self.kept += kept;
        self.cut |= kept < bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Returns how many bytes the sidecars in a folder have; none if it cannot be read.
pub(crate) fn kept_in(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    // Of the entry itself: a link is as long as its name.
    let sizes = entries.map(|entry| entry.and_then(|entry| entry.metadata()));
    sizes.flatten().map(|about| about.len()).sum()
}

/// Marks an outcome whose data is only the head; `path` is where the whole lies, if anywhere.
#[must_use]
pub(crate) fn truncated(mut outcome: Outcome, path: Option<String>) -> Outcome {
    outcome.metadata.truncated = Some(true);
    outcome.metadata.output_path = path;
    outcome
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    fn place(scratch: &std::path::Path) -> Place {
        Place {
            scratch: Some(scratch.to_str().unwrap().to_owned()),
            ..Place::new("/nowhere")
        }
    }

    #[test]
    fn tls_14_each_answer_has_a_file_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(&folder.path().join("parent/child"));
        let mut first = Sidecar::create(&place, "bash").unwrap().unwrap();
        let second = Sidecar::create(&place, "bash").unwrap().unwrap();
        first.write_all(b"all of it").unwrap();
        let (first, second) = (first.finish().unwrap(), second.finish().unwrap());
        assert_ne!(first.path, second.path);
        assert!(first.is_whole);
        assert_eq!(fs::read_to_string(&first.path).unwrap(), "all of it");
        assert!(first.path.ends_with("-bash.txt"));
        assert!(first.path.contains("/parent/child/outputs/"));
    }

    #[tokio::test]
    async fn a_text_is_kept_whole_or_not_at_all() {
        use offshoot_types::sidecar::Sidecars as _;
        let folder = tempfile::tempdir().unwrap();
        let place = place(&folder.path().join("parent/child"));
        let path = Sidecars.keep(place.clone(), "task", "all of it".to_owned());
        let path = path.await.unwrap();
        assert!(path.ends_with("-task.txt") && path.contains("/parent/child/outputs/"));
        assert_eq!(fs::read_to_string(path).unwrap(), "all of it");
        let long = "x".repeat(MOST_BYTES + 1);
        assert_eq!(Sidecars.keep(place, "task", long).await, None);
        let nowhere = Sidecars.keep(Place::new("/nowhere"), "task", String::new());
        assert_eq!(nowhere.await, None);
    }

    #[test]
    fn a_sidecar_that_is_not_on_disk_has_no_path() {
        let folder = tempfile::tempdir().unwrap();
        let sidecar = || Sidecar::create(&place(folder.path()), "bash").unwrap();
        // A device takes bytes and cannot be synced.
        let mut unsynced = sidecar().unwrap();
        unsynced.file = File::options().write(true).open("/dev/null").unwrap();
        unsynced.write_all(b"all of it").unwrap();
        unsynced.finish().unwrap_err();
        let mut unnamed = sidecar().unwrap();
        unnamed.path = folder.path().join("gone/1-bash.txt").display().to_string();
        unnamed.finish().unwrap_err();
    }

    #[test]
    fn only_the_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(&folder.path().join("parent/child"));
        let sidecar = Sidecar::create(&place, "grep").unwrap().unwrap();
        let mode = |path: &str| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&sidecar.path), 0o600);
        assert_eq!(mode(place.scratch.as_deref().unwrap()), 0o700);
        let parent = folder.path().join("parent");
        assert_eq!(mode(parent.to_str().unwrap()), 0o700);
    }

    #[test]
    fn what_does_not_fit_is_taken_and_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut sidecar = Sidecar::create(&place(folder.path()), "bash")
            .unwrap()
            .unwrap();
        let piece = vec![b'x'; 3_000_000];
        for _ in 0..5 {
            sidecar.write_all(&piece).unwrap();
        }
        let finished = sidecar.finish().unwrap();
        assert!(!finished.is_whole);
        let length = fs::metadata(finished.path).unwrap().len();
        assert_eq!(length, MOST_BYTES as u64);
    }

    #[tokio::test]
    async fn all_of_an_agent_have_a_bound_as_well() {
        use offshoot_types::sidecar::Sidecars as _;
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        let mut first = Sidecar::create(&place, "bash").unwrap().unwrap();
        first.write_all(b"x").unwrap();
        let almost = File::options().write(true).open(&first.path).unwrap();
        almost.set_len(MOST_IN_ALL - 3).unwrap();
        assert_eq!(
            Sidecars
                .keep(place.clone(), "task", "four".to_owned())
                .await,
            None
        );
        let mut last = Sidecar::create(&place, "grep").unwrap().unwrap();
        last.write_all(b"four").unwrap();
        let last = last.finish().unwrap();
        assert!(!last.is_whole);
        assert_eq!(last.kept, 3);
        assert_eq!(fs::read(last.path).unwrap(), b"fou");
        let refused = Sidecar::create(&place, "grep").unwrap_err();
        assert_eq!(refused.to_string(), FULL);
    }

    #[test]
    fn without_a_scratch_folder_there_is_none() {
        assert!(
            Sidecar::create(&Place::new("/nowhere"), "glob")
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("elsewhere")).unwrap();
        symlink("elsewhere", folder.path().join("scratch")).unwrap();
        Sidecar::create(&place(&folder.path().join("scratch")), "glob").unwrap_err();
        fs::create_dir(folder.path().join("real")).unwrap();
        symlink("../elsewhere", folder.path().join("real/outputs")).unwrap();
        Sidecar::create(&place(&folder.path().join("real")), "glob").unwrap_err();
        let kept = fs::read_dir(folder.path().join("elsewhere")).unwrap();
        assert_eq!(kept.count(), 0);
    }
}

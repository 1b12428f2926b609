//! The port to sidecars: files for what is not in the log.
//!
//! Texts that are too long to be shown (TLS-14), and blobs: the bytes of images and
//! files that messages name by digest. The engine touches no file, so the host hands
//! it an implementation that does.

use futures_core::future::BoxFuture;

use crate::content::{AttachmentError, Digest};
use crate::tool::Place;

/// Keeps texts in scratch folders, and blobs in folders of sessions.
pub trait Sidecars: Send + Sync {
    /// Keeps the whole of a text in a new file of a place's scratch folder and returns its absolute
    /// path; `None` if that could not be done. `what` is a word for the name of the file.
    fn keep(
        &self,
        place: Place,
        what: &'static str,
        text: String,
    ) -> BoxFuture<'static, Option<String>>;

    /// Stores bytes in a folder of blobs and returns their digest.
    ///
    /// When it returns, the blob is on disk under its name: the log may name it from then on. Bytes
    /// that are there already are not stored again. Refuses what would give the folder more than
    /// `most` bytes.
    fn store_blob(
        &self,
        _folder: String,
        _bytes: Vec<u8>,
        _most: u64,
    ) -> BoxFuture<'static, Result<Digest, AttachmentError>> {
        no_folder()
    }

    /// Returns the first `most` bytes of a file that a tool could read in a place. `Io` says why it
    /// cannot be read.
    fn read_file(
        &self,
        _place: Place,
        _path: String,
        _most: u64,
    ) -> BoxFuture<'static, Result<Vec<u8>, AttachmentError>> {
        no_folder()
    }

    /// Returns the bytes of a blob. `Missing` if it is not there, `Damaged` if its bytes are others
    /// than its digest names.
    fn read_blob(
        &self,
        _folder: String,
        _digest: Digest,
    ) -> BoxFuture<'static, Result<Vec<u8>, AttachmentError>> {
        no_folder()
    }

    /// Copies blobs from one folder to another, durably; a blob that is not there is left out.
    fn copy_blobs(
        &self,
        _from: String,
        _to: String,
        _digests: Vec<Digest>,
    ) -> BoxFuture<'static, Result<(), AttachmentError>> {
        no_folder()
    }

    /// Removes a folder with all that is in it; a folder that is not there is no error.
    fn remove_folder(&self, _folder: String) -> BoxFuture<'static, Result<(), AttachmentError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

fn no_folder<T: Send + 'static>() -> BoxFuture<'static, Result<T, AttachmentError>> {
    Box::pin(std::future::ready(Err(AttachmentError::NoFolder)))
}

/// Keeps nothing: for tests and for hosts without files.
pub struct NoSidecars;

impl Sidecars for NoSidecars {
    fn keep(
        &self,
        _place: Place,
        _what: &'static str,
        _text: String,
    ) -> BoxFuture<'static, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

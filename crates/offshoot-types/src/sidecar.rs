//! The port to sidecars: files for what is too long to be shown (TLS-14).
//!
//! Whoever shows the head of a text names the file that has the whole. The engine
//! touches no file, so the host hands it somebody who does.

use futures_core::future::BoxFuture;

use crate::tool::Place;

/// Keeps texts in scratch folders.
pub trait Sidecars: Send + Sync {
    /// Keeps the whole of a text in a new file of a place's scratch folder and returns its absolute
    /// path; `None` if that could not be done. `what` is a word for the name of the file.
    fn keep(
        &self,
        place: Place,
        what: &'static str,
        text: String,
    ) -> BoxFuture<'static, Option<String>>;
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

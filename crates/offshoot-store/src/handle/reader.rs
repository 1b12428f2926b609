//! The reader: a thread that answers questions.
//!
//! It has a backend of its own, so that a long read does not hold up the writer.
//! The backend is opened by the first question: many handles never ask one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_core::future::BoxFuture;
use offshoot_types::store::{StoreError, StoreErrorKind};
use tokio::sync::oneshot;

use super::mailbox::{Mailbox, Worker};
use crate::backend::Backend;

/// One question, with where the answer goes inside.
type Question = Box<dyn FnOnce(Result<&mut dyn Backend, StoreError>) + Send>;

/// How a backend to read from is opened.
pub(super) type Open = Box<dyn FnMut() -> Result<Box<dyn Backend>, StoreError> + Send>;

/// The reader's thread.
pub(super) struct Reader(Worker<Question>);

impl Reader {
    pub(super) fn start(mut open: Open) -> Result<Self, StoreError> {
        let work = move |mailbox: &Mailbox<Question>| {
            let mut backend: Option<Box<dyn Backend>> = None;
            while let Some(questions) = mailbox.take(1) {
                for question in questions {
                    let opened = match backend.take() {
                        Some(backend) => Ok(backend),
                        None => open(),
                    };
                    match opened {
                        Ok(mut opened) => {
                            let ask = AssertUnwindSafe(|| question(Ok(opened.as_mut())));
                            // After a panic the question is dropped, which its sender notices, and
                            // the next one opens a backend of its own.
                            backend = catch_unwind(ask).is_ok().then_some(opened);
                        }
                        Err(error) => question(Err(error)),
                    }
                }
            }
        };
        Worker::start("offshoot-read", work).map(Self)
    }

    /// Asks something.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut dyn Backend) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (reply, answer) = oneshot::channel();
        self.0.mailbox().send(Box::new(move |backend| {
            if reply.send(backend.and_then(question)).is_err() {
                // Whoever asked does not want to know any more.
            }
        }));
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(gone())) })
    }
}

/// The answer of a thread that is not there any more.
pub(super) fn gone() -> StoreError {
    StoreError::new(StoreErrorKind::Io, "the store's thread has ended")
}

//! The one place that hands blocking file work to other threads.
//!
//! Work on regular files is short and cannot be interrupted half way, so nothing
//! here watches a signal: the work does, between its pieces. Dropping the future
//! leaves the work to finish by itself.

use offshoot_types::outcome::{ErrorKind, Outcome};

/// Runs `work` where blocking is allowed and waits for it.
pub(crate) async fn run(work: impl FnOnce() -> Outcome + Send + 'static) -> Outcome {
    attempt(work)
        .await
        .unwrap_or_else(|why| Outcome::error(ErrorKind::Failed, why))
}

/// Like `run`, for work that comes to something else; says so if it came to nothing.
pub(crate) async fn attempt<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "awaited on the next line; the runtime bounds the threads"
    )]
    let task = tokio::task::spawn_blocking(work);
    task.await.map_err(|error| format!("run the tool: {error}"))
}

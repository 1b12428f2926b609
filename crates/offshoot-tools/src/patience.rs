//! How long a search may go on.
//!
//! A search of a large tree runs on another thread and asks between its pieces
//! whether to go on. It ends when it is cancelled, when its time is up, and when
//! nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use offshoot_types::cancel::Cancel;
use offshoot_types::outcome::Outcome;

use crate::blocking;

/// The time that a search has.
pub(crate) const TIME: Duration = Duration::from_secs(30);

/// What a search asks whether to go on.
pub(crate) struct Patience {
    cancel: Cancel,
    over: Arc<AtomicBool>,
}

/// Why a search ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enough {
    Cancelled,
    OutOfTime,
}

impl Patience {
    /// Returns why to end, or `None` to go on.
    pub(crate) fn ends(&self) -> Option<Enough> {
        if self.cancel.is_cancelled() {
            Some(Enough::Cancelled)
        } else if self.over.load(Ordering::Relaxed) {
            Some(Enough::OutOfTime)
        } else {
            None
        }
    }

    #[cfg(test)]
    pub(crate) fn with(cancel: Cancel, over: bool) -> Self {
        let over = Arc::new(AtomicBool::new(over));
        Self { cancel, over }
    }
}

/// Sets the flag when the waiting ends, in whichever way.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs a search where blocking is allowed and waits for it; tells it when its time is up.
pub(crate) async fn search(
    cancel: Cancel,
    time: Duration,
    work: impl FnOnce(&Patience) -> Outcome + Send + 'static,
) -> Outcome {
    let over = Arc::new(AtomicBool::new(false));
    let patience = Patience {
        cancel,
        over: Arc::clone(&over),
    };
    let waiting = Waiting(over);
    let mut found = std::pin::pin!(blocking::run(move || work(&patience)));
    tokio::select! {
        biased;
        outcome = &mut found => return outcome,
        () = tokio::time::sleep(time) => drop(waiting),
    }
    found.await
}

#[cfg(test)]
mod tests {
    use offshoot_types::json::RawJson;

    use super::*;

    /// Searches until there is a reason to end, and answers with it.
    fn endless(patience: &Patience) -> Outcome {
        loop {
            if let Some(enough) = patience.ends() {
                return Outcome::output(RawJson::of(&format!("{enough:?}")));
            }
            std::thread::yield_now();
        }
    }

    #[tokio::test]
    async fn a_search_ends_when_its_time_is_up() {
        let outcome = search(Cancel::never(), Duration::from_millis(1), endless).await;
        assert_eq!(outcome.for_model(), "OutOfTime");
    }

    #[tokio::test]
    async fn a_search_that_nobody_waits_for_ends() {
        // Dropped with the work, which is when it has ended.
        let (working, ended) = tokio::sync::oneshot::channel::<()>();
        let work = move |patience: &Patience| {
            let _working = working;
            endless(patience)
        };
        tokio::select! {
            biased;
            _ = search(Cancel::never(), Duration::from_secs(3600), work) => {}
            () = tokio::task::yield_now() => {}
        }
        ended.await.unwrap_err();
    }
}

//! The signal that asks work to stop.
//!
//! Cooperative: whoever gets one watches it. It can be asked and awaited, never
//! fired from here, and says nothing about why.

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;

/// A signal that asks work to stop. Cloning shares it.
#[derive(Clone)]
pub struct Cancel(Arc<dyn Signal>);

/// What stands behind a `Cancel`.
pub trait Signal: Send + Sync {
    /// Tells whether it has fired. Once true, always true.
    fn is_cancelled(&self) -> bool;

    /// Resolves when it fires, at once if it has.
    fn cancelled(&self) -> BoxFuture<'_, ()>;
}

impl Cancel {
    /// Wraps a signal.
    pub fn new(signal: impl Signal + 'static) -> Self {
        Self(Arc::new(signal))
    }

    /// A signal that never fires.
    pub fn never() -> Self {
        Self::new(Never)
    }

    /// Tells whether it has fired.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Resolves when it fires.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cancel({})", self.is_cancelled())
    }
}

struct Never;

impl Signal for Never {
    fn is_cancelled(&self) -> bool {
        false
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

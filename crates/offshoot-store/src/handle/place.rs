//! Who owns a tree, beyond the rows.
//!
//! A place knows which handle holds a tree right now, also when that handle
//! belongs to a process that has since died, and how to reach it. The epoch in
//! the rows protects the log; this keeps two owners from working at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use offshoot_types::id::TreeId;
use offshoot_types::store::{Committed, Nudged, StoreError};

/// Where trees are held.
pub(super) trait Place: Send + Sync {
    /// Takes hold of a tree; `None` while another handle has it.
    fn hold(&self, tree: &TreeId) -> Result<Option<Arc<Hold>>, StoreError>;

    /// Tells whether any handle has hold of a tree.
    fn is_held(&self, tree: &TreeId) -> bool;

    /// Tells the holder of a tree, if there is one, that a command waits. May be lost.
    fn nudge(&self, tree: &TreeId);
}

/// Hold of one tree, until it is let go or dropped.
pub(super) struct Hold(Mutex<Option<Box<dyn Send>>>);

impl Hold {
    /// Wraps whatever gives the tree up when it is dropped.
    pub(super) fn new(lock: impl Send + 'static) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(Box::new(lock)))))
    }

    /// Gives the tree up, also while clones of its lease live.
    pub(super) fn let_go(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Who listens to a handle; set once.
pub(super) type Listeners = Arc<OnceLock<(Committed, Nudged)>>;

/// Calls the subscriber of nudges.
pub(super) fn call_nudged(listeners: &Listeners, tree: &TreeId) {
    if let Some((_, nudged)) = listeners.get()
        && catch_unwind(AssertUnwindSafe(|| nudged(tree))).is_err()
    {
        // The panic hook has reported it. The nudge is lost; an owner polls for commands.
    }
}

//! The world as far as the engine may see it: a clock and a source of ids.
//!
//! Libraries read no wall clock and no random source; the binary hands one in,
//! and a simulation hands in another that repeats itself.

use crate::id::Timestamp;

/// A clock and a source of ids.
pub trait Env: Send + Sync {
    /// Returns the time by the wall clock. May go backwards; nothing orders by it.
    fn now(&self) -> Timestamp;

    /// Returns a new id, uuid v7 in its bare form. Never the same twice.
    fn new_id(&self) -> String;
}

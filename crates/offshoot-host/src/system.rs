//! The world as it is: the system's clock, and ids that sort by the time they were made.
//!
//! The only place that reads the wall clock or a random source. The library and the command line both
//! assemble a runtime with it.

use std::time::{SystemTime, UNIX_EPOCH};

use offshoot_types::env::Env;
use offshoot_types::id::Timestamp;
use uuid::Uuid;

/// The world as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Env for System {
    #[expect(clippy::disallowed_methods, reason = "this is the clock behind Env")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::new(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// Counts up within a process, also when the clock stands still or goes back.
    fn new_id(&self) -> String {
        Uuid::now_v7().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_process_sort_by_the_order_they_were_made_in() {
        let ids: Vec<String> = (0..10_000).map(|_| System.new_id()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

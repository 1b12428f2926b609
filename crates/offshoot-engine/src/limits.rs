//! The host's limits on trees and turns.
//!
//! Numbers only; who enforces each is said beside it.

use std::time::Duration;

use offshoot_types::caps::{Caps, Span};

/// The host's limits on trees and turns.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Generations below the root (`task`).
    pub depth: u32,
    /// Live descendants of a tree (`task`).
    pub descendants: usize,
    /// Model streams and tool runs of a tree at one time (`slots`).
    pub slots: usize,
    /// Turns in a row that mail may start without a prompt (`next`).
    pub wakes: u32,
    /// What a root's runs may use where their manifest says nothing (`caps`, `watch`).
    pub root: Caps,
    /// What spawned runs may use where their manifest says nothing.
    pub spawned: Caps,
    /// Tries of one step before a model's failure ends the turn (`turn`).
    pub attempts: u32,
    /// How long a cancelled tool may take to end before it is dropped (`scheduler`).
    pub grace: Duration,
    /// How often an owner looks for commands whose nudge was lost (`session`).
    pub poll: Duration,
    /// How long a command waits for another process that owns its tree (`runtime`).
    pub answer: Duration,
    /// How long an orderly shutdown may take (`runtime`).
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 5,
            descendants: 256,
            slots: 16,
            wakes: 32,
            root: Caps::default(),
            spawned: Caps {
                steps: Some(16),
                time: Some(Span::secs(60 * 60)),
                stall: Some(Span::secs(5 * 60)),
                ..Caps::default()
            },
            attempts: 3,
            grace: Duration::from_secs(2),
            poll: Duration::from_secs(1),
            answer: Duration::from_secs(2),
            shutdown: Duration::from_secs(5),
        }
    }
}

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
    /// How much may be attached (`attachments`).
    pub attachments: AttachmentLimits,
}

/// How many bytes may be attached, and how many attachments a message may have.
#[derive(Clone, Copy, Debug)]
pub struct AttachmentLimits {
    /// Bytes of one attachment.
    pub part: u64,
    /// Attachments of one message.
    pub parts: usize,
    /// Bytes of all attachments of one message.
    pub message: u64,
    /// Bytes of all blobs of one session.
    pub session: u64,
    /// Bytes of all images of one request; older images than fit are left out.
    pub request: u64,
}

impl Default for AttachmentLimits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            part: 10 * MIB,
            parts: 32,
            message: 20 * MIB,
            session: 256 * MIB,
            request: 20 * MIB,
        }
    }
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
            attachments: AttachmentLimits::default(),
        }
    }
}

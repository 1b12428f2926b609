//! The vocabulary: its stored form, and the rules its folds keep.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod golden_logs;
mod manifest;
mod outcome;
mod stored;
mod transcript;
mod tree;
mod unfinished;
mod usage;
mod write;

//! Faces: golden logs against what clients are sent.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod forms;
mod golden;
mod pieces;
mod rules;
mod snapshots;
mod stage;
mod tools;

//! Faces: golden logs against what clients are sent, and whole connections.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod attaching;
mod cancelling;
mod children;
mod connection;
mod conversations;
mod files;
mod forms;
mod golden;
mod limits;
mod pieces;
mod proposal;
mod rules;
mod snapshots;
mod stage;
mod talk;
mod tools;

//! The tests of the built-in tools, against real files.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests do, by panicking"
)]

mod bench;
mod confinement;
mod read;
mod write;

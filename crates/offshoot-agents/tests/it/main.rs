//! The tests of the agent definitions.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests do, by panicking"
)]

mod builtin;
mod catalogue;
mod docs;
mod files;

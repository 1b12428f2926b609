//! The tests of the models: what is asked, and what comes back.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests do, by panicking"
)]

mod chat;
mod chat_ends;
mod chat_errors;
mod chat_request;
mod docs;
mod faults;
mod loading;
mod matching;
mod offline;
mod offline_chores;
mod offline_world;
mod registry;
mod replying;
mod server;
mod stage;

//! The tests of the built-in tools, against real files and real processes.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests do, by panicking"
)]

mod bash;
mod bash_bench;
mod bash_client;
mod bash_ends;
mod bash_output;
mod bash_owners;
mod belonging;
mod bench;
mod client_files;
mod confinement;
mod edit;
mod glob;
mod grep;
mod hook_commands;
mod ignoring;
mod journal;
mod keeper;
mod parallel;
mod read;
mod scratch;
mod sizes;
mod specs;
mod truncation;
mod write;

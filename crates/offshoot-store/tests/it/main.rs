//! Stores from outside: the contract, and what only a file can get wrong.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chat;
mod contract;
mod damage;
mod deletion;
mod file;
mod interrupted;
mod look;

//! The vocabulary of Offshoot and the ports between its parts.
//!
//! Every other crate speaks in these types. Nothing here does I/O, reads a
//! clock or knows an async runtime; ports return plain futures. Read in the
//! order below: the words first, then the log, then what is derived from it,
//! then the ports.

#![warn(missing_docs)]

pub mod base64;
pub mod content;
pub mod date;
pub mod id;
pub mod journal;
pub mod json;
pub mod message;
pub mod outcome;
pub mod question;
pub mod report;
pub mod settlement;

pub mod caps;
pub mod manifest;
pub mod permission;
pub mod project;
pub mod suggest;
pub mod terms;
pub mod tier;

pub mod client_tool;
pub mod command;
pub mod event;
pub mod stored;
pub mod transcript;
pub mod tree;

pub mod cancel;
pub mod client_ports;
pub mod env;
pub mod hook;
pub mod listing;
pub mod live;
pub mod model;
pub mod sidecar;
pub mod store;
pub mod tool;

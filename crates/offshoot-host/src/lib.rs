//! Makes a runtime of configuration, agent files, trust and projects. It prints nothing and reads no
//! environment: what a user should know is returned, and variables and folders are handed in.
//!
//! `config` says what is set and where; `definitions`, `rules`, `hooks` and `servers` what a user and a
//! repository bring; `trust` what of it is accepted; `projects` has all that for any workspace, and reads it
//! again when files change; `assemble` makes a runtime of it. `folder`
//! reads files that a repository brings, `project_context` the instructions of a new session. `System`
//! is the clock and the ids of a process.

pub mod assemble;
pub mod config;
pub mod definitions;
mod error;
pub mod folder;
pub mod harmless;
pub mod hooks;
pub mod project_context;
pub mod projects;
pub mod rules;
pub mod servers;
mod surroundings;
mod system;
pub mod trust;

pub use error::HostError;
pub use surroundings::Surroundings;
pub use system::System;

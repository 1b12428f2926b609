//! What a program needs to host a runtime. It prints nothing.
//!
//! `folder` reads files that a repository brings, `project_context` what a new session reads about
//! its project. What a user should know is returned, for the caller to show. `System` is the clock and
//! the ids of a process.

pub mod folder;
pub mod project_context;
mod system;

pub use system::System;

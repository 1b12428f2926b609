//! The library's own part: what assembles a runtime, and handles on what runs in it.
//!
//! `builder` assembles; `runtime` is the handle on all of it, `session` on one tree, `agent` on one
//! agent, `host` on a tree whose root is the program itself; `spawn` starts a child of an agent, and `run` is a
//! prompt with its answer. `follow` waits for what the log says of an agent. `agent_files` reads agents from a folder, `shell` is the
//! keeper of commands. `fn_tool` and `fn_model` make tools and models of functions.

mod agent;
mod agent_files;
mod builder;
mod error;
mod fn_model;
mod fn_tool;
mod follow;
mod host;
mod rules;
mod run;
mod runtime;
mod session;
mod shell;
mod spawn;
mod updates;

pub use agent::Agent;
pub use builder::Builder;
pub use error::Error;
pub use fn_model::{FnModel, Reply};
pub use fn_tool::FnTool;
pub use host::Host;
pub use run::Run;
pub use runtime::Runtime;
pub use session::{NewSession, Session};
pub use shell::keeper;
pub use spawn::NewChild;
pub use updates::Updates;

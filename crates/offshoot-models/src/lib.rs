//! Models behind the `Model` port.
//!
//! `Scripted` answers from a file, so that agents can be tested without a
//! provider; `ModelSet` finds models by name. Nothing here knows an agent's
//! loop, a store or a tool: a request comes in, a stream of chunks goes out, and
//! retrying is the caller's business.

mod registry;
mod scripted;

pub use registry::ModelSet;
pub use scripted::{ScriptError, Scripted};

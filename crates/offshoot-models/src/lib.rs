//! Models behind the `Model` port.
//!
//! `Scripted` answers from a file, so that agents can be tested without a
//! provider; `ModelSet` finds models by name; `Transport` is how dialects reach a
//! server. Nothing here knows an agent's loop, a store or a tool: a request comes
//! in, a stream of chunks goes out, and retrying is the caller's business.

mod registry;
mod scripted;
mod secret;
mod transport;

pub use registry::ModelSet;
pub use scripted::{ScriptError, Scripted};

pub use secret::Secret;
pub use transport::{
    HeaderText, Http, HttpRequest, HttpResponse, Method, Transport, TransportError,
};

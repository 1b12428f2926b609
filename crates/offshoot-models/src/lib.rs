//! Models behind the `Model` port.
//!
//! `Offline` answers by rules, for who has no provider; `Scripted` answers from a
//! file, so that agents can be tested without one; `OpenAiChat` asks a server
//! over HTTP; `ModelSet` finds models by name. Nothing here knows an agent's
//! loop, a store or a tool: a request comes in, a stream of chunks goes out, and
//! retrying is the caller's business.

mod exchange;
mod failure;
mod offline;
mod openai_chat;
mod registry;
mod scripted;
mod secret;
mod sse;
mod transport;

pub use offline::Offline;
pub use openai_chat::{CapField, Header, OpenAiChat, OpenAiChatSettings};
pub use registry::ModelSet;
pub use scripted::{ScriptError, Scripted};
pub use secret::Secret;
pub use transport::{
    HeaderText, Http, HttpRequest, HttpResponse, Method, Transport, TransportError, public_address,
};

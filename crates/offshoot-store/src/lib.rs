//! Where Offshoot's log lives.
//!
//! `Backend` is the synchronous heart of a store: it commits groups of writes
//! and reads. `Memory` and `Sqlite` are two; `Handle` makes a `Store` of either
//! by giving it a writer thread and group commit. Nothing here knows a model, a
//! tool or what an agent is for.

mod backend;
mod memory;
mod sqlite;

mod handle;
mod look;

pub mod chat;
pub mod contract;

pub use backend::{Backend, Write, Written};
pub use handle::Handle;
pub use look::{Look, look, unrecoverable};
pub use memory::Memory;
pub use sqlite::Sqlite;

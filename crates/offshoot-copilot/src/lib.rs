//! The session events of the Copilot SDK (protocol 3): their wire types, and the log folded into them.
//!
//! `wire` is the shape of the events, `fold` which of them follow from an entry. It knows neither the
//! engine nor a connection. `docs/events.md` says of each field whether it is given.

mod fold;
pub mod wire;

pub use fold::Fold;

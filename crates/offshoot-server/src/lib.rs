//! The faces: what other programs speak with Offshoot.
//!
//! So far the half of one: the log as updates of the Agent Client Protocol. A face
//! converts and decides nothing, so everything here is a pure fold: no I/O, no
//! clock, no runtime, and no second copy of how a prompt is answered.

pub mod acp;

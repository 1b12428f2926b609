//! The faces: what other programs speak with Offshoot.
//!
//! A face converts and decides nothing: what a client sees is a fold of the log, and what it asks is a
//! command or a query of the runtime. No face reads files, a clock or the environment.

pub mod acp;

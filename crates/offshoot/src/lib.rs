//! Offshoot as a library: a runtime of your own, with your tools, models and store.
//!
//! A thin face, as the command line is one: it assembles an `offshoot_engine::Runtime` and speaks to
//! it in its five verbs (R9). It has no powers of its own, reads no environment variable and prints
//! nothing. Words that are the engine's are not wrapped: they are in [`types`] and re-exported here
//! where nearly every program needs them.
//!
//! What follows is `docs/library.md`; its examples are tests.
#![doc = ""]
#![doc = include_str!("../../../docs/library.md")]
#![warn(missing_docs)]

mod facade;
pub mod flow;

pub use facade::{
    Agent, Builder, Error, FnModel, FnTool, Host, NewChild, NewSession, Reply, Run, Runtime,
    Session, Updates, keeper,
};

pub use offshoot_engine::{
    Activity, Asks, AttachError, Attachment, Compacting, Delta, DeltaKind, Ending, Limits, Missing,
    Output, Overlay, ProjectError, SmartRecovery, SystemMessage, ToolFilter, Update,
};
pub use offshoot_macros::tool;
pub use offshoot_models::{OpenAiChatSettings, Secret};
pub use offshoot_tools::shell::Keeper;
pub use offshoot_types as types;
pub use offshoot_types::content::{Content, Part};
pub use offshoot_types::event::{Entry, Event};
pub use offshoot_types::json::RawJson;
pub use offshoot_types::listing::{SessionCursor, SessionPage, SessionQuery};
pub use offshoot_types::manifest::{Manifest, Mode, Toolset};
pub use offshoot_types::model::{Model, Request};
pub use offshoot_types::project::{InstructionFile, ProjectContext};
pub use offshoot_types::settlement::{Settlement, Status};
pub use offshoot_types::tier::Tier;
pub use offshoot_types::tool::Tool;
pub use offshoot_types::tree::Unfinished;

/// What the code that `tool` writes refers to; no part of the interface.
#[doc(hidden)]
pub mod macro_support {
    pub use futures_util::future::BoxFuture;
    pub use offshoot_types::outcome::Outcome;
    pub use offshoot_types::permission::Need;
    pub use offshoot_types::tool::{Place, Tool, ToolSpec, Work};
    pub use {schemars, serde};
}

/// The example of the README, so that it stays true.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

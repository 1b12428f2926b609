//! The port to tools.
//!
//! A tool gets its arguments and a place to work in, never an agent, a session
//! or a store. It says beforehand what a call needs, so that the permission
//! chain can be asked; it answers with an outcome, so there is no `Err`.

use futures_core::future::BoxFuture;

use crate::cancel::Cancel;
use crate::json::RawJson;
use crate::outcome::Outcome;
use crate::permission::Need;

/// A tool.
pub trait Tool: Send + Sync {
    /// Returns what models are told of it. Always the same.
    fn spec(&self) -> &ToolSpec;

    /// Checks the arguments and returns what the call needs, or tells the model what is wrong.
    ///
    /// Has no effect. Called once before `run`.
    fn needs(&self, arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String>;

    /// Runs the call. Watches `cancel` and ends soon after it fires; may be dropped at any await.
    fn run(&self, arguments: RawJson, place: Place, cancel: Cancel) -> BoxFuture<'static, Outcome>;
}

/// What models are told of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its id.
    pub id: String,
    /// What it does, what it does not, when to use it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: RawJson,
    /// What it does to the world.
    pub effect: Effect,
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Looks only: calls run side by side, and their start is stored with their end.
    Read,
    /// Changes something: that it started is stored before it runs.
    Write,
}

/// Where a call works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The root folder, absolute.
    pub workspace: String,
}

//! What an agent's manifest said of it when it was born.
//!
//! For projections only: wires tell their clients who an agent is, and the
//! manifest may be another by the time somebody looks. Nothing in the engine
//! reads it; what an agent may do and is offered is decided from the manifest.

use serde::{Deserialize, Serialize};

use crate::manifest::{Effort, Manifest};

/// What a manifest said of its agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The tools it named; without it, all that its place offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// How hard its model is to think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

impl Profile {
    /// Returns what a manifest says.
    pub fn of(manifest: &Manifest) -> Self {
        Self {
            description: manifest.description.clone(),
            tools: manifest.tools.allow.clone(),
            effort: manifest.effort,
        }
    }

    /// Tells whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

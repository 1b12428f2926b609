//! The model `scripted/FILE`: answers from a file instead of a provider.
//!
//! A script is a list of rules; the first that matches a request answers it. It
//! has no randomness and reads no clock, so equal requests in equal order get
//! equal answers. The script never changes; the only state is how often a rule
//! with `times` has fired for each agent. Users' documentation: docs/scripted.md.

mod error;
mod file;
mod reply;
mod situation;
mod template;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures_core::stream::BoxStream;
use offshoot_types::cancel::Cancel;
use offshoot_types::caps::Price;
use offshoot_types::id::AgentId;
use offshoot_types::manifest::Manifest;
use offshoot_types::model::{Chunk, Model, ModelError, ModelErrorKind, Request};

pub use error::ScriptError;

use file::{Rule, Script};
use reply::Act;
use situation::Situation;

/// A model that answers from a script.
#[derive(Debug)]
pub struct Scripted {
    source_name: String,
    script: Script,
    /// How often a rule with `times` has fired, by the agent and the rule's index.
    fired: Mutex<BTreeMap<(AgentId, usize), u32>>,
}

impl Scripted {
    /// Reads a script, YAML or JSON. `source_name` is what errors call it, such as its path.
    pub fn load(text: &str, source_name: &str) -> Result<Self, ScriptError> {
        Ok(Self {
            source_name: source_name.to_owned(),
            script: file::read(text, source_name)?,
            fired: Mutex::default(),
        })
    }

    /// Returns the agents that the script defines, in its order.
    pub fn agents(&self) -> &[Manifest] {
        &self.script.agents
    }

    fn plan(&self, request: &Request) -> Vec<Act> {
        let situation = Situation::of(request);
        match self.rule_for(&situation) {
            Some(rule) => reply::plan(rule, &situation, request, &self.source_name),
            None => vec![Act::Fail(self.no_rule(&situation))],
        }
    }

    fn rule_for(&self, situation: &Situation<'_>) -> Option<&Rule> {
        let mut rules = self.script.rules.iter().enumerate();
        let (_, rule) = rules.find(|(index, rule)| {
            situation.meets(rule) && self.fires(*index, rule, &situation.from.agent)
        })?;
        Some(rule)
    }

    /// Counts that a rule fires for an agent; false when it has done so often enough.
    fn fires(&self, index: usize, rule: &Rule, agent: &AgentId) -> bool {
        let Some(times) = rule.times else {
            return true;
        };
        // A count is whole at any moment, so a panic elsewhere cannot have spoilt it.
        let mut fired = self.fired.lock().unwrap_or_else(PoisonError::into_inner);
        let count = fired.entry((agent.clone(), index)).or_insert(0);
        if *count >= times.get() {
            return false;
        }
        *count += 1;
        true
    }

    fn no_rule(&self, situation: &Situation<'_>) -> ModelError {
        ModelError::new(
            ModelErrorKind::Invalid,
            format!(
                "answer {situation} from script {}: no rule matches; add one to `replies`",
                self.source_name
            ),
        )
    }
}

impl Model for Scripted {
    fn stream(
        &self,
        request: Request,
        cancel: Cancel,
    ) -> BoxStream<'static, Result<Chunk, ModelError>> {
        reply::play(self.plan(&request), cancel)
    }

    fn price(&self) -> Option<Price> {
        self.script.price
    }

    fn window(&self) -> Option<u64> {
        self.script.window
    }
}

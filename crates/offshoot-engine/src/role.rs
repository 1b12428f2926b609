//! Who an agent is in its next turn (SA-48).
//!
//! A message may name another agent for its turn and onward; a host's hook may
//! choose another model. Whatever it is, it is written down in front of the turn
//! that it holds for, with the layer and the terms that come with it, and the
//! session stays the one it was. Agents cannot do it to themselves: `plan_exit`
//! asks a person, and it is the host that says the rest.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_types::command::Prompt;
use offshoot_types::event::Role;
use offshoot_types::hook::About;
use offshoot_types::id::{AgentId, MessageId};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::Context;
use offshoot_types::message::{Author, UserMessage};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Layer, Need, Permissions};
use offshoot_types::tool::{Effect, Place, Reach, Tool, ToolSpec, Work};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::board::{Kin, State};
use crate::scope;

/// The tool by which a planning agent proposes that its plan be carried out.
pub(crate) const PLAN_EXIT: &str = "plan_exit";

/// Who carries plans out.
const BUILDER: &str = "build";

impl Agent {
    /// Returns whom hooks are asked about.
    pub(crate) fn about(&self) -> About<'_> {
        About {
            session: self.board.tree.root(),
            agent: &self.id,
            definition: &self.definition,
            depth: self.depth,
        }
    }

    /// Returns the agent as its log has it now: the same one, or what it has become.
    pub(crate) fn as_it_is_now(self: &Arc<Self>) -> Arc<Self> {
        let state = self.board.state();
        let (Some(found), Some(node)) = (state.tree.agent(&self.id), state.node(&self.id)) else {
            return self.clone();
        };
        if found.definition() == self.definition && found.model() == self.model {
            return self.clone();
        }
        Arc::new(Self {
            definition: found.definition().to_owned(),
            model: found.model().to_owned(),
            lineage: state.lineage(&self.id),
            permissions: node.permissions.clone(),
            read_only: node.read_only,
            ..self.as_ref().clone()
        })
    }

    /// Returns what the agent becomes for a turn that takes up a message; `None` if it stays as it is.
    pub(crate) fn next_role(&self, message: Option<&UserMessage>) -> Option<Role> {
        let state = self.board.state();
        let found = state.tree.agent(&self.id)?;
        let named = message.and_then(|message| message.agent.as_deref());
        let manifest = self
            .parts
            .registry
            .get(named.unwrap_or(found.definition()))?;
        let born_as = &found.spawned;
        let model = match manifest.name == born_as.definition {
            true => &born_as.model,
            false => manifest.model.as_ref().unwrap_or(&born_as.model),
        };
        let about = About {
            definition: &manifest.name,
            ..self.about()
        };
        let model = self
            .parts
            .hooks
            .resolve_model(about, model)
            .unwrap_or_else(|| model.clone());
        if found.definition() == manifest.name && found.model() == model {
            return None;
        }
        let above = &state.node(&self.id)?.above;
        let terms = scope::terms_of_role(
            &self.parts,
            manifest,
            above,
            &self.workspace,
            self.depth == 0,
        );
        Some(Role {
            definition: manifest.name.clone(),
            model,
            layer: Layer::of_agent(&manifest.name, manifest.permissions.as_deref()),
            terms: offshoot_types::terms::Terms {
                // What the session may use does not grow with who works in it.
                caps: found.terms().caps.narrow(manifest.limits),
                ..terms
            },
        })
    }

    /// Has the session go on with the agent that carries plans out; returns why not, if not.
    pub(crate) async fn hand_over(
        &self,
        arguments: &RawJson,
        cancel: &CancellationToken,
    ) -> Result<(), Outcome> {
        let Plan { plan } = arguments.read().map_err(|error| {
            let text = format!("the arguments of {PLAN_EXIT}: {error}");
            Outcome::error(ErrorKind::InvalidInput, text)
        })?;
        let prompt = Prompt {
            message: MessageId::new(self.parts.env.new_id()),
            text: format!("The plan was approved. Carry it out:\n\n{plan}"),
            from: Author::Host,
            agent: Some(BUILDER.to_owned()),
            metadata: None,
        };
        self.send(self.id.clone(), prompt, cancel).await
    }
}

impl State {
    /// Returns an agent and, as far as it sees their conversations, those above it.
    pub(crate) fn lineage(&self, id: &AgentId) -> Vec<Kin> {
        let mut lineage = Vec::new();
        for id in self.tree.path(id) {
            let Some(agent) = self.tree.agent(id) else {
                break;
            };
            // How much it sees was settled at its birth.
            let context = agent.spawned.terms.context;
            lineage.push(Kin {
                definition: agent.definition().to_owned(),
                model: agent.model().to_owned(),
                is_root: agent.spawned.depth == 0,
                context,
            });
            if context == Context::Fresh {
                break;
            }
        }
        lineage
    }

    /// Holds an agent to what it has become.
    pub(crate) fn change_role(&mut self, id: &AgentId) {
        let Some(agent) = self.tree.agent(id) else {
            return;
        };
        let (layer, definition) = (agent.layer().clone(), agent.definition().to_owned());
        let read_only = agent.terms().read_only;
        if let Some(node) = self.node_mut(id) {
            node.permissions = own_chain(&node.above, &layer, read_only, &definition);
            node.read_only = node.above_read_only || read_only;
        }
    }
}

/// Returns the chain of an agent: that above it, its own layer, and what holds it to reading.
pub(crate) fn own_chain(
    above: &Permissions,
    layer: &Layer,
    read_only: bool,
    definition: &str,
) -> Permissions {
    let own = above.narrow(layer.clone());
    match read_only {
        true => own.narrow(Layer::read_only(definition)),
        false => own,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    plan: String,
}

/// `plan_exit`, for agents whose manifest names it.
pub(crate) struct PlanExit(ToolSpec);

impl PlanExit {
    pub(crate) fn tool() -> Arc<dyn Tool> {
        let parameters = serde_json::json!({
            "type": "object",
            "properties": {
                "plan": { "type": "string", "minLength": 1, "description": "the whole plan, in steps" },
            },
            "required": ["plan"],
            "additionalProperties": false,
        });
        Arc::new(Self(ToolSpec {
            id: PLAN_EXIT.to_owned(),
            description:
                "Proposes your plan to the person you work for. If they approve it, another \
                          agent carries it out after your turn; you change nothing yourself."
                    .to_owned(),
            parameters: RawJson::of(&parameters),
            effect: Effect::Write,
        }))
    }
}

impl Tool for PlanExit {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn needs(&self, _arguments: &RawJson, _place: &Place) -> Result<Vec<Need>, String> {
        Ok(vec![Need {
            capability: Layer::SWITCH.to_owned(),
            target: BUILDER.to_owned(),
        }])
    }

    fn run(&self, _work: Work) -> BoxFuture<'static, Outcome> {
        let text = "approved; end your turn, and build carries the plan out";
        Box::pin(std::future::ready(Outcome::output(RawJson::of(&text))))
    }

    fn reach(&self) -> Reach {
        Reach::RootOnly
    }
}

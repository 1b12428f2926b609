//! Who an agent is in its next turn (SA-48).
//!
//! A message may name another agent for its turn and onward, and a client may set one
//! (`Order::SetRole`); a host's hook may choose another model. Whatever it is, it is written down in front of the turn
//! that it holds for, with the layer and the terms that come with it, and the
//! session stays the one it was. Agents cannot do it to themselves: `plan_exit`
//! asks a person, and it is the host that says the rest.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_types::command::Prompt;
use offshoot_types::event::{Role, RoleChoice};
use offshoot_types::hook::{About, Switch};
use offshoot_types::id::{AgentId, MessageId};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Context, Manifest};
use offshoot_types::message::{Author, UserMessage};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Layer, Need, Permissions};
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::board::{Board, Kin, Relative, State};
use crate::ground::Held;
use crate::hooks::prompts::SwitchRules;
use crate::kit::Kit;
use crate::runtime::Missing;

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

    /// Returns the agent as its log and its session's kit have it now: the same one, or what it has
    /// become.
    pub(crate) fn as_it_is_now(self: &Arc<Self>) -> Arc<Self> {
        let kit = self.board.kit();
        let state = self.board.state();
        let (Some(found), Some(node)) = (state.tree.agent(&self.id), state.node(&self.id)) else {
            return self.clone();
        };
        let is_same = found.definition() == self.definition
            && found.model() == self.model
            && node.permissions.is_same(&self.permissions)
            && Arc::ptr_eq(&kit, &self.kit);
        if is_same {
            return self.clone();
        }
        Arc::new(Self {
            definition: found.definition().to_owned(),
            model: found.model().to_owned(),
            lineage: state.lineage(&self.id),
            permissions: node.permissions.clone(),
            read_only: node.read_only,
            kit,
            ..self.as_ref().clone()
        })
    }

    /// Has a message taken up as a hook of the user says; returns the note for the log (SA-49).
    pub(crate) fn switch(
        &self,
        switch: &Switch,
        message: &mut UserMessage,
    ) -> Result<String, String> {
        if !self.is_root() {
            return Err("only the agent of a session is switched".to_owned());
        }
        let (above, counts_money) = {
            let state = self.board.state();
            let above = state.node(&self.id).map(|node| node.above.clone());
            let counts_money = state.counts_money(&self.id, &self.board.limits);
            (above.unwrap_or_default(), counts_money)
        };
        let rules = SwitchRules {
            kit: &self.kit,
            above: &above,
            model: &self.session_model(),
            counts_money,
        };
        rules.apply(switch, message)
    }

    /// Returns what the agent becomes for a turn that takes up a message; `None` if it stays as it is.
    pub(crate) fn next_role(&self, message: Option<&UserMessage>) -> Option<Role> {
        let (basis, born, above) = {
            let state = self.board.state();
            let born = state.tree.agent(&self.id)?.spawned.clone();
            let above = state.node(&self.id)?.above.clone();
            (ModelBasis::of(&state, &self.id)?, born, above)
        };
        let named = message.and_then(|message| message.agent.as_deref());
        let manifest = self.kit.registry.get(basis.name(named))?;
        let chosen = message.and_then(|message| message.model.as_deref());
        let (model, model_chosen) = basis.model(&self.kit, manifest, chosen, self.about());
        if (&basis.definition, &basis.model) == (&manifest.name, &model) {
            return None;
        }
        let terms = self.terms_of_role(manifest, &above);
        Some(Role {
            definition: manifest.name.clone(),
            model_chosen,
            model,
            layer: manifest.layer(&self.variables()),
            terms: offshoot_types::terms::Terms {
                // What the session may use does not grow with who works in it.
                caps: born.terms.caps.narrow(manifest.limits),
                ..terms
            },
        })
    }

    /// Returns the name of the definition that its next turn has, unless a message names another.
    pub(crate) fn next_definition(&self) -> String {
        let basis = ModelBasis::of(&self.board.state(), &self.id);
        basis.map_or_else(
            || self.definition.clone(),
            |basis| basis.name(None).to_owned(),
        )
    }

    /// Says why the agent cannot become what a client wants, if so: the process that sent the order may
    /// have other agents and models than the one that has the session.
    pub(crate) fn objection_to(&self, choice: &RoleChoice) -> Option<String> {
        let kit = &self.kit;
        if let Some(name) = &choice.agent
            && kit.registry.get(name).is_none()
        {
            return Some(Missing::Agent(name.clone()).to_string());
        }
        let name = choice.model.as_ref()?;
        let Ok(model) = kit.models.find(name) else {
            return Some(Missing::Model(name.clone()).to_string());
        };
        let state = self.board.state();
        let counts_money = state.counts_money(&self.id, &self.board.limits);
        let unpriced = counts_money && model.price().is_none();
        unpriced.then(|| format!("the cost is capped and the price of {name} is not known"))
    }

    /// Refuses `plan_exit` of a child: a person approves the plan of a root, and a child's caller gets
    /// the child's plan as its answer.
    pub(crate) fn check_plan_exit(&self, tool: &str) -> Result<(), Outcome> {
        if tool != PLAN_EXIT || self.is_root() {
            return Ok(());
        }
        let text = format!(
            "{PLAN_EXIT} hands a plan to the user, who did not start you; return the plan as your \
             answer instead"
        );
        Err(Outcome::error(ErrorKind::Failed, text))
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
            text: format!("The plan was approved. Carry it out:\n\n{plan}").into(),
            from: Author::Host,
            agent: Some(BUILDER.to_owned()),
            model: None,
            metadata: None,
            output_schema: None,
            delegation: None,
            immediate: false,
        };
        self.send(self.id.clone(), prompt, cancel).await
    }
}

/// What the model of an agent's next turn hangs on, besides the definition and the message.
struct ModelBasis {
    /// What the agent is now.
    definition: String,
    model: String,
    /// The model that was chosen with an earlier message.
    kept: Option<String>,
    /// What it was born as.
    born: (String, String),
    /// The model of the session.
    session: String,
    /// What a client has set for the next turn.
    choice: RoleChoice,
}

impl ModelBasis {
    fn of(state: &State, id: &AgentId) -> Option<Self> {
        let found = state.tree.agent(id)?;
        let root = state.tree.agent(state.tree.root()?)?;
        Some(Self {
            definition: found.definition().to_owned(),
            model: found.model().to_owned(),
            kept: found.chosen_model().map(str::to_owned),
            born: (
                found.spawned.definition.clone(),
                found.spawned.model.clone(),
            ),
            session: root.spawned.model.clone(),
            choice: found.role_choice.clone().unwrap_or_default(),
        })
    }

    /// Returns the name of the definition of the next turn: what its message says, else a client.
    fn name<'a>(&'a self, named: Option<&'a str>) -> &'a str {
        let chosen = self.choice.agent.as_deref().unwrap_or(&self.definition);
        named.unwrap_or(chosen)
    }

    /// Returns the model of a turn, and whether it was chosen with a message. Asks hooks, which may
    /// ask the runtime something: the board is not held meanwhile.
    fn model(
        &self,
        kit: &Kit,
        manifest: &Manifest,
        chosen: Option<&str>,
        about: About<'_>,
    ) -> (String, bool) {
        let (born_as, born_model) = &self.born;
        let named = kit.helpers.models.named(manifest, &self.session);
        // What was chosen with a message holds until another agent or model is.
        let kept = self.kept.as_deref();
        let kept = kept.filter(|_| manifest.name == self.definition);
        let set = self.choice.model.as_deref();
        let set = set.filter(|_| manifest.name == self.name(None));
        let chosen = chosen.or(set).or(kept);
        let own = named.filter(|_| manifest.name != *born_as);
        let model = chosen.or(own).unwrap_or(born_model);
        let about = About {
            definition: &manifest.name,
            ..about
        };
        let wanted = kit.hooks.resolve_model(about, model);
        let model = wanted.unwrap_or_else(|| model.to_owned());
        let is_chosen = chosen.is_some_and(|chosen| chosen == model);
        (model, is_chosen)
    }
}

impl Board {
    /// Returns what an agent's next turn lacks in the session's kit: its definition, which a message
    /// may name, or its model.
    pub(crate) fn missing(&self, id: &AgentId, named: Option<&str>) -> Option<Missing> {
        let kit = self.kit();
        let (basis, depth) = {
            let state = self.state();
            let depth = state.tree.agent(id)?.spawned.depth;
            (ModelBasis::of(&state, id)?, depth)
        };
        let name = basis.name(named);
        let Some(manifest) = kit.registry.get(name) else {
            return Some(Missing::Agent(name.to_owned()));
        };
        // Hooks are asked about the model only where that matters.
        if basis.choice == RoleChoice::default() && kit.models.find(&basis.model).is_ok() {
            return None;
        }
        let about = About {
            session: self.tree.root(),
            agent: id,
            definition: &manifest.name,
            depth,
        };
        let (model, _) = basis.model(&kit, manifest, None, about);
        let is_missing = kit.models.find(&model).is_err();
        is_missing.then_some(Missing::Model(model))
    }
}

/// What a parent was held to when a child of it was born.
pub(crate) struct AtBirth {
    pub(crate) chain: Permissions,
    /// Whether it was held to reading.
    pub(crate) read_only: bool,
}

impl State {
    /// Returns an agent and, as far as it sees their conversations, those above it.
    pub(crate) fn lineage(&self, id: &AgentId) -> Vec<Relative> {
        let mut lineage: Vec<Relative> = Vec::new();
        // What is above was settled at the birth of who sees it, as was how much it sees.
        let mut below: Option<&AgentId> = None;
        for id in self.tree.path(id) {
            let Some(agent) = self.tree.agent(id) else {
                break;
            };
            let context = agent.spawned.terms.context;
            let under = below.and_then(|below| self.tree.agent(below)?.born_under());
            let born = &agent.spawned;
            let (definition, model, chain) = match (below, under) {
                (None, _) => {
                    let chain = self.node(id).map(|node| node.permissions.clone());
                    (agent.definition(), agent.model(), chain)
                }
                (Some(below), under) => {
                    let chain = Some(self.at_birth(below, id).chain);
                    match under {
                        Some(role) => (role.definition.as_str(), role.model.as_str(), chain),
                        None => (born.definition.as_str(), born.model.as_str(), chain),
                    }
                }
            };
            lineage.push(Relative {
                kin: Kin {
                    definition: definition.to_owned(),
                    model: model.to_owned(),
                    helps: born.helper().is_some(),
                    is_root: born.is_root(),
                    context,
                    barred: Vec::new(),
                },
                chain: chain.unwrap_or_default(),
            });
            if context == Context::Fresh {
                break;
            }
            below = Some(id);
        }
        lineage
    }

    /// Returns what a parent was held to when a child was born.
    pub(crate) fn at_birth(&self, child: &AgentId, parent: &AgentId) -> AtBirth {
        let (Some(node), Some(above)) = (self.node(parent), self.tree.agent(parent)) else {
            return AtBirth {
                chain: Permissions::empty(),
                read_only: true,
            };
        };
        let under = self.tree.agent(child).and_then(|child| child.born_under());
        let (layer, read_only, definition) = match under {
            Some(role) => (&role.layer, role.terms.read_only, &role.definition),
            None => {
                let born = &above.spawned;
                (&born.layer, born.terms.read_only, &born.definition)
            }
        };
        let held = self.held((layer, read_only, definition), node.scratch.as_ref());
        AtBirth {
            chain: held.chain(&node.above),
            read_only: held.is_read_only() || node.above_read_only,
        }
    }

    /// Holds an agent, and everybody below it, to what it has become: what is above a child now
    /// narrows it as well as what was above it at its birth.
    pub(crate) fn change_role(&mut self, top: &AgentId) {
        let below: Vec<AgentId> = self.tree.below(top).into_iter().cloned().collect();
        for id in &below {
            let Some(agent) = self.tree.agent(id) else {
                continue;
            };
            let held = |id: &AgentId, agent: &offshoot_types::tree::Agent| {
                let said = (agent.layer(), agent.terms().read_only, agent.definition());
                let scratch = self.node(id).and_then(|node| node.scratch.as_ref());
                self.held(said, scratch)
            };
            let mut now: Vec<Held> = Vec::new();
            for above in self.tree.path(id).into_iter().rev() {
                let agent = self.tree.agent(above).filter(|agent| agent.has_changed());
                if let Some(agent) = agent.filter(|_| above != id) {
                    now.push(held(above, agent));
                }
            }
            let own = held(id, agent);
            if let Some(node) = self.node_mut(id) {
                let mut chain = node.above.clone();
                let mut read_only = node.above_read_only;
                for held in now.iter().chain([&own]) {
                    chain = held.chain(&chain);
                    read_only |= held.is_read_only();
                }
                node.permissions = chain;
                node.read_only = read_only;
            }
        }
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
        Arc::new(Self(ToolSpec::new(
            PLAN_EXIT,
            "Proposes your plan to the person you work for. If they approve it, another agent \
             carries it out after your turn; you change nothing yourself.",
            &parameters,
            Effect::Write,
        )))
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
}

//! Children: the `task` call that makes one, and the host's order that does.
//!
//! The child is an ordinary agent. It differs from a root in three ways only: it
//! has a parent, its permissions are narrowed, and its settlement becomes the
//! parent's outcome or mail. Planning is pure but for reserving places in
//! the tree; the child exists when the batch is committed (R15), and the session
//! starts it from there. Nothing here knows how a turn works.

use std::sync::Arc;

use offshoot_types::caps::Caps;
use offshoot_types::command::Spawn;
use offshoot_types::content::{Content, Part};
use offshoot_types::event::{Event, Origin, Parent};
use offshoot_types::id::{AgentId, CallId, MessageId};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Context, Manifest, names};
use offshoot_types::message::{Author, Call, MAX_METADATA_BYTES, MAX_PROMPT_BYTES, UserMessage};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Action;
use offshoot_types::tool::{Effect, ToolSpec};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::agent::Agent;
use crate::board::Full;
use crate::context::{self, Prefix};
use crate::kit::Kit;
use crate::log::Batch;
use crate::scope;
use crate::spawn::Birth;

/// The tool's id. Locked.
pub(crate) const TASK: &str = "task";

/// Most agents that a model is told of: anybody can put many into a folder.
const MOST_LISTED: usize = 64;

/// Most bytes that a model is told of one.
const MOST_OF_ONE: usize = 500;

/// The arguments, as the guide locks them, and those that models trained on other agents send.
///
/// Models are told of the first five only. Every other name is refused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "agent", alias = "agent_type")]
    subagent_type: String,
    prompt: String,
    #[serde(default, alias = "run_in_background")]
    background: bool,
    #[serde(default)]
    metadata: Option<RawJson>,
    /// Files of the workspace whose bytes go with the prompt.
    #[serde(default)]
    attachments: Vec<String>,
    /// A label for people, which has no effect.
    #[serde(default, rename = "description")]
    _description: IgnoredAny,
    /// Another label, which has no effect.
    #[serde(default, rename = "name")]
    _name: IgnoredAny,
}

/// A child that is about to exist.
pub(crate) struct Child {
    pub(crate) id: AgentId,
    pub(crate) background: bool,
}

/// Returns what models are told of `task`, with the agents it may spawn.
pub(crate) fn spec<'a>(agents: impl Iterator<Item = &'a Arc<Manifest>>) -> ToolSpec {
    let mut description = String::from(
        "Runs another agent on a task of its own and returns its final answer. With background it \
         returns a session_id at once and the answer arrives later as a message. The agent sees \
         only the prompt, so say all it needs. Not for waiting on a clock. Agents:",
    );
    let mut left = MOST_LISTED;
    for manifest in agents {
        let about = manifest.description.split_whitespace();
        let about: Vec<&str> = about.collect();
        let about = context::capped(about.join(" "), MOST_OF_ONE);
        let colon = if about.is_empty() { "" } else { ": " };
        description.push_str(&format!(" [{}{colon}{about}]", manifest.name));
        left -= 1;
        if left == 0 {
            description.push_str(" and more");
            break;
        }
    }
    let parameters = serde_json::json!({
        "type": "object",
        "properties": {
            "subagent_type": { "type": "string", "description": "name of the agent to run" },
            "prompt": { "type": "string", "description": "what it is to do" },
            "background": { "type": "boolean", "description": "return at once; default false" },
            "metadata": { "type": "object", "description": "carried to the child unchanged" },
            "attachments": {
                "type": "array",
                "items": { "type": "string" },
                "description": "paths of images and files that the agent is given with the prompt",
            },
        },
        "required": ["subagent_type", "prompt"],
        "additionalProperties": false,
    });
    ToolSpec::new(TASK, description, &parameters, Effect::Write)
}

/// Returns the name of the agent that a call wants to start, or says why it cannot.
pub(crate) fn named(
    agent: &Agent,
    prefix: &Prefix,
    arguments: &RawJson,
) -> Result<String, Outcome> {
    let wanted = parse(arguments)?;
    check_delegation(agent)?;
    let manifest = resolve(&agent.kit, &prefix.manifest, &wanted.subagent_type)?;
    Ok(manifest.name.clone())
}

/// Returns the files that a call wants to give to its child.
pub(crate) fn attachments(arguments: &RawJson) -> Result<Vec<String>, Outcome> {
    Ok(parse(arguments)?.attachments)
}

/// Plans a child: adds its birth to the batch, or says why there can be none. A call that does not wait
/// for it is the caller's to end. `attached` goes with the prompt.
pub(crate) fn plan(
    agent: &Agent,
    prefix: &Prefix,
    call: &Call,
    arguments: &RawJson,
    attached: &[Part],
    batch: &mut Batch,
) -> Result<Child, Outcome> {
    let wanted = parse(arguments)?;
    check_delegation(agent)?;
    let manifest = resolve(&agent.kit, &prefix.manifest, &wanted.subagent_type)?;
    let child = Child {
        id: AgentId::new(agent.parts.env.new_id()),
        background: wanted.background,
    };
    let born = admit(
        agent,
        NewChild {
            id: &child.id,
            manifest: &manifest,
            parent: Parent {
                agent: agent.id.clone(),
                call: call.id.clone(),
                message: agent.processed(),
                background: wanted.background,
                host: false,
            },
            caps: Caps::default(),
            prompt: with_attached(&wanted.prompt, attached),
            metadata: wanted.metadata,
            output_schema: None,
        },
    )?;
    batch.own(Event::CallStarted {
        call: call.id.clone(),
        child: Some(child.id.clone()),
    });
    batch.child(&child.id, born);
    Ok(child)
}

/// Plans a child that the host wants: adds its birth to the batch, or says why there can be none.
///
/// The host is asked nothing about it: the order is the answer to a rule that asks. `last` is the last
/// message of the parent's conversation.
pub(crate) fn plan_spawn(
    agent: &Agent,
    spawn: &Spawn,
    id: &AgentId,
    last: Option<MessageId>,
    batch: &mut Batch,
) -> Result<(), Outcome> {
    let registry = &agent.kit.registry;
    let Some(caller) = registry.get(&agent.definition) else {
        let text = format!("there is no agent {}", agent.definition);
        return Err(Outcome::error(ErrorKind::UnknownAgent, text));
    };
    check_sizes(spawn.prompt.weight(), spawn.metadata.as_ref())?;
    let manifest = resolve(&agent.kit, caller, &spawn.definition)?;
    let names = registry.names_of(&manifest.name);
    if let Some(decision) = agent.chain().0.decide_call(TASK, &names)
        && decision.action == Action::Deny
    {
        let text = format!(
            "cannot spawn {}: {} denies it",
            manifest.name, decision.layer
        );
        return Err(Outcome::error(ErrorKind::Denied, text));
    }
    let manifest = Manifest {
        model: spawn.model.clone().or_else(|| manifest.model.clone()),
        context: spawn.context.unwrap_or(manifest.context),
        ..manifest.as_ref().clone()
    };
    let born = admit(
        agent,
        NewChild {
            id,
            manifest: &manifest,
            parent: Parent {
                agent: agent.id.clone(),
                call: CallId::new(format!("spawn-{id}")),
                message: last.unwrap_or_else(|| MessageId::new("")),
                background: spawn.background,
                host: true,
            },
            caps: spawn.caps,
            prompt: spawn.prompt.clone(),
            metadata: spawn.metadata.clone(),
            output_schema: spawn.output_schema.clone(),
        },
    )?;
    batch.child(id, born);
    Ok(())
}

/// A child that may be about to exist.
struct NewChild<'a> {
    id: &'a AgentId,
    manifest: &'a Manifest,
    parent: Parent,
    /// What its runs may use at most, whatever its manifest says.
    caps: Caps,
    prompt: Content,
    metadata: Option<RawJson>,
    output_schema: Option<RawJson>,
}

/// Reserves a place for a child and returns its first entries, or says why there can be none.
fn admit(agent: &Agent, child: NewChild<'_>) -> Result<Vec<Event>, Outcome> {
    let name = child.manifest.name.clone();
    if agent.depth >= agent.board.limits.depth {
        let text = format!(
            "cannot spawn {name}: agents nest at most {} deep; do the work here or hand back what you have",
            agent.board.limits.depth
        );
        return Err(Outcome::error(ErrorKind::Depth, text));
    }
    check_price(agent, child.manifest, child.caps)?;
    let born = birth(agent, child)?;
    let mut state = agent.board.state();
    if let Err(full) = state.plan_child(&agent.id, &agent.board.limits) {
        let why = match full {
            Full::Cap(cap) => {
                format!("at most {cap} agents may live below one above it, and they do")
            }
            Full::Session => {
                let most = agent.board.limits.descendants;
                format!("this session has {most} live agents, which is its limit")
            }
        };
        let text = format!("cannot spawn {name}: {why}; wait for some to end");
        return Err(Outcome::error(ErrorKind::Caps, text));
    }
    Ok(born)
}

/// Refuses a child whose cost is capped and could not be counted.
fn check_price(agent: &Agent, manifest: &Manifest, caps: Caps) -> Result<(), Outcome> {
    let limits = &agent.board.limits;
    let state = agent.board.state();
    let capped = manifest.limits.cost.or(caps.cost).is_some();
    let counted = capped || state.counts_money(&agent.id, limits);
    drop(state);
    let session = agent.session_model();
    let named = agent.kit.helpers.models.named(manifest, &session);
    let model = named.unwrap_or(agent.usual_child_model());
    // A model that is not there is told as such by the child's own run.
    let unknown = agent
        .kit
        .models
        .find(model)
        .is_ok_and(|model| model.price().is_none());
    if counted && unknown {
        let text = format!(
            "cannot spawn {}: its cost is capped and the price of {model} is not known",
            manifest.name
        );
        return Err(Outcome::error(ErrorKind::Caps, text));
    }
    Ok(())
}

/// Refuses children while a prompt forbids them that the agent or one above it works on.
fn check_delegation(agent: &Agent) -> Result<(), Outcome> {
    if !agent.board.state().tree.is_delegation_disabled(&agent.id) {
        return Ok(());
    }
    let text = "the prompt forbids other agents; do the work here";
    Err(Outcome::error(ErrorKind::Denied, text))
}

fn parse(arguments: &RawJson) -> Result<Arguments, Outcome> {
    let invalid = |text: String| Outcome::error(ErrorKind::InvalidInput, text);
    let wanted: Arguments = arguments.read().map_err(|error| {
        invalid(format!(
            "task takes {{subagent_type, prompt, background?, metadata?, attachments?}}: {error}"
        ))
    })?;
    check_sizes(wanted.prompt.len(), wanted.metadata.as_ref())?;
    Ok(wanted)
}

/// Returns the prompt of a call with what goes with it.
fn with_attached(prompt: &str, attached: &[Part]) -> Content {
    let mut content = Content::from(prompt);
    for part in attached {
        content.push(part.clone());
    }
    content
}

fn check_sizes(size: usize, metadata: Option<&RawJson>) -> Result<(), Outcome> {
    let invalid = |text: String| Outcome::error(ErrorKind::InvalidInput, text);
    if size > MAX_PROMPT_BYTES {
        return Err(invalid(format!(
            "the prompt has {size} bytes; at most {MAX_PROMPT_BYTES} are taken"
        )));
    }
    if let Some(metadata) = metadata {
        let size = metadata.as_str().len();
        if size > MAX_METADATA_BYTES {
            return Err(invalid(format!(
                "metadata has {size} bytes; at most {MAX_METADATA_BYTES} are taken"
            )));
        }
        if !metadata.as_str().trim_start().starts_with('{') {
            return Err(invalid("metadata has to be an object".to_owned()));
        }
    }
    Ok(())
}

/// Says why an agent cannot be asked to start another of this name, if so. Whether there is room and
/// rules allow it is decided when the call is made.
pub(crate) fn check_required(kit: &Kit, caller: &Manifest, name: &str) -> Result<(), Outcome> {
    let manifest = resolve(kit, caller, name)?;
    if scope::wants(kit, &caller.tools, TASK) {
        return Ok(());
    }
    let text = format!(
        "agent {} has no {TASK} to start {} with",
        caller.name, manifest.name
    );
    Err(Outcome::error(ErrorKind::Denied, text))
}

fn resolve(kit: &Kit, caller: &Manifest, name: &str) -> Result<Arc<Manifest>, Outcome> {
    let registry = &kit.registry;
    let may_spawn = |manifest: &&Arc<Manifest>| caller.may_spawn(&manifest.name);
    let choices = || names(registry.for_agents().filter(may_spawn));
    match registry.get(name) {
        None => {
            let text = format!("there is no agent {name}; there are: {}", choices());
            Err(Outcome::error(ErrorKind::UnknownAgent, text))
        }
        Some(manifest) if !manifest.mode.agents_may_spawn() => {
            let text = format!(
                "agent {name} is {} and only people start it; agents may spawn: {}",
                manifest.mode,
                choices()
            );
            Err(Outcome::error(ErrorKind::WrongMode, text))
        }
        Some(manifest) if !caller.may_spawn(&manifest.name) => {
            let text = format!(
                "agent {} may not spawn {name}; it may spawn: {}",
                caller.name,
                choices()
            );
            Err(Outcome::error(ErrorKind::Denied, text))
        }
        Some(manifest) => Ok(manifest.clone()),
    }
}

/// Returns the first entries of a child, its first turn included.
fn birth(agent: &Agent, child: NewChild<'_>) -> Result<Vec<Event>, Outcome> {
    let NewChild {
        id,
        manifest,
        parent,
        caps,
        prompt,
        metadata,
        output_schema,
    } = child;
    // An agent with its parent's system prompt reads here what its own would say.
    let inherits = manifest.context == Context::Inherit;
    let own_schema = manifest.output_schema.clone().filter(|_| inherits);
    let birth = Birth {
        id,
        manifest,
        origin: Origin::Task(parent),
        depth: agent.depth + 1,
        model: agent.usual_child_model(),
        caps: agent.board.limits.spawned,
        metadata,
        asked: UserMessage {
            id: MessageId::new(agent.parts.env.new_id()),
            text: prompt,
            from: Author::Parent,
            agent: None,
            model: None,
            metadata: None,
            output_schema: output_schema.or(own_schema),
            delegation: None,
            immediate: false,
        },
    };
    let mut events = agent.birth(birth).map_err(|why| {
        let text = format!("cannot spawn {}: {why}", manifest.name);
        Outcome::error(ErrorKind::Denied, text)
    })?;
    if let Some(Event::Spawned(spawned)) = events.first_mut() {
        spawned.terms.narrow(caps);
    }
    Ok(events)
}

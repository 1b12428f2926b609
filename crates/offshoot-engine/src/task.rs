//! The task call: a call that makes a child agent.
//!
//! The child is an ordinary agent. It differs from a root in three ways only: it
//! has a parent call, its permissions are narrowed, and its settlement becomes
//! the parent's outcome or mail. Planning is pure but for reserving places in
//! the tree; the child exists when the batch is committed (R15), and the session
//! starts it from there. Nothing here knows how a turn works.

use offshoot_types::event::{Event, Origin, Parent};
use offshoot_types::id::{AgentId, MessageId};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Context, Manifest, names};
use offshoot_types::message::{Author, Call, MAX_METADATA_BYTES, MAX_PROMPT_BYTES, UserMessage};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::tool::{Effect, ToolSpec};
use serde::Deserialize;

use crate::agent::Agent;
use crate::answer;
use crate::board::Full;
use crate::context::{self, Prefix};
use crate::log::Batch;
use crate::spawn::Birth;

/// The tool's id. Locked.
pub(crate) const TASK: &str = "task";

/// Most agents that a model is told of: anybody can put many into a folder.
const MOST_LISTED: usize = 64;

/// Most bytes that a model is told of one.
const MOST_OF_ONE: usize = 500;

/// The arguments, as the guide locks them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    subagent_type: String,
    prompt: String,
    #[serde(default)]
    background: bool,
    #[serde(default)]
    metadata: Option<RawJson>,
}

/// A child that is about to exist.
pub(crate) struct Child {
    pub(crate) id: AgentId,
    pub(crate) background: bool,
}

/// Returns what models are told of `task`, with the agents it may spawn.
pub(crate) fn spec<'a>(agents: impl Iterator<Item = &'a std::sync::Arc<Manifest>>) -> ToolSpec {
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
    let manifest = resolve(agent, prefix, &wanted.subagent_type)?;
    Ok(manifest.name.clone())
}

/// Plans a child: adds its birth to the batch, or says why there can be none. A call that does not wait
/// for it is the caller's to end.
pub(crate) fn plan(
    agent: &Agent,
    prefix: &Prefix,
    call: &Call,
    arguments: &RawJson,
    batch: &mut Batch,
) -> Result<Child, Outcome> {
    let wanted = parse(arguments)?;
    let manifest = resolve(agent, prefix, &wanted.subagent_type)?;
    if agent.depth >= agent.board.limits.depth {
        let text = format!(
            "cannot spawn {}: agents nest at most {} deep; do the work here or hand back what you have",
            wanted.subagent_type, agent.board.limits.depth
        );
        return Err(Outcome::error(ErrorKind::Depth, text));
    }
    check_price(agent, &manifest)?;
    let child = Child {
        id: AgentId::new(agent.parts.env.new_id()),
        background: wanted.background,
    };
    let born = birth(agent, &manifest, &child, call, &wanted)?;
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
        let name = &wanted.subagent_type;
        let text = format!("cannot spawn {name}: {why}; wait for some to end");
        return Err(Outcome::error(ErrorKind::Caps, text));
    }
    batch.own(Event::CallStarted {
        call: call.id.clone(),
        child: Some(child.id.clone()),
    });
    batch.child(&child.id, born);
    Ok(child)
}

/// Refuses a child whose cost is capped and could not be counted.
fn check_price(agent: &Agent, manifest: &Manifest) -> Result<(), Outcome> {
    let limits = &agent.board.limits;
    let state = agent.board.state();
    let counted = manifest.limits.cost.is_some() || state.counts_money(&agent.id, limits);
    drop(state);
    let session = agent.session_model();
    let named = agent.parts.helpers.models.named(manifest, &session);
    let model = named.unwrap_or(agent.usual_child_model());
    // A model that is not there is told as such by the child's own run.
    let unknown = agent
        .parts
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

fn parse(arguments: &RawJson) -> Result<Arguments, Outcome> {
    let invalid = |text: String| Outcome::error(ErrorKind::InvalidInput, text);
    let wanted: Arguments = arguments.read().map_err(|error| {
        invalid(format!(
            "task takes {{subagent_type, prompt, background?, metadata?}}: {error}"
        ))
    })?;
    if wanted.prompt.len() > MAX_PROMPT_BYTES {
        let size = wanted.prompt.len();
        return Err(invalid(format!(
            "the prompt has {size} bytes; at most {MAX_PROMPT_BYTES} are taken"
        )));
    }
    if let Some(metadata) = &wanted.metadata {
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
    Ok(wanted)
}

fn resolve(
    agent: &Agent,
    prefix: &Prefix,
    name: &str,
) -> Result<std::sync::Arc<Manifest>, Outcome> {
    let registry = &agent.parts.registry;
    let caller = &prefix.manifest;
    let may_spawn = |manifest: &&std::sync::Arc<Manifest>| caller.may_spawn(&manifest.name);
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
fn birth(
    agent: &Agent,
    manifest: &Manifest,
    child: &Child,
    call: &Call,
    wanted: &Arguments,
) -> Result<Vec<Event>, Outcome> {
    // Whoever works with its parent's prompt has to be told here what its own would say.
    let text = match (&manifest.output_schema, manifest.context) {
        (Some(schema), Context::Inherit) => {
            format!("{}\n\n{}", wanted.prompt, answer::instruction(schema))
        }
        (Some(_) | None, _) => wanted.prompt.clone(),
    };
    let birth = Birth {
        id: &child.id,
        manifest,
        origin: Origin::Task(Parent {
            agent: agent.id.clone(),
            call: call.id.clone(),
            message: agent.processed(),
            background: wanted.background,
        }),
        depth: agent.depth + 1,
        model: agent.usual_child_model(),
        caps: agent.board.limits.spawned,
        metadata: wanted.metadata.clone(),
        asked: UserMessage {
            id: MessageId::new(agent.parts.env.new_id()),
            text,
            from: Author::Parent,
            agent: None,
            model: None,
            metadata: None,
        },
    };
    agent.birth(birth).map_err(|why| {
        let text = format!("cannot spawn {}: {why}", manifest.name);
        Outcome::error(ErrorKind::Denied, text)
    })
}

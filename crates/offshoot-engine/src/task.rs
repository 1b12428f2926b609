//! The task call: a call that makes a child agent.
//!
//! The child is an ordinary agent. It differs from a root in three ways only: it
//! has a parent call, its permissions are narrowed, and its settlement becomes
//! the parent's outcome or mail. Planning is pure but for reserving places in
//! the tree; the child exists when the batch is committed (R15), and the session
//! starts it from there. Nothing here knows how a turn works.

use offshoot_types::event::{Event, Origin, Parent, Profile, Spawned};
use offshoot_types::id::{AgentId, MessageId};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, names};
use offshoot_types::message::{Author, Call, MAX_METADATA_BYTES, MAX_PROMPT_BYTES, UserMessage};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Layer;
use offshoot_types::tool::{Effect, ToolSpec};
use serde::Deserialize;

use crate::agent::{Agent, first_turn};
use crate::log::Batch;
use crate::settle;

/// The tool's id. Locked.
pub(crate) const TASK: &str = "task";

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
    for manifest in agents {
        let about = if manifest.description.is_empty() {
            ""
        } else {
            ": "
        };
        description.push_str(&format!(
            " [{}{about}{}]",
            manifest.name, manifest.description
        ));
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
    ToolSpec {
        id: TASK.to_owned(),
        description,
        parameters: RawJson::of(&parameters),
        effect: Effect::Write,
    }
}

/// Plans a child: adds its birth to the batch, or says why there can be none.
pub(crate) fn plan(
    agent: &Agent,
    call: &Call,
    arguments: &RawJson,
    message: &MessageId,
    batch: &mut Batch,
) -> Result<Child, Outcome> {
    let wanted = parse(arguments)?;
    let manifest = resolve(agent, &wanted.subagent_type)?;
    if agent.depth >= agent.board.limits.depth {
        let text = format!(
            "cannot spawn {}: agents nest at most {} deep; do the work here or hand back what you have",
            wanted.subagent_type, agent.board.limits.depth
        );
        return Err(Outcome::error(ErrorKind::Depth, text));
    }
    if agent.board.state().plan_children(1, &agent.board.limits) == 0 {
        let text = format!(
            "cannot spawn {}: this session has {} live agents, which is its limit; wait for some to end",
            wanted.subagent_type, agent.board.limits.descendants
        );
        return Err(Outcome::error(ErrorKind::Caps, text));
    }
    let child = Child {
        id: AgentId::new(agent.parts.env.new_id()),
        background: wanted.background,
    };
    batch.own(Event::CallStarted {
        call: call.id.clone(),
        child: Some(child.id.clone()),
    });
    batch.child(&child.id, birth(agent, &manifest, call, message, &wanted));
    if child.background {
        batch.own(Event::CallFinished {
            call: call.id.clone(),
            outcome: settle::handle(&child.id),
            delivers: Vec::new(),
        });
    }
    Ok(child)
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

fn resolve(agent: &Agent, name: &str) -> Result<std::sync::Arc<Manifest>, Outcome> {
    let registry = &agent.parts.registry;
    let choices = || names(registry.for_agents());
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
        Some(manifest) => Ok(manifest.clone()),
    }
}

/// Returns the first entries of a child, its first turn included.
fn birth(
    agent: &Agent,
    manifest: &Manifest,
    call: &Call,
    message: &MessageId,
    wanted: &Arguments,
) -> Vec<Event> {
    let spawned = Spawned {
        definition: manifest.name.clone(),
        origin: Origin::Task(Parent {
            agent: agent.id.clone(),
            call: call.id.clone(),
            message: message.clone(),
            background: wanted.background,
        }),
        depth: agent.depth + 1,
        model: manifest
            .model
            .clone()
            .unwrap_or_else(|| agent.model.clone()),
        layer: Layer::of_agent(&manifest.name, manifest.permissions.as_deref()),
        inspectable: manifest.inspectable,
        profile: Profile::of(manifest),
        metadata: wanted.metadata.clone(),
    };
    let asked = UserMessage {
        id: MessageId::new(agent.parts.env.new_id()),
        text: wanted.prompt.clone(),
        from: Author::Parent,
        metadata: None,
    };
    let mut events = vec![Event::Spawned(Box::new(spawned))];
    events.extend(first_turn(asked));
    events
}

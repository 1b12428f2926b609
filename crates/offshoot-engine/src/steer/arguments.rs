//! What agents are told of the calls that look after children, and what such a call wants.
//!
//! Read and checked before anything is done: whoever is named has to be below the caller.

use std::time::Duration;

use offshoot_types::id::AgentId;
use offshoot_types::json::RawJson;
use offshoot_types::message::MAX_PROMPT_BYTES;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::tool::{Effect, ToolSpec};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::agent::Agent;
use crate::board::State;

/// The calls of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steering {
    Children,
    Wait,
    Message,
    Cancel,
}

/// What a call wants, checked.
pub(crate) enum Errand {
    Children,
    Wait {
        whom: Whom,
        mode: WaitMode,
        timeout: Option<Duration>,
    },
    Message {
        target: [AgentId; 1],
        text: String,
    },
    Cancel {
        target: [AgentId; 1],
    },
}

/// Whom a `wait` is for.
pub(crate) enum Whom {
    Named(Vec<AgentId>),
    /// Whoever there is to wait for when it begins; these are there already.
    Anybody(Vec<AgentId>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WaitMode {
    Any,
    #[default]
    All,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitFor {
    #[serde(default)]
    session_ids: Option<Vec<AgentId>>,
    #[serde(default)]
    mode: WaitMode,
    #[serde(default)]
    timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tell {
    session_id: AgentId,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stop {
    session_id: AgentId,
}

impl Steering {
    pub(crate) const ALL: [Self; 4] = [Self::Children, Self::Wait, Self::Message, Self::Cancel];

    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Children => "children",
            Self::Wait => "wait",
            Self::Message => "message",
            Self::Cancel => "cancel",
        }
    }

    /// Returns what models are told of it.
    pub(crate) fn spec(self) -> ToolSpec {
        let id = json!({ "type": "string", "description": "as task or children gave it" });
        let (description, properties, required, effect) = match self {
            Self::Children => (
                "Lists the agents you have started: whether each still runs, what it does or waits \
                 for, what it has used. Answers at once; it is not a way to wait.",
                json!({}),
                json!([]),
                Effect::Read,
            ),
            Self::Wait => (
                "Waits until agents you have started in the background are done, and returns what \
                 they said. Without session_ids it waits for all that run. What it returns does not \
                 arrive as a message again.",
                json!({
                    "session_ids": { "type": "array", "items": id, "description": "whom to wait for" },
                    "mode": { "type": "string", "enum": ["any", "all"], "description": "default all" },
                    "timeout_ms": { "type": "integer", "minimum": 0, "description": "then return what there is" },
                }),
                json!([]),
                Effect::Read,
            ),
            Self::Message => (
                "Says something to an agent below you. One that runs reads it before its next step; \
                 one that is done goes on with it, and its answer arrives as a message.",
                json!({
                    "session_id": id,
                    "text": { "type": "string", "description": "what to say" },
                }),
                json!(["session_id", "text"]),
                Effect::Write,
            ),
            Self::Cancel => (
                "Stops an agent below you and everything it has started, and returns how it ended.",
                json!({ "session_id": id }),
                json!(["session_id"]),
                Effect::Write,
            ),
        };
        let parameters = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        ToolSpec::new(self.id(), description, &parameters, effect)
    }

    /// Reads what a call wants, or says why it cannot be.
    pub(crate) fn parse(self, agent: &Agent, arguments: &RawJson) -> Result<Errand, Outcome> {
        let state = agent.board.state();
        match self {
            Self::Children => self.read(arguments).map(|Nothing {}| Errand::Children),
            Self::Wait => {
                let wanted: WaitFor = self.read(arguments)?;
                let whom = match wanted.session_ids {
                    Some(ids) => {
                        for id in &ids {
                            check_below(&state, &agent.id, id)?;
                        }
                        Whom::Named(ids)
                    }
                    None => Whom::Anybody(state.awaitable(&agent.id)),
                };
                Ok(Errand::Wait {
                    whom,
                    mode: wanted.mode,
                    timeout: wanted.timeout_ms.map(Duration::from_millis),
                })
            }
            Self::Message => {
                let Tell { session_id, text } = self.read(arguments)?;
                check_below(&state, &agent.id, &session_id)?;
                if text.len() > MAX_PROMPT_BYTES {
                    let size = text.len();
                    let text =
                        format!("the text has {size} bytes; at most {MAX_PROMPT_BYTES} are taken");
                    return Err(Outcome::error(ErrorKind::InvalidInput, text));
                }
                Ok(Errand::Message {
                    target: [session_id],
                    text,
                })
            }
            Self::Cancel => {
                let Stop { session_id } = self.read(arguments)?;
                check_below(&state, &agent.id, &session_id)?;
                Ok(Errand::Cancel {
                    target: [session_id],
                })
            }
        }
    }

    fn read<T: DeserializeOwned>(self, arguments: &RawJson) -> Result<T, Outcome> {
        arguments.read().map_err(|error| {
            let text = format!("the arguments of {}: {error}", self.id());
            Outcome::error(ErrorKind::InvalidInput, text)
        })
    }
}

/// Refuses whoever is not below the caller, without saying whether they exist.
fn check_below(state: &State, agent: &AgentId, target: &AgentId) -> Result<(), Outcome> {
    if state.is_above(agent, target) {
        return Ok(());
    }
    let text = format!("there is no agent {target} below you; children lists those there are");
    Err(Outcome::error(ErrorKind::UnknownAgent, text))
}

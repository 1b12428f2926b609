//! What can be chosen for a session: its agent and its model; and what can be typed behind a slash.
//!
//! Modes and the option `agent` are the same thing in two generations of the protocol, so both always say
//! the same. A choice holds from the next turn on.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};
use offshoot_types::event::{Event, RoleChoice};
use offshoot_types::json::RawJson;

use super::error::invalid;
use super::setup::{AgentSummary, SessionStart};
use super::wire::{Command, CommandInput, Update};

/// The ids of options.
const AGENT: &str = "agent";
const MODEL: &str = "model";

/// The command that shortens the conversation.
pub(super) const COMPACT: &str = "compact";

/// The agent and the model that a session goes on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Role {
    pub(super) agent: String,
    pub(super) model: String,
}

impl Role {
    /// What a session begins with.
    pub(super) fn of(start: &SessionStart) -> Self {
        Self {
            agent: start.agent.clone(),
            model: start.model.clone(),
        }
    }

    /// Takes the next event of the root; tells whether anything has changed.
    pub(super) fn entry(&mut self, event: &Event) -> bool {
        let before = self.clone();
        match event {
            Event::Spawned(spawned) => {
                self.agent.clone_from(&spawned.definition);
                self.model.clone_from(&spawned.model);
            }
            Event::Became(role) => {
                self.agent.clone_from(&role.definition);
                self.model.clone_from(&role.model);
            }
            Event::RoleChosen(choice) => {
                if let Some(agent) = &choice.agent {
                    self.agent.clone_from(agent);
                }
                if let Some(model) = &choice.model {
                    self.model.clone_from(model);
                }
            }
            _ => {}
        }
        *self != before
    }

    /// Returns how many tokens its model takes, if that is known.
    pub(super) fn context_window(&self, start: &SessionStart) -> Option<u64> {
        let mut models = start.models.iter();
        models
            .find(|model| model.name == self.model)?
            .context_window
    }

    /// Returns what it will be once a choice holds.
    pub(super) fn chosen(&self, choice: &RoleChoice) -> Self {
        let mut role = self.clone();
        role.entry(&Event::RoleChosen(choice.clone()));
        role
    }

    /// Returns the modes, for the older half of clients.
    pub(super) fn modes(&self, start: &SessionStart) -> SessionModeState {
        let mode = |agent: &AgentSummary| {
            SessionMode::new(agent.name.clone(), agent.name.clone())
                .description(agent.description.clone())
        };
        let mut modes: Vec<_> = start.primaries.iter().map(mode).collect();
        if !start.primaries.iter().any(|it| it.name == self.agent) {
            modes.push(SessionMode::new(self.agent.clone(), self.agent.clone()));
        }
        SessionModeState::new(self.agent.clone(), modes)
    }

    /// Returns the options, always all of them.
    pub(super) fn options(&self, start: &SessionStart) -> Vec<SessionConfigOption> {
        let agents = start.primaries.iter().map(|agent| {
            let option = SessionConfigSelectOption::new(agent.name.clone(), agent.name.clone());
            (
                agent.name.clone(),
                option.description(agent.description.clone()),
            )
        });
        let models = start.models.iter().map(|model| {
            let option = SessionConfigSelectOption::new(model.name.clone(), model.name.clone());
            (model.name.clone(), option)
        });
        vec![
            select(AGENT, "Agent", &self.agent, agents.collect())
                .category(SessionConfigOptionCategory::Mode),
            select(MODEL, "Model", &self.model, models.collect())
                .category(SessionConfigOptionCategory::Model),
        ]
    }

    /// Returns the updates that tell a client of a change that it did not make, or that it made.
    pub(super) fn updates(&self, start: &SessionStart) -> [Update; 2] {
        [
            Update::CurrentModeUpdate {
                current_mode_id: self.agent.clone(),
            },
            Update::ConfigOptionUpdate {
                config_options: RawJson::of(&self.options(start)),
            },
        ]
    }
}

/// An option with choices; what is chosen is one of them, whatever is listed.
fn select(
    id: &'static str,
    name: &str,
    current: &str,
    choices: Vec<(String, SessionConfigSelectOption)>,
) -> SessionConfigOption {
    let is_listed = choices.iter().any(|(value, _)| value == current);
    let mut options: Vec<_> = choices.into_iter().map(|(_, option)| option).collect();
    if !is_listed {
        options.push(SessionConfigSelectOption::new(
            current.to_owned(),
            current.to_owned(),
        ));
    }
    SessionConfigOption::select(id, name, current.to_owned(), options)
}

/// Returns what a client chose by an option.
pub(super) fn choice(option: &str, value: &str) -> Result<RoleChoice, Error> {
    match option {
        AGENT => Ok(RoleChoice {
            agent: Some(value.to_owned()),
            model: None,
        }),
        MODEL => Ok(RoleChoice {
            agent: None,
            model: Some(value.to_owned()),
        }),
        other => Err(invalid(format!("there is no option {other}"))),
    }
}

/// Returns what can be typed behind a slash: every agent that the session can start, and `compact`.
pub(super) fn commands(start: &SessionStart) -> Vec<Command> {
    let agent = |agent: &AgentSummary| Command {
        name: agent.name.clone(),
        description: agent.description.clone(),
        input: CommandInput {
            hint: "what it is to do",
        },
    };
    let compact = Command {
        name: COMPACT.to_owned(),
        description: "Replace the conversation so far with a summary".to_owned(),
        input: CommandInput { hint: "" },
    };
    let agents = start.subagents.iter().map(agent);
    agents.chain([compact]).collect()
}

/// Splits `/name rest` of the first line of a prompt; `None` if it names no command.
pub(super) fn command<'a>(text: &'a str, start: &SessionStart) -> Option<(&'a str, &'a str)> {
    let text = text.trim_start().strip_prefix('/')?;
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let is_agent = start.subagents.iter().any(|agent| agent.name == name);
    (is_agent || name == COMPACT).then_some((name, rest.trim_start()))
}

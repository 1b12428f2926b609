//! What is refused at the door: commands that no session could carry out.
//!
//! Faces may check as well, to tell their users sooner; nothing rests on it. What
//! depends on the state of a tree is judged by its session.

use offshoot_types::command::{Command, Fork, Opening, Order, Prompt};
use offshoot_types::id::AgentId;
use offshoot_types::json::RawJson;
use offshoot_types::manifest::names;
use offshoot_types::message::{MAX_METADATA_BYTES, MAX_PROMPT_BYTES, title};

use crate::runtime::{CommandError, Parts};
use crate::scope;

/// Refuses what no session could do.
pub(crate) fn check(parts: &Parts, command: &Command) -> Result<(), CommandError> {
    match &command.order {
        Order::Open(opening) => check_opening(parts, command, opening),
        Order::Fork(fork) => check_fork(command, fork),
        Order::Prompt(prompt) => check_prompt(parts, prompt),
        Order::Rename(rename) if !rename.by.is_human() => {
            let text = "only the runtime names a session for the runtime";
            Err(CommandError::Invalid(text.to_owned()))
        }
        Order::Rename(rename) if title(&rename.title).is_empty() => {
            let text = "a name needs at least one letter";
            Err(CommandError::Invalid(text.to_owned()))
        }
        Order::Close if command.tree.root() != &command.agent => {
            let text = "only a session is closed, by its root";
            Err(CommandError::Invalid(text.to_owned()))
        }
        Order::Cancel(_)
        | Order::Promote
        | Order::Answer(_)
        | Order::Rewind(_)
        | Order::Resume
        | Order::Rename(_)
        | Order::Summarise
        | Order::Close
        | Order::Compact => Ok(()),
    }
}

fn check_fork(command: &Command, fork: &Fork) -> Result<(), CommandError> {
    check_new(command)?;
    if fork.of == command.agent {
        let text = "a copy has an id of its own".to_owned();
        return Err(CommandError::Invalid(text));
    }
    check_metadata(fork.metadata.as_ref())
}

/// Refuses what a new session could not be called.
fn check_new(command: &Command) -> Result<(), CommandError> {
    if command.tree.root() != &command.agent {
        return Err(CommandError::Invalid(
            "a session is opened by its root".to_owned(),
        ));
    }
    AgentId::from_client(command.agent.as_str())
        .map_err(|error| CommandError::Invalid(error.to_string()))?;
    Ok(())
}

fn check_opening(parts: &Parts, command: &Command, opening: &Opening) -> Result<(), CommandError> {
    check_agent(parts, &opening.definition)?;
    check_new(command)?;
    check_metadata(opening.metadata.as_ref())?;
    if let Some(prompt) = &opening.prompt {
        check_prompt(parts, prompt)?;
    }
    parts
        .models
        .find(&opening.model)
        .map_err(|error| CommandError::Unknown(error.message))?;
    check_price(parts, opening)
}

/// Refuses an agent that a person may not start.
fn check_agent(parts: &Parts, name: &str) -> Result<(), CommandError> {
    let registry = &parts.registry;
    let choices = || names(registry.for_users());
    match registry.get(name) {
        None => {
            let text = format!("there is no agent {name}; there are: {}", choices());
            Err(CommandError::Unknown(text))
        }
        Some(manifest) if !manifest.mode.user_may_start() => {
            let text = format!(
                "agent {name} is started by other agents only; choose one of: {}",
                choices()
            );
            Err(CommandError::Invalid(text))
        }
        Some(_) => Ok(()),
    }
}

/// Refuses a cap on money that nobody could hold (R25).
fn check_price(parts: &Parts, opening: &Opening) -> Result<(), CommandError> {
    let Some(manifest) = parts.registry.get(&opening.definition) else {
        return Ok(());
    };
    if scope::root_caps(parts, manifest, opening).cost.is_none() {
        return Ok(());
    }
    let named = parts.helpers.models.named(manifest, &opening.model);
    let name = named.unwrap_or(&opening.model);
    match parts.models.find(name) {
        Ok(model) if model.price().is_some() => Ok(()),
        Ok(_) => Err(CommandError::Invalid(format!(
            "the cost is capped and the price of {name} is not known; set its price or drop the cap"
        ))),
        Err(error) => Err(CommandError::Unknown(error.message)),
    }
}

fn check_prompt(parts: &Parts, prompt: &Prompt) -> Result<(), CommandError> {
    if let Some(name) = &prompt.agent {
        check_agent(parts, name)?;
    }
    if !prompt.from.is_human() {
        let text = "only an agent speaks for an agent";
        return Err(CommandError::Invalid(text.to_owned()));
    }
    let size = prompt.text.len();
    if size > MAX_PROMPT_BYTES {
        let text = format!("the prompt has {size} bytes; at most {MAX_PROMPT_BYTES} are taken");
        return Err(CommandError::Invalid(text));
    }
    check_metadata(prompt.metadata.as_ref())
}

fn check_metadata(metadata: Option<&RawJson>) -> Result<(), CommandError> {
    let metadata = metadata.map_or(0, |metadata| metadata.as_str().len());
    if metadata > MAX_METADATA_BYTES {
        let text = format!("metadata has {metadata} bytes; at most {MAX_METADATA_BYTES} are taken");
        return Err(CommandError::Invalid(text));
    }
    Ok(())
}

//! What is refused at the door: commands that no session could carry out.
//!
//! Faces may check as well, to tell their users sooner; nothing rests on it. What
//! depends on the state of a tree is judged by its session.

use offshoot_types::command::{Command, Fork, Opening, Order, Prompt, Spawn, Verdict};
use offshoot_types::event::RoleChoice;
use offshoot_types::id::AgentId;
use offshoot_types::json::RawJson;
use offshoot_types::manifest::names;
use offshoot_types::message::{
    Delegation, MAX_METADATA_BYTES, MAX_OUTPUT_SCHEMA_BYTES, MAX_PROMPT_BYTES, title,
};
use offshoot_types::outcome::{Body, ErrorKind};

use crate::attachments;
use crate::client_tool;
use crate::kit::Kit;
use crate::limits::Limits;
use crate::runtime::{CommandError, Missing};
use crate::schema::check_json_schema;
use crate::scope;
use crate::task;

/// Refuses what no session could do, whatever it works with.
pub(crate) fn check(limits: &Limits, command: &Command) -> Result<(), CommandError> {
    match &command.order {
        Order::Open(opening) => check_opening(limits, command, opening),
        Order::Fork(fork) => check_fork(command, fork),
        Order::Prompt(prompt) => check_prompt(limits, prompt),
        Order::Spawn(spawn) => check_spawn(limits, spawn),
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
        | Order::Rewind(_)
        | Order::Resume
        | Order::Rename(_)
        | Order::Summarise
        | Order::Close
        | Order::Compact => Ok(()),
        Order::Answer(answer) => match &answer.verdict {
            Verdict::Returned(result) => {
                client_tool::check_result(result).map_err(CommandError::Invalid)?;
                let content = result.content().map_or(Ok(()), |content| {
                    attachments::check_size(&limits.attachments, content)
                });
                Ok(content?)
            }
            _ => Ok(()),
        },
        Order::SetClientTools(_) if command.tree.root() != &command.agent => {
            let text = "client tools belong to a session: send them to its root";
            Err(CommandError::Invalid(text.to_owned()))
        }
        Order::SetClientTools(tools) => client_tool::check(tools).map_err(CommandError::Invalid),
        Order::SetRole(_) if command.tree.root() != &command.agent => {
            let text = "only the agent and the model of a session are set: send them to its root";
            Err(CommandError::Invalid(text.to_owned()))
        }
        Order::SetRole(choice) if *choice == RoleChoice::default() => {
            let text = "name an agent or a model";
            Err(CommandError::Invalid(text.to_owned()))
        }
        Order::Delete(_) if command.tree.root() != &command.agent => {
            let text = format!(
                "{} is an agent of session {}; only whole sessions are removed",
                command.agent, command.tree
            );
            Err(CommandError::Invalid(text))
        }
        Order::SetRole(_) | Order::Delete(_) => Ok(()),
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

/// Refuses an id or a schema that no child could have. Everything else is judged as for a `task` call.
fn check_spawn(limits: &Limits, spawn: &Spawn) -> Result<(), CommandError> {
    if let Some(id) = &spawn.agent {
        AgentId::from_client(id.as_str())
            .map_err(|error| CommandError::Invalid(error.to_string()))?;
    }
    attachments::check_size(&limits.attachments, &spawn.prompt)?;
    check_schema(spawn.output_schema.as_ref())
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

fn check_opening(
    limits: &Limits,
    command: &Command,
    opening: &Opening,
) -> Result<(), CommandError> {
    check_new(command)?;
    check_metadata(opening.metadata.as_ref())?;
    client_tool::check(&opening.client_tools).map_err(CommandError::Invalid)?;
    let prompt = opening.prompt.as_ref();
    prompt.map_or(Ok(()), |prompt| check_prompt(limits, prompt))
}

/// Refuses agents and models that the session of a command does not have. `definition` is what the agent
/// is now that the command is about, as far as the command needs it.
pub(crate) fn check_with(
    kit: &Kit,
    limits: &Limits,
    command: &Command,
    definition: Option<&str>,
) -> Result<(), CommandError> {
    let prompt = match &command.order {
        Order::Open(opening) => {
            check_agent(kit, &opening.definition)?;
            let found = kit.models.find(&opening.model);
            found.map_err(|error| CommandError::Unknown(error.message))?;
            check_price(kit, limits, opening)?;
            client_tool::check_names(kit, &opening.client_tools).map_err(CommandError::Invalid)?;
            opening.prompt.as_ref()
        }
        Order::SetClientTools(tools) => {
            client_tool::check_names(kit, tools).map_err(CommandError::Invalid)?;
            None
        }
        Order::Spawn(spawn) => {
            if let Some(model) = &spawn.model {
                let found = kit.models.find(model);
                found.map_err(|error| CommandError::Unknown(error.message))?;
            }
            None
        }
        Order::SetRole(choice) => return check_choice(kit, choice),
        Order::Prompt(prompt) => Some(prompt),
        _ => None,
    };
    let Some(prompt) = prompt else {
        return Ok(());
    };
    check_model(kit, prompt.model.as_ref())?;
    if let Some(name) = &prompt.agent {
        check_agent(kit, name)?;
    }
    check_delegation(kit, prompt, definition)
}

/// Refuses a prompt that requires an agent which the agent that takes it up cannot start.
fn check_delegation(
    kit: &Kit,
    prompt: &Prompt,
    definition: Option<&str>,
) -> Result<(), CommandError> {
    let Some(Delegation::Require { agent, .. }) = &prompt.delegation else {
        return Ok(());
    };
    let caller = prompt.agent.as_deref().or(definition);
    let Some(caller) = caller.and_then(|name| kit.registry.get(name)) else {
        // The session says so itself.
        return Ok(());
    };
    task::check_required(kit, caller, agent).map_err(|outcome| match outcome.body {
        Body::Error {
            kind: ErrorKind::UnknownAgent,
            text,
        } => CommandError::Unknown(text),
        Body::Error { text, .. } => CommandError::Invalid(text),
        Body::Output(_) => CommandError::Invalid(outcome.for_model()),
    })
}

/// Refuses a role that the session cannot have.
fn check_choice(kit: &Kit, choice: &RoleChoice) -> Result<(), CommandError> {
    if let Some(name) = &choice.agent {
        if kit.registry.get(name).is_none() {
            return Err(Missing::Agent(name.clone()).into());
        }
        check_agent(kit, name)?;
    }
    check_model(kit, choice.model.as_ref())
}

fn check_model(kit: &Kit, name: Option<&String>) -> Result<(), CommandError> {
    let missing = name.filter(|name| kit.models.find(name).is_err());
    missing.map_or(Ok(()), |name| Err(Missing::Model(name.clone()).into()))
}

/// Refuses an agent that a person may not start.
fn check_agent(kit: &Kit, name: &str) -> Result<(), CommandError> {
    let registry = &kit.registry;
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
fn check_price(kit: &Kit, limits: &Limits, opening: &Opening) -> Result<(), CommandError> {
    let Some(manifest) = kit.registry.get(&opening.definition) else {
        return Ok(());
    };
    if scope::root_caps(limits, manifest, opening).cost.is_none() {
        return Ok(());
    }
    let named = kit.helpers.models.named(manifest, &opening.model);
    let name = named.unwrap_or(&opening.model);
    match kit.models.find(name) {
        Ok(model) if model.price().is_some() => Ok(()),
        Ok(_) => Err(CommandError::Invalid(format!(
            "the cost is capped and the price of {name} is not known; set its price or drop the cap"
        ))),
        Err(error) => Err(CommandError::Unknown(error.message)),
    }
}

fn check_prompt(limits: &Limits, prompt: &Prompt) -> Result<(), CommandError> {
    if !prompt.from.is_human() {
        let text = "only an agent speaks for an agent";
        return Err(CommandError::Invalid(text.to_owned()));
    }
    attachments::check_size(&limits.attachments, &prompt.text)?;
    let size = prompt.text.weight();
    if size > MAX_PROMPT_BYTES {
        let text = format!("the prompt has {size} bytes; at most {MAX_PROMPT_BYTES} are taken");
        return Err(CommandError::Invalid(text));
    }
    check_schema(prompt.output_schema.as_ref())?;
    check_metadata(prompt.metadata.as_ref())
}

/// Refuses what no answer can be held against.
fn check_schema(schema: Option<&RawJson>) -> Result<(), CommandError> {
    let Some(schema) = schema else {
        return Ok(());
    };
    let size = schema.as_str().len();
    if size > MAX_OUTPUT_SCHEMA_BYTES {
        let text =
            format!("output_schema has {size} bytes; at most {MAX_OUTPUT_SCHEMA_BYTES} are taken");
        return Err(CommandError::Invalid(text));
    }
    check_json_schema(schema).map_err(|why| {
        let text = format!("output_schema is not a JSON Schema: {why}");
        CommandError::Invalid(text)
    })
}

fn check_metadata(metadata: Option<&RawJson>) -> Result<(), CommandError> {
    let metadata = metadata.map_or(0, |metadata| metadata.as_str().len());
    if metadata > MAX_METADATA_BYTES {
        let text = format!("metadata has {metadata} bytes; at most {MAX_METADATA_BYTES} are taken");
        return Err(CommandError::Invalid(text));
    }
    Ok(())
}

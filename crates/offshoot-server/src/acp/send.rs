//! What becomes of a prompt: a prompt of the root, a subagent behind a slash, or a shorter conversation.
//!
//! A slash command starts its subagent. A delegation that says otherwise contradicts it, and the prompt is
//! refused: the client's user has said two things.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{ContentBlock, Meta};
use offshoot_engine::CommandError;
use offshoot_types::command::{Order, Prompt, Receipt, Scope};
use offshoot_types::id::{AgentId, MessageId, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::message::{Author, Delegation};

use super::blocks;
use super::error::{command_error, internal, invalid};
use super::options;
use super::serve::Shared;
use super::setup::SessionStart;

/// Keys of `_meta` that the protocol reserves for tracing.
const TRACE: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// What a prompt asks for.
pub(super) enum Wanted {
    /// A turn.
    Turn(Option<Delegation>),
    /// That the conversation is shortened.
    Compaction,
}

/// Reads the command of a prompt, if it begins with one, and takes it out of the text.
pub(super) fn wanted(
    blocks: &mut [ContentBlock],
    delegation: Option<Delegation>,
    start: &SessionStart,
) -> Result<Wanted, Error> {
    let Some(ContentBlock::Text(first)) = blocks.first_mut() else {
        return Ok(Wanted::Turn(delegation));
    };
    let Some((name, rest)) = options::command(&first.text, start) else {
        return Ok(Wanted::Turn(delegation));
    };
    if name == options::COMPACT {
        return Ok(Wanted::Compaction);
    }
    if rest.is_empty() {
        return Err(invalid(format!("say what {name} is to do: /{name} TEXT")));
    }
    let delegation = match delegation {
        None => Delegation::Require {
            agent: name.to_owned(),
            background: false,
        },
        Some(Delegation::Require { agent, background }) if agent == name => {
            Delegation::Require { agent, background }
        }
        Some(_) => {
            let why = format!("/{name} starts a subagent, and the delegation says otherwise");
            return Err(invalid(why));
        }
    };
    first.text = rest.to_owned();
    Ok(Wanted::Turn(Some(delegation)))
}

/// Returns the trace context of a request, as metadata of the prompt.
pub(super) fn trace_context(meta: Option<&Meta>) -> Option<RawJson> {
    let said = |key: &str| {
        let text = meta?.get(key)?.as_str()?;
        Some((key.to_owned(), text.into()))
    };
    let context: serde_json::Map<_, _> = TRACE.into_iter().filter_map(said).collect();
    (!context.is_empty()).then(|| RawJson::of(&context))
}

/// Sends a prompt to the root of a session.
pub(super) async fn send(
    shared: &Shared,
    tree: &TreeId,
    message: MessageId,
    blocks: Vec<ContentBlock>,
    delegation: Option<Delegation>,
    metadata: Option<RawJson>,
) -> Result<(), Error> {
    let names_agent = delegation.is_some();
    let text = blocks::content(&shared.setup.runtime, tree.root(), blocks).await?;
    let prompt = Prompt {
        message,
        text,
        from: Author::Human,
        agent: None,
        model: None,
        metadata,
        output_schema: None,
        delegation,
        immediate: false,
    };
    let sent = shared
        .command(tree, tree.root(), Order::Prompt(prompt))
        .await;
    match sent {
        Ok(Receipt::NoEffect { why }) => Err(internal(why)),
        Ok(Receipt::Refused { why, .. }) => Err(invalid(why)),
        Ok(_) => Ok(()),
        // An agent that a delegation names is a parameter of the request.
        Err(CommandError::Unknown(why)) if names_agent => Err(invalid(why)),
        Err(error) => Err(command_error(&error, tree.root())),
    }
}

/// Stops what an agent does, and what it waits for.
pub(super) async fn cancel(shared: &Shared, tree: &TreeId, agent: &AgentId) {
    let order = Order::Cancel(Scope::Run);
    let stopped = shared.command(tree, agent, order).await;
    tracing::debug!(?stopped, %agent, "session/cancel");
}

impl Shared {
    /// Sends an order about an agent of a session.
    pub(super) async fn command(
        &self,
        tree: &TreeId,
        agent: &AgentId,
        order: Order,
    ) -> Result<Receipt, CommandError> {
        self.client.order(tree, agent, order).await
    }
}

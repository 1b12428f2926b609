//! What an entry does to the rows of its agent.
//!
//! Pure but for what it must look up: the folder of the tree, and the log of an
//! opaque child at the moment its run is told. It is called only for agents
//! whose rows are kept somewhere: in the tables, or nested in a parent's part.

use std::sync::Arc;

use offshoot_types::event::{Entry, Event, Origin, Spawned};
use offshoot_types::id::{AgentId, CallId, MessageId, RunId, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::message::{AssistantMessage, Usage, UserMessage};
use offshoot_types::outcome::{Body, Outcome};

use super::part::{self, Block};
use super::row::{Finish, Kind, MessageRow, PartRow, PartState, Role, RowOp, SessionRow};
use super::transcript;

/// Where the rest of the tree can be looked up.
pub(crate) trait Source {
    /// Why it could not be.
    type Error;

    /// Returns the root folder of the tree.
    fn workspace(&mut self) -> Result<Option<String>, Self::Error>;

    /// Returns the log of an agent so far; `None` if it has rows of its own.
    fn opaque_log(&mut self, agent: &AgentId) -> Result<Option<Vec<Arc<Entry>>>, Self::Error>;
}

/// Returns what an entry does to the rows of its agent.
pub(crate) fn derive<E>(
    entry: &Entry,
    source: &mut dyn Source<Error = E>,
) -> Result<Vec<RowOp>, E> {
    let session = &entry.agent;
    let at = entry.at;
    Ok(match &entry.event {
        Event::Spawned(spawned) => vec![RowOp::Session(Box::new(born(entry, spawned, source)?))],
        Event::Prompted(message) => prompted(session, message, at),
        Event::TurnStarted { prompt, .. } => started(session, prompt.as_ref(), at),
        Event::Steered { prompt } => started(session, Some(prompt), at),
        Event::Replied(message) => replied(session, message, at),
        Event::CallFinished {
            call,
            outcome,
            delivers,
        } => {
            let mut transcripts = Vec::new();
            for run in delivers {
                transcripts.extend(nested(run, source)?);
            }
            finished(session, call, outcome, transcripts, at)
        }
        Event::Completion {
            message,
            run,
            definition,
            call,
            settlement,
        } => {
            let transcript = nested(run, source)?;
            let block = part::completion(run, definition, call.as_ref(), settlement, transcript);
            let place = (session, message, at);
            let mut ops = said(place, Role::Assistant, "{}".to_owned(), [block]);
            ops.push(touch(session, at));
            ops
        }
        Event::Titled { title, .. } => vec![
            RowOp::Rename {
                session: session.clone(),
                title: title.clone(),
            },
            touch(session, at),
        ],
        Event::Compacted(compaction) => {
            let place = (session, &compaction.message, at);
            let block = part::compaction(compaction);
            let mut ops = said(place, Role::Assistant, "{}".to_owned(), [block]);
            ops.push(count(session, compaction.counts, at));
            ops
        }
        Event::Rewound { hides, counts, .. } => {
            let hide = |message: &MessageId| RowOp::Hide {
                session: session.clone(),
                message: message.clone(),
                at,
            };
            let mut ops: Vec<RowOp> = hides.iter().map(hide).collect();
            ops.push(count(session, *counts, at));
            ops
        }
        Event::Summarised { .. } => vec![touch(session, at)],
        Event::Asked { .. }
        | Event::Became(_)
        | Event::Hooked(_)
        | Event::Decided { .. }
        | Event::CallStarted { .. }
        | Event::TurnEnded { .. }
        | Event::Settled { .. } => Vec::new(),
    })
}

/// Returns the transcript of a run, if it has no other place than its parent's part.
fn nested<E>(run: &RunId, source: &mut dyn Source<Error = E>) -> Result<Option<RawJson>, E> {
    match source.opaque_log(&run.agent)? {
        Some(log) => transcript::nest(run, &log, source).map(Some),
        None => Ok(None),
    }
}

fn born<E>(
    entry: &Entry,
    spawned: &Spawned,
    source: &mut dyn Source<Error = E>,
) -> Result<SessionRow, E> {
    let (kind, workspace_root, parent) = match &spawned.origin {
        Origin::Session {
            workspace, copy, ..
        } => match copy {
            None => (Kind::Session, Some(workspace.clone()), None),
            Some(copy) => {
                let from = (&copy.session, &copy.message);
                (Kind::Fork, Some(workspace.clone()), Some(from))
            }
        },
        Origin::Task(parent) => {
            let from = (&parent.agent, &parent.message);
            (Kind::Subagent, source.workspace()?, Some(from))
        }
        // Has no rows: this is only ever nested, and nobody nests it.
        Origin::Helper(_) => (Kind::Subagent, source.workspace()?, None),
    };
    let metadata = spawned.metadata.as_ref().map(RawJson::as_str);
    Ok(SessionRow {
        id: entry.agent.clone(),
        agent: spawned.definition.clone(),
        kind,
        title: None,
        workspace_root,
        model_json: part::model(&spawned.model),
        parent_id: parent.map(|(agent, _)| agent.clone()),
        parent_message_id: parent.map(|(_, message)| message.clone()),
        metadata_json: metadata.unwrap_or("{}").to_owned(),
        usage: Usage::default(),
        created_at: entry.at,
        updated_at: entry.at,
    })
}

fn prompted(session: &AgentId, message: &UserMessage, at: Timestamp) -> Vec<RowOp> {
    let place = (session, &message.id, at);
    let metadata = part::queued(message, at);
    let mut ops = said(place, Role::User, metadata, [part::text(&message.text)]);
    ops.push(RowOp::Title {
        session: session.clone(),
        title: message.title(),
    });
    ops.push(touch(session, at));
    ops
}

fn started(session: &AgentId, prompt: Option<&MessageId>, at: Timestamp) -> Vec<RowOp> {
    let Some(message) = prompt else {
        return Vec::new();
    };
    vec![
        RowOp::Fire {
            session: session.clone(),
            message: message.clone(),
            at,
        },
        touch(session, at),
    ]
}

fn replied(session: &AgentId, message: &AssistantMessage, at: Timestamp) -> Vec<RowOp> {
    let place = (session, &message.id, at);
    let blocks = message.parts.iter().map(part::block);
    let mut ops = said(place, Role::Assistant, part::spoken(message), blocks);
    ops.push(RowOp::Spend {
        session: session.clone(),
        usage: message.usage,
        at,
    });
    ops
}

fn finished(
    session: &AgentId,
    call: &CallId,
    outcome: &Outcome,
    transcripts: Vec<RawJson>,
    at: Timestamp,
) -> Vec<RowOp> {
    let (state, output, error_text) = match &outcome.body {
        Body::Output(data) => (PartState::OutputAvailable, Some(data.clone()), None),
        Body::Error { text, .. } => (PartState::OutputError, None, Some(text.clone())),
    };
    let finish = Finish {
        state,
        output,
        error_text,
        metadata: outcome.metadata.clone(),
        transcripts,
    };
    vec![
        RowOp::Finish {
            session: session.clone(),
            call: call.clone(),
            finish: Box::new(finish),
            at,
        },
        touch(session, at),
    ]
}

/// Returns a message and its parts.
fn said(
    (session, message, at): (&AgentId, &MessageId, Timestamp),
    role: Role,
    metadata_json: String,
    blocks: impl IntoIterator<Item = Block>,
) -> Vec<RowOp> {
    let mut ops = vec![RowOp::Message(MessageRow {
        id: message.clone(),
        session_id: session.clone(),
        role,
        metadata_json,
        created_at: at,
        updated_at: at,
    })];
    ops.extend((0..).zip(blocks).map(|(index, block)| {
        RowOp::Part(PartRow {
            session_id: session.clone(),
            message_id: message.clone(),
            index,
            kind: block.kind,
            data_json: block.data_json,
            tool: block.tool,
            created_at: at,
            updated_at: at,
        })
    }));
    ops
}

fn count(session: &AgentId, usage: Usage, at: Timestamp) -> RowOp {
    RowOp::Count {
        session: session.clone(),
        usage,
        at,
    }
}

fn touch(session: &AgentId, at: Timestamp) -> RowOp {
    RowOp::Touch {
        session: session.clone(),
        at,
    }
}

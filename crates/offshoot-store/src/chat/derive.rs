//! What an entry does to the rows of its agent.
//!
//! Pure but for what it must look up: the folder of the tree, who is above and
//! below an agent, and the log of an opaque child at the moment its run is delivered.
//! It is called for agents whose rows are kept somewhere (in the tables, or
//! nested in a parent's part), and for answers that hold for the whole session.

use std::sync::Arc;

use offshoot_types::caps::Money;
use offshoot_types::event::{Entry, Event, Origin, Parent, Spawned};
use offshoot_types::id::{AgentId, CallId, MessageId, Seq, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::message::{AssistantMessage, Usage, UserMessage};
use offshoot_types::outcome::{Body, Outcome};

use super::part::{self, Block};
use super::row::{Finish, Kind, MessageRow, PartRow, PartState, Role, RowOp, SessionRow};
use super::transcript::{self, Nesting};

/// Where the rest of the tree can be looked up.
pub(crate) trait Source {
    /// Why it could not be.
    type Error;

    /// Returns the root folder of the tree.
    fn workspace(&mut self) -> Result<Option<String>, Self::Error>;

    /// Returns the birth of an agent that has no rows of its own; `None` for any other.
    fn opaque_birth(&mut self, agent: &AgentId) -> Result<Option<Spawned>, Self::Error>;

    /// Returns the next entries of the log of an agent that has no rows of its own, in order; none
    /// behind the last one so far, `None` for any other agent.
    fn opaque_log(
        &mut self,
        agent: &AgentId,
        after: Seq,
    ) -> Result<Option<Vec<Arc<Entry>>>, Self::Error>;

    /// Returns how many bytes the log of an agent has so far, as it is stored.
    fn log_bytes(&mut self, agent: &AgentId) -> Result<u64, Self::Error>;

    /// Returns an agent and all below it.
    fn below(&mut self, agent: &AgentId) -> Result<Vec<AgentId>, Self::Error>;

    /// Returns how much of transcripts may still be nested for the entry at hand.
    fn nesting(&mut self) -> &mut Nesting;
}

/// Tells whether an entry is to be derived although its agent has no rows: an answer that holds for
/// the session changes the row of the session, whichever agent asked.
pub(crate) fn is_for_session(entry: &Entry) -> bool {
    matches!(&entry.event, Event::Decided { grant: Some(grant), .. } if grant.role.is_none())
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
                transcripts.extend(transcript::nest(run, source)?);
            }
            finished(session, call, outcome, transcripts, at)
        }
        Event::Completion {
            message,
            run,
            definition,
            call,
            settlement,
            quiet: _,
        } => {
            let transcript = transcript::nest(run, source)?;
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
        Event::Rewound {
            hides,
            counts,
            drops,
            ..
        } => {
            let hide = |message: &MessageId| RowOp::Hide {
                session: session.clone(),
                message: message.clone(),
                at,
            };
            let mut ops: Vec<RowOp> = hides.iter().map(hide).collect();
            ops.push(count(session, *counts, at));
            for child in drops {
                let below = source.below(child)?.into_iter();
                ops.extend(below.map(|session| RowOp::Archive { session, at }));
            }
            ops
        }
        Event::Decided {
            grant: Some(grant), ..
        } if grant.role.is_none() => vec![RowOp::Permit {
            session: grant.agent.clone(),
            rules: grant.rules.clone(),
            at,
        }],
        Event::Summarised { .. } | Event::ClientTools { .. } | Event::RoleChosen(_) => {
            vec![touch(session, at)]
        }
        Event::Asked { .. }
        | Event::Became(_)
        | Event::Hooked(_)
        | Event::Decided { .. }
        | Event::CallStarted { .. }
        | Event::TurnEnded { .. }
        | Event::Settled { .. } => Vec::new(),
    })
}

/// Returns the nearest agent above a child that has rows, with the message it was processing; and the
/// child's parent, where that is another agent.
fn nearest_with_rows<'a, E>(
    parent: &'a Parent,
    source: &mut dyn Source<Error = E>,
) -> Result<(Parent, Option<&'a AgentId>), E> {
    let mut above = parent.clone();
    while let Some(birth) = source.opaque_birth(&above.agent)? {
        match birth.origin {
            Origin::Task(next) => above = next,
            Origin::Session { .. } | Origin::Helper(_) => break,
        }
    }
    let opaque = (above.agent != parent.agent).then_some(&parent.agent);
    Ok((above, opaque))
}

fn born<E>(
    entry: &Entry,
    spawned: &Spawned,
    source: &mut dyn Source<Error = E>,
) -> Result<SessionRow, E> {
    let host = spawned.metadata.as_ref().map_or("{}", RawJson::as_str);
    let mut metadata_json = host.to_owned();
    let (kind, workspace_root, parent) = match &spawned.origin {
        Origin::Session {
            workspace, copy, ..
        } => match copy {
            None => (Kind::Session, Some(workspace.clone()), None),
            Some(copy) => {
                let from = (copy.session.clone(), Some(copy.message.clone()));
                (Kind::Fork, Some(workspace.clone()), Some(from))
            }
        },
        Origin::Task(parent) => {
            let mut above = parent.clone();
            if super::has_rows(spawned) {
                let (nearest, opaque) = nearest_with_rows(parent, source)?;
                if let Some(opaque) = opaque {
                    metadata_json = part::below_opaque(host, opaque);
                }
                above = nearest;
            }
            // The host may start a child of an agent that nothing was said to yet.
            let message = Some(above.message).filter(|message| !message.as_str().is_empty());
            let from = (above.agent, message);
            (Kind::Subagent, source.workspace()?, Some(from))
        }
        // Has no rows: this is only ever nested, and nobody nests it.
        Origin::Helper(_) => (Kind::Subagent, source.workspace()?, None),
    };
    let (parent_id, parent_message_id) = parent.unzip();
    Ok(SessionRow {
        id: entry.agent.clone(),
        agent: spawned.definition.clone(),
        kind,
        title: None,
        workspace_root,
        model_json: part::model(&spawned.model),
        parent_id,
        parent_message_id: parent_message_id.flatten(),
        permissions_json: "[]".to_owned(),
        metadata_json,
        usage: Usage::default(),
        cost: Money::default(),
        created_at: entry.at,
        updated_at: entry.at,
        archived_at: None,
    })
}

fn prompted(session: &AgentId, message: &UserMessage, at: Timestamp) -> Vec<RowOp> {
    let place = (session, &message.id, at);
    let metadata = part::queued(message, at);
    let mut blocks: Vec<Block> = message.text.parts().iter().map(part::content).collect();
    if blocks.is_empty() {
        blocks.push(part::text(""));
    }
    let mut ops = said(place, Role::User, metadata, blocks);
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
        cost: message.cost.unwrap_or_default(),
        model_json: message
            .request
            .as_ref()
            .map(|request| part::model(&request.model)),
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
        attachments: outcome.attachments.iter().map(part::attachment).collect(),
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

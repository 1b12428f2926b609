//! The transcript of an opaque run, nested in its parent's part (R3, X-01).
//!
//! The child's log is folded as if it had rows, and what belongs to the run is
//! rendered into one JSON value. A child with children of its own nests them in
//! its own parts first. What grows over the cap is replaced by a reference: the
//! log keeps the whole.

use std::sync::Arc;

use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, MessageId, RunId, RunNo, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::message::Usage;
use serde::Serialize;
use serde_json::value::RawValue;

use super::derive::{Source, derive};
use super::part;
use super::row::{Kind, MessageRow, Role, SessionRow};
use super::sheet::{Rows, Sheet};

/// Longest transcript that is nested, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// Returns the transcript of a run of an agent, given that agent's log.
pub(super) fn nest<E>(
    run: &RunId,
    log: &[Arc<Entry>],
    source: &mut dyn Source<Error = E>,
) -> Result<RawJson, E> {
    let mut sheet = Sheet::default();
    for entry in log {
        sheet.execute(derive(entry, source)?);
        match &entry.event {
            Event::Settled { run: ended, .. } if *ended == run.run => {
                keep(&mut sheet.rows, Waiting::No);
                break;
            }
            Event::Settled { .. } => keep(&mut sheet.rows, Waiting::Yes),
            Event::Spawned(_)
            | Event::Prompted(_)
            | Event::Became(_)
            | Event::Steered { .. }
            | Event::Completion { .. }
            | Event::TurnStarted { .. }
            | Event::Replied(_)
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::CallFinished { .. }
            | Event::TurnEnded { .. }
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::Hooked(_)
            | Event::Compacted(_)
            | Event::Rewound { .. } => {}
        }
    }
    Ok(render(run, &sheet.rows, log))
}

/// Whether a message waits for a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Yes,
    No,
}

/// At the end of a run: keeps what waits for the next, or what the run was.
fn keep(rows: &mut Rows, wanted: Waiting) {
    rows.messages.retain(|_, row| {
        let waiting = if part::is_queued(&row.metadata_json) {
            Waiting::Yes
        } else {
            Waiting::No
        };
        waiting == wanted
    });
}

#[derive(Serialize)]
struct Transcript<'a> {
    session: Session<'a>,
    run: RunNo,
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
struct Session<'a> {
    id: &'a AgentId,
    agent: &'a str,
    kind: Kind,
    workspace_root: Option<&'a str>,
    model: Option<&'a RawValue>,
    parent_id: Option<&'a AgentId>,
    parent_message_id: Option<&'a MessageId>,
    metadata: Option<&'a RawValue>,
    usage: Usage,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Serialize)]
struct Message<'a> {
    id: &'a MessageId,
    role: Role,
    metadata: Option<&'a RawValue>,
    created_at: Timestamp,
    updated_at: Timestamp,
    parts: Vec<&'a RawValue>,
}

#[derive(Serialize)]
struct Reference<'a> {
    session_id: &'a AgentId,
    run: RunNo,
    truncated: bool,
}

fn render(run: &RunId, rows: &Rows, log: &[Arc<Entry>]) -> RawJson {
    let reference = || {
        RawJson::of(&Reference {
            session_id: &run.agent,
            run: run.run,
            truncated: true,
        })
    };
    let Some(session) = rows.sessions.get(&run.agent) else {
        return reference();
    };
    let whole = RawJson::of(&Transcript {
        session: self::session(session),
        run: run.run,
        messages: messages(rows, log),
    });
    if whole.as_str().len() > MAX_BYTES {
        return reference();
    }
    whole
}

fn session(row: &SessionRow) -> Session<'_> {
    Session {
        id: &row.id,
        agent: &row.agent,
        kind: row.kind,
        workspace_root: row.workspace_root.as_deref(),
        model: raw(&row.model_json),
        parent_id: row.parent_id.as_ref(),
        parent_message_id: row.parent_message_id.as_ref(),
        metadata: raw(&row.metadata_json),
        usage: row.usage,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

/// Returns the messages in the order of the log, where a prompt stands when its turn began.
fn messages<'a>(rows: &'a Rows, log: &'a [Arc<Entry>]) -> Vec<Message<'a>> {
    let order = log.iter().filter_map(|entry| {
        let id = match &entry.event {
            Event::TurnStarted { prompt, .. } => prompt.as_ref()?,
            Event::Steered { prompt } => prompt,
            Event::Replied(message) => &message.id,
            Event::Completion { message, .. } => message,
            Event::Compacted(compaction) => &compaction.message,
            Event::Spawned(_)
            | Event::Prompted(_)
            | Event::Became(_)
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::CallFinished { .. }
            | Event::TurnEnded { .. }
            | Event::Settled { .. }
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::Hooked(_)
            | Event::Rewound { .. } => return None,
        };
        Some((entry.agent.clone(), id.clone()))
    });
    order
        .filter_map(|key| rows.messages.get(&key))
        .map(|row| message(row, rows))
        .collect()
}

fn message<'a>(row: &'a MessageRow, rows: &'a Rows) -> Message<'a> {
    let parts = rows.parts_of(row);
    Message {
        id: &row.id,
        role: row.role,
        metadata: raw(&row.metadata_json),
        created_at: row.created_at,
        updated_at: row.updated_at,
        parts: parts.filter_map(|row| raw(&row.data_json)).collect(),
    }
}

/// Borrows what a column holds: it goes through byte for byte.
fn raw(json: &str) -> Option<&RawValue> {
    serde_json::from_str(json).ok()
}

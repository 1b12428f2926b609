//! The transcript of an opaque run, nested in its parent's part (R3, X-01).
//!
//! The child's log is folded as if it had rows, and what belongs to the run is
//! rendered into one JSON value. A child with children of its own nests them in
//! its own parts first. A row holds a transcript up to a cap and beyond that a
//! reference: folding stops as soon as the cap is exceeded, because it happens in
//! the transaction of the entry that tells of the run. An export has no cap.

use std::sync::Arc;

use offshoot_types::caps::Money;
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, MessageId, RunId, RunNo, Seq, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::message::Usage;
use serde::Serialize;
use serde_json::value::RawValue;

use super::derive::{Source, derive};
use super::part;
use super::row::{Kind, MessageRow, Role, RowOp, SessionRow};
use super::sheet::{Rows, Sheet};

/// Longest transcript that a row holds, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// Most bytes that are folded for one entry, all levels of nesting together: references are short, so
/// a child whose children are all too long would never reach its own cap.
const MAX_FOLDED: usize = 16 * MAX_BYTES;

/// How much of transcripts is nested.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Nesting {
    /// All of it, for an export.
    Whole,
    /// As much as rows hold.
    Capped {
        /// What may still be folded for the entry at hand, in bytes.
        left: usize,
    },
}

impl Nesting {
    /// What the rows that an entry changes may hold.
    pub(crate) const ROW: Self = Self::Capped { left: MAX_FOLDED };

    /// Counts what was folded; tells whether a transcript that has `whole` bytes by now is too long.
    fn is_over(&mut self, folded: usize, whole: usize) -> bool {
        match self {
            Self::Whole => false,
            Self::Capped { left } => {
                *left = left.saturating_sub(folded);
                *left == 0 || whole > MAX_BYTES
            }
        }
    }
}

/// Returns the transcript of a run; `None` if its agent has rows of its own.
pub(super) fn nest<E>(
    run: &RunId,
    source: &mut dyn Source<Error = E>,
) -> Result<Option<RawJson>, E> {
    let mut sheet = Sheet::default();
    let mut order = Vec::new();
    let mut after = Seq::ZERO;
    let mut whole = 0;
    'log: loop {
        let Some(page) = source.opaque_log(&run.agent, after)? else {
            return Ok(None);
        };
        let Some(last) = page.last() else { break };
        after = last.seq;
        for entry in &page {
            let ops = derive(entry, source)?;
            let folded = ops.iter().map(RowOp::bytes).sum();
            sheet.execute(ops);
            order.extend(said(entry));
            whole += folded;
            if let Event::Settled { run: ended, .. } = &entry.event {
                if *ended == run.run {
                    keep(&mut sheet.rows, Waiting::No);
                    break 'log;
                }
                keep(&mut sheet.rows, Waiting::Yes);
                whole = 0;
            }
            if source.nesting().is_over(folded, whole) {
                return reference(run, source).map(Some);
            }
        }
    }
    match render(run, &sheet.rows, &order) {
        Some(whole) if !source.nesting().is_over(0, whole.as_str().len()) => Ok(Some(whole)),
        Some(_) | None => reference(run, source).map(Some),
    }
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
    cost_usd: Money,
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

/// What a row holds in the place of a transcript that is too long.
#[derive(Serialize)]
struct Reference<'a> {
    session_id: &'a AgentId,
    run: RunNo,
    truncated: bool,
    /// How large the log is that the transcript is folded from.
    log_bytes: u64,
    /// The command that prints the whole.
    read_with: String,
}

fn reference<E>(run: &RunId, source: &mut dyn Source<Error = E>) -> Result<RawJson, E> {
    Ok(RawJson::of(&Reference {
        session_id: &run.agent,
        run: run.run,
        truncated: true,
        log_bytes: source.log_bytes(&run.agent)?,
        read_with: format!("offshoot sessions export {}", run.agent),
    }))
}

/// Tells whether a part may hold such a reference.
pub(super) fn may_be_cut(data_json: &str) -> bool {
    data_json.contains("\"truncated\":true")
}

fn render(run: &RunId, rows: &Rows, order: &[MessageId]) -> Option<RawJson> {
    let session = rows.sessions.get(&run.agent)?;
    Some(RawJson::of(&Transcript {
        session: self::session(session),
        run: run.run,
        messages: messages(rows, &run.agent, order),
    }))
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
        cost_usd: row.cost,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

/// Returns the message that an entry adds to the conversation: a prompt stands where its turn began.
fn said(entry: &Arc<Entry>) -> Option<MessageId> {
    match &entry.event {
        Event::TurnStarted { prompt, .. } => prompt.clone(),
        Event::Steered { prompt } => Some(prompt.clone()),
        Event::Replied(message) => Some(message.id.clone()),
        Event::Completion { message, .. } => Some(message.clone()),
        Event::Compacted(compaction) => Some(compaction.message.clone()),
        _ => None,
    }
}

fn messages<'a>(rows: &'a Rows, agent: &AgentId, order: &[MessageId]) -> Vec<Message<'a>> {
    let rows_in_order = order
        .iter()
        .filter_map(|id| rows.messages.get(&(agent.clone(), id.clone())));
    rows_in_order.map(|row| message(row, rows)).collect()
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

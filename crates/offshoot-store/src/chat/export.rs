//! The rows of one session for whoever reads them elsewhere (DBG-01).
//!
//! A row becomes an object of its columns, in the order of the schema, with JSON
//! columns as the text they are. Rows come from a database or from a fold of the
//! log; both give the same. Where a row is cut, the part is folded from the log
//! and says so (SA-37). Nothing here knows how it is printed.

use std::collections::BTreeSet;

use offshoot_types::caps::Money;
use offshoot_types::id::{AgentId, CallId, MessageId, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::store::{ChatExport, ChatMessage};
use serde::Serialize;

use super::row::{Kind, MessageRow, PartRow, PartState, Role, SessionRow};
use super::sheet::{PartKey, Rows};
use super::transcript;

/// Returns a session with the transcripts of its opaque children, given the rows that are kept of it.
/// `whole` folds its own log without a cap: it is called if a row is cut or there are no rows. `None`
/// if the session is unknown. A copy of a session that `is_kept` does not know any more has no parent.
pub(crate) fn export<E>(
    mut rows: Rows,
    session: &AgentId,
    is_kept: impl FnOnce(&AgentId) -> Result<bool, E>,
    whole: impl FnOnce() -> Result<Rows, E>,
) -> Result<Option<ChatExport>, E> {
    let has_rows = rows.sessions.contains_key(session);
    let mut cut = BTreeSet::new();
    if !has_rows {
        rows = whole()?;
    } else if rows.parts.values().any(is_suspect) {
        let mut whole = whole()?;
        for (key, row) in &mut rows.parts {
            if is_suspect(row)
                && let Some(folded) = whole.parts.remove(key)
                && folded.data_json != row.data_json
            {
                row.data_json = folded.data_json;
                cut.insert(key.clone());
            }
        }
    }
    let Some(mut row) = rows.sessions.remove(session) else {
        return Ok(None);
    };
    if let (Kind::Fork, Some(original)) = (row.kind, &row.parent_id)
        && !is_kept(original)?
    {
        row.parent_id = None;
        row.parent_message_id = None;
    }
    let own = rows.messages.values();
    let mut messages: Vec<&MessageRow> = own.filter(|row| row.session_id == *session).collect();
    // Stable, and the rows come by id: what was written in one millisecond stays in the order of ids.
    messages.sort_by_key(|row| row.created_at);
    let messages = messages.into_iter().map(|row| message(&rows, row, &cut));
    Ok(Some(ChatExport {
        session: self::session(&row),
        messages: messages.collect(),
        has_rows,
    }))
}

/// Tells whether a row may hold a reference in the place of a transcript.
fn is_suspect(row: &PartRow) -> bool {
    transcript::may_be_cut(&row.data_json)
}

fn session(row: &SessionRow) -> RawJson {
    #[derive(Serialize)]
    struct Columns<'a> {
        id: &'a AgentId,
        agent: &'a str,
        kind: Kind,
        title: Option<&'a str>,
        workspace_root: Option<&'a str>,
        model_json: &'a str,
        parent_id: Option<&'a AgentId>,
        parent_message_id: Option<&'a MessageId>,
        permissions_json: &'a str,
        metadata_json: &'a str,
        prompt_tokens: u64,
        completion_tokens: u64,
        reasoning_tokens: u64,
        cache_read: u64,
        cache_write: u64,
        total_tokens: u64,
        cost_usd: Money,
        created_at: Timestamp,
        updated_at: Timestamp,
        archived_at: Option<Timestamp>,
    }
    RawJson::of(&Columns {
        id: &row.id,
        agent: &row.agent,
        kind: row.kind,
        title: row.title.as_deref(),
        workspace_root: row.workspace_root.as_deref(),
        model_json: &row.model_json,
        parent_id: row.parent_id.as_ref(),
        parent_message_id: row.parent_message_id.as_ref(),
        permissions_json: &row.permissions_json,
        metadata_json: &row.metadata_json,
        prompt_tokens: row.usage.input,
        completion_tokens: row.usage.output,
        reasoning_tokens: row.usage.reasoning,
        cache_read: row.usage.cache_read,
        cache_write: row.usage.cache_write,
        total_tokens: row.usage.total(),
        cost_usd: row.cost,
        created_at: row.created_at,
        updated_at: row.updated_at,
        archived_at: row.archived_at,
    })
}

fn message(rows: &Rows, row: &MessageRow, cut: &BTreeSet<PartKey>) -> ChatMessage {
    #[derive(Serialize)]
    struct Columns<'a> {
        id: &'a MessageId,
        session_id: &'a AgentId,
        role: Role,
        metadata_json: &'a str,
        created_at: Timestamp,
        updated_at: Timestamp,
    }
    ChatMessage {
        message: RawJson::of(&Columns {
            id: &row.id,
            session_id: &row.session_id,
            role: row.role,
            metadata_json: &row.metadata_json,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }),
        parts: rows.parts_of(row).map(|row| part(row, cut)).collect(),
    }
}

fn part(row: &PartRow, cut: &BTreeSet<PartKey>) -> RawJson {
    #[derive(Serialize)]
    struct Columns<'a> {
        id: String,
        message_id: &'a MessageId,
        session_id: &'a AgentId,
        index: u32,
        r#type: &'a str,
        data_json: &'a str,
        tool_call_id: Option<&'a CallId>,
        tool_state: Option<PartState>,
        created_at: Timestamp,
        updated_at: Timestamp,
        /// No column: says that the row holds a reference where this has a transcript.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        row_is_cut: bool,
    }
    let key = (row.session_id.clone(), row.message_id.clone(), row.index);
    RawJson::of(&Columns {
        id: row.id(),
        message_id: &row.message_id,
        session_id: &row.session_id,
        index: row.index,
        r#type: &row.kind,
        data_json: &row.data_json,
        tool_call_id: row.tool.as_ref().map(|tool| &tool.call),
        tool_state: row.tool.as_ref().map(|tool| tool.state),
        created_at: row.created_at,
        updated_at: row.updated_at,
        row_is_cut: cut.contains(&key),
    })
}

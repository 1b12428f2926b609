//! The rows of one session for whoever reads them elsewhere (DBG-01).
//!
//! A row becomes an object of its columns, in the order of the schema, with JSON
//! columns as the text they are. Rows come from a database or from a fold of the
//! log; both give the same. Nothing here knows how it is printed.

use offshoot_types::id::{AgentId, CallId, MessageId, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::store::{ChatExport, ChatMessage};
use serde::Serialize;

use super::row::{Kind, MessageRow, PartRow, PartState, Role, SessionRow};
use super::sheet::Rows;

/// Returns the rows of a session; `None` if it has none.
pub(crate) fn export(rows: &Rows, session: &AgentId) -> Option<ChatExport> {
    let row = rows.sessions.get(session)?;
    let own = rows.messages.values();
    let mut messages: Vec<&MessageRow> = own.filter(|row| row.session_id == *session).collect();
    // Stable, and the rows come by id: what was written in one millisecond stays in the order of ids.
    messages.sort_by_key(|row| row.created_at);
    Some(ChatExport {
        session: self::session(row),
        messages: messages.into_iter().map(|row| message(rows, row)).collect(),
    })
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
        permissions_json: &'static str,
        metadata_json: &'a str,
        prompt_tokens: u64,
        completion_tokens: u64,
        reasoning_tokens: u64,
        cache_read: u64,
        cache_write: u64,
        total_tokens: u64,
        cost_usd: f64,
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
        // What nothing sets yet has the defaults of the schema.
        permissions_json: "[]",
        metadata_json: &row.metadata_json,
        prompt_tokens: row.usage.input,
        completion_tokens: row.usage.output,
        reasoning_tokens: row.usage.reasoning,
        cache_read: row.usage.cache_read,
        cache_write: row.usage.cache_write,
        total_tokens: row.usage.total(),
        cost_usd: 0.0,
        created_at: row.created_at,
        updated_at: row.updated_at,
        archived_at: None,
    })
}

fn message(rows: &Rows, row: &MessageRow) -> ChatMessage {
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
        parts: rows.parts_of(row).map(part).collect(),
    }
}

fn part(row: &PartRow) -> RawJson {
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
    }
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
    })
}

//! The chat tables in memory.
//!
//! Carries out the same operations as the SQL store, without SQL. What cannot
//! apply (a call that is not open, a message that is not there) does nothing,
//! as an UPDATE that meets no row.

use std::collections::{BTreeMap, HashMap};

use offshoot_types::id::{AgentId, CallId, MessageId, Timestamp};

use super::part;
use super::row::{Finish, MessageRow, PartRow, PartState, RowOp, SessionRow};

/// The rows of a tree, each under its key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// `chat_sessions`.
    pub sessions: BTreeMap<AgentId, SessionRow>,
    /// `chat_messages`, by session and id.
    pub messages: BTreeMap<(AgentId, MessageId), MessageRow>,
    /// `chat_parts`, by session, message and index.
    pub parts: BTreeMap<PartKey, PartRow>,
}

impl Rows {
    /// Returns the parts of a message, in order.
    pub(super) fn parts_of(&self, message: &MessageRow) -> impl Iterator<Item = &PartRow> {
        let place = |index| (message.session_id.clone(), message.id.clone(), index);
        let parts = self.parts.range(place(0)..=place(u32::MAX));
        parts.map(|(_, row)| row)
    }
}

/// The place of a part.
pub type PartKey = (AgentId, MessageId, u32);

/// Rows that operations are carried out on.
#[derive(Default)]
pub(super) struct Sheet {
    pub(super) rows: Rows,
    /// Parts of calls without an outcome.
    open: HashMap<(AgentId, CallId), PartKey>,
}

impl Sheet {
    pub(super) fn execute(&mut self, ops: Vec<RowOp>) {
        for op in ops {
            self.one(op);
        }
    }

    fn one(&mut self, op: RowOp) {
        let rows = &mut self.rows;
        match op {
            RowOp::Session(row) => {
                rows.sessions.entry(row.id.clone()).or_insert(*row);
            }
            RowOp::Message(row) => {
                let key = (row.session_id.clone(), row.id.clone());
                rows.messages.entry(key).or_insert(row);
            }
            RowOp::Part(row) => self.part(row),
            RowOp::Title { session, title } => {
                if let Some(row) = rows.sessions.get_mut(&session) {
                    row.title.get_or_insert(title);
                }
            }
            RowOp::Rename { session, title } => {
                if let Some(row) = rows.sessions.get_mut(&session) {
                    row.title = Some(title);
                }
            }
            RowOp::Hide {
                session,
                message,
                at,
            } => {
                if let Some(row) = rows.messages.get_mut(&(session, message)) {
                    row.metadata_json = part::hidden(&row.metadata_json, at);
                    row.updated_at = at;
                }
            }
            RowOp::Count { session, usage, at } => {
                if let Some(row) = rows.sessions.get_mut(&session) {
                    row.count(usage);
                    row.updated_at = at;
                }
            }
            RowOp::Finish {
                session,
                call,
                finish,
                at,
            } => self.finish(session, call, &finish, at),
            RowOp::Fire {
                session,
                message,
                at,
            } => {
                if let Some(row) = rows.messages.get_mut(&(session, message)) {
                    row.metadata_json = part::fired(&row.metadata_json);
                    row.created_at = at;
                    row.updated_at = at;
                }
            }
            RowOp::Spend {
                session,
                usage,
                cost,
                model_json,
                at,
            } => {
                if let Some(row) = rows.sessions.get_mut(&session) {
                    row.spend(usage, cost);
                    row.updated_at = at;
                    if let Some(model_json) = model_json {
                        row.model_json = model_json;
                    }
                }
            }
            RowOp::Permit { session, rules, at } => {
                if let Some(row) = rows.sessions.get_mut(&session) {
                    row.permissions_json = part::permitted(&row.permissions_json, &rules, at);
                    row.updated_at = at;
                }
            }
            RowOp::Archive { session, at } => {
                if let Some(row) = rows.sessions.get_mut(&session) {
                    row.archived_at.get_or_insert(at);
                }
            }
            RowOp::Touch { session, at } => {
                if let Some(row) = rows.sessions.get_mut(&session) {
                    row.updated_at = at;
                }
            }
        }
    }

    fn part(&mut self, row: PartRow) {
        let key = (row.session_id.clone(), row.message_id.clone(), row.index);
        if let Some(tool) = &row.tool {
            let call = (row.session_id.clone(), tool.call.clone());
            self.open.insert(call, key.clone());
        }
        self.rows.parts.entry(key).or_insert(row);
    }

    fn finish(&mut self, session: AgentId, call: CallId, finish: &Finish, at: Timestamp) {
        let Some(key) = self.open.remove(&(session, call)) else {
            return;
        };
        let Some(row) = self.rows.parts.get_mut(&key) else {
            return;
        };
        let Some(tool) = &mut row.tool else {
            return;
        };
        if tool.state == PartState::InputAvailable
            && let Ok(data_json) = part::finished(&row.data_json, finish)
        {
            tool.state = finish.state;
            row.data_json = data_json;
            row.updated_at = at;
        }
    }
}

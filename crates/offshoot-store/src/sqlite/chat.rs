//! The chat tables in SQL.
//!
//! Carries out row operations in the transaction of their entry, and looks up
//! what the derivation needs. Nothing else writes these tables.

use std::collections::HashMap;
use std::sync::Arc;

use offshoot_types::caps::Money;
use offshoot_types::event::{Entry, Spawned};
use offshoot_types::id::{AgentId, CallId, MessageId, Seq, Timestamp, TreeId};
use offshoot_types::message::Usage;
use offshoot_types::permission::Rule;
use offshoot_types::store::ChatExport;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use super::counters::{OpenPart, TreeCounters};
use super::failure::Failure;
use super::read::{self, number, signed, text};
use crate::chat::{
    self, Finish, Kind, MOST_MICROS, MessageRow, Nesting, PartRow, PartState, Role, RowOp, Rows,
    SessionRow, Source, ToolCall,
};

/// Writes what an entry does to the rows of its agent.
pub(super) fn project(
    connection: &Connection,
    tree: &mut TreeCounters,
    entry: &Entry,
) -> Result<(), Failure> {
    let mut log = Log {
        connection,
        id: &entry.tree,
        tree,
        nesting: Nesting::ROW,
    };
    let ops = chat::derive(entry, &mut log)?;
    for op in ops {
        if touches(&op) {
            let Some(agent) = tree.agent(connection, &entry.agent)? else {
                return Ok(());
            };
            if agent.touched == Some(entry.at) && matches!(op, RowOp::Touch { .. }) {
                // It says so already: many entries of one session come in one millisecond.
                continue;
            }
            agent.touched = Some(entry.at);
        }
        execute(connection, &mut tree.open_parts, op)?;
    }
    Ok(())
}

/// Calls that have no outcome yet, so that who brings it need not look for their rows.
type OpenParts = HashMap<(AgentId, CallId), OpenPart>;

/// Tells whether an operation leaves the time of its entry in the row of the session.
fn touches(op: &RowOp) -> bool {
    matches!(
        op,
        RowOp::Session(_) | RowOp::Spend { .. } | RowOp::Count { .. } | RowOp::Touch { .. }
    )
}

/// The log of a tree, as far as the transaction has it.
struct Log<'a> {
    connection: &'a Connection,
    id: &'a TreeId,
    tree: &'a mut TreeCounters,
    nesting: Nesting,
}

impl Log<'_> {
    /// Returns the key of an agent of this tree that has no rows.
    fn opaque(&mut self, agent: &AgentId) -> Result<Option<i64>, Failure> {
        let found = self.tree.agent(self.connection, agent)?;
        Ok(found.filter(|found| !found.has_rows).map(|found| found.key))
    }
}

impl Source for Log<'_> {
    type Error = Failure;

    fn workspace(&mut self) -> Result<Option<String>, Failure> {
        self.tree.workspace(self.connection)
    }

    fn opaque_birth(&mut self, agent: &AgentId) -> Result<Option<Spawned>, Failure> {
        match self.opaque(agent)? {
            Some(key) => read::birth(self.connection, key),
            None => Ok(None),
        }
    }

    fn opaque_log(
        &mut self,
        agent: &AgentId,
        after: Seq,
    ) -> Result<Option<Vec<Arc<Entry>>>, Failure> {
        let Some(key) = self.opaque(agent)? else {
            return Ok(None);
        };
        if after == Seq::ZERO
            && let Some(log) = self.tree.young.take(agent)
        {
            return Ok(Some(log));
        }
        let page = read::page(self.connection, self.id, agent, key, after)?;
        Ok(Some(page.into_iter().map(Arc::new).collect()))
    }

    fn log_bytes(&mut self, agent: &AgentId) -> Result<u64, Failure> {
        match self.opaque(agent)? {
            Some(key) => read::log_bytes(self.connection, key),
            None => Ok(0),
        }
    }

    fn below(&mut self, agent: &AgentId) -> Result<Vec<AgentId>, Failure> {
        read::below(self.connection, agent)
    }

    fn nesting(&mut self) -> &mut Nesting {
        &mut self.nesting
    }
}

/// The logs of all trees, for an export: a copy may tell of children of another session.
struct AllLogs<'a> {
    connection: &'a Connection,
    workspace: Option<String>,
    nesting: Nesting,
}

impl AllLogs<'_> {
    /// Returns the tree and the key of an agent that has no rows.
    fn opaque(&self, agent: &AgentId) -> Result<Option<(TreeId, i64)>, Failure> {
        let sql = "SELECT trees.id, agents.key FROM agents JOIN trees ON trees.key = agents.tree
            WHERE agents.id = ?1 AND NOT inspectable AND agents.id <> trees.id";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([agent.as_str()])?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let tree = TreeId::of(AgentId::new(row.get::<_, String>(0)?));
        Ok(Some((tree, row.get(1)?)))
    }
}

impl Source for AllLogs<'_> {
    type Error = Failure;

    fn workspace(&mut self) -> Result<Option<String>, Failure> {
        Ok(self.workspace.clone())
    }

    fn opaque_birth(&mut self, agent: &AgentId) -> Result<Option<Spawned>, Failure> {
        match self.opaque(agent)? {
            Some((_, key)) => read::birth(self.connection, key),
            None => Ok(None),
        }
    }

    fn opaque_log(
        &mut self,
        agent: &AgentId,
        after: Seq,
    ) -> Result<Option<Vec<Arc<Entry>>>, Failure> {
        let Some((tree, key)) = self.opaque(agent)? else {
            return Ok(None);
        };
        let page = read::page(self.connection, &tree, agent, key, after)?;
        Ok(Some(page.into_iter().map(Arc::new).collect()))
    }

    fn log_bytes(&mut self, agent: &AgentId) -> Result<u64, Failure> {
        match self.opaque(agent)? {
            Some((_, key)) => read::log_bytes(self.connection, key),
            None => Ok(0),
        }
    }

    fn below(&mut self, agent: &AgentId) -> Result<Vec<AgentId>, Failure> {
        read::below(self.connection, agent)
    }

    fn nesting(&mut self) -> &mut Nesting {
        &mut self.nesting
    }
}

fn execute(connection: &Connection, open: &mut OpenParts, op: RowOp) -> Result<(), Failure> {
    match op {
        RowOp::Session(row) => insert_session(connection, &row),
        RowOp::Message(row) => insert_message(connection, &row),
        RowOp::Part(row) => insert_part(connection, open, row),
        RowOp::Title { session, title } => {
            let sql = "UPDATE chat_sessions SET title = ?2 WHERE id = ?1 AND title IS NULL";
            let mut statement = connection.prepare_cached(sql)?;
            statement.execute([session.as_str(), title.as_str()])?;
            Ok(())
        }
        RowOp::Rename { session, title } => {
            let sql = "UPDATE chat_sessions SET title = ?2 WHERE id = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            statement.execute([session.as_str(), title.as_str()])?;
            Ok(())
        }
        RowOp::Hide {
            session,
            message,
            at,
        } => hide(connection, (&session, &message), at),
        RowOp::Count { session, usage, at } => count(connection, &session, usage, at),
        RowOp::Finish {
            session,
            call,
            finish,
            at,
        } => finish_part(connection, open, (session, call), &finish, at),
        RowOp::Fire {
            session,
            message,
            at,
        } => fire(connection, (&session, &message), at),
        RowOp::Spend {
            session,
            usage,
            cost,
            model_json,
            at,
        } => spend(connection, &session, (&usage, cost), model_json, at),
        RowOp::Permit { session, rules, at } => permit(connection, &session, &rules, at),
        RowOp::Archive { session, at } => {
            let sql =
                "UPDATE chat_sessions SET archived_at = ?2 WHERE id = ?1 AND archived_at IS NULL";
            let mut statement = connection.prepare_cached(sql)?;
            statement.execute(params![session.as_str(), signed(at.get())])?;
            Ok(())
        }
        RowOp::Touch { session, at } => {
            let sql = "UPDATE chat_sessions SET updated_at = ?2 WHERE id = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            statement.execute(params![session.as_str(), signed(at.get())])?;
            Ok(())
        }
    }
}

fn insert_session(connection: &Connection, row: &SessionRow) -> Result<(), Failure> {
    let sql = "INSERT INTO chat_sessions (id, agent, kind, workspace_root, model_json, parent_id,
            parent_message_id, metadata_json, created_at, updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    connection.prepare_cached(sql)?.execute(params![
        row.id.as_str(),
        row.agent,
        row.kind.word(),
        row.workspace_root,
        row.model_json,
        row.parent_id.as_ref().map(AgentId::as_str),
        row.parent_message_id.as_ref().map(MessageId::as_str),
        row.metadata_json,
        signed(row.created_at.get()),
        signed(row.updated_at.get()),
    ])?;
    Ok(())
}

fn insert_message(connection: &Connection, row: &MessageRow) -> Result<(), Failure> {
    let sql = "INSERT INTO chat_messages
            (id, session_id, role, metadata_json, created_at, updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT DO NOTHING";
    connection.prepare_cached(sql)?.execute(params![
        row.id.as_str(),
        row.session_id.as_str(),
        row.role.word(),
        row.metadata_json,
        signed(row.created_at.get()),
        signed(row.updated_at.get()),
    ])?;
    Ok(())
}

fn insert_part(connection: &Connection, open: &mut OpenParts, row: PartRow) -> Result<(), Failure> {
    let sql = "INSERT INTO chat_parts (id, message_id, session_id, \"index\", type, data_json,
            tool_call_id, tool_state, created_at, updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
        ON CONFLICT DO NOTHING";
    let inserted = connection.prepare_cached(sql)?.execute(params![
        row.id(),
        row.message_id.as_str(),
        row.session_id.as_str(),
        row.index,
        row.kind,
        row.data_json,
        row.tool.as_ref().map(|tool| tool.call.as_str()),
        row.tool.as_ref().map(|tool| tool.state.word()),
        signed(row.created_at.get()),
        signed(row.updated_at.get()),
    ])?;
    if let Some(ToolCall { call, state }) = row.tool
        && state == PartState::InputAvailable
        && inserted == 1
    {
        let part = OpenPart {
            row: connection.last_insert_rowid(),
            data_json: row.data_json,
        };
        open.insert((row.session_id, call), part);
    }
    Ok(())
}

const OPEN_PART: &str = "SELECT rowid, data_json FROM chat_parts
    WHERE tool_call_id = ?2 AND session_id = ?1 AND tool_state = 'input-available'";

const FINISH_PART: &str = "UPDATE chat_parts SET data_json = ?2, tool_state = ?3, updated_at = ?4
    WHERE rowid = ?1";

// A sum beyond the largest INTEGER would be a REAL, which the table refuses, and the session with
// it. So it stops there.
const SPEND: &str = "UPDATE chat_sessions SET
        prompt_tokens = prompt_tokens + min(?2, ?9 - prompt_tokens),
        completion_tokens = completion_tokens + min(?3, ?9 - completion_tokens),
        reasoning_tokens = reasoning_tokens + min(?4, ?9 - reasoning_tokens),
        cache_read = cache_read + min(?5, ?9 - cache_read),
        cache_write = cache_write + min(?6, ?9 - cache_write),
        total_tokens = total_tokens + min(?7, ?9 - total_tokens),
        cost_usd = min(round(cost_usd * 1e6) + ?10, ?11) / 1e6,
        model_json = coalesce(?12, model_json),
        updated_at = ?8
    WHERE id = ?1";

/// What every session needs after its birth.
pub(super) const SOON: [&str; 2] = [FINISH_PART, SPEND];

fn finish_part(
    connection: &Connection,
    open: &mut OpenParts,
    place: (AgentId, CallId),
    finish: &Finish,
    at: Timestamp,
) -> Result<(), Failure> {
    let part = match open.remove(&place) {
        Some(part) => Some(part),
        None => open_part(connection, &place)?,
    };
    let Some(OpenPart { row, data_json }) = part else {
        return Ok(());
    };
    let data_json = chat::finished(&data_json, finish)?;
    let state = finish.state.word();
    connection.prepare_cached(FINISH_PART)?.execute(params![
        row,
        data_json,
        state,
        signed(at.get())
    ])?;
    Ok(())
}

/// Looks up the row of a call that was opened before this process had the tree.
fn open_part(
    connection: &Connection,
    (session, call): &(AgentId, CallId),
) -> Result<Option<OpenPart>, Failure> {
    let mut statement = connection.prepare_cached(OPEN_PART)?;
    let mut rows = statement.query([session.as_str(), call.as_str()])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    Ok(Some(OpenPart {
        row: row.get(0)?,
        data_json: text(row, 1)?.to_owned(),
    }))
}

fn fire(
    connection: &Connection,
    place: (&AgentId, &MessageId),
    at: Timestamp,
) -> Result<(), Failure> {
    let sql = "UPDATE chat_messages SET metadata_json = ?2, created_at = ?3, updated_at = ?3
        WHERE rowid = ?1";
    change_metadata(connection, place, at, sql, chat::fired)
}

fn hide(
    connection: &Connection,
    place: (&AgentId, &MessageId),
    at: Timestamp,
) -> Result<(), Failure> {
    let sql = "UPDATE chat_messages SET metadata_json = ?2, updated_at = ?3 WHERE rowid = ?1";
    change_metadata(connection, place, at, sql, |metadata| {
        chat::hidden(metadata, at)
    })
}

/// Changes the metadata of a message, and when it changed, by a statement of row, metadata and time.
fn change_metadata(
    connection: &Connection,
    (session, message): (&AgentId, &MessageId),
    at: Timestamp,
    update: &str,
    change: impl FnOnce(&str) -> String,
) -> Result<(), Failure> {
    let sql = "SELECT rowid, metadata_json FROM chat_messages WHERE session_id = ?1 AND id = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([session.as_str(), message.as_str()])?;
    let Some(row) = rows.next()? else {
        return Ok(());
    };
    let key: i64 = row.get(0)?;
    let metadata_json = change(text(row, 1)?);
    let mut statement = connection.prepare_cached(update)?;
    statement.execute(params![key, metadata_json, signed(at.get())])?;
    Ok(())
}

fn count(
    connection: &Connection,
    session: &AgentId,
    usage: Usage,
    at: Timestamp,
) -> Result<(), Failure> {
    let sql = "UPDATE chat_sessions SET prompt_tokens = ?2, completion_tokens = ?3,
            reasoning_tokens = ?4, cache_read = ?5, cache_write = ?6, total_tokens = ?7,
            updated_at = ?8
        WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![
        session.as_str(),
        signed(usage.input),
        signed(usage.output),
        signed(usage.reasoning),
        signed(usage.cache_read),
        signed(usage.cache_write),
        signed(usage.total()),
        signed(at.get()),
    ])?;
    Ok(())
}

fn spend(
    connection: &Connection,
    session: &AgentId,
    (usage, cost): (&Usage, Money),
    model_json: Option<String>,
    at: Timestamp,
) -> Result<(), Failure> {
    connection.prepare_cached(SPEND)?.execute(params![
        session.as_str(),
        signed(usage.input),
        signed(usage.output),
        signed(usage.reasoning),
        signed(usage.cache_read),
        signed(usage.cache_write),
        signed(usage.total()),
        signed(at.get()),
        i64::MAX,
        cost.as_micros() as f64,
        MOST_MICROS as f64,
        model_json,
    ])?;
    Ok(())
}

fn permit(
    connection: &Connection,
    session: &AgentId,
    rules: &[Rule],
    at: Timestamp,
) -> Result<(), Failure> {
    let sql = "SELECT permissions_json FROM chat_sessions WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([session.as_str()])?;
    let Some(row) = rows.next()? else {
        return Ok(());
    };
    let permissions_json = chat::permitted(text(row, 0)?, rules, at);
    let sql = "UPDATE chat_sessions SET permissions_json = ?2, updated_at = ?3 WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    statement.execute(params![
        session.as_str(),
        permissions_json,
        signed(at.get())
    ])?;
    Ok(())
}

/// Reads the rows of a tree.
pub(super) fn rows(connection: &Connection, tree: &TreeId) -> Result<Rows, Failure> {
    of(connection, OF_TREE, tree.as_str())
}

/// Reads the rows of one session for whoever reads them elsewhere.
pub(super) fn export(
    connection: &Connection,
    session: &AgentId,
) -> Result<Option<ChatExport>, Failure> {
    let rows = of(connection, OF_SESSION, session.as_str())?;
    let is_kept = |original: &AgentId| {
        let sql = "SELECT 1 FROM chat_sessions WHERE id = ?1";
        Ok(connection
            .prepare_cached(sql)?
            .exists([original.as_str()])?)
    };
    chat::export(rows, session, is_kept, || {
        let log = read::agent_log(connection, session)?;
        let root = log.first().map(|entry| entry.tree.root().clone());
        let root = root.map(|root| of(connection, OF_SESSION, root.as_str()));
        let root = root
            .transpose()?
            .and_then(|rows| rows.sessions.into_values().next());
        let mut logs = AllLogs {
            connection,
            workspace: root.and_then(|root| root.workspace_root),
            nesting: Nesting::Whole,
        };
        chat::fold_agent(&log, &mut logs)
    })
}

/// Reads the rows of the sessions that a set in SQL names.
fn of(connection: &Connection, sessions: &str, id: &str) -> Result<Rows, Failure> {
    let mut rows = Rows::default();
    let sql = format!("SELECT * FROM chat_sessions WHERE id IN {sessions}");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query([id])?;
    while let Some(row) = found.next()? {
        let row = session(row)?;
        rows.sessions.insert(row.id.clone(), row);
    }
    let sql = format!("SELECT * FROM chat_messages WHERE session_id IN {sessions}");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query([id])?;
    while let Some(row) = found.next()? {
        let row = message(row)?;
        let key = (row.session_id.clone(), row.id.clone());
        rows.messages.insert(key, row);
    }
    let sql = format!("SELECT * FROM chat_parts WHERE session_id IN {sessions}");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query([id])?;
    while let Some(row) = found.next()? {
        let row = part(row)?;
        let key = (row.session_id.clone(), row.message_id.clone(), row.index);
        rows.parts.insert(key, row);
    }
    Ok(rows)
}

const OF_SESSION: &str = "(?1)";

const OF_TREE: &str = "(SELECT agents.id FROM agents JOIN trees ON trees.key = agents.tree
    WHERE trees.id = ?1)";

fn session(row: &Row<'_>) -> Result<SessionRow, Failure> {
    let count = |name: &str| number(row, row.as_ref().column_index(name)?);
    Ok(SessionRow {
        id: AgentId::new(row.get::<_, String>("id")?),
        agent: row.get("agent")?,
        kind: word(row, "kind", Kind::from_word)?,
        title: row.get("title")?,
        workspace_root: row.get("workspace_root")?,
        model_json: row.get("model_json")?,
        parent_id: row.get::<_, Option<String>>("parent_id")?.map(AgentId::new),
        parent_message_id: row
            .get::<_, Option<String>>("parent_message_id")?
            .map(MessageId::new),
        permissions_json: row.get("permissions_json")?,
        metadata_json: row.get("metadata_json")?,
        usage: Usage {
            input: count("prompt_tokens")?,
            output: count("completion_tokens")?,
            reasoning: count("reasoning_tokens")?,
            cache_read: count("cache_read")?,
            cache_write: count("cache_write")?,
        },
        cost: Money::dollars(row.get("cost_usd")?).unwrap_or(Money::micros(MOST_MICROS)),
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
        archived_at: match row.get_ref("archived_at")? {
            ValueRef::Null => None,
            _ => Some(time(row, "archived_at")?),
        },
    })
}

fn message(row: &Row<'_>) -> Result<MessageRow, Failure> {
    Ok(MessageRow {
        id: MessageId::new(row.get::<_, String>("id")?),
        session_id: AgentId::new(row.get::<_, String>("session_id")?),
        role: word(row, "role", Role::from_word)?,
        metadata_json: row.get("metadata_json")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

fn part(row: &Row<'_>) -> Result<PartRow, Failure> {
    let tool = match row.get::<_, Option<String>>("tool_call_id")? {
        Some(call) => Some(ToolCall {
            call: CallId::new(call),
            state: word(row, "tool_state", PartState::from_word)?,
        }),
        None => None,
    };
    Ok(PartRow {
        session_id: AgentId::new(row.get::<_, String>("session_id")?),
        message_id: MessageId::new(row.get::<_, String>("message_id")?),
        index: row.get("index")?,
        kind: row.get("type")?,
        data_json: row.get("data_json")?,
        tool,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

fn time(row: &Row<'_>, name: &str) -> Result<Timestamp, Failure> {
    let column = row.as_ref().column_index(name)?;
    Ok(Timestamp::new(number(row, column)?))
}

fn word<T>(row: &Row<'_>, name: &str, read: fn(&str) -> Option<T>) -> Result<T, Failure> {
    let word: String = row.get(name)?;
    read(&word).ok_or_else(|| Failure::Unreadable(format!("{name} is {word}")))
}

//! Reading the log.

use std::collections::HashMap;

use offshoot_types::event::{Entry, Event, Spawned};
use offshoot_types::id::{AgentId, Pos, Seq, Timestamp, TreeId};
use offshoot_types::stored;
use offshoot_types::tree::Tree;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::failure::Failure;

/// Entries of an agent are read until there are as many bytes, where reading may stop half way. In
/// unit tests an entry or two, so that every log has more than one page.
const PAGE_BYTES: usize = if cfg!(test) { 256 } else { 64 * 1024 };

/// Returns up to `limit` entries of a tree after a position, in order.
pub(super) fn entries(
    connection: &Connection,
    tree: &TreeId,
    after: Pos,
    limit: usize,
) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    each_entry(connection, tree, after, limit, |entry| {
        entries.push(entry);
        Ok(())
    })?;
    Ok(entries)
}

/// Folds the log of a tree; fails if an entry cannot follow those before it.
pub(super) fn fold(connection: &Connection, id: &TreeId) -> Result<Tree, Failure> {
    let mut tree = Tree::default();
    each_entry(connection, id, Pos::ZERO, usize::MAX, |entry| {
        let applied = tree.apply(&entry);
        // Written by an earlier version: what is in the log is not refused, it is unreadable.
        applied.map_err(|violation| Failure::Unreadable(violation.to_string()))
    })?;
    Ok(tree)
}

/// Hands on up to `limit` entries of a tree after a position, in order.
fn each_entry(
    connection: &Connection,
    tree: &TreeId,
    after: Pos,
    limit: usize,
    mut take: impl FnMut(Entry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let sql = "SELECT pos, agent, seq, at, event, form FROM entries
        WHERE tree = (SELECT key FROM trees WHERE id = ?1) AND pos > ?2
        ORDER BY pos LIMIT ?3";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![tree.as_str(), signed(after.get()), limit])?;
    let mut names = HashMap::new();
    while let Some(row) = rows.next()? {
        let key: i64 = row.get(1)?;
        let agent = match names.get(&key) {
            Some(agent) => AgentId::clone(agent),
            None => {
                let agent = name(connection, key)?;
                names.insert(key, agent.clone());
                agent
            }
        };
        take(entry(row, tree, agent)?)?;
    }
    Ok(())
}

/// Returns an agent's whole log, in order.
pub(super) fn agent_log(connection: &Connection, agent: &AgentId) -> Result<Vec<Entry>, Failure> {
    let sql = "SELECT agents.key, trees.id FROM agents JOIN trees ON trees.key = agents.tree
        WHERE agents.id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row([agent.as_str()], |row| {
        Ok((row.get(0)?, row.get::<_, String>(1)?))
    });
    match found.optional()? {
        Some((key, tree)) => log(connection, &TreeId::of(AgentId::new(tree)), agent, key),
        None => Ok(Vec::new()),
    }
}

/// Returns the log of an agent whose key is known.
pub(super) fn log(
    connection: &Connection,
    tree: &TreeId,
    agent: &AgentId,
    key: i64,
) -> Result<Vec<Entry>, Failure> {
    let sql = "SELECT pos, agent, seq, at, event, form FROM entries WHERE agent = ?1 ORDER BY seq";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([key])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(entry(row, tree, agent.clone())?);
    }
    Ok(entries)
}

/// Returns the next entries of an agent whose key is known, in order: at least one if there is one, and
/// no more than a page.
pub(super) fn page(
    connection: &Connection,
    tree: &TreeId,
    agent: &AgentId,
    key: i64,
    after: Seq,
) -> Result<Vec<Entry>, Failure> {
    let sql = "SELECT pos, agent, seq, at, event, form FROM entries
        WHERE agent = ?1 AND seq > ?2 ORDER BY seq";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![key, signed(after.get())])?;
    let mut entries = Vec::new();
    let mut bytes = 0;
    while bytes < PAGE_BYTES
        && let Some(row) = rows.next()?
    {
        bytes += text(row, 4)?.len();
        entries.push(entry(row, tree, agent.clone())?);
    }
    Ok(entries)
}

/// Returns the birth of an agent whose key is known.
pub(super) fn birth(connection: &Connection, key: i64) -> Result<Option<Spawned>, Failure> {
    let sql = "SELECT event, form FROM entries WHERE agent = ?1 AND seq = 1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([key])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    Ok(match stored::read(row.get(1)?, text(row, 0)?)? {
        Event::Spawned(spawned) => Some(*spawned),
        _ => None,
    })
}

/// Returns how many bytes the log of an agent has whose key is known.
pub(super) fn log_bytes(connection: &Connection, key: i64) -> Result<u64, Failure> {
    let sql = "SELECT coalesce(sum(octet_length(event)), 0) FROM entries WHERE agent = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([key], |row| number(row, 0))?)
}

/// Returns an agent and all below it.
pub(super) fn below(connection: &Connection, agent: &AgentId) -> Result<Vec<AgentId>, Failure> {
    let sql = "WITH RECURSIVE below (key, tree) AS (
            SELECT key, tree FROM agents WHERE id = ?1
            UNION ALL
            SELECT agents.key, agents.tree FROM agents
                JOIN below ON agents.tree = below.tree AND agents.parent = below.key)
        SELECT id FROM agents WHERE key IN (SELECT key FROM below) ORDER BY key";
    // Prepared for this once: a rewind is rare.
    let mut statement = connection.prepare(sql)?;
    let ids = statement.query_map([agent.as_str()], |row| row.get::<_, String>(0))?;
    Ok(ids
        .map(|id| id.map(AgentId::new))
        .collect::<Result<_, _>>()?)
}

/// Returns the entry of an agent at a position of its tree.
pub(super) fn at(
    connection: &Connection,
    tree: &TreeId,
    agent: &AgentId,
    pos: i64,
) -> Result<Option<Entry>, Failure> {
    let sql = "SELECT pos, agent, seq, at, event, form FROM entries
        WHERE tree = (SELECT key FROM trees WHERE id = ?1) AND pos = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![tree.as_str(), pos])?;
    let row = rows.next()?;
    row.map(|row| entry(row, tree, agent.clone())).transpose()
}

/// Returns the tree of an agent.
pub(super) fn tree_of(connection: &Connection, agent: &AgentId) -> Result<Option<TreeId>, Failure> {
    let sql = "SELECT trees.id FROM agents JOIN trees ON trees.key = agents.tree
        WHERE agents.id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let id: Option<String> = statement
        .query_row([agent.as_str()], |row| row.get(0))
        .optional()?;
    Ok(id.map(|id| TreeId::of(AgentId::new(id))))
}

/// SQLite's integers are signed; ours never reach the half that is lost.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Reads a number that is never negative.
pub(super) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

/// Reads text where it lies.
pub(super) fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, Failure> {
    let text = row.get_ref(column)?.as_str();
    text.map_err(|error| Failure::Sql(error.into()))
}

fn name(connection: &Connection, key: i64) -> Result<AgentId, Failure> {
    let sql = "SELECT id FROM agents WHERE key = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let id: String = statement.query_row([key], |row| row.get(0))?;
    Ok(AgentId::new(id))
}

fn entry(row: &Row<'_>, tree: &TreeId, agent: AgentId) -> Result<Entry, Failure> {
    let event = stored::read(row.get(5)?, text(row, 4)?)?;
    Ok(Entry {
        tree: tree.clone(),
        pos: Pos::new(number(row, 0)?),
        agent,
        seq: Seq::new(number(row, 2)?),
        at: Timestamp::new(number(row, 3)?),
        event,
    })
}

//! The journal of files.
//!
//! A change names what stood there and what comes as blobs. Contents are stored
//! once, however many changes name them: found by a hash, and compared, so that
//! two contents with one hash stay two. Blobs go when their last change does.

use offshoot_types::id::{AgentId, CallId, Epoch, Timestamp, TreeId};
use offshoot_types::journal::{Change, ContentId, Recorded, Traced, Writer};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::append;
use super::counters::Counters;
use super::failure::Failure;
use super::read::{number, signed};
use crate::backend::Written;

/// Records a change of a file by an agent of a tree.
pub(super) fn record(
    connection: &Connection,
    counters: &mut Counters,
    id: &TreeId,
    epoch: Epoch,
    recorded: &Recorded,
) -> Result<Written, Failure> {
    let Recorded {
        writer,
        call,
        change,
    } = recorded;
    let tree = append::owned(connection, counters, id, epoch)?;
    let Some(agent) = tree
        .agent(connection, &writer.agent)?
        .map(|agent| agent.key)
    else {
        let message = format!("there is no agent {} in it", writer.agent);
        return Err(Failure::conflict(message));
    };
    let before = blob(connection, change.before.as_deref())?;
    let after = blob(connection, change.after.as_deref())?;
    let sql = "INSERT INTO file_changes
            (tree, agent, definition, call, path, before, after, at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    connection.prepare_cached(sql)?.execute(params![
        tree.key,
        agent,
        writer.definition,
        call.as_str(),
        change.path,
        before,
        after,
        signed(writer.at.get()),
    ])?;
    Ok(Written::Journaled)
}

/// Returns the key of a content, which is stored if it is new.
fn blob(connection: &Connection, bytes: Option<&[u8]>) -> Result<Option<i64>, Failure> {
    let Some(bytes) = bytes else {
        return Ok(None);
    };
    let hash = fnv1a(bytes);
    if let Some(key) = find_blob(connection, hash, bytes)? {
        return Ok(Some(key));
    }
    let sql = "INSERT INTO blobs (hash, bytes) VALUES (?1, ?2)";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(Some(statement.insert(params![hash, bytes])?))
}

/// Returns the key of a content that is stored.
fn find_blob(connection: &Connection, hash: i64, bytes: &[u8]) -> Result<Option<i64>, Failure> {
    let sql = "SELECT key FROM blobs WHERE hash = ?1 AND bytes = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row(params![hash, bytes], |row| row.get(0));
    Ok(found.optional()?)
}

/// FNV-1a of 64 bits, as SQLite's integers hold it; it is in files, so it never changes.
fn fnv1a(bytes: &[u8]) -> i64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let hash = bytes.iter().fold(BASIS, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(PRIME)
    });
    hash.cast_signed()
}

/// Removes the journal of a tree, and the contents that nobody else names.
pub(super) fn delete(connection: &Connection, tree: i64) -> Result<(), Failure> {
    let sql = "SELECT before FROM file_changes WHERE tree = ?1 AND before IS NOT NULL
        UNION SELECT after FROM file_changes WHERE tree = ?1 AND after IS NOT NULL";
    let mut statement = connection.prepare_cached(sql)?;
    let named: Vec<i64> = statement
        .query_map([tree], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let sql = "DELETE FROM file_changes WHERE tree = ?1";
    connection.prepare_cached(sql)?.execute([tree])?;
    let sql = "DELETE FROM blobs WHERE key = ?1
        AND NOT EXISTS (SELECT 1 FROM file_changes WHERE before = ?1)
        AND NOT EXISTS (SELECT 1 FROM file_changes WHERE after = ?1)";
    let mut statement = connection.prepare_cached(sql)?;
    for key in named {
        statement.execute([key])?;
    }
    Ok(())
}

/// Returns the changes of a tree, in the order they were recorded.
pub(super) fn changes(connection: &Connection, tree: &TreeId) -> Result<Vec<Recorded>, Failure> {
    let sql = "SELECT agents.id, file_changes.definition, file_changes.at, call, path,
            (SELECT bytes FROM blobs WHERE key = before),
            (SELECT bytes FROM blobs WHERE key = after)
        FROM file_changes JOIN agents ON agents.key = file_changes.agent
        WHERE file_changes.tree = (SELECT key FROM trees WHERE id = ?1)
        ORDER BY n";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([tree.as_str()], |row| {
        Ok(Recorded {
            writer: writer(row)?,
            call: CallId::new(row.get::<_, String>(3)?),
            change: Change {
                path: row.get(4)?,
                before: row.get(5)?,
                after: row.get(6)?,
            },
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the changes of a tree without what files contained: a content is its blob.
pub(super) fn trace(connection: &Connection, tree: &TreeId) -> Result<Vec<Traced>, Failure> {
    let sql =
        "SELECT agents.id, file_changes.definition, file_changes.at, call, path, before, after
        FROM file_changes JOIN agents ON agents.key = file_changes.agent
        WHERE file_changes.tree = (SELECT key FROM trees WHERE id = ?1)
        ORDER BY n";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([tree.as_str()], |row| {
        let content = |column: usize| {
            row.get::<_, Option<i64>>(column)
                .map(|id| id.map(ContentId::new))
        };
        Ok(Traced {
            writer: writer(row)?,
            call: CallId::new(row.get::<_, String>(3)?),
            path: row.get(4)?,
            before: content(5)?,
            after: content(6)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns what a blob holds that a change of a tree names; `None` if none does.
pub(super) fn content(
    connection: &Connection,
    tree: &TreeId,
    id: ContentId,
) -> Result<Option<Vec<u8>>, Failure> {
    if !names(connection, tree, id.get())? {
        return Ok(None);
    }
    let sql = "SELECT bytes FROM blobs WHERE key = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row([id.get()], |row| row.get(0));
    Ok(found.optional()?)
}

/// Finds the blob that holds a content, if a change of a tree names it.
pub(super) fn find(
    connection: &Connection,
    tree: &TreeId,
    bytes: &[u8],
) -> Result<Option<ContentId>, Failure> {
    Ok(match find_blob(connection, fnv1a(bytes), bytes)? {
        Some(key) if names(connection, tree, key)? => Some(ContentId::new(key)),
        Some(_) | None => None,
    })
}

/// Tells whether a change of a tree names a blob: others have theirs in the same table.
fn names(connection: &Connection, tree: &TreeId, blob: i64) -> Result<bool, Failure> {
    let sql = "SELECT EXISTS (SELECT 1 FROM file_changes WHERE before = ?2
                AND tree = (SELECT key FROM trees WHERE id = ?1))
        OR EXISTS (SELECT 1 FROM file_changes WHERE after = ?2
                AND tree = (SELECT key FROM trees WHERE id = ?1))";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row(params![tree.as_str(), blob], |row| row.get(0))?)
}

/// Returns who recorded a change of a file last.
pub(super) fn last_writer(connection: &Connection, path: &str) -> Result<Option<Writer>, Failure> {
    let sql = "SELECT agents.id, file_changes.definition, file_changes.at
        FROM file_changes JOIN agents ON agents.key = file_changes.agent
        WHERE path = ?1
        ORDER BY n DESC LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([path], writer).optional()?)
}

fn writer(row: &Row<'_>) -> rusqlite::Result<Writer> {
    Ok(Writer {
        agent: AgentId::new(row.get::<_, String>(0)?),
        definition: row.get(1)?,
        at: Timestamp::new(number(row, 2)?),
    })
}

//! Ownership and commands.
//!
//! Both are rows: who owns a tree is an epoch, what it has been asked is a list.
//! A release looks at the list in the statement that gives the tree up, so no
//! command falls between. Of a command that is done only the receipt is kept, and
//! that for a week: what it brought about is in the log.

use offshoot_types::command::{Command, Receipt};
use offshoot_types::id::{CommandId, Epoch, Timestamp, TreeId};
use offshoot_types::store::StoreErrorKind;
use rusqlite::{Connection, OptionalExtension, params};

use super::failure::Failure;
use super::read::{number, signed, text};
use crate::backend::Written;

/// Most receipts that one append removes.
const PRUNED_AT_ONCE: i64 = 1024;

/// Raises the epoch of a tree, which may be new.
pub(super) fn claim(connection: &Connection, tree: &TreeId) -> Result<Epoch, Failure> {
    let sql = "INSERT INTO trees (id, epoch, owned) VALUES (?1, 1, 1)
        ON CONFLICT (id) DO UPDATE SET epoch = epoch + 1, owned = 1
        RETURNING epoch";
    let mut statement = connection.prepare_cached(sql)?;
    let epoch = statement.query_row([tree.as_str()], |row| number(row, 0))?;
    Ok(Epoch::new(epoch))
}

/// Gives a tree up, unless a command is pending.
pub(super) fn release(
    connection: &Connection,
    tree: &TreeId,
    epoch: Epoch,
) -> Result<Written, Failure> {
    let sql = "UPDATE trees SET owned = EXISTS
            (SELECT 1 FROM commands WHERE commands.tree = trees.key AND receipt IS NULL)
        WHERE id = ?1 AND epoch = ?2 AND owned
        RETURNING owned";
    let mut statement = connection.prepare_cached(sql)?;
    let kept = statement
        .query_row(params![tree.as_str(), signed(epoch.get())], |row| {
            row.get::<_, bool>(0)
        })
        .optional()?;
    match kept {
        Some(kept) => Ok(Written::Released(!kept)),
        None => Err(Failure::Rule(
            StoreErrorKind::Fenced,
            "another process has taken it over".to_owned(),
        )),
    }
}

/// Stores a command for the owner of its tree.
pub(super) fn submit(
    connection: &Connection,
    command: &Command,
    at: Timestamp,
) -> Result<Written, Failure> {
    let sql = "SELECT key FROM trees WHERE id = ?1 AND pos > 0";
    let mut statement = connection.prepare_cached(sql)?;
    let key: Option<i64> = statement
        .query_row([command.tree.as_str()], |row| row.get(0))
        .optional()?;
    let Some(key) = key else {
        return Err(Failure::Rule(
            StoreErrorKind::Unknown,
            "there is no such session".to_owned(),
        ));
    };
    let sql = "INSERT INTO commands (id, tree, agent, body, at) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (id) DO NOTHING";
    connection.prepare_cached(sql)?.execute(params![
        command.id.as_str(),
        key,
        command.agent.as_str(),
        serde_json::to_string(command)?,
        signed(at.get()),
    ])?;
    Ok(Written::Submitted)
}

/// Stores a command as done, whether or not it was there.
pub(super) fn done(
    connection: &Connection,
    tree: i64,
    command: &Command,
    receipt: &Receipt,
    at: Timestamp,
) -> Result<(), Failure> {
    let sql = "INSERT INTO commands (id, tree, agent, body, at, receipt)
        VALUES (?1, ?2, ?3, '', ?4, ?5)
        ON CONFLICT (id) DO UPDATE SET receipt = excluded.receipt, body = '', at = excluded.at
        WHERE receipt IS NULL";
    let stored = connection.prepare_cached(sql)?.execute(params![
        command.id.as_str(),
        tree,
        command.agent.as_str(),
        signed(at.get()),
        serde_json::to_string(receipt)?,
    ])?;
    if stored == 0 {
        let message = format!("command {} was done before", command.id);
        return Err(Failure::conflict(message));
    }
    Ok(())
}

/// Removes receipts that are too old to be asked for, the oldest first and not many at once.
///
/// Commands arrive in the order of time, so the walk ends at the first that is young enough.
pub(super) fn prune(connection: &Connection, before: Timestamp) -> Result<(), Failure> {
    let sql = "DELETE FROM commands WHERE arrival IN (
            SELECT arrival FROM commands
            WHERE receipt IS NOT NULL AND at < ?1 AND arrival < coalesce(
                (SELECT arrival FROM commands WHERE at >= ?1 ORDER BY arrival LIMIT 1),
                9223372036854775807)
            ORDER BY arrival LIMIT ?2)";
    // Prepared for this once: it runs once an hour.
    connection.execute(sql, params![signed(before.get()), PRUNED_AT_ONCE])?;
    Ok(())
}

/// Returns the commands of a tree that are not done, in the order they came.
pub(super) fn pending(connection: &Connection, tree: &TreeId) -> Result<Vec<Command>, Failure> {
    let sql = "SELECT body FROM commands
        WHERE tree = (SELECT key FROM trees WHERE id = ?1) AND receipt IS NULL
        ORDER BY arrival";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([tree.as_str()])?;
    let mut commands = Vec::new();
    while let Some(row) = rows.next()? {
        commands.push(serde_json::from_str(text(row, 0)?)?);
    }
    Ok(commands)
}

/// Returns what became of a command.
pub(super) fn receipt(
    connection: &Connection,
    command: &CommandId,
) -> Result<Option<Receipt>, Failure> {
    let sql = "SELECT receipt FROM commands WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let found: Option<Option<String>> = statement
        .query_row([command.as_str()], |row| row.get(0))
        .optional()?;
    match found.flatten() {
        Some(receipt) => Ok(Some(serde_json::from_str(&receipt)?)),
        None => Ok(None),
    }
}

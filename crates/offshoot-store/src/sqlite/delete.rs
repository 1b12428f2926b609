//! Removing a tree.
//!
//! The row of the tree is emptied first, under the condition that it is ours:
//! that statement is the fence, as it is for an append. The row itself stays for
//! its epoch. Everything else goes in the same savepoint, and what it said is
//! overwritten (`open.rs`): whoever reads the file afterwards finds it neither in
//! rows nor beside them. The room stays in the file, for what is written next.

use offshoot_types::id::{Epoch, TreeId};
use offshoot_types::store::StoreErrorKind;
use rusqlite::{Connection, OptionalExtension, params};

use super::failure::Failure;
use super::journal;
use super::read::signed;
use crate::backend::Written;

/// What a tree has, in an order in which nothing is left that points to what is gone.
const ROWS: [&str; 8] = [
    "DELETE FROM asks WHERE tree = ?1",
    "DELETE FROM chat_parts WHERE session_id IN (SELECT id FROM agents WHERE tree = ?1)",
    "DELETE FROM chat_messages WHERE session_id IN (SELECT id FROM agents WHERE tree = ?1)",
    "DELETE FROM chat_sessions WHERE id IN (SELECT id FROM agents WHERE tree = ?1)",
    "DELETE FROM runs WHERE agent IN (SELECT key FROM agents WHERE tree = ?1)",
    "DELETE FROM entries WHERE tree = ?1",
    "DELETE FROM commands WHERE tree = ?1",
    "DELETE FROM agents WHERE tree = ?1",
];

/// Removes a tree with everything that belongs to it.
pub(super) fn delete(
    connection: &Connection,
    tree: &TreeId,
    epoch: Epoch,
) -> Result<Written, Failure> {
    let sql = "UPDATE trees SET owned = 0, pos = 0, updated_at = 0
        WHERE id = ?1 AND epoch = ?2 AND owned
        RETURNING key";
    let mut statement = connection.prepare_cached(sql)?;
    let key: Option<i64> = statement
        .query_row(params![tree.as_str(), signed(epoch.get())], |row| {
            row.get(0)
        })
        .optional()?;
    let Some(key) = key else {
        return Err(Failure::Rule(
            StoreErrorKind::Fenced,
            "another process has taken it over".to_owned(),
        ));
    };
    journal::delete(connection, key)?;
    for sql in ROWS {
        // Prepared for this once: a deletion is rare and would push out what every append needs.
        connection.execute(sql, [key])?;
    }
    Ok(Written::Deleted)
}

//! What somebody has to answer: a row from the entry that asks to the one that ends it.
//!
//! A row says where the question is, not what: that is in the log. Most trees ask
//! nothing, so the writer remembers how many rows a tree has, and an outcome looks
//! for its row only where there is one.

use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, TreeId};
use offshoot_types::store::OpenAsk;
use rusqlite::{Connection, Row, params};

use super::counters::TreeCounters;
use super::failure::Failure;
use super::read::{self, signed};

/// Follows an entry: an ask makes a row, a decision or an outcome removes it.
pub(super) fn follow(
    connection: &Connection,
    tree: &mut TreeCounters,
    entry: &Entry,
    agent: i64,
) -> Result<(), Failure> {
    match &entry.event {
        Event::Asked { call, .. } => open(connection, tree, entry, agent, call),
        Event::Decided { call, .. } | Event::CallFinished { call, .. } => {
            close(connection, tree, agent, call)
        }
        Event::Spawned(_)
        | Event::Prompted(_)
        | Event::Completion { .. }
        | Event::TurnStarted { .. }
        | Event::Became(_)
        | Event::Steered { .. }
        | Event::Replied(_)
        | Event::CallStarted { .. }
        | Event::TurnEnded { .. }
        | Event::Settled { .. }
        | Event::Titled { .. }
        | Event::Summarised { .. }
        | Event::ClientTools { .. }
        | Event::RoleChosen(_)
        | Event::Compacted(_)
        | Event::Hooked(_)
        | Event::Rewound { .. } => Ok(()),
    }
}

fn open(
    connection: &Connection,
    tree: &mut TreeCounters,
    entry: &Entry,
    agent: i64,
    call: &CallId,
) -> Result<(), Failure> {
    tree.asks(connection)?;
    let sql = "INSERT INTO asks (agent, call, tree, pos, asked_at) VALUES (?1, ?2, ?3, ?4, ?5)";
    connection.prepare_cached(sql)?.execute(params![
        agent,
        call.as_str(),
        tree.key,
        signed(entry.pos.get()),
        signed(entry.at.get()),
    ])?;
    tree.asked(1);
    Ok(())
}

fn close(
    connection: &Connection,
    tree: &mut TreeCounters,
    agent: i64,
    call: &CallId,
) -> Result<(), Failure> {
    if tree.asks(connection)? == 0 {
        return Ok(());
    }
    let sql = "DELETE FROM asks WHERE agent = ?1 AND call = ?2";
    let gone = connection
        .prepare_cached(sql)?
        .execute(params![agent, call.as_str()])?;
    tree.asked(-i64::try_from(gone).unwrap_or(0));
    Ok(())
}

/// Lists what somebody has to answer, what was asked first first.
pub(super) fn list(connection: &Connection) -> Result<Vec<OpenAsk>, Failure> {
    let sql = "SELECT trees.id, agents.id, asks.pos, asks.agent, trees.owned
        FROM asks
            JOIN trees ON trees.key = asks.tree
            JOIN agents ON agents.key = asks.agent
        ORDER BY asks.asked_at, agents.id, asks.call";
    let read = |row: &Row<'_>| {
        Ok((
            TreeId::of(AgentId::new(row.get::<_, String>(0)?)),
            AgentId::new(row.get::<_, String>(1)?),
            row.get::<_, i64>(2)?,
            row.get::<_, i64>(3)?,
            row.get::<_, bool>(4)?,
        ))
    };
    let mut statement = connection.prepare_cached(sql)?;
    let rows: Vec<_> = statement.query_map([], read)?.collect::<Result<_, _>>()?;
    let mut asks = Vec::with_capacity(rows.len());
    for (tree, agent, pos, key, owned) in rows {
        let entry = read::at(connection, &tree, &agent, pos)?;
        let path = path(connection, key)?;
        asks.extend(entry.and_then(|entry| OpenAsk::of(&entry, path, owned)));
    }
    Ok(asks)
}

/// Returns the way from the root down to an agent.
fn path(connection: &Connection, agent: i64) -> Result<Vec<(AgentId, String)>, Failure> {
    let sql = "WITH RECURSIVE above (key, height) AS (
            VALUES (?1, 0)
            UNION ALL
            SELECT agents.parent, height + 1 FROM above JOIN agents USING (key)
                WHERE agents.parent IS NOT NULL
        )
        SELECT agents.id, agents.definition FROM above JOIN agents USING (key)
        ORDER BY height DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([agent], |row| {
        Ok((AgentId::new(row.get::<_, String>(0)?), row.get(1)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

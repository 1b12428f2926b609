//! The lists of sessions: roots, and the children that have rows of their own.

use std::collections::HashMap;

use offshoot_types::id::{AgentId, Timestamp, TreeId};
use offshoot_types::store::SessionSummary;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::failure::Failure;
use super::read::number;

/// Lists the roots, the one that changed last first.
pub(super) fn sessions(connection: &Connection) -> Result<Vec<SessionSummary>, Failure> {
    let sql = "SELECT trees.id, root.id, NULL, chat.agent, chat.workspace_root, chat.title,
            chat.created_at, trees.updated_at, trees.owned,
            (SELECT status FROM runs WHERE runs.agent = root.key ORDER BY run DESC LIMIT 1),
            (SELECT count(*) FROM agents
                WHERE agents.tree = trees.key AND (parent IS NOT NULL OR agents.id = trees.id)),
            (SELECT count(*) FROM runs WHERE runs.tree = trees.key AND settled_pos IS NULL),
            root.definition, chat.archived_at
        FROM trees
            JOIN agents AS root ON root.id = trees.id
            JOIN chat_sessions AS chat ON chat.id = trees.id
        ORDER BY trees.updated_at DESC, trees.id";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| {
        let below = Below {
            agents: number(row, 10)?,
            open_runs: number(row, 11)?,
        };
        summary(row, 12, below)
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Lists the inspectable children, the one that changed last first.
pub(super) fn children(connection: &Connection) -> Result<Vec<SessionSummary>, Failure> {
    let below = below(connection)?;
    let sql = "SELECT trees.id, child.id,
            (SELECT id FROM agents WHERE agents.key = child.parent), chat.agent, chat.workspace_root,
            chat.title, chat.created_at,
            (SELECT at FROM entries WHERE entries.agent = child.key ORDER BY seq DESC LIMIT 1)
                AS changed_at,
            trees.owned,
            (SELECT status FROM runs WHERE runs.agent = child.key ORDER BY run DESC LIMIT 1),
            child.key, child.definition, chat.archived_at
        FROM chat_sessions AS chat
            JOIN agents AS child ON child.id = chat.id
            JOIN trees ON trees.key = child.tree
        WHERE chat.kind = 'subagent' AND chat.parent_id IS NOT NULL
        ORDER BY changed_at DESC, child.id";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| {
        let below = below.get(&row.get(10)?);
        summary(row, 11, below.copied().unwrap_or_default())
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// What an agent is with all below it.
#[derive(Clone, Copy, Default)]
struct Below {
    agents: u64,
    open_runs: u64,
}

/// Counts for every agent of the trees that have inspectable children.
fn below(connection: &Connection) -> Result<HashMap<i64, Below>, Failure> {
    let sql = "SELECT key, parent,
            (SELECT count(*) FROM runs WHERE runs.agent = key AND settled_pos IS NULL)
        FROM agents
        WHERE tree IN (SELECT tree FROM agents WHERE inspectable AND parent IS NOT NULL)
        ORDER BY key DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut counts: HashMap<i64, Below> = HashMap::new();
    // Keys grow, so everybody comes before its parent, and with its own count complete.
    while let Some(row) = rows.next()? {
        let open_runs = number(row, 2)?;
        let own = counts.entry(row.get(0)?).or_default();
        own.agents += 1;
        own.open_runs += open_runs;
        let own = *own;
        if let Some(parent) = row.get::<_, Option<i64>>(1)? {
            let above = counts.entry(parent).or_default();
            above.agents += own.agents;
            above.open_runs += own.open_runs;
        }
    }
    Ok(counts)
}

fn summary(row: &Row<'_>, now: usize, below: Below) -> rusqlite::Result<SessionSummary> {
    Ok(SessionSummary {
        tree: TreeId::of(AgentId::new(row.get::<_, String>(0)?)),
        agent: AgentId::new(row.get::<_, String>(1)?),
        parent: row.get::<_, Option<String>>(2)?.map(AgentId::new),
        definition: row.get(3)?,
        now: row.get(now)?,
        workspace: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
        title: row.get::<_, Option<String>>(5)?.unwrap_or_default(),
        created_at: Timestamp::new(number(row, 6)?),
        updated_at: Timestamp::new(number(row, 7)?),
        owned: row.get(8)?,
        abandoned: false,
        agents: below.agents,
        open_runs: below.open_runs,
        status: row.get(9)?,
        archived_at: match row.get_ref(now + 1)? {
            ValueRef::Null => None,
            _ => Some(Timestamp::new(number(row, now + 1)?)),
        },
    })
}

//! The lists of sessions: roots, and the children that have rows of their own.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use offshoot_types::id::{AgentId, Timestamp, TreeId};
use offshoot_types::listing::{Among, Archived, SessionQuery};
use offshoot_types::store::SessionSummary;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use super::failure::Failure;
use super::read::{number, signed};

/// The page is chosen first: the rest is counted for its rows only.
const LIST: &str = "
    WITH listed AS (
        SELECT root.key AS agent, root.id AS id, trees.key AS tree, NULL AS parent,
            trees.updated_at AS changed_at
        FROM trees JOIN agents AS root ON root.id = trees.id
        WHERE ?1 AND (?9 IS NULL OR trees.id = ?9)
        UNION ALL
        SELECT child.key, child.id, child.tree, child.parent,
            (SELECT at FROM entries WHERE entries.agent = child.key ORDER BY seq DESC LIMIT 1)
        FROM chat_sessions AS chat JOIN agents AS child ON child.id = chat.id
            JOIN trees ON trees.key = child.tree
        WHERE ?2 AND (?9 IS NULL OR trees.id = ?9) AND chat.kind = 'subagent' AND chat.parent_id IS NOT NULL
    ), page AS (
        SELECT listed.* FROM listed JOIN chat_sessions AS chat ON chat.id = listed.id
        WHERE (?3 IS NULL OR chat.workspace_root = ?3)
            AND (?4 IS NULL OR instr(lower(ifnull(chat.title, '')), lower(?4)) > 0)
            AND (?5 OR chat.archived_at IS NULL)
            AND (?6 IS NULL OR changed_at < ?6 OR (changed_at = ?6 AND listed.id > ?7))
        ORDER BY changed_at DESC, listed.id
        LIMIT ?8
    )
    SELECT trees.id, page.id, (SELECT id FROM agents WHERE agents.key = page.parent), chat.agent,
        chat.workspace_root, chat.title, chat.created_at, page.changed_at, trees.owned,
        (SELECT status FROM runs WHERE runs.agent = page.agent ORDER BY run DESC LIMIT 1),
        agents.definition, chat.archived_at, page.agent, page.tree, page.parent IS NULL,
        CASE WHEN page.parent IS NULL THEN (SELECT count(*) FROM agents
            WHERE agents.tree = page.tree AND (parent IS NOT NULL OR agents.key = page.agent)) END,
        CASE WHEN page.parent IS NULL THEN (SELECT count(*) FROM runs
            WHERE runs.tree = page.tree AND settled_pos IS NULL) END
    FROM page
        JOIN trees ON trees.key = page.tree
        JOIN agents ON agents.key = page.agent
        JOIN chat_sessions AS chat ON chat.id = page.id
    ORDER BY page.changed_at DESC, page.id";

/// Lists roots and inspectable children.
pub(super) fn list(
    connection: &Connection,
    query: &SessionQuery,
) -> Result<Vec<SessionSummary>, Failure> {
    let SessionQuery {
        kind,
        session,
        workspace,
        search,
        archived,
        after,
        limit,
    } = query;
    let mut statement = connection.prepare_cached(LIST)?;
    let mut rows = statement.query(params![
        kind.has_roots(),
        kind.has_children(),
        workspace,
        search,
        *archived == Archived::Shown,
        after.as_ref().map(|after| signed(after.updated_at.get())),
        after.as_ref().map(|after| after.agent.as_str()),
        limit.map_or(i64::MAX, |limit| signed(limit as u64)),
        session.as_ref().map(|session| session.root().as_str()),
    ])?;
    let mut sessions = Vec::new();
    // Of the trees that have children on the page.
    let mut counts: HashMap<i64, HashMap<i64, Below>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let is_root: bool = row.get(14)?;
        let below = if is_root {
            Below {
                agents: number(row, 15)?,
                open_runs: number(row, 16)?,
            }
        } else {
            let (agent, tree) = (row.get(12)?, row.get(13)?);
            if let Entry::Vacant(vacant) = counts.entry(tree) {
                vacant.insert(below(connection, tree)?);
            }
            let of_tree = counts.get(&tree);
            let below = of_tree.and_then(|counts| counts.get(&agent));
            below.copied().unwrap_or_default()
        };
        sessions.push(summary(row, below)?);
    }
    Ok(sessions)
}

/// Finds ids that begin or end with a part. SQLite folds the case of ASCII letters only.
pub(super) fn find(
    connection: &Connection,
    part: &str,
    among: Among,
    limit: usize,
) -> Result<Vec<AgentId>, Failure> {
    if part.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "SELECT agents.id FROM agents JOIN trees ON trees.key = agents.tree
        WHERE (agents.id = trees.id OR (?2 AND agents.parent IS NOT NULL))
            AND (lower(substr(agents.id, 1, length(?1))) = lower(?1)
                OR lower(substr(agents.id, -length(?1))) = lower(?1))
        ORDER BY agents.id LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let limit = signed(limit as u64);
    let rows = statement.query_map(params![part, among == Among::Agents, limit], |row| {
        row.get::<_, String>(0).map(AgentId::new)
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// What an agent is with all below it.
#[derive(Clone, Copy, Default)]
struct Below {
    agents: u64,
    open_runs: u64,
}

/// Counts for every agent of a tree.
fn below(connection: &Connection, tree: i64) -> Result<HashMap<i64, Below>, Failure> {
    let sql = "SELECT key, parent,
            (SELECT count(*) FROM runs WHERE runs.agent = key AND settled_pos IS NULL)
        FROM agents
        WHERE tree = ?1
        ORDER BY key DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([tree])?;
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

fn summary(row: &Row<'_>, below: Below) -> rusqlite::Result<SessionSummary> {
    Ok(SessionSummary {
        tree: TreeId::of(AgentId::new(row.get::<_, String>(0)?)),
        agent: AgentId::new(row.get::<_, String>(1)?),
        parent: row.get::<_, Option<String>>(2)?.map(AgentId::new),
        definition: row.get(3)?,
        now: row.get(10)?,
        workspace: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
        title: row.get::<_, Option<String>>(5)?.unwrap_or_default(),
        created_at: Timestamp::new(number(row, 6)?),
        updated_at: Timestamp::new(number(row, 7)?),
        owned: row.get(8)?,
        abandoned: false,
        agents: below.agents,
        open_runs: below.open_runs,
        status: row.get(9)?,
        archived_at: match row.get_ref(11)? {
            ValueRef::Null => None,
            _ => Some(Timestamp::new(number(row, 11)?)),
        },
    })
}

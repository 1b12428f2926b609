//! What the writer remembers between groups.
//!
//! Keys and counters of trees and agents, so that an append needs no query to
//! find its place, and the fold of each tree, which says what may follow. They are
//! right as long as the row of their tree has the position they were left at; an
//! append that finds another position reads them again.

use std::collections::HashMap;

use offshoot_types::id::{AgentId, CallId, Pos, Timestamp, TreeId};
use offshoot_types::tree::Tree;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::failure::Failure;
use super::read::{self, number};
use super::young::Young;
use crate::backend::Pruning;

/// Trees that are remembered before all are forgotten; how many agents each has is capped elsewhere.
const MOST_TREES: usize = 16_384;

/// Trees and agents by id.
#[derive(Debug, Default)]
pub(super) struct Counters {
    trees: HashMap<TreeId, TreeCounters>,
    /// When old receipts were removed last.
    pub(super) receipts: Pruning,
}

/// Where a tree is.
#[derive(Debug)]
pub(super) struct TreeCounters {
    pub(super) key: i64,
    pub(super) pos: Pos,
    /// What the log adds up to at `pos`, once an entry was to follow.
    fold: Option<Tree>,
    agents: HashMap<AgentId, AgentCounters>,
    /// Logs that are about to be nested.
    pub(super) young: Young,
    /// Parts of calls that have no outcome yet: their rows, and what stands in them.
    pub(super) open_parts: HashMap<(AgentId, CallId), OpenPart>,
    /// The root folder, once somebody has asked; it never changes.
    workspace: Option<String>,
    /// How many calls wait to be told something, once somebody has asked.
    asks: Option<i64>,
}

/// The row of a call that has no outcome yet.
#[derive(Debug)]
pub(super) struct OpenPart {
    pub(super) row: i64,
    pub(super) data_json: String,
}

/// Where an agent is.
#[derive(Clone, Copy, Debug)]
pub(super) struct AgentCounters {
    pub(super) key: i64,
    pub(super) parent: Option<i64>,
    pub(super) has_rows: bool,
    /// When its session row last changed, if that is remembered.
    pub(super) touched: Option<Timestamp>,
}

impl Counters {
    /// Forgets a tree.
    pub(super) fn forget(&mut self, tree: &TreeId) {
        self.trees.remove(tree);
    }

    /// Returns where a tree is; `None` if it is not there.
    pub(super) fn tree(
        &mut self,
        connection: &Connection,
        id: &TreeId,
    ) -> Result<Option<&mut TreeCounters>, Failure> {
        if !self.trees.contains_key(id) {
            let Some(tree) = load_tree(connection, id)? else {
                return Ok(None);
            };
            if self.trees.len() >= MOST_TREES {
                self.trees.clear();
            }
            self.trees.insert(id.clone(), tree);
        }
        Ok(self.trees.get_mut(id))
    }
}

impl TreeCounters {
    /// Returns what the log of this tree adds up to, which is folded if that was not done.
    pub(super) fn fold(
        &mut self,
        connection: &Connection,
        id: &TreeId,
    ) -> Result<&mut Tree, Failure> {
        let fold = match self.fold.take() {
            Some(fold) => fold,
            None => read::fold(connection, id)?,
        };
        Ok(self.fold.insert(fold))
    }

    /// Returns where an agent of this tree is; `None` if it is not there.
    pub(super) fn agent(
        &mut self,
        connection: &Connection,
        id: &AgentId,
    ) -> Result<Option<&mut AgentCounters>, Failure> {
        if !self.agents.contains_key(id) {
            let Some(agent) = load_agent(connection, self.key, id)? else {
                return Ok(None);
            };
            self.agents.insert(id.clone(), agent);
        }
        Ok(self.agents.get_mut(id))
    }

    /// Returns the root folder.
    pub(super) fn workspace(&mut self, connection: &Connection) -> Result<Option<String>, Failure> {
        if self.workspace.is_none() {
            let sql = "SELECT workspace_root FROM chat_sessions JOIN trees USING (id)
                WHERE key = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement.query_row([self.key], |row| row.get(0));
            self.workspace = found.optional()?.flatten();
        }
        Ok(self.workspace.clone())
    }

    /// Returns how many calls wait to be told something.
    pub(super) fn asks(&mut self, connection: &Connection) -> Result<i64, Failure> {
        if self.asks.is_none() {
            let sql = "SELECT count(*) FROM asks WHERE tree = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            self.asks = Some(statement.query_row([self.key], |row| row.get(0))?);
        }
        Ok(self.asks.unwrap_or_default())
    }

    /// Notes that there are more of them, or fewer.
    pub(super) fn asked(&mut self, more: i64) {
        self.asks = self.asks.map(|asks| asks + more);
    }

    /// Remembers an agent that was just born.
    pub(super) fn born(&mut self, id: &AgentId, agent: AgentCounters) {
        self.agents.insert(id.clone(), agent);
    }
}

fn load_tree(connection: &Connection, id: &TreeId) -> Result<Option<TreeCounters>, Failure> {
    let sql = "SELECT key, pos FROM trees WHERE id = ?1";
    let read = |row: &Row<'_>| {
        Ok(TreeCounters {
            key: row.get(0)?,
            pos: Pos::new(number(row, 1)?),
            fold: None,
            agents: HashMap::new(),
            young: Young::default(),
            open_parts: HashMap::new(),
            workspace: None,
            asks: None,
        })
    };
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([id.as_str()], read).optional()?)
}

fn load_agent(
    connection: &Connection,
    tree: i64,
    id: &AgentId,
) -> Result<Option<AgentCounters>, Failure> {
    let sql = "SELECT key, parent,
            inspectable OR id = (SELECT trees.id FROM trees WHERE trees.key = agents.tree)
        FROM agents WHERE id = ?1 AND tree = ?2";
    let read = |row: &Row<'_>| {
        Ok(AgentCounters {
            key: row.get(0)?,
            parent: row.get(1)?,
            has_rows: row.get(2)?,
            touched: None,
        })
    };
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row(params![id.as_str(), tree], read);
    Ok(found.optional()?)
}

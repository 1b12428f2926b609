//! Children that the host starts: orders of the person, and what has to have become of them.
//!
//! Each child that was acknowledged is in the log, has ended, and its parent was told of it once. No
//! turn begins while the host waits for a child, and the end of such a child starts none.

use offshoot_types::command::{Order, Spawn};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, RunId};
use offshoot_types::tree::Tree;

use super::world::World;

impl World {
    /// Returns a child that the host might want.
    pub(super) fn some_spawn(&mut self) -> (AgentId, Order) {
        self.commands += 1;
        let root = self.tree.root().clone();
        let parent = if self.chance.one_in(3) {
            self.some_agent()
        } else {
            root
        };
        let names = ["worker", "watched", "thrifty", "lead"];
        // The same id twice, now and then.
        let id = AgentId::new(format!("kid-{}", self.commands / 3));
        let spawn = Spawn {
            agent: self.chance.one_in(2).then_some(id),
            background: self.chance.one_in(3),
            ..Spawn::new(names[self.chance.below(names.len())], "go")
        };
        (parent, Order::Spawn(Box::new(spawn)))
    }

    /// Starts a child of the root and prompts the root behind it.
    pub(super) async fn prompt_behind_a_spawn(&mut self) -> Result<(), String> {
        let root = self.tree.root().clone();
        let spawn = Spawn::new("worker", "go");
        self.send(vec![(root.clone(), Order::Spawn(Box::new(spawn)))])
            .await?;
        let prompt = self.prompt("go");
        self.send(vec![(root, prompt)]).await
    }
}

/// No turn begins while the host waits for a child of the agent.
pub(super) fn no_turn_beside_an_awaited_child(entries: &[Entry]) -> Result<(), String> {
    let mut tree = Tree::default();
    for entry in entries {
        let agent = &entry.agent;
        let is_held = tree.agent(agent).is_some_and(|agent| agent.held_by > 0);
        if is_held && matches!(entry.event, Event::TurnStarted { .. }) {
            return Err(format!(
                "{agent} began a turn while the host waits for a child of it"
            ));
        }
        let applied = tree.apply(entry);
        applied.map_err(|violation| violation.to_string())?;
    }
    Ok(())
}

/// A child that was acknowledged is there, has ended, and its parent was told of it once.
pub(super) fn ended_and_told(
    tree: Option<&Tree>,
    entries: &[Entry],
    child: &AgentId,
) -> Result<(), String> {
    let agent = tree.and_then(|tree| tree.agent(child));
    let Some(agent) = agent else {
        return Err(format!("{child} was acknowledged and is not in the log"));
    };
    let first = RunId::first(child.clone());
    let run = agent.run(first.run).filter(|run| run.settled.is_some());
    let Some(run) = run else {
        return Err(format!("{child} was acknowledged and has not ended"));
    };
    let told = entries.iter().flat_map(|entry| entry.event.delivers());
    let told = told.filter(|told| **told == first).count();
    // No agent reads what a rewind has dropped while it ran.
    let expected = usize::from(run.delivered);
    if told != expected && !agent.hidden {
        return Err(format!("{child} was told {told} times"));
    }
    // Mail that wakes may wait for the next run of a parent that was stopped; this does not.
    if run.quiet && !run.delivered {
        return Err(format!("the host waited for {child} and it was not told"));
    }
    Ok(())
}

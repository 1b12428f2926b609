//! What a prompt says about delegation, judged before the prompt is in the log.
//!
//! The runtime refuses such a prompt of its own clients at once (`door.rs`); this covers a prompt that another
//! process sent, and messages of a parent that may not delegate.

use offshoot_types::message::{Author, Delegation, UserMessage};
use offshoot_types::outcome::{ErrorKind, Outcome};

use super::Actor;
use super::spawns::Refusal;
use crate::agent::Agent;
use crate::node::Node;
use crate::task;

impl Actor {
    /// Refuses a prompt that requires an agent which cannot be started, and a message of the parent
    /// that would continue this agent after its run while the parent may not delegate.
    pub(super) fn check_delegation(
        &self,
        agent: &Agent,
        message: &UserMessage,
    ) -> Result<(), Refusal> {
        let checked = match &message.delegation {
            Some(Delegation::Require { agent: name, .. }) => {
                let caller = message.agent.as_ref().unwrap_or(&agent.definition);
                let caller = agent.kit.registry.get(caller);
                caller.map_or(Ok(()), |caller| {
                    task::check_required(&agent.kit, caller, name)
                })
            }
            Some(Delegation::Prefer { .. } | Delegation::Disable) | None => Ok(()),
        };
        let checked = checked.and_then(|()| self.check_continuation(message));
        checked.map_err(Refusal::of)
    }

    fn check_continuation(&self, message: &UserMessage) -> Result<(), Outcome> {
        let id = &self.agent.id;
        let state = self.agent.board.state();
        let found = state
            .tree
            .agent(id)
            .filter(|_| message.from == Author::Parent);
        let Some(parent) = found.and_then(|found| found.parent()) else {
            return Ok(());
        };
        let is_open = found.is_some_and(|found| found.open_run().is_some());
        let goes_on = is_open && state.node(id).and_then(Node::stopped).is_none();
        if goes_on || !state.tree.is_delegation_disabled(&parent.agent) {
            return Ok(());
        }
        let text = format!("the prompt forbids other agents, and {id} has settled");
        Err(Outcome::error(ErrorKind::Denied, text))
    }
}

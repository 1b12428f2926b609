//! What the process knows of an agent from its birth on: what holds it, where it may write, what stops
//! it.
//!
//! The chain is made here, from what is above the agent and what it adds (R21). A child's token is its
//! parent's, so what stops the parent stops it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use offshoot_types::event::{Entry, Origin, Spawned};
use offshoot_types::id::AgentId;
use offshoot_types::permission::{Layer, Permissions};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::State;
use crate::ground::{Ground, Held};
use crate::node::Node;
use crate::sabotage::{Bug, planted};
use crate::scratch::Scratch;
use crate::update::Activity;

impl State {
    /// Takes an agent that is born, or was before this process had the tree.
    pub(super) fn add_node(
        &mut self,
        id: &AgentId,
        spawned: &Spawned,
        infancy: Option<Vec<Arc<Entry>>>,
    ) {
        let unbound = CancellationToken::new;
        let (token, scratch) = match &spawned.origin {
            Origin::Session { .. } => (unbound(), self.ground.scratch.clone()),
            Origin::Task(parent) => match self.nodes.get(&parent.agent) {
                Some(node) => {
                    let token = if planted(Bug::CancelStopsShort) {
                        unbound()
                    } else {
                        node.token.child_token()
                    };
                    let scratch = node.scratch.as_ref().map(|above| above.of_child(id));
                    (token, scratch)
                }
                None => (unbound(), None),
            },
            // It ends when the client that asked says so, or the session does.
            Origin::Helper(_) => (unbound(), None),
        };
        let (above, above_read_only) = self.above(id, spawned, scratch.as_ref());
        let born = (
            &spawned.layer,
            spawned.terms.read_only,
            spawned.definition.as_str(),
        );
        let held = self.held(born, scratch.as_ref());
        let read_only = above_read_only || held.is_read_only();
        let node = Node {
            permissions: held.chain(&above),
            above,
            above_read_only,
            scratch,
            token,
            cancelled_by: None,
            wake: Arc::new(Notify::new()),
            returned: Arc::new(Notify::new()),
            promote: None,
            claimed: None,
            answers: BTreeMap::new(),
            activity: Activity::Resting,
            progress: Instant::now(),
            infancy,
            files: BTreeSet::new(),
            read_only,
        };
        self.nodes.insert(id.clone(), node);
    }

    /// Returns the chain above an agent's own layer, and whether the agents above hold it to reading.
    fn above(
        &self,
        id: &AgentId,
        spawned: &Spawned,
        scratch: Option<&Scratch>,
    ) -> (Permissions, bool) {
        let (chain, read_only) = match &spawned.origin {
            Origin::Session { workspace, .. } => (self.ground.above_root(workspace), false),
            Origin::Task(parent) if self.nodes.contains_key(&parent.agent) => {
                let above = self.at_birth(id, &parent.agent);
                (above.chain.hand_on(), above.read_only)
            }
            Origin::Task(_) => (Permissions::empty(), false),
            // It may do nothing, whatever its manifest says.
            Origin::Helper(_) => {
                let nothing = Layer::of_agent(&spawned.definition, Some(&[]));
                (Permissions::empty().narrow(nothing), true)
            }
        };
        let chain = match scratch {
            Some(Scratch { data, folder }) => chain.narrow(Layer::off_limits(data, folder)),
            None => chain,
        };
        (chain, read_only)
    }

    /// Holds every agent to what host, project, user and the agents' files say now.
    pub(super) fn change_ground(&mut self, ground: Ground) {
        self.ground = ground;
        let all: Vec<AgentId> = self.tree.walk().into_iter().cloned().collect();
        // Every parent before its children, which begin with its chain.
        for id in &all {
            let Some(agent) = self.tree.agent(id) else {
                continue;
            };
            let scratch = self.nodes.get(id).and_then(|node| node.scratch.as_ref());
            let (above, above_read_only) = self.above(id, &agent.spawned, scratch);
            if let Some(node) = self.nodes.get_mut(id) {
                node.above = above;
                node.above_read_only = above_read_only;
            }
        }
        if let Some(root) = self.tree.root().cloned() {
            self.change_role(&root);
        }
    }

    /// Returns what holds an agent of this session by what was written down of it and by its file.
    pub(crate) fn held(&self, said: (&Layer, bool, &str), scratch: Option<&Scratch>) -> Held {
        let root = self.tree.root().and_then(|root| self.tree.agent(root));
        let workspace = root.and_then(|root| root.spawned.workspace());
        self.ground
            .held(said, workspace.unwrap_or_default(), scratch)
    }

    /// Gives a new run of an agent a token of its own; a stopped one stays stopped.
    pub(crate) fn renew_token(&mut self, id: &AgentId) {
        let above = self
            .tree
            .agent(id)
            .and_then(|agent| self.nodes.get(&agent.parent()?.agent))
            .map(|parent| parent.token.clone());
        if let Some(node) = self.nodes.get_mut(id)
            && node.token.is_cancelled()
        {
            // A later run does not hang on the run that spawned it, which may be long over.
            node.token = above
                .filter(|token| !token.is_cancelled())
                .map_or_else(CancellationToken::new, |token| token.child_token());
            node.cancelled_by = None;
        }
    }
}

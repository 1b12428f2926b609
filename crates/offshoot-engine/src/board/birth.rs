//! What the process knows of an agent from its birth on: what holds it, where it may write, what stops
//! it.
//!
//! The chain is made here, from what is above the agent and what it adds (R21). A child's token is its
//! parent's, so what stops the parent stops it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use offshoot_types::event::{Entry, Origin};
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
        spawned: &offshoot_types::event::Spawned,
        ground: &Ground,
        infancy: Option<Vec<Arc<Entry>>>,
    ) {
        let unbound = CancellationToken::new;
        let (mut permissions, token, scratch, mut read_only) = match &spawned.origin {
            Origin::Session { workspace, .. } => {
                let above = ground.above_root(workspace);
                (above, unbound(), ground.scratch.clone(), false)
            }
            Origin::Task(parent) => match self.nodes.get(&parent.agent) {
                Some(node) => {
                    let token = if planted(Bug::CancelStopsShort) {
                        unbound()
                    } else {
                        node.token.child_token()
                    };
                    let scratch = node.scratch.as_ref().map(|above| above.of_child(id));
                    let above = self.at_birth(id, &parent.agent);
                    (above.chain.hand_on(), token, scratch, above.read_only)
                }
                None => (Permissions::empty(), unbound(), None, false),
            },
            // It may do nothing, whatever its manifest says, and ends when whoever asked says so, or
            // the session does.
            Origin::Helper(_) => {
                let nothing = Layer::of_agent(&spawned.definition, Some(&[]));
                let none = Permissions::empty().narrow(nothing);
                (none, unbound(), None, true)
            }
        };
        if let Some(Scratch { data, folder }) = &scratch {
            permissions = permissions.narrow(Layer::off_limits(data, folder));
        }
        let above = permissions;
        let above_read_only = read_only;
        let born = (
            &spawned.layer,
            spawned.terms.read_only,
            spawned.definition.as_str(),
        );
        let held = self.held(born, scratch.as_ref());
        read_only |= held.is_read_only();
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

    /// Returns what holds an agent of this session by what was written down of it and by its file.
    pub(crate) fn held(&self, said: (&Layer, bool, &str), scratch: Option<&Scratch>) -> Held {
        let root = self.tree.root().and_then(|root| self.tree.agent(root));
        let workspace = root.and_then(|root| root.spawned.workspace());
        self.files
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

//! What the chains of a session are made of.
//!
//! Above a root stands what the host, the project and the user say of its folder,
//! asked anew whenever a session is taken up. Below, every agent adds its layer, and
//! what it may do is what it hands on. Nothing is decided here.

use std::sync::Arc;

use offshoot_types::id::{AgentId, TreeId};
use offshoot_types::manifest::{Manifest, Registry};
use offshoot_types::permission::charter::{self, Charter};
use offshoot_types::permission::written::Variables;
use offshoot_types::permission::{Layer, Permissions};
use offshoot_types::tree::Tree;

use crate::board::State;
use crate::kit::Kit;
use crate::scratch::{self, Scratch};

/// What a session's chains begin with.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) charter: Arc<dyn Charter>,
    /// The root's part of the host's data folder.
    pub(crate) scratch: Option<Scratch>,
    /// The agents as their files have them now.
    pub(crate) registry: Arc<Registry>,
}

impl Ground {
    /// Returns what the chains of a session begin with that works with a kit.
    pub(crate) fn of(kit: &Kit, scratch: Option<Scratch>) -> Self {
        Self {
            charter: kit.charter.clone(),
            scratch,
            registry: kit.registry.clone(),
        }
    }

    /// Returns the chain above a root's own layer, but for what is off limits.
    pub(crate) fn above_root(&self, workspace: &str) -> Permissions {
        let scratch = self.scratch.as_ref();
        let scratch = scratch.map(|scratch| scratch.folder.as_str());
        charter::begin(self.charter.as_ref(), workspace, scratch)
    }

    /// Returns what holds an agent: what was written down of it, and what its file says now, if that
    /// is something else.
    pub(crate) fn held(
        &self,
        (layer, read_only, definition): (&Layer, bool, &str),
        workspace: &str,
        scratch: Option<&Scratch>,
    ) -> Held {
        let manifest = self.registry.get(definition);
        let now = manifest.map(|manifest| {
            let variables = Variables {
                workspace,
                scratch: scratch.map(|scratch| scratch.folder.as_str()),
                home: self.charter.home(),
            };
            manifest.layer(&variables)
        });
        let says = |now: &Layer| now.closed || !now.rules.is_empty();
        let now = now.filter(|now| now != layer && says(now));
        Held {
            layer: layer.clone(),
            reads: read_only,
            reads_now: manifest.is_some_and(|manifest| manifest.read_only),
            definition: definition.to_owned(),
            now: now.map(|now| Layer {
                name: format!("{}, as its file is now", now.name),
                ..now
            }),
        }
    }
}

/// What holds an agent: nothing of it is lifted by what its file says later.
pub(crate) struct Held {
    layer: Layer,
    reads: bool,
    reads_now: bool,
    definition: String,
    now: Option<Layer>,
}

impl Held {
    /// Tells whether it is held to reading.
    pub(crate) fn is_read_only(&self) -> bool {
        self.reads || self.reads_now
    }

    /// Returns the chain of the agent.
    pub(crate) fn chain(&self, above: &Permissions) -> Permissions {
        let layers = [Some(&self.layer), self.now.as_ref()];
        let layers = layers.into_iter().flatten();
        chain(above, layers, self.is_read_only(), &self.definition)
    }
}

/// Returns the chain of an agent: that above it, its layers, and what holds it to reading.
fn chain<'a>(
    above: &Permissions,
    layers: impl IntoIterator<Item = &'a Layer>,
    read_only: bool,
    definition: &str,
) -> Permissions {
    let read_only = read_only.then(|| Layer::read_only(definition));
    let layers = layers.into_iter().cloned().chain(read_only);
    layers.fold(above.clone(), |chain, layer| chain.narrow(layer))
}

/// Returns the chain that an agent of a manifest would have.
pub(crate) fn chain_below(
    above: &Permissions,
    manifest: &Manifest,
    variables: &Variables<'_>,
) -> Permissions {
    let layer = manifest.layer(variables);
    chain(above, [&layer], manifest.read_only, &manifest.name)
}

/// Returns the chain of an agent of a session as it would be if it were taken up now, and its scratch
/// folder, for whoever wants to know what it may do; `None` if there is no such agent.
pub fn chain_in(
    tree: Tree,
    agent: &AgentId,
    charter: Arc<dyn Charter>,
    agents: &Registry,
    data: Option<&str>,
) -> Option<(Permissions, Option<String>)> {
    let session = tree.root().cloned().map(TreeId::of);
    let scratch = data.zip(session);
    let scratch = scratch.map(|(data, session)| Scratch::of_root(data, &session));
    let ground = Ground {
        charter,
        scratch,
        registry: Arc::new(agents.clone()),
    };
    let state = State::of(tree, ground);
    let node = state.node(agent)?;
    let scratch = node.scratch.as_ref().map(|scratch| scratch.folder.clone());
    Some((node.permissions.clone(), scratch))
}

/// Returns the chain that the last of some agents would have, each started by the one before it, in a
/// new session. Whether they may be started is not asked.
pub fn chain_of<'a>(
    path: impl IntoIterator<Item = &'a Manifest>,
    workspace: &str,
    charter: &dyn Charter,
    data: Option<&str>,
) -> Permissions {
    let variables = Variables {
        workspace,
        scratch: None,
        home: charter.home(),
    };
    let mut chain = charter::begin(charter, workspace, None);
    if let Some(data) = data {
        let own = format!("{}/of-a-new-session", scratch::base(data));
        chain = chain.narrow(Layer::off_limits(data, &own));
    }
    for (depth, manifest) in path.into_iter().enumerate() {
        if depth > 0 {
            chain = chain.hand_on();
        }
        chain = chain_below(&chain, manifest, &variables);
    }
    chain
}

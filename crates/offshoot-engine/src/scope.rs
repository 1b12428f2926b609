//! What an agent is offered, and on what terms it works.
//!
//! The registry of a child is scoped by three things and nothing else: its
//! manifest, whether it is a root, and what tools there are. What it may do with
//! them is decided call by call, on the real inputs, by the chain. An agent sees
//! its own prompt; that its caller is another agent changes one line at most.

use std::collections::BTreeSet;
use std::sync::Arc;

use offshoot_types::caps::Caps;
use offshoot_types::command::Opening;
use offshoot_types::manifest::{Context, Manifest, Mode};
use offshoot_types::model::{ModelError, ModelErrorKind};
use offshoot_types::permission::{Layer, Permissions};
use offshoot_types::terms::{self, Terms};
use offshoot_types::tool::ToolSpec;

use crate::agent::Agent;
use crate::board::{Kin, PrefixKey};
use crate::context::{self, Callable, EngineCall, Offer, Prefix, Surroundings};
use crate::question::{self, QUESTION};
use crate::role::{PLAN_EXIT, PlanExit};
use crate::runtime::Parts;
use crate::schema::Shape;
use crate::steer::Steering;
use crate::task::{self, TASK};
use crate::todo::{self, TODO};

impl Agent {
    /// Returns what all agents of this kind share.
    pub(crate) fn prefix(&self) -> Result<Arc<Prefix>, ModelError> {
        self.prefix_of(&self.lineage)
    }

    /// Returns what all agents of a kind share in this tree.
    fn prefix_of(&self, lineage: &[Kin]) -> Result<Arc<Prefix>, ModelError> {
        let key = PrefixKey {
            lineage: lineage.to_vec(),
            tools: self.parts.tools.version(),
        };
        self.board.prefix(key, || self.make_prefix(lineage))
    }

    fn make_prefix(&self, lineage: &[Kin]) -> Result<Prefix, ModelError> {
        let Some((kin, above)) = lineage.split_first() else {
            let text = "run an agent: its tree does not have it";
            return Err(ModelError::new(ModelErrorKind::Config, text));
        };
        let manifest = self.manifest(&kin.definition)?;
        let schema = manifest.output_schema.as_ref();
        let answer = schema.map(Shape::compile).transpose().map_err(|why| {
            let name = &manifest.name;
            let text = format!("run agent {name}: its output_schema is not one: {why}");
            ModelError::new(ModelErrorKind::Config, text)
        })?;
        // Whoever works for the runtime reads and writes words, whatever its manifest says.
        let offered = match kin.helps {
            true => Vec::new(),
            false => offered(&self.parts, manifest, kin.is_root),
        };
        let (tools, offers): (Vec<_>, Vec<_>) = offered.into_iter().unzip();
        let place = Surroundings {
            workspace: &self.workspace,
            date: &self.date,
            model: &kin.model,
        };
        let system = context::system(manifest, &place, &tools);
        let prefix = Prefix {
            manifest: manifest.clone(),
            model: self.parts.models.find(&kin.model)?,
            model_name: kin.model.clone(),
            system: system.clone().into(),
            tools: tools.into(),
            withheld: BTreeSet::new(),
            answer,
            offers,
        };
        match (kin.context, above.first()) {
            (Context::Fork, Some(parent)) => {
                let system = context::with_parents(system, self.manifest(&parent.definition)?);
                Ok(Prefix {
                    system: system.into(),
                    ..prefix
                })
            }
            (Context::Inherit, Some(_)) => Ok(as_parent(prefix, &*self.prefix_of(above)?)),
            (Context::Fresh, _) | (_, None) => Ok(prefix),
        }
    }

    fn manifest(&self, definition: &str) -> Result<&Arc<Manifest>, ModelError> {
        self.parts.registry.get(definition).ok_or_else(|| {
            let text = format!("run agent {definition}: there is no such definition");
            ModelError::new(ModelErrorKind::Config, text)
        })
    }

    /// Returns the terms of a child: what its manifest asks for, and what it gets. `caps` hold where
    /// the manifest says nothing.
    pub(crate) fn terms_of_child(
        &self,
        manifest: &Manifest,
        model: &str,
        caps: Caps,
        helps: bool,
    ) -> Terms {
        let mut lineage = vec![Kin {
            definition: manifest.name.clone(),
            model: model.to_owned(),
            is_root: false,
            helps,
            context: manifest.context,
        }];
        if manifest.context != Context::Fresh {
            lineage.extend(self.lineage.iter().cloned());
        }
        let tools = self.prefix_of(&lineage).map_or_else(
            |_| Vec::new(),
            |prefix| {
                let ids = prefix.tools.iter().map(|tool| tool.id.clone());
                ids.filter(|id| !prefix.withheld.contains(id)).collect()
            },
        );
        let chain = chain(&self.permissions, manifest);
        let caps = manifest.limits.or(caps);
        terms(manifest, tools, &chain, &self.workspace, caps)
    }
}

/// Shows an agent exactly what its parent is shown; what is not for it is withheld when it is called.
fn as_parent(own: Prefix, parent: &Prefix) -> Prefix {
    let offered = |id: &str| own.tools.iter().any(|tool| tool.id == id);
    let shown = parent.tools.iter().map(|tool| &tool.id);
    let withheld = shown.filter(|id| !offered(id)).cloned().collect();
    Prefix {
        system: parent.system.clone(),
        tools: parent.tools.clone(),
        offers: parent.offers.clone(),
        withheld,
        ..own
    }
}

/// Returns the terms of a root.
pub(crate) fn terms_of_root(parts: &Parts, manifest: &Manifest, opening: &Opening) -> Terms {
    let workspace = &opening.workspace;
    let offered = offered(parts, manifest, true);
    let tools = offered.iter().map(|(spec, _)| spec.id.clone()).collect();
    let granted = Permissions::empty().narrow(Layer::root_grant(workspace, None));
    let chain = chain(&granted, manifest);
    terms(
        manifest,
        tools,
        &chain,
        workspace,
        root_caps(parts, manifest, opening),
    )
}

/// Returns what a root's runs may use: what its manifest or the host says, and no more than whoever
/// opens it.
pub(crate) fn root_caps(parts: &Parts, manifest: &Manifest, opening: &Opening) -> Caps {
    manifest.limits.or(parts.limits.root).narrow(opening.caps)
}

/// Returns the terms of an agent that becomes another.
pub(crate) fn terms_of_role(
    parts: &Parts,
    manifest: &Manifest,
    above: &Permissions,
    workspace: &str,
    is_root: bool,
) -> Terms {
    let offered = offered(parts, manifest, is_root);
    let tools = offered.iter().map(|(spec, _)| spec.id.clone()).collect();
    let chain = chain(above, manifest);
    terms(manifest, tools, &chain, workspace, manifest.limits)
}

fn terms(
    manifest: &Manifest,
    tools: Vec<String>,
    chain: &Permissions,
    workspace: &str,
    caps: Caps,
) -> Terms {
    Terms {
        effort: manifest.effort,
        context: manifest.context,
        read_only: manifest.read_only,
        missing_tools: manifest.tools.missing(&tools).cloned().collect(),
        tools,
        caps,
        permissions: terms::summary(chain, workspace),
    }
}

fn chain(above: &Permissions, manifest: &Manifest) -> Permissions {
    let declared = manifest.permissions.as_deref();
    let own = above.narrow(Layer::of_agent(&manifest.name, declared));
    match manifest.read_only {
        true => own.narrow(Layer::read_only(&manifest.name)),
        false => own,
    }
}

/// Returns the ids of the engine's own tools, which are there whatever the host brings.
pub fn own_tools() -> impl Iterator<Item = &'static str> {
    let steering = Steering::ALL.iter().map(|call| call.id());
    [TODO, TASK, QUESTION, PLAN_EXIT]
        .into_iter()
        .chain(steering)
}

/// Tells whether an id is the engine's own.
fn is_locked(id: &str) -> bool {
    own_tools().any(|own| own == id)
}

/// Returns what an agent may call: tools in the host's order, then the engine's own calls, whose ids
/// are locked.
fn offered(parts: &Parts, manifest: &Manifest, is_root: bool) -> Vec<(ToolSpec, Offer)> {
    let wanted = &manifest.tools;
    let tools = parts.tools.tools().into_iter();
    let tools = tools.filter(|tool| {
        let id = tool.spec().id.as_str();
        !is_locked(id) && tool.reach().includes(is_root, wanted.names(id))
    });
    let tools = tools.map(|tool| (tool.spec().clone(), Callable::Tool(tool)));
    // Not part of anybody's tools unless they say so (SA-47).
    let plans = (is_root && wanted.names(PLAN_EXIT)).then(PlanExit::tool);
    let plans = plans.map(|tool| (tool.spec().clone(), Callable::Tool(tool)));
    let tools = tools.chain(plans);
    let spawnable = parts.registry.for_agents();
    let task = task::spec(spawnable.filter(|agent| manifest.may_spawn(&agent.name)));
    let own = [
        (todo::spec(), Callable::Engine(EngineCall::Todo)),
        (task, Callable::Engine(EngineCall::Task)),
    ];
    // Whoever talks to people may ask them. Others do if their manifest says so, as a child or not:
    // what an agent is offered does not depend on who called it (SA-41).
    let asks = manifest.mode == Mode::Primary || wanted.names(QUESTION);
    let asks = asks.then(|| (question::spec(), Callable::Engine(EngineCall::Question)));
    let steering =
        Steering::ALL.map(|call| (call.spec(), Callable::Engine(EngineCall::Steer(call))));
    // Without a way to have children there is nobody to look after.
    let steering = steering.into_iter().filter(|_| wanted.has(TASK));
    let own = own.into_iter().chain(asks).chain(steering);
    let offer = |(spec, callable)| {
        let schema = parts.tools.schema(&spec);
        (spec, Offer { callable, schema })
    };
    let all = tools.chain(own).filter(|(spec, _)| wanted.has(&spec.id));
    all.map(offer).collect()
}

//! What an agent is offered, and on what terms it works.
//!
//! Three things decide which tools an agent is offered: its manifest, the tools
//! there are, and what its chain denies whatever the inputs. Neither its mode nor
//! its depth does (SA-06). What it may do with a tool is decided call by call, on
//! the real inputs, by the chain. An agent sees its own prompt; that its caller is
//! another agent changes one line at most.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use offshoot_types::caps::Caps;
use offshoot_types::command::Opening;
use offshoot_types::event::Origin;
use offshoot_types::manifest::{Context, Manifest, Toolset};
use offshoot_types::model::{ModelError, ModelErrorKind};
use offshoot_types::permission::Permissions;
use offshoot_types::permission::written::Variables;
use offshoot_types::project::ProjectContext;
use offshoot_types::terms::{self, Terms};
use offshoot_types::tool::ToolSpec;

use crate::agent::Agent;
use crate::board::{Kin, PrefixKey, Relative};
use crate::context::{self, Callable, EngineCall, Offer, Prefix, Surroundings};
use crate::ground;
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
    fn prefix_of(&self, lineage: &[Relative]) -> Result<Arc<Prefix>, ModelError> {
        let tools = self.parts.tools.version();
        let key = PrefixKey {
            lineage: lineage.iter().map(|of| self.kin(of)).collect(),
            tools,
        };
        self.board.prefix(key, || self.make_prefix(lineage))
    }

    /// Returns what makes the prompt and tools of an agent what they are.
    fn kin(&self, of: &Relative) -> Kin {
        let manifest = self.parts.registry.get(&of.kin.definition);
        let barred = manifest.map(|manifest| barred(&self.parts, manifest, &of.chain));
        Kin {
            barred: barred.unwrap_or_default(),
            ..of.kin.clone()
        }
    }

    /// Returns what variables stand for in rules of this agent.
    pub(crate) fn variables(&self) -> Variables<'_> {
        Variables {
            workspace: &self.workspace,
            scratch: self.scratch.as_ref().map(|own| own.folder.as_str()),
            home: self.parts.charter.home(),
        }
    }

    fn make_prefix(&self, lineage: &[Relative]) -> Result<Prefix, ModelError> {
        let Some((Relative { kin, chain }, above)) = lineage.split_first() else {
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
        let offered = if kin.helps {
            Vec::new()
        } else {
            let barred = barred(&self.parts, manifest, chain);
            offered(&self.parts, manifest, &barred)
        };
        let (tools, offers): (Vec<_>, Vec<_>) = offered.into_iter().unzip();
        let place = Surroundings {
            workspace: &self.workspace,
            date: &self.date,
            model: &kin.model,
            project: self.shown_project(manifest, kin.helps),
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
            digests: OnceLock::new(),
        };
        match (kin.context, above.first()) {
            (Context::Fork, Some(parent)) => {
                let above = self.manifest(&parent.kin.definition)?;
                let system = context::with_parents(system, above);
                Ok(Prefix {
                    system: system.into(),
                    ..prefix
                })
            }
            (Context::Inherit, Some(_)) => Ok(as_parent(prefix, &*self.prefix_of(above)?)),
            (Context::Fresh, _) | (_, None) => Ok(prefix),
        }
    }

    /// Returns what the session knows of its project, as far as an agent's prompt has it (PD-18).
    fn shown_project(&self, manifest: &Manifest, helps: bool) -> ProjectContext {
        let state = self.board.state();
        let root = state.tree.root().and_then(|root| state.tree.agent(root));
        let Some(Origin::Session { project, .. }) = root.map(|root| &root.spawned.origin) else {
            return ProjectContext::default();
        };
        let Some(ProjectContext { instructions, git }) = project.as_deref() else {
            return ProjectContext::default();
        };
        // A helper works on one text; a file that replaces it has to ask for more by name.
        let shows = |named: Option<bool>, usual: bool| named.unwrap_or(usual && !helps);
        let Manifest {
            project_instructions,
            git_status,
            ..
        } = manifest;
        let files = shows(*project_instructions, manifest.shows_project_instructions());
        let line = shows(*git_status, manifest.shows_git_status());
        ProjectContext {
            instructions: if files {
                instructions.clone()
            } else {
                Vec::new()
            },
            git: git.clone().filter(|_| line),
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
        let variables = Variables {
            scratch: None,
            ..self.variables()
        };
        let chain = ground::chain_below(&self.permissions.hand_on(), manifest, &variables);
        let mut lineage = vec![Relative {
            kin: Kin {
                definition: manifest.name.clone(),
                model: model.to_owned(),
                helps,
                context: manifest.context,
                barred: Vec::new(),
            },
            chain: chain.clone(),
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
        let barred = if helps {
            Vec::new()
        } else {
            barred(&self.parts, manifest, &chain)
        };
        let caps = manifest.limits.or(caps);
        terms(manifest, (tools, barred), &chain, &self.workspace, caps)
    }

    /// Returns the terms of this agent if it becomes another.
    pub(crate) fn terms_of_role(&self, manifest: &Manifest, above: &Permissions) -> Terms {
        let chain = ground::chain_below(above, manifest, &self.variables());
        let tools = ids(&self.parts, manifest, &chain);
        terms(manifest, tools, &chain, &self.workspace, manifest.limits)
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
        digests: OnceLock::new(),
        ..own
    }
}

/// Returns the terms of a root.
pub(crate) fn terms_of_root(parts: &Parts, manifest: &Manifest, opening: &Opening) -> Terms {
    let workspace = &opening.workspace;
    let chain = ground::chain_of([manifest], workspace, parts.charter.as_ref(), None);
    let tools = ids(parts, manifest, &chain);
    let caps = root_caps(parts, manifest, opening);
    terms(manifest, tools, &chain, workspace, caps)
}

/// Returns what a root's runs may use: what its manifest or the host says, and no more than whoever
/// opens it.
pub(crate) fn root_caps(parts: &Parts, manifest: &Manifest, opening: &Opening) -> Caps {
    manifest.limits.or(parts.limits.root).narrow(opening.caps)
}

fn terms(
    manifest: &Manifest,
    (tools, barred_tools): (Vec<String>, Vec<String>),
    chain: &Permissions,
    workspace: &str,
    caps: Caps,
) -> Terms {
    Terms {
        effort: manifest.effort,
        context: manifest.context,
        read_only: manifest.read_only,
        missing_tools: {
            let there: Vec<String> = tools.iter().chain(&barred_tools).cloned().collect();
            manifest.tools.missing(&there).cloned().collect()
        },
        tools,
        barred_tools,
        caps,
        own_caps: manifest.limits,
        permissions: terms::summary(chain, workspace),
    }
}

/// Returns the ids of the engine's own tools, which are there whatever the host brings.
pub fn own_tools() -> impl Iterator<Item = &'static str> {
    own_calls().chain([PLAN_EXIT])
}

/// Returns the ids of those among them that need nothing, because the engine carries them out itself.
pub fn own_calls() -> impl Iterator<Item = &'static str> {
    let steering = Steering::ALL.iter().map(|call| call.id());
    [TODO, TASK, QUESTION].into_iter().chain(steering)
}

/// Tells whether calls of one of these are about an agent, whose name patterns of rules are held against.
pub fn is_about_an_agent(call: &str) -> bool {
    let about = [TASK, Steering::Message.id(), Steering::Cancel.id()];
    about.contains(&call)
}

/// Tells whether an id is the engine's own.
fn is_locked(id: &str) -> bool {
    own_tools().any(|own| own == id)
}

/// Returns the ids of what an agent may call, and of what its chain bars it from.
fn ids(parts: &Parts, manifest: &Manifest, chain: &Permissions) -> (Vec<String>, Vec<String>) {
    let barred = barred(parts, manifest, chain);
    let offered = offered(parts, manifest, &barred);
    let ids = offered.into_iter().map(|(spec, _)| spec.id).collect();
    (ids, barred)
}

/// Tells whether a manifest wants a tool. Those that turn to a person (SA-47) are wanted only by their
/// exact names, so that an agent with "all tools" is not one that interrupts the user.
fn wants(wanted: &Toolset, id: &str) -> bool {
    match id {
        QUESTION | PLAN_EXIT => wanted.names(id),
        _ => wanted.has(id),
    }
}

/// Returns the tools that an agent wants and its chain denies whatever the inputs.
fn barred(parts: &Parts, manifest: &Manifest, chain: &Permissions) -> Vec<String> {
    let wanted = &manifest.tools;
    let tools = parts.tools.tools().into_iter();
    let tools = tools.filter(|tool| !is_locked(&tool.spec().id));
    let tools = tools.filter(|tool| wanted.has(&tool.spec().id));
    let tools = tools.filter(|tool| chain.bars(&tool.spec().id, tool.requires()).is_some());
    let tools = tools.map(|tool| tool.spec().id.clone());
    let own = own_tools().filter(|id| wants(wanted, id) && chain.bars(id, &[]).is_some());
    tools.chain(own.map(str::to_owned)).collect()
}

/// Returns what an agent may call: tools in the host's order, then the engine's own calls, whose ids
/// are locked.
fn offered(parts: &Parts, manifest: &Manifest, barred: &[String]) -> Vec<(ToolSpec, Offer)> {
    let wanted = &manifest.tools;
    let has = |id: &str| wants(wanted, id) && !barred.iter().any(|barred| barred == id);
    let tools = parts.tools.tools().into_iter();
    let tools = tools.filter(|tool| !is_locked(&tool.spec().id));
    let tools = tools.chain([PlanExit::tool()]);
    let tools = tools.map(|tool| (tool.spec().clone(), Callable::Tool(tool)));
    let spawnable = parts.registry.for_agents();
    let task = task::spec(spawnable.filter(|agent| manifest.may_spawn(&agent.name)));
    let own = [
        (todo::spec(), Callable::Engine(EngineCall::Todo)),
        (task, Callable::Engine(EngineCall::Task)),
        (question::spec(), Callable::Engine(EngineCall::Question)),
    ];
    let steering =
        Steering::ALL.map(|call| (call.spec(), Callable::Engine(EngineCall::Steer(call))));
    // Without a way to have children there is nobody to look after.
    let steering = steering.into_iter().filter(|_| has(TASK));
    let own = own.into_iter().chain(steering);
    let offer = |(spec, callable)| {
        let schema = parts.tools.schema(&spec);
        (spec, Offer { callable, schema })
    };
    let all = tools.chain(own).filter(|(spec, _)| has(&spec.id));
    all.map(offer).collect()
}

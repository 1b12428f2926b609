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
use offshoot_types::client_tool::ClientTool;
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
use crate::client_tool;
use crate::context::{self, Callable, EngineCall, Offer, Prefix, Surroundings};
use crate::ground;
use crate::kit::Kit;
use crate::limits::Limits;
use crate::question::{self, QUESTION};
use crate::role::{PLAN_EXIT, PlanExit};
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
        let client_tools = {
            let state = self.board.state();
            let root = state.tree.root().and_then(|root| state.tree.agent(root));
            root.map_or(0, |root| root.client_tools_set)
        };
        let key = PrefixKey {
            lineage: lineage.iter().map(|of| self.kin(of)).collect(),
            kit: self.kit.version,
            client_tools,
        };
        self.board.prefix(key, || self.make_prefix(lineage))
    }

    /// Returns what makes the prompt and tools of an agent what they are.
    fn kin(&self, of: &Relative) -> Kin {
        let manifest = self.kit.registry.get(&of.kin.definition);
        let barred =
            manifest.map(|manifest| barred(&self.kit, &self.client_tools(), manifest, &of.chain));
        Kin {
            barred: barred.unwrap_or_default(),
            is_root: of.kin.is_root && self.kit.changes_root_prompt(),
            ..of.kin.clone()
        }
    }

    /// Returns the tools that clients of its session carry out.
    fn client_tools(&self) -> Arc<[ClientTool]> {
        let state = self.board.state();
        let root = state.tree.root().and_then(|root| state.tree.agent(root));
        root.map_or_else(|| Arc::from([]), |root| root.client_tools.clone())
    }

    /// Returns what variables stand for in rules of this agent.
    pub(crate) fn variables(&self) -> Variables<'_> {
        Variables {
            workspace: &self.workspace,
            scratch: self.scratch.as_ref().map(|own| own.folder.as_str()),
            home: self.kit.charter.home(),
        }
    }

    fn make_prefix(&self, lineage: &[Relative]) -> Result<Prefix, ModelError> {
        let Some((Relative { kin, chain }, above)) = lineage.split_first() else {
            let text = "run an agent: its tree does not have it";
            return Err(ModelError::new(ModelErrorKind::Config, text));
        };
        let manifest = &self.manifest(kin)?;
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
            let client_tools = self.client_tools();
            let barred = barred(&self.kit, &client_tools, manifest, chain);
            offered(&self.kit, &client_tools, manifest, &barred)
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
            model: self.kit.models.find(&kin.model)?,
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
                let above = &self.manifest(&parent.kin)?;
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

    fn manifest(&self, kin: &Kin) -> Result<Arc<Manifest>, ModelError> {
        let definition = &kin.definition;
        let manifest = self.kit.registry.get(definition).ok_or_else(|| {
            let text = format!("run agent {definition}: there is no such definition");
            ModelError::new(ModelErrorKind::Config, text)
        })?;
        Ok(if kin.is_root {
            self.kit.of_root(manifest)
        } else {
            manifest.clone()
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
                is_root: false,
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
            barred(&self.kit, &self.client_tools(), manifest, &chain)
        };
        let caps = manifest.limits.or(caps);
        terms(manifest, (tools, barred), &chain, &self.workspace, caps)
    }

    /// Returns the terms of this agent if it becomes another.
    pub(crate) fn terms_of_role(&self, manifest: &Manifest, above: &Permissions) -> Terms {
        let chain = ground::chain_below(above, manifest, &self.variables());
        let tools = ids(&self.kit, &self.client_tools(), manifest, &chain);
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
pub(crate) fn terms_of_root(
    kit: &Kit,
    limits: &Limits,
    manifest: &Manifest,
    opening: &Opening,
) -> Terms {
    let workspace = &opening.workspace;
    let chain = ground::chain_of([manifest], workspace, kit.charter.as_ref(), None);
    let tools = ids(kit, &opening.client_tools, manifest, &chain);
    let caps = root_caps(limits, manifest, opening);
    terms(manifest, tools, &chain, workspace, caps)
}

/// Returns what a root's runs may use: what its manifest or the host says, and no more than whoever
/// opens it.
pub(crate) fn root_caps(limits: &Limits, manifest: &Manifest, opening: &Opening) -> Caps {
    manifest.limits.or(limits.root).narrow(opening.caps)
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
fn ids(
    kit: &Kit,
    client_tools: &[ClientTool],
    manifest: &Manifest,
    chain: &Permissions,
) -> (Vec<String>, Vec<String>) {
    let barred = barred(kit, client_tools, manifest, chain);
    let offered = offered(kit, client_tools, manifest, &barred);
    let ids = offered.into_iter().map(|(spec, _)| spec.id).collect();
    (ids, barred)
}

/// Tells whether a manifest wants a tool that the session has. Those that turn to a person (SA-47) are
/// wanted only by their exact names, so that an agent with "all tools" is not one that interrupts the
/// user.
pub(crate) fn wants(kit: &Kit, wanted: &Toolset, id: &str) -> bool {
    let wants = match id {
        QUESTION | PLAN_EXIT => wanted.names(id),
        _ => wanted.has(id),
    };
    wants && kit.tool_filter.passes(id)
}

/// Returns the tools of the host, then those of the session's clients: a client's tool does not hide one
/// of the host. Ids of the engine's own are locked.
fn unlocked(kit: &Kit, client_tools: &[ClientTool]) -> Vec<Callable> {
    let tools = kit.tools.iter().cloned();
    let tools: Vec<_> = tools.filter(|tool| !is_locked(&tool.spec().id)).collect();
    let is_new = |client: &&ClientTool| {
        let is_taken = tools.iter().any(|tool| tool.spec().id == client.name);
        !is_taken && !is_locked(&client.name)
    };
    let client_tools = client_tools.iter().filter(is_new);
    let client_tools: Vec<_> = client_tools.map(client_tool::tool).collect();
    let tools = tools.into_iter().map(Callable::Tool);
    tools
        .chain(client_tools.into_iter().map(Callable::Client))
        .collect()
}

/// Returns the tools that an agent wants and its chain denies whatever the inputs.
fn barred(
    kit: &Kit,
    client_tools: &[ClientTool],
    manifest: &Manifest,
    chain: &Permissions,
) -> Vec<String> {
    let wanted = &manifest.tools;
    let tools = unlocked(kit, client_tools).into_iter();
    let tools = tools.filter_map(|callable| callable.tool().cloned());
    let tools = tools.filter(|tool| wants(kit, wanted, &tool.spec().id));
    let tools = tools.filter(|tool| chain.bars(&tool.spec().id, tool.requires()).is_some());
    let tools = tools.map(|tool| tool.spec().id.clone());
    let own = own_tools().filter(|id| wants(kit, wanted, id) && chain.bars(id, &[]).is_some());
    tools.chain(own.map(str::to_owned)).collect()
}

/// Returns what an agent may call: tools in the host's order, then the engine's own calls, whose ids
/// are locked.
fn offered(
    kit: &Kit,
    client_tools: &[ClientTool],
    manifest: &Manifest,
    barred: &[String],
) -> Vec<(ToolSpec, Offer)> {
    let wanted = &manifest.tools;
    let has = |id: &str| wants(kit, wanted, id) && !barred.iter().any(|barred| barred == id);
    let tools = unlocked(kit, client_tools).into_iter();
    let tools = tools.chain([Callable::Tool(PlanExit::tool())]);
    let tools = tools.filter_map(|callable| Some((callable.tool()?.spec().clone(), callable)));
    let spawnable = kit.registry.for_agents();
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
        let schema = kit.schema(&spec);
        (spec, Offer { callable, schema })
    };
    let all = tools.chain(own).filter(|(spec, _)| has(&spec.id));
    all.map(offer).collect()
}

//! `offshoot permissions`: what agents may do, and who says so.
//!
//! Looks only. The chain is made and asked by the code that makes and asks it when
//! agents run; here it is only shown, with the places of the rules that people
//! wrote.

mod explain;
mod list;

use std::sync::Arc;

use offshoot_agents::Catalogue;
use offshoot_engine::{chain_in, chain_of};
use offshoot_types::id::AgentId;
use offshoot_types::manifest::Manifest;
use offshoot_types::permission::{Permissions, Rule};
use offshoot_types::tool::Place;
use offshoot_types::tree::Tree;

use crate::assemble::{self, Models};
use crate::cli::{self, PermissionsCommand, Whom};
use crate::config::{self, Settings, Source};
use crate::exit::{Code, Stop};
use crate::lookup::{self, Found};
use crate::rules::Rules;
use crate::{definitions, rules};

/// Carries out `offshoot permissions …`.
pub(crate) async fn permissions(args: cli::Permissions, settings: &Settings) -> Result<Code, Stop> {
    let subject = Subject::find(args.whom(), settings).await?;
    match args.command {
        PermissionsCommand::Explain {
            capability,
            target,
            tool,
            json,
            ..
        } => explain::explain(&subject, &capability, &target, tool.as_deref(), json),
        PermissionsCommand::List { json, .. } => {
            rules::warn_of_all(settings);
            rules::warn_of_strangers(settings, &subject.workspace, &subject.agents);
            list::list(&subject, json)?;
            Ok(Code::Completed)
        }
    }
}

/// Takes a path of agents apart. Names may have slashes of their own: the longest that is one counts.
fn steps(path: &str, catalogue: &Catalogue) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let mut steps = Vec::new();
    let mut at = 0;
    while at < parts.len() {
        let ends = (at + 1..=parts.len()).rev();
        let names = ends.map(|end| (end, parts[at..end].join("/")));
        let found = names
            .into_iter()
            .find(|(_, name)| catalogue.get(name).is_some() || catalogue.fault(name).is_some());
        let (end, name) = found.unwrap_or_else(|| (at + 1, parts[at].to_owned()));
        steps.push(name);
        at = end;
    }
    steps
}

fn within(workspace: &str, scratch: Option<String>, data: Option<String>) -> Place {
    Place {
        scratch,
        off_limits: data,
        ..Place::new(workspace)
    }
}

/// Whose permissions are looked at.
struct Subject {
    /// As people call it: `build/explore`, or the id of an agent.
    name: String,
    workspace: String,
    chain: Permissions,
    rules: Rules,
    /// The agents there are in that folder.
    agents: Catalogue,
    /// Where its tools work. Only an agent of a session has a scratch folder.
    within: Place,
    /// The session, and which of its agents it is.
    session: Option<(Tree, AgentId)>,
}

impl Subject {
    async fn find(whom: &Whom, settings: &Settings) -> Result<Self, Stop> {
        match &whom.session {
            Some(id) => Self::in_session(id, settings).await,
            None => Self::on_path(whom, settings),
        }
    }

    async fn in_session(id: &str, settings: &Settings) -> Result<Self, Stop> {
        let folder = assemble::kept_data_folder(settings)?;
        let Found { agent, session } = lookup::find(&folder.runtime, id).await?;
        let rules = Rules::of(settings);
        let workspace = session.workspace().unwrap_or_default().to_owned();
        let data = assemble::data(&settings.data_dir.value);
        let charter = Arc::new(rules.clone());
        // No model is asked here: without one, only what a script brings is not known.
        let models = assemble::chosen(&settings.model, settings)
            .and_then(|model| Models::load(&model, settings));
        let agents = definitions::load(settings, Some(&workspace), &mut models.unwrap_or_default());
        let tree = session.tree.clone();
        let chain = chain_in(tree, &agent, charter, &agents.registry(), data.as_deref());
        let Some((chain, scratch)) = chain else {
            return Err(Stop::usage(format!("session {} has not begun", session.id)));
        };
        Ok(Self {
            name: agent.to_string(),
            agents,
            within: within(&workspace, scratch, data),
            workspace,
            chain,
            rules,
            session: Some((session.tree, agent)),
        })
    }

    fn on_path(whom: &Whom, settings: &Settings) -> Result<Self, Stop> {
        let workspace = config::workspace(whom.place.cwd.as_deref())?;
        let mut models = Models::load(&assemble::chosen(&settings.model, settings)?, settings)?;
        let catalogue = definitions::load(settings, Some(&workspace), &mut models);
        let name = whom.agent.as_deref().unwrap_or(&settings.agent.value);
        let names = steps(name, &catalogue);
        let most = settings.limits().depth as usize;
        if names.len() > most + 1 {
            return Err(Stop::usage(format!(
                "{name} goes {} levels down, and agents may start others {most} levels deep",
                names.len() - 1
            )));
        }
        let mut path: Vec<Arc<Manifest>> = Vec::new();
        for name in &names {
            definitions::refuse(&catalogue, name)?;
            let found = catalogue.get(name).map(|agent| agent.manifest.clone());
            let found = match path.last() {
                None => {
                    let found = found.filter(|agent| agent.mode.user_may_start());
                    found.ok_or_else(|| definitions::unknown(&catalogue, name))?
                }
                Some(above) => {
                    let registry = catalogue.registry();
                    let mut there = registry.for_agents();
                    let may = |agent: &Arc<Manifest>| {
                        there.any(|own| own.name == agent.name) && above.may_spawn(&agent.name)
                    };
                    found.filter(may).ok_or_else(|| {
                        Stop::usage(format!(
                            "agent {} starts no agent {}",
                            above.name,
                            name.escape_debug()
                        ))
                    })?
                }
            };
            path.push(found);
        }
        let rules = Rules::of(settings);
        let data = assemble::data(&settings.data_dir.value);
        let agents = path.iter().map(AsRef::as_ref);
        let chain = chain_of(agents, &workspace, &rules, data.as_deref());
        Ok(Self {
            name: name.to_owned(),
            agents: catalogue,
            within: within(&workspace, None, data),
            workspace,
            chain,
            rules,
            session: None,
        })
    }

    /// Returns where a rule of a layer is written; `None` where no person wrote it into a config file.
    fn place(&self, layer: &str, rule: &Rule) -> Option<Source> {
        let placed = self.rules.placed(layer, &self.workspace);
        let mut same = placed.into_iter().filter(|(own, _)| own == rule);
        same.next().map(|(_, source)| source)
    }
}

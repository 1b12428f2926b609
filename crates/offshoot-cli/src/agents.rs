//! `offshoot agents`: who there is, and what holds for them.
//!
//! Looks only, and needs no data folder. What is shown is what a session in this
//! folder with this model would have.

mod list;
mod show;

use offshoot_agents::{Definition, Doubt};

use crate::assemble::{self, Models};
use crate::cli::{Agents, AgentsCommand};
use crate::config::{self, Settings};
use crate::definitions;
use crate::exit::{Code, Stop};

/// An agent, and why it is not used although it is there.
#[derive(Clone, Copy)]
struct Listed<'a> {
    agent: &'a Definition,
    /// `None` if it is used.
    doubt: Option<Doubt>,
}

impl<'a> Listed<'a> {
    fn trusted(agent: &'a Definition) -> Self {
        Self { agent, doubt: None }
    }

    fn untrusted(agent: &'a Definition, doubt: Doubt) -> Self {
        let doubt = Some(doubt);
        Self { agent, doubt }
    }
}

/// Carries out `offshoot agents …`.
pub(crate) fn agents(args: Agents, settings: &Settings) -> Result<Code, Stop> {
    let workspace = config::workspace(args.place().cwd.as_deref())?;
    let mut models = Models::load(&assemble::chosen(&settings.model, settings)?, settings)?;
    let catalogue = definitions::load(settings, Some(&workspace), &mut models);
    match args.command {
        AgentsCommand::List { json, .. } => {
            definitions::warn(&catalogue);
            let foreign = definitions::foreign_folders(settings, Some(&workspace));
            list::list(&catalogue, &foreign, json)?;
        }
        AgentsCommand::Show { name, json, .. } => {
            definitions::refuse_broken(&catalogue, &name)?;
            let host = show::Host {
                limits: settings.limits(),
                models: models.would_choose(settings),
            };
            show::show(&catalogue, &name, &host, json)?;
        }
    }
    Ok(Code::Completed)
}

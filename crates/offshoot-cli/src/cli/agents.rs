//! The arguments of `offshoot agents`, and where agents are looked at.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Agents {
    #[command(subcommand)]
    pub(crate) command: AgentsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents: those that a person can start, then those that agents start
    List {
        #[command(flatten)]
        place: Place,
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Show the settings of an agent, defaults included, and its prompt
    Show {
        /// The name of an agent
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        name: String,
        #[command(flatten)]
        place: Place,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Where agents are looked at.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The model of which the session would be; a script may bring agents [default:
    /// $OFFSHOOT_MODEL, else `model` of a config file, else offline]
    #[arg(long, value_name = "PROVIDER/NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: Option<String>,
    /// The folder to look in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

impl Agents {
    pub(crate) fn place(&self) -> &Place {
        match &self.command {
            AgentsCommand::List { place, .. } | AgentsCommand::Show { place, .. } => place,
        }
    }
}

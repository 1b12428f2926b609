//! `offshoot permissions`, as people write it.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::Place;

#[derive(Debug, Args)]
pub(crate) struct Permissions {
    #[command(subcommand)]
    pub(crate) command: PermissionsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Show what an agent may do with one thing, and which rule decides
    ///
    /// Every layer is asked, as it is when a tool is called, and by the same code. The exit code is 0
    /// if it is allowed, 3 if somebody would be asked, and 1 if it is denied.
    #[command(after_help = "\
Examples:
  offshoot permissions explain fs.write src/main.rs
  offshoot permissions explain --agent build/explore/general shell.run \"git push | cat\"
  offshoot permissions explain --session 1f2e3d4c net.fetch docs.example.com")]
    Explain {
        /// What is needed: fs.read, fs.write, shell.run, shell.opaque, net.fetch, agent.switch, …; or a
        /// call that needs nothing: task, message, cancel, …
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        capability: String,
        /// With what: a path, a command line, a host, the name of an agent
        target: String,
        #[command(flatten)]
        whom: Whom,
        /// The tool that needs it [default: the usual one of the capability]
        #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
        tool: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// List the layers of rules that hold for an agent, and where each comes from
    List {
        #[command(flatten)]
        whom: Whom,
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
}

/// Whose permissions are looked at.
#[derive(Debug, Args)]
pub(crate) struct Whom {
    /// The agents from the root down, such as build/explore: each has to be able to start the next
    /// [default: $OFFSHOOT_AGENT, else `agent` of a config file, else build]
    #[arg(long, value_name = "PATH", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) agent: Option<String>,
    /// A session, or an agent of one, with what was allowed there so far
    #[arg(long, value_name = "ID", conflicts_with_all = ["agent", "cwd"])]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) place: Place,
}

impl Permissions {
    pub(crate) fn whom(&self) -> &Whom {
        match &self.command {
            PermissionsCommand::Explain { whom, .. } | PermissionsCommand::List { whom, .. } => {
                whom
            }
        }
    }

    pub(crate) fn cwd(&self) -> Option<&PathBuf> {
        self.whom().place.cwd.as_ref()
    }
}

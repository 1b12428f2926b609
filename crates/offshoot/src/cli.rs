//! The command line, as people write it.
//!
//! Only its shape and its help: what is wrong with a value beyond its type is
//! judged where the value is used.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Runs agents that can run agents.
#[derive(Debug, Parser)]
#[command(name = "offshoot", version, propagate_version = true)]
#[command(after_help = "\
Exit codes: 0 completed, 1 failed, 2 the request cannot be carried out, \
3 the answer is partial, 130 interrupted.

Ids may be cut to at least 8 characters that no other id begins or ends with; the last 8 are best.")]
pub(crate) struct Cli {
    /// Where sessions are kept [default: $OFFSHOOT_DATA_DIR, else $XDG_DATA_HOME/offshoot, else
    /// ~/.local/share/offshoot]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Asks an agent something and prints its answer
    ///
    /// Waits until the agent and every agent it started are done. The answer of each of its turns
    /// goes to stdout, progress to stderr. Ctrl-C cancels the run; a second one leaves at once.
    Run(Run),
    /// Looks at sessions, and talks to them
    Sessions(Sessions),
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// What to ask; `-` reads it from stdin. May be left out with --session, to go on with what
    /// is still waiting there. After a kill, what was under way is lost and told of; a prompt goes
    /// on from there
    pub(crate) prompt: Option<OsString>,
    /// The model, such as scripted/FILE. A session keeps the one it was started with
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// The agent to ask [default: build]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Prints events instead of the answer, one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Continues this session, whose id may be cut, or starts one with this id
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// The folder to work in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

/// Ids may be cut to a part of at least 8 characters that no other id begins or ends with.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// Lists the sessions, the one that changed last first
    List {
        /// Prints one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Shows what happened in a session, or to one agent and those below it
    Show {
        /// The id of a session or of an agent
        id: String,
        /// Cuts nothing; by default long texts and long lists of calls are cut
        #[arg(long)]
        full: bool,
        /// Prints events, one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Shows the agents of a session and what they do
    Tree {
        /// The id of a session
        id: String,
        /// Prints one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Sends a message to a session or to one of its agents
    ///
    /// If another process runs the session, the message is handed to it. Otherwise the session is
    /// run here until it is quiet, and the answer is printed.
    Message {
        /// The id of a session or of an agent
        id: String,
        /// What to say; `-` reads it from stdin
        text: OsString,
        /// Prints events instead of the answer, one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Stops a session or one of its agents, and prints how it ended
    ///
    /// The exit code is 0 whether there was something to stop or not.
    Cancel {
        /// The id of a session or of an agent
        id: String,
        /// Stops only the turn and what it waits for; background agents go on
        #[arg(long)]
        turn: bool,
        /// Prints one JSON object
        #[arg(long)]
        json: bool,
    },
}

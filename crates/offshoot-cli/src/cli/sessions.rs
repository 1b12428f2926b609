//! The arguments of `offshoot sessions`.

use std::ffi::OsString;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use offshoot_types::caps::Span;
use offshoot_types::listing::{Archived, SessionKind, SessionQuery};

use super::{Consent, Trusting, Waiting, most};

#[derive(Debug, Args)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

/// Ids may be cut to a part of at least 8 characters that no other id begins or ends with.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions, the one that changed last first
    List(List),
    /// Show what happened in a session, or to one agent and those below it
    Show {
        /// The id of a session or of an agent
        id: String,
        /// Cut nothing and name every message; by default long texts and long lists of calls are
        /// cut
        #[arg(long)]
        full: bool,
        /// Print the request sent to the model at a step of an agent, or without STEP the next one:
        /// system prompt, tools and messages. Steps are the replies of an agent, from 1. Default
        /// agent: ID
        #[arg(long, num_args = 0..=2, value_names = ["AGENT", "STEP"], conflicts_with = "full")]
        request: Option<Vec<String>>,
        /// Print events, one JSON object a line; with --request, one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show the agents of a session and what they do
    Tree {
        /// The id of a session
        id: String,
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Follow a session that another process runs, until it is quiet
    ///
    /// Looks only: it starts nothing, and Ctrl-C leaves the session as it is. The exit code is that
    /// of the run that was seen to end, 0 if none was, and 130 after Ctrl-C.
    Attach {
        /// The id of a session or of an agent
        id: String,
        /// Show what happened before, too
        #[arg(long)]
        from_start: bool,
        /// Print events instead of answers, one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Send a message to a session or to one of its agents
    ///
    /// If another process runs the session, the message is handed to it. Otherwise the session is
    /// run here until it is quiet, and the answer is printed.
    Message {
        /// The id of a session or of an agent
        id: String,
        /// What to say; `-` reads it from stdin
        text: OsString,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        waiting: Waiting,
        #[command(flatten)]
        trusting: Trusting,
        /// Print events instead of the answer, one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Stop a session or one of its agents, and print how it ended
    ///
    /// The exit code is 0 whether there was something to stop or not.
    Cancel {
        /// The id of a session or of an agent
        id: String,
        /// Stop only the turn and what it waits for; background agents go on
        #[arg(long)]
        turn: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print a session or an agent as JSON: its row, its messages and their parts
    ///
    /// Transcripts of opaque children are nested whole, at any size. A part says `row_is_cut` if its
    /// row in the database holds only a reference.
    Export {
        /// The id of a session or of an agent
        id: String,
        /// One JSON object a line, or one in all
        #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
        format: Format,
    },
    /// Show what a session, or one agent and those below it, changed in files
    ///
    /// As a unified diff. Knows what agents wrote and edited; what a command of a shell did to files
    /// it does not.
    Diff {
        /// The id of a session or of an agent
        id: String,
    },
    /// Put back what a session, or one agent and those below it, changed in files
    ///
    /// A file that somebody edited later is kept as it is. The exit code is 3 if some were kept and
    /// 1 if all were.
    Revert {
        /// The id of a session or of an agent
        id: String,
        /// Print what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Take back the last prompt of a session, or of one of its agents, and all that followed
    ///
    /// Prints how many messages are hidden from here on, and the prompt. What agents did to files
    /// stays (see `sessions revert`); agents that were started by what is taken back are stopped.
    /// An agent that is working is refused: cancel it first.
    #[command(after_help = "\
Examples:
  offshoot sessions rewind 1f2e3d4c                    the last prompt and its answer
  offshoot sessions rewind 1f2e3d4c --prompts 3        the last three
  offshoot sessions rewind 1f2e3d4c --to 9a8b7c6d      all after this message; `show --full` names them")]
    Rewind {
        /// The id of a session or of an agent
        id: String,
        /// The last message that stays
        #[arg(long, value_name = "MESSAGE")]
        to: Option<String>,
        /// How many prompts are taken back
        #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "to")]
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        prompts: u32,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Copy a session, to go on from there in another direction, and print the id of the copy
    ///
    /// The session has to be at rest, and stays as it is. The copy has what is visible of it, up to a
    /// message or to its end; files, processes and what was allowed for the session are not copied.
    Fork {
        /// The id of a session
        id: String,
        /// The last message that is copied; `show --full` names them [default: the last there is]
        #[arg(long, value_name = "MESSAGE")]
        at: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove sessions for good
    ///
    /// What their agents did to files stays. A session that another process runs is refused.
    Rm {
        /// The ids of sessions
        #[arg(required = true)]
        ids: Vec<String>,
        #[command(flatten)]
        consent: Consent,
    },
    /// Wait until sessions or agents have ended what they do, and print how each ended
    ///
    /// Looks only: what nobody runs is told and not waited for. The exit code is that of the worst
    /// end; 124 if the time was up first, and then nothing is stopped; 130 after Ctrl-C.
    Wait {
        /// The ids of sessions or of agents
        #[arg(required = true)]
        ids: Vec<String>,
        /// Wait for the first that ends, not for all
        #[arg(long)]
        any: bool,
        /// Wait no longer than this, such as 30s or 10m
        #[arg(long, value_name = "TIME", value_parser = most::time)]
        timeout: Option<Span>,
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Give a session a name
    Rename {
        /// The id of a session
        id: String,
        /// The name; its first line counts
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        title: String,
    },
    /// Print what was asked in a session, what was done and what is open
    ///
    /// Prints the summary that is there if nothing has happened since it was written, and has one
    /// written otherwise, by the tier `small` or else the session's model.
    Summary {
        /// The id of a session or of an agent
        id: String,
        /// Write a new one in any case
        #[arg(long)]
        fresh: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Close a session: write its summary, if anything has happened since the last one
    ///
    /// Needs the tier `small` in your config, because no other model is asked for a summary that you
    /// did not ask for. `chat` closes its session when you leave it. A closed session can be opened
    /// again.
    ///
    /// Example: offshoot sessions close 01K9
    Close {
        /// The id of a session
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Replace a long conversation by a summary, so that it can go on
    ///
    /// Nothing is lost: `sessions show` has all of it. Models are sent the summary from then on. The
    /// exit code is 0 also where there was nothing to shorten.
    Compact {
        /// The id of a session or of an agent
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Move an agent that its parent waits for to the background
    ///
    /// Its parent goes on at once and is told of the result when there is one. The exit code is 0
    /// whether there was something to promote or not.
    Promote {
        /// The id of an agent
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// List inspectable agents of sessions as well
    #[arg(long)]
    children: bool,
    /// List archived agents too: those whose start was taken back by a rewind
    #[arg(long, requires = "children")]
    archived: bool,
    /// List at most N sessions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// List only sessions with this text in their title, whichever the case of its letters
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

impl List {
    /// Returns the query that lists what is asked for.
    pub(crate) fn query(self) -> SessionQuery {
        SessionQuery {
            kind: if self.children {
                SessionKind::All
            } else {
                SessionKind::Roots
            },
            archived: if self.archived {
                Archived::Shown
            } else {
                Archived::Hidden
            },
            search: self.search,
            limit: self.limit.map(|limit| limit as usize),
            ..SessionQuery::default()
        }
    }
}

impl Sessions {
    pub(super) fn trusting(&self) -> Option<Trusting> {
        match &self.command {
            SessionsCommand::Message { trusting, .. } => Some(*trusting),
            SessionsCommand::List { .. }
            | SessionsCommand::Show { .. }
            | SessionsCommand::Tree { .. }
            | SessionsCommand::Attach { .. }
            | SessionsCommand::Cancel { .. }
            | SessionsCommand::Export { .. }
            | SessionsCommand::Diff { .. }
            | SessionsCommand::Revert { .. }
            | SessionsCommand::Rewind { .. }
            | SessionsCommand::Fork { .. }
            | SessionsCommand::Rm { .. }
            | SessionsCommand::Wait { .. }
            | SessionsCommand::Rename { .. }
            | SessionsCommand::Summary { .. }
            | SessionsCommand::Close { .. }
            | SessionsCommand::Compact { .. }
            | SessionsCommand::Promote { .. } => None,
        }
    }

    /// Tells whether it says yes for a person.
    pub(super) fn consents(&self) -> bool {
        match &self.command {
            SessionsCommand::Message { consent, .. } | SessionsCommand::Rm { consent, .. } => {
                consent.yes
            }
            SessionsCommand::List { .. }
            | SessionsCommand::Show { .. }
            | SessionsCommand::Tree { .. }
            | SessionsCommand::Attach { .. }
            | SessionsCommand::Cancel { .. }
            | SessionsCommand::Export { .. }
            | SessionsCommand::Diff { .. }
            | SessionsCommand::Revert { .. }
            | SessionsCommand::Rewind { .. }
            | SessionsCommand::Fork { .. }
            | SessionsCommand::Wait { .. }
            | SessionsCommand::Rename { .. }
            | SessionsCommand::Summary { .. }
            | SessionsCommand::Close { .. }
            | SessionsCommand::Compact { .. }
            | SessionsCommand::Promote { .. } => false,
        }
    }

    /// Returns how it changes a session or a file, if it does: that is a person's to say.
    pub(super) fn order(&self) -> Option<&'static str> {
        match &self.command {
            SessionsCommand::List { .. }
            | SessionsCommand::Show { .. }
            | SessionsCommand::Tree { .. }
            | SessionsCommand::Attach { .. }
            | SessionsCommand::Export { .. }
            | SessionsCommand::Diff { .. }
            | SessionsCommand::Wait { .. } => None,
            SessionsCommand::Message { .. } => Some("`sessions message`"),
            SessionsCommand::Cancel { .. } => Some("`sessions cancel`"),
            SessionsCommand::Revert { .. } => Some("`sessions revert`"),
            SessionsCommand::Rewind { .. } => Some("`sessions rewind`"),
            SessionsCommand::Fork { .. } => Some("`sessions fork`"),
            SessionsCommand::Rm { .. } => Some("`sessions rm`"),
            SessionsCommand::Rename { .. } => Some("`sessions rename`"),
            SessionsCommand::Summary { .. } => Some("`sessions summary`"),
            SessionsCommand::Close { .. } => Some("`sessions close`"),
            SessionsCommand::Compact { .. } => Some("`sessions compact`"),
            SessionsCommand::Promote { .. } => Some("`sessions promote`"),
        }
    }

    /// Tells whether it works where a repository's config file is wrong: it only looks, or stops or names
    /// something, which has nothing to do with that file.
    pub(crate) fn is_lenient(&self) -> bool {
        match &self.command {
            SessionsCommand::Cancel { .. }
            | SessionsCommand::Rename { .. }
            | SessionsCommand::Promote { .. } => true,
            SessionsCommand::List { .. }
            | SessionsCommand::Show { .. }
            | SessionsCommand::Tree { .. }
            | SessionsCommand::Attach { .. }
            | SessionsCommand::Message { .. }
            | SessionsCommand::Export { .. }
            | SessionsCommand::Diff { .. }
            | SessionsCommand::Revert { .. }
            | SessionsCommand::Rewind { .. }
            | SessionsCommand::Fork { .. }
            | SessionsCommand::Rm { .. }
            | SessionsCommand::Wait { .. }
            | SessionsCommand::Summary { .. }
            | SessionsCommand::Close { .. }
            | SessionsCommand::Compact { .. } => self.order().is_none(),
        }
    }
}

/// How a session is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One object a line.
    Jsonl,
    /// One object.
    Json,
}

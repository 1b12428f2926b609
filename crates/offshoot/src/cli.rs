//! The command line, as people write it.
//!
//! Only its shape and its help: what is wrong with a value beyond its type is
//! judged where the value is used.

mod inbox;
mod most;
mod permissions;
mod trust;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{NonEmptyStringValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Args, Parser, Subcommand, ValueEnum};
use offshoot_types::caps::Span;

pub(crate) use inbox::{Inbox, InboxCommand, Waiting, Words, refuse_time_apart};
pub(crate) use most::Most;
pub(crate) use permissions::{Permissions, PermissionsCommand, Whom};
pub(crate) use trust::{Trust, Trusting, Wish};

use crate::config::{Color, Layer, Level, Source, Sourced};

/// Runs agents that can run agents.
#[derive(Debug, Parser)]
#[command(name = "offshoot", version, propagate_version = true)]
#[command(after_help = "\
Examples:
  offshoot run \"What is this repository about?\"
  git diff | offshoot run -                   the prompt comes from stdin
  offshoot run --continue \"And the tests?\"    go on where you were, in this folder
  offshoot chat                               talk
  offshoot agents list                        whom you can ask
  offshoot sessions list                      what there is
  offshoot inbox list                         what agents wait to be told
  offshoot doctor                             what is missing, and where settings come from

Exit codes: 0 done, 1 failed, 2 the request cannot be carried out, 3 the answer is partial, \
124 the time of `sessions wait` is up, 130 interrupted.

Ids may be cut to at least 8 characters that no other id begins or ends with; the last 8 are best.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) everywhere: Everywhere,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options everywhere")]
pub(crate) struct Everywhere {
    /// Where sessions are kept [default: $OFFSHOOT_DATA_DIR, else `data_dir` of your config file,
    /// else $XDG_DATA_HOME/offshoot, else ~/.local/share/offshoot]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Says nothing on stderr but errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// When output has colours: auto, always or never; NO_COLOR is heeded too [default: auto]
    #[arg(long, global = true, value_name = "WHEN", hide_possible_values = true)]
    pub(crate) color: Option<Color>,
    /// How much is logged, to stderr or to --log-file: off, error, warn, info, debug or trace
    /// [default: off]
    #[arg(long, global = true, value_name = "LEVEL", hide_possible_values = true)]
    pub(crate) log_level: Option<Level>,
    /// A file to log to; it grows. Without --log-level it gets `info`
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Asks an agent something and prints its answer
    ///
    /// Waits until the agent and every agent it started are done. The answer of each of its turns
    /// goes to stdout, progress to stderr. Ctrl-C cancels the run; a second one leaves at once.
    #[command(after_help = "\
Examples:
  offshoot run \"What is this repository about?\"
  offshoot run --model openai-chat/gpt-5 --agent build \"Fix the failing test\"
  offshoot run --max-time 10m --max-tokens 200000 \"Fix the failing test\"
  offshoot run --continue \"And the other one?\"
  offshoot run --session 1f2e3d4c --json - < prompt.txt")]
    Run(Run),
    /// Talks with an agent at the terminal
    ///
    /// What is typed while the agent works is queued. What an agent asks, also one far below, is
    /// answered here: once, for this session, or no with a reason. Ctrl-C stops what runs and keeps
    /// the session; twice leaves.
    Chat(Chat),
    /// Looks at the agents there are
    ///
    /// Those that are built in, your own in `agents/` of the config folder, and the project's in
    /// `.offshoot/agents/`.
    #[command(after_help = "\
Examples:
  offshoot agents list                        who there is, and where they come from
  offshoot agents show explore                what holds for one, and what it is told
  offshoot agents list --json --cwd ../other  for programs, in another folder")]
    Agents(Agents),
    /// Looks at what agents may do, and who says so
    Permissions(Permissions),
    /// Looks at sessions, and talks to them
    Sessions(Sessions),
    /// Answers what agents ask, from anywhere
    ///
    /// Whatever an agent asks, in any session and however far below, waits here until somebody
    /// answers: at the terminal of its session, or from another one.
    Inbox(Inbox),
    /// Shows what a repository brings that acts, and accepts it
    ///
    /// The agents, hooks and MCP servers of a repository may be somebody else's: they are listed,
    /// with what they may do, and used only once you have accepted them, as they are now and in this
    /// folder. What has changed since is asked about
    /// again. Asks at a terminal. `--yes` of other commands never accepts anything.
    #[command(after_help = "\
Examples:
  offshoot trust                              look, and decide
  offshoot trust --list --json                look only, for programs
  offshoot trust --all                        accept all there is now
  offshoot trust --revoke                     accept nothing any more
  offshoot run --trust-project \"...\"          once, without keeping it")]
    Trust(Trust),
    /// Checks what Offshoot needs, and says where settings come from
    ///
    /// Looks only: nothing is created or changed. The exit code is 1 if something fails.
    Doctor {
        #[command(flatten)]
        choice: Choice,
        /// Prints one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Prints a script that completes commands in a shell
    #[command(after_help = "\
Examples:
  offshoot completions bash > ~/.local/share/bash-completion/completions/offshoot
  offshoot completions zsh > ~/.zfunc/_offshoot      with ~/.zfunc in $fpath
  offshoot completions fish > ~/.config/fish/completions/offshoot.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// The shells that commands are completed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// How a session is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One object a line.
    Jsonl,
    /// One object.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// What to ask; `-` reads it from stdin. May be left out with --session and --continue, to go
    /// on with what is still waiting there. After a kill, what was under way is lost and told of; a
    /// prompt goes on from there
    pub(crate) prompt: Option<OsString>,
    #[command(flatten)]
    pub(crate) choice: Choice,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) waiting: Waiting,
    #[command(flatten)]
    pub(crate) trusting: Trusting,
    /// Prints events instead of the answer, one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Continues this session, whose id may be cut, or, with --model, starts one with this id
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Continues the session that changed last of those that work in this folder
    #[arg(long = "continue", conflicts_with = "session")]
    pub(crate) goes_on: bool,
    /// The folder to work in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) most: Most,
}

#[derive(Debug, Args)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) choice: Choice,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) trusting: Trusting,
    /// Continues this session, whose id may be cut, or, with --model, starts one with this id
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Continues the session that changed last of those that work in this folder
    #[arg(long = "continue", conflicts_with = "session")]
    pub(crate) goes_on: bool,
    /// The folder to work in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) most: Most,
}

/// Who is asked, wherever a session is opened.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Choice {
    /// The model: offline, openai-chat/NAME or scripted/FILE. A session keeps the one it was started with [default:
    /// $OFFSHOOT_MODEL, else `model` of a config file, else offline]
    #[arg(long, value_name = "PROVIDER/NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: Option<String>,
    /// The agent to ask; `offshoot agents list` says who there is [default: $OFFSHOOT_AGENT, else
    /// `agent` of a config file, else build]
    #[arg(long, value_name = "NAME", value_parser = AgentName, hide_possible_values = true)]
    pub(crate) agent: Option<String>,
}

/// The built-in agents that people start.
const STARTABLE: [&str; 3] = ["build", "general", "plan"];

/// The name of an agent. Any may be given; shells complete those that are built in.
#[derive(Clone, Copy, Debug)]
struct AgentName;

impl TypedValueParser for AgentName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        NonEmptyStringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        Some(Box::new(STARTABLE.into_iter().map(PossibleValue::new)))
    }
}

/// What a person agrees to beforehand, wherever agents run.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Consent {
    /// Says yes to every permission that is asked for; what is denied stays denied
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Agents {
    #[command(subcommand)]
    pub(crate) command: AgentsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// Lists the agents: those that a person can start, then those that agents start
    List {
        #[command(flatten)]
        place: Place,
        /// Prints one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Shows all that holds for an agent, defaults included, and its prompt
    Show {
        /// The name of an agent
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        name: String,
        #[command(flatten)]
        place: Place,
        /// Prints one JSON object
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
        /// Lists agents of sessions that can be looked into as well
        #[arg(long)]
        children: bool,
        /// Prints one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Shows what happened in a session, or to one agent and those below it
    Show {
        /// The id of a session or of an agent
        id: String,
        /// Cuts nothing and names every message; by default long texts and long lists of calls are
        /// cut
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
    /// Follows a session that another process runs, until it is quiet
    ///
    /// Looks only: it starts nothing, and Ctrl-C leaves the session as it is. The exit code is that
    /// of the run that was seen to end, 0 if none was, and 130 after Ctrl-C.
    Attach {
        /// The id of a session or of an agent
        id: String,
        /// Shows what happened before, too
        #[arg(long)]
        from_start: bool,
        /// Prints events instead of answers, one JSON object a line
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
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        waiting: Waiting,
        #[command(flatten)]
        trusting: Trusting,
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
    /// Prints a session as JSON: its row, its messages and their parts
    Export {
        /// The id of a session, or of an agent that can be looked into
        id: String,
        /// One JSON object a line, or one in all
        #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
        format: Format,
    },
    /// Shows what a session, or one agent and those below it, changed in files
    ///
    /// As a unified diff. Knows what agents wrote and edited; what a command of a shell did to files
    /// it does not.
    Diff {
        /// The id of a session or of an agent
        id: String,
    },
    /// Puts back what a session, or one agent and those below it, changed in files
    ///
    /// A file that somebody edited later is kept as it is. The exit code is 3 if some were kept and
    /// 1 if all were.
    Revert {
        /// The id of a session or of an agent
        id: String,
        /// Says what would be done, and does nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Takes back the last prompt of a session, or of one of its agents, and all that followed
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
        /// Prints one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Copies a session, to go on from there in another direction, and prints the id of the copy
    ///
    /// The session has to be at rest, and stays as it is. The copy has what is visible of it, up to a
    /// message or to its end; files, processes and what was allowed for the session are not copied.
    Fork {
        /// The id of a session
        id: String,
        /// The last message that is copied; `show --full` names them [default: the last there is]
        #[arg(long, value_name = "MESSAGE")]
        at: Option<String>,
        /// Prints one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Removes sessions for good
    ///
    /// What their agents did to files stays. A session that another process runs is refused.
    Rm {
        /// The ids of sessions
        #[arg(required = true)]
        ids: Vec<String>,
        #[command(flatten)]
        consent: Consent,
    },
    /// Waits until sessions or agents have ended what they do, and says how each ended
    ///
    /// Looks only: what nobody runs is told and not waited for. The exit code is that of the worst
    /// end; 124 if the time was up first, and then nothing is stopped; 130 after Ctrl-C.
    Wait {
        /// The ids of sessions or of agents
        #[arg(required = true)]
        ids: Vec<String>,
        /// Waits for the first that ends, not for all
        #[arg(long)]
        any: bool,
        /// Waits no longer than this, such as 30s or 10m
        #[arg(long, value_name = "TIME", value_parser = most::time)]
        timeout: Option<Span>,
        /// Prints one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Gives a session a name
    Rename {
        /// The id of a session
        id: String,
        /// The name; its first line counts
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        title: String,
    },
    /// Says what was asked in a session, what was done and what is open
    ///
    /// Prints the summary that is there if nothing has happened since it was written, and has one
    /// written otherwise, by `small_model` or else the session's model.
    Summary {
        /// The id of a session or of an agent
        id: String,
        /// Has one written in any case
        #[arg(long)]
        fresh: bool,
        /// Prints one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Puts a summary in the place of what was said, so that a long conversation can go on
    ///
    /// Nothing is lost: `sessions show` has all of it. Models are sent the summary from then on. The
    /// exit code is 0 also where there was nothing to shorten.
    Compact {
        /// The id of a session or of an agent
        id: String,
        /// Prints one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Sends an agent that is waited for to the background
    ///
    /// Its parent goes on at once and is told of the result when there is one. The exit code is 0
    /// whether there was something to promote or not.
    Promote {
        /// The id of an agent
        id: String,
        /// Prints one JSON object
        #[arg(long)]
        json: bool,
    },
}

impl Sessions {
    fn trusting(&self) -> Option<Trusting> {
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
            | SessionsCommand::Compact { .. }
            | SessionsCommand::Promote { .. } => None,
        }
    }

    /// Tells whether it says yes for a person.
    fn consents(&self) -> bool {
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
            | SessionsCommand::Compact { .. }
            | SessionsCommand::Promote { .. } => false,
        }
    }

    /// Tells whether it changes nothing: no session, no file.
    pub(crate) fn looks_only(&self) -> bool {
        match &self.command {
            SessionsCommand::List { .. }
            | SessionsCommand::Show { .. }
            | SessionsCommand::Tree { .. }
            | SessionsCommand::Attach { .. }
            | SessionsCommand::Export { .. }
            | SessionsCommand::Diff { .. }
            | SessionsCommand::Wait { .. } => true,
            SessionsCommand::Message { .. }
            | SessionsCommand::Cancel { .. }
            | SessionsCommand::Revert { .. }
            | SessionsCommand::Rewind { .. }
            | SessionsCommand::Fork { .. }
            | SessionsCommand::Rm { .. }
            | SessionsCommand::Rename { .. }
            | SessionsCommand::Summary { .. }
            | SessionsCommand::Compact { .. }
            | SessionsCommand::Promote { .. } => false,
        }
    }
}

impl Cli {
    /// Returns what the flags say about settings.
    pub(crate) fn layer(&self) -> Layer {
        let Everywhere {
            data_dir,
            color,
            log_level,
            log_file,
            quiet: _,
        } = &self.everywhere;
        let (model, agent) = match &self.command {
            Command::Run(Run { choice, .. })
            | Command::Chat(Chat { choice, .. })
            | Command::Doctor { choice, .. } => (choice.model.as_ref(), choice.agent.as_ref()),
            Command::Agents(agents) => (agents.place().model.as_ref(), None),
            Command::Permissions(looks) => (looks.whom().place.model.as_ref(), None),
            Command::Sessions(_)
            | Command::Inbox(_)
            | Command::Trust(_)
            | Command::Completions { .. } => (None, None),
        };
        Layer {
            model: flag("--model", model),
            agent: flag("--agent", agent),
            data_dir: flag("--data-dir", data_dir.as_ref()),
            color: flag("--color", color.as_ref()),
            log_level: flag("--log-level", log_level.as_ref()),
            log_file: flag("--log-file", log_file.as_ref()),
            trust_project: self.trusts_project(),
            ..Layer::default()
        }
    }

    /// Tells whether what the repository brings is used in this call.
    fn trusts_project(&self) -> bool {
        let trusting = match &self.command {
            Command::Run(run) => Some(run.trusting),
            Command::Chat(chat) => Some(chat.trusting),
            Command::Sessions(sessions) => sessions.trusting(),
            Command::Agents(_)
            | Command::Permissions(_)
            | Command::Inbox(_)
            | Command::Trust(_)
            | Command::Doctor { .. }
            | Command::Completions { .. } => None,
        };
        trusting.is_some_and(|trusting| trusting.trust_project)
    }

    /// Returns what only a person can say: that all is allowed, that a folder is trusted, and
    /// whatever is typed in a conversation.
    pub(crate) fn said_by_person(&self) -> Option<&'static str> {
        let (yes, talks) = match &self.command {
            Command::Run(run) => (run.consent.yes, false),
            Command::Chat(chat) => (chat.consent.yes, true),
            Command::Sessions(sessions) => (sessions.consents(), false),
            Command::Agents(_)
            | Command::Permissions(_)
            | Command::Inbox(_)
            | Command::Trust(_)
            | Command::Doctor { .. }
            | Command::Completions { .. } => (false, false),
        };
        match (yes, self.trusts_project(), talks) {
            (true, _, _) => Some("--yes"),
            (false, true, _) => Some("--trust-project"),
            (false, false, true) => Some("`chat`"),
            (false, false, false) => None,
        }
    }

    /// Returns the folder to work in, if it is not the current one.
    pub(crate) fn cwd(&self) -> Option<&Path> {
        match &self.command {
            Command::Run(run) => run.cwd.as_deref(),
            Command::Chat(chat) => chat.cwd.as_deref(),
            Command::Agents(agents) => agents.place().cwd.as_deref(),
            Command::Trust(trust) => trust.cwd.as_deref(),
            Command::Permissions(looks) => looks.cwd().map(PathBuf::as_path),
            Command::Sessions(_)
            | Command::Inbox(_)
            | Command::Doctor { .. }
            | Command::Completions { .. } => None,
        }
    }
}

fn flag<T: Clone>(name: &'static str, value: Option<&T>) -> Option<Sourced<T>> {
    value.map(|value| Sourced::new(value.clone(), Source::Flag(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_that_shells_complete_are_those_that_people_start() {
        let agents = offshoot_agents::builtin().into_iter();
        let agents = agents.filter(|agent| agent.mode.user_may_start());
        let mut names: Vec<String> = agents.map(|agent| agent.name).collect();
        names.sort();
        assert_eq!(names, STARTABLE);
    }
}

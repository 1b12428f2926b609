//! The command line, as people write it.
//!
//! Only its shape and its help: what is wrong with a value beyond its type is
//! judged where the value is used.

mod agents;
mod inbox;
mod most;
mod permissions;
mod sessions;
mod trust;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser,
};
use clap::{Arg, Args, Parser, Subcommand, ValueEnum};

pub(crate) use agents::{Agents, AgentsCommand, Place};
pub(crate) use inbox::{Inbox, InboxCommand, Waiting, Words, refuse_time_apart};
pub(crate) use most::Most;
pub(crate) use permissions::{Permissions, PermissionsCommand, Whom};
pub(crate) use sessions::{Format, Sessions, SessionsCommand};
pub(crate) use trust::{Trust, Trusting, Wish};

use crate::config::{Color, Layer, Level, Source, Sourced, Word};

/// Run agents that can run agents.
#[derive(Debug, Parser)]
#[command(name = "offshoot", version, propagate_version = true)]
#[command(after_help = "\
Examples:
  offshoot run \"What is this repository about?\"
  git diff | offshoot run \"Review this\"       text on stdin is context
  offshoot run --continue \"And the tests?\"    go on where you were, in this folder
  offshoot                                    talk, at a terminal
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
    /// Print only errors on stderr; a chat shows only calls that fail
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// When output has colours: auto, always or never; NO_COLOR is heeded too [default: auto]
    #[arg(long, global = true, value_name = "WHEN", hide_possible_values = true, value_parser = one_of::<Color>())]
    pub(crate) color: Option<Color>,
    /// How much is logged, to stderr or to --log-file: off, error, warn, info, debug or trace
    /// [default: off]
    #[arg(long, global = true, value_name = "LEVEL", hide_possible_values = true, value_parser = one_of::<Level>())]
    pub(crate) log_level: Option<Level>,
    /// A file to log to; it grows. Without --log-level it gets `info`
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a prompt and print the answer
    ///
    /// Waits until the agent and every agent it started are done. The answer of each of its turns
    /// goes to stdout, progress to stderr. Ctrl-C cancels the run; a second one leaves at once.
    #[command(after_help = "\
Examples:
  offshoot run \"What is this repository about?\"
  offshoot run --model openai-chat/gpt-5 --agent build \"Fix the failing test\"
  offshoot run --max-time 10m --max-tokens 200000 \"Fix the failing test\"
  offshoot run --continue \"And the other one?\"
  git diff | offshoot run \"Review this\"
  offshoot run --session 1f2e3d4c --json - < prompt.txt")]
    Run(Run),
    /// Chat with an agent at the terminal
    ///
    /// What is typed while the agent works is queued. What an agent asks, also one far below, is
    /// answered here: once, for this session, or no with a reason. Ctrl-C stops what runs and keeps
    /// the session; twice leaves.
    #[command(after_help = "\
Examples:
  offshoot chat
  offshoot chat --agent plan
  offshoot chat --continue             the last session of this folder")]
    Chat(Chat),
    /// Serve an editor over stdin and stdout, by the Agent Client Protocol
    ///
    /// The editor starts this command, opens sessions in its folders and answers what agents ask. What a
    /// repository brings is used once you have accepted it with `offshoot trust`.
    #[command(after_help = "\
Example, in the settings of Zed:
  \"agent_servers\": { \"Offshoot\": { \"command\": \"offshoot\", \"args\": [\"acp\"] } }")]
    Acp {
        #[command(flatten)]
        choice: Choice,
    },
    /// List and inspect agents
    ///
    /// Those that are built in, your own in `agents/` of the config folder, and the project's in
    /// `.offshoot/agents/`.
    #[command(after_help = "\
Examples:
  offshoot agents list                        who there is, and where they come from
  offshoot agents show explore                what holds for one, and what it is told
  offshoot agents list --json --cwd ../other  for programs, in another folder")]
    Agents(Agents),
    /// Show what agents may do, and which rule decides
    Permissions(Permissions),
    /// List, inspect and control sessions
    #[command(after_help = "\
Examples:
  offshoot sessions list
  offshoot sessions tree 1f2e3d4c
  offshoot sessions message 1f2e3d4c \"Go on with the tests\"")]
    Sessions(Sessions),
    /// List and answer what agents ask, from any terminal
    ///
    /// A request of any agent, in any session, waits here until it is answered: at the terminal of its
    /// session, or from another one.
    Inbox(Inbox),
    /// Review and trust the agents, hooks and MCP servers in this repository
    ///
    /// The agents, hooks and MCP servers of a repository may be somebody else's: they are listed,
    /// with what they may do, and used only once you have accepted them, as they are now and in this
    /// folder. What has changed since is asked about
    /// again. Asks at a terminal. `--yes` of other commands never accepts anything. MCP servers are
    /// not started yet: accepting one records your decision for a version that starts them.
    #[command(after_help = "\
Examples:
  offshoot trust                              look, and decide
  offshoot trust --list --json                look only, for programs
  offshoot trust --all                        accept all there is now
  offshoot trust --revoke                     accept nothing any more
  offshoot run --trust-project \"...\"          once, without keeping it")]
    Trust(Trust),
    /// Check what Offshoot needs, and show where settings come from
    ///
    /// Creates and changes nothing. The exit code is 1 if a check fails.
    Doctor {
        #[command(flatten)]
        choice: Choice,
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Print a completion script for a shell
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

/// Returns a parser of a setting that is one of a few words.
fn one_of<T: Word + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let words = T::ALL.iter().map(|value| value.word());
    PossibleValuesParser::new(words).try_map(|word| T::named(&word).ok_or("there is no such word"))
}

/// The shells that commands are completed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// What to ask; `-` reads it from stdin. Text piped in beside it is context for it. May be left out with --session and --continue, to go
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
    /// Send this file with the prompt, a picture or any other; can be given more than once. So does a
    /// word @PATH in the prompt that names a file of the folder to work in
    #[arg(long, value_name = "FILE", requires = "prompt")]
    pub(crate) attach: Vec<PathBuf>,
    /// Print events instead of the answer, one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Continue this session, whose id may be cut, or, with --model, start one with this id
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Continue the session that changed last of those that work in this folder
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
    /// Continue this session, whose id may be cut, or, with --model, start one with this id
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Continue the session that changed last of those that work in this folder
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
    /// Allow every permission that is asked for; what a rule denies stays denied
    #[arg(long)]
    pub(crate) yes: bool,
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
            | Command::Acp { choice }
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
            Command::Acp { .. }
            | Command::Agents(_)
            | Command::Permissions(_)
            | Command::Inbox(_)
            | Command::Trust(_)
            | Command::Doctor { .. }
            | Command::Completions { .. } => None,
        };
        trusting.is_some_and(|trusting| trusting.trust_project)
    }

    /// Returns what only a person can say: that all is allowed, that a folder is trusted, whatever is
    /// typed in a conversation, and orders to sessions. (To which session `run` speaks is not known
    /// here.)
    pub(crate) fn said_by_person(&self) -> Option<&'static str> {
        let (yes, said) = match &self.command {
            Command::Run(run) => (run.consent.yes, None),
            Command::Chat(chat) => (chat.consent.yes, Some("`chat`")),
            // Its client answers what agents ask.
            Command::Acp { .. } => (false, Some("`acp`")),
            Command::Sessions(sessions) => (sessions.consents(), sessions.order()),
            Command::Agents(_)
            | Command::Permissions(_)
            | Command::Inbox(_)
            | Command::Trust(_)
            | Command::Doctor { .. }
            | Command::Completions { .. } => (false, None),
        };
        match (yes, self.trusts_project()) {
            (true, _) => Some("--yes"),
            (false, true) => Some("--trust-project"),
            (false, false) => said,
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
            Command::Acp { .. }
            | Command::Sessions(_)
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

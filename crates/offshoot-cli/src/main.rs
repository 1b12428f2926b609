//! The `offshoot` binary: reads the command line, does it, says how it went.
//!
//! Everything is decided elsewhere; here an ending becomes an exit code and, if
//! there is something to say, one line on stderr.

mod acp;
mod agents;
mod answers;
mod assemble;
mod attach;
mod calls;
mod changes;
mod chat;
mod cli;
mod clock;
mod completions;
mod config;
mod console;
mod definitions;
mod doctor;
mod drive;
mod env;
mod exit;
mod face;
mod follow;
mod hooks;
mod inbox;
mod inside_agent;
mod logging;
mod lookup;
mod output;
mod permissions;
mod prompt;
mod render;
mod rules;
mod run;
mod servers;
mod sessions;
mod signals;
mod table;
mod terminal;
mod tree_view;
mod trust;
mod view;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::cli::{Cli, Command};
use crate::config::{Files, Settings};
use crate::env::Surroundings;
use crate::exit::{Code, Stop};
use crate::output::Loudness;

fn main() -> ExitCode {
    // Before anything else: this is how a command's processes are kept.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|first| first == assemble::KEEP) {
        return offshoot_tools::shell::keep(words.next()).into();
    }
    inside_agent::be_known();
    let read = cli::refuse_time_apart(std::env::args_os()).map(|()| parse());
    let code = match read.and_then(|cli| start(cli, &env::of_process())) {
        Ok(code) => code,
        Err(stop) => {
            tracing::error!("{stop}");
            output::complain(&stop.to_string());
            stop.code()
        }
    };
    tracing::info!(code = code.number(), "end");
    code.into()
}

/// Reads the command line. Without a command a terminal gets a chat, and anything else the usage.
fn parse() -> Cli {
    let read = Cli::try_parse();
    let names_nothing = |error: &clap::Error| {
        let kind = error.kind();
        kind == ErrorKind::MissingSubcommand
            || kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    };
    match read {
        Ok(cli) => cli,
        Err(error) if names_nothing(&error) && terminal::is_interactive() => {
            Cli::parse_from(std::env::args_os().chain([OsString::from("chat")]))
        }
        Err(error) => error.exit(),
    }
}

fn start(cli: Cli, surroundings: &Surroundings) -> Result<Code, Stop> {
    output::set_loudness(if cli.everywhere.quiet {
        Loudness::Quiet
    } else {
        Loudness::Normal
    });
    if let Some(what) = cli.said_by_person() {
        inside_agent::refuse(what)?;
    }
    let (flags, cwd) = (cli.layer(), cli.cwd().map(Path::to_owned));
    let load = |files| Settings::load(flags.clone(), cwd.as_deref(), surroundings, files);
    match cli.command {
        Command::Run(run) => {
            let settings = begin(load(Files::Read)?)?;
            rules::warn(&settings);
            blocking(Box::pin(run::run(run, &settings)))
        }
        Command::Chat(chat) => {
            let settings = begin(load(Files::Read)?)?;
            rules::warn(&settings);
            blocking(Box::pin(chat::chat(chat, &settings)))
        }
        Command::Acp { choice: _ } => {
            let settings = begin(load(Files::Own)?)?;
            blocking(Box::pin(acp::acp(&settings)))
        }
        Command::Agents(agents) => {
            let settings = begin(load(Files::Read)?)?;
            agents::agents(agents, &settings)
        }
        Command::Trust(args) => {
            // What the repository's own file says has no say in it.
            let settings = begin(load(Files::Own)?)?;
            trust::trust(args, &settings)
        }
        Command::Permissions(looks) => {
            let settings = begin(load(Files::Read)?)?;
            blocking(Box::pin(permissions::permissions(looks, &settings)))
        }
        Command::Sessions(sessions) => {
            let settings = if sessions.is_lenient() {
                lenient(load)?
            } else {
                load(Files::Read)?
            };
            let settings = begin(settings)?;
            blocking(Box::pin(sessions::sessions(sessions, &settings)))
        }
        Command::Inbox(inbox) => {
            let settings = begin(lenient(load)?)?;
            blocking(Box::pin(inbox::inbox(inbox, &settings)))
        }
        // These two work where settings are wrong, and leave no log.
        Command::Doctor { json, choice: _ } => {
            let settings = match load(Files::Read) {
                Ok(settings) => Ok(settings),
                Err(stop) => Err((stop, load(Files::Ignore).ok())),
            };
            blocking(Box::pin(doctor::doctor(settings, surroundings, json)))
        }
        Command::Completions { shell } => {
            completions::print(shell)?;
            Ok(Code::Completed)
        }
    }
}

/// Loads settings. Whoever looks, stops something or says no is not kept from it by what a repository
/// brought; what its agents may do is read where they run.
fn lenient(load: impl Fn(Files) -> Result<Settings, Stop>) -> Result<Settings, Stop> {
    match load(Files::Read) {
        Err(stop) => {
            let Ok(settings) = load(Files::Own) else {
                return Err(stop);
            };
            output::note(&format!("warning: {stop}; the file is left out"));
            Ok(settings)
        }
        Ok(settings) => Ok(settings),
    }
}

/// Begins to log, and notes first what holds.
fn begin(settings: Settings) -> Result<Settings, Stop> {
    logging::start(&settings)?;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, data_dir = %settings.data_dir.value.display(), "start");
    for file in &settings.files {
        tracing::info!(file = %file.display(), "read config");
    }
    for (name, value, source) in settings.made() {
        tracing::info!(name, value, %source, "setting");
    }
    Ok(settings)
}

/// Runs a command to its end.
fn blocking(command: impl Future<Output = Result<Code, Stop>>) -> Result<Code, Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::Failed(anyhow::Error::new(error).context("start the runtime")))?;
    if let Err(error) = offshoot_tools::shell::adopt_orphans() {
        tracing::warn!(%error, "adopt orphans");
    }
    let ended = runtime.block_on(command);
    // Whatever still blocks a thread (a tool that reads from a pipe) does not keep us.
    runtime.shutdown_background();
    ended
}

//! The log for people who look for a fault: off unless it is asked for.
//!
//! Goes to stderr or to a file, never to stdout. Has only what our own crates
//! say, so that no library can put a header or a key there. Says what was asked
//! and how it ended, never what was talked about.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Mutex;

use offshoot_types::command::{Command, Order, Scope};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Level, Settings, Sourced};
use crate::exit::Stop;

/// What the names of our crates begin with.
const OURS: &str = "offshoot";

/// Begins to log, if that is asked for.
pub(crate) fn start(settings: &Settings) -> Result<(), Stop> {
    let level = match (&settings.log_level, &settings.log_file) {
        (Some(level), _) => filter(level.value),
        // Who names a file wants something in it.
        (None, Some(_)) => LevelFilter::INFO,
        (None, None) => LevelFilter::OFF,
    };
    if level == LevelFilter::OFF {
        return Ok(());
    }
    let ours = Targets::new().with_target(OURS, level);
    // A log that cannot be written is no reason to say something else on stderr.
    let lines = fmt::layer().with_ansi(false).log_internal_errors(false);
    let started = match &settings.log_file {
        Some(file) => {
            let lines = lines.with_writer(Mutex::new(open(file)?));
            tracing_subscriber::registry()
                .with(lines)
                .with(ours)
                .try_init()
        }
        None => {
            let lines = lines.with_writer(std::io::stderr);
            tracing_subscriber::registry()
                .with(lines)
                .with(ours)
                .try_init()
        }
    };
    started.map_err(|error| Stop::Failed(anyhow::Error::new(error).context("begin to log")))
}

/// Opens a log to add to it; it is for its owner only.
fn open(file: &Sourced<std::path::PathBuf>) -> Result<File, Stop> {
    let path = &file.value;
    let mut options = OpenOptions::new();
    let opened = options.append(true).create(true).mode(0o600).open(path);
    opened.map_err(|error| {
        let place = path.display();
        Stop::usage(format!(
            "open log file {place}, from {}: {error}",
            file.source
        ))
    })
}

/// Notes what is asked of a session; not the words.
pub(crate) fn sent(command: &Command) {
    let order = match &command.order {
        Order::Open(_) => "open",
        Order::Prompt(_) => "prompt",
        Order::Cancel(Scope::Run) => "cancel",
        Order::Cancel(Scope::Turn) => "cancel turn",
        Order::Promote => "promote",
        Order::Answer(_) => "answer",
        Order::Resume => "resume",
        Order::Rename(_) => "rename",
        Order::Summarise => "summarise",
        Order::Close => "close",
        Order::Compact => "compact",
        Order::SetClientTools(_) => "set client tools",
        Order::SetRole(_) => "set role",
        Order::Delete(_) => "delete",
        Order::Rewind(_) => "rewind",
        Order::Fork(_) => "fork",
        Order::Spawn(_) => "spawn",
    };
    let Command {
        id, tree, agent, ..
    } = command;
    tracing::info!(command = %id, session = %tree, %agent, order, "sent");
}

fn filter(level: Level) -> LevelFilter {
    match level {
        Level::Off => LevelFilter::OFF,
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    }
}

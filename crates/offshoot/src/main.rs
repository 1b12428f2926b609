//! The `offshoot` binary: reads the command line, does it, says how it went.
//!
//! Everything is decided elsewhere; here an ending becomes an exit code and, if
//! there is something to say, one line on stderr.

mod assemble;
mod cli;
mod clock;
mod config;
mod drive;
mod env;
mod exit;
mod follow;
mod json_events;
mod lookup;
mod output;
mod prompt;
mod render;
mod run;
mod sessions;
mod signals;
mod tree_view;
mod view;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::exit::{Code, Stop};

fn main() -> ExitCode {
    let code = match start(Cli::parse()) {
        Ok(code) => code,
        Err(stop) => {
            output::complain(&stop.to_string());
            stop.code()
        }
    };
    code.into()
}

fn start(cli: Cli) -> Result<Code, Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::Failed(anyhow::Error::new(error).context("start the runtime")))?;
    let data_dir = config::data_dir(cli.data_dir)?;
    let ended = runtime.block_on(async {
        match cli.command {
            Command::Run(run) => Box::pin(run::run(run, &data_dir)).await,
            Command::Sessions(sessions) => Box::pin(sessions::sessions(sessions, &data_dir)).await,
        }
    });
    // Whatever still blocks a thread (a tool that reads from a pipe) does not keep us.
    runtime.shutdown_background();
    ended
}

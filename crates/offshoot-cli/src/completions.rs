//! `offshoot completions`: prints a script that completes commands in a shell.
//!
//! Needs no settings and no data, so that it works where they are wrong.

use clap::CommandFactory;
use clap_complete::generate;
use clap_complete::shells;

use crate::cli::{Cli, Shell};
use crate::exit::Stop;
use crate::output::Stdout;

/// Prints the script.
pub(crate) fn print(shell: Shell) -> Result<(), Stop> {
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    // Made whole before it is written: its maker does not expect that a reader leaves.
    let mut script = Vec::new();
    match shell {
        Shell::Bash => generate(shells::Bash, &mut command, name, &mut script),
        Shell::Zsh => generate(shells::Zsh, &mut command, name, &mut script),
        Shell::Fish => generate(shells::Fish, &mut command, name, &mut script),
    }
    let script = String::from_utf8_lossy(&script);
    Stdout::default().line(script.trim_end())?;
    Ok(())
}

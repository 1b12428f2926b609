//! The hooks of this call: commands of the user's own config file.
//!
//! Those of a project's file are told of and not used: see `config/hook.rs`.

use std::sync::Arc;

use offshoot_tools::hook::{CommandHook, Commands, Matcher};
use offshoot_tools::shell::{Environment, Keeper};
use offshoot_types::hook::Hooks;

use crate::config::{Hook, Settings};
use crate::output;

/// Makes hooks of settings; their commands are kept like those of `bash`.
pub(crate) fn assemble(hooks: &[Hook], keeper: Keeper, environment: Environment) -> Hooks {
    let mut assembled = Hooks::default();
    if hooks.is_empty() {
        return assembled;
    }
    let commands = Commands::new(keeper, environment);
    for hook in hooks {
        assembled.watch(Arc::new(CommandHook {
            name: hook.name.clone(),
            point: hook.event,
            // It was read before; what cannot be read is about everything.
            matcher: Matcher::parse(&hook.matcher).unwrap_or_else(|_| Matcher::all()),
            command: hook.command.clone(),
            limit: hook.limit,
            commands: commands.clone(),
        }));
    }
    assembled
}

/// Says which hooks of the project are not used.
pub(crate) fn warn(settings: &Settings) {
    let unused = settings.project_hooks();
    let Some(first) = unused.first() else {
        return;
    };
    let many = match unused.len() {
        1 => "a hook".to_owned(),
        many => format!("{many} hooks"),
    };
    output::note(&format!(
        "{many} of this project, from {}, will not run: a repository does not run commands of its \
         own here; copy what you want into your own config file",
        first.source
    ));
}

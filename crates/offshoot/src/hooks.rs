//! The hooks of this call: commands of the user's own config file, and those of the project's that the
//! user has accepted.
//!
//! The others are told of and not used. What a command runs in turn is not looked at: a script of the
//! repository may change after its hook was accepted.

use std::path::Path;
use std::sync::Arc;

use offshoot_tools::hook::{CommandHook, Commands, Matcher};
use offshoot_tools::shell::{Environment, Keeper};
use offshoot_types::hook::Hooks;

use crate::config::{Hook, Settings};
use crate::output;
use crate::trust::{self, Digest, Kind, Thing, Trust};

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

/// Returns the hooks that a folder brings, each with what there is to be accepted of it.
pub(crate) fn brought(settings: &Settings, workspace: &str) -> Vec<(Hook, Thing)> {
    // A file that cannot be read brings none; whoever works there is told what is wrong with it.
    let hooks = settings.search.project_hooks(Path::new(workspace));
    let hooks = hooks.unwrap_or_default();
    if hooks.is_empty() {
        return Vec::new();
    }
    let trust = Trust::of(settings, workspace);
    let thing = |(index, hook): (usize, Hook)| {
        let text = format!(
            "event = {:?}\nmatcher = {:?}\ncommand = {:?}\ntimeout = {}\n",
            hook.event.to_string(),
            hook.matcher,
            hook.command,
            hook.limit.as_millis()
        );
        let digest = Digest::of(text.as_bytes());
        let path = format!("offshoot.toml#hooks.{index}");
        let thing = Thing {
            kind: Kind::Hook,
            name: hook.name.clone(),
            standing: trust.standing(Kind::Hook, &path, &digest),
            may: trust::what_a_hook_may(&hook),
            path,
            digest,
            text,
        };
        (hook, thing)
    };
    hooks.into_iter().enumerate().map(thing).collect()
}

/// Returns the hooks of a folder that its user has accepted.
pub(crate) fn accepted(settings: &Settings, workspace: &str) -> Vec<Hook> {
    let brought = brought(settings, workspace).into_iter();
    let accepted = brought.filter(|(_, thing)| thing.is_accepted());
    accepted.map(|(hook, _)| hook).collect()
}

/// Says which hooks of a folder are not used.
pub(crate) fn warn(settings: &Settings, workspace: &str) {
    let brought = brought(settings, workspace).into_iter();
    let unused: Vec<Hook> = brought
        .filter(|(_, thing)| !thing.is_accepted())
        .map(|(hook, _)| hook)
        .collect();
    let Some(first) = unused.first() else {
        return;
    };
    let many = match unused.len() {
        1 => "a hook".to_owned(),
        many => format!("{many} hooks"),
    };
    output::note(&format!(
        "{many} of this project, from {}, will not run until you accept it; see \"offshoot trust\"",
        first.source
    ));
}

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
use crate::exit::Stop;
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
            // A project's has no say about another's sessions, which this process may recover.
            folder: hook.folder(),
            commands: commands.clone(),
        }));
    }
    assembled
}

/// Returns the hooks that a folder brings, each with what there is to be accepted of it; fails if its
/// file cannot be read.
pub(crate) fn brought(settings: &Settings, workspace: &str) -> Result<Vec<(Hook, Thing)>, Stop> {
    let mut hooks = settings.search.project_hooks(Path::new(workspace))?;
    // What is accepted is accepted in this very folder, so a file of one above it has no say.
    hooks.retain(|hook| hook.folder().as_deref() == Some(workspace));
    if hooks.is_empty() {
        return Ok(Vec::new());
    }
    let trust = Trust::of(settings, workspace);
    let thing = |(index, hook): (usize, Hook)| {
        let text = format!(
            "name = {:?}\nevent = {:?}\nmatcher = {:?}\ncommand = {:?}\ntimeout = {}\n",
            hook.name,
            hook.event.to_string(),
            hook.matcher,
            hook.command,
            hook.limit.as_secs_f64()
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
    Ok(hooks.into_iter().enumerate().map(thing).collect())
}

/// Returns the hooks of a folder that its user has accepted.
pub(crate) fn accepted(settings: &Settings, workspace: &str) -> Vec<Hook> {
    // Of a file that cannot be read nothing is used; whoever works there is told what is wrong.
    let brought = brought(settings, workspace).unwrap_or_default().into_iter();
    let accepted = brought.filter(|(_, thing)| thing.is_accepted());
    accepted.map(|(hook, _)| hook).collect()
}

/// Says which hooks of a folder are not used.
pub(crate) fn warn(settings: &Settings, workspace: &str) {
    let brought = brought(settings, workspace).unwrap_or_default().into_iter();
    let unused: Vec<Hook> = brought
        .filter(|(_, thing)| !thing.is_accepted())
        .map(|(hook, _)| hook)
        .collect();
    let Some(first) = unused.first() else {
        return;
    };
    let (many, them) = match unused.len() {
        1 => ("a hook".to_owned(), "it"),
        many => (format!("{many} hooks"), "them"),
    };
    output::note(&format!(
        "{many} of this project, from {}, will not run until you accept {them}; see \"offshoot trust\"",
        first.source
    ));
}

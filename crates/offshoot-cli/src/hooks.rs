//! The hooks of this call: commands of the user's own config file, and those of the project's that the
//! user has accepted.
//!
//! The others are told of and not used. What a command runs in turn is not looked at: a script of the
//! repository may change after its hook was accepted.

use std::path::Path;
use std::sync::Arc;

use offshoot_agents::{Catalogue, Doubt};
use offshoot_tools::hook::{CommandHook, Commands, Matcher};
use offshoot_tools::shell::{Environment, Keeper};
use offshoot_types::hook::{Hooks, Point};
use offshoot_types::suggest;

use crate::config::{Hook, Settings};
use crate::exit::Stop;
use crate::trust::{self, Digest, Key, Kind, Standing, Thing, Trust};
use crate::{assemble, output, render};

/// Makes hooks of settings; their commands are kept like those of `bash`.
pub(crate) fn assemble(hooks: &[Hook], keeper: Keeper, environment: Environment) -> Hooks {
    let mut assembled = Hooks::default();
    if hooks.is_empty() {
        return assembled;
    }
    assembled.on_unheard(|_, hooked| {
        output::note(&render::harmless(&format!(
            "hook {}",
            render::hooked(hooked)
        )));
    });
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
    let texts: Vec<String> = hooks.iter().map(text).collect();
    let digests: Vec<Digest> = texts.iter().map(|it| Digest::of(it.as_bytes())).collect();
    let parts = hooks.into_iter().zip(texts).enumerate();
    let brought = parts.map(|(index, (hook, text))| {
        let digest = digests[index].clone();
        let file = format!("{}#hooks", hook.file().unwrap_or_default());
        let key = Key::of_content(&file, hook.named.then_some(&*hook.name), &digest);
        let thing = Thing {
            kind: Kind::Hook,
            name: hook.name.clone(),
            standing: trust.standing(Kind::Hook, &key, &digest, &digests),
            may: trust::what_a_hook_may(&hook),
            path: format!("{file}.{index}"),
            key,
            digest,
            text,
        };
        (hook, thing)
    });
    Ok(brought.collect())
}

/// Returns what of a hook is accepted, and shown to who wants to see it.
fn text(hook: &Hook) -> String {
    format!(
        "name = {:?}\nevent = {:?}\nmatcher = {:?}\ncommand = {:?}\ntimeout = {}\n",
        hook.name,
        hook.event.to_string(),
        hook.matcher,
        hook.command,
        hook.limit.as_secs_f64()
    )
}

/// Returns the hooks of a folder that its user has accepted.
pub(crate) fn accepted(settings: &Settings, workspace: &str) -> Vec<Hook> {
    // Of a file that cannot be read nothing is used; whoever works there is told what is wrong.
    let brought = brought(settings, workspace).unwrap_or_default().into_iter();
    let accepted = brought.filter(|(_, thing)| thing.is_accepted());
    accepted.map(|(hook, _)| hook).collect()
}

/// Returns the hooks that are used in a folder: the user's own, and those of it that are accepted.
pub(crate) fn used(settings: &Settings, workspace: &str) -> Vec<Hook> {
    let mut used = settings.hooks();
    used.extend(accepted(settings, workspace));
    used
}

/// Returns the hooks that are told when a session of a folder is let go, by name.
pub(crate) fn at_end(settings: &Settings, workspace: &str) -> Vec<String> {
    let used = used(settings, workspace).into_iter();
    let hears = |hook: &Hook| Matcher::parse(&hook.matcher).is_ok_and(|it| it.matches("other"));
    let ends = used.filter(|hook| hook.event == Point::SessionEnd && hears(hook));
    ends.map(|hook| hook.name).collect()
}

/// Returns the hooks of a folder that nobody has accepted.
pub(crate) fn unused(settings: &Settings, workspace: &str) -> Vec<Hook> {
    let brought = brought(settings, workspace).unwrap_or_default().into_iter();
    let unused = brought.filter(|(_, thing)| !thing.is_accepted());
    unused.map(|(hook, _)| hook).collect()
}

/// Returns the first hook of the project that belongs to a folder above, where it is used.
fn above(settings: &Settings, workspace: &str) -> Option<Hook> {
    let hooks = settings.search.project_hooks(Path::new(workspace)).ok()?;
    let mut hooks = hooks.into_iter();
    hooks.find(|hook| hook.folder().as_deref() != Some(workspace))
}

/// Says which hooks of a folder are not used, and which are never called.
pub(crate) fn warn(settings: &Settings, workspace: &str, agents: &Catalogue) {
    for oddity in oddities(&used(settings, workspace), agents) {
        output::note(&render::harmless(&format!("warning: {oddity}")));
    }
    if let Some(above) = above(settings, workspace) {
        output::note(&format!(
            "the hooks of {} do not run here: they are for sessions of the folder of that file",
            above.source
        ));
    }
    warn_of_unused(settings, workspace);
}

/// Says which hooks of a folder are not used, and why. Who relied on a guard is told whatever they want
/// to hear.
fn warn_of_unused(settings: &Settings, workspace: &str) {
    let brought = brought(settings, workspace).unwrap_or_default();
    let there: Vec<Digest> = brought.iter().map(|(_, it)| it.digest.clone()).collect();
    let unused = brought.into_iter().filter(|(_, it)| !it.is_accepted());
    let is_changed = |thing: &Thing| thing.standing == Standing::Doubted(Doubt::Changed);
    let (changed, new): (Vec<_>, Vec<_>) = unused.partition(|(_, thing)| is_changed(thing));
    let trust = Trust::of(settings, workspace);
    if let Some(problem) = trust.problem() {
        let all = || changed.iter().chain(&new);
        if all().next().is_some() {
            let text = format!("no hook of this project runs: {problem}");
            tell(all().any(|(hook, _)| hook.event.guards()), &text);
        }
        return;
    }
    for (hook, _) in &changed {
        let Hook { name, source, .. } = hook;
        let text = format!(
            "hook {name} of this project, from {source}, has changed since you accepted it, and does not \
             run; see \"offshoot trust\""
        );
        tell(hook.event.guards(), &text);
    }
    let Some((first, _)) = new.first() else {
        return;
    };
    let (many, them) = match new.len() {
        1 => ("a hook".to_owned(), "it"),
        many => (format!("{many} hooks"), "them"),
    };
    // Of one without a name it is not known what it has become.
    let lost = changed.is_empty() && trust.has_lost(Kind::Hook, &there);
    let gone = if lost {
        "; one that you accepted is not there as it was"
    } else {
        ""
    };
    let text = format!(
        "{many} of this project, from {}, will not run until you accept {them}{gone}; see \"offshoot trust\"",
        first.source
    );
    tell(
        lost && new.iter().any(|(hook, _)| hook.event.guards()),
        &text,
    );
}

fn tell(guards: bool, text: &str) {
    let text = render::harmless(text);
    if guards {
        output::complain(&text);
    } else {
        output::note(&text);
    }
}

/// Says of which hooks the matcher fits nothing that there is, so that they are never called.
pub(crate) fn oddities(hooks: &[Hook], agents: &Catalogue) -> Vec<String> {
    let agents: Vec<&str> = agents
        .all()
        .map(|agent| agent.manifest.name.as_str())
        .collect();
    let tools = assemble::tools();
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    let oddity = |hook: &Hook| {
        let (kind, there) = subjects(hook.event, &tools, &agents);
        let matcher = Matcher::parse(&hook.matcher).ok()?;
        // What a server brings is known only when it runs.
        let later = kind == "tool" && hook.matcher.to_lowercase().contains("mcp");
        let fits = there.iter().any(|subject| matcher.matches(subject)) || matcher.matches("");
        if later || fits {
            return None;
        }
        let Hook { name, event, .. } = hook;
        let written = hook.matcher.to_lowercase();
        let way = match suggest::nearest(&written, there.iter().copied()) {
            _ if there.is_empty() => "leave it out".to_owned(),
            Some(near) => format!("did you mean {near}?"),
            None => format!("there are: {}", there.join(", ")),
        };
        Some(format!(
            "hook {name} in {} is never called: its matcher {:?} fits no {kind} of {event}; {way}",
            hook.source, hook.matcher
        ))
    };
    hooks.iter().filter_map(oddity).collect()
}

/// Returns what a matcher is about at a point: what that is called, and what there is of it.
fn subjects<'a>(
    event: Point,
    tools: &[&'a str],
    agents: &[&'a str],
) -> (&'static str, Vec<&'a str>) {
    match event {
        Point::PreToolUse
        | Point::PostToolUse
        | Point::PostToolUseFailure
        | Point::PermissionRequest => ("tool", tools.to_vec()),
        Point::SubagentStart | Point::SubagentStop => ("agent", agents.to_vec()),
        Point::SessionStart => ("source", vec!["startup", "resume"]),
        Point::SessionEnd => ("reason", vec!["other"]),
        Point::PreCompact => ("trigger", vec!["auto", "manual"]),
        Point::Notification => ("type", vec!["permission_prompt"]),
        Point::UserPromptSubmit | Point::Stop => ("name", Vec::new()),
    }
}

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
use offshoot_types::event::Hooked;
use offshoot_types::hook::{Hooks, Point};
use offshoot_types::suggest;

use crate::assemble;
use crate::config::{Hook, Settings};
use crate::error::HostError;
use crate::harmless::harmless;
use crate::trust::{self, Digest, Key, Kind, Standing, Thing, Trust};

/// Takes what a hook did of which no client hears; it must not block.
pub type Unheard = Arc<dyn Fn(&Hooked) + Send + Sync>;

/// Something that a user should know of the hooks of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub text: String,
    /// Whether a hook that guards calls does not run: shown also to users who want no notices.
    pub is_guard: bool,
}

/// Makes hooks of settings; their commands are kept like those of `bash`.
pub fn assemble(
    hooks: &[Hook],
    keeper: Keeper,
    environment: Environment,
    unheard: Option<Unheard>,
) -> Hooks {
    let mut assembled = Hooks::default();
    if hooks.is_empty() {
        return assembled;
    }
    if let Some(unheard) = unheard {
        assembled.on_unheard(move |_, hooked| unheard(hooked));
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
pub fn brought(settings: &Settings, workspace: &str) -> Result<Vec<(Hook, Thing)>, HostError> {
    let hooks = settings.search.project_hooks(Path::new(workspace))?;
    Ok(judged(settings, workspace, hooks))
}

/// Returns the hooks of a project's file that are of this very folder, each with its standing.
fn judged(settings: &Settings, workspace: &str, mut hooks: Vec<Hook>) -> Vec<(Hook, Thing)> {
    // What is accepted is accepted in this very folder, so a file of one above it has no say.
    hooks.retain(|hook| hook.folder().as_deref() == Some(workspace));
    if hooks.is_empty() {
        return Vec::new();
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
    brought.collect()
}

/// Returns the hooks that are used in a folder for which the settings were read: the user's own, and those
/// of the project that are accepted as they were read.
pub(crate) fn used_as_read(settings: &Settings, workspace: &str) -> Vec<Hook> {
    let mut used = settings.hooks();
    let project = judged(settings, workspace, settings.project_hooks()).into_iter();
    let accepted = project.filter(|(_, thing)| thing.is_accepted());
    used.extend(accepted.map(|(hook, _)| hook));
    used
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
pub fn accepted(settings: &Settings, workspace: &str) -> Vec<Hook> {
    // Of a file that cannot be read nothing is used; whoever works there is told what is wrong.
    let brought = brought(settings, workspace).unwrap_or_default().into_iter();
    let accepted = brought.filter(|(_, thing)| thing.is_accepted());
    accepted.map(|(hook, _)| hook).collect()
}

/// Returns the hooks that are used in a folder: the user's own, and those of it that are accepted.
pub fn used(settings: &Settings, workspace: &str) -> Vec<Hook> {
    let mut used = settings.hooks();
    used.extend(accepted(settings, workspace));
    used
}

/// Returns the hooks that are told when a session of a folder is let go, by name.
pub fn at_end(settings: &Settings, workspace: &str) -> Vec<String> {
    let used = used(settings, workspace).into_iter();
    let hears = |hook: &Hook| Matcher::parse(&hook.matcher).is_ok_and(|it| it.matches("other"));
    let ends = used.filter(|hook| hook.event == Point::SessionEnd && hears(hook));
    ends.map(|hook| hook.name).collect()
}

/// Returns the hooks of a folder that nobody has accepted.
pub fn unused(settings: &Settings, workspace: &str) -> Vec<Hook> {
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

/// Returns what a user should know: which hooks of a folder are not used, and which are never called.
pub fn notices(settings: &Settings, workspace: &str, agents: &Catalogue) -> Vec<Notice> {
    let oddities = oddities(&used(settings, workspace), agents).into_iter();
    let oddities = oddities.map(|oddity| notice(false, &format!("warning: {oddity}")));
    let mut notices: Vec<Notice> = oddities.collect();
    if let Some(above) = above(settings, workspace) {
        let text = format!(
            "the hooks of {} do not run here: they are for sessions of the folder of that file",
            above.source
        );
        notices.push(notice(false, &text));
    }
    notices.extend(unused_notices(settings, workspace));
    notices
}

/// Returns which hooks of a folder are not used, and why.
fn unused_notices(settings: &Settings, workspace: &str) -> Vec<Notice> {
    let mut notices = Vec::new();
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
            notices.push(notice(all().any(|(hook, _)| hook.event.guards()), &text));
        }
        return notices;
    }
    for (hook, _) in &changed {
        let Hook { name, source, .. } = hook;
        let text = format!(
            "hook {name} of this project, from {source}, has changed since you accepted it, and does not \
             run; see \"offshoot trust\""
        );
        notices.push(notice(hook.event.guards(), &text));
    }
    let Some((first, _)) = new.first() else {
        return notices;
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
    let is_guard = lost && new.iter().any(|(hook, _)| hook.event.guards());
    notices.push(notice(is_guard, &text));
    notices
}

fn notice(is_guard: bool, text: &str) -> Notice {
    let text = harmless(text);
    Notice { text, is_guard }
}

/// Says of which hooks the matcher fits nothing that there is, so that they are never called.
pub fn oddities(hooks: &[Hook], agents: &Catalogue) -> Vec<String> {
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

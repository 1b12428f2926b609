//! `agents show`: all that holds for an agent, whether its author wrote it or not.
//!
//! Keys are those that authors write. Where a value depends on who starts the
//! agent, both are shown.

use std::fmt::Display;

use offshoot_agents::{Catalogue, Definition};
use offshoot_engine::{HELPER_CAPS, Limits};
use offshoot_types::caps::Caps;
use offshoot_types::manifest::{Caller, Manifest, Mode, Toolset};
use offshoot_types::permission::Rule;
use offshoot_types::suggest;
use offshoot_types::tier::{ModelChoices, Tier};
use serde_json::{Map, Value, json};

use super::Listed;
use super::list::is_helper;
use crate::definitions;
use crate::exit::Stop;
use crate::output::{self, Stdout};
use crate::render;
use crate::rules::word;

/// How wide the column of keys is.
const KEYS: usize = 22;

/// What a host says where an agent's author says nothing.
pub(super) struct Host {
    pub(super) limits: Limits,
    /// The models of tiers and of children.
    pub(super) models: ModelChoices,
}

/// Prints an agent.
pub(super) fn show(catalogue: &Catalogue, name: &str, host: &Host, json: bool) -> Result<(), Stop> {
    let untrusted = catalogue.untrusted(name);
    let listed = match (catalogue.get(name), untrusted) {
        (Some(agent), _) => Listed::trusted(agent),
        (None, Some((agent, doubt))) => Listed::untrusted(agent, doubt),
        (None, None) => return Err(unknown(catalogue, name)),
    };
    let Listed { agent, doubt } = listed;
    if let Some(path) = agent.origin.path() {
        definitions::warn_of(catalogue, path);
    }
    if let (Some((other, doubt)), true) = (untrusted, doubt.is_none()) {
        let path = render::harmless(other.origin.path().unwrap_or_default());
        output::note(&format!("{path} would take its place, and is {doubt}"));
    }
    let aliases: Vec<&str> = catalogue.aliases(&agent.manifest.name).collect();
    let mut stdout = Stdout::default();
    if json {
        stdout.line(&object(listed, &aliases, host)?.to_string())?;
        return Ok(());
    }
    for (key, value) in lines(listed, &aliases, host) {
        let mut key = key;
        for line in value.lines() {
            stdout.line(&format!("{key:<KEYS$}{}", render::harmless(line)))?;
            key = "";
        }
    }
    stdout.line("")?;
    // As it is: whoever pipes it into a file has the prompt.
    stdout.line(&agent.manifest.prompt)?;
    Ok(())
}

fn unknown(catalogue: &Catalogue, name: &str) -> Stop {
    let listed = catalogue.all_untrusted().map(|(agent, _)| agent);
    let known = catalogue.all().chain(listed);
    let known = known.map(|agent| agent.manifest.name.as_str());
    let way = match suggest::nearest(name, known) {
        Some(near) => format!("did you mean {near}?"),
        None => "see \"offshoot agents list\"".to_owned(),
    };
    Stop::usage(format!("there is no agent {}; {way}", name.escape_debug()))
}

/// Returns every key with what holds.
fn lines(
    Listed { agent, doubt }: Listed<'_>,
    aliases: &[&str],
    host: &Host,
) -> Vec<(&'static str, String)> {
    let usual = usual(agent, &host.limits);
    let Manifest {
        name,
        mode,
        description,
        prompt: _,
        model,
        effort,
        temperature,
        max_output_tokens,
        tools,
        permissions,
        inspectable,
        caller,
        read_only,
        context,
        spawns,
        limits,
        output_schema,
        project_instructions: _,
        git_status: _,
    } = agent.manifest.as_ref();
    let mut lines = vec![("name", name.clone())];
    if !aliases.is_empty() {
        lines.push(("also called", aliases.join(", ")));
    }
    lines.push(("from", origin(agent)));
    if let Some(doubt) = doubt {
        lines.push(("trust", doubt.to_string()));
    }
    if let Some(replaced) = &agent.replaces {
        lines.push(("replaces", replaced.to_string()));
    }
    let words = description.split_whitespace().collect::<Vec<_>>();
    let providers = "the provider's default";
    lines.extend([
        ("description", or(Some(words.join(" ")), "none")),
        ("mode", format!("{mode}: {}", starters(agent))),
        ("model", model_of(agent, model.as_deref(), &host.models)),
        ("effort", or(effort.as_ref(), providers)),
        ("temperature", or(temperature.as_ref(), providers)),
        (
            "max_output_tokens",
            or(max_output_tokens.as_ref(), providers),
        ),
        ("tools", toolset(tools)),
        ("permissions", rules(permissions.as_deref())),
        ("read_only", read_only.to_string()),
        ("context", context.to_string()),
        ("spawns", spawned_by(spawns.as_deref())),
        ("max_turns", limit(limits, usual, |caps| caps.steps, *mode)),
        ("max_time", limit(limits, usual, |caps| caps.time, *mode)),
        ("max_stall", limit(limits, usual, |caps| caps.stall, *mode)),
        (
            "max_total_tokens",
            limit(limits, usual, |caps| caps.tokens, *mode),
        ),
        (
            "max_cost_usd",
            limit(limits, usual, |caps| caps.cost, *mode),
        ),
        (
            "max_descendants",
            or(limits.descendants, "no limit but the session's"),
        ),
        ("inspectable", inspectable.to_string()),
        ("caller", caller_word(*caller).to_owned()),
        (
            "project_instructions",
            agent.manifest.shows_project_instructions().to_string(),
        ),
        ("git_status", agent.manifest.shows_git_status().to_string()),
        (
            "output_schema",
            or(output_schema.as_ref().map(|schema| schema.as_str()), "none"),
        ),
    ]);
    lines
}

fn origin(agent: &Definition) -> String {
    match agent.origin.path() {
        Some(path) => format!("{}: {path}", agent.origin),
        None => agent.origin.to_string(),
    }
}

/// Says who starts an agent.
fn starters(agent: &Definition) -> &'static str {
    match agent.manifest.mode {
        Mode::Subagent if is_helper(agent) => "Offshoot starts it itself, and so may other agents",
        Mode::Primary => "people start it",
        Mode::Subagent => "other agents start it",
        Mode::All => "people and other agents start it",
    }
}

/// Says which model an agent has.
fn model_of(agent: &Definition, own: Option<&str>, models: &ModelChoices) -> String {
    let small = models.tier(Tier::Small).map(render::model);
    let is_helper = is_helper(agent);
    let without = || match (is_helper, &small) {
        // A helper has the small tier, whatever its file says.
        (true, Some(small)) => format!("{small}, of the tier small"),
        (true, None) => "that of the agent it works for".to_owned(),
        (false, _) => of_others(agent, models),
    };
    // No model is asked for a name that the user did not choose for that.
    if agent.manifest.name == "title" && is_helper && small.is_none() {
        return "none: without the tier small sessions are not named".to_owned();
    }
    match own.map(|own| (own, Tier::named(own))) {
        None => without(),
        Some((own, None)) => render::model(own),
        Some((_, Some(tier))) => match (models.tier(tier), tier) {
            (Some(model), _) => format!("{}, of the tier {tier}", render::model(model)),
            (None, Tier::Standard) => "the session's; the tier standard is not set".to_owned(),
            (None, _) => format!("{}; the tier {tier} is not set", without()),
        },
    }
}

/// Says which model an agent has that names none.
fn of_others(agent: &Definition, models: &ModelChoices) -> String {
    let parents = match &models.child {
        Some(child) => format!("{}, the child_model", render::model(child)),
        None => "its parent's".to_owned(),
    };
    match agent.manifest.mode {
        Mode::Primary => "the session's".to_owned(),
        Mode::Subagent => parents,
        Mode::All => format!("the session's, or as a child {parents}"),
    }
}

fn caller_word(caller: Caller) -> &'static str {
    match caller {
        Caller::User => "user",
        Caller::Agent => "agent",
    }
}

fn toolset(tools: &Toolset) -> String {
    let allow = match &tools.allow {
        None => "all".to_owned(),
        Some(names) if names.is_empty() => "none".to_owned(),
        Some(names) => names.join(", "),
    };
    match tools.deny.as_slice() {
        [] => allow,
        deny => format!("{allow}; not {}", deny.join(", ")),
    }
}

fn rules(rules: Option<&[Rule]>) -> String {
    let Some(rules) = rules else {
        return "what whoever starts it may".to_owned();
    };
    let line = |rule: &Rule| {
        let action = word(rule.action);
        format!("{action:<5} {} {}", rule.permission, rule.pattern)
    };
    let mut lines: Vec<String> = rules.iter().map(line).collect();
    lines.push("deny  everything else".to_owned());
    lines.join("\n")
}

fn spawned_by(spawns: Option<&[String]>) -> String {
    match spawns {
        None => "all that agents may".to_owned(),
        Some([]) => "none".to_owned(),
        Some(names) => names.join(", "),
    }
}

/// Returns what holds where an agent's author says nothing: if it is spawned, and if it is a root.
fn usual(agent: &Definition, host: &Limits) -> (Caps, Caps) {
    match agent.manifest.mode {
        Mode::Subagent if is_helper(agent) => (HELPER_CAPS, host.root),
        Mode::Primary | Mode::Subagent | Mode::All => (host.spawned, host.root),
    }
}

/// Says what a limit is: the agent's own, or what the host says of spawned agents and of roots.
fn limit<T: Display + PartialEq>(
    own: &Caps,
    (spawned, root): (Caps, Caps),
    of: impl Fn(&Caps) -> Option<T>,
    mode: Mode,
) -> String {
    if let Some(written) = of(own) {
        return written.to_string();
    }
    let (spawned, root) = (of(&spawned), of(&root));
    let same = spawned == root;
    let [spawned, root] = [spawned, root].map(|cap| or(cap, "no limit"));
    match mode {
        Mode::Primary => root,
        Mode::Subagent => spawned,
        Mode::All if same => root,
        Mode::All => format!("{spawned} if an agent starts it, {root} if a person does"),
    }
}

fn or<T: Display>(value: Option<T>, otherwise: &str) -> String {
    let text = value.map(|value| value.to_string());
    text.filter(|text| !text.is_empty())
        .unwrap_or_else(|| otherwise.to_owned())
}

/// Returns an agent for programs: the keys of its author, `null` where nothing is said, and what
/// holds.
fn object(
    Listed { agent, doubt }: Listed<'_>,
    aliases: &[&str],
    host: &Host,
) -> Result<Value, Stop> {
    let keys = [
        "model",
        "effort",
        "temperature",
        "max_output_tokens",
        "tools",
        "permissions",
        "spawns",
        "output_schema",
    ];
    let mut object: Map<String, Value> = keys
        .into_iter()
        .map(|key| (key.to_owned(), Value::Null))
        .collect();
    let written = serde_json::to_value(agent.manifest.as_ref()).map_err(std::io::Error::from)?;
    if let Value::Object(written) = written {
        object.extend(written);
    }
    let replaces = agent.replaces.as_ref().map(ToString::to_string);
    let own = agent.manifest.limits;
    let (spawned, root) = usual(agent, &host.limits);
    let more = json!({
        "model_is": model_of(agent, agent.manifest.model.as_deref(), &host.models),
        "project_instructions": agent.manifest.shows_project_instructions(),
        "git_status": agent.manifest.shows_git_status(),
        "source": agent.origin.to_string(),
        "path": agent.origin.path(),
        "replaces": replaces,
        "trusted": doubt.is_none(),
        "aliases": aliases,
        "helper": is_helper(agent),
        "limits": { "spawned": caps(&own.or(spawned)), "root": caps(&own.or(root)) },
    });
    if let Value::Object(more) = more {
        object.extend(more);
    }
    Ok(Value::Object(object))
}

fn caps(caps: &Caps) -> Value {
    json!({
        "max_turns": caps.steps,
        "max_total_tokens": caps.tokens,
        "max_cost_usd": caps.cost,
        "max_time": caps.time,
        "max_stall": caps.stall,
        "max_descendants": caps.descendants,
    })
}

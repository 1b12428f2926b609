//! The agents there are, the one that would be asked, and files that are wrong.
//!
//! A file that is wrong is worth a warning: everybody else works. Only if it is the
//! agent that would be asked does something fail.

use offshoot_agents::{Catalogue, Origin};

use super::Finding;
use crate::assemble::{self, Models};
use crate::config::{self, Settings, Sourced};
use crate::trust::Thing;
use crate::{definitions, hooks, servers};

/// Most agents, hooks or servers that are named where they are not used.
const MOST_NAMED: usize = 10;

pub(super) fn look(settings: &Settings) -> Vec<Finding> {
    // What is wrong with the model was told before.
    let models =
        assemble::chosen(&settings.model, settings).and_then(|name| Models::load(&name, settings));
    let mut models = models.unwrap_or_default();
    let workspace = config::workspace(None).ok();
    let catalogue = definitions::load(settings, workspace.as_deref(), &mut models);
    let mut findings = vec![
        Finding::ok("agents", counts(&catalogue)),
        asked(&catalogue, &settings.agent),
    ];
    findings.extend(untrusted(&catalogue));
    findings.extend(hooks(settings, workspace.as_deref(), &catalogue));
    if let Some(workspace) = &workspace {
        findings.extend(servers(settings, workspace));
    }
    for diagnostic in catalogue.diagnostics() {
        findings.push(Finding::warn("agent file", diagnostic.to_string()));
    }
    for folder in definitions::foreign_folders(settings, workspace.as_deref()) {
        findings.push(Finding::warn("agent folder", folder.line()));
    }
    findings
}

/// Names the hooks that are not used, and those that are never called.
fn hooks(settings: &Settings, workspace: Option<&str>, catalogue: &Catalogue) -> Vec<Finding> {
    let used = workspace.map(|workspace| hooks::used(settings, workspace));
    let used = used.unwrap_or_else(|| settings.hooks());
    let oddities = hooks::oddities(&used, catalogue).into_iter();
    let mut findings: Vec<Finding> = oddities
        .map(|oddity| Finding::warn("hooks", oddity))
        .collect();
    let unused = workspace.map(|workspace| hooks::unused(settings, workspace));
    let unused = unused.unwrap_or_default();
    let names: Vec<&str> = unused.iter().map(|hook| hook.name.as_str()).collect();
    if !names.is_empty() {
        let named = named(&names);
        let text = format!("hooks of the project, not trusted; see \"offshoot trust\": {named}");
        findings.push(Finding::warn("trust", text));
    }
    findings
}

/// Names the MCP servers, of which none is used yet.
fn servers(settings: &Settings, workspace: &str) -> Vec<Finding> {
    let servers = servers::brought(settings, workspace);
    let wrong = servers.problems.iter();
    let mut findings: Vec<Finding> = wrong
        .map(|problem| Finding::warn("servers", problem.to_string()))
        .collect();
    let (accepted, doubted): (Vec<&Thing>, Vec<&Thing>) =
        servers.things.iter().partition(|thing| thing.is_accepted());
    let names = |things: &[&Thing]| {
        let names: Vec<&str> = things.iter().map(|thing| thing.name.as_str()).collect();
        named(&names)
    };
    if !doubted.is_empty() {
        let named = names(&doubted);
        let text =
            format!("MCP servers of the project, not trusted; see \"offshoot trust\": {named}");
        findings.push(Finding::warn("trust", text));
    }
    if !accepted.is_empty() {
        let named = names(&accepted);
        let text =
            format!("MCP servers of the project, which this version does not start yet: {named}");
        findings.push(Finding::ok("servers", text));
    }
    findings
}

/// Names the first few.
fn named(names: &[&str]) -> String {
    let mut named = names[..names.len().min(MOST_NAMED)].join(", ");
    if names.len() > MOST_NAMED {
        named.push_str(&format!(" and {} more", names.len() - MOST_NAMED));
    }
    named
}

/// Names the agents that are listed and not used.
fn untrusted(catalogue: &Catalogue) -> Option<Finding> {
    let all = catalogue.all_untrusted().map(|(agent, _)| agent);
    let names: Vec<&str> = all.map(|agent| agent.manifest.name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let named = named(&names);
    let text = format!("agents of the project, not trusted; see \"offshoot trust\": {named}");
    Some(Finding::warn("trust", text))
}

fn counts(catalogue: &Catalogue) -> String {
    let mut counts = [0; 4];
    for agent in catalogue.all() {
        let source = match agent.origin {
            Origin::BuiltIn => 0,
            Origin::User(_) => 1,
            Origin::Project(_) => 2,
            Origin::Script(_) => 3,
        };
        counts[source] += 1;
    }
    let words = ["built in", "of your own", "of the project", "of the script"];
    let parts = counts.into_iter().zip(words);
    let parts = parts.filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    parts.join(", ")
}

/// Looks at the agent that would be asked.
fn asked(catalogue: &Catalogue, asked: &Sourced<String>) -> Finding {
    let what = "agent";
    let Sourced { value, source } = asked;
    let fits = definitions::refuse(catalogue, value).and_then(|()| match catalogue.get(value) {
        Some(agent) if agent.manifest.mode.user_may_start() => Ok(()),
        Some(_) | None => Err(definitions::unknown(catalogue, value)),
    });
    match fits {
        Ok(()) => Finding::ok(what, format!("{value}, {}", source.phrase())),
        Err(stop) => Finding::fail(what, stop.coming_from(source).to_string()),
    }
}

//! The agents there are, the one that would be asked, and files that are wrong.
//!
//! A file that is wrong is worth a warning: everybody else works. Only if it is the
//! agent that would be asked does something fail.

use offshoot_agents::{Catalogue, Origin};

use super::Finding;
use crate::assemble::{self, Models};
use crate::config::{self, Settings, Sourced};
use crate::definitions;

/// Most agents that are named where they are not used.
const MOST_NAMED: usize = 10;

pub(super) fn look(settings: &Settings) -> Vec<Finding> {
    // What is wrong with the model was told before.
    let models = assemble::chosen(&settings.model).and_then(|name| Models::load(&name));
    let mut models = models.unwrap_or_default();
    let workspace = config::workspace(None).ok();
    let catalogue = definitions::load(settings, workspace.as_deref(), &mut models);
    let mut findings = vec![
        Finding::ok("agents", counts(&catalogue)),
        asked(&catalogue, &settings.agent),
    ];
    findings.extend(untrusted(&catalogue));
    for diagnostic in catalogue.diagnostics() {
        findings.push(Finding::warn("agent file", diagnostic.to_string()));
    }
    findings
}

/// Names the agents that are listed and not used.
fn untrusted(catalogue: &Catalogue) -> Option<Finding> {
    let all = catalogue.all_untrusted().map(|(agent, _)| agent);
    let names: Vec<&str> = all.map(|agent| agent.manifest.name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let mut named = names[..names.len().min(MOST_NAMED)].join(", ");
    if names.len() > MOST_NAMED {
        named.push_str(&format!(" and {} more", names.len() - MOST_NAMED));
    }
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

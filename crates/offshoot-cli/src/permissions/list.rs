//! `permissions list`: the layers that hold for an agent, the outermost first; then what was answered.

use offshoot_types::permission::{Grant, Layer, Rule, Standing};
use serde_json::json;

use super::Subject;
use crate::exit::Stop;
use crate::output::Stdout;
use crate::render;
use crate::rules::{shown, word};

/// Prints the layers and their rules.
pub(super) fn list(subject: &Subject, json: bool) -> Result<(), Stop> {
    let mut stdout = Stdout::default();
    // The host's layer is the first there is, although a chain has it behind those that can allow.
    let (host, others): (Vec<&Layer>, Vec<&Layer>) = subject
        .chain
        .layers()
        .into_iter()
        .partition(|layer| layer.name == Layer::OFF_LIMITS);
    for layer in host.into_iter().chain(others) {
        let places = subject.rules.placed(&layer.name, &subject.workspace);
        let place = |rule| {
            let found = places.iter().find(|(own, _)| own == rule);
            found.map(|(_, source)| source.to_string())
        };
        if json {
            let rules = layer.rules.iter().map(|rule| {
                json!({
                    "permission": rule.permission,
                    "pattern": rule.pattern,
                    "action": word(rule.action),
                    "source": place(rule),
                })
            });
            let line = json!({
                "layer": layer.name,
                "standing": layer.standing,
                "closed": layer.closed,
                "rules": rules.collect::<Vec<_>>(),
            });
            stdout.line(&line.to_string())?;
            continue;
        }
        let name = render::harmless(&layer.name);
        stdout.line(&format!("{name} ({})", standing(layer)))?;
        for rule in &layer.rules {
            let source = place(rule).map_or_else(String::new, |place| format!("   {place}"));
            let rule = render::harmless(&shown(rule));
            stdout.line(&format!("  {rule}{source}"))?;
        }
        if layer.closed {
            stdout.line("  deny everything else")?;
        } else if layer.rules.is_empty() {
            stdout.line("  says nothing")?;
        }
    }
    answers(&mut stdout, subject, json)
}

/// Prints what was answered in the session.
fn answers(stdout: &mut Stdout, subject: &Subject, json: bool) -> Result<(), Stop> {
    let Some((tree, agent)) = &subject.session else {
        return Ok(());
    };
    let grants = tree.grants(agent);
    if grants.is_empty() {
        return Ok(());
    }
    if !json {
        stdout.line(&format!(
            "{} (can allow where the others say ask)",
            Grant::SESSION
        ))?;
        for grant in grants {
            for rule in &grant.rules {
                let line = format!("  {}   for {} and below", shown(rule), grant.agent);
                stdout.line(&render::harmless(&line))?;
            }
        }
        return Ok(());
    }
    let of_grant = |grant: &&Grant| {
        let rule = |rule: &Rule| {
            json!({
                "permission": rule.permission,
                "pattern": rule.pattern,
                "action": word(rule.action),
                "source": null,
                "agentId": grant.agent,
            })
        };
        grant.rules.iter().map(rule).collect::<Vec<_>>()
    };
    let rules: Vec<_> = grants.iter().flat_map(of_grant).collect();
    let line = json!({
        "layer": Grant::SESSION,
        "standing": "answers",
        "closed": false,
        "rules": rules,
    });
    Ok(stdout.line(&line.to_string())?)
}

fn standing(layer: &Layer) -> &'static str {
    match layer.standing {
        Standing::Grants => "can allow",
        Standing::Narrows => "can only narrow",
    }
}

//! `permissions list`: the layers that hold for an agent, the outermost first.

use offshoot_types::permission::{Layer, Standing};
use serde_json::json;

use super::Subject;
use crate::exit::Stop;
use crate::output::Stdout;
use crate::render;
use crate::rules::{shown, word};

/// Prints the layers and their rules.
pub(super) fn list(subject: &Subject, json: bool) -> Result<(), Stop> {
    let mut stdout = Stdout::default();
    for layer in subject.chain.layers() {
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
    Ok(())
}

fn standing(layer: &Layer) -> &'static str {
    match layer.standing {
        Standing::Grants => "can allow",
        Standing::Narrows => "can only narrow",
    }
}

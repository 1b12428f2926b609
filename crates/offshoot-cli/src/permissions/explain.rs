//! `permissions explain`: what every layer says of one thing, and what comes of it.
//!
//! A command line is taken apart as the shell tool takes it apart, and each part
//! is explained. What was answered in a session counts where the chain says ask.

use std::path::{Component, Path};

use offshoot_engine::{is_about_an_agent, own_calls};
use offshoot_tools::shell;
use offshoot_types::permission::{
    Action, Capability, Decision, Explanation, Need, Reach, Said, Standing,
};
use offshoot_types::suggest;
use offshoot_types::tool::Place;
use serde_json::{Value, json};

use super::Subject;
use crate::assemble;
use crate::exit::{Code, Stop};
use crate::output::Stdout;
use crate::render;
use crate::rules::{shown, word};
use crate::terminal;

/// Who refuses what no rule can allow.
const FILE_TOOLS: &str = "the tools for files";

/// The variable that holds an agent's scratch folder.
const SCRATCH: &str = "OFFSHOOT_SCRATCH";

/// One thing that is needed, and what is said of it.
struct Part {
    need: Need,
    explanation: Explanation,
    /// After what was answered before, and what the tool refuses by itself.
    decision: Decision,
    /// Why the tool refuses it, whatever the rules say.
    refused: Option<String>,
}

/// Explains a need, or a call of the engine's own; the exit code is its verdict.
pub(super) fn explain(
    subject: &Subject,
    capability: &str,
    target: &str,
    tool: Option<&str>,
    json: bool,
) -> Result<Code, Stop> {
    if own_calls().any(|own| own == capability) {
        return explain_call(subject, capability, target, json);
    }
    let Some(known) = Capability::of(capability) else {
        let names = Capability::ALL.map(Capability::name);
        let shown = capability.escape_debug();
        if let Some(needed) = needed_by(capability) {
            return Err(Stop::usage(format!(
                "{shown} is a tool, and what is explained is what it needs: write {needed}, with \
                 --tool {shown}"
            )));
        }
        if capability.starts_with("mcp:") {
            return Err(Stop::usage(format!(
                "{shown} is a tool of a server, and what is explained is what it needs: write that \
                 capability, such as {}, with --tool {shown}",
                Need::FS_READ
            )));
        }
        let way = match suggest::nearest(capability, names.into_iter().chain(own_calls())) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("there are: {}", names.join(", ")),
        };
        return Err(Stop::usage(format!(
            "there is no capability {shown}; {way}"
        )));
    };
    let tool = match tool {
        Some(tool) => known_tool(tool)?,
        None => usual_tool(known),
    };
    if known == Capability::NetFetch && target.contains("://") {
        return Err(Stop::usage(
            "what is explained is a host, such as example.com, and not an address with a path",
        ));
    }
    let needs = needs(subject, known, target);
    let explained = |need: Need| {
        let explanation = subject.chain.explain(tool, &need);
        let decision = explanation.decision.clone();
        // Of a command only the whole is granted, never a part.
        let decision = if known == Capability::ShellRun && need.capability == known.name() {
            decision
        } else {
            decision.or_granted(|reach| granted(subject, tool, &need, reach))
        };
        let refused = match decision.action {
            Action::Deny => None,
            Action::Allow | Action::Ask => refused(subject, known, tool, target),
        };
        let decision = match &refused {
            Some(_) => Decision {
                action: Action::Deny,
                layer: FILE_TOOLS.to_owned(),
                rule: None,
            },
            None => decision,
        };
        Part {
            need,
            explanation,
            decision,
            refused,
        }
    };
    let parts: Vec<Part> = needs.into_iter().map(explained).collect();
    let strictest = parts.iter().map(|part| &part.decision);
    let strictest = strictest.min_by_key(|decision| decision.action);
    let Some(verdict) = strictest.cloned() else {
        return Err(Stop::usage("that needs nothing"));
    };
    let whole = Need::new(known.name(), target);
    let verdict = if known == Capability::ShellRun {
        verdict.or_granted(|reach| granted(subject, tool, &whole, reach))
    } else {
        verdict
    };
    let barred = subject.chain.bars(tool, &[&whole.capability]);
    show(subject, (tool, &whole), &parts, &verdict, barred, json)
}

/// Explains a call of the engine's own, which needs nothing.
fn explain_call(subject: &Subject, call: &str, target: &str, json: bool) -> Result<Code, Stop> {
    let agents = subject.agents.registry();
    // A run goes by the agent that is meant, whichever of its names was said.
    let meant = agents.get(target).map(|agent| agent.name.as_str());
    let about = if is_about_an_agent(call) {
        meant.unwrap_or(target)
    } else {
        ""
    };
    let need = Need::new(call, about);
    let names = agents.names_of(about);
    let explanation = subject.chain.explain_call(call, &names);
    let verdict = explanation.decision.clone();
    let verdict = verdict.or_granted(|reach| granted(subject, call, &need, reach));
    let part = Part {
        need: need.clone(),
        explanation,
        decision: verdict.clone(),
        refused: None,
    };
    let barred = subject.chain.bars(call, &[]);
    show(subject, (call, &need), &[part], &verdict, barred, json)
}

fn show(
    subject: &Subject,
    (tool, whole): (&str, &Need),
    parts: &[Part],
    verdict: &Decision,
    barred: Option<&str>,
    json: bool,
) -> Result<Code, Stop> {
    let mut stdout = Stdout::default();
    if json {
        let object = object(subject, (tool, whole), parts, verdict);
        stdout.line(&object.to_string())?;
    } else {
        for line in lines(subject, whole, parts, verdict, barred) {
            stdout.line(&render::harmless(&line))?;
        }
    }
    Ok(match verdict.action {
        Action::Allow => Code::Completed,
        Action::Ask => Code::Partial,
        Action::Deny => Code::Failed,
    })
}

/// Takes a tool that there is, or may be.
fn known_tool(tool: &str) -> Result<&str, Stop> {
    let tools = assemble::tools();
    let names = || tools.iter().map(String::as_str);
    // What a server brings is known only when it runs.
    if names().any(|name| name == tool) || tool.starts_with("mcp:") {
        return Ok(tool);
    }
    let way = match suggest::nearest(tool, names()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("there are: {}", tools.join(", ")),
    };
    let shown = tool.escape_debug();
    Err(Stop::usage(format!("there is no tool {shown}; {way}")))
}

/// Returns what a tool needs as a rule, if it is one of the known.
fn needed_by(tool: &str) -> Option<&'static str> {
    let capability = match tool {
        "bash" => Capability::ShellRun,
        "read" | "glob" | "grep" => Capability::FsRead,
        "write" | "edit" => Capability::FsWrite,
        _ => return None,
    };
    Some(capability.name())
}

/// Says why the tools for files refuse a path, whatever the rules say; `None` if they do not.
fn refused(subject: &Subject, capability: Capability, tool: &str, path: &str) -> Option<String> {
    let builtin = offshoot_tools::builtin();
    let is_file_tool = builtin.iter().any(|own| own.spec().id == tool);
    let is_file = matches!(capability, Capability::FsRead | Capability::FsWrite);
    if !is_file || !is_file_tool {
        return None;
    }
    offshoot_tools::refuses(path, &subject.within)
}

/// Returns the tool that needs a capability as a rule.
fn usual_tool(capability: Capability) -> &'static str {
    match capability {
        Capability::FsRead => "read",
        Capability::FsWrite => "write",
        Capability::ShellRun | Capability::ShellOpaque => "bash",
        Capability::AgentSwitch => "plan_exit",
        Capability::NetFetch
        | Capability::ClientTool
        | Capability::CredentialUse
        | Capability::ProviderEndpoint
        | Capability::UserPresence => "",
    }
}

/// Returns what is needed: of a command line all of its parts, of a file its absolute path.
fn needs(subject: &Subject, capability: Capability, target: &str) -> Vec<Need> {
    let workspace = subject.workspace.as_str();
    match capability {
        Capability::ShellRun => {
            let place = Place {
                scratch: subject.within.scratch.clone(),
                ..Place::new(workspace)
            };
            shell::needs(target, &place)
        }
        Capability::FsRead | Capability::FsWrite => {
            let path = absolute(&Path::new(workspace).join(target));
            // A folder that is searched has a slash at its end.
            let slash = if target.ends_with('/') && path != "/" {
                "/"
            } else {
                ""
            };
            vec![Need::new(capability.name(), format!("{path}{slash}"))]
        }
        Capability::ShellOpaque
        | Capability::NetFetch
        | Capability::ClientTool
        | Capability::AgentSwitch
        | Capability::CredentialUse
        | Capability::ProviderEndpoint
        | Capability::UserPresence => vec![Need::new(capability.name(), target)],
    }
}

/// Takes the steps of a path out of it, by its text: no link is followed.
fn absolute(path: &Path) -> String {
    let mut parts: Vec<String> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            Component::ParentDir => drop(parts.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    format!("/{}", parts.join("/"))
}

/// Returns what an answer decides that was given in the session.
fn granted(subject: &Subject, tool: &str, need: &Need, reach: Reach) -> Option<Decision> {
    let (tree, agent) = subject.session.as_ref()?;
    tree.granted(agent, tool, need, reach)
}

fn lines(
    subject: &Subject,
    whole: &Need,
    parts: &[Part],
    verdict: &Decision,
    barred: Option<&str>,
) -> Vec<String> {
    let mut lines = vec![format!("agent {} in {}", subject.name, subject.workspace)];
    for part in parts {
        lines.push(String::new());
        let Need { capability, target } = &part.need;
        lines.push(format!("{capability} {target}").trim_end().to_owned());
        let names = part
            .explanation
            .layers
            .iter()
            .map(|said| said.layer.as_str());
        let widest = names.map(terminal::columns).max().unwrap_or_default();
        for said in &part.explanation.layers {
            let mark = if said.decides { ">" } else { " " };
            let gap = " ".repeat(widest - terminal::columns(&said.layer));
            let line = format!("{mark} {}{gap}  {}", said.layer, words(subject, said));
            lines.push(line.trim_end().to_owned());
        }
        lines.push(match &part.refused {
            Some(why) => format!("  deny: {why}; {FILE_TOOLS} refuse it, and no rule can allow it"),
            None => format!("  {}", outcome(&part.decision)),
        });
        let is_opaque = [Need::SHELL_OPAQUE, Need::SHELL_UNREAD].contains(&capability.as_str());
        if is_opaque && part.decision.action == Action::Ask {
            let all = capability == Need::SHELL_UNREAD;
            let pattern = if all { "*" } else { "its text" };
            lines.push(format!(
                "  it cannot be seen through: only a rule for {} with {pattern} as its pattern allows it",
                Need::SHELL_OPAQUE
            ));
        }
    }
    if parts.len() > 1 || parts.iter().any(|part| part.decision != *verdict) {
        lines.push(String::new());
        let all = match parts.len() {
            1 => format!("{} {}", whole.capability, whole.target),
            _ => "all of it".to_owned(),
        };
        lines.push(format!("{all}: {}", outcome(verdict)));
    }
    if subject.within.scratch.is_none() && whole.target.contains(SCRATCH) {
        lines.push(String::new());
        lines.push(format!(
            "what {SCRATCH} is, only an agent of a session knows: see --session"
        ));
    }
    if let Some(layer) = barred {
        lines.push(String::new());
        lines.push(format!(
            "{} is denied whatever the target, by {layer}: who needs it for every call is not offered",
            whole.capability
        ));
    }
    lines
}

/// Says what a layer said.
fn words(subject: &Subject, said: &Said) -> String {
    let Some(action) = said.word else {
        return "-".to_owned();
    };
    let why = match &said.rule {
        None => "it names nothing of the kind, and ends in deny".to_owned(),
        Some(rule) => {
            let place = subject.place(&said.layer, rule);
            let place = place.map_or_else(String::new, |place| format!("   {place}"));
            // Where the layer's word is not the rule's, both are told.
            let rule = if rule.action == action {
                format!("{} {}", rule.permission, rule.pattern)
            } else {
                shown(rule)
            };
            format!("{rule}{place}")
        }
    };
    let note = match (said.in_doubt, said.standing, action) {
        (true, _, _) => "   (it may be that)",
        (false, Standing::Narrows, Action::Allow) => "   (narrows only: this allows nothing)",
        (false, _, _) => "",
    };
    format!("{:<5}  {why}{note}", word(action))
}

/// Says what was decided, and by whom.
fn outcome(decision: &Decision) -> String {
    let Decision { action, layer, .. } = decision;
    match (action, layer.as_str()) {
        (Action::Ask, Decision::DEFAULT) => "ask: nobody has a rule for it".to_owned(),
        (Action::Allow, Decision::NEEDS_NOTHING) => "allow: it needs nothing".to_owned(),
        // Only what runs another and is seen through is allowed by nobody's word.
        (Action::Allow, Decision::DEFAULT) => {
            "allow: no rule is about it, and what it runs needs one".to_owned()
        }
        (action, layer) => format!("{}, by {layer}", word(*action)),
    }
}

fn object(
    subject: &Subject,
    (tool, whole): (&str, &Need),
    parts: &[Part],
    verdict: &Decision,
) -> Value {
    let rule = |rule: &offshoot_types::permission::Rule, layer: &str| {
        json!({
            "permission": rule.permission,
            "pattern": rule.pattern,
            "action": word(rule.action),
            "source": subject.place(layer, rule).map(|place| place.to_string()),
        })
    };
    let said = |said: &Said| {
        json!({
            "layer": said.layer,
            "standing": said.standing,
            "word": said.word.map(word),
            "rule": said.rule.as_ref().map(|own| rule(own, &said.layer)),
            "in_doubt": said.in_doubt,
            "decides": said.decides,
        })
    };
    let decided = |decision: &Decision| {
        json!({
            "action": word(decision.action),
            "layer": decision.layer,
            "rule": decision.rule.as_ref().map(|own| rule(own, &decision.layer)),
        })
    };
    let parts = parts.iter().map(|part| {
        json!({
            "capability": part.need.capability,
            "target": part.need.target,
            "layers": part.explanation.layers.iter().map(said).collect::<Vec<_>>(),
            "decision": decided(&part.decision),
            "refused": part.refused,
        })
    });
    json!({
        "agent": subject.name,
        "workspace": subject.workspace,
        "capability": whole.capability,
        "target": whole.target,
        "tool": tool,
        "needs": parts.collect::<Vec<_>>(),
        "decision": decided(verdict),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_taken_out_of_paths_by_their_text() {
        for (path, expected) in [
            ("/w/a", "/w/a"),
            ("/w/./a/../b", "/w/b"),
            ("/w/../../etc", "/etc"),
            ("/", "/"),
        ] {
            assert_eq!(absolute(Path::new(path)), expected);
        }
    }
}

//! `sessions show ID --request`: the request that an agent was sent, or would be sent next.
//!
//! Looks only. The engine rebuilds the request with the code that builds those
//! it sends, and says whether it is the same; here it is printed.

use offshoot_engine::{NoRequest, OneProject, RebuiltRequest, query};
use offshoot_types::message::{Arguments, AssistantPart};
use offshoot_types::model::{Request, RequestMessage, ToolChoice};
use serde_json::{Value, json};

use crate::assemble::{self, Host, Models};
use crate::config::Settings;
use crate::definitions;
use crate::exit::Stop;
use crate::lookup::{self, Found, Session};
use crate::output::Stdout;
use crate::render;

/// The shortest id, or part of one, that stands for an agent: what is shorter is a step.
const SHORTEST_ID: usize = 8;

/// Prints a request. `wanted` is `[AGENT] [STEP]`.
pub(super) async fn request(
    settings: &Settings,
    id: &str,
    wanted: &[String],
    json: bool,
) -> Result<(), Stop> {
    let folder = assemble::kept_data_folder(settings)?;
    let Found { agent, session } = lookup::find(&folder.runtime, id).await?;
    let (whom, step) = split(wanted)?;
    let agent = match whom {
        None => agent,
        Some(whom) => {
            let found = lookup::find(&folder.runtime, whom).await?;
            if found.session.id != session.id {
                let text = format!("{} is no agent of session {}", found.agent, session.id);
                return Err(Stop::usage(text));
            }
            found.agent
        }
    };
    folder.use_projects(project(settings, &session)?);
    let rebuilt = match folder.runtime.query(query::Request(agent, step)).await? {
        Ok(rebuilt) => rebuilt,
        Err(why @ (NoRequest::UnknownAgent(_) | NoRequest::UnknownStep { .. })) => {
            return Err(Stop::usage(why.to_string()));
        }
        Err(why @ (NoRequest::Unbuildable(_) | NoRequest::Project(_))) => {
            return Err(Stop::usage(format!(
                "rebuild the request: {why}; `sessions show` has what was said"
            )));
        }
    };
    let mut stdout = Stdout::default();
    if json {
        let text = serde_json::to_string_pretty(&document(&rebuilt));
        stdout.line(&text.map_err(std::io::Error::from)?)?;
        return Ok(());
    }
    for line in lines(&rebuilt) {
        stdout.line(&render::harmless_lines(&line))?;
    }
    Ok(())
}

/// Splits `[AGENT] [STEP]`.
fn split(wanted: &[String]) -> Result<(Option<&str>, Option<u32>), Stop> {
    let step = |text: &String| {
        let number = text.parse::<u32>().ok().filter(|number| *number > 0);
        number.ok_or_else(|| {
            Stop::usage(format!(
                "--request: {text} is no step; steps of an agent count from 1"
            ))
        })
    };
    match wanted {
        [] => Ok((None, None)),
        [one] if one.len() < SHORTEST_ID => Ok((None, Some(step(one)?))),
        [agent] => Ok((Some(agent), None)),
        [agent, number, ..] => Ok((Some(agent), Some(step(number)?))),
    }
}

/// Returns what a session works with, for a runtime that asks no model.
fn project(settings: &Settings, session: &Session) -> Result<OneProject, Stop> {
    let mut models = match session.model() {
        Some(model) => Models::load(model, settings)?,
        None => Models::default(),
    };
    let agents = definitions::load(settings, session.workspace(), &mut models);
    let workspace = session.workspace().unwrap_or_default();
    let host = Host::of(settings).working_in(settings, workspace);
    let registry = agents.registry();
    Ok(assemble::looked_at_project(&models, registry, host))
}

/// Returns a request as one JSON document.
fn document(rebuilt: &RebuiltRequest) -> Value {
    let RebuiltRequest {
        request,
        step,
        remarks,
    } = rebuilt;
    let remarks: Vec<Value> = (remarks.iter())
        .map(|remark| json!({ "kind": remark.word(), "text": remark.to_string() }))
        .collect();
    let tools: Vec<Value> = (request.tools.iter())
        .map(|tool| {
            json!({ "id": tool.id, "description": tool.description, "parameters": tool.parameters })
        })
        .collect();
    let messages: Vec<Value> = request.messages.iter().map(message).collect();
    json!({
        "agentId": request.from.agent,
        "agent": request.from.definition,
        "depth": request.from.depth,
        "step": step,
        "stepOfRun": request.from.step,
        "remarks": remarks,
        "request": {
            "model": request.model,
            "system": request.system.as_ref(),
            "tools": tools,
            "toolChoice": choice(request),
            "messages": messages,
            "temperature": request.temperature,
            "effort": request.effort,
            "maxOutputTokens": request.max_output_tokens,
        },
    })
}

fn choice(request: &Request) -> &'static str {
    match request.choice {
        ToolChoice::Auto => "auto",
        ToolChoice::None => "none",
    }
}

fn message(message: &RequestMessage) -> Value {
    match message {
        RequestMessage::User(text) => json!({ "role": "user", "text": text }),
        RequestMessage::Assistant(parts) => json!({ "role": "assistant", "parts": parts }),
        RequestMessage::Outcomes(outcomes) => {
            let outcomes: Vec<Value> = (outcomes.iter())
                .map(|outcome| {
                    json!({ "call": outcome.call, "tool": outcome.tool, "text": outcome.text,
                        "failed": outcome.failed })
                })
                .collect();
            json!({ "role": "tool", "outcomes": outcomes })
        }
    }
}

/// Returns a request for people.
fn lines(rebuilt: &RebuiltRequest) -> Vec<String> {
    let request = &rebuilt.request;
    let mut lines = vec![format!(
        "{} {}, step {}",
        request.from.definition, request.from.agent, rebuilt.step
    )];
    lines.extend(rebuilt.remarks.iter().map(|remark| format!("  {remark}")));
    let mut settings = vec![format!("model {}", request.model)];
    settings.extend(request.temperature.map(|is| format!("temperature {is}")));
    settings.extend(request.effort.map(|is| format!("effort {is}")));
    let cap = request.max_output_tokens;
    settings.extend(cap.map(|most| format!("at most {most} output tokens")));
    if request.choice == ToolChoice::None {
        settings.push("tools cannot be called".to_owned());
    }
    lines.push(format!("  {}", settings.join(", ")));
    lines.push(String::new());
    lines.push("=== system".to_owned());
    lines.push(request.system.to_string());
    lines.push(String::new());
    lines.push(format!("=== tools ({})", request.tools.len()));
    for tool in request.tools.iter() {
        lines.push(format!("--- {}", tool.id));
        lines.push(tool.description.clone());
        lines.push(tool.parameters.as_str().to_owned());
    }
    lines.push(String::new());
    lines.push(format!("=== messages ({})", request.messages.len()));
    for (number, message) in (1..).zip(&request.messages) {
        push_message(&mut lines, number, message);
    }
    lines
}

fn push_message(lines: &mut Vec<String>, number: usize, message: &RequestMessage) {
    match message {
        RequestMessage::User(text) => {
            lines.push(format!("--- {number} user"));
            lines.push(text.described().into_owned());
        }
        RequestMessage::Assistant(parts) => {
            lines.push(format!("--- {number} assistant"));
            lines.extend(parts.iter().map(part));
        }
        RequestMessage::Outcomes(outcomes) => {
            lines.push(format!("--- {number} tool"));
            for outcome in outcomes {
                let failed = if outcome.failed { " failed" } else { "" };
                lines.push(format!("[{} {}{failed}]", outcome.tool, outcome.call));
                lines.push(outcome.text.described().into_owned());
            }
        }
    }
}

fn part(part: &AssistantPart) -> String {
    match part {
        AssistantPart::Text(text) => text.clone(),
        AssistantPart::Reasoning(reasoning) => format!("[reasoning] {}", reasoning.text),
        AssistantPart::Call(call) => {
            let arguments = match &call.arguments {
                Arguments::Json(json) => json.as_str(),
                Arguments::Malformed(text) => text,
            };
            format!("[call {} {}] {arguments}", call.tool, call.id)
        }
        AssistantPart::Attached(part) => part.note(),
        AssistantPart::Raw(raw) => format!("[raw] {}", raw.as_str()),
    }
}

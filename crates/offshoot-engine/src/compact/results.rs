//! The results of an agent's children, carried over a compaction (PD-9).
//!
//! A summary may lose a child's report, which stands nowhere else. So a
//! compaction keeps the results of what it covers word for word: the newest ones,
//! within a budget, and of the others a reference. What an earlier compaction kept
//! counts as if it had been said again, so the results of many compactions stay
//! within the same budget. Kept in the entry, so that a request stays a pure
//! function of the log.

use std::collections::VecDeque;

use offshoot_types::event::KeptResult;
use offshoot_types::id::AgentId;
use offshoot_types::outcome::{Body, Outcome};
use offshoot_types::transcript::{Completion, Item};
use serde::Deserialize;
use serde_json::Value;

use crate::caps::BYTES_PER_TOKEN;
use crate::context;
use crate::sabotage::{Bug, planted};
use crate::settle;
use crate::task::TASK;

/// Most bytes of results that a compaction keeps.
const MOST_KEPT: usize = 32 * 1024;

/// Most bytes of one result.
const MOST_OF_ONE: usize = 8 * 1024;

/// Most results that are kept or referred to.
const MOST_NAMED: usize = 64;

/// The part of a context that results may take: one in so many bytes.
const PART_OF_CONTEXT: u64 = 8;

/// Returns the results among items that a summary will stand for, in their order. `usable` is the size
/// of the context, in tokens.
pub(super) fn kept(covered: &[&Item], usable: Option<u64>) -> Vec<KeptResult> {
    let mut all = Vec::new();
    for item in covered {
        match item {
            Item::Completion(_) if planted(Bug::SummaryWithoutMail) => {}
            Item::Completion(completion) => all.push(of_completion(completion)),
            Item::Assistant(step) => {
                for (call, outcome) in step.outcomes() {
                    match call.tool.as_str() {
                        TASK => all.extend(of_task(outcome)),
                        "wait" | "cancel" => all.extend(of_wait(outcome)),
                        _ => {}
                    }
                }
            }
            Item::Compacted(compaction) => all.extend(compaction.results.iter().cloned()),
            Item::User(_) => {}
        }
    }
    within(all, budget(usable))
}

/// Adds what a model reads of kept results. A result that woke the agent is in `request`, the message
/// that is being worked on, and is not repeated.
pub(super) fn push(text: &mut String, results: &[KeptResult], request: Option<&str>) {
    let results = results.iter().filter(|one| !is_told_in(one, request));
    let (told, named): (Vec<_>, Vec<_>) = results.partition(|one| one.text.is_some());
    if !told.is_empty() {
        text.push_str("\n\nResults of your agents from before this summary:");
    }
    for result in told {
        let body = result.text.as_deref().unwrap_or_default();
        let KeptResult {
            agent,
            definition,
            status,
            ..
        } = result;
        text.push('\n');
        text.push_str(&settle::block(agent, definition, None, status, body));
    }
    if !named.is_empty() {
        text.push_str(
            "\n\nEarlier results that are not repeated here; `offshoot sessions show ID` prints one:",
        );
    }
    for result in named {
        let KeptResult {
            agent,
            definition,
            status,
            ..
        } = result;
        text.push_str(&format!("\n- {definition}, session_id {agent}, {status}"));
    }
}

fn is_told_in(result: &KeptResult, request: Option<&str>) -> bool {
    let (Some(request), Some(text)) = (request, &result.text) else {
        return false;
    };
    let handle = format!("session_id=\"{}\"", result.agent);
    // The two may be cut at different places.
    let head: String = text.chars().take(200).collect();
    request.contains(&handle) && request.contains(head.trim_end())
}

/// Returns how many bytes results may take: a part of a small context, and never much of a large one.
fn budget(usable: Option<u64>) -> usize {
    let part = usable.map(|usable| usable.saturating_mul(BYTES_PER_TOKEN) / PART_OF_CONTEXT);
    let part = part.and_then(|part| usize::try_from(part).ok());
    part.map_or(MOST_KEPT, |part| part.min(MOST_KEPT))
}

/// Keeps the newest results word for word as long as they fit, and the others by name.
fn within(all: Vec<KeptResult>, budget: usize) -> Vec<KeptResult> {
    let mut left = budget;
    let mut kept = VecDeque::new();
    for mut result in all.into_iter().rev().take(MOST_NAMED) {
        let size = result.text.as_ref().map_or(0, String::len);
        match left.checked_sub(size) {
            Some(rest) => left = rest,
            None => {
                result.text = None;
                // Older ones do not take the place of a newer one that was too long.
                left = 0;
            }
        }
        kept.push_front(result);
    }
    kept.into()
}

fn result(agent: AgentId, definition: String, status: String, text: String) -> KeptResult {
    KeptResult {
        agent,
        definition,
        status,
        text: Some(context::capped(text, MOST_OF_ONE)),
    }
}

fn of_completion(completion: &Completion) -> KeptResult {
    let Completion {
        run,
        definition,
        settlement,
        ..
    } = completion;
    let status = settlement.status.word().to_owned();
    let text = settle::told(&run.agent, settlement);
    result(run.agent.clone(), definition.clone(), status, text)
}

/// Returns the result of a `task` that waited; a receipt and a refused call have none.
fn of_task(outcome: &Outcome) -> Option<KeptResult> {
    let extra = &outcome.metadata.extra;
    let text = |key| extra.get(key)?.read::<String>().ok();
    let agent = AgentId::new(text("subagent_id")?);
    let text_of = match &outcome.body {
        Body::Error { text, .. } => text.clone(),
        Body::Output(data) => match data.read::<Value>().ok()?.get("output")? {
            Value::String(said) => said.clone(),
            value => value.to_string(),
        },
    };
    Some(result(
        agent,
        text("definition_id")?,
        text("settlement")?,
        text_of,
    ))
}

/// What a `wait` or `cancel` tells of runs that have ended.
#[derive(Deserialize)]
struct Waited {
    settled: Vec<Told>,
}

/// A run that it tells of. One that was told before has no output.
#[derive(Deserialize)]
struct Told {
    session_id: AgentId,
    agent: String,
    status: Option<String>,
    reason: Option<String>,
    output: Option<Value>,
}

fn of_wait(outcome: &Outcome) -> Vec<KeptResult> {
    let Body::Output(data) = &outcome.body else {
        return Vec::new();
    };
    let Ok(Waited { settled }) = data.read::<Waited>() else {
        return Vec::new();
    };
    let told = settled.into_iter().filter_map(|told| {
        let said = match told.output {
            Some(Value::String(said)) => said,
            Some(value) => value.to_string(),
            None => told.reason?,
        };
        Some(result(told.session_id, told.agent, told.status?, said))
    });
    told.collect()
}

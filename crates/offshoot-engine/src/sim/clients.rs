//! Client tools and overlays of a history, and what has to have become of them (ruling 2, R12).
//!
//! In half of the histories the session has client tools, and agents call them. Results come from any
//! process, at any time, now and then from two clients at once and to calls that are over. A result
//! that was acknowledged is the one outcome of its call. Nothing but a result or a person who stops the
//! turn ends such a call of a root; one of a child also ends with its process.
//!
//! In half of those the session and its copies have a tool of one name attached, each its own.

use std::collections::{BTreeMap, BTreeSet};

use offshoot_types::client_tool::{ClientTool, ToolResult};
use offshoot_types::command::{Answer, Command, Order, Receipt, Verdict};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::model::Request;
use offshoot_types::outcome::{Body, ErrorKind, Outcome};
use offshoot_types::tool::Effect;
use offshoot_types::tree::Tree;
use serde_json::json;

use super::disk::Disk;
use super::fakes::SimTool;
use super::oracle::Witness;
use super::person::asked;
use super::world::World;
use crate::overlay::{Attachment, Overlay};
use crate::runtime::Runtime;

/// The tool that each session has of its own.
pub(super) const ATTACHED: &str = "attached";

/// Returns the client tools of a history.
pub(super) fn client_tools(seed: u64) -> Vec<ClientTool> {
    if !(seed / 12).is_multiple_of(2) {
        return Vec::new();
    }
    let tool = |name: &str, read_only: bool, skip_permission: bool| ClientTool {
        name: name.to_owned(),
        description: "A client carries it out.".to_owned(),
        parameters: RawJson::of(&json!({ "type": "object" })),
        read_only,
        skip_permission,
    };
    // Most permissions are asked about files; one of these asks as well.
    vec![
        tool("lookup", true, true),
        tool("deploy", false, !(seed / 2).is_multiple_of(4)),
    ]
}

/// Tells whether sessions of a history have a tool of their own.
pub(super) fn has_overlays(seed: u64) -> bool {
    (seed / 12).is_multiple_of(4)
}

/// Fails where a model is offered the tool that another session has.
pub(super) fn judge_offer(request: &Request, witness: &Witness, disk: &Disk) {
    let attached = request.tools.iter().find(|tool| tool.id == ATTACHED);
    let Some(attached) = attached else {
        return;
    };
    let agent = &request.from.agent;
    let home = disk.read(|backend| backend.tree_of(agent));
    if home.is_some_and(|tree| attached.description != tree.to_string()) {
        let of = &attached.description;
        witness
            .verdict
            .fail(&format!("{agent} was offered the tool of session {of}"));
    }
}

impl World {
    /// Attaches the tools that sessions have of their own.
    pub(super) fn attach(&self, runtime: &Runtime, sessions: &[TreeId]) -> Vec<Attachment> {
        let attach = |session: &TreeId| {
            let (chance, witness) = (self.chance.clone(), self.witness.clone());
            let words = session.to_string();
            let tool = SimTool::described(ATTACHED, &words, Effect::Read, chance, witness);
            let overlay = Overlay {
                tools: vec![tool],
                ..Overlay::default()
            };
            runtime.attach(session, overlay).expect("attach a tool")
        };
        sessions.iter().map(attach).collect()
    }

    /// Returns a result of a call of a client tool that no other answer has.
    pub(super) fn result(&mut self) -> Verdict {
        self.commands += 1;
        let text = format!("result-{}", self.commands);
        Verdict::Returned(match self.chance.below(5) {
            0 => ToolResult::Error(text),
            1 => ToolResult::Data(RawJson::of(&json!({ "is": text }))),
            _ => ToolResult::Text(text),
        })
    }

    /// Has two clients answer one call at once, and one of them once more.
    pub(super) async fn answer_twice(&mut self) -> Result<(), String> {
        let waits = asked(&self.tree_on_disk()).into_iter();
        let waits: Vec<(AgentId, CallId)> = waits
            .filter(|(_, _, ask)| ask.waits_for_client)
            .map(|(agent, call, _)| (agent, call))
            .collect();
        let Some((agent, call)) = waits.get(self.chance.below(waits.len())).cloned() else {
            return Ok(());
        };
        let mut answer = || {
            let answer = Answer::new(call.clone(), self.result());
            (agent.clone(), Order::Answer(answer))
        };
        let (both, late) = (vec![answer(), answer()], answer());
        self.send(both).await?;
        self.send(vec![late]).await
    }
}

/// A call of a client tool.
type Key<'a> = (&'a AgentId, &'a CallId);

/// Each result that was acknowledged is the outcome of its call, and no other result is.
pub(super) fn one_result_each<'a>(
    tree: &Tree,
    entries: &[Entry],
    acknowledged: impl Iterator<Item = (&'a Command, Receipt)>,
) -> Result<(), String> {
    let mut expected: BTreeMap<Key<'_>, Vec<Body>> = BTreeMap::new();
    // A command that was sent twice is acknowledged twice.
    let mut seen = BTreeSet::new();
    for (command, receipt) in acknowledged.filter(|(command, _)| seen.insert(&command.id)) {
        if let (Order::Answer(answer), Receipt::Answered) = (&command.order, receipt)
            && let Verdict::Returned(result) = &answer.verdict
        {
            let results = expected.entry((&command.agent, &answer.call)).or_default();
            results.push(Outcome::from(result.clone()).body);
        }
    }
    let mut waits: BTreeMap<Key<'_>, bool> = BTreeMap::new();
    for entry in entries {
        // What is copied was answered in another session.
        if entry.pos <= tree.copied_until() {
            continue;
        }
        let agent = &entry.agent;
        match &entry.event {
            Event::Asked {
                call,
                waits_for_client,
                ..
            } => drop(waits.insert((agent, call), *waits_for_client)),
            Event::CallFinished { call, outcome, .. } => {
                let is_root = agent == entry.tree.root();
                let ended = match &outcome.body {
                    Body::Error { kind, .. } => match kind {
                        ErrorKind::Cancelled => true,
                        ErrorKind::Interrupted => !is_root,
                        _ => false,
                    },
                    Body::Output(_) => false,
                };
                if waits.remove(&(agent, call)) != Some(true) || ended {
                    continue;
                }
                let results = expected.get_mut(&(agent, call));
                let at = results.as_ref().and_then(|results| {
                    let mut results = results.iter();
                    results.position(|result| *result == outcome.body)
                });
                match (results, at) {
                    (Some(results), Some(at)) => drop(results.remove(at)),
                    _ => {
                        let text =
                            format!("{call} of {agent} ended, and no acknowledged result says so");
                        return Err(text);
                    }
                }
            }
            _ => {}
        }
    }
    let lost = expected.iter().find(|(_, results)| !results.is_empty());
    lost.map_or(Ok(()), |((agent, call), _)| {
        Err(format!(
            "a result of {call} of {agent} was acknowledged and is not its outcome"
        ))
    })
}

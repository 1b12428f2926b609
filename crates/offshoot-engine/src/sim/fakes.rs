//! The model, the tools and the clock of a history.
//!
//! The model delegates, calls tools, talks, stalls and fails as the seed has
//! it; every text it says is unique, so that the oracle can count where it turns
//! up. Each request is held against the one before: only ever extended.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use offshoot_types::cancel::Cancel;
use offshoot_types::env::Env;
use offshoot_types::id::Timestamp;
use offshoot_types::journal::Change;
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, StopReason, Usage};
use offshoot_types::model::{
    Chunk, Model, ModelError, ModelErrorKind, Models, Request, RequestMessage, ToolChoice,
};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde_json::json;

use super::chance::Chance;
use super::clients::{self, ATTACHED};
use super::disk::Disk;
use super::oracle::Witness;

/// The prompt that ends a history: it is answered without calls.
pub(crate) const FINAL: &str = "final";

pub(crate) struct SimEnv(pub(crate) Arc<Witness>);

impl Env for SimEnv {
    fn now(&self) -> Timestamp {
        let ms = self.0.began.elapsed().as_millis();
        Timestamp::new(1_000_000 + u64::try_from(ms).unwrap())
    }

    fn new_id(&self) -> String {
        format!("id{:05}", self.0.ids.fetch_add(1, Ordering::Relaxed))
    }
}

/// How many tokens the model takes where it says so. Requests are small against it: only what it
/// reports fills it.
pub(crate) const WINDOW: u64 = 100_000;

pub(crate) struct SimModels {
    pub(crate) window: Option<u64>,
    pub(crate) process: u32,
    pub(crate) chance: Chance,
    pub(crate) witness: Arc<Witness>,
    pub(crate) disk: Arc<Disk>,
}

impl Models for SimModels {
    fn find(&self, _name: &str) -> Result<Arc<dyn Model>, ModelError> {
        Ok(Arc::new(SimModel {
            window: self.window,
            process: self.process,
            chance: self.chance.clone(),
            witness: self.witness.clone(),
            disk: self.disk.clone(),
        }))
    }
}

struct SimModel {
    window: Option<u64>,
    process: u32,
    chance: Chance,
    witness: Arc<Witness>,
    disk: Arc<Disk>,
}

/// What a stream does next.
enum Act {
    Give(Chunk),
    Fail(ModelErrorKind),
    Hang,
}

impl Model for SimModel {
    fn stream(
        &self,
        request: Request,
        cancel: Cancel,
    ) -> BoxStream<'static, Result<Chunk, ModelError>> {
        self.witness.asked(&request, self.process, &self.disk);
        clients::judge_offer(&request, &self.witness, &self.disk);
        let acts = self.acts(&request);
        let shows = acts
            .iter()
            .any(|act| matches!(act, Act::Give(Chunk::Text(_))));
        let fails = acts
            .iter()
            .any(|act| matches!(act, Act::Fail(_) | Act::Hang));
        // Nobody is shown what a helper says.
        let helps = request.tools.is_empty();
        if shows && fails && !helps {
            self.witness.will_cut(&request, &self.disk);
        }
        let (chance, witness) = (self.chance.clone(), self.witness.clone());
        let stream = futures_util::stream::iter(acts).then(move |act| {
            let (chance, cancel, hang) = (chance.clone(), cancel.clone(), witness.hang());
            async move {
                chance.pause().await;
                match act {
                    Act::Give(chunk) => Ok(chunk),
                    Act::Fail(kind) => Err(ModelError::new(kind, "the model failed")),
                    Act::Hang => tokio::select! {
                        biased;
                        () = cancel.cancelled() => std::future::pending().await,
                        () = hang => Err(ModelError::new(ModelErrorKind::Unavailable, "it hung")),
                    },
                }
            }
        });
        stream.boxed()
    }

    fn window(&self) -> Option<u64> {
        self.window
    }
}

impl SimModel {
    fn acts(&self, request: &Request) -> Vec<Act> {
        let chance = &self.chance;
        let last_words = request
            .messages
            .iter()
            .rev()
            .find_map(|message| match message {
                RequestMessage::User(text) => Some(text.as_str()),
                RequestMessage::Assistant(_) | RequestMessage::Outcomes(_) => None,
            });
        if last_words == Some(FINAL) && request.from.depth == 0 {
            return self.say();
        }
        if !self.witness.is_calm() {
            if chance.one_in(14) {
                let retry_after = chance
                    .one_in(2)
                    .then(|| Duration::from_millis(chance.draw() % 2_000));
                let kinds = [
                    ModelErrorKind::RateLimited { retry_after },
                    ModelErrorKind::Unavailable,
                    ModelErrorKind::Invalid,
                    ModelErrorKind::TooLong,
                ];
                return vec![Act::Fail(kinds[chance.below(4)])];
            }
            if chance.one_in(25) {
                let mut acts = self.say();
                acts.truncate(1);
                let end = if chance.one_in(2) {
                    Act::Hang
                } else {
                    Act::Fail(ModelErrorKind::Unavailable)
                };
                acts.push(end);
                return acts;
            }
            if chance.one_in(30) {
                return vec![Act::Hang];
            }
        }
        let may_call = request.choice == ToolChoice::Auto
            && request.from.step <= 3
            && !request.tools.is_empty();
        if may_call && chance.below(10) < if request.from.step == 1 { 7 } else { 3 } {
            return self.call(request);
        }
        if chance.one_in(30) {
            return vec![self.end(StopReason::End)];
        }
        self.say()
    }

    fn say(&self) -> Vec<Act> {
        let word = self.witness.word();
        let (head, tail) = word.split_at(2);
        vec![
            Act::Give(Chunk::Text(head.to_owned())),
            Act::Give(Chunk::Text(tail.to_owned())),
            self.end([StopReason::End, StopReason::End, StopReason::Length][self.chance.below(3)]),
        ]
    }

    /// Returns a call that looks after somebody the model was told of, or after a stranger.
    fn steer(&self, request: &Request) -> (&'static str, serde_json::Value) {
        let told = request.messages.iter().flat_map(|message| match message {
            RequestMessage::Outcomes(outcomes) => outcomes.clone(),
            RequestMessage::User(_) | RequestMessage::Assistant(_) => Vec::new(),
        });
        let known: Vec<String> = told.filter_map(|outcome| handle(&outcome.text)).collect();
        let id = match known.get(self.chance.below(known.len() + 1)) {
            Some(id) => id.clone(),
            None => "root".to_owned(),
        };
        let mode = ["any", "all"][self.chance.below(2)];
        match self.chance.below(6) {
            0 => ("children", json!({})),
            1 => ("cancel", json!({ "session_id": id })),
            2 => (
                "wait",
                json!({ "mode": mode, "timeout_ms": self.chance.below(20_000) }),
            ),
            3 => ("wait", json!({ "session_ids": [id], "mode": mode })),
            _ => ("message", json!({ "session_id": id, "text": "go on" })),
        }
    }

    fn call(&self, request: &Request) -> Vec<Act> {
        let chance = &self.chance;
        let mut acts = Vec::new();
        if chance.one_in(3) {
            acts.push(Act::Give(Chunk::Text(self.witness.word())));
        }
        let offers = |name: &str| request.tools.iter().any(|tool| tool.id == name);
        // Mixed messages: a call may depend on what the calls before it do.
        for index in 0..=chance.below(4) {
            let (tool, arguments) = match chance.below(15) {
                _ if offers("lookup") && chance.one_in(6) => ("lookup", json!({})),
                _ if offers("deploy") && chance.one_in(8) => ("deploy", json!({})),
                _ if offers(ATTACHED) && chance.one_in(12) => (ATTACHED, json!({})),
                0..=6 if self.witness.may_spawn() => ("task", self.task()),
                7 | 14 => ("write", json!({ "path": "a" })),
                8 => ("read", json!({ "path": "a" })),
                9 => ("nothing", json!({})),
                10 => ("task", json!({ "prompt": "no type" })),
                11 | 12 => self.steer(request),
                13 if chance.one_in(2) => ("question", self.question()),
                _ => ("read", json!({ "path": "b" })),
            };
            // Ids repeat and are empty now and then, as some providers' do.
            let id = if chance.one_in(4) {
                String::new()
            } else {
                format!("call-{index}")
            };
            let arguments = if chance.one_in(20) {
                Arguments::Malformed("{".to_owned())
            } else {
                Arguments::Json(RawJson::of(&arguments))
            };
            acts.push(Act::Give(Chunk::Call {
                id,
                tool: tool.to_owned(),
                arguments,
            }));
        }
        acts.push(self.end(StopReason::Calls));
        acts
    }

    fn question(&self) -> serde_json::Value {
        let question = json!({ "question": "which?", "multi_select": self.chance.one_in(2) });
        match self.chance.below(8) {
            0 => json!({ "questions": [] }),
            1 => json!({ "questions": [question, { "question": "why?" }] }),
            _ => json!({ "questions": [question] }),
        }
    }

    fn task(&self) -> serde_json::Value {
        let agent = match self.chance.below(14) {
            0..=7 => "worker",
            8 | 9 => "watched",
            10 | 11 => "thrifty",
            12 => "missing",
            _ => "lead",
        };
        json!({ "subagent_type": agent, "prompt": "work", "background": self.chance.one_in(2) })
    }

    fn end(&self, stop: StopReason) -> Act {
        let full = self.window.is_some() && self.chance.one_in(6);
        let usage = Usage {
            input: if full {
                WINDOW - 500
            } else {
                1 + self.chance.below(300) as u64
            },
            output: 1 + self.chance.below(50) as u64,
            ..Usage::default()
        };
        Act::Give(Chunk::End { stop, usage })
    }
}

/// Returns the id in what a model was told of a child in the background.
fn handle(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("\"session_id\":\"")?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// A tool that takes a while, fails, or does not end before it is cancelled, or not even then.
pub(crate) struct SimTool {
    spec: ToolSpec,
    chance: Chance,
    witness: Arc<Witness>,
}

impl SimTool {
    pub(crate) fn tool(
        id: &str,
        effect: Effect,
        chance: Chance,
        witness: Arc<Witness>,
    ) -> Arc<dyn Tool> {
        Self::described(id, "simulated", effect, chance, witness)
    }

    pub(crate) fn described(
        id: &str,
        description: &str,
        effect: Effect,
        chance: Chance,
        witness: Arc<Witness>,
    ) -> Arc<dyn Tool> {
        let spec = ToolSpec::new(id, description, &json!({ "type": "object" }), effect);
        Arc::new(Self {
            spec,
            chance,
            witness,
        })
    }
}

/// Returns an outcome of the kinds that real tools have.
fn outcome(chance: &Chance) -> Outcome {
    match chance.below(7) {
        0 => Outcome::error(ErrorKind::Failed, "read `x`: there is no such file"),
        1 => Outcome::error(ErrorKind::Conflict, "edit `a`: worker wrote it meanwhile"),
        2 => Outcome::error(ErrorKind::TooLarge, "edit `a`: it has 11 MB"),
        3 => {
            let mut long = Outcome::output(RawJson::of(&"head\n[truncated]"));
            long.metadata.truncated = Some(true);
            long.metadata.output_path = Some("/s/root/outputs/1-bash.txt".to_owned());
            long
        }
        4 => {
            let mut failed = Outcome::output(RawJson::of(&"no\n[exit code 1]"));
            failed.metadata.extra.insert("exit_code", &1);
            failed
        }
        _ => Outcome::output(RawJson::of(&"done")),
    }
}

impl Tool for SimTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self, arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String> {
        let path: serde_json::Value = arguments.read().map_err(|error| error.to_string())?;
        let path = path["path"].as_str().unwrap_or("a");
        let capability = if self.spec.effect == Effect::Read {
            Need::FS_READ
        } else {
            Need::FS_WRITE
        };
        // Whoever asks for `b` asks for something outside the root.
        let target = if path == "b" {
            "/b".to_owned()
        } else {
            format!("{}/{path}", place.workspace)
        };
        Ok(vec![Need {
            capability: capability.to_owned(),
            target,
        }])
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        let (chance, calm) = (self.chance.clone(), self.witness.is_calm());
        let hang = self.witness.hang();
        let effect = self.spec.effect;
        Box::pin(async move {
            work.output.say("beginning");
            chance.pause().await;
            if !calm && chance.one_in(10) {
                tokio::select! {
                    biased;
                    () = work.cancel.cancelled() => {}
                    () = hang => return outcome(&chance),
                }
                if chance.one_in(2) {
                    std::future::pending::<()>().await;
                }
                work.output.say("stopping");
                return Outcome::error(ErrorKind::Cancelled, "cancelled; output so far: beginning");
            }
            if effect == Effect::Write {
                let change = Change {
                    path: "/w/a".to_owned(),
                    before: None,
                    after: Some(b"after".to_vec()),
                };
                // As with a real file: what cannot be recorded is not done.
                if let Err(why) = work.journal.record(change).await {
                    return Outcome::error(ErrorKind::Failed, why);
                }
                chance.pause().await;
            }
            outcome(&chance)
        })
    }
}

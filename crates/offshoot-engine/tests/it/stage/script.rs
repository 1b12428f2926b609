//! A model whose lines are written beforehand.
//!
//! Lines are kept by definition; a line may wait at a gate that the test opens.
//! What the models were sent is kept too.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use offshoot_types::cancel::Cancel;
use offshoot_types::caps::Price;
use offshoot_types::content::Digest;
use offshoot_types::id::AgentId;
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, StopReason, Usage};
use offshoot_types::model::{Chunk, GivenFile, Model, ModelError, ModelErrorKind, Models, Request};
use tokio::sync::Semaphore;

/// Something that lines wait at until the test opens it.
#[derive(Clone)]
pub(crate) struct Gate(Arc<Semaphore>);

impl Gate {
    pub(crate) fn shut() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    pub(crate) fn open(&self) {
        self.let_through(1_000);
    }

    /// Lets so many through, and is shut behind them.
    pub(crate) fn let_through(&self, many: usize) {
        self.0.add_permits(many);
    }

    /// Waits until it is open.
    pub(crate) async fn passed(&self) {
        self.0.acquire().await.unwrap().forget();
    }
}

/// One step of a model.
#[derive(Clone)]
pub(crate) struct Line {
    acts: Vec<Result<Chunk, ModelError>>,
    gate: Option<Gate>,
    gate_after: Option<Gate>,
    greedy: bool,
    /// How long it takes to write a piece of a call.
    writes_in: Duration,
}

/// Says a text.
pub(crate) fn say(text: &str) -> Line {
    Line::of(vec![Ok(Chunk::Text(text.to_owned())), end(StopReason::End)])
}

/// Fails.
pub(crate) fn fail(kind: ModelErrorKind) -> Line {
    Line::of(vec![Err(ModelError::new(kind, "the model is unwell"))])
}

/// Says a text and breaks off.
pub(crate) fn cut(text: &str) -> Line {
    let error = ModelError::new(ModelErrorKind::Unavailable, "the line went dead");
    Line::of(vec![Ok(Chunk::Text(text.to_owned())), Err(error)])
}

/// Calls tools.
pub(crate) fn call(calls: &[(&str, serde_json::Value)]) -> Line {
    let mut acts: Vec<_> = calls
        .iter()
        .map(|(tool, arguments)| {
            Ok(Chunk::Call {
                id: String::new(),
                tool: (*tool).to_owned(),
                arguments: Arguments::Json(RawJson::of(arguments)),
            })
        })
        .collect();
    acts.push(end(StopReason::Calls));
    Line::of(acts)
}

/// Calls `task` once.
pub(crate) fn task(agent: &str, prompt: &str) -> Line {
    call(&[("task", task_arguments(agent, prompt))])
}

/// Calls `task` once, in the background.
pub(crate) fn task_in_background(agent: &str, prompt: &str) -> Line {
    let mut arguments = task_arguments(agent, prompt);
    arguments["background"] = true.into();
    call(&[("task", arguments)])
}

pub(crate) fn task_arguments(agent: &str, prompt: &str) -> serde_json::Value {
    serde_json::json!({ "subagent_type": agent, "prompt": prompt })
}

fn end(stop: StopReason) -> Result<Chunk, ModelError> {
    let usage = Usage {
        input: 10,
        output: 2,
        ..Usage::default()
    };
    Ok(Chunk::End { stop, usage })
}

impl Line {
    fn of(acts: Vec<Result<Chunk, ModelError>>) -> Self {
        Self {
            acts,
            gate: None,
            gate_after: None,
            greedy: false,
            writes_in: Duration::ZERO,
        }
    }

    /// Gives a file first.
    pub(crate) fn giving(mut self, name: &str, bytes: &[u8]) -> Self {
        let file = GivenFile {
            name: Some(name.to_owned()),
            media_type: "text/csv".to_owned(),
            bytes: bytes.to_vec(),
        };
        self.acts.insert(0, Ok(Chunk::File(file)));
        self
    }

    /// Reports that it used so many tokens.
    pub(crate) fn using(self, input: u64, output: u64) -> Self {
        self.having_used(Usage {
            input,
            output,
            ..Usage::default()
        })
    }

    /// Reports what it used, of every kind.
    pub(crate) fn having_used(mut self, used: Usage) -> Self {
        for act in &mut self.acts {
            if let Ok(Chunk::End { usage, .. }) = act {
                *usage = used;
            }
        }
        self
    }

    /// Reports as much output as the request lets it have.
    pub(crate) fn greedily(mut self) -> Self {
        self.greedy = true;
        self
    }

    /// Says something first.
    pub(crate) fn saying(mut self, text: &str) -> Self {
        self.acts.insert(0, Ok(Chunk::Text(text.to_owned())));
        self
    }

    /// Breaks off where it would have come to its end.
    pub(crate) fn breaking_off(mut self, kind: ModelErrorKind) -> Self {
        self.acts.pop();
        let error = ModelError::new(kind, "the line went dead");
        self.acts.push(Err(error));
        self
    }

    /// Writes its call in so many pieces of 40 bytes first, each of which takes its time.
    pub(crate) fn writing(mut self, pieces: usize, each: Duration) -> Self {
        let piece = || Ok(Chunk::Gathering { bytes: 40 });
        self.acts.splice(..0, (0..pieces).map(|_| piece()));
        self.writes_in = each;
        self
    }

    /// Says so many times that it waits its turn first, each after its time.
    pub(crate) fn queueing(mut self, times: usize, each: Duration) -> Self {
        self.acts.splice(..0, (0..times).map(|_| Ok(Chunk::Queued)));
        self.writes_in = each;
        self
    }

    /// Waits at a gate before the first word.
    pub(crate) fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Waits at a gate after the first word.
    pub(crate) fn stalls_at(mut self, gate: &Gate) -> Self {
        self.gate_after = Some(gate.clone());
        self
    }
}

/// Blobs by their folder and digest.
type Blobs = BTreeMap<(String, Digest), Vec<u8>>;

/// The lines of every agent, by definition, and what the models were sent.
#[derive(Clone, Default)]
pub(crate) struct Script {
    lines: Arc<Mutex<BTreeMap<String, VecDeque<Line>>>>,
    requests: Arc<Mutex<Vec<Request>>>,
    signals: Arc<Mutex<Vec<(String, Cancel)>>>,
    price: Option<Price>,
    window: Option<u64>,
    /// What stands for an id that is not known beforehand.
    names: Arc<Mutex<BTreeMap<String, Option<AgentId>>>>,
    /// Whether the model takes images.
    images: bool,
    /// Blobs by folder and digest, as sidecars keep them.
    pub(crate) blobs: Arc<Mutex<Blobs>>,
    /// Whether no model is to be found.
    gone: Arc<AtomicBool>,
}

impl Script {
    /// Has the model take images.
    pub(crate) fn takes_images(mut self) -> Self {
        self.images = true;
        self
    }

    /// Lets the model be found, or not.
    pub(crate) fn has_model(&self, has: bool) {
        self.gone.store(!has, Ordering::SeqCst);
    }

    /// Lets a word in arguments stand for an agent.
    pub(crate) fn name(&self, word: &str, agent: &AgentId) {
        let mut names = self.names.lock().unwrap();
        names.insert(word.to_owned(), Some(agent.clone()));
    }

    /// Lets a word in arguments stand for the first agent below the root that asks its model.
    pub(crate) fn name_first_child(&self, word: &str) {
        self.names.lock().unwrap().insert(word.to_owned(), None);
    }

    /// Puts ids where words stand for them.
    fn spell(&self, act: Result<Chunk, ModelError>) -> Result<Chunk, ModelError> {
        let Ok(Chunk::Call {
            id,
            tool,
            arguments: Arguments::Json(arguments),
        }) = act
        else {
            return act;
        };
        let mut text = arguments.as_str().to_owned();
        for (word, agent) in self.names.lock().unwrap().iter() {
            if let Some(agent) = agent {
                text = text.replace(word, agent.as_str());
            }
        }
        let arguments = Arguments::Json(RawJson::parse(text).unwrap());
        Ok(Chunk::Call {
            id,
            tool,
            arguments,
        })
    }

    /// Says what a million tokens cost, in dollars.
    pub(crate) fn priced(mut self, input: f64, output: f64) -> Self {
        self.price = Some(Price {
            input,
            output,
            ..Price::default()
        });
        self
    }

    /// Says how many tokens it takes.
    pub(crate) fn taking(mut self, window: u64) -> Self {
        self.window = Some(window);
        self
    }

    /// Adds the lines of a definition; agents of one definition take turns.
    pub(crate) fn part(self, definition: &str, lines: impl IntoIterator<Item = Line>) -> Self {
        let mut parts = self.lines.lock().unwrap();
        parts
            .entry(definition.to_owned())
            .or_default()
            .extend(lines);
        drop(parts);
        self
    }

    /// Returns what agents of a definition were sent, in order.
    pub(crate) fn sent(&self, definition: &str) -> Vec<Request> {
        let requests = self.requests.lock().unwrap();
        requests
            .iter()
            .filter(|request| request.from.definition == definition)
            .cloned()
            .collect()
    }

    /// Returns what everybody was sent, in order.
    pub(crate) fn sent_to_all(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the signals that the steps of a definition were handed, in order.
    pub(crate) fn signals(&self, definition: &str) -> Vec<Cancel> {
        let signals = self.signals.lock().unwrap();
        let of = signals.iter().filter(|(name, _)| name == definition);
        of.map(|(_, signal)| signal.clone()).collect()
    }
}

impl Models for Script {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        if self.gone.load(Ordering::SeqCst) {
            let text = format!("there is no model {name}");
            return Err(ModelError::new(ModelErrorKind::Config, text));
        }
        Ok(Arc::new(self.clone()))
    }
}

impl Model for Script {
    fn takes_images(&self) -> bool {
        self.images
    }

    fn stream(
        &self,
        request: Request,
        cancel: Cancel,
    ) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let line = {
            let mut lines = self.lines.lock().unwrap();
            lines
                .get_mut(&request.from.definition)
                .and_then(VecDeque::pop_front)
        };
        if request.from.depth > 0 {
            for agent in self.names.lock().unwrap().values_mut() {
                agent.get_or_insert_with(|| request.from.agent.clone());
            }
        }
        let name = request.from.definition.clone();
        self.signals.lock().unwrap().push((name, cancel));
        let most = request.max_output_tokens.map(u64::from);
        self.requests.lock().unwrap().push(request);
        let script = self.clone();
        let Line {
            mut acts,
            gate,
            gate_after,
            greedy,
            writes_in,
        } = line.unwrap_or_else(|| say("nothing more to say"));
        if let (true, Some(most), Some(Ok(Chunk::End { usage, .. }))) =
            (greedy, most, acts.last_mut())
        {
            usage.output = most;
        }
        let stream =
            futures_util::stream::iter(acts.into_iter().enumerate()).then(move |(index, act)| {
                let wait = match index {
                    0 => gate.clone(),
                    1 => gate_after.clone(),
                    _ => None,
                };
                let script = script.clone();
                async move {
                    if let Some(gate) = wait {
                        gate.passed().await;
                    }
                    if let Ok(Chunk::Gathering { .. } | Chunk::Queued) = act {
                        tokio::time::sleep(writes_in).await;
                    }
                    script.spell(act)
                }
            });
        stream.boxed()
    }

    fn price(&self) -> Option<Price> {
        self.price
    }

    fn window(&self) -> Option<u64> {
        self.window
    }
}

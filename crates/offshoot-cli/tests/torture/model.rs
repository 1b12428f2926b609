//! A server in OpenAI's chat dialect that carries out plans and notes every request.
//!
//! It keeps no state between requests: the plan of the last prompt and the steps
//! that were made since say what comes next, so a process that was killed and one
//! that goes on are answered alike. The first part of the path is the round.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::plan::{self, Call, Plans};

/// Returns a number for an id or a key: none is used twice.
fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// One request, as far as the checks need it.
pub(crate) struct Sent {
    /// The agent it is for; for a helper, the agent that it works for.
    pub(crate) agent: String,
    pub(crate) by_helper: bool,
    /// How often each answer of an agent stands in it, the agent's own messages aside.
    pub(crate) answers: BTreeMap<String, usize>,
}

struct Round {
    plans: Plans,
    sent: Vec<Sent>,
    bodies: File,
}

#[derive(Default)]
struct Rounds {
    by_name: Mutex<BTreeMap<String, Round>>,
    arrived: Condvar,
}

/// The server. Ends with the process.
pub(crate) struct Server {
    address: SocketAddr,
    rounds: Arc<Rounds>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind a port");
        let address = listener.local_addr().expect("read the port");
        let rounds: Arc<Rounds> = Arc::default();
        let shared = rounds.clone();
        let serve = move || {
            for stream in listener.incoming().flatten() {
                let rounds = shared.clone();
                // A client that was killed breaks its connection: that ends this thread only.
                let answer = move || drop(answer(&stream, &rounds));
                thread::Builder::new()
                    .spawn(answer)
                    .expect("start a thread");
            }
        };
        thread::Builder::new().spawn(serve).expect("start a thread");
        Self { address, rounds }
    }

    /// Begins a round, whose requests are also written to a file.
    pub(crate) fn begin(&self, round: &str, bodies: File) {
        let round_state = Round {
            plans: Plans::new(),
            sent: Vec::new(),
            bodies,
        };
        self.lock().insert(round.to_owned(), round_state);
    }

    /// Ends a round and returns its requests, in the order they came.
    pub(crate) fn end(&self, round: &str) -> Vec<Sent> {
        self.lock()
            .remove(round)
            .map_or_else(Vec::new, |round| round.sent)
    }

    /// Returns the base address of a round.
    pub(crate) fn address(&self, round: &str) -> String {
        format!("http://{}/{round}/v1", self.address)
    }

    /// Adds plans of a round.
    pub(crate) fn plan(&self, round: &str, add: impl FnOnce(&mut Plans)) {
        if let Some(round) = self.lock().get_mut(round) {
            add(&mut round.plans);
        }
    }

    /// Waits until the round has more requests than `before`; false if none comes in time.
    pub(crate) fn wait_for_request(&self, round: &str, before: usize, most: Duration) -> bool {
        let quiet = |rounds: &mut BTreeMap<String, Round>| {
            rounds
                .get(round)
                .is_some_and(|round| round.sent.len() <= before)
        };
        let (_rounds, timeout) = self
            .rounds
            .arrived
            .wait_timeout_while(self.lock(), most, quiet)
            .unwrap_or_else(PoisonError::into_inner);
        !timeout.timed_out()
    }

    /// Returns how many requests of a round have come.
    pub(crate) fn requests(&self, round: &str) -> usize {
        self.lock().get(round).map_or(0, |round| round.sent.len())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Round>> {
        self.rounds
            .by_name
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers the one request of a connection.
fn answer(mut stream: &TcpStream, rounds: &Rounds) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let name = first.split('/').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(std::io::Error::other)?;
        }
        if line.is_empty() {
            break;
        }
    }
    // `doctor` connects and sends nothing.
    if length == 0 {
        return Ok(());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body)?;
    let (reply, delay) = {
        let mut all = rounds
            .by_name
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(round) = all.get_mut(&name) else {
            return Ok(());
        };
        writeln!(round.bodies, "{body}")?;
        let (sent, reply, delay) = take(&body, &round.plans);
        round.sent.push(sent);
        (reply, delay)
    };
    rounds.arrived.notify_all();
    thread::sleep(delay);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(format!("{head}{reply}").as_bytes())
}

/// Notes a request and returns the answer to it, and how long that takes.
fn take(body: &Value, plans: &Plans) -> (Sent, String, Duration) {
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
    let system = messages.first().map(text).unwrap_or_default();
    let helpers = ["title", "summary", "compaction"];
    let by_helper = helpers
        .iter()
        .any(|name| system.starts_with(&format!("You are {name},")));
    let mut answers = BTreeMap::new();
    // The place and the key of each prompt.
    let mut prompts: Vec<(usize, String)> = Vec::new();
    for (at, message) in messages.iter().enumerate().skip(1) {
        if message["role"] == "assistant" {
            continue;
        }
        let text = text(message);
        for answer in plan::answers(&text) {
            *answers.entry(answer.to_owned()).or_default() += 1;
        }
        if message["role"] == "user" {
            let keys = text.lines().filter_map(plan::key_of_line);
            prompts.extend(keys.map(|key| (at, key.to_owned())));
        }
    }
    // A helper reads a whole conversation, which begins with the agent's own prompt.
    let prompt = if by_helper {
        prompts.first()
    } else {
        prompts.last()
    };
    let (at, key) = prompt.cloned().unwrap_or_default();
    let sent = Sent {
        agent: plan::agent_of(&key).to_owned(),
        by_helper,
        answers,
    };
    let none = plan::Plan::default();
    let plan = plans.get(&key).unwrap_or(&none);
    let made = messages
        .iter()
        .skip(at)
        .filter(|message| message["tool_calls"].is_array());
    let step = plan.steps.get(made.count());
    let reply = match step.filter(|_| !by_helper && body["tool_choice"] != "none") {
        Some(calls) => calls_reply(calls, messages),
        None if by_helper => text_reply(&format!("plan({key})\na summary")),
        None => text_reply(&format!("answer({key})")),
    };
    (sent, reply, plan.delay)
}

fn text_reply(text: &str) -> String {
    stream(&json!({ "content": text }), "stop")
}

fn calls_reply(calls: &[Call], messages: &[Value]) -> String {
    let child = first_child(messages);
    let calls = calls.iter().enumerate().map(|(index, call)| {
        let (tool, arguments) = arguments(call, child.as_ref());
        let id = format!("call_{}", number());
        json!({ "index": index, "id": id, "type": "function",
                "function": { "name": tool, "arguments": arguments.to_string() } })
    });
    let calls: Vec<Value> = calls.collect();
    stream(&json!({ "tool_calls": calls }), "tool_calls")
}

fn arguments(call: &Call, child: Option<&(String, String)>) -> (&'static str, Value) {
    match (call, child) {
        (Call::Task { key, background }, _) => {
            let prompt = format!("plan({key})");
            let arguments =
                json!({ "subagent_type": "general", "prompt": prompt, "background": background });
            ("task", arguments)
        }
        (Call::Message, Some((name, id))) => {
            let text = format!("plan({name}.m{})", number());
            ("message", json!({ "session_id": id, "text": text }))
        }
        (Call::Cancel, Some((_, id))) => ("cancel", json!({ "session_id": id })),
        (Call::Children | Call::Message | Call::Cancel, _) => ("children", json!({})),
        (Call::Wait, _) => ("wait", json!({ "timeout_ms": 2000 })),
        (Call::Write { name }, _) => ("write", json!({ "path": name, "content": "written" })),
        (Call::Bash, _) => {
            let command = "sleep 600 & echo started";
            ("bash", json!({ "command": command }))
        }
        (Call::Question, _) => {
            let question = json!({ "question": "Which colour?", "options": [{ "label": "red" }] });
            ("question", json!({ "questions": [question] }))
        }
    }
}

/// Returns the name and the id of the first child of a conversation that runs in the background.
fn first_child(messages: &[Value]) -> Option<(String, String)> {
    let calls = messages
        .iter()
        .flat_map(|message| message["tool_calls"].as_array());
    for call in calls.flatten() {
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        let Ok(arguments) = serde_json::from_str::<Value>(arguments) else {
            continue;
        };
        let Some(key) = arguments["prompt"].as_str().and_then(plan::key_of_line) else {
            continue;
        };
        let result = messages
            .iter()
            .find(|message| message["tool_call_id"] == call["id"]);
        let result = result
            .and_then(|message| message["content"].as_str())
            .unwrap_or_default();
        let result: Value = serde_json::from_str(result).unwrap_or_default();
        if let Some(id) = result["session_id"].as_str() {
            return Some((plan::agent_of(key).to_owned(), id.to_owned()));
        }
    }
    None
}

fn stream(delta: &Value, reason: &str) -> String {
    let usage = json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
    let chunk = json!({ "id": "1", "object": "chat.completion.chunk", "model": "m", "usage": usage,
        "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}

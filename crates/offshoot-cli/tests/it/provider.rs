//! A server that speaks the Chat Completions dialect and keeps what it is sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::stage::{Done, Stage, wait};

/// A provider that keeps what it is sent. `build` starts the agents it is asked to; others just answer.
pub(crate) struct Provider {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<Value>>>,
    /// The lines before each body, in lower case.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Provider {
    /// A provider with which `build` starts these children, and every other agent just answers.
    pub(crate) fn start(children: &'static [&'static str]) -> Self {
        Self::serving(move |body| Some(delta(body, children)))
    }

    /// A provider that gives these answers in order.
    pub(crate) fn answering(answers: Vec<Value>) -> Self {
        let mut answers = answers.into_iter();
        Self::serving(move |_| answers.next())
    }

    /// Serves until there is no answer.
    fn serving(mut answer: impl FnMut(&Value) -> Option<Value> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (kept, kept_heads) = (requests.clone(), heads.clone());
        let serve = move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (head, body) = request(&stream);
                let Some(delta) = answer(&body) else {
                    return;
                };
                kept.lock().unwrap().push(body);
                kept_heads.lock().unwrap().push(head);
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                            connection: close\r\n\r\n";
                let reply = reply(&delta);
                stream
                    .write_all(format!("{head}{reply}").as_bytes())
                    .unwrap();
            }
        };
        std::thread::Builder::new().spawn(serve).unwrap();
        Self {
            address,
            requests,
            heads,
        }
    }

    /// Returns the lines before each body, in lower case.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// Returns all that was sent.
    pub(crate) fn sent(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn run(&self, stage: &Stage, args: &[&str]) -> Done {
        let args: Vec<&str> = ["run"].iter().chain(args).copied().collect();
        self.offshoot(stage, &args)
    }

    /// Runs any command whose agents ask this provider.
    pub(crate) fn offshoot(&self, stage: &Stage, args: &[&str]) -> Done {
        let mut command = stage.command(args);
        command.env("OPENAI_BASE_URL", &self.address);
        command.env("OPENAI_API_KEY", "test");
        wait(command.spawn().unwrap())
    }

    /// Returns the models that were asked for an agent, by how its prompt begins.
    pub(crate) fn models(&self, beginning: &str) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let its = requests
            .iter()
            .filter(|body| system(body).starts_with(beginning));
        its.map(|body| body["model"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Returns the system prompts that were sent for an agent, by how its prompt begins.
    pub(crate) fn systems(&self, beginning: &str) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let systems = requests.iter().map(|body| system(body).to_owned());
        systems.filter(|text| text.starts_with(beginning)).collect()
    }
}

fn system(body: &Value) -> &str {
    body["messages"][0]["content"].as_str().unwrap()
}

/// Reads a request: the lines before its body, and the body.
fn request(stream: &TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
        head.push_str(&line);
        head.push('\n');
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (head, serde_json::from_slice(&body).unwrap())
}

/// Returns the calls by which `build` starts children, or a word.
fn delta(body: &Value, children: &[&str]) -> Value {
    let messages = body["messages"].as_array().unwrap();
    let fresh = messages.len() == 2 && system(body).starts_with("You are build");
    let calls = children.iter().enumerate().map(|(index, name)| {
        let arguments = json!({ "subagent_type": name, "prompt": "look" }).to_string();
        json!({ "index": index, "id": format!("c{index}"), "type": "function",
                "function": { "name": "task", "arguments": arguments } })
    });
    let calls: Vec<Value> = calls.collect();
    if fresh && !calls.is_empty() {
        json!({ "tool_calls": calls })
    } else {
        json!({ "content": "done" })
    }
}

/// Returns a stream of one message.
fn reply(delta: &Value) -> String {
    let finish = match delta.get("tool_calls") {
        Some(_) => "tool_calls",
        None => "stop",
    };
    let usage = json!({ "prompt_tokens": 1000, "completion_tokens": 10 });
    let chunk = json!({ "id": "x", "model": "large-1", "usage": usage,
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}

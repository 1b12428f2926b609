//! A server that speaks the Chat Completions dialect and keeps what it is sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::stage::{Done, Stage, wait};

/// A provider that keeps what it is sent. `build` starts the agents it is asked to; others just answer.
pub(crate) struct Provider {
    address: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Provider {
    pub(crate) fn start(children: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = requests.clone();
        std::thread::Builder::new()
            .spawn(move || {
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    let mut length = 0;
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
                    }
                    let mut body = vec![0; length];
                    reader.read_exact(&mut body).unwrap();
                    let body: Value = serde_json::from_slice(&body).unwrap();
                    let reply = reply(&body, children);
                    kept.lock().unwrap().push(body);
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                                connection: close\r\n\r\n";
                    stream
                        .write_all(format!("{head}{reply}").as_bytes())
                        .unwrap();
                }
            })
            .unwrap();
        Self { address, requests }
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

fn reply(body: &Value, children: &[&str]) -> String {
    let messages = body["messages"].as_array().unwrap();
    let fresh = messages.len() == 2 && system(body).starts_with("You are build");
    let calls = children.iter().enumerate().map(|(index, name)| {
        let arguments = json!({ "subagent_type": name, "prompt": "look" }).to_string();
        json!({ "index": index, "id": format!("c{index}"), "type": "function",
                "function": { "name": "task", "arguments": arguments } })
    });
    let calls: Vec<Value> = calls.collect();
    let (delta, reason) = if fresh && !calls.is_empty() {
        (json!({ "tool_calls": calls }), "tool_calls")
    } else {
        (json!({ "content": "done" }), "stop")
    };
    let usage = json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
    let chunk = json!({ "id": "1", "object": "chat.completion.chunk", "model": "m", "usage": usage,
        "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}

//! The baseline: a loop of requests, and nothing that makes it a runtime.
//!
//! Asks, reads the stream, runs each `task` call as a loop of its own beside the
//! others, asks again. No log, no session, no permission, no limit, no view.

use std::pin::Pin;

use futures_util::future::join_all;
use serde_json::{Value, json};

/// The argument that makes this program the baseline.
pub(crate) const ROLE: &str = "bare";

/// Runs one prompt to its end.
pub(crate) fn run(address: &str, prompt: &str) {
    drop(rustls::crypto::ring::default_provider().install_default());
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("build a runtime");
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .build()
        .expect("make a client");
    let asked = Asked {
        client,
        url: format!("{address}/chat/completions"),
    };
    let said = tokio.block_on(asked.agent(prompt.to_owned()));
    assert!(!said.is_empty(), "the loop has no answer");
}

#[derive(Clone)]
struct Asked {
    client: reqwest::Client,
    url: String,
}

impl Asked {
    fn agent(&self, prompt: String) -> Pin<Box<dyn Future<Output = String> + Send + '_>> {
        Box::pin(async move {
            let mut messages = vec![json!({ "role": "user", "content": prompt })];
            loop {
                let (text, calls) = self.step(&messages).await;
                if calls.is_empty() {
                    return text;
                }
                let asked: Vec<Value> = calls.iter().map(|call| call.json.clone()).collect();
                messages.push(json!({ "role": "assistant", "content": text, "tool_calls": asked }));
                let outcomes = calls.into_iter().map(|call| async move {
                    let outcome = match call.prompt() {
                        Some(prompt) => self.agent(prompt).await,
                        None => "done".to_owned(),
                    };
                    json!({ "role": "tool", "tool_call_id": call.json["id"], "content": outcome })
                });
                messages.extend(join_all(outcomes).await);
            }
        })
    }

    async fn step(&self, messages: &[Value]) -> (String, Vec<Call>) {
        let body = json!({ "model": "bench", "stream": true, "messages": messages });
        let request = self.client.post(&self.url).body(body.to_string());
        let mut response = request.send().await.expect("ask");
        let (mut text, mut calls) = (String::new(), Vec::new());
        let mut rest: Vec<u8> = Vec::new();
        while let Some(bytes) = response.chunk().await.expect("read the answer") {
            rest.extend_from_slice(&bytes);
            let mut done = 0;
            while let Some(end) = rest[done..].iter().position(|byte| *byte == b'\n') {
                take(&rest[done..done + end], &mut text, &mut calls);
                done += end + 1;
            }
            rest.drain(..done);
        }
        (text, calls)
    }
}

struct Call {
    json: Value,
}

impl Call {
    /// Returns what the child is asked; `None` for any other tool.
    fn prompt(&self) -> Option<String> {
        let arguments = self.json["function"]["arguments"].as_str()?;
        let arguments: Value = serde_json::from_str(arguments).ok()?;
        Some(arguments["prompt"].as_str()?.to_owned())
    }
}

/// Takes a line of a stream.
fn take(line: &[u8], text: &mut String, calls: &mut Vec<Call>) {
    let Some(event) = line
        .strip_prefix(b"data: ")
        .and_then(|data| serde_json::from_slice::<Value>(data).ok())
    else {
        return;
    };
    let delta = &event["choices"][0]["delta"];
    if let Some(piece) = delta["content"].as_str() {
        text.push_str(piece);
    }
    for call in delta["tool_calls"].as_array().into_iter().flatten() {
        calls.push(Call { json: call.clone() });
    }
}

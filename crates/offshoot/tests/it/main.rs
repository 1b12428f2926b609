//! The library as embedders use it: a runtime in this process, with models that are functions.
//!
//! Nothing sleeps: a model may wait at a gate that the test opens, and the test waits for what the
//! library itself waits for.

#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod brought;
mod children;
mod client_tools;
mod durable;
mod flow;
mod hooks;
mod overlays;
mod runs;
mod sessions;
mod settings;
mod tool_macro;
mod tools;
mod typed;

use std::sync::Arc;

use offshoot::types::model::{ModelError, ModelErrorKind, RequestMessage};
use offshoot::{Builder, Event, FnModel, Manifest, Mode, RawJson, Reply, Request, Runtime};
use offshoot::{Session, Update};
use serde_json::json;
use tokio::sync::Semaphore;

/// Something that models wait at until the test opens it.
#[derive(Clone)]
struct Gate(Arc<Semaphore>);

impl Gate {
    fn shut() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    fn open(&self) {
        self.0.add_permits(1_000);
    }

    async fn passed(&self) {
        self.0.acquire().await.unwrap().forget();
    }
}

/// A runtime whose agents say what `answer` says, and an agent `worker` that people and agents may start.
fn stage(answer: impl Fn(&Request) -> Reply + Clone + Send + Sync + 'static) -> Builder {
    let model = FnModel::new(move |request: Request| {
        let answer = answer.clone();
        async move { Ok(answer(&request)) }
    });
    Runtime::builder()
        .model("demo/words", model)
        .agent(worker())
}

/// A runtime whose agents wait at a gate before they say `done`.
fn gated(gate: &Gate) -> Builder {
    let gate = gate.clone();
    let model = FnModel::new(move |_| {
        let gate = gate.clone();
        async move {
            gate.passed().await;
            Ok(Reply::text("done"))
        }
    });
    Runtime::builder()
        .model("demo/words", model)
        .agent(worker())
}

fn worker() -> Manifest {
    Manifest::new("worker", Mode::All, "Work.")
}

/// An agent whose answer is `{"n": …}`.
fn numbers() -> Manifest {
    let schema = json!({
        "type": "object",
        "properties": { "n": { "type": "integer" } },
        "required": ["n"],
    });
    Manifest {
        output_schema: Some(RawJson::of(&schema)),
        ..Manifest::new("numbers", Mode::All, "Count.")
    }
}

/// Returns what the last user message of a request says; empty after calls.
fn said(request: &Request) -> &str {
    match request.messages.last() {
        Some(RequestMessage::User(text)) => text,
        Some(RequestMessage::Assistant(_) | RequestMessage::Outcomes(_)) | None => "",
    }
}

fn unwell() -> ModelError {
    ModelError::new(ModelErrorKind::Invalid, "the model is unwell")
}

/// Waits for an event of any agent of a session, from its beginning on.
async fn until(session: &Session, is_it: impl Fn(&Event) -> bool) {
    let mut updates = session.subscribe().await.unwrap();
    loop {
        if let Update::Entry(entry) = updates.next().await.unwrap()
            && is_it(&entry.event)
        {
            return;
        }
    }
}

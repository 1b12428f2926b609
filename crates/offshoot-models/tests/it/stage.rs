//! Asking a scripted model: requests in, chunks out as text.
//!
//! Has no test of its own. A request is built from what differs, a reply is
//! rendered so that expectations are one line each.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::StreamExt;
use offshoot_models::Scripted;
use offshoot_types::cancel::{Cancel, Signal};
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::json::RawJson;
use offshoot_types::message::Arguments;
use offshoot_types::model::{
    Asker, CallOutcome, Chunk, Model, ModelError, Request, RequestMessage, ToolChoice,
};
use tokio::sync::watch;

pub(crate) fn script(text: &str) -> Scripted {
    Scripted::load(text, "test.yaml").unwrap()
}

/// The first step of a root agent `build` that was asked `prompt`.
pub(crate) fn ask(prompt: &str) -> Request {
    Request {
        from: Asker {
            agent: AgentId::new("a1"),
            definition: "build".into(),
            depth: 0,
            step: 1,
        },
        model: "test.yaml".into(),
        system: Arc::from(""),
        tools: Arc::from([]),
        choice: ToolChoice::Auto,
        messages: vec![RequestMessage::User(prompt.into())],
        images: offshoot_types::model::Images::default(),
        temperature: None,
        effort: None,
        max_output_tokens: None,
    }
}

/// The second step, after outcomes given as (tool, text, failed).
pub(crate) fn after(prompt: &str, outcomes: &[(&str, &str, bool)]) -> Request {
    let mut request = ask(prompt);
    request.from.step = 2;
    request.messages.push(RequestMessage::Assistant(Vec::new()));
    let outcomes = outcomes.iter().enumerate();
    request.messages.push(RequestMessage::Outcomes(
        outcomes
            .map(|(index, (tool, text, failed))| CallOutcome {
                call: CallId::new(format!("call_1_{}", index + 1)),
                tool: (*tool).to_owned(),
                text: (*text).into(),
                failed: *failed,
            })
            .collect(),
    ));
    request
}

/// Changes who asks.
pub(crate) fn from(mut request: Request, agent: &str, definition: &str, depth: u32) -> Request {
    request.from.agent = AgentId::new(agent);
    request.from.definition = definition.to_owned();
    request.from.depth = depth;
    request
}

pub(crate) async fn chunks(model: &Scripted, request: Request) -> Vec<Result<Chunk, ModelError>> {
    model.stream(request, Cancel::never()).collect().await
}

/// Returns the reply as one line: pieces of text, calls, and how it ended.
pub(crate) async fn reply(model: &Scripted, request: Request) -> String {
    let chunks = chunks(model, request).await;
    let pieces: Vec<String> = chunks.iter().filter_map(render).collect();
    pieces.join(" | ")
}

pub(crate) fn render(chunk: &Result<Chunk, ModelError>) -> Option<String> {
    Some(match chunk {
        Ok(Chunk::Queued | Chunk::Started { .. } | Chunk::Gathering { .. }) => return None,
        Ok(Chunk::Text(text)) => text.clone(),
        Ok(Chunk::Reasoning(text)) => format!("({text})"),
        Ok(Chunk::Call {
            id,
            tool,
            arguments,
        }) => match arguments {
            Arguments::Json(json) => format!("{tool}#{id} {}", sorted(json)),
            Arguments::Malformed(text) => format!("{tool}#{id} malformed {text}"),
        },
        Ok(Chunk::End { stop, .. }) => format!("{stop:?}"),
        Ok(other @ (Chunk::ReasoningBlock(_) | Chunk::File(_) | Chunk::Raw(_))) => {
            format!("{other:?}")
        }
        Err(error) => format!("{:?}: {error}", error.kind),
    })
}

/// A signal that a test fires by sending `true`.
pub(crate) fn cancel() -> (watch::Sender<bool>, Cancel) {
    struct Watched(watch::Receiver<bool>);

    impl Signal for Watched {
        fn is_cancelled(&self) -> bool {
            *self.0.borrow()
        }

        fn cancelled(&self) -> BoxFuture<'_, ()> {
            let mut fired = self.0.clone();
            Box::pin(async move {
                fired.wait_for(|fired| *fired).await.unwrap();
            })
        }
    }

    let (fire, fired) = watch::channel(false);
    (fire, Cancel::new(Watched(fired)))
}

/// Returns JSON with its keys in order, whatever order a build keeps them in.
pub(crate) fn sorted(json: &RawJson) -> String {
    let mut value: serde_json::Value = json.read().unwrap();
    value.sort_all_objects();
    value.to_string()
}

//! A model that is a function: for tests, for rules, for a client that does not stream.
//!
//! One request in, one whole reply out. Who has a stream to give implements `Model`.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::FutureExt;
use futures_util::stream::{self, BoxStream, StreamExt};
use offshoot_types::cancel::Cancel;
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, StopReason, Usage};
use offshoot_types::model::{Chunk, Model, ModelError, Request};
use serde::Serialize;

/// A model that is a function of the request.
pub struct FnModel<F> {
    function: F,
    /// A number of its own: functions of two sessions may have one name, and share no limits.
    account: u64,
}

impl<F, Fut> FnModel<F>
where
    F: Fn(Request) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Reply, ModelError>> + Send + 'static,
{
    /// Makes a model of a function. Of a step that is cancelled the future is dropped.
    pub fn new(function: F) -> Self {
        static ACCOUNTS: AtomicU64 = AtomicU64::new(1);
        let account = ACCOUNTS.fetch_add(1, Ordering::Relaxed);
        Self { function, account }
    }
}

impl<F, Fut> Model for FnModel<F>
where
    F: Fn(Request) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Reply, ModelError>> + Send + 'static,
{
    fn stream(
        &self,
        request: Request,
        _cancel: Cancel,
    ) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let chunks = (self.function)(request).map(|reply| {
            stream::iter(match reply {
                Ok(reply) => reply.into_chunks().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            })
        });
        chunks.flatten_stream().boxed()
    }

    fn account(&self) -> u64 {
        self.account
    }
}

/// What a model says in one step: words, then calls of tools.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    chunks: Vec<Chunk>,
    usage: Usage,
}

impl Reply {
    /// Says a text, and nothing more.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            chunks: vec![Chunk::Text(text.into())],
            usage: Usage::default(),
        }
    }

    /// Says a value, as an agent with an `output_schema` has to.
    pub fn value(value: &impl Serialize) -> Self {
        Self::text(RawJson::of(value).as_str())
    }

    /// Calls a tool.
    pub fn call(tool: impl Into<String>, arguments: &impl Serialize) -> Self {
        Self::default().and_call(tool, arguments)
    }

    /// And calls a tool.
    #[must_use]
    pub fn and_call(mut self, tool: impl Into<String>, arguments: &impl Serialize) -> Self {
        self.chunks.push(Chunk::Call {
            // The engine gives it one.
            id: String::new(),
            tool: tool.into(),
            arguments: Arguments::Json(RawJson::of(arguments)),
        });
        self
    }

    /// Says what the step used.
    #[must_use]
    pub fn using(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Returns it as a stream gives it.
    pub(crate) fn into_chunks(self) -> impl Iterator<Item = Chunk> {
        let is_call = |chunk: &Chunk| matches!(chunk, Chunk::Call { .. });
        let end = Chunk::End {
            stop: if self.chunks.iter().any(is_call) {
                StopReason::Calls
            } else {
                StopReason::End
            },
            usage: self.usage,
        };
        self.chunks.into_iter().chain([end])
    }
}

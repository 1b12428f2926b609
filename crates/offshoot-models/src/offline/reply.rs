//! What the model says in one step: text, then calls.
//!
//! Text is handed out line by line. Nothing was bought, so usage is zero.

use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use futures_util::stream;
use offshoot_types::cancel::Cancel;
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, StopReason, Usage};
use offshoot_types::model::{Chunk, ModelError};

use super::NAME;
use super::wanted::Wanted;

/// What is said in one step. Without calls it is the answer.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) calls: Vec<Wanted>,
    /// Whether it says that the rules could not do what was asked.
    pub(super) unable: bool,
}

impl Reply {
    /// An answer: nothing is called.
    pub(super) fn answer(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// An answer that says that what was asked was not done, and why.
    pub(super) fn unable(text: impl Into<String>) -> Self {
        Self {
            unable: true,
            ..Self::answer(text)
        }
    }

    /// Hands it out. Ends early when `cancel` fires.
    pub(super) fn stream(
        self,
        step: u32,
        cancel: Cancel,
    ) -> BoxStream<'static, Result<Chunk, ModelError>> {
        stream::iter(self.chunks(step).into_iter().map(Ok))
            .take_while(move |_| std::future::ready(!cancel.is_cancelled()))
            .boxed()
    }

    fn chunks(self, step: u32) -> Vec<Chunk> {
        let stop = match (self.unable, self.calls.is_empty()) {
            (true, _) => StopReason::Refusal,
            (false, true) => StopReason::End,
            (false, false) => StopReason::Calls,
        };
        let started = Chunk::Started {
            model: NAME.to_owned(),
        };
        let lines = self.text.split_inclusive('\n');
        let text = lines.map(|line| Chunk::Text(line.to_owned()));
        let calls = self.calls.into_iter().enumerate();
        let calls = calls.map(|(index, wanted)| Chunk::Call {
            id: format!("call_{step}_{}", index + 1),
            tool: wanted.tool.to_owned(),
            arguments: Arguments::Json(RawJson::of(&wanted.arguments)),
        });
        let end = Chunk::End {
            stop,
            usage: Usage::default(),
        };
        std::iter::once(started)
            .chain(text)
            .chain(calls)
            .chain(std::iter::once(end))
            .collect()
    }
}

//! A prompt and what comes of it: a stream of updates, and a future of the settlement.
//!
//! Follows the session, sends the message and waits for the run that answers it, by `flow`. A `Run` holds a place in the log and no agent: dropping it stops nothing.

use std::future::IntoFuture;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, Stream, StreamExt, try_unfold};
use offshoot_engine::Update;
use offshoot_types::command::Prompt;
use offshoot_types::content::Content;
use offshoot_types::json::RawJson;
use offshoot_types::settlement::{CancelledBy, Settlement, Status};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::agent::{Agent, read};
use super::error::Error;
use super::fn_tool::schema_of;
use super::follow::Waiting;
use crate::flow::{Orphan, Progress, SentPrompt};

/// A prompt that is to be sent, and the run that answers it.
///
/// Awaiting it sends the prompt and gives the settlement of the run. As a `Stream` it gives everything
/// that happens in the session from the prompt on, all agents below included, and ends when the run has
/// settled; awaiting it then gives the settlement. Nothing is sent before it is polled or awaited, and
/// what is said about the prompt after that is ignored.
#[must_use = "nothing is sent before it is polled or awaited"]
pub struct Run {
    agent: Agent,
    prompt: Prompt,
    /// `None` before the prompt is sent.
    steps: Option<BoxStream<'static, Result<Step, Error>>>,
    /// `None` before the stream has ended.
    settlement: Option<Settlement>,
}

impl Agent {
    /// Asks it something.
    ///
    /// A run spans everything until the agent and all below it are done, so an answer that background
    /// agents still add to is waited for. Where the agent is busy the prompt is queued; behind a turn
    /// that fails it stays queued, and that failure is what is returned. Prompts that queue up are
    /// answered by one run, whose answer is that to the last of them.
    ///
    /// A text, or content with attachments: see [`Session::store_blob`](super::Session::store_blob).
    pub fn run(&self, content: impl Into<Content>) -> Run {
        Run {
            prompt: self.new_prompt(content.into()),
            agent: self.clone(),
            steps: None,
            settlement: None,
        }
    }
}

impl Run {
    /// Has another agent take the prompt up and go on from there: one of mode `primary` or `all`.
    pub fn agent(mut self, name: impl Into<String>) -> Self {
        self.prompt.agent = Some(name.into());
        self
    }

    /// Attaches a value to the message; at most 16 KiB.
    pub fn metadata(mut self, metadata: RawJson) -> Self {
        self.prompt.metadata = Some(metadata);
        self
    }

    /// Says which JSON Schema the answer has to fit, whatever the manifest says; at most 64 KiB.
    ///
    /// It holds until the next prompt. [`ask`](Self::ask) makes the schema of a type.
    pub fn output_schema(mut self, schema: RawJson) -> Self {
        self.prompt.output_schema = Some(schema);
        self
    }

    /// Sends the prompt and returns the answer as a value of a type, whose schema the model is shown.
    ///
    /// An answer that does not fit is sent back once; if the next does not fit either, it is
    /// [`Error::Unfinished`] with the settlement.
    pub async fn ask<T: JsonSchema + DeserializeOwned>(self) -> Result<T, Error> {
        let schema = RawJson::of(&schema_of::<T>());
        read(self.output_schema(schema).await?)
    }

    /// Returns what happens, and sends the prompt first if it has not been sent.
    fn steps(&mut self, detail: Detail) -> &mut BoxStream<'static, Result<Step, Error>> {
        self.steps.get_or_insert_with(|| {
            let flow = Flow::Unsent(self.agent.clone(), self.prompt.clone(), detail);
            try_unfold(flow, Flow::step).boxed()
        })
    }
}

impl Stream for Run {
    type Item = Result<Update, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let run = self.get_mut();
        if run.settlement.is_some() {
            return Poll::Ready(None);
        }
        let step = ready!(run.steps(Detail::Everything).poll_next_unpin(context));
        Poll::Ready(match step {
            Some(Ok(Step::Update(update))) => Some(Ok(update)),
            Some(Ok(Step::Settled(settlement))) => {
                run.settlement = Some(*settlement);
                None
            }
            Some(Err(error)) => Some(Err(error)),
            None => None,
        })
    }
}

impl IntoFuture for Run {
    type Output = Result<Settlement, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    /// Sends the prompt, if it has not been sent, and waits until the run that answers has settled.
    fn into_future(mut self) -> Self::IntoFuture {
        Box::pin(async move {
            if let Some(settlement) = self.settlement {
                return Ok(settlement);
            }
            let steps = self.steps(Detail::News);
            while let Some(step) = steps.next().await {
                if let Step::Settled(settlement) = step? {
                    return Ok(*settlement);
                }
            }
            let why = "the run was awaited after its stream had ended with an error";
            Err(Error::Invalid(why.to_owned()))
        })
    }
}

/// How much is followed.
#[derive(Clone, Copy)]
enum Detail {
    /// Also pieces of text and what agents are doing.
    Everything,
    /// What the settlement needs.
    News,
}

/// What comes next.
enum Step {
    Update(Update),
    /// The last one.
    Settled(Box<Settlement>),
}

/// How far a prompt has come.
enum Flow {
    Unsent(Agent, Prompt, Detail),
    Followed(Agent, Waiting, SentPrompt),
    Answered(Box<Settlement>),
    Over,
}

impl Flow {
    async fn step(self) -> Result<Option<(Step, Self)>, Error> {
        let (agent, mut waiting, mut sent) = match self {
            Self::Unsent(agent, prompt, detail) => {
                let waiting = agent.follow().await?;
                let mut waiting = match detail {
                    Detail::Everything => waiting,
                    Detail::News => waiting.news_only(),
                };
                let sent = SentPrompt::new(prompt.message.clone());
                waiting.hear(Box::pin(agent.send(prompt))).await?;
                (agent, waiting, sent)
            }
            Self::Followed(agent, waiting, sent) => (agent, waiting, sent),
            Self::Answered(settlement) => {
                return Ok(Some((Step::Settled(settlement), Self::Over)));
            }
            Self::Over => return Ok(None),
        };
        loop {
            let update = waiting.next(Orphan::TakeUp).await?;
            if let Update::Entry(entry) = &update
                && entry.agent == agent.id
            {
                sent.take(&entry.event);
            }
            if let Some(settlement) = settled(&sent) {
                let flow = Self::Answered(Box::new(settlement));
                return Ok(Some((Step::Update(update), flow)));
            }
            if sent.is_stored() {
                let flow = Self::Followed(agent, waiting, sent);
                return Ok(Some((Step::Update(update), flow)));
            }
        }
    }
}

/// Returns how the run ended that answers a prompt, or that holds it back.
fn settled(sent: &SentPrompt) -> Option<Settlement> {
    match sent.progress() {
        Progress::Answered(settlement) => Some((**settlement).clone()),
        Progress::TakenBack => Some(Settlement::new(Status::Cancelled(CancelledBy::User))),
        _ => None,
    }
}

//! One step of a model, from request to message.
//!
//! Takes a slot and a ticket of the governor, streams, publishes deltas, retries
//! what may be retried. A stream is never replayed once something of it was shown.
//! What was said before a cut or an abort comes back as a message marked so; calls
//! of such a message are dropped, because they may be incomplete.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use offshoot_types::cancel::{Cancel, Signal};
use offshoot_types::content::Content;
use offshoot_types::id::{CallId, MessageId, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::message::{
    AssistantMessage, AssistantPart, Call, Reasoning, SentRequest, StopReason, Timing, Usage,
};
use offshoot_types::model::{Chunk, GivenFile, ModelError, ModelErrorKind, Request, ToolChoice};
use offshoot_types::transcript::Transcript;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::caps::{self, BYTES_PER_TOKEN};
use crate::context::Prefix;
use crate::governor::{Admission, Ticket};
use crate::log::Sent;
use crate::sabotage::{Bug, planted};
use crate::slots::{Rank, Slot};
use crate::update::{Activity, DeltaKind};

/// The first wait before another try; doubled each time.
const BACKOFF: Duration = Duration::from_millis(500);

/// However long a provider wants everybody to wait, it is asked again after this.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// The longest id of a provider that is kept.
const MOST_OF_ID: usize = 128;

/// How a step ended.
pub(crate) enum Reply {
    /// The model said all it had to say.
    Whole(AssistantMessage),
    /// The turn was cancelled; what had been said by then.
    Cancelled(AssistantMessage),
    /// The model failed for good; what had been said by then.
    Failed(AssistantMessage, ModelError),
}

/// Asks the model, and again where that may help. Nothing it says is taken before what was sent to
/// the log is there.
pub(crate) async fn ask(
    agent: &Agent,
    prefix: &Prefix,
    request: Request,
    transcript: &Transcript,
    rank: Rank,
    sent: &mut Sent,
    cancel: &CancellationToken,
) -> Reply {
    let mut attempt = 1;
    let mut errors: Vec<String> = Vec::new();
    loop {
        let mut step = Step::new(agent, prefix);
        let leave = tokio::select! {
            biased;
            () = cancel.cancelled() => return Reply::Cancelled(step.end(StopReason::Cut)),
            leave = sent.beside(leave_to_ask(agent, prefix, rank)) => match leave {
                Ok(leave) => leave,
                // Whoever waits for the log is told.
                Err(_) => return Reply::Cancelled(step.end(StopReason::Cut)),
            },
        };
        agent.set_activity(Activity::FirstByte);
        let ended = tokio::select! {
            biased;
            () = cancel.cancelled() => Ended::Cancelled,
            ended = step.stream(request.clone(), transcript, sent, cancel) => ended,
        };
        let wait = match &ended {
            Ended::Failed(error) => wait_before(error, attempt),
            Ended::Whole(_) | Ended::Cancelled => None,
        };
        give_back(leave, &ended, wait);
        let error = match ended {
            Ended::Whole(stop) => return Reply::Whole(step.end(stop)),
            Ended::Cancelled => return Reply::Cancelled(step.end(StopReason::Cut)),
            // On another core the stream may hear of the stop before we do, and end of it.
            Ended::Failed(_) if cancel.is_cancelled() => {
                return Reply::Cancelled(step.end(StopReason::Cut));
            }
            Ended::Failed(error) => error,
        };
        let wait = match wait {
            Some(wait)
                if (!step.shown || planted(Bug::ReplayAfterShown))
                    && attempt < agent.board.limits.attempts =>
            {
                wait
            }
            Some(_) | None => {
                let error = with_those_before(error, &errors);
                return Reply::Failed(step.end(StopReason::Cut), error);
            }
        };
        errors.push(error.message.clone());
        attempt += 1;
        agent.set_activity(Activity::Retrying {
            attempt,
            message: error.message,
            after: wait,
        });
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Reply::Cancelled(step.end(StopReason::Cut)),
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// Waits until the model may be asked and the tree has a slot for it.
///
/// Whoever has one of the two and not the other gives it back before it waits: a slot that waits for a
/// provider keeps others from working, and a ticket that waits for a slot keeps other trees from asking.
/// Only the second time it keeps its slot until a stream of somebody else ends.
async fn leave_to_ask(agent: &Agent, prefix: &Prefix, rank: Rank) -> (Option<Ticket>, Slot) {
    let slots = &agent.board.slots;
    if !prefix.model.is_metered(&agent.definition) {
        // Nobody outside is asked.
        agent.set_activity(Activity::Slot);
        return (None, slots.take(rank, agent.depth).await);
    }
    let governor = agent
        .board
        .governors
        .of(&prefix.model_name, prefix.model.as_ref());
    // Once it has been its turn and the tree had no slot, it comes back to where it stood; or others
    // would pass it for ever.
    let mut had = None;
    loop {
        agent.set_activity(Activity::Slot);
        let slot = slots.take(rank, agent.depth).await;
        let mut turn = match governor.admit(had) {
            Admission::Granted(ticket) => return (Some(ticket), slot),
            Admission::Queued(turn) => turn,
        };
        agent.set_activity(Activity::RateLimit);
        if had.is_some() {
            turn = match turn.come_soon().await {
                Ok(ticket) => return (Some(ticket), slot),
                Err(turn) => turn,
            };
        }
        drop(slot);
        had = Some(turn.place());
        let ticket = turn.come().await;
        if let Some(slot) = slots.take_free() {
            return (Some(ticket), slot);
        }
    }
}

/// Gives back what was needed to ask, and tells the governor what the provider did.
fn give_back((ticket, slot): (Option<Ticket>, Slot), ended: &Ended, wait: Option<Duration>) {
    if planted(Bug::SlotLeak) {
        std::mem::forget(slot)
    } else {
        drop(slot)
    }
    let Some(ticket) = ticket else { return };
    match ended {
        Ended::Whole(_) => ticket.answered(),
        Ended::Failed(error) => {
            if let (ModelErrorKind::RateLimited { .. }, Some(wait)) = (&error.kind, wait) {
                ticket.limited(wait);
            }
        }
        Ended::Cancelled => {}
    }
    if planted(Bug::TicketLeak) {
        std::mem::forget(ticket);
    }
}

/// Returns the error of the last try, with what the tries before it came to.
fn with_those_before(mut error: ModelError, before: &[String]) -> ModelError {
    let mut others: Vec<&str> = Vec::new();
    for message in before {
        if *message != error.message && !others.contains(&message.as_str()) {
            others.push(message);
        }
    }
    let tries = before.len() + 1;
    match others.is_empty() {
        true if before.is_empty() => {}
        true => error.message.push_str(&format!(" ({tries} tries)")),
        false => {
            let others = others.join("; ");
            error
                .message
                .push_str(&format!(" ({tries} tries; before that: {others})"));
        }
    }
    error
}

/// Returns how long to wait before another try; `None` when trying again is no use.
fn wait_before(error: &ModelError, attempt: u32) -> Option<Duration> {
    let backoff = BACKOFF * 2_u32.saturating_pow(attempt - 1);
    match error.kind {
        ModelErrorKind::RateLimited { retry_after } => {
            // Some say 0, or a moment that has passed, and mean nothing by it.
            Some(retry_after.unwrap_or_default().max(backoff).min(LONGEST))
        }
        ModelErrorKind::Unavailable => Some(backoff),
        ModelErrorKind::TooLong | ModelErrorKind::Invalid | ModelErrorKind::Config => None,
    }
}

fn panicked() -> ModelError {
    let message = "the model broke down; this is a bug of its adapter";
    ModelError::new(ModelErrorKind::Invalid, message)
}

enum Ended {
    Whole(StopReason),
    Cancelled,
    Failed(ModelError),
}

/// A message as it comes in.
struct Step<'a> {
    agent: &'a Agent,
    prefix: &'a Prefix,
    id: MessageId,
    parts: Vec<AssistantPart>,
    model: String,
    usage: Usage,
    /// The size of the request, in bytes.
    asked_bytes: u64,
    /// The ids of the calls so far.
    calls: BTreeSet<CallId>,
    /// The images and files so far.
    given: Content,
    /// Bytes of calls that are not complete, or are among the parts by now.
    gathered: u64,
    shown: bool,
    /// What the request was made of, once it is sent.
    request: Option<Box<SentRequest>>,
    /// When the model was asked, and when the first piece came.
    asked: Option<Timestamp>,
    first: Option<Timestamp>,
}

impl<'a> Step<'a> {
    fn new(agent: &'a Agent, prefix: &'a Prefix) -> Self {
        Self {
            agent,
            prefix,
            id: MessageId::new(agent.parts.env.new_id()),
            parts: Vec::new(),
            model: prefix.model_name.clone(),
            usage: Usage::default(),
            asked_bytes: 0,
            calls: BTreeSet::new(),
            given: Content::default(),
            gathered: 0,
            shown: false,
            request: None,
            asked: None,
            first: None,
        }
    }

    async fn stream(
        &mut self,
        request: Request,
        transcript: &Transcript,
        sent: &mut Sent,
        cancel: &CancellationToken,
    ) -> Ended {
        self.asked = Some(self.agent.parts.env.now());
        self.asked_bytes = caps::bytes(self.prefix, &request.messages);
        let digests = self.prefix.digests();
        self.request = Some(Box::new(SentRequest {
            model: request.model.clone(),
            system_prompt_digest: digests.system.clone(),
            digest: digests.all.clone(),
            hands_back: request.choice == ToolChoice::None,
            max_output_tokens: request.max_output_tokens,
        }));
        let model = self.prefix.model.clone();
        let token = Cancel::new(Token(cancel.clone()));
        // A model that panics has failed, and nothing else has.
        let Ok(mut chunks) =
            std::panic::catch_unwind(AssertUnwindSafe(|| model.stream(request, token)))
        else {
            return Ended::Failed(panicked());
        };
        loop {
            let next = AssertUnwindSafe(chunks.next()).catch_unwind();
            // Whoever waits for the log is told.
            let Ok(next) = sent.beside(next).await else {
                return Ended::Cancelled;
            };
            if sent.committed().await.is_err() {
                return Ended::Cancelled;
            }
            let chunk = match next {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(_) => return Ended::Failed(panicked()),
            };
            match chunk {
                Ok(Chunk::End { stop, usage }) => {
                    self.usage = usage;
                    return Ended::Whole(stop);
                }
                Ok(Chunk::File(file)) => self.take_file(file).await,
                Ok(chunk) => self.take(chunk, transcript),
                Err(error) => return Ended::Failed(error),
            }
        }
        let message = "the model's stream ended without saying that it was over";
        Ended::Failed(ModelError::new(ModelErrorKind::Unavailable, message))
    }

    fn take(&mut self, chunk: Chunk, transcript: &Transcript) {
        if chunk == Chunk::Queued {
            // It waits its turn: that is no stall, and nothing has come.
            self.agent.set_activity(Activity::FirstByte);
            return;
        }
        self.agent.set_activity(Activity::Streaming);
        if !matches!(chunk, Chunk::Started { .. }) {
            self.first.get_or_insert_with(|| self.agent.parts.env.now());
        }
        match chunk {
            Chunk::Started { model } => self.model = model,
            Chunk::Text(text) => {
                self.show(DeltaKind::Text, &text);
                match self.parts.last_mut() {
                    Some(AssistantPart::Text(block)) => block.push_str(&text),
                    Some(_) | None => self.parts.push(AssistantPart::Text(text)),
                }
            }
            Chunk::Reasoning(text) => {
                self.show(DeltaKind::Reasoning, &text);
                match self.parts.last_mut() {
                    Some(AssistantPart::Reasoning(block)) if block.raw.is_none() => {
                        block.text.push_str(&text);
                    }
                    Some(_) | None => {
                        self.parts
                            .push(AssistantPart::Reasoning(Reasoning { text, raw: None }));
                    }
                }
            }
            Chunk::ReasoningBlock(raw) => self.close_reasoning(raw),
            Chunk::Gathering { bytes } => self.gathered += bytes as u64,
            Chunk::Call {
                id,
                tool,
                arguments,
            } => {
                let id = self.unique(id, transcript);
                self.parts.push(AssistantPart::Call(Call {
                    id,
                    tool,
                    arguments,
                }));
            }
            Chunk::Raw(raw) => self.parts.push(AssistantPart::Raw(raw)),
            Chunk::Queued | Chunk::File(_) | Chunk::End { .. } => {}
        }
    }

    /// Stores what a file has, so that the message can name it.
    async fn take_file(&mut self, file: GivenFile) {
        self.agent.set_activity(Activity::Streaming);
        self.first.get_or_insert_with(|| self.agent.parts.env.now());
        let part = self.agent.keep_given(&mut self.given, file).await;
        self.parts.push(part);
    }

    fn show(&mut self, kind: DeltaKind, text: &str) {
        // Nobody watches a helper.
        if self.agent.helps.is_some() {
            return;
        }
        self.shown = true;
        self.agent
            .board
            .delta(&self.agent.id, &self.id, kind, text.to_owned());
    }

    fn close_reasoning(&mut self, raw: RawJson) {
        match self.parts.last_mut() {
            Some(AssistantPart::Reasoning(block)) if block.raw.is_none() => block.raw = Some(raw),
            Some(_) | None => {
                let block = Reasoning {
                    text: String::new(),
                    raw: Some(raw),
                };
                self.parts.push(AssistantPart::Reasoning(block));
            }
        }
    }

    /// Keeps a provider's id where it is a plain word that is new to this agent, else mints one.
    fn unique(&mut self, id: String, transcript: &Transcript) -> CallId {
        let mut id = CallId::new(id);
        if !is_plain(id.as_str()) || self.calls.contains(&id) || transcript.knows_call(&id) {
            id = CallId::new(self.agent.parts.env.new_id());
        }
        self.calls.insert(id.clone());
        id
    }

    fn end(mut self, stop: StopReason) -> AssistantMessage {
        // Calls that are dropped were paid for.
        let estimated = self.estimate_usage();
        if stop == StopReason::Cut {
            self.parts
                .retain(|part| !matches!(part, AssistantPart::Call(_)));
        }
        let price = self.prefix.model.price();
        let timing = self.timing();
        AssistantMessage {
            id: self.id,
            parts: self.parts,
            model: self.model,
            usage: self.usage,
            estimated,
            cost: price.map(|price| price.of(&self.usage)),
            stop,
            timing,
            request: self.request,
            by_runtime: false,
        }
    }

    /// Guesses what was used where the provider did not say, and tells whether it did: what is not
    /// counted would be free, and a cap no cap.
    fn estimate_usage(&mut self) -> bool {
        let unknown = self.usage == Usage::default()
            && self.first.is_some()
            && self.prefix.model.is_metered(&self.agent.definition);
        if unknown {
            let is_call = |part: &&AssistantPart| matches!(part, AssistantPart::Call(_));
            let said: u64 = self.parts.iter().map(caps::part_bytes).sum();
            let calls: u64 = self
                .parts
                .iter()
                .filter(is_call)
                .map(caps::part_bytes)
                .sum();
            // Of calls that were cut off nothing else is known.
            let said = said + self.gathered.saturating_sub(calls);
            self.usage = Usage {
                input: self.asked_bytes.div_ceil(BYTES_PER_TOKEN),
                output: said.div_ceil(BYTES_PER_TOKEN),
                ..Usage::default()
            };
        }
        unknown
    }

    /// Returns how long it took; `None` if the model was never asked.
    fn timing(&self) -> Option<Timing> {
        let asked = self.asked?;
        let since = |at: Timestamp| at.get().saturating_sub(asked.get());
        Some(Timing {
            first_ms: self.first.map(since),
            total_ms: since(self.agent.parts.env.now()),
        })
    }
}

/// Tells whether an id is one word however it is shown: people paste it into commands.
fn is_plain(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    (1..=MOST_OF_ID).contains(&id.len()) && id.chars().all(plain)
}

/// A token, as ports see it.
pub(crate) struct Token(pub(crate) CancellationToken);

impl Signal for Token {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    fn cancelled(&self) -> futures_core::future::BoxFuture<'_, ()> {
        Box::pin(self.0.cancelled())
    }
}

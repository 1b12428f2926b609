//! One request to a provider and the stream of chunks that answers it.
//!
//! Waits for a slot, sends, reads events and has a dialect decode them. It knows no
//! dialect, and it does not retry. All is owned by the stream: dropping it at any
//! point gives back the slot and closes the connection.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, stream};
use offshoot_types::cancel::Cancel;
use offshoot_types::model::{Chunk, ModelError, ModelErrorKind};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::failure::{Asked, Refusal, Told};
use crate::sse::{Event, Parser};
use crate::transport::{HttpRequest, Transport, TransportError};

/// Longest event that is read, and longest answer in one piece of JSON.
const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;
/// Longest answer that is read, in whatever pieces.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Most that is read of what stands behind an error, and for how long.
const MAX_ERROR_BYTES: usize = 64 * 1024;
const ERROR_PATIENCE: Duration = Duration::from_secs(5);
/// How often whoever waits for a slot says so.
const PULSE: Duration = Duration::from_secs(10);
/// How long a body may take to end once all was said. Only then is its connection used again.
const END_PATIENCE: Duration = Duration::from_millis(200);
/// How long what may follow a complete answer is waited for, such as usage and `[DONE]`.
const REST_PATIENCE: Duration = Duration::from_secs(3);

type Body = BoxStream<'static, Result<Bytes, TransportError>>;
/// A slot that is waited for; its place in the queue goes with it.
type Slot = BoxFuture<'static, Result<OwnedSemaphorePermit, AcquireError>>;

/// A dialect's half of reading: events in, chunks out. Pure, and made for one answer.
pub(crate) trait Decode: Send + 'static {
    /// Reads one event.
    fn event(&mut self, event: &Event, out: &mut VecDeque<Chunk>) -> Result<Flow, Broken>;

    /// Reads an answer that came in one piece of JSON, though a stream was asked for.
    fn whole(&mut self, body: &str, out: &mut VecDeque<Chunk>) -> Result<(), Broken>;

    /// Tells whether nothing but the end is missing, so that a cut does no harm.
    fn is_complete(&self) -> bool;

    /// Gives what is left, up to `Chunk::End`. Called once, when no more comes.
    fn end(&mut self, out: &mut VecDeque<Chunk>) -> Result<(), Broken>;
}

/// Whether a stream goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    More,
    Over,
}

/// Why a stream cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The provider says that it failed.
    Told(Told),
    /// This is not what a provider of this dialect says.
    Unreadable(String),
    /// It stopped before it was complete.
    Early,
}

/// A request that is ready to be sent.
pub(crate) struct Exchange<D> {
    pub(crate) asked: Asked,
    pub(crate) transport: Arc<dyn Transport>,
    /// How many requests may be under way; a permit is held until the stream is dropped.
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) request: HttpRequest,
    pub(crate) decoder: D,
}

impl<D: Decode> Exchange<D> {
    /// Sends the request when first polled, and gives what comes back. Ends when `cancel` fires.
    pub(crate) fn run(self, cancel: Cancel) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let slot = self.slots.clone().acquire_owned().boxed();
        let state = (Stage::Queueing(self, slot), VecDeque::new(), cancel);
        stream::unfold(state, |(mut stage, mut ready, cancel)| async {
            loop {
                if cancel.is_cancelled() {
                    return None;
                }
                if let Some(chunk) = ready.pop_front() {
                    return Some((Ok(chunk), (stage, ready, cancel)));
                }
                stage = match stage {
                    Stage::Over => return None,
                    Stage::Failed(error) => {
                        return Some((Err(error), (Stage::Over, ready, cancel)));
                    }
                    Stage::Queueing(..) | Stage::Asking(..) | Stage::Reading(_) => tokio::select! {
                        biased;
                        () = cancel.cancelled() => return None,
                        next = stage.next(&mut ready) => next,
                    },
                };
            }
        })
        .boxed()
    }

    async fn send(self, slot: OwnedSemaphorePermit) -> Result<Reading<D>, ModelError> {
        let Self { asked, .. } = self;
        let sent = self.transport.send(self.request).await;
        let response = sent.map_err(|error| asked.not_sent(&error))?;
        if !(200..=299).contains(&response.status) {
            let refusal = Refusal::of(&response);
            let body = some_of(response.body).await;
            return Err(asked.refused(&refusal, &body));
        }
        Ok(Reading {
            form: Form::Unknown,
            asked,
            decoder: self.decoder,
            body: response.body,
            bytes_read: 0,
            until: None,
            _slot: slot,
        })
    }
}

/// Where an exchange stands. What is ready is given out before the next step.
enum Stage<D> {
    Queueing(Exchange<D>, Slot),
    Asking(Exchange<D>, OwnedSemaphorePermit),
    Reading(Reading<D>),
    Failed(ModelError),
    Over,
}

impl<D: Decode> Stage<D> {
    async fn next(self, ready: &mut VecDeque<Chunk>) -> Self {
        match self {
            Self::Queueing(exchange, mut slot) => {
                match tokio::time::timeout(PULSE, &mut slot).await {
                    Ok(Ok(slot)) => Self::Asking(exchange, slot),
                    Ok(Err(_closed)) => {
                        let what = "no more requests are taken";
                        let error = exchange.asked.error(ModelErrorKind::Unavailable, what);
                        Self::Failed(error)
                    }
                    Err(_elapsed) => {
                        // It waits its turn: nothing hangs.
                        ready.push_back(Chunk::Queued);
                        Self::Queueing(exchange, slot)
                    }
                }
            }
            Self::Asking(exchange, slot) => match exchange.send(slot).await {
                Ok(reading) => Self::Reading(reading),
                Err(error) => Self::Failed(error),
            },
            Self::Reading(mut reading) => match reading.next(ready).await {
                Ok(Flow::More) => Self::Reading(reading),
                Ok(Flow::Over) => Self::Over,
                Err(error) => Self::Failed(error),
            },
            Self::Failed(_) | Self::Over => self,
        }
    }
}

/// What some put in front of text.
const BOM: &str = "\u{feff}";

/// How a body is to be read: by how it begins, because what servers say of it is often wrong.
enum Form {
    /// Nothing but blanks has come.
    Unknown,
    Events(Parser),
    Json(BytesMut),
}

/// An answer as it comes in.
struct Reading<D> {
    asked: Asked,
    decoder: D,
    form: Form,
    body: Body,
    bytes_read: usize,
    /// When a complete answer is over, whatever its server does with the connection.
    until: Option<Instant>,
    _slot: OwnedSemaphorePermit,
}

impl<D: Decode> Reading<D> {
    async fn next(&mut self, ready: &mut VecDeque<Chunk>) -> Result<Flow, ModelError> {
        let piece = match self.piece().await {
            Some(Ok(piece)) => piece,
            Some(Err(error)) if !self.decoder.is_complete() => {
                let what = format!("the stream ended early: {error}");
                return Err(self.asked.error(ModelErrorKind::Unavailable, &what));
            }
            Some(Err(_)) | None => {
                self.finish(ready).map_err(|broken| self.error(&broken))?;
                return Ok(Flow::Over);
            }
        };
        self.bytes_read += piece.len();
        if self.bytes_read > MAX_ANSWER_BYTES {
            let what = format!("the answer has more than {MAX_ANSWER_BYTES} bytes");
            return Err(self.asked.error(ModelErrorKind::Invalid, &what));
        }
        if let Form::Unknown = self.form {
            self.form = self.form_of(&piece)?;
        }
        let flow = self.take(&piece, ready);
        let flow = flow.map_err(|broken| self.error(&broken))?;
        if flow == Flow::Over {
            self.drain().await;
            self.finish(ready).map_err(|broken| self.error(&broken))?;
        }
        if self.decoder.is_complete() && self.until.is_none() {
            self.until = Some(Instant::now() + REST_PATIENCE);
        }
        Ok(flow)
    }

    /// Waits for the next piece; `None` at the end, and when a complete answer has no end in time.
    async fn piece(&mut self) -> Option<Result<Bytes, TransportError>> {
        let next = self.body.next();
        match self.until {
            // A deadline, because some keep a connection alive with comments.
            Some(until) => tokio::time::timeout_at(until, next).await.ok().flatten(),
            None => next.await,
        }
    }

    fn take(&mut self, piece: &[u8], ready: &mut VecDeque<Chunk>) -> Result<Flow, Broken> {
        match &mut self.form {
            Form::Unknown => {}
            Form::Json(gathered) => {
                gathered.extend_from_slice(piece);
                if gathered.len() > MAX_EVENT_BYTES {
                    let what = format!("it has more than {MAX_EVENT_BYTES} bytes");
                    return Err(Broken::Unreadable(what));
                }
            }
            Form::Events(parser) => {
                parser.push(piece);
                let next = |parser: &mut Parser| {
                    let event = parser.next();
                    event.map_err(|too_long| Broken::Unreadable(too_long.to_string()))
                };
                while let Some(event) = next(parser)? {
                    if self.decoder.event(&event, ready)? == Flow::Over {
                        return Ok(Flow::Over);
                    }
                }
            }
        }
        Ok(Flow::More)
    }

    fn finish(&mut self, ready: &mut VecDeque<Chunk>) -> Result<(), Broken> {
        match &mut self.form {
            Form::Unknown => {}
            Form::Json(gathered) => {
                let text = String::from_utf8_lossy(gathered);
                let text = text.trim_start_matches(BOM);
                self.decoder.whole(text, ready)?;
            }
            Form::Events(parser) => {
                if let Some(event) = parser.last().filter(|_| !self.decoder.is_complete()) {
                    match self.decoder.event(&event, ready) {
                        // It was cut off in the middle.
                        Ok(_) | Err(Broken::Unreadable(_)) => {}
                        Err(broken) => return Err(broken),
                    }
                }
            }
        }
        self.decoder.end(ready)
    }

    /// Tells how to read a body by its first piece that is not blank.
    fn form_of(&self, piece: &[u8]) -> Result<Form, ModelError> {
        let begins = piece.strip_prefix(BOM.as_bytes()).unwrap_or(piece);
        let config = |what: &str| Err(self.asked.error(ModelErrorKind::Config, what));
        match begins.trim_ascii_start().first() {
            None => Ok(Form::Unknown),
            Some(b'{' | b'[') => Ok(Form::Json(BytesMut::new())),
            Some(b'<') => config("a web page came back; check the base URL"),
            Some(0x1f) => config("the answer is compressed, which nobody asked for"),
            Some(_) => Ok(Form::Events(Parser::new(MAX_EVENT_BYTES))),
        }
    }

    /// Reads to the end of the body, if that is near.
    async fn drain(&mut self) {
        let rest = async { while let Some(Ok(_)) = self.body.next().await {} };
        // When it takes longer the connection is closed instead of kept.
        drop(tokio::time::timeout(END_PATIENCE, rest).await);
    }

    fn error(&self, broken: &Broken) -> ModelError {
        match broken {
            Broken::Told(told) => self.asked.told(told),
            Broken::Unreadable(what) => {
                let what = format!("the answer cannot be read: {what}");
                self.asked.error(ModelErrorKind::Invalid, &what)
            }
            Broken::Early => {
                let what = "the stream ended early";
                self.asked.error(ModelErrorKind::Unavailable, what)
            }
        }
    }
}

/// Reads the beginning of a body that explains an error, as far as it comes soon.
async fn some_of(mut body: Body) -> Vec<u8> {
    let mut read = Vec::new();
    let reading = async {
        while let Some(Ok(piece)) = body.next().await {
            read.extend_from_slice(&piece);
            if read.len() >= MAX_ERROR_BYTES {
                break;
            }
        }
    };
    drop(tokio::time::timeout(ERROR_PATIENCE, reading).await);
    read.truncate(MAX_ERROR_BYTES);
    read
}

//! One request to a provider and the stream of chunks that answers it.
//!
//! Takes a slot, sends, reads events and has a dialect decode them. It knows no
//! dialect, and it does not retry. All is owned by the stream: dropping it at any
//! point gives back the slot and closes the connection.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, stream};
use offshoot_types::cancel::Cancel;
use offshoot_types::model::{Chunk, ModelError, ModelErrorKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::{Asked, Refusal, Told};
use crate::sse::{Event, Parser};
use crate::transport::{HttpRequest, HttpResponse, Transport, TransportError};

/// Longest event that is read.
const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;
/// Longest answer that is read, in whatever pieces.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Most that is read of what stands behind an error, and for how long.
const MAX_ERROR_BYTES: usize = 64 * 1024;
const ERROR_PATIENCE: Duration = Duration::from_secs(5);
/// How long a body may take to end once all was said. Only then is its connection used again.
const END_PATIENCE: Duration = Duration::from_millis(200);

type Body = BoxStream<'static, Result<Bytes, TransportError>>;

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
        let state = (Stage::Asking(self), VecDeque::new(), cancel);
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
                    Stage::Asking(_) | Stage::Reading(_) => tokio::select! {
                        biased;
                        () = cancel.cancelled() => return None,
                        next = stage.next(&mut ready) => next,
                    },
                };
            }
        })
        .boxed()
    }

    async fn send(self) -> Result<Reading<D>, ModelError> {
        let Self { asked, .. } = self;
        let Ok(slot) = self.slots.acquire_owned().await else {
            let what = "no more requests are taken";
            return Err(asked.error(ModelErrorKind::Unavailable, what));
        };
        let sent = self.transport.send(self.request).await;
        let response = sent.map_err(|error| asked.not_sent(&error))?;
        if !(200..=299).contains(&response.status) {
            let refusal = Refusal::of(&response);
            let body = some_of(response.body).await;
            return Err(asked.refused(&refusal, &body));
        }
        Ok(Reading {
            form: form(&response, &asked)?,
            asked,
            decoder: self.decoder,
            body: response.body,
            bytes_read: 0,
            _slot: slot,
        })
    }
}

/// Where an exchange stands. What is ready is given out before the next step.
enum Stage<D> {
    Asking(Exchange<D>),
    Reading(Reading<D>),
    Failed(ModelError),
    Over,
}

impl<D: Decode> Stage<D> {
    async fn next(self, ready: &mut VecDeque<Chunk>) -> Self {
        match self {
            Self::Asking(exchange) => match exchange.send().await {
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

/// How a body is to be read.
enum Form {
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
    _slot: OwnedSemaphorePermit,
}

impl<D: Decode> Reading<D> {
    async fn next(&mut self, ready: &mut VecDeque<Chunk>) -> Result<Flow, ModelError> {
        let piece = match self.body.next().await {
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
        let flow = self.take(&piece, ready);
        let flow = flow.map_err(|broken| self.error(&broken))?;
        if flow == Flow::Over {
            self.drain().await;
            self.finish(ready).map_err(|broken| self.error(&broken))?;
        }
        Ok(flow)
    }

    fn take(&mut self, piece: &[u8], ready: &mut VecDeque<Chunk>) -> Result<Flow, Broken> {
        match &mut self.form {
            Form::Json(gathered) => gathered.extend_from_slice(piece),
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
        if let Form::Json(gathered) = &self.form {
            let text = String::from_utf8_lossy(gathered);
            self.decoder.whole(&text, ready)?;
        }
        self.decoder.end(ready)
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

/// Tells how to read a body. What does not say what it is counts as events.
fn form(response: &HttpResponse, asked: &Asked) -> Result<Form, ModelError> {
    let kind = response.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    match kind.to_ascii_lowercase().as_str() {
        "application/json" => Ok(Form::Json(BytesMut::new())),
        "text/html" => {
            let what = "a web page came back; check the base URL";
            Err(asked.error(ModelErrorKind::Config, what))
        }
        _ => Ok(Form::Events(Parser::new(MAX_EVENT_BYTES))),
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

//! What a client asks of an attached session, on its way from the handlers to the session's task.
//!
//! Handlers never wait, so requests wait here. They are counted per session and weighed per connection: a
//! request beyond that is refused. Orders, such as a cancel, need no room: they are taken even where a
//! session takes no more requests. Only prompts wait for the prompts before them.

use std::collections::VecDeque;
use std::sync::Arc;

use agent_client_protocol::Error;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{ContentBlock, PromptResponse};
use futures_util::future::BoxFuture;
use offshoot_types::event::RoleChoice;
use offshoot_types::id::{AgentId, MessageId};
use offshoot_types::json::RawJson;
use offshoot_types::message::Delegation;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::error::{note_sent, unknown_session};
use super::live::Handover;
use super::options::Role;

/// Requests of a client that may wait in one session.
const REQUESTS: usize = 256;

/// Orders that may wait besides: a session that does not take them up is not being read.
const ORDERS: usize = 64;

/// Bytes of prompts that may wait in all sessions of a connection.
const BYTES: usize = 128 * 1024 * 1024;

/// Answers a request of the client.
pub(super) type Reply<T> = Box<dyn FnOnce(Result<T, Error>) + Send>;

/// What a client asks of a session that it has attached.
pub(super) enum Input {
    /// To send a prompt.
    Prompt(Box<SentPrompt>),
    /// To stop an agent and what it waits for. For the root: and to forget the prompts that wait.
    Cancel(AgentId),
    /// To go on with another agent or model.
    Choose(RoleChoice, Reply<Role>),
    /// To stop everything and to let the session go.
    Close(Reply<()>),
    /// To delete the session; one that cannot be deleted stays attached.
    Delete(Reply<()>),
    /// To let the session go, because the client attaches it again.
    Detach(oneshot::Sender<Handover>),
}

/// A prompt, and the request that waits for its end.
pub(super) struct SentPrompt {
    pub(super) message: MessageId,
    pub(super) blocks: Vec<ContentBlock>,
    pub(super) delegation: Option<Delegation>,
    pub(super) metadata: Option<RawJson>,
    pub(super) request: PromptRequest,
    /// Waits until the client withdraws the request; the session's task takes it.
    pub(super) withdrawn: Option<Withdrawn>,
}

/// Waits until the client withdraws the request of a prompt: `None` once the request was answered.
pub(super) type Withdrawn = BoxFuture<'static, Option<MessageId>>;

/// The open request of a prompt. A client may withdraw it.
pub(super) struct PromptRequest {
    pub(super) responder: Responder<PromptResponse>,
    /// Dropped with the request: then there is nothing to withdraw any more.
    _open: oneshot::Sender<()>,
}

impl PromptRequest {
    /// Wraps the request of a prompt, and returns what waits until the client withdraws it.
    pub(super) fn new(
        responder: Responder<PromptResponse>,
        message: MessageId,
    ) -> (Self, Withdrawn) {
        let (open, answered) = oneshot::channel();
        let marker = responder.cancellation();
        let withdrawn = Box::pin(async move {
            tokio::select! {
                biased;
                _ = answered => None,
                () = marker.cancelled() => Some(message),
            }
        });
        let _open = open;
        (Self { responder, _open }, withdrawn)
    }
}

/// The room for prompts that wait in any session of a connection.
#[derive(Clone)]
pub(super) struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(BYTES)))
    }
}

/// Where the handlers put what a client asks of a session.
#[derive(Clone)]
pub(super) struct Mailbox {
    inputs: mpsc::Sender<Waiting>,
    requests: Arc<Semaphore>,
}

/// What waits in a session.
pub(super) struct Backlog {
    inputs: mpsc::Receiver<Waiting>,
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    input: Input,
    /// Given back when the input is taken up.
    _room: Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)>,
}

/// Returns both ends of what waits in a session.
pub(super) fn mailbox() -> (Mailbox, Backlog) {
    let (sender, inputs) = mpsc::channel(REQUESTS + ORDERS);
    let mailbox = Mailbox {
        inputs: sender,
        requests: Arc::new(Semaphore::new(REQUESTS)),
    };
    let backlog = Backlog {
        inputs,
        waiting: VecDeque::new(),
    };
    (mailbox, backlog)
}

impl Mailbox {
    /// Hands over a request of so many bytes; returns it if there is no room for it.
    pub(super) fn request(&self, input: Input, bytes: usize, room: &Room) -> Result<(), Input> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let request = self.requests.clone().try_acquire_owned();
        let (Ok(request), Ok(bytes)) = (request, room.0.clone().try_acquire_many_owned(bytes))
        else {
            return Err(input);
        };
        self.put(Waiting {
            input,
            _room: Some((request, bytes)),
        })
    }

    /// Hands over an order; returns it if the session was let go.
    pub(super) fn order(&self, input: Input) -> Result<(), Input> {
        self.put(Waiting { input, _room: None })
    }

    fn put(&self, waiting: Waiting) -> Result<(), Input> {
        let sent = self.inputs.try_send(waiting);
        sent.map_err(|error| error.into_inner().input)
    }

    /// Ends the attachment, and returns what it knew; `None` if it never began or has ended.
    pub(super) async fn detach(self) -> Option<Handover> {
        let (detached, handover) = oneshot::channel();
        let input = Input::Detach(detached);
        let waiting = Waiting { input, _room: None };
        self.inputs.send(waiting).await.ok()?;
        handover.await.ok()
    }
}

impl Backlog {
    /// Waits for the next input; the caller decides where it goes.
    pub(super) async fn next(&mut self) -> Option<Arrived> {
        self.inputs.recv().await.map(Arrived)
    }

    /// Notes an input that has to wait for its turn.
    pub(super) fn wait(&mut self, arrived: Arrived) {
        self.waiting.push_back(arrived.0);
    }

    /// Puts an order in front of everything.
    pub(super) fn first(&mut self, input: Input) {
        self.waiting.push_front(Waiting { input, _room: None });
    }

    /// Takes back the prompts that wait: all of them, or the one of this id.
    pub(super) fn take_prompts(&mut self, only: Option<&MessageId>) -> Vec<SentPrompt> {
        let mut prompts = Vec::new();
        for waiting in std::mem::take(&mut self.waiting) {
            match waiting.input {
                Input::Prompt(prompt) if only.is_none_or(|only| prompt.message == *only) => {
                    prompts.push(*prompt);
                }
                input => self.waiting.push_back(Waiting { input, ..waiting }),
            }
        }
        prompts
    }

    /// Takes what comes first. While a prompt runs, the prompts that wait are passed over.
    pub(super) fn pop(&mut self, is_busy: bool) -> Option<Input> {
        let may_go = |waiting: &Waiting| !is_busy || !matches!(waiting.input, Input::Prompt(_));
        let at = self.waiting.iter().position(may_go)?;
        self.waiting.remove(at).map(|waiting| waiting.input)
    }

    /// Takes no more, and refuses what waits: the session was let go.
    pub(super) fn refuse_all(&mut self, id: &AgentId) {
        self.inputs.close();
        while let Ok(waiting) = self.inputs.try_recv() {
            self.waiting.push_back(waiting);
        }
        for waiting in self.waiting.drain(..) {
            refuse(waiting.input, || unknown_session(id.as_str()));
        }
    }
}

/// An input that has just come.
pub(super) struct Arrived(Waiting);

impl Arrived {
    /// Looks at it.
    pub(super) fn input(&mut self) -> &mut Input {
        &mut self.0.input
    }

    /// Takes it up at once.
    pub(super) fn take(self) -> Input {
        self.0.input
    }
}

/// Answers what a client asks with an error. A session that is not attached is closed and deleted.
pub(super) fn refuse(input: Input, why: impl FnOnce() -> Error) {
    match input {
        Input::Prompt(prompt) => {
            note_sent(prompt.request.responder.respond_with_error(why()));
        }
        Input::Choose(_, reply) => reply(Err(why())),
        Input::Close(reply) | Input::Delete(reply) => reply(Ok(())),
        // The sender sees that its receiver was dropped.
        Input::Cancel(_) | Input::Detach(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice() -> Input {
        let choice = RoleChoice {
            agent: None,
            model: None,
        };
        Input::Choose(choice, Box::new(drop))
    }

    fn check(mailbox: &Mailbox, bytes: usize, room: &Room, is_taken: bool) {
        let handed = mailbox.request(choice(), bytes, room);
        assert_eq!(handed.is_ok(), is_taken);
    }

    #[tokio::test]
    async fn what_waits_in_all_sessions_together_has_a_size() {
        let room = Room::default();
        let (one, mut waiting) = mailbox();
        let (other, _backlog) = mailbox();
        check(&one, BYTES - 1, &room, true);
        check(&other, 2, &room, false);
        check(&other, 1, &room, true);
        // What is taken up needs no room any more.
        let arrived = waiting.next().await;
        waiting.wait(arrived.unwrap_or_else(|| unreachable!()));
        check(&other, 2, &room, false);
        drop(waiting.pop(true));
        check(&other, 2, &room, true);
    }

    #[tokio::test]
    async fn an_order_is_taken_where_no_request_is() {
        let room = Room::default();
        let (mailbox, _backlog) = mailbox();
        for _ in 0..REQUESTS {
            check(&mailbox, 0, &room, true);
        }
        check(&mailbox, 0, &room, false);
        assert!(mailbox.order(Input::Cancel(AgentId::new("a"))).is_ok());
    }
}

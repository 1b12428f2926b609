//! One session of a connection: its tree is followed, its updates written, its prompts answered.
//!
//! A task owns all of it. What the client asks is carried out one after the other, in the order in which
//! it came, beside the updates, which go on meanwhile: a cancel behind a prompt always finds the prompt.
//! The engine decides everything; this task folds what it publishes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    ContentBlock, ForkSessionResponse, LoadSessionResponse, PromptResponse, ResumeSessionResponse,
    StopReason,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Client, Error};
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use offshoot_engine::{CommandError, DeltaKind, Subscription, Update as News};
use offshoot_types::command::{Answer, Command, Order, Prompt, Receipt, Scope, Verdict};
use offshoot_types::event::{Entry, Event, RoleChoice};
use offshoot_types::id::{AgentId, CallId, CommandId, MessageId, TreeId};
use offshoot_types::message::{Author, Delegation};
use offshoot_types::store::StoreError;
use tokio::sync::mpsc;

use super::error::{command_error, internal, invalid, note_sent};
use super::fold::{Fold, Piece, PieceKind, Watch};
use super::options::{self, Role};
use super::prompts::{PromptEnd, Prompts};
use super::serve::Shared;
use super::setup::SessionStart;
use super::wire::{self, Notification, Update};
use super::{blocks, delegation};

/// Requests of a client that may wait for their turn.
pub(super) const INPUTS: usize = 256;

/// What a client asks of a session that it has attached.
pub(super) enum Input {
    /// To send a prompt.
    Prompt(Box<SentPrompt>),
    /// To stop what runs and to forget what is queued.
    Cancel,
    /// To go on with another agent or model.
    Choose(RoleChoice, Box<dyn FnOnce(Result<Role, Error>) + Send>),
    /// To stop everything and to let the session go.
    Close(Box<dyn FnOnce(Result<(), Error>) + Send>),
}

/// A prompt, and the request that waits for its end.
pub(super) struct SentPrompt {
    pub(super) blocks: Vec<ContentBlock>,
    pub(super) delegation: Option<Delegation>,
    pub(super) responder: Responder<PromptResponse>,
}

/// How a session is attached.
pub(super) enum Start {
    /// It was just opened: nothing was said before.
    New,
    /// What was said before is shown, then the request is answered.
    Load(Responder<LoadSessionResponse>),
    /// The request is answered, and nothing from before is shown.
    Resume(Responder<ResumeSessionResponse>),
    /// It is a copy: the request is answered, and nothing from before is shown.
    Fork(Responder<ForkSessionResponse>),
}

/// Follows one session for its client.
pub(super) struct Live {
    shared: Arc<Shared>,
    client: ConnectionTo<Client>,
    tree: TreeId,
    fold: Fold,
    updates: Subscription,
    prompts: Prompts<Responder<PromptResponse>>,
    /// What a session of this folder may go on with.
    start: Arc<SessionStart>,
    role: Role,
    inputs: mpsc::Receiver<Input>,
    backlog: VecDeque<Input>,
    /// What is carried out now.
    work: Option<BoxFuture<'static, Done>>,
    /// Requests to the client that are open, by what was asked.
    asked: BTreeMap<(AgentId, CallId), AbortHandle>,
    answers: FuturesUnordered<BoxFuture<'static, (AgentId, CallId, Option<Verdict>)>>,
}

/// What became of something that the client asked.
enum Done {
    Refused(MessageId, Box<Error>),
    /// It needed no turn.
    Over(MessageId),
    Cancelled,
    Closed(Box<dyn FnOnce(Result<(), Error>) + Send>),
    Sent,
}

/// Whether the session goes on.
enum Flow {
    Continue,
    Ended,
}

impl Live {
    /// Follows a session from its log on: shows what was said, or not, and returns the follower and what
    /// is to be sent once the request is answered.
    pub(super) async fn attach(
        shared: Arc<Shared>,
        client: ConnectionTo<Client>,
        tree: TreeId,
        start: Arc<SessionStart>,
        shows_history: bool,
        inputs: mpsc::Receiver<Input>,
    ) -> Result<Self, StoreError> {
        let log = shared.log(&tree).await?;
        let mut fold = Fold::new(tree.clone(), shared.profile().form);
        let mut prompts = Prompts::default();
        let mut role = Role::of(&start);
        let mut pos = offshoot_types::id::Pos::ZERO;
        for entry in &log {
            let told = fold.entry(entry);
            if shows_history {
                for notification in &told {
                    shared.outgoing.update(notification).await;
                }
            }
            if entry.agent == *tree.root() {
                drop(prompts.entry(&entry.event));
                role.entry(&entry.event);
            }
            pos = entry.pos;
        }
        let updates = shared.setup.runtime.subscribe(&tree, pos).await;
        Ok(Self {
            shared,
            client,
            tree,
            fold,
            updates,
            prompts,
            start,
            role,
            inputs,
            backlog: VecDeque::new(),
            work: None,
            asked: BTreeMap::new(),
            answers: FuturesUnordered::new(),
        })
    }

    /// Answers the request that attached the session, says how things are, and follows it to its end.
    pub(super) async fn run(mut self, start: Start) {
        let modes = self.role.modes(&self.start);
        let options = self.role.options(&self.start);
        note_sent(match start {
            Start::New => Ok(()),
            Start::Load(responder) => {
                let response = LoadSessionResponse::new().modes(modes);
                responder.respond(response.config_options(options))
            }
            Start::Resume(responder) => {
                let response = ResumeSessionResponse::new().modes(modes);
                responder.respond(response.config_options(options))
            }
            Start::Fork(responder) => {
                let response = ForkSessionResponse::new(self.tree.root().as_str().to_owned());
                responder.respond(response.modes(modes).config_options(options))
            }
        });
        let root = self.tree.root().clone();
        self.shared.outgoing.after_library(&self.client).await;
        let commands = Update::AvailableCommandsUpdate {
            available_commands: options::commands(&self.start),
            meta: (self.shared.profile().delegation).then(|| delegation::catalogue(&self.start)),
        };
        self.on(&root, commands).await;
        for text in self.start.clone().notices.iter().cloned() {
            self.notice(&root, "info", text).await;
        }
        // States before the response are history; those behind it are how things are (rule 20).
        let watch = if self.shared.setup.runtime.is_run_here(&self.tree) {
            Watch::Live
        } else {
            Watch::Unwatched
        };
        for notification in self.fold.snapshot(watch) {
            self.shared.outgoing.update(&notification).await;
        }
        for (agent, call) in self.fold.open_asks() {
            self.put(&agent, &call);
        }
        loop {
            self.begin_work();
            // The client has let the session go, and everything that it had asked before is done.
            if self.inputs.is_closed() && self.inputs.is_empty() && self.work.is_none() {
                return;
            }
            let flow = tokio::select! {
                biased;
                Some((agent, call, verdict)) = self.answers.next(), if !self.answers.is_empty() => {
                    self.answered(agent, call, verdict);
                    Flow::Continue
                }
                done = work(&mut self.work) => self.done(done).await,
                update = self.updates.next() => self.update(update).await,
                Some(input) = self.inputs.recv() => {
                    self.take(input);
                    Flow::Continue
                }
            };
            if let Flow::Ended = flow {
                return;
            }
        }
    }

    /// Notes what the client asks. A cancel takes back the prompts that no one has sent yet.
    fn take(&mut self, input: Input) {
        if !matches!(input, Input::Prompt(_)) {
            for waiting in std::mem::take(&mut self.backlog) {
                match waiting {
                    Input::Prompt(prompt) => respond_cancelled(prompt.responder),
                    other => self.backlog.push_back(other),
                }
            }
        }
        self.backlog.push_back(input);
    }

    /// Takes up what the client asked first, if nothing is being carried out. A prompt waits here until
    /// the turn of the one before it is over: a cancel then finds nothing else queued.
    fn begin_work(&mut self) {
        let is_prompt = matches!(self.backlog.front(), Some(Input::Prompt(_)));
        if self.work.is_some() || (is_prompt && self.prompts.is_busy()) {
            return;
        }
        let Some(input) = self.backlog.pop_front() else {
            return;
        };
        let (shared, tree) = (self.shared.clone(), self.tree.clone());
        self.work = Some(match input {
            Input::Prompt(prompt) => {
                let SentPrompt {
                    blocks,
                    delegation,
                    responder,
                } = *prompt;
                let message = MessageId::new(shared.setup.env.new_id());
                // Before it is sent: its turn may begin before the command has returned.
                self.prompts.sent(message.clone(), responder);
                let start = self.start.clone();
                Box::pin(async move {
                    let sent = send(&shared, &tree, &start, message.clone(), blocks, delegation);
                    match sent.await {
                        Ok(Receipt::Compacted { .. }) => Done::Over(message),
                        Ok(Receipt::NoEffect { why }) => {
                            Done::Refused(message, Box::new(internal(why)))
                        }
                        Ok(_) => Done::Sent,
                        Err(error) => Done::Refused(message, Box::new(error)),
                    }
                })
            }
            Input::Cancel => Box::pin(async move {
                cancel(&shared, &tree).await;
                Done::Cancelled
            }),
            Input::Choose(choice, chosen) => {
                let role = self.role.chosen(&choice);
                Box::pin(async move {
                    let order = Order::SetRole(choice);
                    let set = shared.command(&tree, tree.root(), order).await;
                    chosen(match set {
                        Ok(Receipt::NoEffect { why }) => Err(internal(why)),
                        Ok(_) => Ok(role),
                        Err(error) => Err(command_error(&error)),
                    });
                    Done::Sent
                })
            }
            Input::Close(closed) => Box::pin(async move {
                cancel(&shared, &tree).await;
                let order = Order::Close;
                let summed_up = shared.command(&tree, tree.root(), order).await;
                tracing::debug!(?summed_up, "session/close");
                Done::Closed(closed)
            }),
        });
    }

    async fn done(&mut self, done: Done) -> Flow {
        match done {
            Done::Refused(message, error) => {
                if let Some(responder) = self.prompts.refused(&message) {
                    note_sent(responder.respond_with_error(*error));
                }
            }
            Done::Over(message) => {
                if let Some(responder) = self.prompts.refused(&message) {
                    respond(responder, PromptEnd::Stopped(wire::StopReason::EndTurn));
                }
            }
            Done::Sent => {}
            Done::Cancelled => {
                // Nothing ran, so no entry will answer what waits.
                if !self.shared.is_busy(&self.tree).await {
                    self.prompts
                        .give_up()
                        .into_iter()
                        .for_each(respond_cancelled);
                }
            }
            Done::Closed(closed) => {
                self.prompts
                    .give_up()
                    .into_iter()
                    .for_each(respond_cancelled);
                closed(Ok(()));
                return Flow::Ended;
            }
        }
        Flow::Continue
    }

    async fn update(&mut self, update: Result<News, StoreError>) -> Flow {
        match update {
            Ok(News::Entry(entry)) => self.entry(&entry).await,
            Ok(News::Delta(delta)) => {
                let kind = match delta.kind {
                    DeltaKind::Text => PieceKind::Text,
                    DeltaKind::Reasoning => PieceKind::Thought,
                };
                let piece = Piece {
                    agent: &delta.agent,
                    message: &delta.message,
                    kind,
                    offset: delta.offset,
                    text: &delta.text,
                };
                if let Some(notification) = self.fold.piece(piece) {
                    self.shared.outgoing.update(&notification).await;
                }
            }
            Ok(News::Notice(agent, text)) => self.notice(&agent, "warning", text).await,
            Ok(News::Idle) => {
                for (responder, end) in self.prompts.quiet() {
                    respond(responder, end);
                }
            }
            Ok(News::Orphaned) => {
                // The process that ran the session is gone: take it up, if our client waits for it.
                if !self.prompts.is_empty() && self.work.is_none() {
                    let (shared, tree) = (self.shared.clone(), self.tree.clone());
                    self.work = Some(Box::pin(async move {
                        let resumed = shared.command(&tree, tree.root(), Order::Resume).await;
                        tracing::debug!(?resumed, "take up an orphaned session");
                        Done::Sent
                    }));
                }
            }
            Ok(News::Output(_) | News::Hooked(..) | News::Activity(..)) => {}
            Ok(News::Parked(error)) | Err(error) => {
                let error = internal(&error.message);
                for responder in self.prompts.give_up() {
                    note_sent(responder.respond_with_error(error.clone()));
                }
                return Flow::Ended;
            }
        }
        Flow::Continue
    }

    async fn entry(&mut self, entry: &Entry) {
        let told = self.fold.entry(entry);
        for notification in &told {
            self.shared.outgoing.update(notification).await;
        }
        let is_root = entry.agent == *self.tree.root();
        match &entry.event {
            Event::Asked { call, .. } => self.put(&entry.agent, call),
            Event::Decided { call, .. } | Event::CallFinished { call, .. } => {
                self.withdraw(&entry.agent, call);
            }
            Event::Settled { .. } => self.withdraw_all(&entry.agent),
            Event::Compacted(compaction) if self.shared.profile().compaction => {
                let update = Update::CompactionUpdate {
                    compaction_id: compaction.message.clone(),
                    status: "completed",
                    summary: vec![wire::Content::text(&compaction.summary)],
                };
                self.on(&entry.agent, update).await;
            }
            Event::Replied(message) if is_root => {
                let used = message.usage.total();
                if let Some(size) = self.shared.context_window(&self.tree).filter(|_| used > 0) {
                    let update = Update::UsageUpdate {
                        used,
                        size,
                        cost: self.fold.cost(),
                    };
                    self.on(&entry.agent, update).await;
                }
            }
            _ => {}
        }
        if is_root {
            if self.role.entry(&entry.event) {
                for update in self.role.updates(&self.start) {
                    self.on(&entry.agent, update).await;
                }
            }
            for (responder, end) in self.prompts.entry(&entry.event) {
                respond(responder, end);
            }
        }
    }

    /// Tells the user something: as a notice, or as a marked message of the agent where the client knows
    /// no notices.
    async fn notice(&mut self, agent: &AgentId, severity: &'static str, text: String) {
        let update = if self.shared.profile().notices {
            Update::Notice {
                severity,
                title: text,
            }
        } else {
            Update::AgentMessageChunk(wire::Chunk {
                content: wire::Content::text(format!("[{severity}] {text}\n")),
                message_id: MessageId::new(self.shared.setup.env.new_id()),
                meta: None,
            })
        };
        self.on(agent, update).await;
    }

    async fn on(&mut self, agent: &AgentId, update: Update) {
        let session_id = self.fold.session_of(agent);
        let notification = Notification { session_id, update };
        self.shared.outgoing.update(&notification).await;
    }

    /// Asks the client what an agent asks. The calls of client tools are for other clients.
    fn put(&mut self, agent: &AgentId, call: &CallId) {
        let Some(ask) = self.fold.ask(agent, call) else {
            return;
        };
        let (handle, registration) = AbortHandle::new_pair();
        let (agent, call) = (agent.clone(), call.clone());
        let put = ask.put(self.client.clone(), self.shared.profile().forms);
        let put = Abortable::new(put, registration);
        let key = (agent.clone(), call.clone());
        if let Some(former) = self.asked.insert(key, handle) {
            former.abort();
        }
        self.answers.push(Box::pin(async move {
            let verdict = put.await.unwrap_or_default();
            (agent, call, verdict)
        }));
    }

    fn withdraw(&mut self, agent: &AgentId, call: &CallId) {
        if let Some(handle) = self.asked.remove(&(agent.clone(), call.clone())) {
            handle.abort();
        }
    }

    fn withdraw_all(&mut self, of: &AgentId) {
        for (_, handle) in self.asked.extract_if(.., |(agent, _), _| agent == of) {
            handle.abort();
        }
    }

    /// Sends the answer of the client to the agent that asked; a late answer has no effect (rule 17).
    fn answered(&mut self, agent: AgentId, call: CallId, verdict: Option<Verdict>) {
        let was_open = self.asked.remove(&(agent.clone(), call.clone())).is_some();
        let Some(verdict) = verdict.filter(|_| was_open) else {
            return;
        };
        let (shared, tree) = (self.shared.clone(), self.tree.clone());
        self.answers.push(Box::pin(async move {
            let order = Order::Answer(Answer::new(call.clone(), verdict));
            let taken = shared.command(&tree, &agent, order).await;
            tracing::debug!(?taken, "answer");
            (agent, call, None)
        }));
    }
}

/// Waits for what is carried out; for ever if nothing is.
async fn work(work: &mut Option<BoxFuture<'static, Done>>) -> Done {
    let Some(running) = work else {
        return std::future::pending().await;
    };
    let done = running.await;
    *work = None;
    done
}

fn respond_cancelled(responder: Responder<PromptResponse>) {
    let cancelled = PromptResponse::new(StopReason::Cancelled);
    note_sent(responder.respond(cancelled));
}

fn respond(responder: Responder<PromptResponse>, end: PromptEnd) {
    note_sent(match end {
        PromptEnd::Stopped(reason) => responder.respond(PromptResponse::new(reason.into())),
        PromptEnd::Failed(why) => responder.respond_with_error(internal(why)),
    });
}

impl From<wire::StopReason> for StopReason {
    fn from(reason: wire::StopReason) -> Self {
        match reason {
            // A turn that failed is an error of its request; there is no such reason in version 1.
            wire::StopReason::EndTurn | wire::StopReason::Error => Self::EndTurn,
            wire::StopReason::MaxTokens => Self::MaxTokens,
            wire::StopReason::MaxTurnRequests => Self::MaxTurnRequests,
            wire::StopReason::Refusal => Self::Refusal,
            wire::StopReason::Cancelled => Self::Cancelled,
        }
    }
}

/// Sends a prompt to the root of a session. A command behind a slash starts its agent, or shortens the
/// conversation.
async fn send(
    shared: &Shared,
    tree: &TreeId,
    start: &SessionStart,
    message: MessageId,
    mut blocks: Vec<ContentBlock>,
    mut delegation: Option<Delegation>,
) -> Result<Receipt, Error> {
    if let Some(ContentBlock::Text(first)) = blocks.first_mut()
        && let Some((name, rest)) = options::command(&first.text, start)
    {
        if name == options::COMPACT {
            let shortened = shared.command(tree, tree.root(), Order::Compact).await;
            return shortened.map_err(|error| command_error(&error));
        }
        if rest.is_empty() {
            return Err(invalid(format!("say what {name} is to do: /{name} TEXT")));
        }
        delegation = Some(Delegation::Require {
            agent: name.to_owned(),
            background: false,
        });
        first.text = rest.to_owned();
    }
    let text = blocks::content(&shared.setup.runtime, tree.root(), blocks).await?;
    let prompt = Prompt {
        message,
        text,
        from: Author::Human,
        agent: None,
        model: None,
        metadata: None,
        output_schema: None,
        delegation,
        immediate: false,
    };
    let sent = shared
        .command(tree, tree.root(), Order::Prompt(prompt))
        .await;
    sent.map_err(|error| match error {
        // An agent that a delegation names is a parameter of the request.
        CommandError::Unknown(why) => invalid(why),
        error => command_error(&error),
    })
}

/// Stops what runs in a session.
async fn cancel(shared: &Shared, tree: &TreeId) {
    let order = Order::Cancel(Scope::Run);
    let stopped = shared.command(tree, tree.root(), order).await;
    tracing::debug!(?stopped, "session/cancel");
}

impl Shared {
    /// Sends an order about an agent of a session.
    pub(super) async fn command(
        &self,
        tree: &TreeId,
        agent: &AgentId,
        order: Order,
    ) -> Result<Receipt, CommandError> {
        let command = Command {
            id: CommandId::new(self.setup.env.new_id()),
            tree: tree.clone(),
            agent: agent.clone(),
            order,
        };
        self.setup.runtime.command(command).await
    }
}

//! One session of a connection: its tree is followed, its updates written, its prompts answered.
//!
//! A task owns all of it. What the client asks is carried out one after the other, in the order in which
//! it came, beside the updates, which go on meanwhile: a cancel behind a prompt always finds the prompt.
//! What the client asks is looked at first, so that no stream of updates holds up a cancel. The engine
//! decides everything; this task folds what it publishes.

use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    ForkSessionResponse, LoadSessionResponse, PromptResponse, ResumeSessionResponse, StopReason,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Client, Error};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use offshoot::flow::{Follower, News, Orphan};
use offshoot_engine::{Activity, CommandError, DeltaKind, Update as Change};
use offshoot_types::command::{Answer, Deletion, Order, Receipt};
use offshoot_types::event::{Entry, Event, RoleChoice};
use offshoot_types::id::{AgentId, CallId, MessageId, Pos, TreeId};
use offshoot_types::store::StoreError;
use tokio::sync::oneshot;

use super::Form;
use super::asks::{Answered, OpenAsks};
use super::delegation;
use super::error::{command_error, internal, note_sent};
use super::fold::{Fold, Piece, PieceKind, Watch};
use super::hidden::Hidden;
use super::inputs::{Arrived, Backlog, Input, PromptRequest, Reply, SentPrompt, Withdrawn};
use super::options::{self, Role};
use super::ports::SessionPorts;
use super::prompts::{PromptEnd, Prompts};
use super::send::{self, Wanted};
use super::serve::Shared;
use super::setup::SessionStart;
use super::wire::{self, Notification, Update};

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

/// What becomes of what was said before a session is attached.
pub(super) enum History {
    /// It is written to the client.
    Shown,
    /// It is not.
    Silent,
    /// An attachment that has just ended has written it, up to here.
    Known(Box<Handover>),
}

impl Start {
    /// Returns what becomes of the history, after an earlier attachment that knew this.
    pub(super) fn history(&self, former: Option<Handover>) -> History {
        match (self, former) {
            (Self::Load(_), _) => History::Shown,
            (Self::Resume(_), Some(former)) => History::Known(Box::new(former)),
            (Self::New | Self::Resume(_) | Self::Fork(_), _) => History::Silent,
        }
    }

    /// Answers the request with an error; a session that was just opened has its answer already.
    pub(super) fn refuse(self, error: Error) {
        note_sent(match self {
            Self::New => Ok(()),
            Self::Load(responder) => responder.respond_with_error(error),
            Self::Resume(responder) => responder.respond_with_error(error),
            Self::Fork(responder) => responder.respond_with_error(error),
        });
    }
}

/// What an attachment knew, for the next attachment of the same session: a session that is resumed goes on
/// where its client stopped reading.
pub(super) struct Handover {
    fold: Fold,
    role: Role,
    pos: Pos,
}

/// Follows one session for its client.
pub(super) struct Live {
    shared: Arc<Shared>,
    client: ConnectionTo<Client>,
    tree: TreeId,
    /// The session that is attached: the root, or a child that its client looks at.
    top: AgentId,
    fold: Fold,
    /// The last entry that was folded.
    pos: Pos,
    updates: Follower,
    prompts: Prompts<PromptRequest>,
    /// Requests that the client may withdraw.
    withdrawals: FuturesUnordered<Withdrawn>,
    /// What a session of this folder may go on with.
    start: Arc<SessionStart>,
    role: Role,
    inputs: Backlog,
    /// What is carried out now.
    work: Option<BoxFuture<'static, Done>>,
    /// The conversation is being shortened: orders are carried out meanwhile.
    compaction: Option<BoxFuture<'static, Done>>,
    asks: OpenAsks,
    /// What tools may ask the client to do.
    ports: SessionPorts,
}

/// What became of something that the client asked.
enum Done {
    /// The prompt has no turn, and this answer.
    NoTurn(MessageId, PromptEnd),
    /// The same, and the user is told why.
    NoEffect(MessageId, String),
    Closed(Reply<()>),
    Deleted(Reply<()>),
    Carried,
}

/// Whether the session goes on.
enum Flow {
    Continue,
    Ended,
    /// The client attaches it again.
    Detached(oneshot::Sender<Handover>),
}

impl Live {
    /// Follows a session from its log on, and shows what was said before if the client loads it. A session
    /// that the client had attached before goes on where that attachment ended.
    pub(super) async fn attach(
        shared: Arc<Shared>,
        client: ConnectionTo<Client>,
        (tree, top): (TreeId, AgentId),
        parts: Arc<SessionStart>,
        history: History,
        inputs: Backlog,
        ports: SessionPorts,
    ) -> Result<Self, CommandError> {
        let shown = (&tree, &top);
        let Handover { fold, role, pos } = match history {
            History::Known(former) => *former,
            History::Shown => replay(&shared, shown, &parts, Replay::Shown).await?,
            History::Silent => replay(&shared, shown, &parts, Replay::Silent).await?,
        };
        let updates = shared.client.follow(&tree, pos).await?;
        Ok(Self {
            shared,
            client,
            tree,
            top,
            fold,
            pos,
            updates,
            prompts: Prompts::default(),
            withdrawals: FuturesUnordered::new(),
            start: parts,
            role,
            inputs,
            work: None,
            compaction: None,
            asks: OpenAsks::default(),
            ports,
        })
    }

    /// Answers the request that attached the session, says how things are, and follows it to its end.
    pub(super) async fn run(mut self, start: Start) {
        self.respond_attached(start);
        self.say_how_things_are().await;
        loop {
            self.begin_work();
            // A session whose process is gone is taken up if our client waits for it, unless what is carried
            // out does so.
            let orphan = if self.prompts.is_empty() || self.work.is_some() {
                Orphan::Leave
            } else {
                Orphan::TakeUp
            };
            let flow = tokio::select! {
                biased;
                arrived = self.inputs.next() => match arrived {
                    Some(arrived) => self.take(arrived).await,
                    None => Flow::Ended,
                },
                Some(withdrawn) = self.withdrawals.next(), if !self.withdrawals.is_empty() => {
                    self.withdraw(withdrawn);
                    Flow::Continue
                }
                answered = self.asks.next() => {
                    self.answered(answered);
                    Flow::Continue
                }
                done = finished(&mut self.work) => self.done(done).await,
                done = finished(&mut self.compaction) => self.done(done).await,
                news = self.updates.next(orphan), if self.is_followed() => self.news(news).await,
            };
            match flow {
                Flow::Continue => {}
                Flow::Ended => return self.let_go(),
                Flow::Detached(detached) => {
                    self.let_go();
                    let Self {
                        fold,
                        role,
                        pos,
                        ports,
                        ..
                    } = self;
                    // A session has the files and terminals of one client.
                    drop(ports);
                    // The task that attaches the session again may be gone with the connection.
                    drop(detached.send(Handover { fold, role, pos }));
                    return;
                }
            }
        }
    }

    /// Tells whether the client looks at a child.
    fn is_view(&self) -> bool {
        self.top != *self.tree.root()
    }

    /// Tells whether its updates are written here. As a session of its own a child is shown by the
    /// attachment of its root.
    fn is_followed(&self) -> bool {
        !self.is_view() || matches!(self.shared.profile().form, Form::Flat(_))
    }

    fn respond_attached(&self, start: Start) {
        // A child is its parent's: there is nothing to choose for it.
        let modes = (!self.is_view()).then(|| self.role.modes(&self.start));
        let options = (!self.is_view()).then(|| self.role.options(&self.start));
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
    }

    async fn say_how_things_are(&mut self) {
        let root = self.top.clone();
        self.shared.outgoing.after_library(&self.client).await;
        if self.is_view() {
            return;
        }
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
        self.ports.show(self.pos);
        for (agent, call) in self.fold.open_asks() {
            self.put(&agent, &call);
        }
    }

    /// Takes what the client asks. A cancel counts from now on, whatever is being carried out.
    async fn take(&mut self, mut arrived: Arrived) -> Flow {
        match arrived.input() {
            Input::Prompt(prompt) => self.withdrawals.extend(prompt.withdrawn.take()),
            Input::Choose(..) | Input::Delete(_) => {}
            Input::Cancel(agent) if *agent != self.top => {
                let (agent, fold) = (agent.clone(), &self.fold);
                self.asks.withdraw_of(|of| fold.is_at_or_below(of, &agent));
            }
            Input::Cancel(_) | Input::Close(_) => {
                self.prompts.cancel(None);
                self.take_back(None);
                self.asks.withdraw_of(|_| true);
            }
            Input::Detach(_) => {
                if let Input::Detach(detached) = arrived.take() {
                    return self.detach(detached).await;
                }
                return Flow::Ended;
            }
        }
        self.inputs.wait(arrived);
        Flow::Continue
    }

    /// Answers the prompts that wait for their turn, or one of them: they never begin.
    fn take_back(&mut self, only: Option<&MessageId>) -> bool {
        let taken = self.inputs.take_prompts(only);
        let is_any = !taken.is_empty();
        for prompt in taken {
            respond(
                prompt.request,
                PromptEnd::Stopped(wire::StopReason::Cancelled),
            );
        }
        is_any
    }

    /// The client withdraws the request of a prompt: that prompt is cancelled.
    fn withdraw(&mut self, message: Option<MessageId>) {
        let Some(message) = message else { return };
        if !self.take_back(Some(&message)) && self.prompts.is_open(&message) {
            self.prompts.cancel(Some(&message));
            self.inputs.first(Input::Cancel(self.tree.root().clone()));
        }
    }

    /// Ends the attachment with everything shown that is in the log: the next one goes on from there.
    async fn detach(&mut self, detached: oneshot::Sender<Handover>) -> Flow {
        if let Some(work) = self.work.take()
            && let Flow::Ended = self.done(work.await).await
        {
            return Flow::Ended;
        }
        self.drain().await;
        self.prompts.cancel(None);
        self.take_back(None);
        self.answer_all(&PromptEnd::Stopped(wire::StopReason::Cancelled));
        Flow::Detached(detached)
    }

    /// Writes what is in the log and was not written yet.
    async fn drain(&mut self) {
        while self.is_followed()
            && let Ok(false) = self.updates.is_caught_up().await
        {
            let news = self.updates.next(Orphan::Leave).await;
            if !matches!(self.news(news).await, Flow::Continue) {
                return;
            }
        }
    }

    fn answer_all(&mut self, end: &PromptEnd) {
        for request in self.prompts.give_up() {
            respond(request, end.clone());
        }
    }

    /// The session is attached no more: what the client still asks of it is refused.
    fn let_go(&mut self) {
        self.shared.forget(&self.top, &self.start);
        self.take_back(None);
        self.answer_all(&PromptEnd::Stopped(wire::StopReason::Cancelled));
        self.inputs.refuse_all(&self.top);
    }

    /// Takes up what the client asked first, if nothing is being carried out. A prompt waits until the
    /// turn of the one before it is over: a cancel then finds nothing else queued.
    fn begin_work(&mut self) {
        while self.work.is_none() {
            let Some(input) = self.inputs.pop(self.prompts.is_busy()) else {
                return;
            };
            self.begin(input);
        }
    }

    fn begin(&mut self, input: Input) {
        let (shared, tree) = (self.shared.clone(), self.tree.clone());
        self.work = Some(match input {
            Input::Prompt(prompt) => return self.begin_prompt(*prompt),
            Input::Cancel(agent) => Box::pin(async move {
                send::cancel(&shared, &tree, &agent).await;
                Done::Carried
            }),
            Input::Choose(choice, chosen) => Box::pin(self.choose(choice, chosen)),
            // A client that looked at a child stops looking; with the flag of #855 a close stops the child.
            Input::Close(closed) if self.is_view() => {
                let (child, stops) = (self.top.clone(), shared.profile().delegation);
                Box::pin(async move {
                    if stops {
                        send::cancel(&shared, &tree, &child).await;
                    }
                    Done::Closed(closed)
                })
            }
            Input::Close(closed) => Box::pin(async move {
                send::cancel(&shared, &tree, tree.root()).await;
                let summed_up = shared.command(&tree, tree.root(), Order::Close).await;
                tracing::debug!(?summed_up, "session/close");
                Done::Closed(closed)
            }),
            Input::Delete(deleted) => Box::pin(async move {
                let order = Order::Delete(Deletion::Always);
                match shared.command(&tree, tree.root(), order).await {
                    Ok(_) => Done::Deleted(deleted),
                    Err(error) => {
                        deleted(Err(command_error(&error, tree.root())));
                        Done::Carried
                    }
                }
            }),
            // It never waits.
            Input::Detach(_) => return,
        });
    }

    fn begin_prompt(&mut self, prompt: SentPrompt) {
        let SentPrompt {
            message,
            mut blocks,
            delegation,
            metadata,
            request,
            withdrawn: _,
        } = prompt;
        let wanted = match send::wanted(&mut blocks, delegation, &self.start) {
            Ok(wanted) => wanted,
            Err(error) => return respond(request, PromptEnd::Refused(Box::new(error))),
        };
        // Before it is sent: its turn may begin before the command has returned.
        self.prompts.sent(message.clone(), request);
        let (shared, tree) = (self.shared.clone(), self.tree.clone());
        match wanted {
            Wanted::Turn(delegation) => {
                self.work = Some(Box::pin(async move {
                    let id = message.clone();
                    let sent = send::send(&shared, &tree, id, blocks, delegation, metadata);
                    match sent.await {
                        Ok(()) => Done::Carried,
                        Err(error) => Done::NoTurn(message, PromptEnd::Refused(Box::new(error))),
                    }
                }));
            }
            Wanted::Compaction => {
                self.compaction = Some(Box::pin(async move {
                    let shortened = shared.command(&tree, tree.root(), Order::Compact).await;
                    let over = PromptEnd::Stopped(wire::StopReason::EndTurn);
                    match shortened {
                        Ok(Receipt::NoEffect { why }) => Done::NoEffect(message, why),
                        Ok(_) => Done::NoTurn(message, over),
                        Err(error) => {
                            let error = command_error(&error, tree.root());
                            Done::NoTurn(message, PromptEnd::Refused(Box::new(error)))
                        }
                    }
                }));
            }
        }
    }

    fn choose(
        &self,
        choice: RoleChoice,
        chosen: Reply<Role>,
    ) -> impl Future<Output = Done> + Send + use<> + 'static {
        let (shared, tree) = (self.shared.clone(), self.tree.clone());
        let role = self.role.chosen(&choice);
        async move {
            let order = Order::SetRole(choice);
            let set = shared.command(&tree, tree.root(), order).await;
            chosen(match set {
                Ok(Receipt::NoEffect { why }) => Err(internal(why)),
                Ok(_) => Ok(role),
                Err(error) => Err(command_error(&error, tree.root())),
            });
            Done::Carried
        }
    }

    async fn done(&mut self, done: Done) -> Flow {
        match done {
            Done::Carried => {}
            Done::NoTurn(message, end) => self.no_turn(&message, end),
            Done::NoEffect(message, why) => {
                if !self.prompts.is_cancelled(&message) {
                    let root = self.tree.root().clone();
                    self.notice(&root, "info", why).await;
                }
                self.no_turn(&message, PromptEnd::Stopped(wire::StopReason::EndTurn));
            }
            Done::Closed(closed) => {
                self.drain().await;
                self.let_go();
                closed(Ok(()));
                return Flow::Ended;
            }
            Done::Deleted(deleted) => {
                self.let_go();
                deleted(Ok(()));
                return Flow::Ended;
            }
        }
        Flow::Continue
    }

    fn no_turn(&mut self, message: &MessageId, end: PromptEnd) {
        if let Some((request, end)) = self.prompts.no_turn(message, end) {
            respond(request, end);
        }
    }

    async fn news(&mut self, news: Result<News, CommandError>) -> Flow {
        let change = match news {
            Ok(News::Update(change)) => change,
            Ok(News::Asleep) => return Flow::Continue,
            Err(error) => return self.fail(&error.to_string()),
        };
        match change {
            Change::Entry(entry) => {
                self.entry(&entry).await;
                self.ports.show(entry.pos);
            }
            Change::Delta(delta) => {
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
            Change::Notice(..) if self.is_view() => {}
            Change::Notice(agent, text) => self.notice(&agent, "warning", text).await,
            Change::Idle => {
                for (request, end) in self.prompts.quiet() {
                    respond(request, end);
                }
            }
            // The cancel came before the engine had begun, and may have missed it.
            Change::Activity(agent, Activity::Compacting)
                if agent == *self.tree.root() && self.prompts.is_any_cancelled() =>
            {
                self.cancel_again();
            }
            // The follower acts on a session whose process is gone.
            Change::Output(_) | Change::Hooked(..) | Change::Activity(..) | Change::Orphaned => {}
            Change::Parked(error) => return self.fail(&error.message),
        }
        Flow::Continue
    }

    /// Ends the attachment because the session cannot be followed or cannot go on.
    fn fail(&mut self, why: &str) -> Flow {
        let error = Box::new(internal(why));
        self.answer_all(&PromptEnd::Refused(error));
        Flow::Ended
    }

    async fn entry(&mut self, entry: &Entry) {
        self.pos = entry.pos;
        self.shared.note_birth(&self.tree, entry);
        let told = self.fold.entry(entry);
        for notification in &told {
            self.shared.outgoing.update(notification).await;
        }
        if self.is_view() {
            // The rest is the root's, on the session of the root.
            return;
        }
        let is_root = entry.agent == *self.tree.root();
        match &entry.event {
            Event::Asked { call, .. } => self.put(&entry.agent, call),
            Event::Decided { call, .. } | Event::CallFinished { call, .. } => {
                self.asks.withdraw(&entry.agent, call);
            }
            Event::Settled { .. } => self.asks.withdraw_of(|agent| *agent == entry.agent),
            // In the flat form the conversations of children are shown nowhere.
            Event::Compacted(compaction)
                if self.shared.profile().compaction
                    && self.fold.session_of(&entry.agent) == entry.agent =>
            {
                let update = Update::CompactionUpdate {
                    compaction_id: compaction.message.clone(),
                    status: "completed",
                    summary: vec![wire::Content::text(&compaction.summary)],
                };
                self.on(&entry.agent, update).await;
            }
            Event::Replied(message) if is_root => {
                let used = message.usage.total();
                let size = self.role.context_window(&self.start);
                if let Some(size) = size.filter(|_| used > 0) {
                    let update = Update::UsageUpdate {
                        used,
                        size,
                        cost: self.fold.cost(),
                    };
                    self.on(&entry.agent, update).await;
                }
            }
            // The cancel came before the turn and may have missed it.
            Event::TurnStarted {
                prompt: Some(prompt),
                ..
            } if is_root && self.prompts.is_cancelled(prompt) => {
                self.cancel_again();
            }
            _ => {}
        }
        if is_root {
            if self.role.entry(&entry.event) {
                for update in self.role.updates(&self.start) {
                    self.on(&entry.agent, update).await;
                }
            }
            for (request, end) in self.prompts.entry(&entry.event) {
                respond(request, end);
            }
        }
    }

    /// Stops what runs, beside what is carried out: a close may wait for just that.
    fn cancel_again(&mut self) {
        let (shared, tree) = (self.shared.clone(), self.tree.clone());
        self.asks.carry(async move {
            send::cancel(&shared, &tree, tree.root()).await;
        });
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
        if let Some(ask) = self.fold.ask(agent, call) {
            let answer = ask.put(self.client.clone(), self.shared.profile().forms);
            self.asks.put(agent.clone(), call.clone(), answer);
        }
    }

    /// Sends the answer of the client to the agent that asked.
    fn answered(&mut self, answered: Answered) {
        let Answered {
            agent,
            call,
            verdict,
        } = answered;
        let (shared, tree) = (self.shared.clone(), self.tree.clone());
        self.asks.carry(async move {
            let order = Order::Answer(Answer::new(call, verdict));
            let taken = shared.command(&tree, &agent, order).await;
            tracing::debug!(?taken, "answer");
        });
    }
}

/// Whether what is in the log already is written to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replay {
    Shown,
    Silent,
}

/// Folds the log of a session as it is now.
async fn replay(
    shared: &Shared,
    (tree, top): (&TreeId, &AgentId),
    start: &SessionStart,
    replay: Replay,
) -> Result<Handover, StoreError> {
    let log = shared.log(tree).await?;
    let mut hidden = Hidden::of(&log);
    let form = shared.profile().form;
    let mut fold = if top == tree.root() {
        Fold::new(tree.clone(), form)
    } else {
        Fold::view(top.clone(), tree.clone(), form)
    };
    let mut role = Role::of(start);
    let mut pos = Pos::ZERO;
    for entry in &log {
        shared.note_birth(tree, entry);
        let told = fold.entry(entry);
        let is_hidden = hidden.hides(entry);
        if replay == Replay::Shown && !is_hidden {
            for notification in &told {
                shared.outgoing.update(notification).await;
            }
        }
        if entry.agent == *tree.root() {
            role.entry(&entry.event);
        }
        pos = entry.pos;
    }
    Ok(Handover { fold, role, pos })
}

/// Waits for what is carried out; for ever if nothing is.
async fn finished(work: &mut Option<BoxFuture<'static, Done>>) -> Done {
    let Some(running) = work else {
        return std::future::pending().await;
    };
    let done = running.await;
    *work = None;
    done
}

fn respond(request: PromptRequest, end: PromptEnd) {
    let responder = request.responder;
    note_sent(match end {
        PromptEnd::Stopped(reason) => responder.respond(PromptResponse::new(reason.into())),
        PromptEnd::Failed(why) => responder.respond_with_error(internal(why)),
        PromptEnd::Refused(error) => responder.respond_with_error(*error),
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

//! Follows a tree until it is quiet.
//!
//! Works the same whether this process runs the tree or another does: what has
//! happened is folded from the log, and "quiet" is judged from the fold alone
//! (R19). A tree whose owner has died meanwhile is taken over. Starts nothing
//! but what was asked for, and what a signal asks for.

mod person;

use std::collections::{BTreeSet, VecDeque};
use std::future::Future;
use std::path::Path;
use std::pin::Pin;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use offshoot_engine::{CommandError, Runtime, Subscription, Update, is_quiet};
use offshoot_types::client_tool::ToolResult;
use offshoot_types::command::{Answer, Command, Order, Prompt, Receipt, Verdict};
use offshoot_types::env::Env;
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, CommandId, MessageId, Pos, TreeId};
use offshoot_types::message::Author;
use offshoot_types::settlement::Status;
use offshoot_types::store::{StoreError, StoreErrorKind};
use offshoot_types::tree::{self, Ask, Spent, Tree, Unfinished};

use crate::env::System;
use crate::exit::{Code, Stop};
use crate::signals::{Signal, Signals};
use crate::view::View;
use crate::{attach, inbox, logging, output, render};

/// What is said before leaving in good order.
pub(crate) const TERMINATED: &str = "terminated; cancelling what runs, then leaving";

/// What a child reads whose call no client is here to carry out.
const NO_CLIENT: &str = "no client of the session is here to run it";

/// When following is over.
pub(crate) struct Goal {
    /// Whatever happened up to here has been seen.
    pub(crate) upto: Pos,
    /// This prompt has been taken.
    pub(crate) prompt: Option<MessageId>,
    /// Whether it goes on until the person leaves.
    pub(crate) chat: bool,
    /// Whether calls of client tools are waited for.
    pub(crate) waits_for_clients: bool,
}

/// What happens in a tree: first what was heard already, then what comes.
pub(crate) struct News {
    pub(crate) updates: Subscription,
    pub(crate) heard: VecDeque<Update>,
}

impl News {
    async fn next(&mut self) -> Result<Update, StoreError> {
        match self.heard.pop_front() {
            Some(update) => Ok(update),
            None => self.updates.next().await,
        }
    }

    async fn is_caught_up(&self) -> Result<bool, StoreError> {
        Ok(self.heard.is_empty() && self.updates.is_caught_up().await?)
    }
}

/// Why following is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Nothing runs and nothing wants to; the agent's last run says how it went, and the tree what
    /// it left undone meanwhile.
    Quiet(Code, Unfinished),
    /// The log cannot be written; the tree was let go.
    Parked(StoreError),
    /// A second Ctrl-C: leave now.
    AtOnce,
    /// SIGTERM: leave in good order.
    Terminated,
    /// The session waits for an answer that nobody here can give, and was left asleep.
    Asleep(String),
    /// The session waits for the result of a client tool that no client here returns. It goes to sleep
    /// when the process ends.
    NoClient(String),
    /// The person left a conversation that is quiet, and in which something was answered that nobody
    /// has summed up.
    Talked,
}

/// What became of the prompt that we came with.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Asked {
    /// No turn has taken it, or there is none.
    Waits,
    /// A run works on it.
    Runs,
    /// That run ended so. Others may follow, for what somebody else has queued.
    Ended(Status),
}

type Answered = (Kind, Result<Receipt, CommandError>);

type Ordered<'a> = Pin<Box<dyn Future<Output = Answered> + 'a>>;

/// What an order of ours is, for the person who waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// It is done at once.
    Brief,
    /// A message is sent.
    Prompt(MessageId),
    /// A summary is written, and no turn begins meanwhile.
    Chore,
    /// A session that was nobody's is opened.
    Opening,
    /// The person answers a call, and may not be the only one.
    Answer(AgentId, CallId),
}

/// A tree that is followed.
pub(crate) struct Follower<'a> {
    runtime: &'a Runtime,
    id: TreeId,
    agent: AgentId,
    tree: Tree,
    view: &'a mut View,
    news: News,
    goal: Goal,
    prompted: bool,
    /// Where the engine, if it is ours, said that the tree is quiet.
    idle: Option<Pos>,
    /// Commands of our own that are on their way.
    ordered: FuturesUnordered<Ordered<'a>>,
    /// How many of them no turn may begin beside.
    chores: usize,
    interrupted: bool,
    /// Whether something was answered since that nobody has summed up.
    talked: bool,
    asked: Asked,
    /// What agents left undone: in the run that goes on here, and in those that begin here.
    unfinished: Unfinished,
    /// Calls of client tools that need nothing more here: children read that no client is here, and a
    /// call that waited before is taken up only with its result.
    handled: BTreeSet<(AgentId, CallId)>,
    /// Whether no process owned the tree when its log had been read, and none was asked to since.
    orphaned: bool,
}

impl<'a> Follower<'a> {
    /// Follows a tree from where `tree` is.
    pub(crate) fn new(
        runtime: &'a Runtime,
        (id, agent): (TreeId, AgentId),
        (tree, unfinished): (Tree, Unfinished),
        (goal, news): (Goal, News),
        view: &'a mut View,
    ) -> Self {
        let handled = client_waits(&tree);
        Self {
            runtime,
            prompted: goal.prompt.is_none(),
            id,
            agent,
            tree,
            view,
            news,
            goal,
            idle: None,
            ordered: FuturesUnordered::new(),
            chores: 0,
            interrupted: false,
            talked: false,
            asked: Asked::Waits,
            unfinished,
            handled,
            orphaned: false,
        }
    }

    /// Shows what happens until the goal is reached or somebody says to leave.
    pub(crate) async fn follow(mut self, signals: &mut Signals) -> Result<Ended, Stop> {
        while !self.is_done().await? {
            if let Some(ended) = self.leave_client_calls() {
                return Ok(ended);
            }
            if self.orphaned && self.ordered.is_empty() {
                self.take_up();
            }
            tokio::select! {
                biased;
                signal = signals.next() => match signal {
                    Signal::Terminate | Signal::HangUp => {
                        output::complain(TERMINATED);
                        return Ok(Ended::Terminated);
                    }
                    Signal::Interrupt => if let Some(ended) = self.interrupt()? {
                        return Ok(ended);
                    },
                },
                Some((kind, receipt)) = self.ordered.next() => {
                    if let (Kind::Opening, Ok(Receipt::NoEffect { .. })) = (&kind, &receipt) {
                        return Ok(Ended::Asleep(asleep(&self.tree, &self.id)));
                    }
                    self.answered(kind, receipt)?;
                }
                update = self.news.next() => if let Some(parked) = self.news(update?)? {
                    return Ok(parked);
                },
                input = self.view.input() => if let Some(ended) = self.input(input)? {
                    return Ok(ended);
                },
            }
        }
        self.end()
    }

    /// Leaves a session of ours whose root waits for the result of a client tool, where no client is
    /// waited for and no other agent works. A call of a child would end with this process: the child
    /// reads that no client is here.
    fn leave_client_calls(&mut self) -> Option<Ended> {
        let root = self.id.root().clone();
        let has_client_tools = self
            .tree
            .agent(&root)
            .is_some_and(|root| root.client_tools_set > 0);
        let is_waited_for = self.goal.waits_for_clients || !self.runtime.is_run_here(&self.id);
        if !has_client_tools || is_waited_for {
            return None;
        }
        let mut waits = client_waits(&self.tree);
        waits.retain(|wait| !self.handled.contains(wait));
        if self.tree.open_runs() == 1 && waits.iter().any(|(agent, _)| *agent == root) {
            return Some(Ended::NoClient(asleep(&self.tree, &self.id)));
        }
        waits.retain(|(agent, _)| *agent != root);
        for (agent, call) in waits {
            self.handled.insert((agent.clone(), call.clone()));
            let result = ToolResult::Error(NO_CLIENT.to_owned());
            let answer = Answer::new(call, Verdict::Returned(result));
            self.order(agent, Order::Answer(answer));
        }
        None
    }

    /// Takes what happened; returns why following is over, if it is.
    fn news(&mut self, update: Update) -> Result<Option<Ended>, Stop> {
        match update {
            Update::Entry(entry) => {
                self.take(&entry)?;
                // What another process runs is never told to be idle: its log says so.
                if self.interrupted && matches!(entry.event, Event::Settled { .. }) {
                    self.interrupted = !self.is_idle();
                }
            }
            Update::Delta(delta) => self.view.delta(&delta)?,
            Update::Output(output) => self.view.output(&output)?,
            Update::Activity(agent, activity) => {
                self.view.activity(&self.tree, &agent, &activity);
            }
            Update::Notice(agent, text) => self.view.notice(&self.tree, &agent, &text)?,
            Update::Hooked(agent, hooked) => self.view.hooked(&self.tree, &agent, &hooked)?,
            Update::Idle => {
                self.idle = Some(self.tree.pos());
                self.interrupted = false;
            }
            Update::Orphaned => self.orphaned = true,
            Update::Parked(error) => return Ok(Some(Ended::Parked(error))),
        }
        Ok(None)
    }

    /// Says how it went.
    fn end(self) -> Result<Ended, Stop> {
        let agent = self.tree.agent(&self.agent);
        let settlement = agent.and_then(|agent| agent.settlement());
        let settlement = settlement.map(|settlement| &**settlement);
        if self.goal.prompt.is_none() && !self.view.is_stirred() {
            self.view.quiet(None, &self.unfinished)?;
            // Code 0 would say that the last run did what it was asked. One that the user cancelled
            // was not meant to.
            let code = match settlement.map(|settlement| &settlement.status) {
                None | Some(Status::Completed | Status::Cancelled(_)) => Code::Completed,
                Some(status) => {
                    let how = match status {
                        Status::Lost { why } => format!("is lost: {why}"),
                        status => format!("ended: {}", render::status(status)),
                    };
                    output::note(&format!("the last run of session {} {how}", self.id));
                    Code::of(status)
                }
            };
            output::note(&waiting(&self.tree, &self.id));
            return Ok(Ended::Quiet(code, self.unfinished));
        }
        let ended = agent.and_then(|agent| Some((settlement?, &agent.terms().caps)));
        self.view.quiet(ended, &self.unfinished)?;
        self.view
            .spent(agent.map_or_else(Spent::default, |agent| agent.spent))?;
        // A prompt that was queued behind a turn that failed stays queued: that failure counts.
        let last = settlement.map_or(Code::Completed, |settlement| Code::of(&settlement.status));
        let code = match self.asked {
            // What followed was not what was asked for here.
            Asked::Ended(status) if status != Status::Completed => Code::of(&status),
            Asked::Ended(_) | Asked::Waits | Asked::Runs => last,
        };
        Ok(Ended::Quiet(code, self.unfinished))
    }

    fn take(&mut self, entry: &Entry) -> Result<(), Stop> {
        if self.goal.chat
            && entry.agent == self.agent
            && let Event::Settled { settlement, .. } = &entry.event
            && let Some(agent) = self.tree.agent(&self.agent)
        {
            let ended = Some((settlement, &agent.terms().caps));
            self.view.quiet(ended, &self.unfinished)?;
            self.view.spent(agent.spent)?;
        }
        if !self.goal.chat && entry.agent == self.agent {
            self.take_asked(entry)?;
        }
        self.take_talk(entry);
        self.view.entry(&self.tree, entry)?;
        // Whatever this command set in motion counts, also above the agent that it speaks to.
        self.unfinished.take(self.id.root(), &self.tree, entry);
        self.tree.apply(entry).map_err(|violation| {
            let text = format!("follow session {}: {violation}", self.id);
            StoreError::new(StoreErrorKind::Unusable, text)
        })?;
        if let Event::Prompted(message) = &entry.event {
            self.prompted |= self.goal.prompt.as_ref() == Some(&message.id);
        }
        Ok(())
    }

    /// Notes what becomes of our prompt, and says so when a run goes on after one that did not end
    /// well: somebody stopped what was asked here, and what was queued behind it is answered.
    fn take_asked(&mut self, entry: &Entry) -> Result<(), Stop> {
        match &entry.event {
            Event::TurnStarted { prompt, .. } => match &self.asked {
                Asked::Waits if prompt.is_some() && *prompt == self.goal.prompt => {
                    self.asked = Asked::Runs;
                }
                Asked::Ended(status) if *status != Status::Completed && prompt.is_some() => {
                    let how = render::status(status);
                    let text = format!("{how}; going on with a message that was queued");
                    self.view.remark(&text)?;
                }
                Asked::Waits | Asked::Runs | Asked::Ended(_) => {}
            },
            Event::Settled { settlement, .. } if self.asked == Asked::Runs => {
                self.asked = Asked::Ended(settlement.status.clone());
            }
            Event::Spawned(_)
            | Event::Prompted(_)
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::ClientTools { .. }
            | Event::RoleChosen(_)
            | Event::Hooked(_)
            | Event::Compacted(_)
            | Event::Rewound { .. }
            | Event::Became(_)
            | Event::Completion { .. }
            | Event::Steered { .. }
            | Event::Replied(_)
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::CallFinished { .. }
            | Event::TurnEnded { .. }
            | Event::Settled { .. } => {}
        }
        Ok(())
    }

    /// Tells whether the goal is reached and nothing has followed.
    ///
    /// Entries arrive one by one, and between two that were committed together a tree may look
    /// quiet. The log never shows one of them without the other.
    async fn is_done(&self) -> Result<bool, StoreError> {
        if self.goal.chat {
            return Ok(false);
        }
        let pos = self.tree.pos();
        let quiet = self.idle == Some(pos) || is_quiet(&self.tree, self.runtime.limits());
        if !self.prompted || pos < self.goal.upto || !quiet {
            return Ok(false);
        }
        self.news.is_caught_up().await
    }

    fn order(&mut self, agent: AgentId, order: Order) {
        let command = Command {
            id: CommandId::new(System.new_id()),
            tree: self.id.clone(),
            agent,
            order,
        };
        let kind = match &command.order {
            Order::Summarise | Order::Close | Order::Compact => Kind::Chore,
            Order::Open(_)
            | Order::Fork(_)
            | Order::SetClientTools(_)
            | Order::SetRole(_)
            | Order::Delete(_)
            | Order::Cancel(_)
            | Order::Promote
            | Order::Rewind(_)
            | Order::Spawn(_)
            | Order::Rename(_) => Kind::Brief,
            Order::Prompt(prompt) => Kind::Prompt(prompt.message.clone()),
            Order::Answer(answer) => Kind::Answer(command.agent.clone(), answer.call.clone()),
            Order::Resume => Kind::Opening,
        };
        self.chores += usize::from(kind == Kind::Chore);
        logging::sent(&command);
        let done = self.runtime.command(command);
        self.ordered
            .push(Box::pin(async move { (kind, done.await) }));
    }

    /// Sends what the person typed, with the files that it names.
    fn send(&mut self, message: MessageId, text: String, agent: Option<String>) {
        let root = self.tree.agent(self.id.root());
        let workspace = root.and_then(|root| root.spawned.workspace());
        let most = self.runtime.limits().attachments.part;
        let files = workspace.map(|folder| attach::mentioned(&text, Path::new(folder), most));
        let (runtime, tree, to) = (self.runtime, self.id.clone(), self.agent.clone());
        let kind = Kind::Prompt(message.clone());
        self.ordered.push(Box::pin(async move {
            let files = files.unwrap_or_default();
            let sent = async {
                let prompt = Prompt {
                    message,
                    text: attach::content(runtime, tree.root(), text, files).await?,
                    from: Author::Human,
                    agent,
                    model: None,
                    metadata: None,
                    output_schema: None,
                    delegation: None,
                    immediate: false,
                };
                let command = Command {
                    id: CommandId::new(System.new_id()),
                    tree,
                    agent: to,
                    order: Order::Prompt(prompt),
                };
                logging::sent(&command);
                runtime.command(command).await
            };
            (kind, sent.await)
        }));
    }

    /// Takes over a tree that no process owns, unless an order of ours has done so.
    fn take_up(&mut self) {
        self.orphaned = false;
        if !self.runtime.is_run_here(&self.id) {
            self.order(self.id.root().clone(), Order::Resume);
        }
    }
}

/// Returns the calls that wait for a client, each with its agent.
fn client_waits(tree: &Tree) -> BTreeSet<(AgentId, CallId)> {
    let mut waits = BTreeSet::new();
    for id in tree.walk() {
        let calls = tree.agent(id).map(tree::Agent::open_calls);
        let waiting = calls.unwrap_or_default().into_iter();
        let waiting = waiting.filter(|open| {
            let ask = open.asks.as_ref();
            ask.is_some_and(|ask| ask.waits_for_client)
        });
        waits.extend(waiting.map(|open| (id.clone(), open.call.clone())));
    }
    waits
}

/// Says what a session waits for that nobody here can wake, and how that is answered.
pub(crate) fn asleep(tree: &Tree, id: &TreeId) -> String {
    let root = tree.agent(id.root());
    let asks = root.map(|root| root.open_calls()).unwrap_or_default();
    let asks = asks.iter();
    let root = inbox::handle(id.root());
    let asks = asks.filter_map(|open| Some((&open.call, open.asks.as_ref()?)));
    let asks: Vec<(&CallId, &Ask)> = asks.collect();
    let how = match asks.as_slice() {
        [(call, ask)] => {
            let command = inbox::command(&inbox::name(id.root(), call), ask);
            format!("answer with \"{command}\" (see \"offshoot inbox list\")")
        }
        [] | [_, _, ..] => "\"offshoot inbox list\" says what it asks and how to answer".to_owned(),
    };
    format!(
        "session {id} waits for an answer and nobody is here to give it; {how}, or go on with \
         \"offshoot run --session {root} --wait-for-answers\""
    )
}

/// Says what waits in a tree that is quiet: prompts behind a turn that failed stay queued.
fn waiting(tree: &Tree, id: &TreeId) -> String {
    let agents = tree.walk().into_iter().filter_map(|id| tree.agent(id));
    let (what, them) = match agents.map(|agent| agent.queue.len()).sum() {
        0 => return format!("nothing is waiting in session {id}; send a prompt to go on"),
        1 => ("1 prompt is".to_owned(), "it"),
        many => (format!("{many} prompts are"), "them"),
    };
    format!(
        "{what} queued in session {id} behind a turn that failed; send a prompt to go on with {them}"
    )
}

#[cfg(test)]
mod tests {
    use offshoot_types::event::{Origin, Profile, Spawned};
    use offshoot_types::id::{Seq, Timestamp};
    use offshoot_types::message::UserMessage;
    use offshoot_types::permission::Layer;

    use super::*;

    /// A tree whose root has so many prompts that no turn has taken.
    fn queued(prompts: u64) -> Tree {
        let spawned = Event::Spawned(Box::new(Spawned {
            definition: "build".to_owned(),
            origin: Origin::Session {
                workspace: "/w".to_owned(),
                date: "2026-11-15".to_owned(),
                project: None,
                copy: None,
            },
            depth: 0,
            model: "offline".to_owned(),
            layer: Layer::default(),
            inspectable: false,
            terms: offshoot_types::terms::Terms::default(),
            profile: Profile::default(),
            metadata: None,
        }));
        let prompt = |number: u64| {
            Event::Prompted(UserMessage {
                id: MessageId::new(format!("m{number}")),
                text: "more".into(),
                from: Author::Human,
                agent: None,
                model: None,
                metadata: None,
                output_schema: None,
                delegation: None,
                immediate: false,
            })
        };
        let mut tree = Tree::default();
        for place in 1..=prompts + 1 {
            let event = if place == 1 {
                spawned.clone()
            } else {
                prompt(place)
            };
            tree.apply(&Entry {
                tree: TreeId::of(AgentId::new("s")),
                pos: Pos::new(place),
                agent: AgentId::new("s"),
                seq: Seq::new(place),
                at: Timestamp::new(0),
                event,
            })
            .unwrap();
        }
        tree
    }

    #[test]
    fn prompts_that_are_queued_are_not_said_to_be_nothing() {
        let said = |prompts| waiting(&queued(prompts), &TreeId::of(AgentId::new("s")));
        let expected = "nothing is waiting in session s; send a prompt to go on";
        assert_eq!(said(0), expected);
        let expected = "1 prompt is queued in session s behind a turn that failed; send a prompt \
                        to go on with it";
        assert_eq!(said(1), expected);
        let expected = "2 prompts are queued in session s behind a turn that failed; send a \
                        prompt to go on with them";
        assert_eq!(said(2), expected);
    }
}

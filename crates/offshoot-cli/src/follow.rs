//! Follows a tree until it is quiet.
//!
//! The library's `flow` tells what happens, also in a tree that another process runs, and takes over a tree
//! whose process died. Here the tree is folded and shown, and "quiet" is judged from the fold alone (R19).
//! Starts nothing but what was asked for, and what a signal asks for.

mod person;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use offshoot::flow::{Client, Follower, News, Orphan, Progress, SentPrompt};
use offshoot_engine::{CommandError, Runtime, Update, is_quiet};
use offshoot_types::client_tool::ToolResult;
use offshoot_types::command::{Answer, Order, Prompt, Receipt, Verdict};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, MessageId, Pos, TreeId};
use offshoot_types::message::Author;
use offshoot_types::settlement::Status;
use offshoot_types::store::{StoreError, StoreErrorKind};
use offshoot_types::tree::{self, Ask, Spent, Tree, Unfinished};

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
    /// This prompt is in the log.
    pub(crate) prompt: Option<MessageId>,
    /// Whether it goes on until the person leaves.
    pub(crate) chat: bool,
    /// Whether calls of client tools are waited for.
    pub(crate) waits_for_clients: bool,
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

type Answered = (Kind, Result<Receipt, CommandError>);

/// What an order of ours is, for the person who waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// It is done at once.
    Brief,
    /// A message is sent.
    Prompt(MessageId),
    /// A summary is written, and no turn begins meanwhile.
    Chore,
    /// The person answers a call, and may not be the only one.
    Answer(AgentId, CallId),
}

/// A tree that is followed.
pub(crate) struct FollowedTree<'a> {
    client: Client,
    runtime: Arc<Runtime>,
    id: TreeId,
    agent: AgentId,
    tree: Tree,
    view: &'a mut View,
    follower: Follower,
    goal: Goal,
    /// Where the engine, if it is ours, said that the tree is quiet.
    idle: Option<Pos>,
    /// Commands of our own that are on their way.
    ordered: FuturesUnordered<BoxFuture<'static, Answered>>,
    /// How many of them no turn may begin beside.
    chores: usize,
    interrupted: bool,
    /// Whether something was answered since that nobody has summed up.
    talked: bool,
    /// The prompt that this command has sent, if it has.
    sent: Option<SentPrompt>,
    /// What agents left undone: in the run that goes on here, and in those that begin here.
    unfinished: Unfinished,
    /// Calls of client tools that need nothing more here: children read that no client is here, and a
    /// call that waited before is taken up only with its result.
    handled: BTreeSet<(AgentId, CallId)>,
}

impl<'a> FollowedTree<'a> {
    /// Follows a tree from where `tree` is.
    pub(crate) fn new(
        (client, runtime): (Client, Arc<Runtime>),
        (id, agent): (TreeId, AgentId),
        (tree, unfinished): (Tree, Unfinished),
        (goal, follower): (Goal, Follower),
        view: &'a mut View,
    ) -> Self {
        let handled = client_waits(&tree);
        Self {
            client,
            runtime,
            sent: goal.prompt.clone().map(SentPrompt::new),
            id,
            agent,
            tree,
            view,
            follower,
            goal,
            idle: None,
            ordered: FuturesUnordered::new(),
            chores: 0,
            interrupted: false,
            talked: false,
            unfinished,
            handled,
        }
    }

    /// Shows what happens until the goal is reached or somebody says to leave.
    pub(crate) async fn follow(mut self, signals: &mut Signals) -> Result<Ended, Stop> {
        while !self.is_done().await? {
            if let Some(ended) = self.leave_client_calls() {
                return Ok(ended);
            }
            // An order of ours takes the tree over itself.
            let orphan = if self.ordered.is_empty() {
                Orphan::TakeUp
            } else {
                Orphan::Leave
            };
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
                Some((kind, receipt)) = self.ordered.next() => self.answered(kind, receipt)?,
                news = self.follower.next(orphan) => match news? {
                    News::Asleep => return Ok(Ended::Asleep(asleep(&self.tree, &self.id))),
                    News::Update(update) => if let Some(parked) = self.update(update)? {
                        return Ok(parked);
                    },
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
    fn update(&mut self, update: Update) -> Result<Option<Ended>, Stop> {
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
            // The follower acts on it.
            Update::Orphaned => {}
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
        let code = match self.answered_with() {
            // What followed was not what was asked for here.
            Some(status) if *status != Status::Completed => Code::of(status),
            Some(_) | None => last,
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
            self.take_sent(&entry.event)?;
        }
        self.take_talk(entry);
        self.view.entry(&self.tree, entry)?;
        // Whatever this command set in motion counts, also above the agent that it speaks to.
        self.unfinished.take(self.id.root(), &self.tree, entry);
        self.tree.apply(entry).map_err(|violation| {
            let text = format!("follow session {}: {violation}", self.id);
            StoreError::new(StoreErrorKind::Unusable, text)
        })?;
        Ok(())
    }

    /// Notes what becomes of our prompt, and says so when a run goes on after one that did not end
    /// well: another client stopped what was asked here, and what was queued behind it is answered.
    fn take_sent(&mut self, event: &Event) -> Result<(), Stop> {
        if let Event::TurnStarted {
            prompt: Some(_), ..
        } = event
            && let Some(status) = self.answered_with()
            && *status != Status::Completed
        {
            let how = render::status(status);
            let text = format!("{how}; going on with a message that was queued");
            self.view.remark(&text)?;
        }
        if let Some(sent) = &mut self.sent {
            sent.take(event);
        }
        Ok(())
    }

    /// Returns how the run ended that answered our prompt, if it has.
    fn answered_with(&self) -> Option<&Status> {
        match self.sent.as_ref()?.progress() {
            Progress::Answered(settlement) => Some(&settlement.status),
            _ => None,
        }
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
        let is_sent = self.sent.as_ref().is_none_or(SentPrompt::is_stored);
        if !is_sent || pos < self.goal.upto || !quiet {
            return Ok(false);
        }
        self.follower.is_caught_up().await
    }

    fn order(&mut self, agent: AgentId, order: Order) {
        let command = self.client.command(&self.id, &agent, order);
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
            | Order::Resume
            | Order::Rename(_) => Kind::Brief,
            Order::Prompt(prompt) => Kind::Prompt(prompt.message.clone()),
            Order::Answer(answer) => Kind::Answer(command.agent.clone(), answer.call.clone()),
        };
        self.chores += usize::from(kind == Kind::Chore);
        logging::sent(&command);
        let client = self.client.clone();
        self.ordered.push(Box::pin(
            async move { (kind, client.carry_out(command).await) },
        ));
    }

    /// Sends what the person typed, with the files that it names.
    fn send(&mut self, message: MessageId, text: String, agent: Option<String>) {
        let root = self.tree.agent(self.id.root());
        let workspace = root.and_then(|root| root.spawned.workspace());
        let most = self.runtime.limits().attachments.part;
        let files = workspace.map(|folder| attach::mentioned(&text, Path::new(folder), most));
        let (client, runtime) = (self.client.clone(), self.runtime.clone());
        let (tree, to) = (self.id.clone(), self.agent.clone());
        let kind = Kind::Prompt(message.clone());
        self.ordered.push(Box::pin(async move {
            let files = files.unwrap_or_default();
            let sent = async {
                let prompt = Prompt {
                    message,
                    text: attach::content(&runtime, tree.root(), text, files).await?,
                    from: Author::Human,
                    agent,
                    model: None,
                    metadata: None,
                    output_schema: None,
                    delegation: None,
                    immediate: false,
                };
                let command = client.command(&tree, &to, Order::Prompt(prompt));
                logging::sent(&command);
                client.carry_out(command).await
            };
            (kind, sent.await)
        }));
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

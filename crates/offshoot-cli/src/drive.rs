//! One inquiry: a command to a session, and everything until it is answered.
//!
//! Shared by all that ask an agent something. Sends the command, follows the tree
//! until it is quiet, and leaves in good order. Finding the session and its models
//! comes before this.

use std::fmt;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use offshoot::flow::Client;
use offshoot_engine::{Ending, Runtime, Update, query};
use offshoot_types::command::{Order, Prompt, Receipt};
use offshoot_types::content::Content;
use offshoot_types::env::Env;
use offshoot_types::event::Entry;
use offshoot_types::event::{Event, Purpose};
use offshoot_types::id::{AgentId, MessageId, Pos, TreeId};
use offshoot_types::settlement::Status;
use offshoot_types::store::{StoreError, StoreErrorKind};
use offshoot_types::tree::{self, Tree, Unfinished};

use crate::attach::{self, Attachment};
use crate::env::System;
use crate::exit::{Code, Stop};
use crate::follow::{Ended, FollowedTree, Goal, TERMINATED, asleep};
use crate::lookup::{self, Exchange, Session};
use crate::signals::{Signal, Signals};
use crate::view::View;
use crate::{logging, output, render};

/// How long closing a session may take. The runtime gives up on the summary sooner.
const PATIENCE: Duration = Duration::from_secs(6);

/// How long it may take before a line says so.
const GLIMPSE: Duration = Duration::from_millis(300);

/// How long a title in flight is waited for, at a terminal.
const TITLE: Duration = Duration::from_secs(2);

/// How long hooks at the end may take before it is said what is waited for.
const MOMENT: Duration = Duration::from_secs(1);

/// What is to be asked, and of whom.
pub(crate) struct Inquiry {
    /// How the conversation ended that goes on now, where that is to be shown.
    pub(crate) last: Option<Exchange>,
    /// The session, as it was before.
    pub(crate) session: Session,
    pub(crate) agent: AgentId,
    /// The words; without any, the session goes on with what it has.
    pub(crate) prompt: Option<String>,
    /// The files that go with them.
    pub(crate) attachments: Vec<Attachment>,
    /// The agent that takes over with them.
    pub(crate) swap: Option<String>,
    /// What to do when another process runs the session.
    pub(crate) elsewhere: Elsewhere,
    /// How long it goes on.
    pub(crate) talk: Talk,
    /// Whether calls of client tools are waited for.
    pub(crate) waits_for_clients: bool,
    /// The hooks that are told when the session is let go, by name.
    pub(crate) ends: Vec<String>,
}

/// How long an inquiry goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Talk {
    /// Until what was asked is answered.
    Once,
    /// Until the person leaves.
    Chat,
    /// Until the person leaves; then it is written down what was talked about.
    SummedUp,
}

/// What to do when another process runs the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// Follow it there.
    Follow,
    /// Follow it there, and say that a yes given here does not count.
    FollowDespiteYes,
    /// Leave the message with it.
    Leave,
}

/// Runs an inquiry to its end, then leaves in good order.
pub(crate) async fn drive(
    runtime: Runtime,
    inquiry: Inquiry,
    mut view: View,
    signals: &mut Signals,
) -> Result<Code, Stop> {
    let id = inquiry.session.id.clone();
    let sums_up = inquiry.talk == Talk::SummedUp;
    let ends = inquiry.ends.clone();
    let client = Client::new(runtime, Arc::new(System));
    let runtime = client.engine()?;
    let ended = Box::pin(ask(&client, &runtime, inquiry, &mut view, signals)).await;
    // Whatever happened, the terminal is given back before anything else is said.
    if let Err(error) = view.close() {
        // It may be the terminal that has gone; what runs is stopped in good order all the same.
        tracing::warn!(%error, "give the terminal back");
    }
    drop(view);
    if let Ok(Ended::AtOnce) = ended {
        // As a crash would: what is left is recovered by whoever comes next.
        return Ok(Code::Interrupted);
    }
    let skipped = match &ended {
        Ok(Ended::Talked) if sums_up => close(&client, &id, signals).await,
        Ok(_) | Err(_) => false,
    };
    // A script that reads stdout does not wait for a name.
    let at_terminal = std::io::stdout().is_terminal();
    if at_terminal && !skipped && matches!(ended, Ok(Ended::Quiet(..) | Ended::Talked)) {
        await_title(&runtime, &id, signals).await;
    }
    let ending = match &ended {
        _ if skipped => Ending::Now,
        // Somebody may have sent something while we were at the door: it is done first.
        Ok(Ended::Quiet(..) | Ended::Talked | Ended::Asleep(_)) => Ending::WhenQuiet,
        Ok(Ended::NoClient(_) | Ended::Parked(_) | Ended::AtOnce | Ended::Terminated) | Err(_) => {
            Ending::Now
        }
    };
    let left = leave(client.shutdown(ending), signals);
    tell_ends((&runtime, &id), &ends, left).await;
    Ok(match ended? {
        Ended::Quiet(code, unfinished) => code.with(&unfinished, &id),
        Ended::Talked => Code::Completed,
        Ended::Asleep(why) | Ended::NoClient(why) => {
            output::note(&why);
            Code::Partial
        }
        Ended::Parked(error) => {
            output::complain(&error.message);
            // Of a file that cannot be used nothing is promised.
            if error.kind != StoreErrorKind::Unusable {
                output::complain(&format!(
                    "session {id} is kept as far as it got; when that is put right, go on with: \
                     offshoot run --session {id} PROMPT"
                ));
            }
            Code::Failed
        }
        Ended::AtOnce | Ended::Terminated => Code::Interrupted,
    })
}

/// Closes the session, which writes down what was talked about; returns whether the user skipped it.
async fn close(client: &Client, id: &TreeId, signals: &mut Signals) -> bool {
    let command = client.command(id, id.root(), Order::Close);
    logging::sent(&command);
    let mut closed = std::pin::pin!(tokio::time::timeout(PATIENCE, client.carry_out(command)));
    let mut told = std::pin::pin!(tokio::time::sleep(GLIMPSE));
    let mut silent = true;
    loop {
        tokio::select! {
            biased;
            _ = signals.next() => return true,
            closed = &mut closed => {
                tracing::debug!(?closed, "closed");
                return false;
            }
            () = &mut told, if silent => {
                silent = false;
                output::note("writing a summary of the session; Ctrl-C skips it");
            }
        }
    }
}

/// Gives a title that is being made two seconds (SA-45).
async fn await_title(runtime: &Runtime, id: &TreeId, signals: &mut Signals) {
    let Ok(tree) = runtime.query(query::SessionTree(id.clone())).await else {
        return;
    };
    let is_title = |helper: &&AgentId| {
        let helper = tree.agent(helper).and_then(|agent| agent.spawned.helper());
        helper.is_some_and(|helper| helper.purpose == Purpose::Title)
    };
    let Some(title) = tree.open_helpers().find(is_title).cloned() else {
        return;
    };
    let mut updates = runtime.subscribe(id, tree.pos()).await.news_only();
    let named = async {
        while let Ok(update) = updates.next().await {
            let Update::Entry(entry) = update else {
                continue;
            };
            match &entry.event {
                Event::Titled { .. } => return,
                Event::Settled { settlement, .. }
                    if entry.agent == title && settlement.status != Status::Completed =>
                {
                    return;
                }
                _ => {}
            }
        }
    };
    tokio::select! {
        biased;
        _ = signals.next() => {}
        named = tokio::time::timeout(TITLE, named) => tracing::debug!(?named, "title"),
    }
}

/// Waits until the session is let go; says after a moment what that may wait for.
async fn tell_ends(
    (runtime, id): (&Runtime, &TreeId),
    ends: &[String],
    left: impl Future<Output = ()>,
) {
    let mut left = std::pin::pin!(left);
    let mut told = None;
    while tokio::time::timeout(MOMENT, &mut left).await.is_err() {
        let tree = tokio::select! {
            biased;
            () = &mut left => return,
            tree = runtime.query(query::SessionTree(id.clone())) => tree,
        };
        let Ok(tree) = tree else {
            return left.await;
        };
        let awaited = Awaited::of(&tree, ends);
        if let Some(awaited) = awaited.filter(|awaited| told != Some(awaited.kind())) {
            told = Some(awaited.kind());
            let line = format!("waiting for {awaited}; Ctrl-C leaves at once");
            output::note(&render::harmless(&line));
        }
    }
}

/// What a session is waiting for that is about to be let go.
enum Awaited<'a> {
    /// Agents that still work.
    Agents(usize),
    /// Hooks that hear of the ends of agents.
    Stops(usize),
    /// Hooks that hear of the end of the session, by name.
    End(&'a [String]),
}

impl<'a> Awaited<'a> {
    /// Returns what a session is waiting for, if that is known. Hooks are told once nobody works.
    fn of(tree: &Tree, ends: &'a [String]) -> Option<Self> {
        let is_untold = |id: &&AgentId| tree.agent(id).is_some_and(|it| it.untold().is_some());
        let untold = tree.walk().into_iter().filter(is_untold).count();
        match (tree.open_runs(), untold, ends) {
            (0, 0, []) => None,
            (0, 0, ends) => Some(Self::End(ends)),
            (0, untold, _) => Some(Self::Stops(untold)),
            (runs, ..) => Some(Self::Agents(runs)),
        }
    }

    fn kind(&self) -> std::mem::Discriminant<Self> {
        std::mem::discriminant(self)
    }
}

impl fmt::Display for Awaited<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agents(1) => f.write_str("an agent that still works"),
            Self::Agents(many) => write!(f, "{many} agents that still work"),
            Self::Stops(1) => f.write_str("hooks at the end of an agent"),
            Self::Stops(many) => write!(f, "hooks at the ends of {many} agents"),
            Self::End([one]) => write!(f, "hook {one} at the end of the session"),
            Self::End(many) => write!(f, "hooks {} at the end of the session", many.join(", ")),
        }
    }
}

/// Waits for a shutdown in good order, or leaves at once at a signal. A terminal that is gone sends no more.
pub(crate) async fn leave(shutdown: impl Future<Output = ()>, signals: &mut Signals) {
    let at_once = async { while signals.next().await == Signal::HangUp {} };
    tokio::select! {
        biased;
        () = shutdown => {}
        () = at_once => {}
    }
}

async fn ask(
    client: &Client,
    runtime: &Arc<Runtime>,
    inquiry: Inquiry,
    view: &mut View,
    signals: &mut Signals,
) -> Result<Ended, Stop> {
    let Inquiry {
        last,
        session: Session { id, log, tree },
        agent,
        prompt,
        attachments,
        swap,
        elsewhere,
        talk,
        waits_for_clients,
        ends: _,
    } = inquiry;
    view.before(&log);
    let unfinished = unfinished_so_far((&id, &agent), &tree, &log, prompt.is_some())?;
    drop(log);
    let message = prompt.is_some().then(|| MessageId::new(System.new_id()));
    let prompt = match prompt {
        Some(text) => Some(attach::content(runtime, id.root(), text, attachments).await?),
        None => None,
    };
    let command = client.command(&id, &agent, order((prompt, swap), message.clone()));
    let follower = client.follow(&id, tree.pos()).await?;
    let mut follower = if view.watches() {
        follower
    } else {
        follower.news_only()
    };
    logging::sent(&command);
    let receipt = tokio::select! {
        biased;
        receipt = follower.hear(Box::pin(client.carry_out(command))) => receipt??,
        signal = signals.next() => {
            output::complain(match signal {
                Signal::Interrupt => "interrupted; leaving",
                Signal::Terminate | Signal::HangUp => TERMINATED,
            });
            return Ok(Ended::Terminated);
        }
    };
    if let (Some(_), Receipt::NoEffect { why }) = (&message, &receipt) {
        // Nobody took it, so there is nothing to follow.
        return Err(Stop::usage(why.clone()));
    }
    if let Some(last) = &last {
        view.recall(last)?;
    }
    let is_ours = runtime.is_run_here(&id);
    // If another process owned the session, `Queued` would only mean that it has not answered yet.
    let sleeps =
        matches!(receipt, Receipt::NoEffect { .. }) || (receipt == Receipt::Queued && is_ours);
    if sleeps {
        let why = asleep(&tree, &id);
        return Ok(Ended::Asleep(match message {
            Some(_) => format!("the message is queued: {why}"),
            None => why,
        }));
    }
    if !is_ours {
        // Skip answers to earlier prompts: the other process prints those. In a session of ours nobody
        // else would.
        if let Some(message) = &message {
            view.answers_to(message);
        }
        let here = format!("session {id} is run by another process");
        let left = if receipt == Receipt::Queued {
            "the message is queued there"
        } else {
            "the message was delivered there"
        };
        if elsewhere == Elsewhere::Leave {
            view.aside(&format!("{here}; {left}"))?;
            return Ok(Ended::Quiet(Code::Completed, Unfinished::default()));
        }
        view.aside(&format!("{here}; following it there"))?;
        if elsewhere == Elsewhere::FollowDespiteYes {
            view.aside("--yes has no effect there: what agents ask is put to whoever is there")?;
        }
    }
    let upto = last_pos(runtime, &id, tree.pos()).await?;
    let goal = Goal {
        upto,
        prompt: message,
        chat: talk != Talk::Once,
        waits_for_clients,
    };
    let runs_in = (client.clone(), runtime.clone());
    let followed = FollowedTree::new(
        runs_in,
        (id, agent),
        (tree, unfinished),
        (goal, follower),
        view,
    );
    followed.follow(signals).await
}

/// Returns what a run left undone before we came: one that goes on here, or, without a prompt, the last.
fn unfinished_so_far(
    (id, agent): (&TreeId, &AgentId),
    tree: &Tree,
    log: &[Entry],
    has_prompt: bool,
) -> Result<Unfinished, StoreError> {
    let open = tree.agent(agent).and_then(tree::Agent::open_run);
    match (open, has_prompt) {
        (None, true) => Ok(Unfinished::default()),
        (Some(_), _) | (None, false) => lookup::unfinished(id, agent, log),
    }
}

/// Returns the order that asks something, or has the session go on with what it has.
fn order((prompt, swap): (Option<Content>, Option<String>), message: Option<MessageId>) -> Order {
    match (prompt, message) {
        (Some(text), Some(message)) => Order::Prompt(Prompt {
            message,
            text,
            from: offshoot_types::message::Author::Human,
            agent: swap,
            model: None,
            metadata: None,
            output_schema: None,
            delegation: None,
            immediate: false,
        }),
        (Some(_) | None, _) => Order::Resume,
    }
}

/// Returns the place of the last entry of a tree.
async fn last_pos(runtime: &Runtime, tree: &TreeId, known: Pos) -> Result<Pos, StoreError> {
    let news = runtime
        .query(query::Log::after(tree.clone(), known))
        .await?;
    Ok(news.last().map_or(known, |entry| entry.pos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r29_hooks_at_the_end_are_not_blamed_for_agents_that_still_work() {
        let ends = ["log".to_owned(), "tidy".to_owned()];
        for (awaited, expected) in [
            (
                Awaited::End(&ends[..1]),
                "hook log at the end of the session",
            ),
            (
                Awaited::End(&ends),
                "hooks log, tidy at the end of the session",
            ),
            (Awaited::Stops(1), "hooks at the end of an agent"),
            (Awaited::Stops(3), "hooks at the ends of 3 agents"),
            (Awaited::Agents(1), "an agent that still works"),
            (Awaited::Agents(2), "2 agents that still work"),
        ] {
            assert_eq!(awaited.to_string(), expected);
        }
        assert!(Awaited::of(&Tree::default(), &[]).is_none());
        let end = Awaited::of(&Tree::default(), &ends);
        assert!(matches!(end, Some(Awaited::End(_))));
    }
}

//! Orders about a conversation as a whole: a name, a summary, a shorter form of it.
//!
//! A name is written down at once. The others need the conversation at rest: they
//! are carried out between turns, one after the other, by agents of the runtime's
//! own; the mailbox is looked after meanwhile, and no turn begins.

use std::time::Duration;

use futures_util::StreamExt;
use offshoot_types::client_tool::ClientTool;
use offshoot_types::command::{Order, Receipt, Rename};
use offshoot_types::event::{Event, RoleChoice};
use offshoot_types::message::title;
use offshoot_types::store::StoreError;
use offshoot_types::tier::Tier;
use offshoot_types::transcript::Transcript;
use tokio_util::sync::CancellationToken;

use super::{Actor, Agent, nothing};
use crate::compact::{Shortened, Wanted};
use crate::helper::Helped;
use crate::log::Batch;
use crate::node::Ordered;
use crate::turn;
use crate::turn::Arrived;
use crate::update::Activity;

/// How long the summary of a session that is closed may take.
const CLOSING: Duration = Duration::from_secs(5);

/// Why a conversation was not shortened that has nothing in it but a summary, or nothing at all.
pub const NOTHING_TO_SHORTEN: &str = "there is nothing to shorten";

impl Actor {
    /// Gives the session a name; what a person has said stays.
    pub(super) fn rename(&mut self, order: Ordered, rename: Rename) {
        let named = {
            let state = self.agent.board.state();
            let agent = state.tree.agent(&self.agent.id);
            agent.and_then(|agent| agent.title.clone())
        };
        self.named |= named.is_some_and(|(_, by)| by.is_human());
        if self.named && !rename.by.is_human() {
            let why = nothing("a person has named it");
            return self.record(order, Batch::default(), why);
        }
        self.named |= rename.by.is_human();
        let event = Event::Titled {
            title: title(&rename.title),
            by: rename.by,
        };
        self.record(order, Batch::from(vec![event]), Receipt::Renamed);
    }

    /// Replaces the tools that clients of the session carry out. A turn that runs keeps what it has,
    /// and a call that waits goes on waiting.
    pub(super) fn set_client_tools(&mut self, order: Ordered, tools: Vec<ClientTool>) {
        let event = Event::ClientTools { tools };
        self.record(order, Batch::from(vec![event]), Receipt::ClientToolsSet);
    }

    /// Notes what the root is to be from its next turn on; a turn that runs stays as it is.
    pub(super) fn set_role(&mut self, order: Ordered, choice: RoleChoice) {
        let agent = self.agent.as_it_is_now();
        match agent.objection_to(&choice) {
            Some(why) => self.record(order, Batch::default(), nothing(&why)),
            None => {
                let event = Event::RoleChosen(choice);
                self.record(order, Batch::from(vec![event]), Receipt::RoleSet);
            }
        }
    }

    /// Tells whether no turn is open, and no run is being stopped.
    pub(super) fn is_at_rest(&self) -> bool {
        let state = self.agent.board.state();
        let agent = state.tree.agent(&self.agent.id);
        let turn = agent.is_some_and(|agent| agent.turn.is_some());
        drop(state);
        let stopping = self.agent.open_run().is_some() && self.agent.is_stopped();
        !turn && !stopping
    }

    /// Carries out an order that needs the conversation at rest, and the mailbox beside it.
    pub(super) async fn carry_out(&mut self, order: Ordered) -> Result<(), StoreError> {
        self.agent.board.refresh_kit().await;
        self.agent = self.agent.as_it_is_now();
        // Between runs nobody but whoever asked can stop it.
        let cancel = match self.agent.open_run() {
            Some(_) => self.agent.token().child_token(),
            None => CancellationToken::new(),
        };
        self.stop_chore = Some(cancel.clone());
        let transcript = std::mem::take(&mut self.transcript);
        let agent = self.agent.clone();
        let arrived = Arrived::default();
        let done = {
            let mut chore = Box::pin(chore(&agent, &order.command.order, &transcript, &cancel));
            loop {
                tokio::select! {
                    biased;
                    Some(order) = self.inputs.recv() => self.take(order),
                    Some(entries) = self.appends.next() => arrived.add(entries?),
                    done = &mut chore => break done?,
                }
            }
        };
        self.stop_chore = None;
        if self.agent.open_run().is_none() {
            self.agent.set_activity(Activity::Resting);
        }
        self.transcript = transcript;
        turn::follow(&mut self.transcript, arrived.take())?;
        let (batch, receipt) = done;
        self.record(order, batch, receipt);
        Ok(())
    }
}

/// Does what an order wants of a conversation at rest; returns what is left to write, and the answer.
async fn chore(
    agent: &Agent,
    order: &Order,
    transcript: &Transcript,
    cancel: &CancellationToken,
) -> Result<(Batch, Receipt), StoreError> {
    let failed = |why: &str| Ok((Batch::default(), nothing(why)));
    if matches!(order, Order::Summarise) {
        return Ok(summarised(agent.sum_up(transcript, cancel).await?));
    }
    if matches!(order, Order::Close) {
        return close(agent, transcript, cancel).await;
    }
    let prefix = match agent.prefix() {
        Ok(prefix) => prefix,
        Err(error) => return failed(&error.message),
    };
    let shortened = agent.shorten(&prefix, transcript, Wanted::OnRequest, cancel);
    match shortened.await? {
        Shortened::Done(compaction) => {
            let summary_tokens = compaction.summary_tokens;
            let batch = Batch::from(vec![Event::Compacted(compaction)]);
            Ok((batch, Receipt::Compacted { summary_tokens }))
        }
        Shortened::Nothing => failed(NOTHING_TO_SHORTEN),
        Shortened::Left(why) | Shortened::Hopeless(why) => failed(&why),
        Shortened::Cancelled => failed("it was stopped"),
    }
}

/// Writes the summary of a session that is closed (SA-45), if it has none of what happened last.
async fn close(
    agent: &Agent,
    transcript: &Transcript,
    cancel: &CancellationToken,
) -> Result<(Batch, Receipt), StoreError> {
    let failed = |why: &str| Ok((Batch::default(), nothing(why)));
    if agent.kit.helpers.models.tier(Tier::Small).is_none() {
        return failed("there is no model of the tier small, and no other is asked for a summary");
    }
    let log = agent.parts.store.agent_log(&agent.id).await?;
    let since = log.iter().rev().map(|entry| &entry.event);
    let mut since = since.take_while(|event| !matches!(event, Event::Summarised { .. }));
    if !since.any(|event| matches!(event, Event::Prompted(_) | Event::Replied(_))) {
        return failed("nothing has happened since the last summary");
    }
    let stop = cancel.child_token();
    let mut helped = Box::pin(agent.sum_up(transcript, &stop));
    let helped = tokio::select! {
        biased;
        helped = &mut helped => helped?,
        () = tokio::time::sleep(CLOSING) => {
            stop.cancel();
            helped.await?
        }
    };
    if stop.is_cancelled() && helped.text().is_err() {
        return failed("the summary took too long; have one written with: sessions summary");
    }
    Ok(summarised(helped))
}

/// Returns what is written of a summary, and the answer.
fn summarised(helped: Helped) -> (Batch, Receipt) {
    match helped.text() {
        Err(why) => (Batch::default(), nothing(&why)),
        Ok(text) => {
            let summary = text.to_owned();
            let event = Event::Summarised {
                summary: summary.clone(),
            };
            (Batch::from(vec![event]), Receipt::Summarised { summary })
        }
    }
}

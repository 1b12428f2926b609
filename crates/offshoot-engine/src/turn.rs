//! The turn: one loop that runs every agent, root or child.
//!
//! Ask the model, append what it said together with everything that is decided
//! at once, run the calls, and again, until it has no more calls. The turn owns
//! the transcript while it runs and hands it back. It ends with `TurnEnded` in
//! the log, whatever happened, unless the log itself failed: then it stops where
//! it is and recovery does the rest.

use std::sync::Arc;

use offshoot_types::event::{Entry, Event, TurnEnd};
use offshoot_types::id::RunNo;
use offshoot_types::message::{AssistantMessage, AssistantPart, StopReason};
use offshoot_types::model::{Asker, ModelError, ModelErrorKind, ToolChoice};
use offshoot_types::settlement::{CancelledBy, Cap, FailureKind, Settlement};
use offshoot_types::store::{StoreError, StoreErrorKind};
use offshoot_types::transcript::Transcript;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::context::{self, Prefix};
use crate::log::Batch;
use crate::node::Node;
use crate::reply::{self, Reply};
use crate::scheduler::Plan;
use crate::settle;
use crate::slots::Rank;

/// A turn that is over but for saying so in the log.
pub(crate) struct Over {
    transcript: Transcript,
    /// What the model said last, and is not in the log yet.
    said: Option<AssistantMessage>,
    how: TurnEnd,
}

/// Runs the open turn of an agent to its end.
pub(crate) async fn run(
    agent: Arc<Agent>,
    mut transcript: Transcript,
    cancel: CancellationToken,
) -> Result<Over, StoreError> {
    let over = |transcript, said, how| {
        Ok(Over {
            transcript,
            said,
            how,
        })
    };
    let prefix = match agent.prefix() {
        Ok(prefix) => prefix,
        Err(error) => return over(transcript, None, failed(error)),
    };
    let mut rank = Rank::Admitting;
    loop {
        let (step, last) = agent.step(&prefix);
        let choice = if last {
            ToolChoice::None
        } else {
            ToolChoice::Auto
        };
        let Some(ready) = transcript.ready() else {
            return Err(broken("a step with an open call"));
        };
        let request = context::request(&prefix, ready, agent.asker(step), choice);

        let message = match reply::ask(&agent, &prefix, request, &transcript, rank, &cancel).await {
            Reply::Whole(message) => message,
            Reply::Cancelled(said) => return over(transcript, Some(said), agent.aborted()),
            Reply::Failed(said, error) => return over(transcript, Some(said), failed(error)),
        };
        if last || message.calls().next().is_none() {
            let how = if last {
                TurnEnd::HandedBack(Cap::Steps)
            } else {
                TurnEnd::Finished
            };
            return over(transcript, Some(message), how);
        }

        let mut batch = Batch::default();
        batch.own(Event::Replied(message.clone()));
        let plan = Plan::judge(&agent, &prefix, &message, &agent.processed(), &mut batch);
        follow(&mut transcript, agent.log.append(batch).await?)?;
        follow(&mut transcript, plan.run(&agent, &cancel).await?)?;

        if cancel.is_cancelled() {
            return over(transcript, None, agent.aborted());
        }
        rank = Rank::Resuming;
    }
}

/// Says that a turn is over, and its run with it where nothing is left to wait for: one commit (R15).
///
/// The actor takes nothing up meanwhile: a settlement may be refused, and then nothing may have
/// been sent behind it.
pub(crate) async fn end(agent: &Agent, over: Over) -> Result<Transcript, StoreError> {
    let Over {
        mut transcript,
        said,
        how,
    } = over;
    let mut events = Vec::new();
    if let Some(mut message) = said
        && (!message.is_empty() || message.stop != StopReason::Cut)
    {
        // Calls of a hand-back step are not run: they were not choosable.
        message
            .parts
            .retain(|part| !matches!(part, AssistantPart::Call(_)));
        events.push(Event::Replied(message));
    }
    events.push(Event::TurnEnded {
        turn: agent.turn(),
        end: how,
    });
    if let Some((run, mut settlement)) = agent.settles_after(&events) {
        agent.end_leftovers().await;
        agent.keep_answer(&mut settlement).await;
        let mut with_settlement = events.clone();
        with_settlement.push(Event::Settled { run, settlement });
        match agent.log.append(with_settlement).await {
            Ok(entries) => {
                follow(&mut transcript, entries)?;
                return Ok(transcript);
            }
            // A child run was opened meanwhile (R18): the turn ends, the run goes on.
            Err(error) if error.kind == StoreErrorKind::Refused => {}
            Err(error) => return Err(error),
        }
    }
    follow(&mut transcript, agent.log.append(events).await?)?;
    Ok(transcript)
}

/// Folds what was committed into the conversation.
pub(crate) fn follow(
    transcript: &mut Transcript,
    entries: Vec<Arc<Entry>>,
) -> Result<(), StoreError> {
    for entry in entries {
        transcript
            .apply(&entry.event)
            .map_err(|misfit| broken(&misfit.to_string()))?;
    }
    Ok(())
}

fn failed(error: ModelError) -> TurnEnd {
    let kind = match error.kind {
        ModelErrorKind::Config => FailureKind::Config,
        ModelErrorKind::RateLimited { .. } => FailureKind::RateLimited,
        ModelErrorKind::Unavailable | ModelErrorKind::Invalid => FailureKind::Model,
    };
    TurnEnd::Failed {
        kind,
        message: error.message,
    }
}

fn broken(what: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Conflict, format!("run a turn: {what}"))
}

impl Agent {
    fn aborted(&self) -> TurnEnd {
        let state = self.board.state();
        let by = state.node(&self.id).and_then(Node::stopped);
        // A turn that was stopped alone was stopped by a person.
        TurnEnd::Aborted(by.unwrap_or(CancelledBy::User))
    }

    /// Returns the settlement that may ride with the end of the turn; `None` while the run has to go on.
    fn settles_after(&self, events: &[Event]) -> Option<(RunNo, Settlement)> {
        let state = self.board.state();
        let agent = state.tree.agent(&self.id)?;
        let run = agent.open_run()?;
        let busy =
            !agent.queue.is_empty() || !agent.mail.is_empty() || !agent.open_children.is_empty();
        if busy {
            return None;
        }
        let mut after = agent.tally.clone();
        for event in events {
            after.take(event);
        }
        let stopped = state.node(&self.id).and_then(Node::stopped);
        let status = settle::status(&after, stopped);
        let settlement = settle::settlement(&after, status, self.parts.env.now());
        Some((run, settlement))
    }

    fn asker(&self, step: u32) -> Asker {
        Asker {
            agent: self.id.clone(),
            definition: self.definition.clone(),
            depth: self.depth,
            step,
        }
    }

    /// Returns the number of the next step of the run, and whether it is the last that is allowed.
    fn step(&self, prefix: &Prefix) -> (u32, bool) {
        let state = self.board.state();
        let steps = state
            .tree
            .agent(&self.id)
            .map_or(0, |agent| agent.tally.steps);
        let cap = match (prefix.manifest.limits.steps, self.depth) {
            (Some(cap), _) => cap,
            (None, 0) => u32::MAX,
            (None, _) => self.board.limits.steps,
        };
        (steps + 1, steps.saturating_add(1) > cap)
    }
}

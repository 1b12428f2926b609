//! The turn: one loop that runs every agent, root or child.
//!
//! Ask the model, append what it said together with everything that is decided
//! at once, run the calls, and again, until it has no more calls. The turn owns
//! the transcript while it runs and hands it back. It ends with `TurnEnded` in
//! the log, whatever happened, unless the log itself failed: then it stops where
//! it is and recovery does the rest.

mod arrived;
mod calls;
mod delegation;

use std::ops::ControlFlow;
use std::sync::Arc;

use offshoot_types::event::{Entry, Event, TurnEnd};
use offshoot_types::id::RunNo;
use offshoot_types::message::{AssistantMessage, AssistantPart, StopReason};
use offshoot_types::model::{Asker, ModelError, ModelErrorKind};
use offshoot_types::settlement::{CancelledBy, FailureKind, Settlement};
use offshoot_types::store::{StoreError, StoreErrorKind};
use offshoot_types::transcript::Transcript;
use offshoot_types::tree::{self, Tally};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::caps::{self, Admitted, StepPermit};
use crate::compact::Room;
use crate::context::{self, Prefix};
use crate::hooks::announce;
use crate::log::Sent;
use crate::node::Node;
use crate::reply::{self, Reply};
use crate::sabotage::{Bug, planted};
use crate::settle;
use crate::slots::Rank;
use crate::unread;
pub(crate) use arrived::Arrived;

/// A turn that is over but for saying so in the log.
pub(crate) struct Over {
    transcript: Transcript,
    /// What the model said last, and is not in the log yet.
    said: Option<AssistantMessage>,
    how: TurnEnd,
    /// What hooks did that heard of it, and is not in the log yet.
    hooked: Vec<Event>,
    /// What was reserved for that: booked with it, and not given back before.
    _held: Option<StepPermit>,
}

impl Over {
    fn of(transcript: Transcript, how: TurnEnd) -> Self {
        Self {
            transcript,
            said: None,
            how,
            hooked: Vec::new(),
            _held: None,
        }
    }

    /// Returns the conversation of a turn that is left open.
    pub(crate) fn into_transcript(self) -> Transcript {
        self.transcript
    }
}

/// Runs the open turn of an agent to its end.
pub(crate) async fn run(
    agent: Arc<Agent>,
    transcript: Transcript,
    arrived: Arrived,
    cancel: CancellationToken,
) -> Result<Over, StoreError> {
    let mut sent = Sent::Heard;
    let over = steps(agent, transcript, arrived, cancel, &mut sent).await?;
    sent.committed().await?;
    Ok(over)
}

/// Runs step after step. What the last calls came to may still be on its way into the log when the
/// model is asked again: then nothing it says is taken before that is there (R15).
async fn steps(
    agent: Arc<Agent>,
    mut transcript: Transcript,
    arrived: Arrived,
    cancel: CancellationToken,
    sent: &mut Sent,
) -> Result<Over, StoreError> {
    let prefix = match agent.prefix() {
        Ok(prefix) => prefix,
        Err(error) => {
            agent.give_up_calls(&mut transcript).await?;
            return Ok(Over::of(transcript, failed(error)));
        }
    };
    let mut room = Room::default();
    let mut repaired = false;
    // The cap that a step ran into: the next one hands back.
    let (mut rank, mut reached, end) = agent.take_up(&prefix, &mut transcript, &cancel).await?;
    if let Some(end) = end {
        return Ok(Over::of(transcript, end));
    }
    loop {
        agent.take_messages(&mut transcript, &arrived).await?;
        if agent.wants_room(&prefix, &room) {
            sent.committed().await?;
        }
        let made = agent.make_room(&prefix, &mut transcript, &mut room, &cancel);
        if let Some(end) = Box::pin(made).await? {
            return Ok(Over::of(transcript, end));
        }
        let Some(ready) = transcript.ready() else {
            return Err(broken("a step with an open call"));
        };
        let messages = context::messages(ready, agent.inherited.as_deref());
        let size = caps::bytes(&prefix, &messages);
        let admitted = agent.admit(&prefix, size, reached, &cancel);
        let permit = match sent.beside(admitted).await? {
            Admitted::Step(permit) => permit,
            Admitted::Nothing(cap) => return Ok(Over::of(transcript, TurnEnd::Exhausted(cap))),
            Admitted::Cancelled => return Ok(Over::of(transcript, agent.aborted())),
        };
        let mut request = context::request(&prefix, messages, agent.asker(), &permit);
        agent.load_attachments(&prefix, &mut request).await;
        let last = permit.last;

        let work = cancel.child_token();
        let asked = reply::ask(&agent, &prefix, request, &transcript, rank, sent, &work);
        let (reply, cap) = agent.within(last, &work, Box::pin(asked)).await;
        sent.committed().await?;
        let (said, how) = match (reply, cap, last) {
            (Reply::Whole(message), _, Some(last)) => (message, TurnEnd::HandedBack(last)),
            (Reply::Whole(message), _, None) if message.calls().next().is_none() => {
                let end =
                    agent.answered(&prefix, message, permit, transcript, &mut repaired, &cancel);
                transcript = match end.await? {
                    ControlFlow::Break(over) => return Ok(over),
                    ControlFlow::Continue(transcript) => transcript,
                };
                rank = Rank::Resuming;
                continue;
            }
            (Reply::Whole(message), _, None) => {
                let ran = agent.carry_out(&prefix, message, Some(permit), &mut transcript, &cancel);
                let carried = Box::pin(ran).await?;
                *sent = carried.sent;
                if let Some(end) = carried.end {
                    return Ok(Over::of(transcript, end));
                }
                (reached, rank) = (carried.cap, Rank::Resuming);
                continue;
            }
            (Reply::Cancelled(said), Some(cap), None) if !cancel.is_cancelled() => {
                if !said.is_empty() {
                    let entries = agent.log.append(vec![Event::Replied(said)]).await?;
                    follow(&mut transcript, entries)?;
                }
                reached = Some(cap);
                continue;
            }
            (Reply::Cancelled(said), Some(_), Some(last)) if !cancel.is_cancelled() => {
                (said, TurnEnd::HandedBack(last))
            }
            (Reply::Cancelled(said), _, _) => (said, agent.aborted()),
            (Reply::Failed(said, error), _, _)
                if error.kind == ModelErrorKind::TooLong
                    && said.is_empty()
                    && room.refused(&agent, &error.message) =>
            {
                continue;
            }
            (Reply::Failed(said, error), _, _) => (said, failed(error)),
        };
        return Ok(Over {
            said: Some(said),
            _held: Some(permit),
            ..Over::of(transcript, how)
        });
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
        hooked,
        _held,
    } = over;
    let mut events = hooked;
    if let Some(mut message) = said
        && (!message.is_empty() || message.stop != StopReason::Cut)
    {
        // Calls of a hand-back step are not run: they were not choosable.
        message
            .parts
            .retain(|part| !matches!(part, AssistantPart::Call(_)));
        events.push(Event::Replied(message));
    }
    let turn = agent
        .turn()
        .ok_or_else(|| broken("an end without a turn"))?;
    events.push(Event::TurnEnded { turn, end: how });
    if let Some((run, mut settlement)) = agent.settles_after(&events) {
        agent.finish(&mut settlement, &transcript).await;
        let mut with_settlement = events.clone();
        with_settlement.push(agent.settled(run, settlement, &events));
        match agent.log.append(with_settlement).await {
            Ok(entries) => {
                follow(&mut transcript, entries)?;
                return Ok(transcript);
            }
            // A child run was opened meanwhile (R18): the turn ends, the run goes on.
            Err(error)
                if error.kind == StoreErrorKind::Refused && !planted(Bug::RefusalFailsTurn) => {}
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
    fold(transcript, entries.iter().map(|entry| &entry.event))
}

/// Folds what is committed, or will be before anything is done about it, into the conversation.
fn fold<'a>(
    transcript: &mut Transcript,
    events: impl Iterator<Item = &'a Event>,
) -> Result<(), StoreError> {
    for event in events {
        transcript
            .apply(event)
            .map_err(|misfit| broken(&misfit.to_string()))?;
    }
    Ok(())
}

fn failed(error: ModelError) -> TurnEnd {
    let kind = match error.kind {
        ModelErrorKind::Config => FailureKind::Config,
        ModelErrorKind::RateLimited { .. } => FailureKind::RateLimited,
        ModelErrorKind::TooLong => FailureKind::TooLong,
        ModelErrorKind::Unavailable | ModelErrorKind::Invalid => FailureKind::Model,
    };
    TurnEnd::Failed {
        kind,
        message: error.message,
    }
}

/// Returns what the open run of an agent has used and said, once this has happened.
fn tally_after(agent: &tree::Agent, events: &[Event]) -> Tally {
    let mut after = agent.tally.clone();
    for event in events {
        after.take(event);
    }
    after
}

pub(crate) fn broken(what: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Conflict, format!("run a turn: {what}"))
}

impl Agent {
    /// Takes a message without calls. It ends the turn, unless it does not fit what the agent has to
    /// answer, which is said once (`repaired`), or hooks have the agent go on.
    async fn answered(
        &self,
        prefix: &Prefix,
        message: AssistantMessage,
        permit: StepPermit,
        mut transcript: Transcript,
        repaired: &mut bool,
        cancel: &CancellationToken,
    ) -> Result<ControlFlow<Over, Transcript>, StoreError> {
        let objection = self.objection(prefix, &message).filter(|_| !*repaired);
        if let Some(objection) = objection {
            let entries = self.log.append(objection.raise(message)).await?;
            follow(&mut transcript, entries)?;
            *repaired = true;
            return Ok(ControlFlow::Continue(transcript));
        }
        if !self.is_asked_to_end() {
            return Ok(ControlFlow::Break(Over {
                said: Some(message),
                _held: Some(permit),
                ..Over::of(transcript, TurnEnd::Finished)
            }));
        }
        let may = self.may_end(message, permit, &mut transcript, cancel);
        Ok(match Box::pin(may).await? {
            None => ControlFlow::Continue(transcript),
            Some((how, hooked)) => ControlFlow::Break(Over {
                hooked,
                ..Over::of(transcript, how)
            }),
        })
    }

    pub(crate) fn aborted(&self) -> TurnEnd {
        let state = self.board.state();
        let by = state.node(&self.id).and_then(Node::stopped);
        // A turn that was stopped alone was stopped by a person.
        TurnEnd::Aborted(by.unwrap_or(CancelledBy::User))
    }

    /// Returns the settlement that may ride with the end of the turn; `None` while the run has to go on.
    fn settles_after(&self, events: &[Event]) -> Option<(RunNo, Settlement)> {
        let state = self.board.state();
        let agent = state.tree.agent(&self.id)?;
        let has_mail = !agent.mail.is_empty() && !planted(Bug::SettlesWithMail);
        let busy = !agent.queue.is_empty() || has_mail || !agent.open_children.is_empty();
        if busy {
            return None;
        }
        drop(state);
        self.settled_by(events)
    }

    /// Returns how the open run ends once this has happened.
    pub(crate) fn settled_by(&self, events: &[Event]) -> Option<(RunNo, Settlement)> {
        let state = self.board.state();
        let agent = state.tree.agent(&self.id)?;
        let run = agent.open_run()?;
        let after = tally_after(agent, events);
        let stopped = state.node(&self.id).and_then(Node::stopped);
        let status = settle::status(&after, stopped);
        let mut settlement = settle::settlement(&after, status, self.parts.env.now());
        settlement.unread = unread::below(&state.tree, &self.id, &after);
        Some((run, settlement))
    }

    /// Returns the entry that settles the open run, once this has happened.
    pub(crate) fn settled(&self, run: RunNo, settlement: Settlement, events: &[Event]) -> Event {
        let state = self.board.state();
        let untold = state.tree.agent(&self.id).is_some_and(|agent| {
            let after = tally_after(agent, events);
            announce::is_due(&self.kit.hooks, agent, &after) && !planted(Bug::StopNotOwed)
        });
        Event::Settled {
            run,
            settlement,
            untold,
        }
    }

    /// Returns who asks, and the number of the next step of the run.
    pub(crate) fn asker(&self) -> Asker {
        let state = self.board.state();
        let steps = state
            .tree
            .agent(&self.id)
            .map_or(0, |agent| agent.tally.steps);
        Asker {
            agent: self.id.clone(),
            definition: self.definition.clone(),
            depth: self.depth,
            step: steps + 1,
        }
    }
}

//! Hooks about runs: when a child's begins, and when any is about to end.
//!
//! Whoever may keep a run from ending is asked before its settlement is committed,
//! and what the model said last is in the log by then (R15: one commit more). Kept
//! at work, the agent reads why, marked; how often that may happen is bounded, and
//! counted in the log. A run that nobody may keep (stopped, failed, out of budget,
//! lost) is told of after it is over: see `announce`.

use offshoot_types::event::{Did, Event, TurnEnd};
use offshoot_types::hook::{Ending, Point, What, Word};
use offshoot_types::id::MessageId;
use offshoot_types::message::AssistantMessage;
use offshoot_types::settlement::{PartialReason, Status};
use offshoot_types::store::StoreError;
use offshoot_types::transcript::Transcript;
use offshoot_types::tree::Tally;
use tokio_util::sync::CancellationToken;

use super::{Heard, marked, message};
use crate::agent::Agent;
use crate::caps::StepPermit;
use crate::log::Batch;
use crate::turn;

/// How often hooks may keep one run from ending.
const MOST_KEPT: u32 = 8;

/// Whether a run may end.
enum May {
    /// It may; these entries go with its end.
    End(Vec<Event>),
    /// It goes on: what it is told is in these entries.
    GoOn(Vec<Event>, String),
    /// It was stopped meanwhile.
    Stop,
}

impl Agent {
    /// Tells hooks that a run of a child begins, before its first step. Returns how the turn ends if
    /// one of them is against it.
    pub(crate) async fn begin_run(
        &self,
        transcript: &mut Transcript,
        cancel: &CancellationToken,
    ) -> Result<Option<TurnEnd>, StoreError> {
        if self.is_root() || !self.is_watched(Point::SubagentStart) || !self.is_first_turn() {
            return Ok(None);
        }
        let mut heard = self.call_hooks(What::SubagentStart, cancel).await;
        let events = heard.events();
        match &heard.word {
            Word::Deny { .. } | Word::Stop { .. } => {
                self.pass_on(events, &[], transcript).await?;
                let reason = heard.reason();
                Ok(Some(TurnEnd::Denied { reason }))
            }
            Word::Nothing | Word::Ask { .. } => {
                self.pass_on(events, &heard.contexts, transcript).await?;
                Ok(None)
            }
        }
    }

    /// Tells whether hooks are asked before the run ends that would end now.
    pub(crate) fn is_asked_to_end(&self) -> bool {
        let state = self.board.state();
        let Some(agent) = state.tree.agent(&self.id) else {
            return false;
        };
        let busy =
            !agent.queue.is_empty() || !agent.mail.is_empty() || !agent.open_children.is_empty();
        if busy || agent.tally.told || self.helps.is_some() {
            return false;
        }
        let (point, subject) = if self.is_root() {
            (Point::Stop, "")
        } else {
            (Point::SubagentStop, agent.definition())
        };
        !self.kit.hooks.watching(point, subject).is_empty()
    }

    /// Writes down what the model said last and asks hooks whether the run may end with it. Returns how
    /// the turn ends, and what hooks did; `None` if it goes on: the agent has been told why.
    pub(crate) async fn may_end(
        &self,
        said: AssistantMessage,
        permit: StepPermit,
        transcript: &mut Transcript,
        cancel: &CancellationToken,
    ) -> Result<Option<(TurnEnd, Vec<Event>)>, StoreError> {
        let entries = self.log.append(vec![Event::Replied(said)]).await?;
        turn::follow(transcript, entries)?;
        // Booked with the message: nobody waits for room while hooks take their time.
        drop(permit);
        let turn = self
            .turn()
            .ok_or_else(|| turn::broken("an end without a turn"))?;
        let end = TurnEnd::Finished;
        let end = Event::TurnEnded { turn, end };
        Ok(match self.ask_to_end(&[end], cancel).await {
            May::GoOn(events, text) => {
                self.pass_on(events, &[text], transcript).await?;
                None
            }
            May::End(events) => Some((TurnEnd::Finished, events)),
            May::Stop => Some((self.aborted(), Vec::new())),
        })
    }

    /// Asks hooks whether the run may end that has no turn any more; returns what is to be written.
    pub(crate) async fn may_settle(&self, cancel: &CancellationToken) -> Option<Batch> {
        match self.ask_to_end(&[], cancel).await {
            May::End(events) => Some(Batch::from(events)),
            May::GoOn(mut events, text) => {
                let id = MessageId::new(self.parts.env.new_id());
                events.push(Event::Prompted(message(id, &[text])));
                Some(Batch::from(events))
            }
            May::Stop => None,
        }
    }

    /// Asks hooks whether a run may end that would settle once this has happened.
    async fn ask_to_end(&self, then: &[Event], cancel: &CancellationToken) -> May {
        let (Some(tally), Some((_, mut settlement))) = (self.tally(), self.settled_by(then)) else {
            return May::Stop;
        };
        self.check_answer(&mut settlement);
        let ending = Ending {
            status: settlement.status.word(),
            kept: tally.kept > 0,
            over: false,
            said: tally.text.clone(),
        };
        let what = if self.is_root() {
            What::Stop(ending)
        } else {
            What::SubagentStop(ending)
        };
        let point = what.point();
        let mut heard = self.call_hooks(what, cancel).await;
        if heard.cancelled || cancel.is_cancelled() {
            return May::Stop;
        }
        match &heard.word {
            Word::Deny { reason } if tally.kept < MOST_KEPT => {
                let text = marked(&heard.by, point, &go_on(reason, &heard.contexts));
                May::GoOn(heard.events(), text)
            }
            Word::Deny { .. } => {
                give_up(&mut heard);
                May::End(heard.events())
            }
            // An agent that is to stop may end.
            Word::Nothing | Word::Ask { .. } | Word::Stop { .. } => May::End(heard.events()),
        }
    }

    fn is_first_turn(&self) -> bool {
        let tally = self.tally();
        tally.is_some_and(|tally| tally.steps == 0 && tally.end.is_none())
    }

    fn tally(&self) -> Option<Tally> {
        let state = self.board.state();
        Some(state.tree.agent(&self.id)?.tally.clone())
    }
}

/// Tells whether a run that ends like this may be kept from it.
pub(crate) fn may_be_kept(status: &Status) -> bool {
    match status {
        Status::Completed
        | Status::Partial(
            PartialReason::NoAnswer
            | PartialReason::Length
            | PartialReason::Refusal
            | PartialReason::Schema,
        ) => true,
        // It has no more to go on with, and being kept would make it as if it had.
        Status::Partial(PartialReason::Budget(_) | PartialReason::Wakes)
        | Status::Failed { .. }
        | Status::Cancelled(_)
        | Status::BudgetExhausted(_)
        | Status::Denied { .. }
        | Status::Lost { .. } => false,
    }
}

fn go_on(reason: &str, contexts: &[String]) -> String {
    let reason = match reason.trim() {
        "" => "You are not done yet.",
        reason => reason,
    };
    let mut text = reason.to_owned();
    for context in contexts {
        text.push('\n');
        text.push_str(context);
    }
    text
}

/// Notes that hooks went on keeping a run, and were not heard any more.
fn give_up(heard: &mut Heard) {
    for hooked in &mut heard.hooked {
        if let Did::Refused { reason } = &hooked.did {
            let why =
                format!("it wanted the run to go on for the {MOST_KEPT}th time and more: {reason}");
            hooked.did = Did::Failed { why };
        }
    }
}

#[cfg(test)]
mod tests {
    use offshoot_types::settlement::Cap;

    use super::*;

    #[test]
    fn r26_nobody_keeps_a_run_that_is_out_of_budget_and_anybody_one_that_is_only_poor() {
        for (reason, kept) in [
            (PartialReason::Budget(Cap::Steps), false),
            (PartialReason::Wakes, false),
            (PartialReason::Schema, true),
            (PartialReason::NoAnswer, true),
        ] {
            assert_eq!(
                may_be_kept(&Status::Partial(reason.clone())),
                kept,
                "{reason:?}"
            );
        }
        assert!(may_be_kept(&Status::Completed));
    }
}

//! The calls of a turn: judged, run, and hooks heard before and after.
//!
//! What was decided is in the log before anything runs, and what hooks say of a
//! call is said before that. A turn that was taken up again after its process
//! died begins with the calls that had not started (R16).

use std::sync::Arc;

use offshoot_types::event::{Entry, Event, Purpose, TurnEnd};
use offshoot_types::hook::Point;
use offshoot_types::message::{AssistantMessage, Call};
use offshoot_types::settlement::Cap;
use offshoot_types::store::StoreError;
use offshoot_types::transcript::Transcript;
use tokio_util::sync::CancellationToken;

use super::{broken, delegation, fold, follow};
use crate::agent::Agent;
use crate::caps::StepPermit;
use crate::context::Prefix;
use crate::hooks::calls::{GroupHooks, Rulings};
use crate::hooks::host;
use crate::log::{Batch, Sent};
use crate::scheduler::{Plan, Ran, TurnScope, resume};
use crate::slots::Rank;

/// How the calls of a message ended.
pub(super) struct Carried {
    /// The cap that was reached.
    pub(super) cap: Option<Cap>,
    /// How the turn ends, if it does.
    pub(super) end: Option<TurnEnd>,
    /// Their last outcomes, on their way into the log.
    pub(super) sent: Sent,
}

/// The calls of a message, with what was decided of them.
struct Judgement<'a> {
    plan: Plan,
    /// Its token stops the calls, also where a cap is reached and the turn goes on.
    scope: TurnScope<'a>,
    /// What has to be in the log before they run.
    batch: Batch,
    rulings: Rulings,
    /// Those of them that were over when their process died: hooks may not have heard of them.
    before: Vec<Arc<Entry>>,
    /// What was reserved for the message.
    held: Option<StepPermit>,
    /// Stops the turn.
    cancel: &'a CancellationToken,
}

impl Agent {
    /// Takes a turn up: from its beginning, which may be a call of the runtime's own, or from the calls
    /// that had not started when its process died. Returns the rank of its first step, the cap that was
    /// reached and how the turn ends, if it does.
    pub(super) async fn take_up(
        &self,
        prefix: &Prefix,
        transcript: &mut Transcript,
        cancel: &CancellationToken,
    ) -> Result<(Rank, Option<Cap>, Option<TurnEnd>), StoreError> {
        if transcript.ready().is_none() {
            let resumed = Box::pin(self.resume_calls(prefix, transcript, cancel));
            return self.goes_on(resumed.await?, transcript).await;
        }
        let own = delegation::own_message(self, prefix, transcript);
        let rank = match self.helps {
            // Somebody waits for these, and works on when they are done.
            None | Some(Purpose::Compaction | Purpose::Summary) => Rank::Admitting,
            Some(Purpose::Title) => Rank::Helping,
        };
        let end = self.begin_run(transcript, cancel).await?;
        let Some(message) = own.filter(|_| end.is_none()) else {
            return Ok((rank, None, end));
        };
        let carried = self.carry_out(prefix, message, None, transcript, cancel);
        self.goes_on(Box::pin(carried).await?, transcript).await
    }

    /// Returns how a turn goes on that began with calls.
    async fn goes_on(
        &self,
        carried: Carried,
        transcript: &Transcript,
    ) -> Result<(Rank, Option<Cap>, Option<TurnEnd>), StoreError> {
        let Carried { cap, end, mut sent } = carried;
        sent.committed().await?;
        let end = end.or_else(|| delegation::refused(self, transcript));
        Ok((Rank::Resuming, cap, end))
    }

    /// Runs the calls of a message, and has hooks asked before and told after where there are any.
    pub(super) async fn carry_out(
        &self,
        prefix: &Prefix,
        message: AssistantMessage,
        permit: Option<StepPermit>,
        transcript: &mut Transcript,
        cancel: &CancellationToken,
    ) -> Result<Carried, StoreError> {
        let work = cancel.child_token();
        let attached = delegation::attached(transcript, &message);
        let asked = Box::pin(self.ask_host(prefix, &message, &work));
        let (answered, mut late) = self.within(None, &work, asked).await;
        let mut batch = Batch::default();
        batch.own(Event::Replied(message.clone()));
        // What the model said stays in the log; what the host made of it is judged and runs.
        let (message, mut rulings) = answered.unwrap_or_else(|| (message, Rulings::default()));
        if self.is_watched(Point::PreToolUse) || self.is_watched(Point::PermissionRequest) {
            let asked = Box::pin(self.before_calls(prefix, &message, rulings, &work));
            let (heard, cap) = self.within(None, &work, asked).await;
            rulings = heard;
            late = late.or(cap);
        }
        let scope = TurnScope {
            agent: self,
            prefix,
            attached: &attached,
            cancel: &work,
        };
        let plan = Plan::judge(scope, &message, &mut rulings, &mut batch);
        let calls = Judgement {
            plan,
            scope,
            batch,
            rulings,
            before: Vec::new(),
            held: permit,
            cancel,
        };
        let carried = self.run_calls(calls, &message, transcript).await?;
        let cap = late.or(carried.cap);
        Ok(Carried { cap, ..carried })
    }

    /// Takes up the calls that had not started when their process died.
    async fn resume_calls(
        &self,
        prefix: &Prefix,
        transcript: &mut Transcript,
        cancel: &CancellationToken,
    ) -> Result<Carried, StoreError> {
        let work = cancel.child_token();
        let log = self.parts.store.agent_log(&self.id).await?;
        let mut batch = Batch::default();
        let events = log.iter().map(|entry| &entry.event);
        let Some(message) = host::last_reply_as_run(transcript, events) else {
            return Err(broken("an open call without a message"));
        };
        let attached = delegation::attached(transcript, &message);
        let scope = TurnScope {
            agent: self,
            prefix,
            attached: &attached,
            cancel: &work,
        };
        let open = host::open_calls(transcript, &message);
        let again = Box::pin(self.before_calls_again(prefix, &log, &open, &work));
        let (mut rulings, late) = self.within(None, &work, again).await;
        let plan = if self.is_left_open(cancel) {
            let (cap, end) = (late, Some(self.aborted()));
            let sent = Sent::Heard;
            return Ok(Carried { cap, end, sent });
        } else if cancel.is_cancelled() {
            Plan::withdraw(self, open, &mut batch)
        } else {
            Plan::resume(scope, &message, open, &mut rulings, &mut batch)
        };
        let calls = Judgement {
            plan,
            scope,
            batch,
            rulings,
            before: since_reply(log),
            held: None,
            cancel,
        };
        let carried = self.run_calls(calls, &message, transcript).await?;
        let cap = late.or(carried.cap);
        Ok(Carried { cap, ..carried })
    }

    /// Writes down what was decided of calls and runs them; what was reserved for their message is
    /// booked with it.
    async fn run_calls(
        &self,
        calls: Judgement<'_>,
        message: &AssistantMessage,
        transcript: &mut Transcript,
    ) -> Result<Carried, StoreError> {
        let Judgement {
            plan,
            scope,
            batch,
            mut rulings,
            before,
            held,
            cancel,
        } = calls;
        let listening = self.is_watched_after();
        let mut finished = if listening { before } else { Vec::new() };
        let entries = self.log.append(batch).await?;
        if listening {
            finished.extend(entries.iter().cloned());
        }
        follow(transcript, entries)?;
        drop(held);
        let hooks = listening.then_some(GroupHooks {
            rulings: &mut rulings,
            message,
            before: &finished,
        });
        let ran = Box::pin(plan.run(scope, hooks));
        let (ran, cap) = self.within(None, scope.cancel, ran).await;
        let Ran { mut entries, last } = ran?;
        let hooked = listening || rulings.has_more();
        let mut sent = Sent::Heard;
        if last.can_be_told_again() && !hooked && !cancel.is_cancelled() {
            // The model may be asked meanwhile: should the process die, it is sent the same again.
            follow(transcript, std::mem::take(&mut entries))?;
            fold(transcript, last.events())?;
            let commit = last.send(self);
            sent = Sent::Underway(Box::pin(async { commit.await.map(drop) }));
        } else {
            entries.extend(last.send(self).await?);
        }
        if listening {
            finished.extend(entries.iter().cloned());
        }
        follow(transcript, entries)?;
        let mut end = None;
        // Hooks hear of the calls of a turn that is left open once it goes on.
        if hooked && !self.is_left_open(cancel) {
            let told = self.after_calls(rulings, message, &finished, transcript, cancel);
            end = Box::pin(told).await?;
        }
        if cancel.is_cancelled() {
            end = Some(self.aborted());
        }
        Ok(Carried { cap, end, sent })
    }

    /// Tells whether the process ends and leaves the turn open, with the calls that ask or have not
    /// started.
    fn is_left_open(&self, cancel: &CancellationToken) -> bool {
        cancel.is_cancelled() && self.sleeps()
    }

    /// Answers calls that had not started when their process died, and whose agent is not there any
    /// more.
    pub(super) async fn give_up_calls(
        &self,
        transcript: &mut Transcript,
    ) -> Result<(), StoreError> {
        let finished = |call: &Call| Event::CallFinished {
            call: call.id.clone(),
            outcome: resume::interrupted(),
            delivers: Vec::new(),
        };
        let events: Vec<Event> = transcript.open_calls().map(finished).collect();
        if events.is_empty() {
            return Ok(());
        }
        follow(transcript, self.log.append(events).await?)
    }
}

/// Returns what happened after what an agent's model said last.
fn since_reply(log: Vec<Entry>) -> Vec<Arc<Entry>> {
    let is_reply = |entry: &Entry| matches!(entry.event, Event::Replied(_));
    let said = log.iter().rposition(is_reply).unwrap_or(log.len());
    log.into_iter().skip(said).map(Arc::new).collect()
}

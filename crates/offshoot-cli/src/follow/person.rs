//! What the person in front of a tree that is followed wants, and what they are told.
//!
//! Whatever they want is an order, carried out beside everything else; what became
//! of it is told when it has. Nothing here waits.

use offshoot_engine::{CommandError, is_quiet};
use offshoot_types::command::{Answer, Order, Receipt, Rename, Scope};
use offshoot_types::env::Env;
use offshoot_types::event::{Entry, Event, TurnEnd};
use offshoot_types::id::MessageId;
use offshoot_types::message::Author;
use offshoot_types::tree::Unfinished;

use super::{Ended, FollowedTree, Kind};
use crate::console::{Input, Taken};
use crate::env::System;
use crate::exit::{Code, Stop};

impl FollowedTree<'_> {
    /// Does what the person wants; returns why following is over, if it is.
    pub(super) fn input(&mut self, input: Input) -> Result<Option<Ended>, Stop> {
        match input {
            Input::Tick => {}
            Input::Say { text, agent } => {
                let message = MessageId::new(System.new_id());
                if self.is_idle() {
                    self.view.heard(&text)?;
                } else {
                    self.view.queued(message.clone(), &text);
                }
                self.interrupted = false;
                if self.chores > 0 {
                    let text = "this waits until the summary is written; /cancel stops that";
                    self.view.remark(text)?;
                } else if !self.is_idle() {
                    self.view
                        .remark("queued: it is taken when this turn is over")?;
                }
                self.send(message, text, agent);
            }
            Input::Answer(agent, call, verdict) => {
                self.order(agent, Order::Answer(Answer::new(call, verdict)));
            }
            Input::Title(title) => {
                let by = Author::Human;
                self.order(self.id.root().clone(), Order::Rename(Rename { title, by }));
            }
            Input::Summary => {
                self.view
                    .remark("summing up what happened; messages wait, /cancel stops it")?;
                self.order(self.agent.clone(), Order::Summarise);
            }
            Input::Compact => {
                self.view
                    .remark("shortening the conversation; messages wait, /cancel stops it")?;
                self.order(self.agent.clone(), Order::Compact);
            }
            Input::Interrupt => {
                if let Some(ended) = self.interrupt()? {
                    return Ok(Some(ended));
                }
            }
            Input::Suspend => self.view.suspend()?,
            Input::Cancel => self.cancel()?,
            Input::Quit => return Ok(Some(self.leave())),
        }
        self.view.paint(&self.tree)?;
        Ok(None)
    }

    /// Says something where an order had no effect, or was refused in a conversation, which goes on.
    pub(super) fn answered(
        &mut self,
        kind: Kind,
        answer: Result<Receipt, CommandError>,
    ) -> Result<(), Stop> {
        let mut stopped = false;
        if kind == Kind::Chore {
            self.chores -= 1;
            stopped = self.interrupted;
            // What else runs is still being stopped, and who says so again means to leave.
            self.interrupted &= !self.is_idle();
        }
        let receipt = match answer {
            Ok(receipt) => receipt,
            Err(
                error @ (CommandError::Invalid(_)
                | CommandError::Unknown(_)
                | CommandError::Missing(_)),
            ) if self.goal.chat => {
                if let Kind::Prompt(message) = &kind {
                    self.view.refused(message)?;
                }
                return Ok(self.view.remark(&error.to_string())?);
            }
            Err(error) => return Err(error.into()),
        };
        if let Kind::Answer(agent, call) = &kind {
            let taken = match &receipt {
                Receipt::Answered => Some(Taken::Yes),
                Receipt::NoEffect { .. } => Some(Taken::No),
                Receipt::Queued
                | Receipt::Opened
                | Receipt::Spawned { .. }
                | Receipt::Refused { .. }
                | Receipt::Prompted
                | Receipt::Settled(_)
                | Receipt::TurnCancelled
                | Receipt::Promoted
                | Receipt::Rewound { .. }
                | Receipt::Resumed
                | Receipt::Renamed
                | Receipt::ClientToolsSet
                | Receipt::RoleSet
                | Receipt::Deleted { .. }
                | Receipt::Summarised { .. }
                | Receipt::Compacted { .. } => None,
            };
            // How it was answered says why this one does not count.
            if let Some(taken) = taken
                && self.view.answered((agent, call), taken)?
            {
                return Ok(());
            }
        }
        if let (Kind::Prompt(message), Receipt::NoEffect { .. }) = (&kind, &receipt) {
            self.view.refused(message)?;
        }
        match receipt {
            Receipt::NoEffect { .. } if stopped => self.view.remark("stopped")?,
            Receipt::NoEffect { why } => self.view.remark(&why)?,
            Receipt::Queued => self
                .view
                .remark("another process runs this session; it is told")?,
            Receipt::Opened
            | Receipt::Spawned { .. }
            | Receipt::Refused { .. }
            | Receipt::Prompted
            | Receipt::Settled(_)
            | Receipt::TurnCancelled
            | Receipt::Promoted
            | Receipt::Answered
            | Receipt::Rewound { .. }
            | Receipt::ClientToolsSet
            | Receipt::RoleSet
            | Receipt::Deleted { .. }
            | Receipt::Resumed => {}
            Receipt::Renamed => self.view.remark("the session has that name now")?,
            Receipt::Summarised { summary } => self.view.told(&summary)?,
            Receipt::Compacted { summary_tokens } => {
                let text = format!(
                    "compacted: a summary of {summary_tokens} tokens stands for what was said"
                );
                self.view.remark(&text)?;
            }
        }
        Ok(())
    }

    /// Notes whether something was answered that nobody has summed up.
    pub(super) fn take_talk(&mut self, entry: &Entry) {
        if entry.agent != self.agent {
            return;
        }
        match &entry.event {
            Event::TurnEnded { end, .. } => match end {
                TurnEnd::Finished | TurnEnd::HandedBack(_) => self.talked = true,
                TurnEnd::Exhausted(_)
                | TurnEnd::Aborted(_)
                | TurnEnd::Denied { .. }
                | TurnEnd::Failed { .. }
                | TurnEnd::Lost => {}
            },
            Event::Summarised { .. } => self.talked = false,
            _ => {}
        }
    }

    /// Leaves a conversation: what runs is stopped, in good order.
    fn leave(&self) -> Ended {
        // Nobody is kept by a summary that they do not want any more.
        match (self.is_idle(), self.talked) {
            (true, true) => Ended::Talked,
            (true, false) => Ended::Quiet(Code::Completed, Unfinished::default()),
            (false, _) => Ended::Terminated,
        }
    }

    /// Stops what runs; the second time, and where nothing runs, it is time to leave.
    pub(super) fn interrupt(&mut self) -> Result<Option<Ended>, Stop> {
        let idle = self.goal.chat && self.is_idle();
        if self.interrupted {
            return Ok(Some(if idle { self.leave() } else { Ended::AtOnce }));
        }
        self.interrupted = true;
        if idle {
            self.view.remark("Ctrl-C again leaves")?;
        } else {
            self.view
                .remark("cancelling; Ctrl-C again leaves at once")?;
            self.order(self.agent.clone(), Order::Cancel(Scope::Run));
        }
        self.view.paint(&self.tree)?;
        Ok(None)
    }

    /// Stops what runs, and stays however often it is said.
    fn cancel(&mut self) -> Result<(), Stop> {
        if self.is_idle() {
            return Ok(self.view.remark("nothing runs; /quit leaves")?);
        }
        self.view.remark("cancelling; Ctrl-C leaves at once")?;
        if !self.interrupted {
            self.interrupted = true;
            self.order(self.agent.clone(), Order::Cancel(Scope::Run));
        }
        Ok(())
    }

    /// Tells whether nothing runs that could be stopped.
    pub(super) fn is_idle(&self) -> bool {
        is_quiet(&self.tree, self.runtime.limits()) && self.chores == 0
    }
}

//! The handle on one agent: ask it, wait for it, stop it, read what it came to.
//!
//! A handle holds an id and no state: what it says of the agent is read from the log. Whether the
//! agent is a root or far below one makes no difference here.

use std::fmt;
use std::sync::Arc;

use offshoot_engine::{Update, query};
use offshoot_types::command::{Answer, Order, Prompt, Receipt, Rewind, Scope, Verdict};
use offshoot_types::content::Content;
use offshoot_types::id::{AgentId, CallId, MessageId, TreeId};
use offshoot_types::message::Author;
use offshoot_types::settlement::{Settlement, Status};
use offshoot_types::store::{StoreError, StoreErrorKind};
use offshoot_types::transcript::Transcript;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::error::Error;
use super::follow::{Rest, Seen, Waiting};
use super::runtime::Shared;

/// One agent: the root of a session, or one below it. Cloning gives another handle on the same.
///
/// Dropping a handle, or a future of one, stops nothing: the agent goes on.
#[derive(Clone)]
pub struct Agent {
    pub(super) shared: Arc<Shared>,
    pub(super) tree: TreeId,
    pub(super) id: AgentId,
    pub(super) seen: Seen,
}

impl Agent {
    /// Returns its id. A root's is that of the session.
    pub fn id(&self) -> &AgentId {
        &self.id
    }

    /// Asks it something and waits until the run that answers has settled; see [`run`](Self::run).
    pub async fn prompt(&self, content: impl Into<Content>) -> Result<Settlement, Error> {
        self.run(content).await
    }

    /// Asks it something and returns its answer as a value of a type; see [`Run::ask`](super::Run::ask).
    pub async fn ask<T: JsonSchema + DeserializeOwned>(
        &self,
        content: impl Into<Content>,
    ) -> Result<T, Error> {
        self.run(content).ask().await
    }

    /// Says something to it, and waits only until that is stored.
    ///
    /// A root reads it in its next turn, an agent below one before its next step; one that has
    /// settled opens a new run with it.
    pub async fn message(&self, content: impl Into<Content>) -> Result<(), Error> {
        self.send(self.new_prompt(content.into())).await
    }

    /// Waits until it rests, and returns how its last run ended.
    ///
    /// One that nobody has asked anything has no run yet: this waits until somebody does.
    pub async fn settled(&self) -> Result<Settlement, Error> {
        let mut waiting = self.follow().await?.news_only();
        let log = self.shared.query(query::AgentLog(self.id.clone())).await?;
        let Some(last) = log.last().map(|entry| entry.pos) else {
            return Err(Error::Unknown(format!("there is no agent {}", self.id)));
        };
        let mut rest = Rest::default();
        for entry in &log {
            rest.take(&entry.event);
        }
        loop {
            if let Some(settlement) = rest.settlement() {
                return Ok(settlement.clone());
            }
            let update = waiting.next(rest.orphan()).await?;
            // What was written while its log was read is in both.
            if let Update::Entry(entry) = update
                && entry.agent == self.id
                && entry.pos > last
            {
                rest.take(&entry.event);
            }
        }
    }

    /// Waits until it rests, and returns its answer as a value.
    ///
    /// The value is the one that fits the `output_schema` of its manifest, or that of the message which
    /// was answered. Anything else is an error that has the whole settlement, if there is more in it than
    /// nothing. Like `settled`, it waits for the first prompt where there was none.
    pub async fn result<T: DeserializeOwned>(&self) -> Result<T, Error> {
        read(self.settled().await?)
    }

    /// Stops its run and everything below it, and waits until that is settled.
    ///
    /// If another process runs the session and has not answered in two seconds, it returns: that
    /// process will do it, and `settled` waits for that.
    pub async fn cancel(&self) -> Result<(), Error> {
        let cancelled = self.order(Order::Cancel(Scope::Run));
        cancelled.await.map(drop)
    }

    /// Takes back what was said after a message of its conversation, or all of it, and returns how
    /// many messages that hides.
    ///
    /// They stay in the log, and what was done stays done. Children that were started by what is taken
    /// back are stopped first, and nobody is told of them. While it works this is refused, with
    /// `Error::Invalid`; what is asked meanwhile waits. If another process runs the session and has
    /// not answered in time, it is 0: that process will do it.
    pub async fn rewind(&self, to: Option<&MessageId>) -> Result<u32, Error> {
        let to = to.cloned();
        match self.order(Order::Rewind(Rewind { to })).await? {
            Receipt::Rewound { hidden } => Ok(hidden),
            Receipt::NoEffect { why } | Receipt::Refused { why, .. } => Err(Error::Invalid(why)),
            Receipt::Queued
            | Receipt::Spawned { .. }
            | Receipt::Opened
            | Receipt::Prompted
            | Receipt::Settled(_)
            | Receipt::TurnCancelled
            | Receipt::Promoted
            | Receipt::Answered
            | Receipt::Resumed
            | Receipt::Renamed
            | Receipt::ClientToolsSet
            | Receipt::RoleSet
            | Receipt::Deleted { .. }
            | Receipt::Summarised { .. }
            | Receipt::Compacted { .. } => Ok(0),
        }
    }

    /// Returns its conversation so far, without what was taken back.
    pub async fn conversation(&self) -> Result<Transcript, Error> {
        let log = self.shared.query(query::AgentLog(self.id.clone())).await?;
        if log.is_empty() {
            return Err(Error::Unknown(format!("there is no agent {}", self.id)));
        }
        Transcript::fold(log.iter().map(|entry| &entry.event)).map_err(|misfit| {
            let text = format!("read the log of {}: {misfit}", self.id);
            StoreError::new(StoreErrorKind::Unusable, text).into()
        })
    }

    /// Answers what a call of it asks, where the runtime was built with `Asks::SOMEBODY`, or returns the
    /// result of a client tool that a call of it waits for.
    pub async fn answer(&self, call: &CallId, verdict: Verdict) -> Result<(), Error> {
        let call = call.clone();
        let answered = self.order(Order::Answer(Answer::new(call, verdict)));
        taken(answered.await?)
    }

    /// Has it written down what was asked of it, what was done and what is open, and returns that.
    ///
    /// Waits until it rests. The summary is kept in the log.
    pub async fn summarise(&self) -> Result<String, Error> {
        let receipt = self.order(Order::Summarise).await?;
        let Receipt::Summarised { summary } = &receipt else {
            return Err(missing(receipt));
        };
        Ok(summary.clone())
    }

    /// Puts a summary in the place of what was said to it and by it, so that it can go on for long;
    /// returns how many tokens that has.
    ///
    /// Waits until it rests. Nothing leaves the log. Having nothing to shorten is an error, and so is
    /// a summary that could not be had; the conversation is then as it was.
    pub async fn compact(&self) -> Result<u64, Error> {
        let receipt = self.order(Order::Compact).await?;
        let Receipt::Compacted { summary_tokens } = &receipt else {
            return Err(missing(receipt));
        };
        Ok(*summary_tokens)
    }

    /// Returns a message that is to be sent.
    pub(super) fn new_prompt(&self, text: Content) -> Prompt {
        Prompt {
            message: MessageId::new(self.shared.env().new_id()),
            text,
            from: Author::Human,
            agent: None,
            model: None,
            metadata: None,
            output_schema: None,
            delegation: None,
            immediate: false,
        }
    }

    /// Sends a message, and waits until it is stored.
    pub(super) async fn send(&self, prompt: Prompt) -> Result<(), Error> {
        taken(self.order(Order::Prompt(prompt)).await?)
    }

    /// Follows its tree from where the session's handles have read it.
    ///
    /// Before anything else is done, so that nothing is missed that happens meanwhile.
    pub(super) async fn follow(&self) -> Result<Waiting, Error> {
        Waiting::new(&self.shared, &self.tree, &self.seen).await
    }

    pub(super) async fn order(&self, order: Order) -> Result<Receipt, Error> {
        self.shared.order(&self.tree, &self.id, order).await
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Agent({})", self.id)
    }
}

/// Fails where an order had no effect that was to have one.
pub(super) fn taken(receipt: Receipt) -> Result<(), Error> {
    if let Receipt::NoEffect { why } = receipt {
        return Err(Error::Invalid(why));
    }
    Ok(())
}

/// Says why an order did not come to what was wanted.
pub(super) fn missing(receipt: Receipt) -> Error {
    Error::Invalid(match receipt {
        Receipt::NoEffect { why } | Receipt::Refused { why, .. } => why,
        Receipt::Queued => "another process runs the session and has not answered yet".to_owned(),
        Receipt::Opened
        | Receipt::Prompted
        | Receipt::Spawned { .. }
        | Receipt::Settled(_)
        | Receipt::TurnCancelled
        | Receipt::Promoted
        | Receipt::Answered
        | Receipt::Rewound { .. }
        | Receipt::Resumed
        | Receipt::Renamed
        | Receipt::ClientToolsSet
        | Receipt::RoleSet
        | Receipt::Deleted { .. }
        | Receipt::Summarised { .. }
        | Receipt::Compacted { .. } => "it was answered with something else".to_owned(),
    })
}

/// Reads the value of a run that completed.
pub(super) fn read<T: DeserializeOwned>(settlement: Settlement) -> Result<T, Error> {
    match (&settlement.status, &settlement.value) {
        (Status::Completed, Some(value)) => value.read().map_err(Error::Misfit),
        (Status::Completed, None) => Err(Error::Untyped),
        (
            Status::Partial(_)
            | Status::Failed { .. }
            | Status::Cancelled(_)
            | Status::BudgetExhausted(_)
            | Status::Denied { .. }
            | Status::Lost { .. },
            _,
        ) => Err(Error::Unfinished(Box::new(settlement))),
    }
}

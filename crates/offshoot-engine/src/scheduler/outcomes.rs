//! Outcomes of calls, on their way into the log.
//!
//! What has come by now shares one append, together with the entries that start
//! the next calls. The sender of an order that ended a call is answered once the
//! append is committed.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_types::command::Receipt;
use offshoot_types::event::{Entry, Event, Hooked};
use offshoot_types::hook::Use;
use offshoot_types::id::{CallId, RunId};
use offshoot_types::outcome::Outcome;
use offshoot_types::store::StoreError;
use offshoot_types::tool::Effect;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::log::Batch;
use crate::node::Ordered;
use crate::sabotage::{Bug, planted};

/// A call that is over, with what has to be appended for it.
pub(crate) struct Finished {
    pub(super) call: CallId,
    /// Whether its start is still to be stored: that of a read rides with its end.
    starts: bool,
    outcome: Outcome,
    delivers: Vec<RunId>,
    /// The order that ended it, with its receipt.
    order: Option<(Ordered, Receipt)>,
    /// What the host's hook did with the outcome.
    hooked: Option<Box<Hooked>>,
    /// Whether the log can tell it again: a child's settlement is there, and recovery hands it over in
    /// the same words.
    can_be_told_again: bool,
}

impl Finished {
    /// A call that tells of no child.
    pub(crate) fn of(call: CallId, outcome: Outcome) -> Self {
        Self {
            call,
            starts: false,
            outcome,
            delivers: Vec::new(),
            order: None,
            hooked: None,
            can_be_told_again: false,
        }
    }

    /// A call that tells of children's runs.
    pub(crate) fn telling(
        call: CallId,
        starts: bool,
        outcome: Outcome,
        delivers: Vec<RunId>,
    ) -> Self {
        Self {
            starts,
            delivers,
            ..Self::of(call, outcome)
        }
    }

    /// A call that an order answered.
    pub(crate) fn answered(call: CallId, outcome: Outcome, order: (Ordered, Receipt)) -> Self {
        Self {
            order: Some(order),
            ..Self::of(call, outcome)
        }
    }

    /// A call of a tool that ran.
    pub(crate) fn ran(call: CallId, effect: Effect, outcome: Outcome) -> Self {
        Self {
            starts: effect == Effect::Read,
            ..Self::of(call, outcome)
        }
    }

    /// A blocking `task` whose child has settled; the order asked for the call to return early.
    pub(super) fn settled(
        call: CallId,
        outcome: Outcome,
        delivers: Vec<RunId>,
        order: Option<(Ordered, Receipt)>,
    ) -> Self {
        Self {
            delivers,
            can_be_told_again: order.is_none(),
            order,
            ..Self::of(call, outcome)
        }
    }

    /// Asks the session's host about the outcome before it is stored.
    pub(super) async fn show_host(&mut self, agent: &Agent, used: Use, cancel: &CancellationToken) {
        let (replaced, hooked) = agent.show_host(used, &self.outcome, cancel).await;
        if let Some(outcome) = replaced {
            self.outcome = outcome;
        }
        self.can_be_told_again &= hooked.is_none();
        self.hooked = hooked.map(Box::new);
    }
}

/// What the calls of a message came to: the entries in the log, and the last outcomes, which the caller
/// sends.
pub(crate) struct Ran {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) last: Outcomes,
}

/// Entries about calls that are appended together.
#[derive(Default)]
pub(crate) struct Outcomes {
    batch: Batch,
    orders: Vec<(Ordered, Receipt)>,
    /// Whether the log could not tell some of it again.
    is_news: bool,
}

impl Outcomes {
    pub(super) fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Returns the batch, for entries that the log could not tell again.
    pub(super) fn batch(&mut self) -> &mut Batch {
        self.is_news = true;
        &mut self.batch
    }

    /// Adds an order that these entries carry out.
    pub(super) fn apply(&mut self, order: Ordered, receipt: Receipt) {
        self.batch.applied(order.command.clone(), receipt.clone());
        self.orders.push((order, receipt));
    }

    /// Adds a call that is over.
    pub(super) fn finish(&mut self, finished: Finished) {
        let Finished {
            call,
            starts,
            outcome,
            delivers,
            order,
            hooked,
            can_be_told_again,
        } = finished;
        self.is_news |= !can_be_told_again;
        if starts {
            self.batch.own(Event::CallStarted {
                call: call.clone(),
                child: None,
            });
        }
        self.batch.extend(hooked.map(Event::Hooked));
        self.batch.own(Event::CallFinished {
            call,
            outcome,
            delivers,
        });
        if let Some((order, receipt)) = order {
            self.apply(order, receipt);
        }
    }

    /// Tells whether the log has all of it already, but for the entries that hand it over.
    pub(crate) fn can_be_told_again(&self) -> bool {
        !self.is_news || planted(Bug::AskedBeforeWritten)
    }

    /// Returns what will be written.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Event> {
        self.batch.own_events()
    }

    /// Sends them at once; the future resolves when they are committed, and answers the orders then.
    pub(crate) fn send(
        self,
        agent: &Agent,
    ) -> BoxFuture<'static, Result<Vec<Arc<Entry>>, StoreError>> {
        let Self {
            batch,
            orders,
            is_news: _,
        } = self;
        if batch.is_empty() {
            return Box::pin(std::future::ready(Ok(Vec::new())));
        }
        let sent = agent.log.append(batch);
        Box::pin(async move {
            let entries = sent.await?;
            for (order, receipt) in orders {
                order.answer(receipt);
            }
            Ok(entries)
        })
    }
}

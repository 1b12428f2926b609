//! Caps: whether there is room for a step, in an agent's own caps and in every ancestor's (R25).
//!
//! A step reserves its estimate before it begins and books what it used with its
//! reply; what it did not use comes back. Reservations live in memory, usage in
//! the log. Without room an agent waits only while somebody else's reservation
//! may return some, else it hands back: one last step, with tools shown but not
//! choosable, out of an allowance that no other step may touch (R26). Depth and
//! descendants are `task`'s business, time and stalls are watched by `watch`.

use std::collections::BTreeMap;
use std::sync::Arc;

use offshoot_types::caps::{Caps, Money, Price};
use offshoot_types::content::{Content, Part};
use offshoot_types::id::AgentId;
use offshoot_types::message::{Arguments, AssistantPart, Usage};
use offshoot_types::model::{RequestMessage, ToolChoice};
use offshoot_types::settlement::Cap;
use offshoot_types::tree::Spent;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::board::{Board, State};
use crate::context::{self, Prefix};
use crate::limits::Limits;
use crate::update::Activity;

/// Most output tokens of the step that hands back.
const HAND_BACK: u64 = 2000;

/// Output tokens that are reserved for a step whose manifest says nothing.
const USUAL_OUTPUT: u64 = 16 * 1024;

/// A step with less room for its answer than this is not begun.
const LEAST_OUTPUT: u64 = 256;

/// Bytes that are taken for a token where the provider has not counted yet.
pub(crate) const BYTES_PER_TOKEN: u64 = 4;

/// Tokens that are taken for an image, whose size in pixels is not known here.
const IMAGE_TOKENS: u64 = 1600;

/// The right to ask the model once.
pub(crate) struct StepPermit {
    /// Set when it is the last step, and by what.
    pub(crate) last: Option<Cap>,
    /// Most output tokens, where a cap has to hold.
    pub(crate) max_output: Option<u32>,
    _held: Option<Reservation>,
}

impl StepPermit {
    /// The right that a step had which was made: nothing is reserved for it.
    pub(crate) fn of_sent(last: Option<Cap>) -> Self {
        Self {
            last,
            max_output: None,
            _held: None,
        }
    }

    /// Returns whether the model may call tools.
    pub(crate) fn choice(&self) -> ToolChoice {
        match self.last {
            Some(_) => ToolChoice::None,
            None => ToolChoice::Auto,
        }
    }
}

/// What became of asking for room.
pub(crate) enum Admitted {
    /// There is room for a step.
    Step(StepPermit),
    /// There is none, not even for a last one.
    Nothing(Cap),
    /// The turn was stopped while it waited.
    Cancelled,
}

/// What is kept for a step, in its agent's account and every ancestor's; given back by dropping it.
struct Reservation {
    board: Arc<Board>,
    agent: AgentId,
    amount: Spent,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = self.board.state();
        state.give_back(&self.agent, self.amount);
        drop(state);
        self.board.freed.notify_waiters();
    }
}

/// What the steps under way may still use, by agent, everything below included.
#[derive(Default)]
pub(crate) struct Reserved(BTreeMap<AgentId, Spent>);

/// A step that wants to begin.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    input: u64,
    output: u64,
    price: Option<Price>,
}

impl Wanted {
    /// Returns what a step of this input and output uses.
    fn amount(&self, output: u64) -> Spent {
        let usage = Usage {
            input: self.input,
            output,
            ..Usage::default()
        };
        Spent {
            tokens: usage.total(),
            cost: self
                .price
                .map_or(Money::default(), |price| price.of(&usage)),
        }
    }
}

/// One account on the way up, as far as it has a cap.
#[derive(Clone, Copy, Debug)]
struct Account {
    caps: Caps,
    spent: Spent,
    reserved: Spent,
}

impl Agent {
    /// Waits for room for a step. `over` is the cap that was reached already, if one was.
    pub(crate) async fn admit(
        &self,
        prefix: &Prefix,
        request_bytes: u64,
        over: Option<Cap>,
        cancel: &CancellationToken,
    ) -> Admitted {
        loop {
            let mut freed = std::pin::pin!(self.board.freed.notified());
            freed.as_mut().enable();
            if let Some(admitted) = self.try_admit(prefix, request_bytes, over) {
                return admitted;
            }
            self.set_activity(Activity::Budget);
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Admitted::Cancelled,
                () = freed => {}
                () = self.time_to_look(self.board.state().deadline(&self.id, &self.board.limits)) => {}
            }
        }
    }

    /// Looks for room; `None` while another step may return some.
    pub(crate) fn try_admit(
        &self,
        prefix: &Prefix,
        bytes: u64,
        over: Option<Cap>,
    ) -> Option<Admitted> {
        let mut state = self.board.state();
        let caps = state.caps_of(&self.id, &self.board.limits);
        let agent = state.tree.agent(&self.id)?;
        let over = over.or_else(|| {
            let steps = agent.tally.steps;
            let out_of_steps = caps.steps.is_some_and(|cap| steps >= cap);
            out_of_steps.then_some(Cap::Steps)
        });
        let over = over.or_else(|| self.is_late(&state).then_some(Cap::Time));
        let accounts = state.accounts(&self.id, &self.board.limits);
        if accounts.is_empty() {
            return Some(Admitted::Step(StepPermit {
                last: over,
                max_output: None,
                _held: None,
            }));
        }
        let wanted = Wanted {
            input: (bytes / BYTES_PER_TOKEN).max(agent.context),
            output: prefix
                .manifest
                .max_output_tokens
                .map_or(USUAL_OUTPUT, u64::from),
            price: prefix.model.price(),
        };
        // As it would be if nobody else were under way.
        let alone: Vec<Account> = accounts.iter().map(Account::without_others).collect();
        let (last, output) = match (over, step(&accounts, &wanted)) {
            (None, Ok(output)) => (None, output),
            (None, Err(_)) if step(&alone, &wanted).is_ok() => return None,
            (over, usual) => {
                let cap = over.or(usual.err()).unwrap_or(Cap::Tokens);
                match hand_back(&accounts, &wanted) {
                    Ok(output) => (Some(cap), output),
                    Err(_) if hand_back(&alone, &wanted).is_ok() && !self.is_too_late(&state) => {
                        return None;
                    }
                    Err(_) => return Some(Admitted::Nothing(cap)),
                }
            }
        };
        let amount = wanted.amount(output);
        state.reserve(&self.id, amount);
        Some(Admitted::Step(StepPermit {
            last,
            max_output: Some(u32::try_from(output).unwrap_or(u32::MAX)),
            _held: Some(Reservation {
                board: self.board.clone(),
                agent: self.id.clone(),
                amount,
            }),
        }))
    }
}

impl Account {
    /// Returns the account as it would be if nobody else were under way.
    fn without_others(&self) -> Self {
        Self {
            reserved: Spent::default(),
            ..*self
        }
    }

    fn tokens_left(&self) -> Option<u64> {
        let used = self.spent.tokens.saturating_add(self.reserved.tokens);
        Some(self.caps.tokens?.saturating_sub(used))
    }

    fn money_left(&self) -> Option<Money> {
        let used = self.spent.cost.plus(self.reserved.cost);
        Some(self.caps.cost?.minus(used))
    }

    /// Returns what of the caps is kept for handing back: a fifth of a small one.
    fn allowance(&self, wanted: &Wanted) -> u64 {
        let tokens = self.caps.tokens.unwrap_or(u64::MAX);
        let paid_for = self
            .caps
            .cost
            .and_then(|cost| affordable(cost, wanted).ok());
        HAND_BACK
            .min(tokens / 5)
            .min(paid_for.unwrap_or(u64::MAX) / 5)
    }

    /// Returns how short an answer may be to be worth a step.
    fn least(&self, wanted: &Wanted) -> u64 {
        LEAST_OUTPUT.min(self.allowance(wanted)).max(1)
    }
}

/// Returns how long the answer of a usual step may be: everywhere enough is left to hand back.
fn step(accounts: &[Account], wanted: &Wanted) -> Result<u64, Cap> {
    let mut output = wanted.output;
    for account in accounts {
        // The step that hands back sends everything once more.
        let (kept, least) = (account.allowance(wanted), account.least(wanted));
        if let Some(left) = account.tokens_left() {
            let left = left.saturating_sub(wanted.input.saturating_mul(2).saturating_add(kept));
            if left < least {
                return Err(Cap::Tokens);
            }
            output = output.min(left);
        }
        if let Some(left) = account.money_left() {
            let reading = wanted.amount(0).cost;
            let left = left.minus(reading).minus(reading);
            let affordable = affordable(left, wanted)?.saturating_sub(kept);
            if affordable < least {
                return Err(Cap::Cost);
            }
            output = output.min(affordable);
        }
    }
    Ok(output)
}

/// Returns how long the answer of the last step may be.
fn hand_back(accounts: &[Account], wanted: &Wanted) -> Result<u64, Cap> {
    let mut output = wanted.output.min(HAND_BACK);
    for account in accounts {
        if let Some(left) = account.tokens_left() {
            let left = left
                .saturating_sub(wanted.input)
                .min(account.allowance(wanted));
            output = output.min(left);
            if output == 0 {
                return Err(Cap::Tokens);
            }
        }
        if let Some(left) = account.money_left() {
            output = output.min(affordable(left.minus(wanted.amount(0).cost), wanted)?);
            if output == 0 {
                return Err(Cap::Cost);
            }
        }
    }
    Ok(output)
}

/// Returns how many output tokens an amount pays for. Without a price nobody knows.
fn affordable(left: Money, wanted: &Wanted) -> Result<u64, Cap> {
    let price = wanted.price.ok_or(Cap::Cost)?;
    if price.output <= 0.0 {
        return Ok(u64::MAX);
    }
    // What is rounded up when it is reserved has to be rounded down here.
    Ok((left.as_micros() as f64 / price.output) as u64)
}

impl State {
    /// Returns the caps of an agent's runs: pinned at its birth.
    pub(crate) fn caps_of(&self, id: &AgentId, limits: &Limits) -> Caps {
        let Some(agent) = self.tree.agent(id) else {
            return Caps::default();
        };
        let usual = if agent.spawned.is_root() {
            limits.root
        } else {
            limits.spawned
        };
        agent.terms().caps.or(usual)
    }

    /// Returns the accounts from an agent up to its root that have a cap on tokens or money.
    fn accounts(&self, id: &AgentId, limits: &Limits) -> Vec<Account> {
        let mut accounts = Vec::new();
        // Whether the host started the agent below: it may have a parent without a run, whose caps
        // hold all the same, from the beginning of that parent's last run on.
        let mut is_of_host = false;
        for id in self.tree.path(id) {
            let caps = self.caps_of(id, limits);
            let agent = self.tree.agent(id);
            let counts = std::mem::replace(
                &mut is_of_host,
                agent.is_some_and(|agent| agent.parent().is_some_and(|parent| parent.host)),
            );
            // What a run above that has settled had left is nobody's any more.
            if let Some(agent) = agent
                && (counts || agent.open_run().is_some())
                && (caps.tokens.is_some() || caps.cost.is_some())
            {
                accounts.push(Account {
                    caps,
                    spent: agent.spent,
                    reserved: self.reserved.0.get(id).copied().unwrap_or_default(),
                });
            }
        }
        accounts
    }

    fn reserve(&mut self, id: &AgentId, amount: Spent) {
        for id in self.tree.path(id) {
            let account = self.reserved.0.entry(id.clone()).or_default();
            account.tokens = account.tokens.saturating_add(amount.tokens);
            account.cost = account.cost.plus(amount.cost);
        }
    }

    fn give_back(&mut self, id: &AgentId, amount: Spent) {
        for id in self.tree.path(id) {
            if let Some(account) = self.reserved.0.get_mut(id) {
                account.tokens = account.tokens.saturating_sub(amount.tokens);
                account.cost = account.cost.minus(amount.cost);
                if *account == Spent::default() {
                    self.reserved.0.remove(id);
                }
            }
        }
    }

    /// Tells whether a cap on money holds for an agent.
    pub(crate) fn counts_money(&self, id: &AgentId, limits: &Limits) -> bool {
        let caps = |id: &AgentId| self.caps_of(id, limits).cost.is_some();
        self.tree.path(id).into_iter().any(caps)
    }

    /// Returns the agents from one up to its root whose caps leave no room for another live
    /// descendant.
    pub(crate) fn is_full(&self, id: &AgentId, limits: &Limits) -> Option<u32> {
        for id in self.tree.path(id) {
            if let Some(cap) = self.caps_of(id, limits).descendants {
                let below = self.tree.below(id).into_iter().skip(1);
                let live = below.filter(|id| {
                    self.tree
                        .agent(id)
                        .is_some_and(|agent| agent.open_run().is_some())
                });
                if live.count() + self.planned_below(id) >= cap as usize {
                    return Some(cap);
                }
            }
        }
        None
    }
}

/// Returns how many bytes a request has, roughly.
pub(crate) fn bytes(prefix: &Prefix, messages: &[RequestMessage]) -> u64 {
    let tool = |tool: &offshoot_types::tool::ToolSpec| {
        tool.description.len() + tool.parameters.as_str().len()
    };
    let fixed = prefix.system.len() + prefix.tools.iter().map(tool).sum::<usize>();
    fixed as u64 + messages.iter().map(message_bytes).sum::<u64>()
}

/// Returns how many bytes a message of a request has, roughly.
pub(crate) fn message_bytes(message: &RequestMessage) -> u64 {
    match message {
        RequestMessage::User(content) => content_bytes(content),
        RequestMessage::Assistant(parts) => parts.iter().map(part_bytes).sum(),
        RequestMessage::Outcomes(outcomes) => {
            outcomes.iter().map(|one| content_bytes(&one.text)).sum()
        }
    }
}

/// Returns how many bytes of text content counts as, roughly: an image costs tokens by its pixels, not
/// by its bytes, and a file counts as the text that is shown of it.
fn content_bytes(content: &Content) -> u64 {
    let part = |part: &Part| match part {
        Part::Image(_) => IMAGE_TOKENS * BYTES_PER_TOKEN,
        Part::File(file) if file.is_text() => file.bytes.min(context::MAX_ITEM_BYTES as u64),
        Part::Text(_) | Part::File(_) | Part::FileReference(_) | Part::ResourceLink(_) => {
            part.note().len() as u64
        }
    };
    content.len() as u64 + content.attachments().map(part).sum::<u64>()
}

/// Returns how many bytes a part of a message has, roughly.
pub(crate) fn part_bytes(part: &AssistantPart) -> u64 {
    let bytes = match part {
        AssistantPart::Text(text) => text.len(),
        AssistantPart::Reasoning(reasoning) => {
            let raw = reasoning.raw.as_ref().map_or(0, |raw| raw.as_str().len());
            reasoning.text.len().max(raw)
        }
        AssistantPart::Call(call) => match &call.arguments {
            Arguments::Json(json) => json.as_str().len(),
            Arguments::Malformed(text) => text.len(),
        },
        AssistantPart::Attached(part) => part.note().len(),
        AssistantPart::Raw(raw) => raw.as_str().len(),
    };
    bytes as u64
}

#[cfg(test)]
mod tests;

//! What of a conversation is kept word for word when the rest becomes a summary (SES-11).
//!
//! The last turns, if they take no more than their part of the context; else the
//! last one; else, since one turn of many steps may be all there is, its last
//! steps. A step is never parted from the outcomes of its calls.

use offshoot_types::id::MessageId;
use offshoot_types::transcript::{Item, Transcript};

use super::Compacting;
use crate::caps::{self, BYTES_PER_TOKEN};
use crate::context;
use crate::narrate::{self, Detail};

/// What stays, and what a summary stands for from now on.
pub(super) struct Tail<'a> {
    /// What the summary stands for.
    pub(super) covered: Vec<&'a Item>,
    /// What is kept word for word.
    pub(super) kept: Vec<&'a Item>,
    /// The first of it.
    pub(super) start: Option<MessageId>,
    /// The message that is being worked on, if it is not kept.
    pub(super) request: Option<String>,
    /// What was kept is less than it should have been.
    pub(super) warning: Option<&'static str>,
}

impl<'a> Tail<'a> {
    /// Keeps nothing.
    pub(super) fn none(transcript: &'a Transcript) -> Self {
        let view = transcript.view();
        let at = view.len();
        Self::at(view, at, None)
    }

    /// Keeps the last turns, as far as they fit. `usable` is the size of the context, in tokens.
    pub(super) fn of(transcript: &'a Transcript, rules: &Compacting, usable: Option<u64>) -> Self {
        let view = transcript.view();
        let (at, warning) = start(&view, rules, usable, &sizes(&view));
        Self::at(view, at, warning)
    }

    /// Says which message is being worked on: it is kept word for word, if not in the tail.
    pub(super) fn working_on(mut self, message: &MessageId) -> Self {
        let is_it = |item: &&&Item| item.id() == message;
        if self.kept.iter().any(|item| is_it(&item)) {
            return self;
        }
        let earlier = self.covered.iter().find_map(|item| match item {
            Item::Compacted(compaction) => compaction.request.clone(),
            Item::User(_) | Item::Completion(_) | Item::Assistant(_) => None,
        });
        let said = self.covered.iter().find(is_it).map(|item| match item {
            Item::User(message) => message.text.described().into_owned(),
            Item::Completion(_) | Item::Assistant(_) | Item::Compacted(_) => {
                let mut text = String::new();
                narrate::push_item(&mut text, item, Detail::All);
                text.trim_end().to_owned()
            }
        });
        self.request = said.or(earlier);
        self
    }

    fn at(view: Vec<&'a Item>, at: usize, warning: Option<&'static str>) -> Self {
        let (covered, kept) = view.split_at(at);
        Self {
            start: kept.first().map(|item| item.id().clone()),
            covered: covered.to_vec(),
            kept: kept.to_vec(),
            request: None,
            warning,
        }
    }

    /// Tells whether the summary stands for anything but an earlier one.
    pub(super) fn has_news(&self) -> bool {
        has_news(&self.covered)
    }
}

/// Returns where the tail begins, and what to say of it. `sizes` has, for every place in the view, how
/// many tokens there are from there on.
fn start(
    view: &[&Item],
    rules: &Compacting,
    usable: Option<u64>,
    sizes: &[u64],
) -> (usize, Option<&'static str>) {
    let budget = match usable {
        Some(usable) => usable.saturating_mul(rules.tail_budget_pct) / 100,
        // A provider found it too long and its context window is unknown: a part of what there is.
        None => sizes[0].saturating_mul(rules.tail_budget_pct) / 100,
    };
    let fits = |at: &usize| sizes[*at] <= budget;
    // A tail that leaves nothing to sum up makes no room.
    let helps = |at: &usize| fits(at) && has_news(&view[..*at]);
    let starts = turn_starts(view);
    let turns = |count: usize| starts.iter().rev().nth(count.checked_sub(1)?).copied();
    if let Some(at) = turns(rules.tail_turns).filter(helps) {
        return (at, None);
    }
    if let Some(at) = turns(1).filter(|at| helps(at) && rules.tail_turns > 0) {
        let warning = (rules.tail_turns > 1).then_some("only the last turn was kept");
        return (at, warning);
    }
    // Of one long turn half at most, so that there is something to gain.
    let half = sizes[0] / 2;
    let steps = (0..view.len()).filter(|at| matches!(view[*at], Item::Assistant(_)));
    let kept = steps.rev().take_while(|at| fits(at) && sizes[*at] <= half);
    let at = kept.last().unwrap_or(view.len());
    let warning = "of the last turn only its last steps were kept";
    (at, Some(warning).filter(|_| rules.tail_turns > 0))
}

/// Tells whether there is anything among items but an earlier summary.
fn has_news(items: &[&Item]) -> bool {
    items.iter().any(|item| !matches!(item, Item::Compacted(_)))
}

/// Returns where turns begin: at whatever came from outside behind an answer.
fn turn_starts(view: &[&Item]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut inside = false;
    for (at, item) in view.iter().enumerate() {
        match item {
            Item::User(_) | Item::Completion(_) => {
                if !inside {
                    starts.push(at);
                }
                inside = true;
            }
            // What is steered into a turn belongs to it: only an answer without calls ends one.
            Item::Assistant(step) => inside = step.message().calls().next().is_some(),
            Item::Compacted(_) => inside = false,
        }
    }
    starts
}

/// Returns how many tokens a request has, roughly, from each item of a view on, and behind the last.
/// Every item is rendered once.
fn sizes(view: &[&Item]) -> Vec<u64> {
    let mut bytes = 0;
    let mut sizes = vec![0];
    for item in view.iter().rev() {
        let mut messages = Vec::new();
        context::push_items(&mut messages, [*item], None);
        bytes += messages.iter().map(caps::message_bytes).sum::<u64>();
        sizes.push(bytes / BYTES_PER_TOKEN);
    }
    sizes.reverse();
    sizes
}

#[cfg(test)]
mod tests;

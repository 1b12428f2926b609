//! What of a conversation is kept word for word when the rest becomes a summary (SES-11).
//!
//! The last turns, if they take no more than their part of the context; else the
//! last one; else, since one turn of many steps may be all there is, its last
//! steps. A step is never parted from the outcomes of its calls.

use offshoot_types::id::MessageId;
use offshoot_types::transcript::{Item, Transcript};

use super::Compacting;
use crate::caps::BYTES_PER_TOKEN;
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
        Self {
            // Between turns nothing is being worked on.
            request: None,
            ..Self::at(view, at, None)
        }
    }

    /// Keeps the last turns, as far as they fit. `usable` is the size of the context, in tokens.
    pub(super) fn of(transcript: &'a Transcript, rules: &Compacting, usable: Option<u64>) -> Self {
        let view = transcript.view();
        let budget = match usable {
            Some(usable) => usable.saturating_mul(rules.tail_budget_pct) / 100,
            // A provider found it too long and nobody knows what it takes: a part of what there is.
            None => size(&view).saturating_mul(rules.tail_budget_pct) / 100,
        };
        let fits = |at: &usize| size(&view[*at..]) <= budget;
        let starts = turn_starts(&view);
        let turns = |count: usize| starts.iter().rev().nth(count.checked_sub(1)?).copied();
        if let Some(at) = turns(rules.tail_turns).filter(fits) {
            return Self::at(view, at, None);
        }
        if let Some(at) = turns(1).filter(|at| fits(at) && rules.tail_turns > 0) {
            let warning = (rules.tail_turns > 1).then_some("only the last turn was kept");
            return Self::at(view, at, warning);
        }
        let steps = (0..view.len()).filter(|at| matches!(view[*at], Item::Assistant(_)));
        let at = steps.rev().take_while(fits).last().unwrap_or(view.len());
        let warning = "of the last turn only its last steps were kept";
        Self::at(view, at, Some(warning).filter(|_| rules.tail_turns > 0))
    }

    fn at(view: Vec<&'a Item>, at: usize, warning: Option<&'static str>) -> Self {
        let (covered, kept) = view.split_at(at);
        let is_user = |item: &&&Item| matches!(item, Item::User(_));
        let request = match kept.iter().any(|item| is_user(&item)) {
            true => None,
            false => covered.iter().rev().find(is_user),
        };
        let request = request.and_then(|item| match item {
            Item::User(message) => Some(message.text.clone()),
            Item::Completion(_) | Item::Assistant(_) | Item::Compacted(_) => None,
        });
        Self {
            start: kept.first().map(|item| item.id().clone()),
            covered: covered.to_vec(),
            kept: kept.to_vec(),
            request,
            warning,
        }
    }

    /// Tells whether the summary stands for anything but an earlier one.
    pub(super) fn has_news(&self) -> bool {
        let is_news = |item: &&Item| !matches!(item, Item::Compacted(_));
        self.covered.iter().any(is_news)
    }
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

/// Returns how many tokens items have, roughly.
fn size(items: &[&Item]) -> u64 {
    let mut text = String::new();
    for item in items {
        narrate::push_item(&mut text, item, Detail::All);
    }
    text.len() as u64 / BYTES_PER_TOKEN
}

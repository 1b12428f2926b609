//! How a conversation becomes a summary, and what is tried when that fails (SES-13, SES-14).
//!
//! A failure that may pass is tried again, and then the conversation stays as it
//! is. What is too long for the summariser is made shorter, rung by rung: without
//! what tools gave back, part after part, without its middle. Only when every rung
//! that is allowed has failed is there nothing left to try.

use offshoot_types::event::Purpose;
use offshoot_types::settlement::{CancelledBy, FailureKind, Settlement, Status};
use offshoot_types::store::StoreError;
use offshoot_types::tier::Tier;
use offshoot_types::transcript::Item;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::caps::BYTES_PER_TOKEN;
use crate::context;
use crate::helper::Helped;
use crate::inherit::Inherited;
use crate::narrate::{self, Detail};

/// Tokens of the summariser's context that are not the conversation's: its prompt.
const OVERHEAD: u64 = 2_000;

/// Tokens of a summary whose agent does not say how long it may be.
const USUAL_SUMMARY: u64 = 8_000;

/// A part that is shorter than this is not worth a summary of its own.
const LEAST_PART: usize = 4 * 1024;

/// Most parts that are summed up one after the other; of what is more, the middle is left out.
const MOST_PARTS: usize = 8;

/// Most bytes of a conversation that are sent at once, whatever a model takes.
const MOST_AT_ONCE: usize = 2 * 1024 * 1024;

/// What came of it.
pub(super) enum Summary {
    /// A summary, and how many tokens it has.
    Done { text: String, tokens: u64 },
    /// None could be had, and why.
    Left(String),
    /// The conversation is too long for everything that may be tried.
    Hopeless(String),
    /// Nobody wants it any more.
    Cancelled,
}

/// What came of asking the summariser once.
enum Asked {
    Done(String, u64),
    TooLong,
    Left(String),
    Cancelled,
}

impl Agent {
    /// Sums up what was said.
    pub(super) async fn sum_up_all(
        &self,
        items: &[&Item],
        cancel: &CancellationToken,
    ) -> Result<Summary, StoreError> {
        let recovery = self.kit.helpers.compaction.smart_recovery;
        let mut text = self.narrated(items, Detail::All);
        let mut most = self.most_at_once();
        if text.len() <= most {
            match self.ask_for_summary(&text, cancel).await? {
                // What nobody knew before: it takes less than this.
                Asked::TooLong => most = text.len() / 2,
                asked @ (Asked::Done(..) | Asked::Left(_) | Asked::Cancelled) => {
                    return Ok(asked.into_summary());
                }
            }
        }
        if recovery.prune_tool_outputs {
            text = self.narrated(items, Detail::WithoutOutputs);
            if text.len() <= most {
                match self.ask_for_summary(&text, cancel).await? {
                    Asked::TooLong => most = most.min(text.len() / 2),
                    asked @ (Asked::Done(..) | Asked::Left(_) | Asked::Cancelled) => {
                        return Ok(asked.into_summary());
                    }
                }
            }
        }
        if recovery.chunked_summarize && most >= LEAST_PART {
            match self.sum_up_in_parts(&text, most, cancel).await? {
                Asked::TooLong => most /= 2,
                asked @ (Asked::Done(..) | Asked::Left(_) | Asked::Cancelled) => {
                    return Ok(asked.into_summary());
                }
            }
        }
        if recovery.drop_middle {
            match self
                .ask_for_summary(&without_middle(&text, most), cancel)
                .await?
            {
                Asked::TooLong => {}
                asked @ (Asked::Done(..) | Asked::Left(_) | Asked::Cancelled) => {
                    return Ok(asked.into_summary());
                }
            }
        }
        let size = text.len() as u64 / BYTES_PER_TOKEN;
        Ok(Summary::Hopeless(format!(
            "the conversation is full and cannot be summed up: it has about {size} tokens, more than \
             the model for that takes; set the tier small to one that takes more, or begin a new session"
        )))
    }

    /// Sums up part after part, each with the summary of those before it.
    async fn sum_up_in_parts(
        &self,
        text: &str,
        most: usize,
        cancel: &CancellationToken,
    ) -> Result<Asked, StoreError> {
        // A summary of what came before goes in front of each.
        let size = most - most / 4;
        // Many parts are many calls, one after the other, and somebody waits.
        let text = &without_middle(text, size.saturating_mul(MOST_PARTS));
        let (mut said, mut tokens) = (String::new(), 0);
        for part in parts(text, size) {
            let so_far = if said.is_empty() {
                String::new()
            } else {
                let said = context::capped(said.clone(), most / 4);
                format!("## in short, what came before\n{said}\n\n")
            };
            match self
                .ask_for_summary(&format!("{so_far}{part}"), cancel)
                .await?
            {
                Asked::Done(text, count) => (said, tokens) = (text, count),
                asked @ (Asked::TooLong | Asked::Left(_) | Asked::Cancelled) => return Ok(asked),
            }
        }
        Ok(Asked::Done(said, tokens))
    }

    /// Asks once, and again after what may pass.
    async fn ask_for_summary(
        &self,
        text: &str,
        cancel: &CancellationToken,
    ) -> Result<Asked, StoreError> {
        let mut tries = self.kit.helpers.compaction.retry_on_transient;
        loop {
            let helped = self.help(Purpose::Compaction, text, cancel).await?;
            let why = match (&helped, helped.text()) {
                (Helped::Done(settlement), Ok(text)) => {
                    return Ok(Asked::Done(text.to_owned(), settlement.usage.output));
                }
                (Helped::Failed(settlement), Err(_)) if is_too_long(settlement) => {
                    return Ok(Asked::TooLong);
                }
                (_, why) => why.err().unwrap_or_default(),
            };
            let stopped = matches!(&helped, Helped::Failed(settlement) if is_stopped(settlement));
            if cancel.is_cancelled() || stopped {
                return Ok(Asked::Cancelled);
            }
            if tries == 0 || !may_pass(&helped) {
                return Ok(Asked::Left(why));
            }
            tries -= 1;
        }
    }

    fn narrated(&self, items: &[&Item], detail: Detail) -> String {
        let mut text = String::new();
        if let Some(inherited) = self.inherited_for(items) {
            inherited.narrate(&mut text, detail);
        }
        for item in items {
            narrate::push_item(&mut text, item, detail);
        }
        text
    }

    /// Returns what it sees of the conversation above, unless a summary stands for that already.
    pub(super) fn inherited_for(&self, view: &[&Item]) -> Option<&Inherited> {
        let inherited = self.inherited.as_deref();
        inherited.filter(|_| !context::is_shortened(view.iter().copied()))
    }

    /// Returns how many bytes of a conversation the summariser takes at once.
    fn most_at_once(&self) -> usize {
        let manifest = self.kit.registry.get(Purpose::Compaction.agent());
        let choices = &self.kit.helpers.models;
        let session = self.session_model();
        let own = manifest.and_then(|manifest| choices.named(manifest, &session));
        let name = own.or(choices.tier(Tier::Small)).unwrap_or(&self.model);
        let window = self
            .kit
            .models
            .find(name)
            .ok()
            .and_then(|model| model.window());
        let Some(window) = window else {
            return MOST_AT_ONCE;
        };
        let longest = manifest.and_then(|manifest| manifest.max_output_tokens);
        // Of a small window half is still for the conversation: a summary of nothing helps nobody.
        let kept = longest.map_or(USUAL_SUMMARY, u64::from) + OVERHEAD;
        let kept = kept.min(window / 2);
        let bytes = window.saturating_sub(kept).saturating_mul(BYTES_PER_TOKEN);
        usize::try_from(bytes).map_or(MOST_AT_ONCE, |bytes| bytes.min(MOST_AT_ONCE))
    }
}

impl Asked {
    fn into_summary(self) -> Summary {
        match self {
            Self::Done(text, tokens) => Summary::Done { text, tokens },
            Self::Left(why) => Summary::Left(why),
            Self::Cancelled => Summary::Cancelled,
            Self::TooLong => Summary::Hopeless("it is too long to be summed up".to_owned()),
        }
    }
}

fn is_too_long(settlement: &Settlement) -> bool {
    matches!(
        &settlement.status,
        Status::Failed {
            kind: FailureKind::TooLong,
            ..
        }
    )
}

fn is_stopped(settlement: &Settlement) -> bool {
    matches!(
        settlement.status,
        Status::Cancelled(CancelledBy::Shutdown | CancelledBy::User)
    )
}

/// Tells whether a failure may pass.
fn may_pass(helped: &Helped) -> bool {
    match helped {
        Helped::Done(_) | Helped::Missing(_) => false,
        Helped::Failed(settlement) => match &settlement.status {
            Status::Failed { kind, .. } => match kind {
                FailureKind::Model | FailureKind::RateLimited => true,
                FailureKind::TooLong | FailureKind::Config | FailureKind::Internal => false,
            },
            Status::Completed | Status::Partial(_) => true,
            Status::Cancelled(_)
            | Status::BudgetExhausted(_)
            | Status::Denied { .. }
            | Status::Lost { .. } => false,
        },
    }
}

/// Cuts a text into parts of about a size, where lines end if they do.
fn parts(text: &str, size: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while rest.len() > size {
        let most = rest.floor_char_boundary(size.max(4));
        let at = rest[..most].rfind("\n\n").map_or(most, |at| at + 2);
        let (part, after) = rest.split_at(at);
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

/// Keeps the beginning and the end of a text.
fn without_middle(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let head = &text[..text.floor_char_boundary(half)];
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    let gone = text.len() - head.len() - tail.len();
    format!("{head}\n\n[{gone} bytes left out]\n\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::{parts, without_middle};

    #[test]
    fn parts_are_no_longer_than_they_may_be_and_lose_nothing() {
        let text = "äöü one\n\ntwo two two\n\nthree\n\n".repeat(20);
        for size in [4, 7, 30, 1000] {
            let parts = parts(&text, size);
            assert!(parts.iter().all(|part| part.len() <= size), "{size}");
            assert_eq!(parts.concat(), text);
        }
    }

    #[test]
    fn the_middle_is_left_out_where_it_may_not_break_a_letter() {
        let text = "ä".repeat(100);
        let short = without_middle(&text, 51);
        assert!(short.starts_with("ää") && short.ends_with("ää"), "{short}");
        assert!(short.contains("bytes left out]"));
        assert_eq!(without_middle("short", 51), "short");
    }
}

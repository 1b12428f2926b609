//! Hooks about what people say, before it is in the log.
//!
//! A message that is refused never lands, so no model ever sees it. What hooks
//! add to one stands behind its words, marked: it goes where the message goes,
//! also when that is copied, taken back or summed up.

use offshoot_types::event::Hooked;
use offshoot_types::hook::{Hooks, Occasion, Point, What, Who, Word};
use tokio_util::sync::CancellationToken;

use super::{Caller, Heard, call};

/// What whoever sent a message is told if its agent was stopped meanwhile.
pub(crate) const STOPPED: &str = "it was stopped before its hooks had answered";

/// What hooks have said to a message.
#[derive(Debug, Default)]
pub(crate) struct Reception {
    /// What each did.
    pub(crate) hooked: Vec<Hooked>,
    /// Why it is not taken.
    pub(crate) refused: Option<String>,
    /// What hooks said of the start of the session: for the next message, if this one is not taken.
    pub(crate) unsaid: Vec<String>,
}

/// Whether the session is taken up with this message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// It was before.
    Under,
    /// For the first time ever.
    New,
    /// It has been at work before, in this process or another.
    Again,
}

/// Tells whether hooks want to hear of messages, or of sessions that begin with them.
pub(crate) fn is_watched(hooks: &Hooks, start: Start) -> bool {
    let begins = start != Start::Under && hooks.is_watched(Point::SessionStart);
    begins || hooks.is_watched(Point::UserPromptSubmit)
}

/// Shows hooks what a person says; what they add is put behind it, and what they said of the start of
/// the session and is `unsaid` before it.
pub(crate) async fn receive(
    caller: Caller<'_>,
    who: Who,
    start: Start,
    mut unsaid: Vec<String>,
    text: &mut String,
    cancel: &CancellationToken,
) -> Reception {
    let mut heard = Heard::default();
    if start != Start::Under {
        let resumes = start == Start::Again;
        let occasion = Occasion {
            who: who.clone(),
            what: What::SessionStart { resumes },
        };
        heard = call(caller, &occasion, cancel).await;
        // That a session begins cannot be refused; that it goes no further can.
        if matches!(heard.word, Word::Deny { .. }) {
            heard.word = Word::Nothing;
        }
        unsaid.append(&mut heard.contexts);
    }
    let prompt = text.clone();
    let what = What::UserPromptSubmit { prompt };
    heard.add(call(caller, &Occasion { who, what }, cancel).await);
    let refused = match &heard.word {
        _ if heard.cancelled || cancel.is_cancelled() => Some(STOPPED.to_owned()),
        Word::Nothing | Word::Ask { .. } => None,
        Word::Deny { .. } | Word::Stop { .. } => {
            Some(format!("it was refused by {}", heard.reason()))
        }
    };
    for context in unsaid.iter().chain(&heard.contexts) {
        text.push_str("\n\n");
        text.push_str(context);
    }
    Reception {
        hooked: heard.hooked,
        refused,
        unsaid,
    }
}

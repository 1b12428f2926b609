//! The hooks of the program that hosts a session, the only ones that rewrite (ruling 3).
//!
//! The host is asked first: what it rewrites is what schemas, rules, hooks and people then
//! judge. The log keeps what the model said; a `Hooked` entry keeps the arguments that a
//! call runs with, so that a later process judges and runs those. A host that fails denies
//! a call, refuses a prompt and leaves an outcome as it is. It holds no slot.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use offshoot_types::client_tool::MAX_RESULT_BYTES;
use offshoot_types::content::Content;
use offshoot_types::event::{Did, Event, Hooked};
use offshoot_types::hook::{CallPermission, CallReply, HostHooks, Point, PromptReply, Use, Who};
use offshoot_types::id::CallId;
use offshoot_types::message::{Arguments, AssistantMessage, Call, MAX_PROMPT_BYTES};
use offshoot_types::outcome::{Body, Outcome};
use offshoot_types::transcript::Transcript;
use tokio_util::sync::CancellationToken;

use super::calls::{Rulings, used};
use super::prompts::STOPPED;
use super::{MOST_OF_REASON, bounded_call, who};
use crate::agent::Agent;
use crate::ask;
use crate::context::{self, Prefix};
use crate::update::Activity;

/// What the log calls the hook of the host.
const NAME: &str = "host";

/// What the host says to a prompt.
#[derive(Default)]
pub(super) struct PromptHeard {
    pub(super) hooked: Option<Hooked>,
    pub(super) refused: Option<String>,
}

/// Asks the host about a person's prompt, and rewrites it as the host says.
pub(super) async fn receive(
    hooks: &Arc<dyn HostHooks>,
    grace: Duration,
    who: &Who,
    content: &mut Content,
    cancel: &CancellationToken,
) -> PromptHeard {
    let ask = |signal| hooks.on_prompt(who.clone(), content.as_str().to_owned(), signal);
    let replied = bounded_call(hooks.limit(), grace, cancel, ask).await;
    let Some(replied) = replied else {
        return PromptHeard {
            hooked: None,
            refused: Some(STOPPED.to_owned()),
        };
    };
    let replied = replied.flatten().and_then(check_prompt);
    let (did, reason) = match replied {
        Ok(PromptReply::Keep) => return PromptHeard::default(),
        Ok(PromptReply::Rewrite(rewritten)) => {
            // What goes with the words stays.
            let attached: Vec<_> = content.attachments().cloned().collect();
            *content = Content::from(rewritten);
            attached.into_iter().for_each(|part| content.push(part));
            let hooked = Hooked {
                note: Some("rewrote the prompt".to_owned()),
                ..hooked(Point::UserPromptSubmit, None, Did::Passed)
            };
            return PromptHeard {
                hooked: Some(hooked),
                refused: None,
            };
        }
        Ok(PromptReply::Refuse { reason }) => {
            let reason = context::capped(reason, MOST_OF_REASON);
            let did = Did::Refused {
                reason: reason.clone(),
            };
            (did, reason)
        }
        Err(why) => failed(why),
    };
    PromptHeard {
        hooked: Some(hooked(Point::UserPromptSubmit, None, did)),
        refused: Some(format!("it was refused by {}: {reason}", ask::HOST)),
    }
}

/// Returns the last message of a conversation with the arguments that its calls run with.
pub(crate) fn last_reply_as_run<'a>(
    transcript: &Transcript,
    log: impl Iterator<Item = &'a Event>,
) -> Option<AssistantMessage> {
    let mut message = transcript.last_reply()?.clone();
    for event in log {
        if let Event::Hooked(hooked) = event
            && let Some((call, arguments)) = hooked.rewritten()
        {
            message.rewrite_call(call, arguments);
        }
    }
    Some(message)
}

/// Returns the calls of a message that have no outcome.
pub(crate) fn open_calls<'a>(
    transcript: &Transcript,
    message: &'a AssistantMessage,
) -> Vec<&'a Call> {
    let is_open = |call: &&Call| transcript.open_calls().any(|open| open.id == call.id);
    message.calls().filter(is_open).collect()
}

impl Agent {
    /// Asks the host about the calls of a message. Returns the message with the arguments that its calls
    /// run with, and what the host said; nothing if the host has no hooks.
    pub(crate) async fn ask_host(
        &self,
        prefix: &Prefix,
        message: &AssistantMessage,
        cancel: &CancellationToken,
    ) -> Option<(AssistantMessage, Rulings)> {
        let (hooks, who) = self.host()?;
        self.set_activity(Activity::Hooks(Point::PreToolUse));
        let is_offered = |call: &&Call| {
            let is_json = matches!(call.arguments, Arguments::Json(_));
            let is_known = prefix.find(&call.tool).is_some();
            is_json && is_known && !prefix.withheld.contains(&call.tool)
        };
        let grace = self.board.limits.grace;
        let who = &who;
        let asked = message.calls().filter(is_offered).map(|call| async move {
            let ask = |signal| hooks.on_call(who.clone(), used(call), signal);
            let replied = bounded_call(hooks.limit(), grace, cancel, ask).await;
            (&call.id, replied.map(Result::flatten))
        });
        let mut as_run = message.clone();
        let mut rulings = Rulings::default();
        for (call, replied) in join_all(asked).await {
            match replied {
                None => rulings.cancel(call),
                Some(Ok(reply)) => take(call, reply, &mut as_run, &mut rulings),
                Some(Err(why)) => {
                    let (did, reason) = failed(why);
                    rulings.note(hooked(Point::PreToolUse, Some(call), did));
                    rulings.deny_by_host(call, reason);
                }
            }
        }
        Some((as_run, rulings))
    }

    /// Asks the host about an outcome that is to be stored. Returns the outcome that takes its place, and
    /// what the hook did.
    pub(crate) async fn show_host(
        &self,
        used: Use,
        outcome: &Outcome,
        cancel: &CancellationToken,
    ) -> (Option<Outcome>, Option<Hooked>) {
        let Some((hooks, who)) = self.host() else {
            return (None, None);
        };
        let call = used.call.clone();
        let ask = |signal| hooks.on_outcome(who, used, outcome.clone(), signal);
        let grace = self.board.limits.grace;
        let replied = bounded_call(hooks.limit(), grace, cancel, ask).await;
        let stopped = || Err("the turn was stopped before it answered".to_owned());
        let replied = replied.map_or_else(stopped, Result::flatten);
        let point = if outcome.is_error() {
            Point::PostToolUseFailure
        } else {
            Point::PostToolUse
        };
        match replied.and_then(check_outcome) {
            Ok(None) => (None, None),
            Ok(Some(replaced)) => {
                let hooked = Hooked {
                    note: Some("replaced the outcome".to_owned()),
                    ..hooked(point, Some(&call), Did::Passed)
                };
                let took = outcome.metadata.duration_ms;
                (Some(replaced.took(took)), Some(hooked))
            }
            Err(why) => {
                let (did, _) = failed(why);
                (None, Some(hooked(point, Some(&call), did)))
            }
        }
    }

    /// Returns the hooks of the session's host and whom they are told of; nothing for an agent that works
    /// for the runtime.
    fn host(&self) -> Option<(&Arc<dyn HostHooks>, Who)> {
        let hooks = self.kit.host_hooks.as_ref()?;
        let who = who(&self.board.state(), &self.id)?;
        Some((hooks, who))
    }
}

/// Takes what the host says of one call.
fn take(call: &CallId, reply: CallReply, as_run: &mut AssistantMessage, rulings: &mut Rulings) {
    let CallReply {
        arguments,
        permission,
    } = reply;
    match permission {
        CallPermission::Deny { reason } => {
            let reason = context::capped(reason, MOST_OF_REASON);
            let did = Did::Refused {
                reason: reason.clone(),
            };
            rulings.note(hooked(Point::PreToolUse, Some(call), did));
            return rulings.deny_by_host(call, reason);
        }
        CallPermission::Allow => rulings.allow_by_host(call),
        CallPermission::Unanswered => {}
    }
    if let Some(arguments) = arguments {
        as_run.rewrite_call(call, &arguments);
        rulings.note(Hooked {
            note: Some("rewrote the arguments".to_owned()),
            arguments: Some(arguments),
            ..hooked(Point::PreToolUse, Some(call), Did::Passed)
        });
    }
}

/// Returns the entry of a hook that failed, and what is said of it.
fn failed(why: String) -> (Did, String) {
    let why = context::capped(why, MOST_OF_REASON);
    let reason = format!("its hook failed: {why}");
    (Did::Failed { why }, reason)
}

fn hooked(point: Point, call: Option<&CallId>, did: Did) -> Hooked {
    Hooked {
        hook: NAME.to_owned(),
        point,
        call: call.cloned(),
        did,
        note: None,
        context: None,
        arguments: None,
        by_host: true,
    }
}

fn check_prompt(reply: PromptReply) -> Result<PromptReply, String> {
    match &reply {
        PromptReply::Rewrite(text) if text.len() > MAX_PROMPT_BYTES => Err(format!(
            "the rewritten prompt has {} bytes; at most {MAX_PROMPT_BYTES} are taken",
            text.len()
        )),
        PromptReply::Keep | PromptReply::Rewrite(_) | PromptReply::Refuse { .. } => Ok(reply),
    }
}

fn check_outcome(replaced: Option<Outcome>) -> Result<Option<Outcome>, String> {
    let bytes = replaced.as_ref().map_or(0, |outcome| match &outcome.body {
        Body::Output(data) => data.as_str().len(),
        Body::Error { text, .. } => text.len(),
    });
    if bytes > MAX_RESULT_BYTES {
        return Err(format!(
            "the replaced outcome has {bytes} bytes; at most {MAX_RESULT_BYTES} are stored"
        ));
    }
    Ok(replaced)
}

//! What a request looks like to a rule, and whether a rule is about it.
//!
//! Looks at the end of the conversation: the last user-side message, and the
//! outcomes when they are what came last. Knows nothing of `times`, which is not
//! a property of the request.

use std::fmt;

use offshoot_types::model::{Asker, CallOutcome, Request, RequestMessage, ToolChoice};

use super::file::{ResultRule, Rule};

const HEAD: usize = 60;

/// A request, as rules see it.
pub(super) struct Situation<'a> {
    pub(super) from: &'a Asker,
    /// The last user-side message; empty when there is none.
    pub(super) prompt: &'a str,
    /// What answered the last message's calls, when that is what came last.
    pub(super) outcomes: Option<&'a [CallOutcome]>,
    pub(super) may_call: bool,
    messages: &'a [RequestMessage],
}

impl<'a> Situation<'a> {
    pub(super) fn of(request: &'a Request) -> Self {
        let messages = &request.messages;
        let prompt = messages.iter().rev().find_map(|message| match message {
            RequestMessage::User(text) => Some(text.as_str()),
            RequestMessage::Assistant(_) | RequestMessage::Outcomes(_) => None,
        });
        let outcomes = match messages.last() {
            Some(RequestMessage::Outcomes(outcomes)) => Some(outcomes.as_slice()),
            Some(RequestMessage::User(_) | RequestMessage::Assistant(_)) | None => None,
        };
        Self {
            from: &request.from,
            prompt: prompt.unwrap_or_default(),
            outcomes,
            may_call: match request.choice {
                ToolChoice::Auto => true,
                ToolChoice::None => false,
            },
            messages,
        }
    }

    /// Tells whether all that a rule asks for is so.
    pub(super) fn meets(&self, rule: &Rule) -> bool {
        let Asker {
            definition,
            depth,
            step,
            ..
        } = self.from;
        is_or_any(rule.agent.as_ref(), definition)
            && is_or_any(rule.depth.as_ref(), depth)
            && is_or_any(rule.step.map(|step| step.get()).as_ref(), step)
            && is_or_any(rule.prompt_is.as_deref(), self.prompt)
            && is_or_any(rule.after_tools.as_ref(), &self.outcomes.is_some())
            && is_or_any(rule.may_call.as_ref(), &self.may_call)
            && rule
                .prompt
                .as_ref()
                .is_none_or(|part| self.prompt.contains(part))
            && rule.seen.iter().all(|text| self.was_told(text))
            && rule.results.iter().all(|result| self.has(result))
    }

    fn has(&self, result: &ResultRule) -> bool {
        let mut outcomes = self.outcomes.unwrap_or_default().iter();
        outcomes.any(|outcome| {
            is_or_any(result.tool.as_ref(), &outcome.tool)
                && is_or_any(result.failed.as_ref(), &outcome.failed)
                && result
                    .contains
                    .as_ref()
                    .is_none_or(|part| outcome.text.contains(part))
        })
    }

    /// Tells whether the user's side or a tool ever said it.
    fn was_told(&self, text: &str) -> bool {
        self.messages.iter().any(|message| match message {
            RequestMessage::User(said) => said.contains(text),
            RequestMessage::Outcomes(outcomes) => {
                outcomes.iter().any(|outcome| outcome.text.contains(text))
            }
            RequestMessage::Assistant(_) => false,
        })
    }
}

fn is_or_any<T: PartialEq + ?Sized>(wanted: Option<&T>, found: &T) -> bool {
    wanted.is_none_or(|wanted| wanted == found)
}

/// For people: who asks, at which step, after what.
impl fmt::Display for Situation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Asker {
            definition,
            depth,
            step,
            ..
        } = self.from;
        let mut head: String = self.prompt.chars().take(HEAD).collect();
        if head.len() < self.prompt.len() {
            head.push('…');
        }
        write!(
            f,
            "agent `{definition}` (depth {depth}) at step {step}, prompt {head:?}"
        )?;
        if let Some(outcomes) = self.outcomes {
            let tools: Vec<&str> = outcomes
                .iter()
                .map(|outcome| outcome.tool.as_str())
                .collect();
            write!(f, ", after the outcomes of {}", tools.join(", "))?;
        }
        Ok(())
    }
}

//! What an agent asks a person, and what the person may say.
//!
//! One at a time, with the path of who asks. An answer is a word of its own line:
//! a message that happens to begin with y is not a yes.

use std::collections::VecDeque;

use offshoot_types::command::Verdict;
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::permission::Need;
use offshoot_types::tree::Tree;

use super::line::{Line, Tone};
use crate::render;

/// Most characters of one need that are shown.
const MOST: usize = 400;

/// What waits for an answer, first come first.
#[derive(Default)]
pub(crate) struct Open(VecDeque<Ask>);

/// One thing that is asked.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) agent: AgentId,
    pub(crate) call: CallId,
    /// From the root down to who asks.
    path: String,
    tool: String,
    needs: Vec<Need>,
}

impl Open {
    /// Takes an entry; `tree` is as it was before it, `about` says what a call is about.
    pub(crate) fn entry<'a>(
        &mut self,
        tree: &Tree,
        entry: &Entry,
        about: impl Fn(&CallId) -> Option<&'a str>,
    ) {
        let agent = &entry.agent;
        match &entry.event {
            Event::Asked { call, needs, .. } => self.0.push_back(Ask {
                agent: agent.clone(),
                call: call.clone(),
                path: path(tree, agent),
                tool: about(call).unwrap_or("a call").to_owned(),
                needs: needs.clone(),
            }),
            Event::Decided { call, .. } | Event::CallFinished { call, .. } => {
                self.0
                    .retain(|ask| ask.agent != *agent || ask.call != *call);
            }
            Event::TurnEnded { .. } | Event::Settled { .. } => {
                self.0.retain(|ask| ask.agent != *agent);
            }
            Event::Spawned(_)
            | Event::Prompted(_)
            | Event::Completion { .. }
            | Event::TurnStarted { .. }
            | Event::Replied(_)
            | Event::CallStarted { .. } => {}
        }
    }

    /// Returns what is to be answered now.
    pub(crate) fn first(&self) -> Option<&Ask> {
        self.0.front()
    }

    /// Takes away what has just been answered.
    pub(crate) fn answered(&mut self) -> Option<Ask> {
        self.0.pop_front()
    }

    /// Returns the lines that ask, above the line that answers.
    pub(crate) fn lines(&self, width: usize) -> Vec<Line> {
        let Some(ask) = self.0.front() else {
            return Vec::new();
        };
        let mut head = Line::of(Tone::Ask, &ask.path).and(Tone::Plain, " asks");
        if self.0.len() > 1 {
            head.push(Tone::Dim, &format!(" (1 of {})", self.0.len()));
        }
        let mut lines = head.wrap(width, "  ");
        lines.extend(Line::of(Tone::Bold, &ask.tool).wrap(width, "  "));
        for need in ask
            .needs
            .iter()
            .filter(|need| !ask.tool.ends_with(need.target.trim()))
        {
            let target: String = need.target.chars().take(MOST).collect();
            let line = Line::of(Tone::Dim, &format!("  needs {}: ", need.capability));
            lines.extend(line.and(Tone::Plain, &target).wrap(width, "    "));
        }
        let hint = "y once, s for this session, n or n REASON to deny";
        lines.extend(Line::of(Tone::Dim, hint).wrap(width, "  "));
        lines
    }
}

/// Returns who asks, from the root down.
fn path(tree: &Tree, agent: &AgentId) -> String {
    let mut names = Vec::new();
    let mut at = Some(agent.clone());
    while let Some(id) = at {
        let Some(found) = tree.agent(&id) else {
            break;
        };
        let definition = &found.spawned.definition;
        names.push(match found.parent() {
            Some(_) => format!("{definition} {}", render::short(&id)),
            None => definition.clone(),
        });
        at = found.parent().map(|parent| parent.agent.clone());
    }
    names.reverse();
    names.join(" > ")
}

/// Reads an answer; `None` for what is none.
pub(crate) fn verdict(text: &str) -> Option<Verdict> {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let word = word.trim_end_matches([',', ':', '.']).to_lowercase();
    match (word.as_str(), rest.trim()) {
        ("y" | "yes", "") => Some(Verdict::Once),
        ("s" | "session", "") => Some(Verdict::Session),
        ("n" | "no", reason) => Some(Verdict::Deny {
            reason: reason.to_owned(),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_word_is_an_answer() {
        let no = |reason: &str| {
            Some(Verdict::Deny {
                reason: reason.to_owned(),
            })
        };
        assert_eq!(verdict(" y "), Some(Verdict::Once));
        assert_eq!(verdict("Yes"), Some(Verdict::Once));
        assert_eq!(verdict("session"), Some(Verdict::Session));
        assert_eq!(verdict("n"), no(""));
        assert_eq!(verdict("no, use the other file"), no("use the other file"));
        for text in ["", "yes please", "yolo", "sure", "please continue", "s y"] {
            assert_eq!(verdict(text), None, "{text}");
        }
    }
}

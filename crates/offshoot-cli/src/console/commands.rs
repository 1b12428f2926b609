//! What a person types in a conversation that is no message: `/help` and its like.
//!
//! A word that begins with a slash and has no other is meant for the console; a
//! path is not. What cannot be done is said at once, and nothing is sent.

use offshoot_types::message::MAX_PROMPT_BYTES;

use super::{Console, Input, Offered};
use crate::definitions;

/// The words that there are.
const WORDS: [&str; 8] = [
    "/agent", "/title", "/summary", "/compact", "/cancel", "/quit", "/exit", "/help",
];

/// What there is.
const HELP: &str = "/agent NAME, /title TEXT, /summary, /compact, /cancel (Ctrl-C), /quit (Ctrl-D); \
                    anything else is a message";

/// Tells whether a line is a word to the console, and one that there is.
pub(super) fn is_one(text: &str) -> bool {
    let word = text.split_whitespace().next();
    word.is_some_and(|word| WORDS.contains(&word))
}

impl Console {
    /// Takes a line of the conversation: a message, or a word to the console.
    pub(super) fn said(&mut self, text: &str) -> Option<Input> {
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match (word, rest.trim()) {
            ("", _) => None,
            ("/quit" | "/exit", _) => Some(Input::Quit),
            ("/cancel", _) => Some(Input::Cancel),
            ("/agent", name) => {
                let hint = self.turn_to(name);
                self.hint(&hint);
                None
            }
            ("/title", "") => {
                self.hint("/title TEXT names this session");
                None
            }
            ("/title", title) => Some(Input::Title(title.to_owned())),
            ("/summary", _) => Some(Input::Summary),
            ("/compact", _) => Some(Input::Compact),
            ("/help", _) => {
                self.hint(HELP);
                None
            }
            (word, _) if word.starts_with('/') && !word[1..].contains('/') => {
                self.hint(&format!("Unknown command {word}. Type /help for a list."));
                None
            }
            _ if text.len() > MAX_PROMPT_BYTES => {
                let size = text.len();
                self.hint(&format!(
                    "the message has {size} bytes, and at most {MAX_PROMPT_BYTES} are taken"
                ));
                None
            }
            _ => {
                let agent = self.next.take();
                // Until the log says so.
                self.speaker = agent.clone().or(self.speaker.take());
                Some(Input::Say {
                    text: text.to_owned(),
                    agent,
                })
            }
        }
    }

    /// Has another agent take the next message; returns what is said to that.
    fn turn_to(&mut self, name: &str) -> String {
        let Offered {
            startable,
            others,
            helpers,
            barred,
        } = &self.agents;
        let is = |known: &String| known == name;
        let choices = startable.join(", ");
        if name.is_empty() {
            return format!("/agent NAME has another agent go on; there are: {choices}");
        }
        if helpers.iter().any(is) {
            return definitions::helps(name, &choices);
        }
        if others.iter().any(is) {
            return format!(
                "agent {name} is started by other agents only; choose one of: {choices}"
            );
        }
        if let Some((_, why)) = barred.iter().find(|(barred, _)| barred == name) {
            return why.clone();
        }
        if !startable.iter().any(is) {
            return format!("there is no agent {name}; there are: {choices}");
        }
        self.next = Some(name.to_owned());
        format!("{name} takes your next message and goes on from there")
    }
}

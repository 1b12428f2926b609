//! What an agent asks a person, and what the person may say.
//!
//! One at a time, with the path of who asks, and never taller than the window: of
//! what is too long the middle is left out, and said to be. An answer is a word of
//! its own line: a message that happens to begin with y is not a yes.

mod elsewhere;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use offshoot_types::command::Verdict;
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::permission::{Need, Reach};
use offshoot_types::question::Question;
use offshoot_types::tree::Tree;

use self::elsewhere::Sent;
pub(crate) use self::elsewhere::Taken;
use super::about::{About, Changed};
use super::line::{Line, TAB, Tone};
use crate::inbox::words;
use crate::render;

/// The keys for a request about files; `a` and `s` reach as far as they say.
const WORDS_FOR_FILES: &str = "[y] once  all files of the folder: [a] for this agent  [s] for this session  \
                               [n reason] deny";

/// The keys for any other request; `a` and `s` allow the same again.
const WORDS: &str = "[y] once  [a] always for this agent  [s] for this session  [n reason] deny";

/// The keys for a hook's question: no answer to one call is one to the next.
const WORDS_FOR_HOOKS: &str = "a hook asks, of this call only: [y] once  [n reason] deny";

/// What can be said to a question.
const WORDS_FOR_CHOICES: &str =
    "your answer, or the number of a choice; - or - REASON to answer nothing of it";

/// What can be said to a question that offers no choices.
const WORDS_FOR_QUESTIONS: &str = "your answer; - or - REASON to answer nothing of it";

/// What can be said to a question that takes several answers.
const WORDS_FOR_SEVERAL: &str =
    "your answers, or numbers of choices, with commas; - or - REASON to answer nothing of it";

/// What can be said as well to what is too long for the window.
const MORE_WORDS: &str = "  [v] see all of it";

/// What can be said, for a window that has no room for more: each is one row of twenty columns.
const SHORT_WORDS: &str = "y/a/s/n? v shows all";
const SHORT_WORDS_FOR_HOOKS: &str = "y/n? v shows all";
const SHORT_WORDS_FOR_QUESTIONS: &str = "answer, or - to skip";

/// Fewest rows that say something of what is long: its start, how much is hidden, its end.
const FEWEST: usize = 3;

/// Most characters of what something is about, where it is only named.
const MOST_OF_WHAT: usize = 120;

/// What waits for an answer, first come first.
#[derive(Default)]
pub(crate) struct Open {
    asks: VecDeque<Ask>,
    /// How many were ever asked.
    asked: u64,
    /// What was answered here.
    sent: Sent,
}

/// Tells one thing that was asked from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Ticket {
    pub(crate) const fn new(number: u64) -> Self {
        Self(number)
    }
}

/// One thing that is asked.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) ticket: Ticket,
    pub(crate) agent: AgentId,
    pub(crate) call: CallId,
    /// From the root down to who asks.
    path: String,
    about: About,
    needs: Vec<Need>,
    /// How far a yes for more than this call reaches.
    reach: Reach,
    questions: Vec<Question>,
    /// What was said to those of them that were answered.
    said: Vec<Vec<String>>,
    /// What is asked, set in so many columns: it may be long, and is painted often.
    set: Option<(usize, Vec<Line>)>,
}

impl Open {
    /// Takes an entry; `tree` is as it was before it, `about` says what a call is about. Returns what
    /// is to be said of something that was asked here and answered elsewhere.
    pub(crate) fn entry<'a>(
        &mut self,
        tree: &Tree,
        entry: &Entry,
        about: impl Fn(&CallId) -> Option<&'a About>,
    ) -> Option<String> {
        let agent = &entry.agent;
        match &entry.event {
            // No person at this terminal can carry it out.
            Event::Asked {
                waits_for_client: true,
                ..
            } => {}
            Event::Asked {
                call,
                needs,
                decision,
                questions,
                ..
            } => {
                self.asked += 1;
                self.asks.push_back(Ask {
                    ticket: Ticket::new(self.asked),
                    agent: agent.clone(),
                    call: call.clone(),
                    path: path(tree, agent),
                    about: about(call).cloned().unwrap_or_else(|| About {
                        brief: "a call".to_owned(),
                        change: Vec::new(),
                    }),
                    needs: needs.clone(),
                    reach: decision.reach(),
                    questions: questions.clone(),
                    said: Vec::new(),
                    set: None,
                });
            }
            Event::Decided {
                call,
                decision,
                grant,
                ..
            } => {
                let ask = self.take(agent, call);
                let what = ask.as_ref().map(Ask::what);
                return self
                    .sent
                    .decided((agent, call), what, (decision, grant.as_ref()));
            }
            Event::CallFinished { call, outcome, .. } => {
                let ask = self.take(agent, call);
                let question = ask.filter(|ask| !ask.questions.is_empty());
                let what = question.as_ref().map(Ask::what);
                return self.sent.finished((agent, call), what, outcome);
            }
            Event::TurnEnded { .. } | Event::Settled { .. } => {
                self.asks.retain(|ask| ask.agent != *agent);
            }
            Event::Spawned(_)
            | Event::Prompted(_)
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::ClientTools { .. }
            | Event::RoleChosen(_)
            | Event::Hooked(_)
            | Event::Compacted(_)
            | Event::Rewound { .. }
            | Event::Became(_)
            | Event::Steered { .. }
            | Event::Completion { .. }
            | Event::TurnStarted { .. }
            | Event::Replied(_)
            | Event::CallStarted { .. } => {}
        }
        None
    }

    fn take(&mut self, agent: &AgentId, call: &CallId) -> Option<Ask> {
        let is_it = |ask: &Ask| ask.agent == *agent && ask.call == *call;
        let at = self.asks.iter().position(is_it)?;
        self.asks.remove(at)
    }

    /// Takes that an answer given here came too late, or was taken; returns what is to be said of it.
    pub(crate) fn answered(
        &mut self,
        agent: &AgentId,
        call: &CallId,
        taken: Taken,
    ) -> Option<String> {
        self.sent.answered((agent, call), taken)
    }

    /// Returns what is to be answered now.
    pub(crate) fn first(&self) -> Option<Ticket> {
        Some(self.asks.front()?.ticket)
    }

    /// Takes a line that answers what is asked now.
    pub(crate) fn hear(&mut self, text: &str) -> Heard {
        let Some(ask) = self.asks.front_mut() else {
            return Heard::Nothing;
        };
        match ask.hear(text) {
            None => Heard::Nothing,
            Some(None) => Heard::More,
            Some(Some(verdict)) => {
                self.sent.push(ask, &verdict);
                let (agent, call) = (ask.agent.clone(), ask.call.clone());
                self.asks.pop_front();
                Heard::Answer(agent, call, verdict)
            }
        }
    }

    /// Tells whether what is asked now is a question.
    pub(crate) fn is_question(&self) -> bool {
        let front = self.asks.front();
        front.is_some_and(|ask| ask.question().is_some())
    }

    /// Tells whether it is a hook that has somebody asked now.
    pub(crate) fn is_of_hook(&self) -> bool {
        self.asks.front().is_some_and(Ask::is_of_hook)
    }

    /// Returns the lines that ask, above the line that answers: at most so many rows of a window.
    pub(crate) fn lines(&mut self, width: usize, rows: usize) -> Vec<Line> {
        let many = self.asks.len();
        let Some(ask) = self.asks.front_mut() else {
            return Vec::new();
        };
        let mut head = ask.head(many, width);
        let (said, short) = ask.words();
        let asked = ask.set(width);
        let rows = rows.max(FEWEST);
        let set = |words: &str| Line::of(Tone::Dim, words).wrap(width, "  ");
        let mut words = set(said);
        if head.len() + asked.len() + words.len() > rows {
            words = set(&format!("{said}{MORE_WORDS}"));
        }
        // What is asked counts for more than all words to answer it with, and those for more than
        // who asks.
        let fewest = asked.len().min(FEWEST);
        if rows < head.len() + fewest + words.len() {
            words = set(short);
        }
        if rows < head.len() + fewest + words.len() {
            head.clear();
        }
        let room = rows.saturating_sub(head.len() + words.len()).max(1);
        let mut lines = head;
        lines.extend(shortened(asked, room));
        lines.extend(words);
        lines
    }

    /// Returns all of what is asked now, however long it is.
    pub(crate) fn whole(&mut self, width: usize) -> Vec<Line> {
        let many = self.asks.len();
        let Some(ask) = self.asks.front_mut() else {
            return Vec::new();
        };
        let mut lines = ask.head(many, width);
        lines.extend_from_slice(ask.set(width));
        lines
    }
}

impl Ask {
    /// Returns what it is about, in a line.
    fn what(&self) -> String {
        let question = self.questions.first();
        let asked = question.and_then(|question| words::lines(question).into_iter().next());
        let brief = || self.about.brief.lines().next().map(str::to_owned);
        let what = asked.or_else(brief).unwrap_or_default();
        render::first_words(&what, MOST_OF_WHAT)
    }

    /// Returns who asks, and that it is one of many.
    fn head(&self, many: usize, width: usize) -> Vec<Line> {
        let mut head = Line::of(Tone::Ask, &self.path).and(Tone::Plain, " asks");
        if many > 1 {
            head.push(Tone::Dim, &format!(" (1 of {many})"));
        }
        let (at, of) = (self.said.len() + 1, self.questions.len());
        if of > 1 {
            head.push(Tone::Dim, &format!(", question {at} of {of}"));
        }
        head.wrap(width, "  ")
    }

    /// Takes a line: `None` if it is no answer, `Some(None)` if there is more to answer.
    fn hear(&mut self, text: &str) -> Option<Option<Verdict>> {
        let Some(question) = self.question() else {
            let verdict = verdict(text)?;
            // What is not offered is no answer: a yes to a hook's question is for this call.
            let widens = matches!(verdict, Verdict::Session | Verdict::Agent);
            return (!widens || !self.is_of_hook()).then_some(Some(verdict));
        };
        if let Some(verdict) = left_unanswered(text) {
            return Some(Some(verdict));
        }
        let said = words::read(question, text).ok()?;
        self.said.push(said);
        self.set = None;
        if self.question().is_some() {
            return Some(None);
        }
        let answers = std::mem::take(&mut self.said);
        Some(Some(Verdict::Said { answers }))
    }

    /// Tells whether a hook has somebody asked.
    fn is_of_hook(&self) -> bool {
        self.needs.iter().any(Need::is_of_hook)
    }

    /// Returns the question that is to be answered next, if it is one.
    fn question(&self) -> Option<&Question> {
        self.questions.get(self.said.len())
    }

    /// Returns what can be said to it: in full, and in short.
    fn words(&self) -> (&'static str, &'static str) {
        if let Some(question) = self.question() {
            let words = match question {
                question if question.multi_select => WORDS_FOR_SEVERAL,
                question if question.options.is_empty() => WORDS_FOR_QUESTIONS,
                _ => WORDS_FOR_CHOICES,
            };
            return (words, SHORT_WORDS_FOR_QUESTIONS);
        }
        if self.is_of_hook() {
            return (WORDS_FOR_HOOKS, SHORT_WORDS_FOR_HOOKS);
        }
        let is_file = |need: &Need| need.capability.starts_with("fs.");
        if self.needs.iter().all(is_file) && self.reach == Reach::Like {
            (WORDS_FOR_FILES, SHORT_WORDS)
        } else {
            (WORDS, SHORT_WORDS)
        }
    }

    /// Returns what is asked, set in so many columns.
    fn set(&mut self, width: usize) -> &[Line] {
        let set = self.set.take().filter(|(wide, _)| *wide == width);
        let (_, lines) = self.set.insert(set.unwrap_or_else(|| {
            let mut lines = Vec::new();
            if let Some(question) = self.questions.get(self.said.len()) {
                // Marked, as in the inbox: an agent's words could imitate the lines around them.
                for line in words::lines(question) {
                    lines.extend(marked((Tone::Dim, "| "), (Tone::Bold, &line), width));
                }
                return (width, lines);
            }
            // A command of many lines is seen as it is read by the shell, and not as one; to that a
            // carriage return is a letter.
            for line in self.about.brief.trim_end_matches('\n').split('\n') {
                lines.extend(marked((Tone::Dim, "| "), (Tone::Bold, line), width));
            }
            for changed in &self.about.change {
                let (mark, tone, text) = match changed {
                    Changed::Gone(text) => ((Tone::Bad, "- "), Tone::Bad, text),
                    Changed::New(text) => ((Tone::Good, "+ "), Tone::Good, text),
                    Changed::Said(text) => ((Tone::Dim, "| "), Tone::Plain, text),
                };
                lines.extend(marked(mark, (tone, text), width));
            }
            let said = self.about.brief.split_once(' ').map(|(_, said)| said);
            for need in &self.needs {
                if let Some(hook) = need.asked_by_hook() {
                    let line = Line::of(Tone::Dim, "  because ").and(Tone::Plain, &hook);
                    lines.extend(line.wrap(width, "    "));
                    continue;
                }
                if need.target.is_empty() || said == Some(need.target.trim()) {
                    continue;
                }
                let needs = Line::of(Tone::Dim, &format!("| needs {}: ", need.capability));
                let target = spaced(&need.target);
                lines.extend(needs.and(Tone::Plain, &target).wrap(width, FURTHER));
            }
            (width, lines)
        }));
        lines
    }
}

/// What rows begin with into which the words of an agent go on.
const FURTHER: &str = "|   ";

/// Returns a line of an agent's words, every row of which has a mark: they could imitate the lines around
/// them.
fn marked(mark: (Tone, &str), (tone, words): (Tone, &str), width: usize) -> Vec<Line> {
    let line = Line::of(mark.0, mark.1).and(tone, &spaced(words));
    line.wrap(width, &format!("{}  ", mark.1))
}

/// Returns words of an agent in which no spaces push anything away.
fn spaced(words: &str) -> String {
    render::counted_spaces(&words.replace('\t', TAB))
}

/// Leaves out the middle of lines that are more than so many, and says how much that is.
fn shortened(lines: &[Line], rows: usize) -> Vec<Line> {
    if lines.len() <= rows {
        return lines.to_vec();
    }
    // The start is shown however little room there is.
    let kept = rows.saturating_sub(1).max(1);
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let hidden = lines.len() - kept;
    let mut short = lines[..head].to_vec();
    if rows > 1 {
        short.push(Line::of(Tone::Ask, &format!("[{hidden} lines hidden]")));
    }
    short.extend_from_slice(&lines[lines.len() - tail..]);
    short
}

/// Returns who asks, from the root down.
fn path(tree: &Tree, agent: &AgentId) -> String {
    let mut names = Vec::new();
    let mut at = Some(agent.clone());
    while let Some(id) = at {
        let Some(found) = tree.agent(&id) else {
            break;
        };
        let definition = found.definition();
        names.push(match found.parent() {
            Some(_) => format!("{definition} {}", render::short(&id)),
            None => definition.to_owned(),
        });
        at = found.parent().map(|parent| parent.agent.clone());
    }
    names.reverse();
    names.join(" > ")
}

/// What became of a line that was to answer.
pub(crate) enum Heard {
    /// It is an answer.
    Answer(AgentId, CallId, Verdict),
    /// It answers one question, and another follows.
    More,
    /// It is no answer.
    Nothing,
}

/// Reads that somebody does not answer a question.
fn left_unanswered(text: &str) -> Option<Verdict> {
    let reason = text.trim().strip_prefix('-')?;
    let apart = reason.is_empty() || reason.starts_with(char::is_whitespace);
    apart.then(|| Verdict::Deny {
        reason: reason.trim().to_owned(),
    })
}

/// Tells whether somebody wants to see all of what is asked.
pub(crate) fn wants_all(text: &str) -> bool {
    matches!(text.trim(), "v" | "V" | "view" | "?")
}

/// Reads an answer; `None` for what is none.
pub(crate) fn verdict(text: &str) -> Option<Verdict> {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let word = word.trim_end_matches([',', ':', '.']).to_lowercase();
    match (word.as_str(), rest.trim()) {
        ("y" | "yes", "") => Some(Verdict::Once),
        ("s" | "session", "") => Some(Verdict::Session),
        ("a" | "agent", "") => Some(Verdict::Agent),
        ("n" | "no", reason) => Some(Verdict::Deny {
            reason: reason.to_owned(),
        }),
        _ => None,
    }
}

//! The console: a terminal with a person in front of it.
//!
//! Shows the live tree, answers as Markdown and what is being written; takes what
//! the person types. What it takes is handed on as an `Input`; the console sends
//! nothing itself. Whatever happens, the terminal is given back as it was found.

pub(crate) mod about;
mod ask;
mod commands;
mod editor;
mod keys;
pub(crate) mod line;
mod live;
mod markdown;
mod reply;
mod screen;
mod typing;

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use offshoot_engine::{Activity, Delta, DeltaKind, Output};
use offshoot_types::caps::Caps;
use offshoot_types::command::Verdict;
use offshoot_types::env::Env;
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, MessageId};
use offshoot_types::settlement::{Settlement, Status};
use offshoot_types::tree::Tree;
use tokio::time::Instant;

use self::ask::Open;
pub(crate) use self::ask::Taken;
use self::editor::Editor;
use self::keys::Keys;
pub(crate) use self::line::Style;
use self::line::{Line, Tone};
use self::live::Live;
use self::reply::Reply;
use self::screen::Screen;
use crate::answers::Answers;
use crate::calls::Report;
use crate::env::System;
use crate::lookup::Exchange;
use crate::{output, render};

/// How often what has changed is painted.
const TICK: Duration = Duration::from_millis(100);

/// Most rows of a message that is being written.
const MOST_PREVIEW: usize = 6;

/// Rows that stay free of what is asked: the tree's, a hint's, the line's, and one to breathe.
const KEPT_ROWS: usize = 4;

/// A window of fewer rows has none for the tree while something is asked.
const SMALL: usize = 12;

/// Said to who types a message while something is asked.
const BUSY: &str = "an agent asks: Tab to answer; what you type is kept";

/// Shown in the place of the line while keys are dropped.
const RESTING: &str = "(keys typed now are dropped)";

/// Said to who was typing an answer when its ask went.
const STRAY: &str =
    "what you were answering is over: what you type up to Enter (or Ctrl-C) goes nowhere";

/// Most rows of an answer from before that are shown.
const MOST_OF_ANSWER: usize = 12;

/// Most messages that are shown while they wait.
const MOST_QUEUED: usize = 3;

/// What a console is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Talk {
    /// One question: the person may answer what is asked back, and stop it.
    Once,
    /// A conversation: the person may type whenever they like.
    Chat,
}

/// What a person does at the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Says something to the agent, or to another that takes over.
    Say { text: String, agent: Option<String> },
    /// Answers what an agent asked.
    Answer(AgentId, CallId, Verdict),
    /// Gives the session a name.
    Title(String),
    /// Wants to know what happened.
    Summary,
    /// Wants the conversation to be shorter.
    Compact,
    /// Ctrl-C.
    Interrupt,
    /// Wants what runs to be stopped, and to stay.
    Cancel,
    /// Ctrl-Z: wants the shell back for a while.
    Suspend,
    /// Wants to leave.
    Quit,
    /// Time has passed.
    Tick,
}

/// The agents there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offered {
    /// Those that a person may start.
    pub(crate) startable: Vec<String>,
    /// Those that only agents start.
    pub(crate) others: Vec<String>,
    /// Those that nobody starts but the runtime.
    pub(crate) helpers: Vec<String>,
    /// Those that a person may start elsewhere, and why not here.
    pub(crate) barred: Vec<(String, String)>,
}

/// The console.
pub(crate) struct Console {
    screen: Screen<io::Stdout>,
    talk: Talk,
    /// The agents that the person may go on with, and those that only agents start.
    agents: Offered,
    /// The agent that takes the next message.
    next: Option<String>,
    /// The agent that has the word, since another one had it.
    speaker: Option<String>,
    /// Whether something was taken back, and with it perhaps who had brought the speaker in.
    rewound: bool,
    keys: Option<Keys>,
    answers: Answers,
    live: Live,
    asks: Open,
    input: Editor,
    /// Messages that no turn has taken yet.
    queue: VecDeque<(MessageId, String)>,
    /// What is typed to answer an ask; never a message.
    reply: Reply,
    /// Whether all of what is asked is to be printed.
    wants_all: bool,
    /// What the agent that was asked is writing.
    preview: String,
    /// A word to the person, until they type again.
    hint: Option<String>,
    dirty: bool,
    /// The second of the last picture: clocks tick once a second.
    second: u64,
    /// When what has changed is painted next.
    tick: Instant,
    /// Whether the last line that was printed is of a call, and no word of the agent.
    below_calls: bool,
}

impl Console {
    /// Takes the terminal, and its keys where they can be read.
    pub(crate) fn open(answers: Answers, talk: Talk, style: Style) -> io::Result<Self> {
        Ok(Self {
            screen: Screen::new(io::stdout(), style, keys::size()),
            talk,
            agents: Offered::default(),
            next: None,
            speaker: None,
            rewound: false,
            keys: Keys::open()?,
            answers,
            live: Live::default(),
            asks: Open::default(),
            input: Editor::default(),
            queue: VecDeque::new(),
            reply: Reply::default(),
            wants_all: false,
            preview: String::new(),
            hint: None,
            dirty: true,
            second: 0,
            tick: Instant::now() + TICK,
            below_calls: false,
        })
    }

    /// Lets the person go on with one of these agents; `next` takes the next message.
    pub(crate) fn offering(self, agents: Offered, next: Option<String>) -> Self {
        Self {
            agents,
            next,
            ..self
        }
    }

    /// Tells whether it is for one question.
    pub(crate) fn is_for_once(&self) -> bool {
        self.talk == Talk::Once
    }

    pub(crate) fn answers(&mut self) -> &mut Answers {
        &mut self.answers
    }

    /// Shows what a call, or an agent below, came to. Who asked for quiet in a conversation is shown what
    /// went wrong.
    pub(crate) fn report(&mut self, report: &Report) -> io::Result<()> {
        if output::is_quiet() && !report.is_bad() {
            return Ok(());
        }
        self.measure();
        self.dirty = true;
        self.below_calls = true;
        let lines = report.lines(self.screen.width(), self.screen.style());
        self.screen.print(&lines)
    }

    /// Shows how a conversation ended that goes on now: what was said last and what was answered.
    pub(crate) fn recall(&mut self, last: &Exchange) -> io::Result<()> {
        self.measure();
        let (width, style) = (self.screen.width(), self.screen.style());
        self.heard(&last.prompt)?;
        let lines = markdown::lines(&last.answer, width, style);
        let hidden = lines.len().saturating_sub(MOST_OF_ANSWER);
        if hidden > 0 {
            let text = format!("[{hidden} lines above]");
            self.screen.print(&[Line::of(Tone::Dim, &text)])?;
        }
        self.screen.print(&lines[hidden..])?;
        if let Some(how) = &last.ending {
            let lines = Line::of(Tone::Bad, how).wrap(width, "  ");
            self.screen.print(&lines)?;
        }
        self.screen.print(&[Line::default()])
    }

    /// Takes an entry that is old news; of what still runs, it is not.
    pub(crate) fn before(&mut self, tree: &Tree, entry: &Entry) {
        self.answers.skip(entry);
        // Whoever was asked then is not here.
        drop(self.fold(tree, entry));
    }

    /// Shows an entry; `tree` is as it was before it.
    pub(crate) fn entry(&mut self, tree: &Tree, entry: &Entry) -> io::Result<()> {
        if let Some(text) = self.fold(tree, entry) {
            self.aside(&text)?;
        }
        if let Event::TurnStarted {
            prompt: Some(message),
            ..
        }
        | Event::Steered { prompt: message } = &entry.event
        {
            self.taken(message)?;
        }
        // A conversation is read as it goes; of a single question, what it comes to.
        let aside = match self.talk {
            Talk::Chat => self.answers.take_aside(entry),
            Talk::Once => None,
        };
        match aside.or_else(|| self.answers.take(entry)) {
            Some(text) => self.say(&text),
            None => Ok(()),
        }
    }

    /// Takes an entry; returns what is to be said of it.
    fn fold(&mut self, tree: &Tree, entry: &Entry) -> Option<String> {
        let about = |call: &CallId| self.live.call(&entry.agent, call);
        let told = self.asks.entry(tree, entry, about);
        self.live.entry(tree, entry);
        if self.answers.is_of(&entry.agent) {
            self.hear(&entry.event);
        }
        self.dirty = true;
        told
    }

    /// Takes what the agent did that is asked here.
    fn hear(&mut self, event: &Event) {
        match event {
            Event::Replied(_) => self.preview.clear(),
            Event::Became(role) => self.speaker = Some(role.definition.clone()),
            Event::Rewound { .. } => self.rewound = true,
            _ => {}
        }
    }

    /// Tells the person what they asked to be told.
    pub(crate) fn told(&mut self, text: &str) -> io::Result<()> {
        self.hint = None;
        self.say(text)
    }

    /// Prints an answer.
    fn say(&mut self, text: &str) -> io::Result<()> {
        self.measure();
        if std::mem::take(&mut self.below_calls) {
            self.screen.print(&[Line::default()])?;
        }
        let lines = markdown::lines(text, self.screen.width(), self.screen.style());
        self.screen.print(&lines)?;
        self.screen.print(&[Line::default()])?;
        self.dirty = true;
        Ok(())
    }

    /// Shows a piece of a message that is not committed yet.
    pub(crate) fn delta(&mut self, delta: &Delta) {
        if !self.answers.is_of(&delta.agent) || delta.kind != DeltaKind::Text {
            return;
        }
        // After a lag the whole open message comes again.
        if delta.offset <= self.preview.len() && self.preview.is_char_boundary(delta.offset) {
            self.preview.truncate(delta.offset);
            self.preview.push_str(&delta.text);
            self.dirty = true;
        }
    }

    /// Shows what a call says while it runs.
    pub(crate) fn output(&mut self, output: &Output) {
        self.live.output(output);
        self.dirty = true;
    }

    /// Shows what an agent does now.
    pub(crate) fn activity(&mut self, agent: &AgentId, activity: &Activity) {
        self.live.activity(agent, activity);
        self.dirty = true;
    }

    /// Says something to the person until they type again.
    pub(crate) fn hint(&mut self, text: &str) {
        self.hint = Some(text.to_owned());
        self.dirty = true;
    }

    /// Shows how what was asked has ended.
    pub(crate) fn quiet(&mut self, settlement: &Settlement, caps: &Caps) -> io::Result<()> {
        if let Some(text) = self.answers.unfinished() {
            self.say(&text)?;
        }
        if settlement.status != Status::Completed {
            let text = render::ending(settlement, caps);
            let lines = Line::of(Tone::Bad, &text).wrap(self.screen.width(), "  ");
            self.screen.print(&lines)?;
        }
        self.preview.clear();
        // Whatever it said, it said of what has ended now.
        self.hint = None;
        self.dirty = true;
        Ok(())
    }

    /// Says something beside the conversation, where it stays.
    pub(crate) fn aside(&mut self, text: &str) -> io::Result<()> {
        self.measure();
        self.dirty = true;
        let lines = Line::of(Tone::Dim, text).wrap(self.screen.width(), "  ");
        self.screen.print(&lines)
    }

    /// Looks how large the window is: who has to erase lines must know how many there are now, and
    /// the word that it has changed comes late, or never where no keys are heard.
    fn measure(&mut self) {
        let size = keys::size();
        if size != (self.screen.width(), self.screen.rows()) {
            self.screen.resize(size);
            self.dirty = true;
        }
    }

    /// Paints what has changed.
    pub(crate) fn paint(&mut self, tree: &Tree) -> io::Result<()> {
        self.measure();
        let now = System.now();
        let second = now.get() / 1000;
        if !self.dirty && (tree.open_runs() == 0 || second == self.second) {
            return Ok(());
        }
        (self.dirty, self.second) = (false, second);
        if std::mem::take(&mut self.rewound) {
            self.speaker = self.answers.speaker(tree);
        }
        let (width, style) = (self.screen.width(), self.screen.style());
        let rows = self.screen.rows();
        let front = self.asks.first();
        self.reply.follow(front, Instant::now());
        if std::mem::take(&mut self.wants_all) {
            self.screen.print(&self.asks.whole(width))?;
        }
        let is_small = rows < SMALL && front.is_some();
        let kept = if is_small { 2 } else { KEPT_ROWS };
        let asks = self.asks.lines(width, rows.saturating_sub(kept));
        let mut block = self.preview_lines(width, rows.saturating_sub(asks.len() + 3));
        let room = rows.saturating_sub(block.len() + asks.len() + 3);
        if room > 0 || !is_small {
            block.extend(self.live.lines(tree, now, (width, room), style));
        }
        block.extend(asks);
        if !is_small {
            block.extend(self.queue_lines(width));
        }
        let waits = front.is_some() && self.reply.line().is_none() && !self.input.is_empty();
        let stray = self.reply.is_stray().then_some(STRAY);
        let hint = stray.or(self.hint.as_deref());
        let hint = hint.or(waits.then_some(BUSY));
        let hint = hint.map(|hint| Line::of(Tone::Dim, hint));
        match hint {
            // What is asked would leave the window at its top.
            Some(hint) if is_small => block.push(hint.cut(width, style)),
            Some(hint) => block.extend(hint.wrap(width, "  ")),
            None => {}
        }
        let cursor = self.input_line(&mut block, width);
        self.screen.paint(&block, cursor)?;
        self.reply.painted(front, Instant::now());
        Ok(())
    }

    /// Adds the line that is typed in; returns where the cursor is.
    fn input_line(&self, block: &mut Vec<Line>, width: usize) -> Option<(usize, usize)> {
        self.keys.as_ref()?;
        let (prompt, editor) = match (self.reply.line(), self.talk) {
            (Some(line), _) if self.asks.is_question() => ("answer: ".to_owned(), line),
            (Some(line), _) => ("allow? ".to_owned(), line),
            // Who answers next, where that is not who began.
            (None, Talk::Chat) if self.drops_keys() => {
                let line = Line::of(Tone::Dim, RESTING);
                block.push(line.cut(width, self.screen.style()));
                return None;
            }
            (None, Talk::Chat) => {
                let next = self.next.as_ref().or(self.speaker.as_ref());
                let next = next.map(String::as_str).unwrap_or_default();
                (format!("{next}> "), &self.input)
            }
            (None, Talk::Once) => return None,
        };
        let before = prompt.chars().count();
        let (text, column) = (editor.shown(), editor.column());
        let room = width.saturating_sub(before + 1).max(1);
        // Of a long line the part around the cursor is shown.
        let skip = column.saturating_sub(room.saturating_sub(1));
        let shown: String = text.chars().skip(skip).take(width).collect();
        let line = Line::of(Tone::Bold, &prompt).and(Tone::Plain, &shown);
        block.push(line.cut(width, self.screen.style()));
        Some((block.len() - 1, before + column - skip))
    }

    /// Returns the messages that wait, the first few of them.
    fn queue_lines(&self, width: usize) -> Vec<Line> {
        let style = self.screen.style();
        let waiting = self.queue.iter().take(MOST_QUEUED);
        let mut lines: Vec<Line> = waiting
            .map(|(_, text)| {
                let words = render::first_words(text, width);
                Line::of(Tone::Dim, &format!("queued> {words}")).cut(width, style)
            })
            .collect();
        if let Some(more @ 1..) = self.queue.len().checked_sub(MOST_QUEUED) {
            let text = format!("and {more} more queued");
            lines.push(Line::of(Tone::Dim, &text).cut(width, style));
        }
        lines
    }

    /// Tells whether keys go nowhere: an answer was just given, or what is asked was not seen long enough.
    fn drops_keys(&self) -> bool {
        let waits = self.asks.first().is_some() && self.input.is_empty();
        self.reply.is_resting() || waits
    }

    /// Returns the end of what is being written, in at most so many rows.
    fn preview_lines(&self, width: usize, rows: usize) -> Vec<Line> {
        let from = self
            .preview
            .len()
            .saturating_sub(MOST_PREVIEW * width.max(20));
        let from = self.preview.ceil_char_boundary(from);
        let lines = self.preview[from..].lines();
        let lines: Vec<Line> = lines
            .flat_map(|line| Line::of(Tone::Dim, line).wrap(width, ""))
            .collect();
        let skip = lines.len().saturating_sub(rows.min(MOST_PREVIEW));
        lines.into_iter().skip(skip).collect()
    }

    /// Takes what became of an answer; tells whether it was said how else it was answered.
    pub(crate) fn answer(
        &mut self,
        agent: &AgentId,
        call: &CallId,
        taken: Taken,
    ) -> io::Result<bool> {
        match self.asks.answered(agent, call, taken) {
            Some(how) => self.aside(&how).map(|()| true),
            None => Ok(false),
        }
    }

    /// Shows what the person said and no turn has taken yet: it waits below, so that what still happens
    /// is not taken for its answer.
    pub(crate) fn queued(&mut self, message: MessageId, text: &str) {
        self.queue.push_back((message, text.to_owned()));
        self.dirty = true;
    }

    /// Shows a message that waited as part of the conversation.
    pub(crate) fn taken(&mut self, message: &MessageId) -> io::Result<()> {
        let at = self.queue.iter().position(|(id, _)| id == message);
        match at.and_then(|at| self.queue.remove(at)) {
            Some((_, text)) => self.heard(&text),
            None => Ok(()),
        }
    }

    /// Shows what the person said, as part of the conversation.
    pub(crate) fn heard(&mut self, text: &str) -> io::Result<()> {
        self.below_calls = false;
        let width = self.screen.width();
        let speaker = self.speaker.as_deref().unwrap_or_default();
        let first = format!("{speaker}> ");
        let mut lines = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let mark = if index == 0 { &first } else { "  " };
            let line = Line::of(Tone::Bold, mark).and(Tone::Bold, line);
            lines.extend(line.wrap(width, "  "));
        }
        self.dirty = true;
        self.screen.print(&lines)
    }

    /// Gives the terminal back until the shell has us go on.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        self.screen.clear()?;
        self.dirty = true;
        match &self.keys {
            Some(keys) => keys.suspend(),
            None => Ok(()),
        }
    }

    /// Gives the terminal back.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        self.keys = None;
        self.screen.clear()
    }
}

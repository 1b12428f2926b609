//! Chores of the runtime, by rule: a title, a summary, a shorter conversation.
//!
//! They are asked for by the agents `title`, `summary` and `compaction`, whose
//! prompts say what is wanted. What is written was all said before: lines are
//! copied, calls are counted, and nothing is concluded.

mod notes;

use std::collections::BTreeMap;

use offshoot_types::model::{Request, RequestMessage};

use self::notes::{Note, Notes};
use super::markdown;
use super::reply::Reply;

/// Most words of a title.
const MOST_WORDS: usize = 8;

/// What people begin with before they say what they want.
const OPENERS: [&str; 14] = [
    "please",
    "kindly",
    "can you",
    "could you",
    "would you",
    "will you",
    "i want you to",
    "i need you to",
    "i would like you to",
    "i'd like you to",
    "hello",
    "hey",
    "hi",
    "ok",
];

/// Most characters of a line that is copied.
const MOST_OF_LINE: usize = 200;

/// Most characters of a question that has to be remembered: its conditions are in it.
const MOST_OF_ASKED: usize = 1_000;

/// Most lines of what was said last.
const MOST_SAID: usize = 6;

/// Most lines of a kind.
const MOST_LINES: usize = 40;

/// Where the sections of a shorter conversation begin, in the order that is demanded.
const SECTIONS: [&str; 5] = ["Goal:", "Decisions:", "Files:", "Tasks:", "Running:"];

/// How a task begins, in a shorter conversation, that nothing has to be done about.
const DONE: &str = "- completed";

/// What the engine puts behind a summary when it stands in the middle of a turn.
const AT_HAND: &str = "What is being worked on, word for word:";

/// Does the chore that a request is about; `None` if it is about none.
pub(super) fn answer(request: &Request) -> Option<Reply> {
    let write = match request.from.definition.as_str() {
        "title" => title,
        "summary" => summary,
        "compaction" => compaction,
        _ => return None,
    };
    let RequestMessage::User(text) = request.messages.last()? else {
        return None;
    };
    let text = text.trim().strip_prefix("<conversation>")?;
    let text = text.strip_suffix("</conversation>").unwrap_or(text);
    Some(Reply::answer(write(text.trim())))
}

/// Names a conversation by how it begins.
fn title(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    let first = markdown::prose(first.unwrap_or_default(), MOST_OF_ASKED);
    let first = first.trim_start_matches(['#', '>', '-', '*', ' ']);
    let wanted = without_openers(first);
    let wanted = if wanted.is_empty() { first } else { wanted };
    let words: Vec<&str> = wanted.split_whitespace().take(MOST_WORDS).collect();
    let words = words.join(" ");
    let words = words.trim_end_matches(['.', ',', ';', ':', '!', '?', '…', ' ']);
    let mut letters = words.chars();
    match letters.next() {
        Some(letter) => letter.to_uppercase().chain(letters).collect(),
        None => "Untitled".to_owned(),
    }
}

fn without_openers(text: &str) -> &str {
    let mut rest = text;
    loop {
        let opener = OPENERS.iter().find_map(|opener| {
            let head = rest.get(..opener.len())?;
            let after = rest.get(opener.len()..)?;
            let is_whole = after.is_empty() || after.starts_with([' ', ',', '!', '.']);
            (head.eq_ignore_ascii_case(opener) && is_whole).then_some(after)
        });
        match opener {
            Some(after) => rest = after.trim_start_matches([' ', ',', '!', '.']),
            None => return rest,
        }
    }
}

/// Says what happened in a conversation, under the headings that its prompt demands.
fn summary(text: &str) -> String {
    let notes = Notes::of(text);
    let (mut asked, mut done, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for earlier in notes.earlier() {
        let [goal, decisions, files, tasks, running] = parts(earlier);
        asked.extend(goal);
        done.extend(decisions.into_iter().chain(files));
        let unfinished = tasks.into_iter().filter(|task| !task.starts_with(DONE));
        open.extend(unfinished.chain(running));
    }
    open.retain(|line| !notes.told().any(|id| line.contains(id)));
    asked.extend(notes.asked().filter_map(first_line).map(item));
    done.extend(counted_calls(&notes));
    if let Some(said) = notes.said().last() {
        done.extend(lines(said).take(MOST_SAID).map(quoted));
    }
    open.extend(notes.failures().map(item));
    let todo = notes.todo().filter(|todo| !todo.is_done());
    open.extend(todo.map(|todo| item(&todo.content)));
    let running = notes.running();
    open.extend(running.map(|(agent, id)| format!("- {agent} {id} has not ended")));
    let mut text = String::new();
    push(&mut text, "## What was asked", &asked, "nothing");
    push(&mut text, "## What was done", &done, "nothing");
    push(&mut text, "## What is open", &open, "nothing");
    text.push_str("Written by rules, without a language model.\n");
    text
}

/// Shortens a conversation to what is needed to go on, in the order that its prompt demands.
fn compaction(text: &str) -> String {
    let notes = Notes::of(text);
    let mut sections: [Vec<String>; 5] = Default::default();
    for earlier in notes.earlier() {
        for (section, more) in sections.iter_mut().zip(parts(earlier)) {
            section.extend(more);
        }
    }
    let [goal, decisions, files, tasks, running] = &mut sections;
    for asked in notes.asked() {
        goal.push(format!(
            "- {}",
            markdown::capped(asked.trim(), MOST_OF_ASKED)
        ));
    }
    let said = notes.said().filter_map(first_line);
    decisions.extend(said.map(|line| format!("- {}", markdown::line(line, MOST_OF_LINE))));
    decisions.extend(
        notes
            .failures()
            .map(|why| format!("{}, which failed", item(why))),
    );
    files.extend(
        notes
            .files()
            .into_iter()
            .map(|(path, tools)| format!("- {path} ({})", tools.join(", "))),
    );
    tasks.extend(
        notes
            .todo()
            .map(|todo| format!("- {}: {}", todo.status, todo.content)),
    );
    // Only what has not ended now is of use: those of before may have.
    running.retain(|line| !notes.told().any(|id| line.contains(id)));
    running.extend(
        notes
            .running()
            .map(|(agent, id)| format!("- {agent}, session_id {id}")),
    );
    let mut text = String::new();
    for (head, lines) in SECTIONS.into_iter().zip(&mut sections) {
        lines.dedup();
        push(&mut text, head, lines, "none");
    }
    text.push_str("Written by rules, without a language model.\n");
    text
}

/// Takes an earlier summary apart, into the sections of the next.
fn parts(earlier: &str) -> [Vec<String>; 5] {
    let mut parts: [Vec<String>; 5] = Default::default();
    let mut at = 0;
    for line in lines(earlier) {
        if let Some(section) = SECTIONS.iter().position(|head| line.trim() == *head) {
            at = section;
        } else if line.trim() == AT_HAND {
            at = 0;
        } else if !line.starts_with("Written by rules") && !matches!(line.trim(), "none" | "") {
            parts[at].push(own_line(line));
        }
    }
    parts
}

/// Says which tools were called how often, and which agents were run.
fn counted_calls(notes: &Notes<'_>) -> Vec<String> {
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    let mut agents: BTreeMap<String, usize> = BTreeMap::new();
    for note in &notes.all {
        if let Note::Called { tool, .. } = note {
            *calls.entry(tool).or_default() += 1;
        }
        if let Some(agent) = note.agent() {
            *agents.entry(agent).or_default() += 1;
        }
    }
    let times = |(name, count): (&str, &usize)| format!("{name} {count}");
    let mut lines = Vec::new();
    if !calls.is_empty() {
        let calls: Vec<String> = calls
            .iter()
            .map(|(tool, count)| times((tool, count)))
            .collect();
        lines.push(format!("- calls: {}", calls.join(", ")));
    }
    if !agents.is_empty() {
        let agents = agents.iter().map(|(agent, count)| times((agent, count)));
        lines.push(format!(
            "- agents: {}",
            agents.collect::<Vec<_>>().join(", ")
        ));
    }
    lines
}

/// Adds a section; of one that is too long the middle goes.
fn push(text: &mut String, head: &str, lines: &[String], nothing: &str) {
    text.push_str(head);
    text.push('\n');
    let half = MOST_LINES / 2;
    match lines.len() {
        0 => text.push_str(&format!("{nothing}\n")),
        count if count <= MOST_LINES => text.extend(lines.iter().map(|line| format!("{line}\n"))),
        count => {
            text.extend(lines[..half].iter().map(|line| format!("{line}\n")));
            text.push_str(&format!("[{} lines left out]\n", count - 2 * half));
            text.extend(lines[count - half..].iter().map(|line| format!("{line}\n")));
        }
    }
    text.push('\n');
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

fn first_line(text: &str) -> Option<&str> {
    lines(text).next()
}

/// Makes a line of a list of what was said.
fn item(line: impl AsRef<str>) -> String {
    format!("- {}", own_line(line))
}

/// Makes a line of what somebody said, whose headings are not ours.
fn quoted(line: &str) -> String {
    format!("> {}", markdown::line(line, MOST_OF_LINE))
}

fn own_line(line: impl AsRef<str>) -> String {
    markdown::capped(line.as_ref().trim_end(), MOST_OF_LINE)
}

//! A conversation that was written down, read back.
//!
//! The engine writes it as paragraphs under headings: `## asked`, `## said`,
//! `## called TOOL`, `## outcome of TOOL`, `## told by AGENT ID`, `## in short`.
//! A heading counts at the beginning of a paragraph only; whatever else stands
//! there belongs to the paragraph before it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::offline::wanted::{TASK, TODO};

/// A conversation that was written down.
pub(super) struct Notes<'a> {
    pub(super) all: Vec<Note<'a>>,
}

/// One paragraph of it.
#[derive(Debug, PartialEq)]
pub(super) enum Note<'a> {
    Asked(&'a str),
    Said(&'a str),
    Called { tool: &'a str, arguments: &'a str },
    Outcome { tool: &'a str, text: &'a str },
    Told { id: &'a str },
    Earlier(&'a str),
}

/// An item of a list.
#[derive(Deserialize)]
pub(super) struct Todo {
    pub(super) content: String,
    pub(super) status: String,
}

impl Todo {
    pub(super) fn is_done(&self) -> bool {
        self.status == "completed"
    }
}

#[derive(Deserialize)]
struct List {
    items: Vec<Todo>,
}

impl<'a> Notes<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut starts: Vec<usize> = text
            .match_indices("\n\n## ")
            .map(|(at, _)| at + 2)
            .collect();
        starts.insert(0, 0);
        let is_head = |at: &usize| *at == 0 || Note::of(&text[*at..]).is_some();
        let starts: Vec<usize> = starts.into_iter().filter(is_head).collect();
        let ends = starts.iter().skip(1).copied().chain([text.len()]);
        let all = starts.iter().zip(ends).filter_map(|(start, end)| {
            let paragraph = text[*start..end].trim_end();
            // What has no heading is how a conversation goes on that was cut.
            Note::of(paragraph).or((!paragraph.is_empty()).then_some(Note::Earlier(paragraph)))
        });
        Self { all: all.collect() }
    }

    pub(super) fn asked(&self) -> impl Iterator<Item = &'a str> {
        self.all.iter().filter_map(|note| {
            let Note::Asked(text) = note else {
                return None;
            };
            Some(*text)
        })
    }

    pub(super) fn said(&self) -> impl Iterator<Item = &'a str> {
        self.all.iter().filter_map(|note| {
            let Note::Said(text) = note else {
                return None;
            };
            Some(*text)
        })
    }

    pub(super) fn earlier(&self) -> impl Iterator<Item = &'a str> {
        self.all.iter().filter_map(|note| {
            let Note::Earlier(text) = note else {
                return None;
            };
            Some(*text)
        })
    }

    /// Returns the ids of agents whose end was told.
    pub(super) fn told(&self) -> impl Iterator<Item = &'a str> {
        self.all.iter().filter_map(|note| {
            let Note::Told { id } = note else {
                return None;
            };
            Some(*id)
        })
    }

    /// Returns calls that failed: the tool, and the first line of why.
    pub(super) fn failures(&self) -> impl Iterator<Item = String> {
        self.all.iter().filter_map(|note| {
            let Note::Outcome { tool, text } = note else {
                return None;
            };
            let first = text.lines().next().unwrap_or_default();
            let failed = first.starts_with("error: ");
            failed.then(|| format!("{tool}: {first}"))
        })
    }

    /// Returns the list as it was noted last.
    pub(super) fn todo(&self) -> impl Iterator<Item = Todo> {
        let noted = self.all.iter().rev().find_map(|note| {
            let Note::Called { tool, arguments } = note else {
                return None;
            };
            let list = (*tool == TODO).then(|| serde_json::from_str::<List>(arguments));
            list?.ok()
        });
        noted.into_iter().flat_map(|list| list.items)
    }

    /// Returns the files that calls named, and by which tools.
    pub(super) fn files(&self) -> BTreeMap<String, Vec<&'a str>> {
        let mut files: BTreeMap<String, Vec<&'a str>> = BTreeMap::new();
        for note in &self.all {
            if let Note::Called { tool, .. } = note
                && let Some(path) = note.argument("path")
            {
                let tools = files.entry(path).or_default();
                if !tools.contains(tool) {
                    tools.push(tool);
                }
            }
        }
        files
    }

    /// Returns the agents in the background whose end was not told: their definitions and ids.
    pub(super) fn running(&self) -> impl Iterator<Item = (String, String)> {
        let mut asked: Vec<String> = Vec::new();
        let mut running = Vec::new();
        for note in &self.all {
            match note {
                Note::Called { tool, .. } if *tool == TASK => {
                    asked.push(note.agent().unwrap_or_else(|| "agent".to_owned()));
                }
                Note::Outcome { tool, text } if *tool == TASK => {
                    // Outcomes stand in the order of their calls.
                    let agent = if asked.is_empty() {
                        "agent".to_owned()
                    } else {
                        asked.remove(0)
                    };
                    let handle: Option<Value> = serde_json::from_str(text).ok();
                    let handle = handle
                        .as_ref()
                        .filter(|handle| handle.get("output").is_none());
                    let id = handle.and_then(|handle| handle.get("session_id")?.as_str());
                    running.extend(id.map(|id| (agent, id.to_owned())));
                }
                Note::Told { id } => running.retain(|(_, known)| known != id),
                Note::Called { .. }
                | Note::Outcome { .. }
                | Note::Asked(_)
                | Note::Said(_)
                | Note::Earlier(_) => {}
            }
        }
        running.into_iter()
    }
}

impl<'a> Note<'a> {
    /// Reads a paragraph; `None` if it has none of the headings.
    fn of(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix("## ")?;
        let (head, body) = rest.split_once('\n').unwrap_or((rest, ""));
        match head {
            "asked" => return Some(Self::Asked(body)),
            "said" => return Some(Self::Said(body)),
            "in short" | "in short, what came before" => return Some(Self::Earlier(body)),
            _ => {}
        }
        if let Some(tool) = head.strip_prefix("called ") {
            let arguments = body;
            return Some(Self::Called { tool, arguments });
        }
        if let Some(tool) = head.strip_prefix("outcome of ") {
            return Some(Self::Outcome { tool, text: body });
        }
        let (_, id) = head.strip_prefix("told by ")?.rsplit_once(' ')?;
        Some(Self::Told { id })
    }

    /// Returns the agent that a call starts.
    pub(super) fn agent(&self) -> Option<String> {
        let Self::Called { tool, .. } = self else {
            return None;
        };
        (*tool == TASK).then(|| self.argument("subagent_type"))?
    }

    /// Returns a text among the arguments of a call.
    fn argument(&self, key: &str) -> Option<String> {
        let Self::Called { arguments, .. } = self else {
            return None;
        };
        let arguments: Value = serde_json::from_str(arguments).ok()?;
        Some(arguments.get(key)?.as_str()?.to_owned())
    }
}

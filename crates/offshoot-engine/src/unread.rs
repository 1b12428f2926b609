//! Results that a run leaves unread when it ends.
//!
//! A run that is lost, cancelled or out of budget may have children whose results its
//! model never answered to: mail, or entries behind its last message. Its
//! settlement names them, and those that these children have not read in turn, so
//! that its parent's model knows that the work was done. Naming is no delivery:
//! the results stay where they are, for the next run of the agent that has not read them.

use std::collections::BTreeSet;

use offshoot_types::id::{AgentId, RunId};
use offshoot_types::settlement::{Settlement, Unread, UnreadResult};
use offshoot_types::tree::{Agent, Tally, Tree};

use crate::settle::without_marks;

/// Most results that a settlement names.
const MOST_NAMED: usize = 32;

/// Most bytes of the beginning of one result.
const MAX_BEGINNING_BYTES: usize = 400;

/// Most bytes of the beginnings of all results that a settlement names.
const MAX_BEGINNINGS_BYTES: usize = 4 * 1024;

/// Returns the results that an agent has not read if its run ends with this tally; `None` if it has
/// read everything.
pub(crate) fn below(tree: &Tree, id: &AgentId, tally: &Tally) -> Option<Box<Unread>> {
    let mut names = Names {
        tree,
        bytes: 0,
        unread: Unread::default(),
    };
    if let Some(agent) = tree.agent(id) {
        names.add(id, agent, tally);
    }
    let is_any = !names.unread.results.is_empty();
    is_any.then(|| Box::new(names.unread))
}

/// What is named so far.
struct Names<'a> {
    tree: &'a Tree,
    /// The bytes of the beginnings.
    bytes: usize,
    unread: Unread,
}

impl Names<'_> {
    /// Names what an agent has not read; behind each child what that child has not read.
    fn add(&mut self, reader: &AgentId, agent: &Agent, tally: &Tally) {
        let mail = agent.mail.values().map(|mail| &mail.run);
        let mail = mail.filter(|run| !tally.unread.contains(run));
        let mut seen = BTreeSet::new();
        for run in tally.unread.iter().chain(mail) {
            let Some(child) = self.tree.agent(&run.agent).filter(|child| !child.hidden) else {
                continue;
            };
            self.name(reader, run, child);
            if seen.insert(&run.agent) {
                self.add(&run.agent, child, &child.tally);
            }
        }
    }

    fn name(&mut self, reader: &AgentId, run: &RunId, child: &Agent) {
        let settled = child.run(run.run).and_then(|run| run.settled.as_ref());
        let Some((_, settlement)) = settled else {
            return;
        };
        if self.unread.results.len() == MOST_NAMED {
            self.unread.left_out += 1;
            return;
        }
        let room = MAX_BEGINNING_BYTES.min(MAX_BEGINNINGS_BYTES - self.bytes);
        let said = settlement.output.as_deref();
        let begins = said.and_then(|text| beginning(text, room));
        self.bytes += begins.as_ref().map_or(0, |(_, bytes)| *bytes);
        self.unread.results.push(UnreadResult {
            agent: run.agent.clone(),
            definition: child.spawned.definition.clone(),
            status: settlement.status.word().to_owned(),
            reader: reader.clone(),
            begins: begins.map(|(text, _)| text),
        });
    }
}

/// Returns the beginning of a text on one line, and how many bytes of the text it has.
fn beginning(text: &str, room: usize) -> Option<(String, usize)> {
    // Looked at as far as it can matter: blanks may be many, and the text long.
    let looked_at = &text[..text.floor_char_boundary(room.saturating_mul(4))];
    let words: Vec<&str> = looked_at.split_whitespace().collect();
    let mut line = words.join(" ");
    let is_cut = line.len() > room || !text[looked_at.len()..].trim().is_empty();
    line.truncate(line.floor_char_boundary(room));
    if line.is_empty() {
        return None;
    }
    let bytes = line.len();
    if is_cut {
        line.push('…');
    }
    Some((line, bytes))
}

/// Says what a run has not read, for the model of its parent: notices of ours, one a line.
pub(crate) fn notice(child: &AgentId, settlement: &Settlement) -> Option<String> {
    let Unread { results, left_out } = settlement.unread.as_deref()?;
    let mut text = format!(
        "[unread: agent {child} ended before it read these results; send it a message to continue with them]"
    );
    for result in results {
        let UnreadResult {
            agent,
            definition,
            status,
            reader,
            begins,
        } = result;
        text.push_str(&format!(
            "\n[unread result: {definition} ({agent}), {status}, not yet read by {reader}"
        ));
        if let Some(begins) = begins {
            text.push_str(&format!("; it begins: {}", without_marks(begins)));
        }
        text.push(']');
    }
    if *left_out > 0 {
        text.push_str(&format!("\n[unread result: {left_out} more]"));
    }
    Some(text)
}

#[cfg(test)]
mod tests;

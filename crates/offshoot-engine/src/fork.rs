//! Forking: a session that begins as a copy of another (SES-08, SES-09, X-28).
//!
//! The other one is read and never touched: somebody else may own it. What is
//! copied is what is visible, said anew in the order it was said: other message
//! ids, the same words, calls and outcomes, and the children as far as they were
//! told of (`children`). Not copied are answers to what was asked, what is hidden,
//! and what children still have to say: that goes to the original only.

mod children;

use std::collections::BTreeMap;
use std::sync::Arc;

use offshoot_types::command::Fork;
use offshoot_types::env::Env;
use offshoot_types::event::{Compaction, Copied, Entry, Event, Origin, Profile, Spawned, TurnEnd};
use offshoot_types::id::{AgentId, MessageId, Pos, RunNo, Seq, TreeId, TurnNo};
use offshoot_types::json::RawJson;
use offshoot_types::message::{
    AssistantMessage, Author, MAX_METADATA_BYTES, MAX_TITLE_CHARS, UserMessage,
};
use offshoot_types::settlement::Status;
use offshoot_types::transcript::{Item, Step, Transcript};
use offshoot_types::tree::{Agent, Tally, Tree};
use serde_json::{Map, Value};

use self::children::Children;
use crate::attachments;
use crate::kit::{Kit, Kits, SessionKit};
use crate::runtime::{CommandError, Parts};
use crate::scratch::Scratch;
use crate::settle;

/// What the title of a copy ends with; that of a copy of one has a number as well.
const COPY: &str = " (copy";

/// Returns what a copy works with and its first entries: all there is of it when it is created, each
/// with its agent.
pub(crate) async fn entries(
    parts: &Parts,
    kits: &Arc<Kits>,
    tree: &TreeId,
    fork: &Fork,
) -> Result<(Arc<SessionKit>, Vec<(AgentId, Event)>), CommandError> {
    let Source {
        tree: other,
        root,
        transcript,
        log,
    } = source(parts, &fork.of).await?;
    check_idle(&fork.of, &root)?;
    let items = visible(&fork.of, &transcript, fork.at.as_ref())?;
    let Some(last) = items.last() else {
        let text = format!("session {} has no message that could be copied", fork.of);
        return Err(CommandError::Invalid(text));
    };
    let env = parts.env.as_ref();
    let scratch = scratch_folders(parts, &fork.of, tree);
    let ids = (&fork.of, tree.root());
    let children = Children::of(&log, &other, items, ids, env, scratch.clone());
    let mut copy = Copy::new(env, tree.root().clone(), children);
    if let Some((title, by)) = &root.title {
        copy.title(title, by);
    }
    for item in items {
        copy.say(item);
    }
    let entries = copy.end(ending(&root, &transcript, last));
    // Behind its birth.
    let tools = root.client_tools.to_vec();
    let first = (!tools.is_empty()).then_some(Event::ClientTools { tools });
    let first: Vec<_> = first
        .map(|event| (tree.root().clone(), event))
        .into_iter()
        .collect();
    let own = entries.iter().filter(|(agent, _)| agent == tree.root());
    let copied = Copied {
        session: fork.of.clone(),
        message: last.id().clone(),
        until: Seq::new((own.count() + first.len() + 1) as u64),
        until_pos: Some(Pos::new((entries.len() + first.len() + 1) as u64)),
    };
    let choice = root.role_choice.clone().filter(|_| fork.at.is_none());
    let metadata = merged(root.spawned.metadata.as_ref(), fork.metadata.as_ref())?;
    let root = as_of(&root, &log, last.id());
    // The copy works where the other session does, with the overlays of its own.
    let workspace = root.spawned.workspace().unwrap_or_default();
    let kit = kits.open(tree, workspace).await?;
    let birth = birth(&kit.newest(), scratch, &root, copied, metadata)?;
    attachments::copy(parts, &fork.of, tree, &entries).await?;
    let mut all = vec![(tree.root().clone(), Event::Spawned(Box::new(birth)))];
    all.extend(first);
    all.extend(entries);
    all.extend(choice.map(|choice| (tree.root().clone(), Event::RoleChosen(choice))));
    Ok((kit, all))
}

/// Returns the scratch folders of a session and of its copy: the copy has one of its own, and no part
/// in the other one's.
fn scratch_folders(parts: &Parts, of: &AgentId, copy: &TreeId) -> Option<[String; 2]> {
    let data = parts.data.as_ref()?;
    let of = TreeId::of(of.clone());
    Some([&of, copy].map(|tree| Scratch::of_root(data, tree).folder))
}

/// A session that is to be copied.
struct Source {
    tree: Tree,
    root: Agent,
    transcript: Transcript,
    log: Vec<Entry>,
}

/// Returns the root as it was when a message of its conversation was said: another agent may have
/// taken over since, with other tools and other permissions.
fn as_of(root: &Agent, log: &[Entry], message: &MessageId) -> Agent {
    let mut tree = Tree::default();
    for entry in log {
        // All of it was folded before.
        if tree.apply(entry).is_err() || says(&entry.event, message) {
            break;
        }
    }
    let then = tree.root().and_then(|root| tree.agent(root));
    then.unwrap_or(root).clone()
}

/// Tells whether a message is part of the conversation from an event on.
fn says(event: &Event, message: &MessageId) -> bool {
    match event {
        Event::Replied(said) => said.id == *message,
        Event::Completion { message: told, .. } => told == message,
        Event::TurnStarted { prompt, .. } => prompt.as_ref() == Some(message),
        Event::Steered { prompt } => prompt == message,
        Event::Compacted(compaction) => compaction.message == *message,
        Event::Spawned(_)
        | Event::Prompted(_)
        | Event::Became(_)
        | Event::Asked { .. }
        | Event::Decided { .. }
        | Event::CallStarted { .. }
        | Event::CallFinished { .. }
        | Event::TurnEnded { .. }
        | Event::Settled { .. }
        | Event::Titled { .. }
        | Event::Summarised { .. }
        | Event::ClientTools { .. }
        | Event::RoleChosen(_)
        | Event::Hooked(_)
        | Event::Rewound { .. } => false,
    }
}

/// Reads the root of a session and its conversation.
async fn source(parts: &Parts, of: &AgentId) -> Result<Source, CommandError> {
    let store = &parts.store;
    let Some(tree) = store.tree_of(of).await? else {
        let text = format!("there is no session {of} to copy");
        return Err(CommandError::Invalid(text));
    };
    if tree.root() != of {
        let text = format!("{of} is an agent of session {tree}; only whole sessions are copied");
        return Err(CommandError::Invalid(text));
    }
    // At once: what is read in pieces may be of two moments.
    let log = store.entries(&tree, Pos::ZERO, usize::MAX).await?;
    let unreadable = |why: String| CommandError::Invalid(format!("copy session {of}: {why}"));
    let folded = Tree::fold(&log).map_err(|violation| unreadable(violation.to_string()))?;
    let own = log.iter().filter(|entry| entry.agent == *of);
    let transcript = Transcript::fold(own.map(|entry| &entry.event));
    let transcript = transcript.map_err(|misfit| unreadable(misfit.to_string()))?;
    match folded.agent(of).cloned() {
        Some(root) => Ok(Source {
            tree: folded,
            root,
            transcript,
            log,
        }),
        None => Err(unreadable("it has no root".to_owned())),
    }
}

fn check_idle(of: &AgentId, root: &Agent) -> Result<(), CommandError> {
    let idle = root.open_run().is_none() && root.open_calls().is_empty();
    let why = match (idle, root.queue.is_empty()) {
        (true, true) => return Ok(()),
        (false, _) => "is at work; wait until it is done or cancel it",
        (true, false) => "has prompts that wait; go on with them or take them back",
    };
    let text = format!("session {of} {why}, and copy it then");
    Err(CommandError::Invalid(text))
}

/// Returns what of a conversation is copied.
fn visible<'a>(
    of: &AgentId,
    transcript: &'a Transcript,
    at: Option<&MessageId>,
) -> Result<&'a [Item], CommandError> {
    let items = transcript.items();
    let Some(at) = at else {
        return Ok(items);
    };
    match items.iter().position(|item| item.id() == at) {
        Some(last) => Ok(&items[..=last]),
        None => {
            let text = format!("message {at} is not in the conversation of session {of}");
            Err(CommandError::Invalid(text))
        }
    }
}

/// Returns how the run of a copy ended: as the other one's did, if all of it is there.
fn ending(root: &Agent, transcript: &Transcript, last: &Item) -> Status {
    let all = transcript.items().last().map(Item::id) == Some(last.id());
    match root.settlement() {
        Some(settlement) if all => settlement.status.clone(),
        Some(_) | None => Status::Completed,
    }
}

/// Returns the title of a copy: `go (copy)`, and of a copy of that `go (copy 2)`.
fn title_of_copy(title: &str) -> String {
    let (stem, number) = copied(title).unwrap_or((title, 0));
    let end = match number {
        0 => format!("{COPY})"),
        number => format!("{COPY} {})", number + 1),
    };
    let stem: String = stem.chars().take(MAX_TITLE_CHARS - end.len()).collect();
    stem + &end
}

/// Returns what was copied and how often, if a title says that it is of a copy.
fn copied(title: &str) -> Option<(&str, u32)> {
    let (stem, number) = title.strip_suffix(')')?.rsplit_once(COPY)?;
    match number.strip_prefix(' ') {
        None => number.is_empty().then_some((stem, 1)),
        Some(number) => Some((stem, number.parse().ok().filter(|number| *number < 1000)?)),
    }
}

/// Returns the birth of a copy: it is what the other root was when it said what is copied last.
fn birth(
    kit: &Kit,
    scratch: Option<[String; 2]>,
    root: &Agent,
    copied: Copied,
    metadata: Option<RawJson>,
) -> Result<Spawned, CommandError> {
    let mut layer = root.layer().clone();
    if let Some([old, new]) = &scratch {
        layer = layer.moved(old, new);
    }
    let Origin::Session {
        workspace,
        date,
        project,
        ..
    } = &root.spawned.origin
    else {
        let text = format!("{} is not the root of a session", copied.session);
        return Err(CommandError::Invalid(text));
    };
    let now = kit.registry.get(root.definition());
    let profile = match now.filter(|_| root.has_changed()) {
        Some(manifest) => Profile::of(manifest),
        None => root.spawned.profile.clone(),
    };
    Ok(Spawned {
        definition: root.definition().to_owned(),
        origin: Origin::Session {
            workspace: workspace.clone(),
            date: date.clone(),
            project: project.clone(),
            copy: Some(Box::new(copied)),
        },
        depth: 0,
        model: root.model().to_owned(),
        layer,
        inspectable: root.spawned.inspectable,
        terms: root.terms().clone(),
        profile,
        metadata,
    })
}

/// Returns what is attached to a copy: what is attached to the other one, and over it what is given.
fn merged(old: Option<&RawJson>, new: Option<&RawJson>) -> Result<Option<RawJson>, CommandError> {
    let merged = match (old, new) {
        (None, one) | (one, None) => one.cloned(),
        (Some(old), Some(new)) => {
            let keys = |json: &RawJson| json.read::<Map<String, Value>>();
            match (keys(old), keys(new)) {
                (Ok(mut all), Ok(over)) => {
                    all.extend(over);
                    Some(RawJson::of(&all))
                }
                // What has no keys cannot be merged: the one that was meant counts.
                (Ok(_) | Err(_), Ok(_) | Err(_)) => Some(new.clone()),
            }
        }
    };
    let size = merged.as_ref().map_or(0, |merged| merged.as_str().len());
    if size > MAX_METADATA_BYTES {
        let text = format!(
            "the copy would have {size} bytes of metadata; at most {MAX_METADATA_BYTES} are taken"
        );
        return Err(CommandError::Invalid(text));
    }
    Ok(merged)
}

/// A conversation that is said anew, in one run.
struct Copy<'a> {
    env: &'a dyn Env,
    /// The root of the copy.
    root: AgentId,
    children: Children<'a>,
    entries: Vec<(AgentId, Event)>,
    tally: Tally,
    /// The new ids of the messages so far.
    ids: BTreeMap<MessageId, MessageId>,
    turns: TurnNo,
    /// Whether the last turn has not ended.
    turn: bool,
}

impl<'a> Copy<'a> {
    fn new(env: &'a dyn Env, root: AgentId, children: Children<'a>) -> Self {
        let tally = Tally {
            started: env.now(),
            ..Tally::default()
        };
        Self {
            env,
            root,
            children,
            entries: Vec::new(),
            tally,
            ids: BTreeMap::new(),
            turns: TurnNo::ZERO,
            turn: false,
        }
    }

    fn push(&mut self, event: Event) {
        self.tally.take(&event);
        self.entries.push((self.root.clone(), event));
    }

    fn title(&mut self, title: &str, by: &Author) {
        self.push(Event::Titled {
            title: title_of_copy(title),
            by: by.clone(),
        });
    }

    fn say(&mut self, item: &Item) {
        let id = self.renamed(item.id());
        match item {
            Item::User(message) => {
                let message = UserMessage {
                    id: id.clone(),
                    ..message.clone()
                };
                self.end_turn();
                self.push(Event::Prompted(message));
                self.start_turn(Some(id));
            }
            Item::Completion(completion) => {
                self.end_turn();
                self.push(Event::Completion {
                    message: id,
                    run: completion.run.clone(),
                    definition: completion.definition.clone(),
                    call: completion.call.clone(),
                    settlement: completion.settlement.clone(),
                    quiet: completion.quiet,
                });
            }
            Item::Assistant(step) => self.reply(id, step),
            Item::Compacted(compaction) => {
                let tail_start = compaction.tail_start.as_ref();
                let tail_start = tail_start.and_then(|tail| self.ids.get(tail).cloned());
                self.push(Event::Compacted(Box::new(Compaction {
                    message: id,
                    tail_start,
                    // They are another tree's.
                    live: Vec::new(),
                    ..compaction.as_ref().clone()
                })));
            }
        }
    }

    fn reply(&mut self, id: MessageId, step: &Step) {
        if !self.turn {
            self.start_turn(None);
        }
        self.push(Event::Replied(AssistantMessage {
            id,
            ..step.message().clone()
        }));
        for (call, outcome) in step.outcomes() {
            let child = self.children.made_by(&call.id).cloned();
            self.push(Event::CallStarted {
                call: call.id.clone(),
                child,
            });
            let child = self.children.entries(&call.id, &self.ids);
            self.entries.extend(child);
            let mut outcome = outcome.clone();
            self.children.retarget(&mut outcome);
            // All of its runs are told here, those too that the other root was told of later: a copy
            // of a child is at rest from its beginning, and a completion names the other child.
            self.push(Event::CallFinished {
                call: call.id.clone(),
                outcome,
                delivers: self.children.told_of(&call.id),
            });
        }
    }

    /// Ends the run, if there was anything to do for one.
    fn end(mut self, status: Status) -> Vec<(AgentId, Event)> {
        self.end_turn();
        if self.turns != TurnNo::ZERO {
            let settlement = settle::settlement(&self.tally, status, self.env.now());
            let run = RunNo::new(1);
            // Hooks hear of what happens, and nothing happens to a copy.
            self.push(Event::Settled {
                run,
                settlement,
                untold: false,
            });
        }
        self.entries
    }

    fn start_turn(&mut self, prompt: Option<MessageId>) {
        self.turns = self.turns.next();
        self.turn = true;
        self.push(Event::TurnStarted {
            run: RunNo::new(1),
            turn: self.turns,
            prompt,
        });
    }

    fn end_turn(&mut self) {
        if std::mem::take(&mut self.turn) {
            let (turn, end) = (self.turns, TurnEnd::Finished);
            self.push(Event::TurnEnded { turn, end });
        }
    }

    /// Returns the new id of a message.
    fn renamed(&mut self, old: &MessageId) -> MessageId {
        let new = MessageId::new(self.env.new_id());
        self.ids.insert(old.clone(), new.clone());
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_copies_are_counted() {
        let long = "t".repeat(MAX_TITLE_CHARS);
        for (title, expected) in [
            ("go", "go (copy)".to_owned()),
            ("go (copy)", "go (copy 2)".to_owned()),
            ("go (copy 2)", "go (copy 3)".to_owned()),
            ("go (copy x)", "go (copy x) (copy)".to_owned()),
            ("go (copy 4000)", "go (copy 4000) (copy)".to_owned()),
            (&long, format!("{} (copy)", "t".repeat(MAX_TITLE_CHARS - 7))),
        ] {
            assert_eq!(title_of_copy(title), expected);
        }
    }
}

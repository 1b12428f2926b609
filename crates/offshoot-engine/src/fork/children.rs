//! The children that go with a copy (PD-49).
//!
//! A conversation tells of children: what they said is nested in its rows and can
//! be looked into. So that this holds for a copy, and still holds when the other
//! session has been removed, each child that the copied conversation was told of
//! is copied as well, with all below it, under new ids. Of a child only that is
//! copied which was told: what it said later goes to the original alone.
//! What the root's model reads stays word for word, old ids and paths included; the
//! metadata of outcomes names the copies, and `copy_of` in a child's metadata says
//! whose copy it is.

use std::collections::{BTreeMap, BTreeSet};

use offshoot_types::env::Env;
use offshoot_types::event::{Entry, Event, Origin, Spawned};
use offshoot_types::id::{AgentId, CallId, MessageId, Pos, RunId, RunNo};
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, AssistantPart};
use offshoot_types::outcome::{Body, Outcome};
use offshoot_types::settlement::Settlement;
use offshoot_types::transcript::Item;
use offshoot_types::tree::Tree;
use serde_json::{Map, Value};

/// The children of a root that go with a copy of it, by the calls that made them.
pub(super) struct Children<'a> {
    log: &'a [Entry],
    by_call: BTreeMap<CallId, Child<'a>>,
    /// The new ids of all agents that are copied, by their old ones.
    ids: BTreeMap<AgentId, AgentId>,
    /// Scratch folders of the two sessions, the old one first.
    scratch: Option<[String; 2]>,
}

/// A child that goes with a copy.
struct Child<'a> {
    /// It and all below it.
    subtree: BTreeSet<&'a AgentId>,
    id: &'a AgentId,
    /// Its last run that the root was told of.
    last: RunNo,
    /// Where that run settled: nothing behind it is copied.
    until: Pos,
}

impl<'a> Children<'a> {
    /// Finds the children that a conversation was told of.
    pub(super) fn of(
        log: &'a [Entry],
        tree: &'a Tree,
        items: &[Item],
        (root, copy): (&AgentId, &AgentId),
        env: &dyn Env,
        scratch: Option<[String; 2]>,
    ) -> Self {
        let told = told(log, root, items);
        let calls: BTreeSet<&CallId> = items.iter().flat_map(calls).collect();
        let mut ids = BTreeMap::from([(root.clone(), copy.clone())]);
        let mut by_call = BTreeMap::new();
        let children = tree.agent(root).into_iter().flat_map(|root| &root.children);
        for id in children {
            let agent = tree.agent(id);
            let Some(call) = agent.and_then(|agent| agent.parent()).map(|of| &of.call) else {
                continue;
            };
            let Some((last, until)) = last_told(tree, id, &told) else {
                continue;
            };
            if !calls.contains(call) {
                continue;
            }
            let subtree: BTreeSet<&AgentId> = tree.below(id).into_iter().collect();
            for &old in &subtree {
                ids.insert(old.clone(), AgentId::new(env.new_id()));
            }
            let child = Child {
                subtree,
                id,
                last,
                until,
            };
            by_call.insert(call.clone(), child);
        }
        Self {
            log,
            by_call,
            ids,
            scratch,
        }
    }

    /// Returns the copy of the child that a call made.
    pub(super) fn made_by(&self, call: &CallId) -> Option<&AgentId> {
        self.ids.get(self.by_call.get(call)?.id)
    }

    /// Returns the runs of that child that the copy was told of.
    pub(super) fn told_of(&self, call: &CallId) -> Vec<RunId> {
        let (Some(child), Some(agent)) = (self.by_call.get(call), self.made_by(call)) else {
            return Vec::new();
        };
        let runs = (1..=child.last.get()).map(|run| RunId {
            agent: agent.clone(),
            run: RunNo::new(run),
        });
        runs.collect()
    }

    /// Returns the entries of that child and of all below it, in the order of the log. `messages` are
    /// the new ids of the root's messages.
    pub(super) fn entries(
        &self,
        call: &CallId,
        messages: &BTreeMap<MessageId, MessageId>,
    ) -> Vec<(AgentId, Event)> {
        let Some(child) = self.by_call.get(call) else {
            return Vec::new();
        };
        let own = self
            .log
            .iter()
            .filter(|entry| entry.pos <= child.until && child.subtree.contains(&entry.agent));
        let copied = own.filter_map(|entry| {
            let agent = self.ids.get(&entry.agent)?.clone();
            Some((agent, self.copied(entry, messages)?))
        });
        copied.collect()
    }

    /// Returns an event as it is said of the copies; `None` for what is not copied.
    fn copied(&self, entry: &Entry, messages: &BTreeMap<MessageId, MessageId>) -> Option<Event> {
        let mut event = entry.event.clone();
        match &mut event {
            Event::Spawned(spawned) => self.move_birth(&entry.agent, spawned, messages),
            // Answers are not copied, and a copy has no open requests (SES-09).
            Event::Asked { .. } => return None,
            Event::Decided { grant, .. } => *grant = None,
            // Hooks hear of what happens, and nothing happens to a copy.
            Event::Settled {
                settlement, untold, ..
            } => {
                *untold = false;
                self.rename_unread(settlement);
            }
            Event::CallStarted { child, .. } => child.iter_mut().for_each(|id| self.rename(id)),
            Event::CallFinished {
                outcome, delivers, ..
            } => {
                delivers
                    .iter_mut()
                    .for_each(|run| self.rename(&mut run.agent));
                if let Body::Output(data) = &mut outcome.body {
                    self.rename_in(data);
                }
                self.retarget(outcome);
            }
            Event::Completion {
                run, settlement, ..
            } => {
                self.rename(&mut run.agent);
                self.rename_unread(settlement);
            }
            Event::Rewound {
                drops, consumes, ..
            } => {
                drops.iter_mut().for_each(|id| self.rename(id));
                consumes
                    .iter_mut()
                    .for_each(|run| self.rename(&mut run.agent));
            }
            Event::Compacted(compaction) => {
                let live = &mut compaction.live;
                live.iter_mut()
                    .for_each(|live| self.rename(&mut live.agent));
                let results = &mut compaction.results;
                results
                    .iter_mut()
                    .for_each(|kept| self.rename(&mut kept.agent));
            }
            Event::Replied(message) => {
                for part in &mut message.parts {
                    if let AssistantPart::Call(call) = part
                        && let Arguments::Json(arguments) = &mut call.arguments
                    {
                        self.rename_in(arguments);
                    }
                }
            }
            Event::Hooked(hooked) => {
                if let Some(arguments) = &mut hooked.arguments {
                    self.rename_in(arguments);
                }
            }
            _ => {}
        }
        Some(event)
    }

    fn move_birth(
        &self,
        id: &AgentId,
        spawned: &mut Spawned,
        messages: &BTreeMap<MessageId, MessageId>,
    ) {
        if let Origin::Task(parent) = &mut spawned.origin {
            self.rename(&mut parent.agent);
            if let Some(message) = messages.get(&parent.message) {
                parent.message = message.clone();
            }
        }
        if let Some([old, new]) = &self.scratch {
            spawned.layer = std::mem::take(&mut spawned.layer).moved(old, new);
        }
        let host = spawned.metadata.as_ref();
        let keys = host.map_or(Ok(Map::new()), |host| host.read::<Map<String, Value>>());
        // What is no object has no room for a key.
        if let Ok(mut keys) = keys {
            keys.insert("copy_of".to_owned(), id.as_str().into());
            spawned.metadata = Some(RawJson::of(&keys));
        }
    }

    /// Has the metadata of an outcome name the copies of children. What a model reads stays as it is.
    pub(super) fn retarget(&self, outcome: &mut Outcome) {
        for fact in outcome.metadata.extra.values_mut() {
            self.rename_in(fact);
        }
    }

    fn rename(&self, id: &mut AgentId) {
        if let Some(new) = self.ids.get(id) {
            *id = new.clone();
        }
    }

    fn rename_unread(&self, settlement: &mut Settlement) {
        let unread = settlement.unread.iter_mut();
        for result in unread.flat_map(|unread| &mut unread.results) {
            self.rename(&mut result.agent);
            self.rename(&mut result.reader);
        }
    }

    /// Puts new ids in the place of old ones wherever a whole string of a JSON text is one. What does
    /// not change stays as it is, byte for byte.
    fn rename_in(&self, json: &mut RawJson) {
        for (old, new) in &self.ids {
            let [old, new] = [old, new].map(|id| RawJson::of(id).as_str().to_owned());
            if json.as_str().contains(&old)
                && let Ok(renamed) = RawJson::parse(json.as_str().replace(&old, &new))
            {
                *json = renamed;
            }
        }
    }
}

fn calls(item: &Item) -> impl Iterator<Item = &CallId> {
    let message = match item {
        Item::Assistant(step) => Some(step.message()),
        Item::User(_) | Item::Completion(_) | Item::Compacted(_) => None,
    };
    let calls = message.into_iter().flat_map(|message| message.calls());
    calls.map(|call| &call.id)
}

/// Returns the runs that a conversation of a root was told of.
fn told(log: &[Entry], root: &AgentId, items: &[Item]) -> BTreeSet<(AgentId, RunNo)> {
    let visible: BTreeSet<&MessageId> = items.iter().map(Item::id).collect();
    let calls: BTreeSet<&CallId> = items.iter().flat_map(calls).collect();
    let own = log.iter().filter(|entry| entry.agent == *root);
    let told = own.filter(|entry| match &entry.event {
        Event::CallFinished { call, .. } => calls.contains(call),
        Event::Completion { message, .. } => visible.contains(message),
        _ => false,
    });
    let runs = told.flat_map(|entry| entry.event.delivers());
    runs.map(|run| (run.agent.clone(), run.run)).collect()
}

/// Returns the last run of a child such that it and all before it were told, and where it settled.
fn last_told(
    tree: &Tree,
    child: &AgentId,
    told: &BTreeSet<(AgentId, RunNo)>,
) -> Option<(RunNo, Pos)> {
    let runs = &tree.agent(child)?.runs;
    let numbered = (1..).map(RunNo::new).zip(runs);
    let told = numbered.take_while(|(no, _)| told.contains(&(child.clone(), *no)));
    let settled = told.filter_map(|(no, run)| Some((no, run.settled.as_ref()?.0)));
    settled.last()
}

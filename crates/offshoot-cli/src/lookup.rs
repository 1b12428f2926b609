//! Finding sessions and agents, and reading their logs.
//!
//! Reads only, by queries: nothing here claims a tree or starts a turn, and no list of all sessions is
//! read to find one. A session is found before its project is loaded, because its log names its model.

use std::collections::HashSet;

use offshoot_engine::{Runtime, query};
use offshoot_types::event::{Entry, Event, Origin};
use offshoot_types::id::{AgentId, MessageId, TreeId};
use offshoot_types::listing::{Among, SessionQuery};
use offshoot_types::message::UserMessage;
use offshoot_types::settlement::Status;
use offshoot_types::store::{StoreError, StoreErrorKind};
use offshoot_types::transcript::{Item, Transcript};
use offshoot_types::tree::{Tree, Unfinished};

use crate::exit::Stop;
use crate::render;

/// The shortest part of an id that stands for the whole.
const SHORTEST_PART: usize = 8;

/// How many ids are named when a part could be any of them.
const MOST_NAMED: usize = 5;

/// Most lines of a prompt from before, and most characters of one, that are shown.
const MOST_PROMPT_LINES: usize = 3;
const MOST_PROMPT_CHARS: usize = 200;

/// A session, as its log has it.
pub(crate) struct Session {
    pub(crate) id: TreeId,
    pub(crate) log: Vec<Entry>,
    pub(crate) tree: Tree,
}

/// How a conversation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// The beginning of what was said last.
    pub(crate) prompt: String,
    /// What was answered; empty if nothing.
    pub(crate) answer: String,
    /// How the last run ended, where it did not end well.
    pub(crate) ending: Option<String>,
}

/// An agent and its session.
pub(crate) struct Found {
    pub(crate) agent: AgentId,
    pub(crate) session: Session,
}

/// Reads a session; `None` if there is none, or its root was never born.
pub(crate) async fn session(runtime: &Runtime, id: &TreeId) -> Result<Option<Session>, StoreError> {
    let log = runtime.query(query::Log::of(id.clone())).await?;
    let tree = Tree::fold(&log).map_err(|violation| {
        let text = format!("load session {id}: {violation}");
        StoreError::new(StoreErrorKind::Unusable, text)
    })?;
    Ok(tree.root().is_some().then_some(Session {
        id: id.clone(),
        log,
        tree,
    }))
}

/// Returns what the last run of an agent left undone, with everything below it.
pub(crate) fn unfinished(
    session: &TreeId,
    agent: &AgentId,
    log: &[Entry],
) -> Result<Unfinished, StoreError> {
    Unfinished::of_last_run(agent, log).map_err(|violation| {
        let text = format!("follow session {session}: {violation}");
        StoreError::new(StoreErrorKind::Unusable, text)
    })
}

/// Finds an agent by its id, or by a part that no other id begins or ends with.
pub(crate) async fn find(runtime: &Runtime, id: &str) -> Result<Found, Stop> {
    match search(runtime, id, Among::Agents).await? {
        Some(found) => Ok(found),
        None => Err(unknown(id)),
    }
}

/// Finds an agent as `find` does; `None` if there is none. A part that could be several is refused.
pub(crate) async fn search(
    runtime: &Runtime,
    id: &str,
    among: Among,
) -> Result<Option<Found>, Stop> {
    if id.is_empty() {
        let text = r#"the id is empty; see "offshoot sessions list""#;
        return Err(Stop::usage(text));
    }
    if let Some(found) = load(runtime, AgentId::new(id)).await? {
        return Ok(Some(found));
    }
    if is_too_short(id) {
        return Ok(None);
    }
    let find = query::Find {
        part: id.to_owned(),
        among,
        limit: MOST_NAMED + 1,
    };
    match runtime.query(find).await?.as_slice() {
        [] => Ok(None),
        [agent] => Ok(load(runtime, agent.clone()).await?),
        several => Err(ambiguous(id, several)),
    }
}

/// Finds a message of a conversation by its id, or by a part that no other id begins or ends with.
pub(crate) fn message(talk: &Transcript, part: &str) -> Result<MessageId, Stop> {
    let ids: Vec<&MessageId> = talk.items().iter().map(Item::id).collect();
    if let Some(id) = ids.iter().find(|id| id.as_str() == part) {
        return Ok((*id).clone());
    }
    let is_meant = |id: &&&MessageId| id.as_str().starts_with(part) || id.as_str().ends_with(part);
    let meant: Vec<&&MessageId> = if is_too_short(part) {
        Vec::new()
    } else {
        ids.iter().filter(is_meant).collect()
    };
    match meant.as_slice() {
        [id] => Ok((**id).clone()),
        [] => Err(Stop::usage(format!(
            "there is no message {} in the conversation; see \"offshoot sessions show --full\"",
            shown(part)
        ))),
        several => Err(Stop::usage(format!(
            "{} could be any of {} messages; give more of the id",
            shown(part),
            several.len()
        ))),
    }
}

/// Finds the session that changed last of those that work in a folder.
pub(crate) async fn newest_in(runtime: &Runtime, workspace: &str) -> Result<Session, Stop> {
    let newest = query::Sessions(SessionQuery {
        workspace: Some(workspace.to_owned()),
        limit: Some(1),
        ..SessionQuery::default()
    });
    let found = match runtime.query(newest).await?.sessions.as_slice() {
        [newest, ..] => session(runtime, &newest.tree).await?,
        [] => None,
    };
    found.ok_or_else(|| {
        Stop::usage(format!(
            "there is no session in {workspace} to continue; start one with: offshoot run PROMPT"
        ))
    })
}

async fn load(runtime: &Runtime, agent: AgentId) -> Result<Option<Found>, StoreError> {
    let Some(tree) = runtime.query(query::TreeOf(agent.clone())).await? else {
        return Ok(None);
    };
    let session = session(runtime, &tree).await?;
    Ok(session.map(|session| Found { agent, session }))
}

/// Tells whether a part of an id is too short to stand for it.
pub(crate) fn is_too_short(part: &str) -> bool {
    part.chars().count() < SHORTEST_PART
}

fn ambiguous(part: &str, several: &[AgentId]) -> Stop {
    let count = match several.len() {
        count if count > MOST_NAMED => format!("more than {MOST_NAMED}"),
        count => count.to_string(),
    };
    let named = several.iter().take(MOST_NAMED).map(AgentId::as_str);
    let named = named.collect::<Vec<_>>().join(", ");
    let more = if several.len() > MOST_NAMED {
        ", …"
    } else {
        ""
    };
    Stop::usage(format!(
        "{} could be any of {count} sessions or agents; give more of the id: {named}{more}",
        shown(part)
    ))
}

fn unknown(id: &str) -> Stop {
    let way = if is_too_short(id) {
        format!("a part of an id has at least {SHORTEST_PART} characters; ")
    } else {
        String::new()
    };
    Stop::usage(format!(
        "there is no session or agent {}; {way}see \"offshoot sessions list\"",
        shown(id)
    ))
}

/// Returns an id as a person gave it, made fit for a line.
fn shown(id: &str) -> String {
    let id: String = id.chars().take(200).collect();
    id.escape_debug().to_string()
}

/// The messages of a session that were taken back.
pub(crate) struct Hidden<'a>(HashSet<(&'a AgentId, &'a MessageId)>);

impl Hidden<'_> {
    /// Tells whether an entry is a message that was taken back.
    pub(crate) fn has(&self, entry: &Entry) -> bool {
        let id = match &entry.event {
            Event::Prompted(message) => &message.id,
            Event::Replied(message) => &message.id,
            Event::Completion { message, .. } => message,
            Event::Compacted(compaction) => &compaction.message,
            Event::Spawned(_)
            | Event::TurnStarted { .. }
            | Event::Became(_)
            | Event::Steered { .. }
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
            | Event::Rewound { .. } => return false,
        };
        self.0.contains(&(&entry.agent, id))
    }
}

impl Session {
    /// A session of which nothing is known yet.
    pub(crate) fn unborn(id: TreeId) -> Self {
        Self {
            id,
            log: Vec::new(),
            tree: Tree::default(),
        }
    }

    /// Returns the model of its root.
    pub(crate) fn model(&self) -> Option<&str> {
        let root = self.tree.agent(self.tree.root()?)?;
        Some(&root.spawned.model)
    }

    /// Returns the agent that its root is now.
    pub(crate) fn definition(&self) -> Option<&str> {
        let root = self.tree.agent(self.tree.root()?)?;
        Some(root.definition())
    }

    /// Returns what it is called, if anybody has named it.
    pub(crate) fn title(&self) -> Option<&str> {
        let root = self.tree.agent(self.tree.root()?)?;
        root.title.as_ref().map(|(title, _)| title.as_str())
    }

    /// Returns what an agent was asked, in the order it came, without what was taken back.
    pub(crate) fn prompts(&self, agent: &AgentId) -> impl Iterator<Item = &UserMessage> {
        let hidden = self.hidden();
        let own = self.log.iter().filter(move |entry| entry.agent == *agent);
        own.filter(move |entry| !hidden.has(entry))
            .filter_map(|entry| match &entry.event {
                Event::Prompted(message) => Some(message),
                Event::Spawned(_)
                | Event::Completion { .. }
                | Event::TurnStarted { .. }
                | Event::Became(_)
                | Event::Steered { .. }
                | Event::Replied(_)
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
                | Event::Compacted(_)
                | Event::Rewound { .. } => None,
            })
    }

    /// Returns the beginning of what its root was asked first; empty if nobody has asked yet.
    pub(crate) fn first_words(&self, most: usize) -> String {
        let first = self.prompts(self.id.root()).next();
        first.map_or_else(String::new, |message| {
            render::first_words(&message.text, most)
        })
    }

    /// Returns how the conversation with its root ended: what was said last and what was answered.
    pub(crate) fn last_exchange(&self) -> Option<Exchange> {
        let root = self.id.root();
        let prompt = self.prompts(root).last()?;
        let hidden = self.hidden();
        let mut answer = None;
        let own = self.log.iter().filter(|entry| entry.agent == *root);
        for entry in own.filter(|entry| !hidden.has(entry)) {
            match &entry.event {
                Event::Prompted(message) if message.id == prompt.id => answer = None,
                Event::Replied(message) => answer = message.text().or(answer),
                _ => {}
            }
        }
        let agent = self.tree.agent(root)?;
        let ended = agent.settlement();
        let ended = ended.filter(|settlement| settlement.status != Status::Completed);
        let ending = ended.map(|settlement| render::ending(settlement, &agent.terms().caps));
        let mut lines = prompt.text.lines();
        let mut words: Vec<String> = lines
            .by_ref()
            .take(MOST_PROMPT_LINES)
            .map(|line| render::first_words(line, MOST_PROMPT_CHARS))
            .collect();
        if lines.next().is_some() {
            words.push("…".to_owned());
        }
        Some(Exchange {
            prompt: words.join("\n"),
            answer: answer.unwrap_or_default(),
            ending,
        })
    }

    /// Returns what was taken back in it.
    pub(crate) fn hidden(&self) -> Hidden<'_> {
        let mut hidden = HashSet::new();
        for entry in &self.log {
            if let Event::Rewound { hides, .. } = &entry.event {
                hidden.extend(hides.iter().map(|message| (&entry.agent, message)));
            }
        }
        Hidden(hidden)
    }

    /// Returns the conversation of an agent, without what was taken back.
    pub(crate) fn conversation(&self, agent: &AgentId) -> Result<Transcript, StoreError> {
        let own = self.log.iter().filter(|entry| entry.agent == *agent);
        Transcript::fold(own.map(|entry| &entry.event)).map_err(|misfit| {
            let text = format!("load session {}: {misfit}", self.id);
            StoreError::new(StoreErrorKind::Unusable, text)
        })
    }

    /// Returns the prompts of an agent that no turn has taken yet.
    pub(crate) fn waiting(&self, agent: &AgentId) -> Vec<&UserMessage> {
        let Some(queue) = self.tree.agent(agent).map(|agent| &agent.queue) else {
            return Vec::new();
        };
        let waits = |message: &&UserMessage| queue.contains(&message.id);
        self.prompts(agent).filter(waits).collect()
    }

    /// Returns the folder it works in.
    pub(crate) fn workspace(&self) -> Option<&str> {
        let root = self.tree.agent(self.tree.root()?)?;
        match &root.spawned.origin {
            Origin::Session { workspace, .. } => Some(workspace),
            Origin::Task(_) | Origin::Helper(_) => None,
        }
    }
}

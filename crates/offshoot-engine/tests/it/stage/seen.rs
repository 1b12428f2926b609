//! What a test sees of a stage afterwards: the log, what it adds up to, and what models were sent.

use offshoot_engine::query;
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, Pos};
use offshoot_types::journal::Recorded;
use offshoot_types::model::{Request, RequestMessage};
use offshoot_types::outcome::{Body, ErrorKind, Outcome};
use offshoot_types::settlement::Settlement;
use offshoot_types::store::Store;
use offshoot_types::tree::Tree;

use super::Stage;

impl Stage {
    /// Returns the chat rows of the root.
    pub(crate) async fn chat(&self) -> serde_json::Value {
        self.chat_of(&self.root()).await.unwrap()
    }

    /// Returns the chat rows of an agent, if it has some of its own.
    pub(crate) async fn chat_of(&self, agent: &AgentId) -> Option<serde_json::Value> {
        let chat = self.store.chat(agent).await.unwrap()?;
        Some(serde_json::to_value(chat).unwrap())
    }

    /// Returns what the journal has of the tree, as (agent, path).
    pub(crate) async fn changes(&self) -> Vec<(AgentId, String)> {
        let changes = self.store.changes(&self.tree).await.unwrap().into_iter();
        let who = |recorded: Recorded| (recorded.writer.agent, recorded.change.path);
        changes.map(who).collect()
    }

    pub(crate) async fn log(&self) -> Vec<Entry> {
        let entries = self.store.entries(&self.tree, Pos::ZERO, usize::MAX);
        entries.await.unwrap()
    }

    pub(crate) async fn tree(&self) -> Tree {
        let query = query::SessionTree(self.tree.clone());
        self.runtime.query(query).await.unwrap()
    }

    /// Returns how the last run of an agent ended.
    pub(crate) async fn settlement(&self, agent: &AgentId) -> Settlement {
        self.tree()
            .await
            .agent(agent)
            .unwrap()
            .settlement()
            .unwrap()
            .as_ref()
            .clone()
    }

    /// Returns the outcomes in the log of the agents of a definition, in order.
    pub(crate) async fn outcomes(&self, definition: &str) -> Vec<Outcome> {
        let tree = self.tree().await;
        let of = |agent: &AgentId| tree.agent(agent).unwrap().spawned.definition == definition;
        let log = self.log().await;
        log.into_iter()
            .filter(|entry| of(&entry.agent))
            .filter_map(|entry| match entry.event {
                Event::CallFinished { outcome, .. } => Some(outcome),
                _ => None,
            })
            .collect()
    }

    /// Returns the completions the root was told, as (status word, text).
    pub(crate) async fn completions(&self) -> Vec<(String, Option<String>)> {
        let root = self.root();
        let log = self.log().await;
        log.into_iter()
            .filter(|entry| entry.agent == root)
            .filter_map(|entry| match entry.event {
                Event::Completion { settlement, .. } => {
                    Some((settlement.status.word().to_owned(), settlement.output))
                }
                _ => None,
            })
            .collect()
    }
}

/// Returns the kind of a failed outcome.
#[track_caller]
pub(crate) fn kind(outcome: &Outcome) -> ErrorKind {
    match &outcome.body {
        Body::Error { kind, .. } => *kind,
        Body::Output(data) => panic!("it worked: {data:?}"),
    }
}

/// Returns the data of an outcome that worked.
#[track_caller]
pub(crate) fn data(outcome: &Outcome) -> serde_json::Value {
    match &outcome.body {
        Body::Output(data) => data.read().unwrap(),
        Body::Error { kind, text } => panic!("it failed: {kind:?} {text}"),
    }
}

/// Returns what a request tells of calls.
pub(crate) fn outcome_texts(request: &Request) -> Vec<String> {
    let outcomes = |message: &RequestMessage| match message {
        RequestMessage::Outcomes(outcomes) => outcomes.clone(),
        RequestMessage::User(_) | RequestMessage::Assistant(_) => Vec::new(),
    };
    let all = request.messages.iter().flat_map(outcomes);
    all.map(|outcome| outcome.text.to_string()).collect()
}

/// Returns the user-side texts of a request.
pub(crate) fn user_texts(request: &Request) -> Vec<String> {
    request
        .messages
        .iter()
        .filter_map(|message| match message {
            RequestMessage::User(text) => Some(text.to_string()),
            RequestMessage::Assistant(_) | RequestMessage::Outcomes(_) => None,
        })
        .collect()
}

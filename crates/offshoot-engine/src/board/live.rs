//! What is said while it comes: pieces of messages, and of what calls say.
//!
//! Published at once and never stored (R4). As much of it is kept as whoever joins
//! later lacks: an open message from its beginning, of a running call the end.

use std::sync::Arc;

use offshoot_types::id::{AgentId, CallId, MessageId, Pos};
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::{Board, LIVE_BACKLOG};
use crate::subscribe::Detail;
use crate::update::{Activity, Delta, DeltaKind, Output, Update};

/// How much of what a call says is kept for who joins later.
const OUTPUT_KEPT: usize = 32 * 1024;

/// A message that is being streamed.
#[derive(Clone, Debug)]
pub(super) struct Partial {
    message: MessageId,
    text: String,
    reasoning: String,
}

/// What a call has said while it runs: the end of it, and how much came before.
#[derive(Clone, Debug, Default)]
pub(super) struct Spoken {
    before: usize,
    text: String,
}

impl Spoken {
    /// Takes a piece and returns where it begins.
    fn take(&mut self, piece: &str) -> usize {
        let offset = self.before + self.text.len();
        self.text.push_str(piece);
        if self.text.len() > 2 * OUTPUT_KEPT {
            let cut = self.text.ceil_char_boundary(self.text.len() - OUTPUT_KEPT);
            self.text.drain(..cut);
            self.before += cut;
        }
        offset
    }
}

impl Board {
    /// Joins the live updates; what they lack up to now is in the snapshot.
    pub(crate) fn join(&self, detail: Detail) -> (Snapshot, broadcast::Receiver<Arc<[Update]>>) {
        let state = self.state();
        let receiver = match detail {
            Detail::All => &self.live,
            Detail::News => &self.news,
        };
        let receiver = receiver.get_or_init(|| broadcast::Sender::new(LIVE_BACKLOG));
        let receiver = receiver.subscribe();
        let is_wanted = |activity: &Activity| match detail {
            Detail::All => *activity != Activity::Resting,
            Detail::News => activity.is_news(),
        };
        let nodes = state.nodes.iter();
        let busy = nodes.filter(|(_, node)| is_wanted(&node.activity));
        let activities = busy
            .map(|(id, node)| (id.clone(), node.activity.clone()))
            .collect();
        // What is said while it comes is no news.
        let (partials, outputs) = match detail {
            Detail::All => (Some(&state.partials), Some(&state.outputs)),
            Detail::News => (None, None),
        };
        let mut open = Vec::new();
        for (agent, partial) in partials.into_iter().flatten() {
            for (kind, text) in [
                (DeltaKind::Reasoning, &partial.reasoning),
                (DeltaKind::Text, &partial.text),
            ] {
                if !text.is_empty() {
                    open.push(Delta {
                        agent: agent.clone(),
                        message: partial.message.clone(),
                        kind,
                        offset: 0,
                        text: text.clone(),
                    });
                }
            }
        }
        let outputs = outputs.into_iter().flatten();
        let outputs = outputs.map(|((agent, call), spoken)| Output {
            agent: agent.clone(),
            call: call.clone(),
            offset: spoken.before,
            text: spoken.text.clone(),
        });
        (
            Snapshot {
                pos: state.tree.pos(),
                outputs: outputs.collect(),
                open,
                activities,
                idle: state.is_idle(),
            },
            receiver,
        )
    }

    /// Publishes a piece of a message and keeps it for who joins later.
    pub(crate) fn delta(
        &self,
        agent: &AgentId,
        message: &MessageId,
        kind: DeltaKind,
        text: String,
    ) {
        let mut state = self.state();
        let partial = state
            .partials
            .entry(agent.clone())
            .or_insert_with(|| Partial {
                message: message.clone(),
                text: String::new(),
                reasoning: String::new(),
            });
        let so_far = match kind {
            DeltaKind::Text => &mut partial.text,
            DeltaKind::Reasoning => &mut partial.reasoning,
        };
        let offset = so_far.len();
        so_far.push_str(&text);
        self.publish(Update::Delta(Delta {
            agent: agent.clone(),
            message: message.clone(),
            kind,
            offset,
            text,
        }));
    }

    /// Publishes what a call says while it runs, and keeps the end of it for who joins later.
    pub(crate) fn output(&self, agent: &AgentId, call: &CallId, text: &str) {
        let mut state = self.state();
        if let Some(node) = state.nodes.get_mut(agent) {
            node.progress = Instant::now();
        }
        let key = (agent.clone(), call.clone());
        let offset = state.outputs.entry(key).or_default().take(text);
        self.publish(Update::Output(Output {
            agent: agent.clone(),
            call: call.clone(),
            offset,
            text: text.to_owned(),
        }));
    }
}

/// What a new subscriber lacks.
pub(crate) struct Snapshot {
    pub(crate) pos: Pos,
    pub(crate) open: Vec<Delta>,
    /// What running calls have said lately.
    pub(crate) outputs: Vec<Output>,
    /// What agents do that do anything.
    pub(crate) activities: Vec<(AgentId, Activity)>,
    pub(crate) idle: bool,
}

//! What a child sees of its parent's conversation.
//!
//! `fresh` sees nothing. `fork` sees the parent's last message, the one with the
//! call that made it (PD-11). `inherit` sees the parent's whole request, as it
//! was sent. In both, every call of that message has the same placeholder for an
//! outcome and the directive comes last, so that siblings share all but their
//! directive, and an inherited request only extends the parent's. Nothing is
//! copied into the child's log: what the parent had said by then never changes.

use std::sync::Arc;

use offshoot_types::event::{Event, Parent};
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::manifest::Context;
use offshoot_types::message::AssistantPart;
use offshoot_types::model::{CallOutcome, RequestMessage};
use offshoot_types::store::StoreError;
use offshoot_types::transcript::{Item, Transcript};

use crate::board::Board;
use crate::context;
use crate::narrate::{self, Detail};
use crate::runtime::Parts;

/// What stands for the outcome of every call of the parent's message: the same for all siblings.
const PLACEHOLDER: &str =
    "[this call belongs to the agent you were forked from; it goes on elsewhere]";

/// What stands for the parent's last message where there is none (PD-12).
const NO_MESSAGE: &str = "(the agent you were forked from had said nothing yet)";

/// What an agent sees of the conversation above it.
pub(crate) struct Inherited {
    /// What the parent itself had inherited.
    above: Option<Arc<Inherited>>,
    /// What of the parent's own conversation is seen, its last message at the end.
    items: Vec<Item>,
    /// The calls of that message; none if no call made the child.
    calls: Vec<CallId>,
    /// Whether that message has calls that go on elsewhere.
    goes_on: bool,
}

impl Inherited {
    /// Renders it, up to where the directive follows.
    pub(crate) fn render(&self, messages: &mut Vec<RequestMessage>) {
        if let Some(above) = &self.above {
            above.render(messages);
        }
        let mut own = Vec::new();
        let directive = self.above.as_ref().and(self.items.first()).map(Item::id);
        context::push_items(&mut own, &self.items, directive);
        messages.extend(own);
        let last = self.items.iter().rev().find_map(|item| match item {
            Item::Assistant(step) => Some(step.message()),
            Item::User(_) | Item::Completion(_) | Item::Compacted(_) => None,
        });
        let Some(last) = last else {
            let text = AssistantPart::Text(NO_MESSAGE.to_owned());
            messages.push(RequestMessage::Assistant(vec![text]));
            return;
        };
        if !self.goes_on {
            return;
        }
        let placeholders = last.calls().map(|call| CallOutcome {
            call: call.id.clone(),
            tool: call.tool.clone(),
            text: PLACEHOLDER.into(),
            failed: false,
        });
        messages.push(RequestMessage::Outcomes(placeholders.collect()));
    }

    /// Adds what was said above, as a text.
    pub(crate) fn narrate(&self, text: &mut String, detail: Detail) {
        if let Some(above) = &self.above {
            above.narrate(text, detail);
        }
        for item in &self.items {
            narrate::push_item(text, item, detail);
        }
    }

    /// Returns the ids of calls that are seen, so that no call of the child has one of them.
    pub(crate) fn calls(&self) -> Vec<CallId> {
        let mut calls: Vec<CallId> = self
            .above
            .as_ref()
            .map_or_else(Vec::new, |above| above.calls());
        for item in &self.items {
            if let Item::Assistant(step) = item {
                calls.extend(step.message().calls().map(|call| call.id.clone()));
            }
        }
        calls
    }
}

/// What a directive stands in.
pub(crate) const MARK: &str = "fork_directive";

/// Returns a directive as a child reads it that sees more than that.
pub(crate) fn directive(text: &str) -> String {
    format!("<{MARK}>\n{text}\n</{MARK}>")
}

/// Finds what an agent sees of the conversation above it.
pub(crate) async fn find(
    parts: &Parts,
    board: &Board,
    id: &AgentId,
) -> Result<Option<Arc<Inherited>>, StoreError> {
    let found = {
        let state = board.state();
        let spawned = state.tree.agent(id).map(|agent| &agent.spawned);
        spawned.and_then(|spawned| {
            let parent = spawned.parent()?.clone();
            Some((parent, spawned.terms.context))
        })
    };
    match found {
        None | Some((_, Context::Fresh)) => Ok(None),
        Some((parent, context)) => {
            if let Some(shared) = board.state().inheritance(&parent, context) {
                return Ok(Some(shared));
            }
            let inherited = Arc::new(load(parts, board, &parent, context).await?);
            board.state().share(&parent, context, &inherited);
            Ok(Some(inherited))
        }
    }
}

async fn load(
    parts: &Parts,
    board: &Board,
    parent: &Parent,
    context: Context,
) -> Result<Inherited, StoreError> {
    if parent.host {
        return load_for_host(parts, board, parent, context).await;
    }
    let mut transcript = Transcript::default();
    let mut calls = Vec::new();
    for entry in parts.store.agent_log(&parent.agent).await? {
        if let Event::Replied(message) = &entry.event {
            calls = message.calls().map(|call| call.id.clone()).collect();
        }
        let is_last = calls.contains(&parent.call);
        crate::turn::follow(&mut transcript, vec![Arc::new(entry)])?;
        if is_last {
            break;
        }
    }
    let mut items: Vec<Item> = transcript.view().into_iter().cloned().collect();
    let above = match context {
        // Its summary stands for that as well.
        Context::Inherit if context::is_shortened(&items) => None,
        Context::Inherit => Box::pin(find(parts, board, &parent.agent)).await?,
        Context::Fork | Context::Fresh => {
            items = items.split_off(items.len().saturating_sub(1));
            None
        }
    };
    Ok(Inherited {
        above,
        items,
        calls,
        goes_on: true,
    })
}

/// Loads what a child sees that no call made: the conversation up to the message that was the last one
/// when the host started the child. All calls up to there had their outcomes.
async fn load_for_host(
    parts: &Parts,
    board: &Board,
    parent: &Parent,
    context: Context,
) -> Result<Inherited, StoreError> {
    let mut transcript = Transcript::default();
    let is_last = |transcript: &Transcript| {
        let last = transcript.items().last();
        last.is_some_and(|item| *item.id() == parent.message) && transcript.ready().is_some()
    };
    let log = parts.store.agent_log(&parent.agent).await?;
    let mut log = log.into_iter();
    while !parent.message.as_str().is_empty()
        && !is_last(&transcript)
        && let Some(entry) = log.next()
    {
        crate::turn::follow(&mut transcript, vec![Arc::new(entry)])?;
    }
    let mut items: Vec<Item> = transcript.view().into_iter().cloned().collect();
    let above = match context {
        Context::Inherit if context::is_shortened(&items) => None,
        Context::Inherit => Box::pin(find(parts, board, &parent.agent)).await?,
        Context::Fork | Context::Fresh => {
            items.retain(|item| matches!(item, Item::Assistant(_)));
            items = items.split_off(items.len().saturating_sub(1));
            None
        }
    };
    Ok(Inherited {
        above,
        items,
        calls: Vec::new(),
        goes_on: false,
    })
}

/// What siblings of one message share.
#[derive(Default)]
pub(crate) struct Shared(Vec<(AgentId, Context, std::sync::Weak<Inherited>)>);

impl crate::board::State {
    fn inheritance(&self, parent: &Parent, context: Context) -> Option<Arc<Inherited>> {
        let of_parent = self
            .shared
            .0
            .iter()
            .filter(|(agent, form, _)| *agent == parent.agent && *form == context);
        let mut live = of_parent.filter_map(|(_, _, shared)| shared.upgrade());
        live.find(|shared| shared.calls.contains(&parent.call))
    }

    fn share(&mut self, parent: &Parent, context: Context, inherited: &Arc<Inherited>) {
        self.shared
            .0
            .retain(|(_, _, shared)| shared.strong_count() > 0);
        let weak = Arc::downgrade(inherited);
        self.shared.0.push((parent.agent.clone(), context, weak));
    }
}

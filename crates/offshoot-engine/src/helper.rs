//! What the runtime has agents do for itself: titles, summaries, shorter conversations (SA-43).
//!
//! Helpers are spawned like children (SA-44) and are nobody's: they send no mail,
//! count for no depth, take the last slots, keep no tree busy and end with the
//! session at the latest (R19, X-21). What they use counts like everything below
//! the agent they work for. Here is who starts them and who hears of their end;
//! how a conversation is shortened is told in `compact`.

use std::sync::Arc;

use offshoot_types::caps::{Caps, Span};
use offshoot_types::command::{Command, Order, Rename};
use offshoot_types::event::{Helper, Origin, Purpose};
use offshoot_types::id::{AgentId, CommandId, MessageId, RunId, TreeId};
use offshoot_types::message::{self, Author, UserMessage};
use offshoot_types::settlement::{CancelledBy, PartialReason, Settlement, Status};
use offshoot_types::store::StoreError;
use offshoot_types::tier::{ModelChoices, Tier};
use offshoot_types::transcript::{Item, Transcript};
use offshoot_types::tree::Tree;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::compact::Compacting;
use crate::context;
use crate::log::Batch;
use crate::narrate::{self, Detail};
use crate::node::Ordered;
use crate::settle;
use crate::spawn::Birth;

/// What a helper is given stands in: it is not addressed to it.
const MARK: &str = "conversation";

/// Most bytes of a first message that a title is made of.
const MOST_OF_FIRST: usize = 8 * 1024;

/// Most bytes of a conversation that a summary is made of: the end of a longer one.
const MOST_OF_SESSION: usize = 400 * 1024;

/// What a helper may use where its manifest says nothing: one step, and not for long.
pub const HELPER_CAPS: Caps = Caps {
    steps: Some(1),
    tokens: None,
    cost: None,
    time: Some(Span::secs(120)),
    stall: Some(Span::secs(60)),
    descendants: None,
};

/// How the runtime uses agents for itself.
#[derive(Clone, Debug, Default)]
pub struct Helpers {
    /// Which models agents get that name none. Without a small tier, sessions are not named by a
    /// model, and what has to be done is done by the model of the agent it is done for.
    pub models: ModelChoices,
    /// How conversations are shortened.
    pub compaction: Compacting,
}

/// What came of a helper.
pub(crate) enum Helped {
    /// What it was asked for.
    Done(Arc<Settlement>),
    /// It could not do it.
    Failed(Arc<Settlement>),
    /// There is none that could be asked, and why.
    Missing(String),
}

impl Helped {
    /// Returns what it said; else why it said nothing.
    pub(crate) fn text(&self) -> Result<&str, String> {
        match self {
            Self::Done(settlement) => Ok(settlement.output.as_deref().unwrap_or_default().trim()),
            Self::Failed(settlement) => {
                let reason = settlement.status.reason();
                Err(reason.unwrap_or_else(|| "it said nothing".to_owned()))
            }
            Self::Missing(why) => Err(why.clone()),
        }
    }
}

impl Agent {
    /// Plans the helper that names the session, at its first message (SA-45).
    pub(crate) fn plan_first_title(&self, transcript: &Transcript) -> Option<Batch> {
        let is_first = {
            let state = self.board.state();
            let agent = state.tree.agent(&self.id)?;
            agent.turn.is_some() && agent.turns.get() == 1 && agent.tally.steps == 0
        };
        is_first.then(|| self.plan_title(transcript))?
    }

    /// Plans the helper that names the session, if it has no name and can get one.
    pub(crate) fn plan_title(&self, transcript: &Transcript) -> Option<Batch> {
        self.kit.helpers.models.tier(Tier::Small)?;
        let is_named = {
            let state = self.board.state();
            state.tree.agent(&self.id)?.title.is_some()
        };
        let Some(Item::User(first)) = transcript.items().first() else {
            return None;
        };
        if is_named || !self.is_root() {
            return None;
        }
        let first = context::capped(first.text.described().into_owned(), MOST_OF_FIRST);
        let (_, batch) = self.plan_help(Purpose::Title, &first).ok()?;
        Some(batch)
    }

    /// Returns the birth of a helper, or why there can be none.
    fn plan_help(&self, purpose: Purpose, text: &str) -> Result<(AgentId, Batch), String> {
        let name = purpose.agent();
        let manifest = self.kit.registry.get(name);
        let manifest = manifest.ok_or_else(|| format!("there is no agent {name}"))?;
        let id = AgentId::new(self.parts.env.new_id());
        let small = self.kit.helpers.models.tier(Tier::Small);
        let birth = Birth {
            id: &id,
            manifest,
            origin: Origin::Helper(Helper {
                of: self.id.clone(),
                purpose,
            }),
            // A helper adds no depth.
            depth: self.depth,
            model: small.unwrap_or(&self.model),
            caps: HELPER_CAPS,
            metadata: None,
            asked: UserMessage {
                id: MessageId::new(self.parts.env.new_id()),
                text: format!("<{MARK}>\n{}\n</{MARK}>", marked(text)).into(),
                from: Author::Host,
                agent: None,
                model: None,
                metadata: None,
                output_schema: None,
                delegation: None,
                immediate: false,
            },
        };
        let mut batch = Batch::default();
        batch.child(&id, self.birth(birth)?);
        Ok((id, batch))
    }

    /// Has something done, and waits for it.
    pub(crate) async fn help(
        &self,
        purpose: Purpose,
        text: &str,
        cancel: &CancellationToken,
    ) -> Result<Helped, StoreError> {
        let (id, batch) = match self.plan_help(purpose, text) {
            Ok(planned) => planned,
            Err(why) => return Ok(Helped::Missing(why)),
        };
        self.log.append(batch).await?;
        let settlement = self.until_settled(&id, cancel).await;
        let useful = matches!(
            settlement.status,
            Status::Completed | Status::Partial(PartialReason::Length | PartialReason::Budget(_))
        );
        let spoke = settlement
            .output
            .as_deref()
            .is_some_and(|text| !text.trim().is_empty());
        Ok(if useful && spoke {
            Helped::Done(settlement)
        } else {
            Helped::Failed(settlement)
        })
    }

    /// Waits for the end of a helper, which is brought about if nobody wants it any more.
    async fn until_settled(&self, id: &AgentId, cancel: &CancellationToken) -> Arc<Settlement> {
        let run = RunId::first(id.clone());
        let mut stopped = false;
        loop {
            let mut settled = std::pin::pin!(self.board.settled.notified());
            settled.as_mut().enable();
            if let Some(settlement) = self.board.state().settlement(&run) {
                return settlement;
            }
            tokio::select! {
                biased;
                () = settled => {}
                () = cancel.cancelled(), if !stopped => {
                    stopped = true;
                    self.board.cancel(id, CancelledBy::Parent);
                }
            }
        }
    }

    /// Has it written down what happened in the session.
    pub(crate) async fn sum_up(
        &self,
        transcript: &Transcript,
        cancel: &CancellationToken,
    ) -> Result<Helped, StoreError> {
        let mut text = String::new();
        for item in transcript.view() {
            narrate::push_item(&mut text, item, Detail::All);
        }
        if text.is_empty() {
            return Ok(Helped::Missing("nothing has been said yet".to_owned()));
        }
        let cut = text.len().saturating_sub(MOST_OF_SESSION);
        let text = &text[text.ceil_char_boundary(cut)..];
        self.help(Purpose::Summary, text, cancel).await
    }
}

/// Tells whether the last title was cut off by the end of its process.
pub(crate) fn is_title_cut_off(tree: &Tree) -> bool {
    let helpers = tree.helpers().iter().rev().filter_map(|id| tree.agent(id));
    let mut titles = helpers.filter(|agent| {
        let helper = agent.spawned.helper();
        helper.is_some_and(|helper| helper.purpose == Purpose::Title)
    });
    let last = titles.next().and_then(|title| title.settlement());
    last.is_some_and(|last| {
        matches!(
            last.status,
            Status::Cancelled(CancelledBy::Shutdown) | Status::Lost { .. }
        )
    })
}

/// Returns a text that does not end the mark it stands in.
fn marked(text: &str) -> String {
    settle::without_mark(text.trim_end(), MARK)
}

/// Returns the order that follows from the end of an agent: a session that was given a name takes
/// it.
pub(crate) fn follows(id: &TreeId, tree: &Tree, ended: &AgentId) -> Option<Ordered> {
    let helper = tree.agent(ended)?.spawned.helper()?;
    let settlement = tree.agent(ended)?.settlement()?;
    if helper.purpose != Purpose::Title || settlement.status != Status::Completed {
        return None;
    }
    let quotes = ['"', '\'', '`', '“', '”', '«', '»', '*', '#', ' '];
    let title = message::title(settlement.output.as_deref()?);
    let title = title.trim_matches(quotes).trim_end_matches('.').to_owned();
    if title.is_empty() {
        return None;
    }
    let command = Command {
        id: CommandId::new(format!("title-{ended}")),
        tree: id.clone(),
        agent: helper.of.clone(),
        order: Order::Rename(Rename {
            title,
            by: Author::Host,
        }),
    };
    Some(Ordered::unheard(command))
}

//! Compaction: a summary in the place of what was said, so that a conversation fits (SES-10…15).
//!
//! Nothing is removed: the summary is an entry, and what a model is sent is
//! computed from the latest one. It is made between two steps, when the last one
//! came close to what the model takes, or when a provider said that there was too
//! much; for every agent alike, since there is one loop. A summary that could not
//! be had is no reason to stop: the agent goes on, and whoever watches is told.
//! `tail` says what is kept word for word, `ladder` how the rest becomes a
//! summary, and `results` which results of children stay beside it.

mod ladder;
mod results;
mod tail;

use offshoot_types::event::{Compaction, Event, Live, TurnEnd};
use offshoot_types::hook::{Point, What, Word};
use offshoot_types::id::MessageId;
use offshoot_types::message::Usage;
use offshoot_types::settlement::FailureKind;
use offshoot_types::store::StoreError;
use offshoot_types::transcript::{Item, Transcript};
use tokio_util::sync::CancellationToken;

use self::ladder::Summary;
use self::tail::Tail;
use crate::agent::Agent;
use crate::caps::{self, BYTES_PER_TOKEN};
use crate::context::{self, Prefix};
use crate::settle;
use crate::turn;
use crate::update::{Activity, Update};

/// What a summary stands in: it is data, and not what the user says.
pub(crate) const MARK: &str = "conversation_summary";

/// Most children that a summary names.
const MOST_LIVE: usize = 64;

/// Most bytes of the message at hand that are repeated behind a summary.
const MOST_OF_REQUEST: usize = 16 * 1024;

/// What is kept free for an answer where nobody says how long it may be.
const USUAL_RESERVE: u64 = 20_000;

/// How conversations are shortened. The names are the guide's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compacting {
    /// Whether it happens of itself when a context is full.
    pub auto: bool,
    /// Tokens that are kept free; without it the longest answer, at most 20,000.
    pub reserve_tokens: Option<u64>,
    /// Turns that are kept word for word.
    pub tail_turns: usize,
    /// How much of the usable context they may take, in percent.
    pub tail_budget_pct: u64,
    /// How often a summary is tried again after a failure that may pass.
    pub retry_on_transient: u32,
    /// What is tried when a conversation is too long to be summed up at once.
    pub smart_recovery: SmartRecovery,
}

/// What is tried, in this order, when a conversation is too long to be summed up at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmartRecovery {
    /// Leave out what tools gave back.
    pub prune_tool_outputs: bool,
    /// Sum up part after part.
    pub chunked_summarize: bool,
    /// Leave out the middle.
    pub drop_middle: bool,
}

impl Default for Compacting {
    fn default() -> Self {
        Self {
            auto: true,
            reserve_tokens: None,
            tail_turns: 2,
            tail_budget_pct: 25,
            retry_on_transient: 2,
            smart_recovery: SmartRecovery {
                prune_tool_outputs: true,
                chunked_summarize: true,
                drop_middle: true,
            },
        }
    }
}

/// What a turn knows of the room it has.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// What the provider said, if that there was too much.
    refused: Option<String>,
    /// It was tried, and there is no more to be had in this turn.
    exhausted: bool,
    /// The last step came right behind a summary.
    fresh: bool,
}

impl Room {
    /// Notes that a provider found a request too long; tells whether something can be done about it.
    pub(crate) fn refused(&mut self, agent: &Agent, words: &str) -> bool {
        let before = self.refused.replace(words.to_owned());
        agent.may_be_shortened() && before.is_none() && !self.exhausted
    }

    /// Ends a turn for want of room; the provider's own words say best what it takes.
    fn too_long(&self, why: &str) -> TurnEnd {
        let words = self.refused.as_ref();
        let words = words.map_or_else(String::new, |words| format!(" ({words})"));
        too_long(format!("{why}{words}"))
    }
}

/// What came of shortening a conversation.
pub(crate) enum Shortened {
    /// There is a summary, to be written down.
    Done(Box<Compaction>),
    /// There is nothing that a summary could stand for.
    Nothing,
    /// It could not be had, and why; the conversation is as it was.
    Left(String),
    /// It is too long for everything that was tried.
    Hopeless(String),
    /// Nobody wants it any more.
    Cancelled,
}

/// Who wants a conversation shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The context is full: what was said last is kept (SES-11).
    OfItself,
    /// Somebody asked: nothing is kept.
    OnRequest,
}

impl Agent {
    /// Makes room for a step where the last one came close to what the model takes (SES-10).
    /// Returns how the turn ends if there is none to be had.
    pub(crate) async fn make_room(
        &self,
        prefix: &Prefix,
        transcript: &mut Transcript,
        room: &mut Room,
        cancel: &CancellationToken,
    ) -> Result<Option<TurnEnd>, StoreError> {
        if !self.wants_room(prefix, room) {
            room.fresh = false;
            return Ok(None);
        }
        if std::mem::take(&mut room.fresh) {
            let why = "its context is full although it was shortened a step ago";
            return Ok(self.without_room(room, why));
        }
        let shortened = self
            .shorten(prefix, transcript, Wanted::OfItself, cancel)
            .await?;
        match shortened {
            Shortened::Done(compaction) => {
                let event = Event::Compacted(compaction);
                turn::follow(transcript, self.log.append(vec![event]).await?)?;
                *room = Room {
                    fresh: true,
                    ..Room::default()
                };
                Ok(self.still_too_long(prefix, transcript))
            }
            Shortened::Nothing => {
                let why = "its context is full and there is nothing to shorten";
                Ok(self.without_room(room, why))
            }
            Shortened::Left(why) => {
                let why = format!("its context is full and could not be shortened: {why}");
                Ok(self.without_room(room, &why))
            }
            Shortened::Hopeless(message) => Ok(Some(room.too_long(&message))),
            Shortened::Cancelled => Ok(Some(self.aborted())),
        }
    }

    /// Tells whether the next request is to be made shorter.
    pub(crate) fn wants_room(&self, prefix: &Prefix, room: &Room) -> bool {
        let full = room.refused.is_some() || self.is_full(prefix);
        full && !room.exhausted && self.may_be_shortened()
    }

    /// Goes on without more room, and says why; unless the provider has refused what there is.
    fn without_room(&self, room: &mut Room, why: &str) -> Option<TurnEnd> {
        room.exhausted = true;
        if room.refused.is_some() {
            return Some(room.too_long(why));
        }
        self.notice(why);
        None
    }

    /// Returns a summary to be put in the place of what was said.
    pub(crate) async fn shorten(
        &self,
        prefix: &Prefix,
        transcript: &Transcript,
        wanted: Wanted,
        cancel: &CancellationToken,
    ) -> Result<Shortened, StoreError> {
        let rules = &self.kit.helpers.compaction;
        let tail = match wanted {
            Wanted::OfItself => {
                Tail::of(transcript, rules, self.usable(prefix)).working_on(&self.processed())
            }
            Wanted::OnRequest => Tail::none(transcript),
        };
        if !tail.has_news() && self.inherited_for(&tail.covered).is_none() {
            return Ok(Shortened::Nothing);
        }
        if self.is_watched(Point::PreCompact) {
            let auto = wanted == Wanted::OfItself;
            let mut heard = self.call_hooks(What::PreCompact { auto }, cancel).await;
            let events = heard.events();
            if !events.is_empty() {
                // The conversation does not change by these.
                self.log.append(events).await?;
            }
            match &heard.word {
                _ if heard.cancelled => return Ok(Shortened::Cancelled),
                Word::Deny { .. } | Word::Stop { .. } => {
                    return Ok(Shortened::Left(heard.reason()));
                }
                Word::Nothing | Word::Ask { .. } => {}
            }
        }
        self.set_activity(Activity::Compacting);
        let said = self.sum_up_all(&tail.covered, cancel).await?;
        let (summary, tokens) = match said {
            Summary::Done { text, tokens } => (text, tokens),
            Summary::Left(why) => return Ok(Shortened::Left(why)),
            Summary::Hopeless(why) => return Ok(Shortened::Hopeless(why)),
            Summary::Cancelled => return Ok(Shortened::Cancelled),
        };
        let compaction = Compaction {
            message: MessageId::new(self.parts.env.new_id()),
            summary,
            request: tail
                .request
                .map(|request| context::capped(request, MOST_OF_REQUEST)),
            tail_start: tail.start.clone(),
            auto: wanted == Wanted::OfItself,
            summary_tokens: tokens,
            live: self.live_children(),
            results: results::kept(&tail.covered, self.usable(prefix)),
            counts: counts(&tail.kept),
            warning: tail.warning.map(str::to_owned),
        };
        Ok(Shortened::Done(Box::new(compaction)))
    }

    /// Tells whether its conversation is shortened when it is full.
    fn may_be_shortened(&self) -> bool {
        self.kit.helpers.compaction.auto && self.helps.is_none()
    }

    /// Tells whether the last step came close to what the model takes.
    fn is_full(&self, prefix: &Prefix) -> bool {
        let state = self.board.state();
        let used = state.tree.agent(&self.id).map_or(0, |agent| agent.context);
        drop(state);
        // Before the first step nobody has counted.
        used > 0 && self.usable(prefix).is_some_and(|usable| used >= usable)
    }

    /// Returns how large a conversation may grow before it is shortened; `None` if nobody knows what
    /// the model takes.
    fn usable(&self, prefix: &Prefix) -> Option<u64> {
        let window = prefix.model.window()?;
        let longest = prefix.manifest.max_output_tokens;
        let longest = longest.map_or(USUAL_RESERVE, u64::from);
        let set = self.kit.helpers.compaction.reserve_tokens;
        // Of a small window most is for the conversation all the same.
        let reserve = set.unwrap_or(longest.min(USUAL_RESERVE).min(window / 4));
        Some(window.saturating_sub(reserve))
    }

    /// Ends the turn, with advice, if a conversation does not fit although it was shortened (SES-20).
    fn still_too_long(&self, prefix: &Prefix, transcript: &Transcript) -> Option<TurnEnd> {
        let window = prefix.model.window()?;
        let messages = context::messages(transcript.ready()?, self.inherited.as_deref());
        let size = caps::bytes(prefix, &messages) / BYTES_PER_TOKEN;
        (size >= window).then(|| {
            let model = &prefix.model_name;
            too_long(format!(
                "the conversation has about {size} tokens although it was shortened, and {model} \
                 takes {window}; go on with a model that takes more, or begin a new session"
            ))
        })
    }

    /// Returns the children whose runs are open, so that a parent keeps their handles.
    fn live_children(&self) -> Vec<Live> {
        let state = self.board.state();
        let Some(own) = state.tree.agent(&self.id) else {
            return Vec::new();
        };
        let live = own.open_children.iter().take(MOST_LIVE).filter_map(|id| {
            let definition = state.tree.agent(id)?.definition().to_owned();
            Some(Live {
                agent: id.clone(),
                definition,
            })
        });
        live.collect()
    }

    fn notice(&self, text: &str) {
        let notice = Update::Notice(self.id.clone(), text.to_owned());
        self.board.publish(notice);
    }
}

fn too_long(message: String) -> TurnEnd {
    TurnEnd::Failed {
        kind: FailureKind::TooLong,
        message,
    }
}

/// Returns what the messages have used that still count (SES-02).
fn counts(kept: &[&Item]) -> Usage {
    let mut sum = Usage::default();
    for item in kept {
        if let Item::Assistant(step) = item {
            sum += step.message().usage;
        }
    }
    sum
}

/// Returns what a model reads of a compaction: the summary, which children had not ended, and what
/// others came to.
pub(crate) fn told(compaction: &Compaction) -> String {
    let summary = settle::without_mark(compaction.summary.trim_end(), MARK);
    let mut text = format!("<{MARK}>\n{summary}\n</{MARK}>");
    if let Some(request) = &compaction.request {
        text.push_str(&format!(
            "\n\nWhat is being worked on, word for word:\n{request}"
        ));
    }
    if !compaction.live.is_empty() {
        text.push_str("\n\nAgents of yours that had not ended when this was written:");
        for live in &compaction.live {
            let Live { agent, definition } = live;
            text.push_str(&format!("\n- {definition}, session_id {agent}"));
        }
    }
    results::push(
        &mut text,
        &compaction.results,
        compaction.request.as_deref(),
    );
    text
}

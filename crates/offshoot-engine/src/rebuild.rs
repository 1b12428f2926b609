//! A request, rebuilt from the log: the one that was sent at a step, or the next one.
//!
//! Nothing is run, written or claimed: the log is folded up to the step, and the
//! code that builds requests for sending builds this one. What a request is made
//! of beside the log (definitions, tools, rules, settings) is as it is now; with
//! each reply the log keeps digests of what was sent, so it can be told whether
//! that has changed. The next request is built on what the agent would write down
//! before it asks.

use std::fmt;
use std::sync::Arc;

use offshoot_types::event::{Entry, Event, TurnEnd};
use offshoot_types::id::{AgentId, CallId, Epoch, MessageId, Pos, TreeId};
use offshoot_types::message::{AssistantMessage, SentRequest};
use offshoot_types::model::{ModelError, Request};
use offshoot_types::settlement::Cap;
use offshoot_types::store::{Lease, StoreError, StoreErrorKind};
use offshoot_types::transcript::Transcript;
use offshoot_types::tree::Tree;

use crate::agent::Agent;
use crate::board::Board;
use crate::caps::{self, Admitted, StepPermit};
use crate::compact::Room;
use crate::context::{self, Prefix};
use crate::inherit;
use crate::kit::{Kits, SessionKit};
use crate::next::{self, Next};
use crate::project::ProjectError;
use crate::runtime::Parts;
use crate::scratch::Scratch;
use crate::session;
use crate::turn;

/// A request of an agent, rebuilt from the log.
#[derive(Debug)]
pub struct RebuiltRequest {
    /// The request. Its asker counts the steps of a run.
    pub request: Request,
    /// Which step of the agent's life: replies in its log, the first is 1.
    pub step: u32,
    /// Whether it is how it was sent, or would be.
    pub remarks: Vec<Remark>,
}

/// What is to be said of a rebuilt request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// It is the request that was sent: system prompt, tools and settings have the same digests.
    AsSent,
    /// Unknown whether system prompt, tools and settings are as they were: the log is older than
    /// its digests.
    NoDigest,
    /// The system prompt is not the one that was sent.
    SystemDiffers,
    /// The tools, the temperature or the effort are not those that were sent.
    SettingsDiffer,
    /// Another session sent it, and this one was copied from that.
    Copied(AgentId),
    /// It is the next one.
    Next,
    /// It lacks the outcomes of calls that are not over.
    OpenCalls(Vec<CallId>),
    /// It lacks the prompt that the next turn begins with.
    NoPrompt,
    /// The conversation would be shortened first.
    Compacts,
    /// It would not be sent: nothing is left of this cap.
    Exhausted(Cap),
}

impl Remark {
    /// Returns the word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::AsSent => "as_sent",
            Self::NoDigest => "no_digest",
            Self::SystemDiffers => "system_differs",
            Self::SettingsDiffer => "settings_differ",
            Self::Copied(_) => "copied",
            Self::Next => "next",
            Self::OpenCalls(_) => "open_calls",
            Self::NoPrompt => "no_prompt",
            Self::Compacts => "compacts",
            Self::Exhausted(_) => "exhausted",
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsSent => {
                f.write_str("as sent: the digests of system prompt, tools and settings match")
            }
            Self::NoDigest => f.write_str(
                "cannot tell whether system prompt, tools and settings are as they were sent: this \
                 step was recorded without digests",
            ),
            Self::SystemDiffers => f.write_str(
                "differs from what was sent: the system prompt has changed since (its definition, \
                 tools, rules or instructions)",
            ),
            Self::SettingsDiffer => f.write_str(
                "differs from what was sent: the tools, the temperature or the effort have changed \
                 since",
            ),
            Self::Copied(session) => write!(
                f,
                "this step was copied; session {session} sent it, with its own ids"
            ),
            Self::Next => f.write_str("the next request, as it would be sent now"),
            Self::OpenCalls(calls) => {
                let calls: Vec<&str> = calls.iter().map(CallId::as_str).collect();
                write!(f, "not complete: no outcome yet of {}", calls.join(", "))
            }
            Self::NoPrompt => f.write_str("not complete: the next prompt will stand at the end"),
            Self::Compacts => {
                f.write_str("the conversation is full and would be summarised before it is sent")
            }
            Self::Exhausted(cap) => {
                write!(
                    f,
                    "would not be sent: nothing is left of the cap on {}",
                    cap.word()
                )
            }
        }
    }
}

/// Why there is no request to be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRequest {
    /// No such agent.
    #[error("there is no agent {0}")]
    UnknownAgent(AgentId),
    /// The agent has not made such a step.
    #[error("agent {agent} has no step {step}; it has made {steps}")]
    UnknownStep {
        /// Which agent.
        agent: AgentId,
        /// Which step was wanted.
        step: u32,
        /// How many it has made.
        steps: usize,
    },
    /// The project of its session cannot be opened.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// Its definition or its model is not there any more.
    #[error(transparent)]
    Unbuildable(#[from] ModelError),
}

/// Rebuilds a request: that of a step, or without one the next.
pub(crate) async fn rebuild(
    parts: &Arc<Parts>,
    kits: &Arc<Kits>,
    agent: &AgentId,
    step: Option<u32>,
) -> Result<Result<RebuiltRequest, NoRequest>, StoreError> {
    let Some(tree) = parts.store.tree_of(agent).await? else {
        return Ok(Err(NoRequest::UnknownAgent(agent.clone())));
    };
    let log = parts.store.entries(&tree, Pos::ZERO, usize::MAX).await?;
    let workspace = log.first().and_then(|entry| entry.event.workspace());
    let kit = match kits.open(&tree, workspace.unwrap_or_default()).await {
        Ok(kit) => kit,
        Err(error) => return Ok(Err(error.into())),
    };
    let replies: Vec<(usize, &AssistantMessage)> = replies(&log, agent).collect();
    let Some(step) = step else {
        let number = u32::try_from(replies.len() + 1).unwrap_or(u32::MAX);
        return next_request(parts, &kit, log, agent, number).await;
    };
    let index = usize::try_from(step)
        .ok()
        .and_then(|step| step.checked_sub(1));
    let Some((at, reply)) = index.and_then(|index| replies.get(index)) else {
        return Ok(Err(NoRequest::UnknownStep {
            agent: agent.clone(),
            step,
            steps: replies.len(),
        }));
    };
    let then = Moment::load(parts, &kit, &log[..*at], agent).await?;
    let prefix = match then.agent.prefix() {
        Ok(prefix) => prefix,
        Err(error) => return Ok(Err(error.into())),
    };
    let mut remarks = Vec::new();
    let tree = Tree::fold(&log[..=*at]).map_err(|broken| unusable(&tree, &broken.to_string()))?;
    if log[*at].pos <= tree.copied_until()
        && let Some(offshoot_types::event::Origin::Session {
            copy: Some(copied), ..
        }) = tree
            .root()
            .and_then(|root| tree.agent(root))
            .map(|root| &root.spawned.origin)
    {
        remarks.push(Remark::Copied(copied.session.clone()));
    }
    let permit = match &reply.request {
        Some(sent) => StepPermit::of_sent(sent.hands_back.then_some(Cap::Steps)),
        None => StepPermit::of_sent(handed_back(&log[*at..], agent)),
    };
    let mut request = then.request(&prefix, &permit);
    match &reply.request {
        Some(sent) => {
            request.max_output_tokens = sent.max_output_tokens;
            remarks.extend(compared(&prefix, sent));
        }
        None => remarks.push(Remark::NoDigest),
    }
    Ok(Ok(RebuiltRequest {
        request,
        step,
        remarks,
    }))
}

/// Rebuilds the next request of an agent.
async fn next_request(
    parts: &Arc<Parts>,
    kit: &Arc<SessionKit>,
    mut log: Vec<Entry>,
    agent: &AgentId,
    step: u32,
) -> Result<Result<RebuiltRequest, NoRequest>, StoreError> {
    let now = Moment::load(parts, kit, &log, agent).await?;
    let (events, has_prompt) = now.before_the_next_step();
    let now = if events.is_empty() {
        now
    } else {
        for event in events {
            log.push(following(parts, &log, agent, event));
        }
        Moment::load(parts, kit, &log, agent).await?
    };
    let prefix = match now.agent.prefix() {
        Ok(prefix) => prefix,
        Err(error) => return Ok(Err(error.into())),
    };
    let mut remarks = vec![Remark::Next];
    let open: Vec<CallId> = now
        .transcript
        .open_calls()
        .map(|call| call.id.clone())
        .collect();
    if !open.is_empty() {
        remarks.push(Remark::OpenCalls(open));
    }
    if !has_prompt {
        remarks.push(Remark::NoPrompt);
    }
    if now.agent.wants_room(&prefix, &Room::default()) {
        remarks.push(Remark::Compacts);
    }
    let size = caps::bytes(&prefix, &now.messages());
    let permit = match now.agent.try_admit(&prefix, size, None) {
        Some(Admitted::Step(permit)) => permit,
        Some(Admitted::Nothing(cap)) => {
            remarks.push(Remark::Exhausted(cap));
            StepPermit::of_sent(None)
        }
        Some(Admitted::Cancelled) | None => StepPermit::of_sent(None),
    };
    let request = now.request(&prefix, &permit);
    Ok(Ok(RebuiltRequest {
        request,
        step,
        remarks,
    }))
}

/// An agent as it was at some place of the log, without an actor.
struct Moment {
    agent: Agent,
    transcript: Transcript,
}

impl Moment {
    async fn load(
        parts: &Arc<Parts>,
        kit: &Arc<SessionKit>,
        log: &[Entry],
        id: &AgentId,
    ) -> Result<Self, StoreError> {
        let gone = || StoreError::new(StoreErrorKind::Unknown, format!("there is no agent {id}"));
        let tree_id = log.first().ok_or_else(gone)?.tree.clone();
        let tree = Tree::fold(log).map_err(|broken| unusable(&tree_id, &broken.to_string()))?;
        let data = parts.data.as_deref();
        let scratch = data.map(|data| Scratch::of_root(data, &tree_id));
        // No store has given out this lease: whatever were written by it would be refused.
        let lease = Lease::new(tree_id, Epoch::default(), Arc::new(()));
        let limits = parts.limits.clone();
        let board = Board::new(lease, limits, Arc::default(), kit.clone(), scratch, tree);
        let board = Arc::new(board);
        let inherited = inherit::find(parts, &board, id).await?;
        let own = log.iter().filter(|entry| entry.agent == *id);
        let own: Vec<Arc<Entry>> = own.cloned().map(Arc::new).collect();
        let agent = session::agent(&board, parts, id, &own, inherited).ok_or_else(gone)?;
        let mut transcript = Transcript::default();
        turn::follow(&mut transcript, own)?;
        Ok(Self { agent, transcript })
    }

    fn messages(&self) -> Vec<offshoot_types::model::RequestMessage> {
        context::rendered(&self.transcript, self.agent.inherited.as_deref())
    }

    fn request(&self, prefix: &Prefix, permit: &StepPermit) -> Request {
        context::request(prefix, self.messages(), self.agent.asker(), permit)
    }

    /// Returns what the agent would write down before its next step, as far as that is known; and
    /// whether there is something for it to answer.
    fn before_the_next_step(&self) -> (Vec<Event>, bool) {
        let agent = &self.agent;
        let state = agent.board.state();
        let Some(found) = state.tree.agent(&agent.id) else {
            return (Vec::new(), false);
        };
        if found.turn.is_some() {
            drop(state);
            let steered = if self.transcript.open_calls().next().is_none() {
                agent.steered(&self.transcript)
            } else {
                Vec::new()
            };
            return (steered, true);
        }
        let run = found.open_run().unwrap_or(found.last_run().next());
        let turn = found.turns.next();
        let prompt = match next::next(&state.tree, &agent.id, &agent.board.limits, None) {
            Next::Start { prompt } => Some(prompt),
            _ => None,
        };
        let mail = next::all_mail(found);
        drop(state);
        let prompt_id = prompt.clone().flatten();
        let mut events = agent.completions(&mail, || MessageId::new(""));
        let message = prompt_id.as_ref().and_then(|id| self.transcript.queued(id));
        if let Some(role) = agent.next_role(message) {
            events.push(Event::Became(Box::new(role)));
        }
        let prompt_is_there = prompt.is_some();
        events.push(Event::TurnStarted {
            run,
            turn,
            prompt: prompt_id,
        });
        (events, prompt_is_there)
    }
}

/// Returns the replies of an agent's model, each with its place in the log.
fn replies<'a>(
    log: &'a [Entry],
    agent: &'a AgentId,
) -> impl Iterator<Item = (usize, &'a AssistantMessage)> {
    let numbered = log.iter().enumerate();
    numbered.filter_map(move |(at, entry)| match &entry.event {
        Event::Replied(message) if entry.agent == *agent && !message.by_runtime => {
            Some((at, message))
        }
        _ => None,
    })
}

/// Returns the cap that a turn ran into whose last reply is the first of these entries.
fn handed_back(rest: &[Entry], agent: &AgentId) -> Option<Cap> {
    let mut own = rest.iter().skip(1).filter(|entry| entry.agent == *agent);
    own.find_map(|entry| match &entry.event {
        Event::TurnEnded { end, .. } => Some(match end {
            TurnEnd::HandedBack(cap) => Some(*cap),
            _ => None,
        }),
        Event::Replied(_) => Some(None),
        _ => None,
    })?
}

/// Says whether what a request is made of is what was sent.
fn compared(prefix: &Prefix, sent: &SentRequest) -> Vec<Remark> {
    let now = prefix.digests();
    let system = now.system == sent.system_prompt_digest;
    match (system, now.all == sent.digest) {
        (_, true) => vec![Remark::AsSent],
        (true, false) => vec![Remark::SettingsDiffer],
        (false, false) => vec![Remark::SystemDiffers],
    }
}

/// Returns an event as the next entry of an agent.
fn following(parts: &Parts, log: &[Entry], agent: &AgentId, event: Event) -> Entry {
    let own = log.iter().rev().find(|entry| entry.agent == *agent);
    let last = log.last();
    Entry {
        tree: last.map_or_else(|| TreeId::of(agent.clone()), |last| last.tree.clone()),
        pos: last.map_or(Pos::ZERO, |last| last.pos).next(),
        agent: agent.clone(),
        seq: own.map(|own| own.seq).unwrap_or_default().next(),
        at: parts.env.now(),
        event,
    }
}

fn unusable(tree: &TreeId, why: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::Unusable,
        format!("load session {tree}: {why}"),
    )
}

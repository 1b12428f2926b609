//! The log: what happened, in the order it was committed.
//!
//! `Event` is closed: a reader of the log can match on all of it. Each entry
//! names its agent (R2) and has two places: `seq` in its agent's own log, which
//! has a single writer, and `pos` in the tree, which is the order of commits
//! and the only cursor. Everything else that can be known of a tree (its
//! transcript, its mail, its rows, its wire events) is a fold of these entries.

mod compaction;
mod helper;
mod hooked;
mod profile;

use serde::{Deserialize, Serialize};

use crate::client_tool::ClientTool;
use crate::id::{AgentId, CallId, MessageId, Pos, RunId, RunNo, Seq, Timestamp, TreeId, TurnNo};
use crate::json::RawJson;
use crate::message::{AssistantMessage, Author, Usage, UserMessage};
use crate::outcome::Outcome;
use crate::permission::{Decision, Grant, Layer, Need};
use crate::project::ProjectContext;
use crate::question::Question;
use crate::settlement::{CancelledBy, Cap, FailureKind, Settlement};
use crate::terms::Terms;

pub use self::compaction::{Compaction, KeptResult, Live};
pub use self::helper::{Helper, Purpose};
pub use self::hooked::{Did, Hooked};
pub use self::profile::Profile;

/// One committed fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Which tree it belongs to.
    pub tree: TreeId,
    /// Its place in the tree: gap-free, by commit.
    pub pos: Pos,
    /// Whose log it is in.
    pub agent: AgentId,
    /// Its place in that log: gap-free.
    pub seq: Seq,
    /// When it was written.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// What can happen to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The agent exists. Always its first entry; a child's is written by its parent.
    Spawned(Box<Spawned>),

    /// Somebody asked it something. Queued until a turn consumes it.
    Prompted(UserMessage),

    /// A settled child run is told to this agent outside any call (R14). Marks that run delivered.
    Completion {
        /// The id of the synthetic message.
        message: MessageId,
        /// The run it is about.
        run: RunId,
        /// The child's definition, so that the text explains itself.
        definition: String,
        /// The call that made the child; absent in older logs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// How that run ended.
        settlement: Settlement,
        /// Whether it starts no turn: the host waits for the child, and not this agent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        quiet: bool,
    },

    /// A turn began. The first turn of a run opens the run.
    TurnStarted {
        /// The run it belongs to.
        run: RunNo,
        /// Its number.
        turn: TurnNo,
        /// The queued prompt it consumes; none when mail woke the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<MessageId>,
    },

    /// From its next turn on it is another agent (SA-48). Its session stays the one it was.
    Became(Box<Role>),

    /// A queued message was taken into the running turn, between two steps.
    Steered {
        /// Which one.
        prompt: MessageId,
    },

    /// The model gave a message. Its calls are open from here on.
    Replied(AssistantMessage),

    /// Somebody has to say something before the call goes on: whether it may run, because the chain
    /// said ask, or what the agent wants to know.
    Asked {
        /// Which call.
        call: CallId,
        /// What it needs and nobody has allowed yet; empty for questions.
        needs: Vec<Need>,
        /// What the chain said and why.
        decision: Decision,
        /// The tool it is a call of.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tool: String,
        /// What the agent wants to know (TLS-10); empty for a permission.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        questions: Vec<Question>,
        /// When it is too late to answer; none if it never is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
        /// Whether a client has to carry the call out: it may run, and waits for what it comes to.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        waits_for_client: bool,
    },

    /// It was decided whether a call may run (R23): by the chain, or by an answer to what was asked.
    Decided {
        /// Which call.
        call: CallId,
        /// What was said and why.
        decision: Decision,
        /// What the answer allows from here on (R22).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<Grant>,
        /// What whoever said no gave as the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },

    /// A call began to run.
    CallStarted {
        /// Which call.
        call: CallId,
        /// The child it spawned, for `task`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<AgentId>,
    },

    /// A call has its outcome: the one and only.
    CallFinished {
        /// Which call.
        call: CallId,
        /// What it came to.
        outcome: Outcome,
        /// Child runs this outcome tells of; marks them delivered (R14).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        delivers: Vec<RunId>,
    },

    /// A turn is over. No call is open any more.
    TurnEnded {
        /// Which turn.
        turn: TurnNo,
        /// How it ended.
        end: TurnEnd,
    },

    /// A run is over, once and for all (R13).
    Settled {
        /// Which run.
        run: RunNo,
        /// How it ended.
        settlement: Settlement,
        /// Whether hooks want to hear of it and have not been asked before: they are told after, and
        /// `Hooked` says that they were.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        untold: bool,
    },

    /// The session has a name. One that a person gave is not taken back by the runtime.
    Titled {
        /// The name.
        title: String,
        /// Who gave it.
        by: Author,
    },

    /// It was written down what happened in the session so far.
    Summarised {
        /// What.
        summary: String,
    },

    /// The tools that clients of the session carry out (ruling 2), in the root's log. The last entry
    /// counts.
    ClientTools {
        /// All of them.
        tools: Vec<ClientTool>,
    },

    /// A client has set what the root is from its next turn on. `Became` in front of that turn says
    /// what it came to.
    RoleChosen(RoleChoice),

    /// From here on models are sent a summary in the place of what came before (SES-12).
    Compacted(Box<Compaction>),

    /// What was said after some message is not part of the conversation any more (SES-06). It stays
    /// in the log, and what it did stays done.
    Rewound {
        /// The last message that stays; none if nothing does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<MessageId>,
        /// The messages that are hidden.
        hides: Vec<MessageId>,
        /// The children that go with them: nobody is told of what they still do.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        drops: Vec<AgentId>,
        /// Their runs that nobody has been told of; marks them delivered (R8).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        consumes: Vec<RunId>,
        /// What the messages that still count have used.
        #[serde(default)]
        counts: Usage,
    },

    /// A hook did something, or should have.
    Hooked(Box<Hooked>),
}

/// The birth of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spawned {
    /// The manifest's name.
    pub definition: String,
    /// Where it comes from.
    pub origin: Origin,
    /// How far below the root; the root is 0.
    pub depth: u32,
    /// `PROVIDER/NAME` of the model that was chosen for it.
    pub model: String,
    /// The layer it adds to its parent's permission chain (R21).
    pub layer: Layer,
    /// Whether it has session rows of its own (R3). Used by projections only.
    pub inspectable: bool,
    /// On what terms it works: the receipt of its spawn.
    #[serde(default, skip_serializing_if = "Terms::is_empty")]
    pub terms: Terms,
    /// What its manifest said of it, for whoever shows it.
    #[serde(default, skip_serializing_if = "Profile::is_empty")]
    pub profile: Profile,
    /// What the host or the caller attached; never read by the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
}

/// What an agent is for a while: at its birth, or since somebody changed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Role {
    /// The manifest's name.
    pub definition: String,
    /// `PROVIDER/NAME` of its model.
    pub model: String,
    /// Whether that model was chosen with a message (SA-49): it then holds until another agent or
    /// model is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub model_chosen: bool,
    /// The layer it adds to its parent's permission chain (R21).
    pub layer: Layer,
    /// On what terms it works.
    #[serde(default)]
    pub terms: Terms,
}

/// What a client wants a session's root to be from its next turn on; what it leaves out stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleChoice {
    /// The manifest's name; a primary or an all. Another agent comes with its own model, unless the
    /// choice names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// `PROVIDER/NAME`; holds until another agent or model is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Spawned {
    /// Returns the call or the order that made it; `None` for a root and for a helper.
    pub fn parent(&self) -> Option<&Parent> {
        match &self.origin {
            Origin::Session { .. } | Origin::Helper(_) => None,
            Origin::Task(parent) => Some(parent),
        }
    }

    /// Returns what it helps with; `None` for whoever works for itself.
    pub fn helper(&self) -> Option<&Helper> {
        match &self.origin {
            Origin::Session { .. } | Origin::Task(_) => None,
            Origin::Helper(helper) => Some(helper),
        }
    }

    /// Returns the folder that a session is about; `None` for whoever is not its root.
    pub fn workspace(&self) -> Option<&str> {
        match &self.origin {
            Origin::Session { workspace, .. } => Some(workspace),
            Origin::Task(_) | Origin::Helper(_) => None,
        }
    }

    /// Returns the agent it works for; `None` for a root.
    pub fn above(&self) -> Option<&AgentId> {
        match &self.origin {
            Origin::Session { .. } => None,
            Origin::Task(parent) => Some(&parent.agent),
            Origin::Helper(helper) => Some(&helper.of),
        }
    }

    /// Returns the last of its entries that are copies of another session's.
    pub fn copies(&self) -> Seq {
        match &self.origin {
            Origin::Session { copy, .. } => copy.as_ref().map_or(Seq::ZERO, |copy| copy.until),
            Origin::Task(_) | Origin::Helper(_) => Seq::ZERO,
        }
    }

    /// Tells whether it is the root of its tree.
    pub fn is_root(&self) -> bool {
        matches!(self.origin, Origin::Session { .. })
    }
}

/// Where an agent comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A person opened a session.
    Session {
        /// The root folder, absolute; fixed for the life of the tree.
        workspace: String,
        /// The date its prompts show, fixed so that requests stay byte-stable.
        date: String,
        /// What the host read about the project when the session started, for the same reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<Box<ProjectContext>>,
        /// What it was copied from; none for one that began empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copy: Option<Box<Copied>>,
    },
    /// An agent called `task`, or the host started a child of it.
    Task(Parent),
    /// The runtime needs something done: a title, a summary.
    Helper(Helper),
}

/// What a session was copied from (SES-08).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    /// The session.
    pub session: AgentId,
    /// Its last message that was copied.
    pub message: MessageId,
    /// The last of the root's entries that are copies. What they say of children that are not in the
    /// tree is about the other session's.
    pub until: Seq,
    /// The last of the tree's entries that are copies: children are copied with their parent. None
    /// in logs that are older, whose copies have no children.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_pos: Option<Pos>,
}

/// The call or the order that made a child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The calling agent, or the one that the order is about.
    pub agent: AgentId,
    /// The `task` call. Of a child that the host started it is an id that no call has.
    pub call: CallId,
    /// The message the parent was processing: a prompt, or a completion in a woken turn. Of a child
    /// that the host started it is the last message of the parent's conversation; empty if there was
    /// none.
    pub message: MessageId,
    /// Whether the parent goes on meanwhile.
    pub background: bool,
    /// Whether the host started it by an order: no message of the parent has a call for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub host: bool,
}

impl Parent {
    /// Tells whether the host waits for the child: until it ends the parent begins no turn.
    pub fn is_awaited_by_host(&self) -> bool {
        self.host && !self.background
    }

    /// Returns the call that made the child; `None` if the host started it.
    pub fn made_by(&self) -> Option<&CallId> {
        (!self.host).then_some(&self.call)
    }
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// The model had no more calls.
    Finished,
    /// A cap was reached; the last step was the one to hand back what there was.
    HandedBack(Cap),
    /// A cap was reached, and there was no room for a step to hand anything back.
    Exhausted(Cap),
    /// Somebody stopped it.
    Aborted(CancelledBy),
    /// A hook did not let it begin, or go on.
    Denied {
        /// Which, and why.
        reason: String,
    },
    /// It could not go on.
    Failed {
        /// For code.
        kind: FailureKind,
        /// For people.
        message: String,
    },
    /// Its process died.
    Lost,
}

impl Event {
    /// Returns the workspace of the session that begins with this.
    pub fn workspace(&self) -> Option<&str> {
        match self {
            Self::Spawned(spawned) => spawned.workspace(),
            _ => None,
        }
    }

    /// Tells whether it is a sign that an agent works: nobody else writes these.
    pub(crate) fn is_work(&self) -> bool {
        match self {
            Self::TurnStarted { .. }
            | Self::Replied(_)
            | Self::Asked { .. }
            | Self::Decided { .. }
            | Self::CallStarted { .. } => true,
            Self::Spawned(_)
            | Self::Prompted(_)
            | Self::Became(_)
            | Self::Steered { .. }
            | Self::Completion { .. }
            | Self::CallFinished { .. }
            | Self::TurnEnded { .. }
            | Self::Settled { .. }
            | Self::Titled { .. }
            | Self::Summarised { .. }
            | Self::ClientTools { .. }
            | Self::RoleChosen(_)
            | Self::Hooked(_)
            | Self::Rewound { .. }
            | Self::Compacted(_) => false,
        }
    }

    /// Returns the child runs that this event tells its agent of, or never to be told, and so marks
    /// as delivered.
    pub fn delivers(&self) -> &[RunId] {
        match self {
            Self::CallFinished { delivers, .. } => delivers,
            Self::Completion { run, .. } => std::slice::from_ref(run),
            Self::Rewound { consumes, .. } => consumes,
            Self::Spawned(_)
            | Self::Prompted(_)
            | Self::Became(_)
            | Self::Steered { .. }
            | Self::TurnStarted { .. }
            | Self::Replied(_)
            | Self::Asked { .. }
            | Self::Decided { .. }
            | Self::CallStarted { .. }
            | Self::TurnEnded { .. }
            | Self::Settled { .. }
            | Self::Titled { .. }
            | Self::Summarised { .. }
            | Self::ClientTools { .. }
            | Self::RoleChosen(_)
            | Self::Hooked(_)
            | Self::Compacted(_) => &[],
        }
    }
}

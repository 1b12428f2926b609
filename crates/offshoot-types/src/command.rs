//! What a face may ask of the runtime (R9).
//!
//! Closed, serialisable and idempotent by id: a command is a durable row, so it
//! can be sent by a process that does not own the tree, and sending it twice has
//! one effect and one receipt.

use serde::{Deserialize, Serialize};

use crate::caps::Caps;
use crate::client_tool::{ClientTool, ToolResult};
use crate::content::Content;
use crate::event::RoleChoice;
use crate::id::{AgentId, CallId, CommandId, MessageId, Timestamp, TreeId};
use crate::json::RawJson;
use crate::manifest::Context;
use crate::message::{Author, Delegation};
use crate::outcome::ErrorKind;
use crate::project::ProjectContext;
use crate::settlement::Settlement;

/// One request of a client about one agent of one tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// Makes it idempotent.
    pub id: CommandId,
    /// The tree it is about.
    pub tree: TreeId,
    /// The agent it is about.
    pub agent: AgentId,
    /// What is wanted.
    pub order: Order,
}

impl Command {
    /// Takes out what a person said that nobody has taken: it is kept nowhere.
    #[must_use]
    pub fn without_words(mut self) -> Self {
        if let Order::Prompt(prompt) = &mut self.order {
            prompt.text = Content::default();
            prompt.metadata = None;
            prompt.output_schema = None;
        }
        if let Order::Spawn(spawn) = &mut self.order {
            spawn.prompt = Content::default();
            spawn.metadata = None;
            spawn.output_schema = None;
        }
        self
    }

    /// Returns whose call it answers, if it is an answer.
    pub fn answers(&self) -> Option<(&AgentId, &CallId)> {
        match &self.order {
            Order::Answer(answer) => Some((&self.agent, &answer.call)),
            Order::Open(_)
            | Order::Prompt(_)
            | Order::Cancel(_)
            | Order::Promote
            | Order::Resume
            | Order::Rename(_)
            | Order::Summarise
            | Order::Close
            | Order::Compact
            | Order::Rewind(_)
            | Order::Fork(_)
            | Order::SetClientTools(_)
            | Order::SetRole(_)
            | Order::Delete(_)
            | Order::Spawn(_) => None,
        }
    }
}

/// What is wanted of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Create the session. The command's agent is its root, with an id as `AgentId::from_client`
    /// takes it.
    Open(Box<Opening>),
    /// Ask something; queued while the agent is busy.
    Prompt(Prompt),
    /// Stop.
    Cancel(Scope),
    /// Let the parent's call return now; the child goes on in the background.
    Promote,
    /// Answer what the agent asked.
    Answer(Answer),
    /// Go on with whatever is queued or waiting; what opening a session does.
    Resume,
    /// Give the session a name.
    Rename(Rename),
    /// Write down what happened in the session.
    Summarise,
    /// Close the session: write down what happened since the last summary, if the host has a model
    /// for that, and within a few seconds. It can be opened again.
    Close,
    /// Put a summary in the place of what was said so far.
    Compact,
    /// Take back what was said last. Refused while the agent works.
    Rewind(Rewind),
    /// Create the session as a copy of another. The command's agent is its root, as with `Open`.
    Fork(Fork),
    /// Replace the tools that clients of the session carry out, from the next turn on. For the root.
    SetClientTools(Vec<ClientTool>),
    /// Set the agent definition, the model, or both, from the next turn on. For the root.
    SetRole(RoleChoice),
    /// Delete the session, for good: its agents are stopped, then its log and its folder go. For the
    /// root. Refused with `StoreErrorKind::Held` while another process runs the session. A second such
    /// order finds no session.
    Delete(Deletion),
    /// Start a child of the agent, without a call of the agent's model.
    Spawn(Box<Spawn>),
}

impl Order {
    /// Creates a session.
    pub fn open(opening: Opening) -> Self {
        Self::Open(Box::new(opening))
    }
}

/// A new session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// The manifest's name; a primary or an all.
    pub definition: String,
    /// `PROVIDER/NAME`; the manifest's own wins.
    pub model: String,
    /// The root folder, absolute.
    pub workspace: String,
    /// The date to show in prompts.
    pub date: String,
    /// What the host read about the project; cut to its caps when the session starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Box<ProjectContext>>,
    /// What its runs may use at most, whatever its manifest says.
    #[serde(default)]
    pub caps: Caps,
    /// What the host attached; at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// The first question, asked in the commit that makes the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Prompt>,
    /// Tools that clients of the session carry out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_tools: Vec<ClientTool>,
}

/// How much of a conversation is taken back (SES-06).
///
/// It stays in the log, and what was done by it stays done. Children that go with it are stopped
/// first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewind {
    /// The last message that stays; none to take everything back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<MessageId>,
}

/// A session that begins as a copy of another (SES-08).
///
/// The other one is only read, by whoever carries this out; it has to be at rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The session to copy.
    pub of: AgentId,
    /// Its last message that is copied; without it the last there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<MessageId>,
    /// What the host attaches, over what is attached to the other one; together at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
}

/// A child that the host starts.
///
/// Depth, caps, descendants, permissions and hooks apply as to a `task` call of its parent. A rule
/// that asks about `task` is answered by the order itself. The result is a completion of the parent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spawn {
    /// The id of the child, as `AgentId::from_client` takes it; the runtime chooses one otherwise. A
    /// second order with the same id and the same parent makes no second child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The manifest's name; a subagent or an all.
    pub definition: String,
    /// What the child is to do, at most 1 MiB, and what goes with it. Blobs it names are stored before
    /// it is sent.
    pub prompt: Content,
    /// `PROVIDER/NAME`; wins over the manifest's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What its runs may use at most, whatever its manifest says.
    #[serde(default)]
    pub caps: Caps,
    /// What it sees of its parent's conversation; wins over the manifest's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// What the host attaches; an object of at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// The JSON Schema that the answer of its first run has to fit; wins over the manifest's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// Whether the completion wakes the parent, as that of a background `task` does. Otherwise the
    /// parent begins no turn before the child has ended, and the completion starts none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}

impl Spawn {
    /// A blocking child that its manifest says everything else of.
    pub fn new(definition: impl Into<String>, prompt: impl Into<Content>) -> Self {
        Self {
            agent: None,
            definition: definition.into(),
            prompt: prompt.into(),
            model: None,
            caps: Caps::default(),
            context: None,
            metadata: None,
            output_schema: None,
            background: false,
        }
    }
}

/// A question to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// The id the message will have.
    pub message: MessageId,
    /// The words, at most 1 MiB, and what goes with them. Blobs it names are stored before it is sent.
    pub text: Content,
    /// Who asks. A face speaks for people only.
    #[serde(default, skip_serializing_if = "Author::is_human")]
    pub from: Author,
    /// Which agent is to take it up, and go on from there; a primary or an all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// `PROVIDER/NAME` of the model that answers it, and goes on from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the host attached; at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// The JSON Schema that the answer has to fit; wins over the manifest's own. At most 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// Whether another agent does the work; without it the model decides that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation: Option<Delegation>,
    /// Whether a busy root takes it up at its next step, and not in a turn of its own (R17).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub immediate: bool,
}

/// Whether a session is deleted that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deletion {
    /// Whatever is in it.
    Always,
    /// Only if nothing was said in it.
    IfUnprompted,
}

/// A name for a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rename {
    /// The name; its first line counts, up to `MAX_TITLE_CHARS`.
    pub title: String,
    /// Who gives it. A face speaks for people only.
    #[serde(default, skip_serializing_if = "Author::is_human")]
    pub by: Author,
}

/// An answer to what an agent asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The call that waits.
    pub call: CallId,
    /// What was said.
    pub verdict: Verdict,
    /// When, as the runtime that took it noted: a deadline is held against this, however much later
    /// somebody comes to read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Timestamp>,
}

impl Answer {
    /// An answer that is given now.
    pub fn new(call: CallId, verdict: Verdict) -> Self {
        Self {
            call,
            verdict,
            given: None,
        }
    }
}

/// Whether a call may run, or what its agent wants to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// This time.
    Once,
    /// This time, and whenever an agent of the session needs the like.
    Session,
    /// This time, and whenever the agent that asks, or one below it, needs the like.
    Agent,
    /// No.
    Deny {
        /// Why, for the agent; may be empty.
        reason: String,
    },
    /// What the agent wants to know.
    Said {
        /// For each question what was said or chosen.
        answers: Vec<Vec<String>>,
    },
    /// What the client tool came to that the call waits for; at most 1 MiB.
    Returned(ToolResult),
}

impl Verdict {
    /// Tells whether it allows something.
    pub fn is_yes(&self) -> bool {
        match self {
            Self::Once | Self::Session | Self::Agent => true,
            Self::Deny { .. } | Self::Said { .. } | Self::Returned(_) => false,
        }
    }

    /// Returns the reason of a no; `None` if it has none.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Once | Self::Session | Self::Agent | Self::Said { .. } | Self::Returned(_) => {
                None
            }
            Self::Deny { reason } => {
                let reason = reason.trim();
                (!reason.is_empty()).then(|| reason.to_owned())
            }
        }
    }
}

/// How much to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The run and every live descendant.
    Run,
    /// The turn and the children its open calls wait for; background children go on.
    Turn,
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one receipt a command, and it is not kept in numbers"
)]
pub enum Receipt {
    /// The session is there, and its first prompt with it.
    Opened,
    /// The message is in the agent's queue.
    Prompted,
    /// The run is settled: by this cancel, or before it came.
    Settled(Settlement),
    /// The turn was told to stop.
    TurnCancelled,
    /// The call has returned.
    Promoted,
    /// The answer was taken.
    Answered,
    /// The session goes on.
    Resumed,
    /// The session has that name.
    Renamed,
    /// What happened was written down.
    Summarised {
        /// What was written.
        summary: String,
    },
    /// A summary stands for what was said.
    Compacted {
        /// How many tokens it has.
        summary_tokens: u64,
    },
    /// What was said last is not part of the conversation any more.
    Rewound {
        /// How many messages are hidden, those among them that nobody had taken up yet.
        hidden: u32,
    },
    /// The session has these client tools.
    ClientToolsSet,
    /// The root's next turn has this agent definition and this model.
    RoleSet,
    /// The session and its folder are gone.
    Deleted {
        /// Whether none of it can be read from the store's files any more. Otherwise another process
        /// reads there, and the rest goes when the last process that uses the store ends.
        is_wiped: bool,
    },
    /// The child exists and works, or did so before this order came.
    Spawned {
        /// Which agent it is.
        agent: AgentId,
    },
    /// No child was started, for a reason that a `task` call would be given.
    Refused {
        /// For code.
        kind: ErrorKind,
        /// For people.
        why: String,
    },
    /// There was nothing to do.
    NoEffect {
        /// Why, for people.
        why: String,
    },
    /// Another process owns the tree and has not answered yet; it will. Of a message or an answer to
    /// a session that sleeps: it is kept there for whoever opens the session.
    Queued,
}

//! The rows of the chat tables, and what can be done to them.

use offshoot_types::caps::Money;
use offshoot_types::id::{AgentId, CallId, MessageId, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::message::Usage;
use offshoot_types::outcome::Metadata;
use offshoot_types::permission::Rule;
use serde::{Deserialize, Serialize};

/// A row of `chat_sessions`.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRow {
    /// The agent's id.
    pub id: AgentId,
    /// The manifest's name.
    pub agent: String,
    /// Tells children from forks.
    pub kind: Kind,
    /// The first line of the first prompt; `None` before one.
    pub title: Option<String>,
    /// The root folder.
    pub workspace_root: Option<String>,
    /// `{provider_id, model_id}` of its latest message (SES-20); before one, of its birth.
    pub model_json: String,
    /// The nearest agent above that has a row (SA-13), or the session it is a copy of.
    pub parent_id: Option<AgentId>,
    /// The message that agent was processing, or the last that was copied.
    pub parent_message_id: Option<MessageId>,
    /// The rules that answers "for this session" have added (PER-08).
    pub permissions_json: String,
    /// What the host attached, and `opaque_parent_id` where the agent that spawned it has no row.
    pub metadata_json: String,
    /// Sums over its messages that count: those that a rewind hid do not, nor those that a summary
    /// stands for.
    pub usage: Usage,
    /// What all its messages have cost as far as prices were known, hidden ones included (SES-04).
    pub cost: Money,
    /// When it was spawned.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was archived: a rewind of an agent above it took back the call that made it (R8).
    pub archived_at: Option<Timestamp>,
}

/// Most money that a row counts, in millionths of a dollar: SQL's REAL holds no larger number exactly.
pub(crate) const MOST_MICROS: u64 = 1 << 53;

/// Most tokens of a kind that a row counts: SQL has no larger number.
const MOST_TOKENS: u64 = i64::MAX.unsigned_abs();

impl SessionRow {
    /// Adds to its sums.
    pub(crate) fn spend(&mut self, usage: Usage, cost: Money) {
        self.usage += usage;
        self.usage = self.usage.at_most(MOST_TOKENS);
        self.cost = self.cost.plus(cost).min(Money::micros(MOST_MICROS));
    }

    /// Sets its sums.
    pub(crate) fn count(&mut self, usage: Usage) {
        self.usage = usage.at_most(MOST_TOKENS);
    }
}

/// A row of `chat_messages`.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageRow {
    /// The message's id, unique within its session.
    pub id: MessageId,
    /// Whose.
    pub session_id: AgentId,
    /// Who speaks.
    pub role: Role,
    /// Keys of PER-05, and those of the host.
    pub metadata_json: String,
    /// When it was written; for a prompt that waited, when its turn began.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A row of `chat_parts`.
#[derive(Clone, Debug, PartialEq)]
pub struct PartRow {
    /// Whose.
    pub session_id: AgentId,
    /// Of which message.
    pub message_id: MessageId,
    /// Its place in that message.
    pub index: u32,
    /// The column `type`, which is also in `data_json`.
    pub kind: String,
    /// The whole part, in the shape of the AI SDK.
    pub data_json: String,
    /// The columns `tool_call_id` and `tool_state`.
    pub tool: Option<ToolCall>,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl PartRow {
    /// Returns its id, which derives from its place.
    pub fn id(&self) -> String {
        format!("{}.{}", self.message_id, self.index)
    }
}

/// What is hoisted from a part that is a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Which call.
    pub call: CallId,
    /// How far it is.
    pub state: PartState,
}

/// What a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A root.
    Session,
    /// A child of `task`.
    Subagent,
    /// A copy of a session.
    Fork,
}

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Whoever asks the agent.
    User,
    /// The agent, and completions.
    Assistant,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartState {
    /// The model has made it.
    InputAvailable,
    /// It worked.
    OutputAvailable,
    /// It did not.
    OutputError,
}

/// Gives an enum of words its words in the tables, both ways.
macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        impl $name {
            /// Returns the word in the table.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// Reads the word in the table.
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

words!(Kind {
    Session = "session",
    Subagent = "subagent",
    Fork = "fork",
});
words!(Role {
    User = "user",
    Assistant = "assistant",
});
words!(PartState {
    InputAvailable = "input-available",
    OutputAvailable = "output-available",
    OutputError = "output-error",
});

/// What an entry does to the rows.
#[derive(Clone, Debug)]
pub(crate) enum RowOp {
    /// Insert a session.
    Session(Box<SessionRow>),
    /// Insert a message; one that is there already stays.
    Message(MessageRow),
    /// Insert a part; one that is there already stays.
    Part(PartRow),
    /// Give a session its title, unless it has one.
    Title { session: AgentId, title: String },
    /// Give a session another title.
    Rename { session: AgentId, title: String },
    /// Say that a message is not part of the conversation any more (SES-06).
    Hide {
        session: AgentId,
        message: MessageId,
        at: Timestamp,
    },
    /// Set a session's sums: some messages count no more, or again (SES-02).
    Count {
        session: AgentId,
        usage: Usage,
        at: Timestamp,
    },
    /// Close the open call of a session.
    Finish {
        session: AgentId,
        call: CallId,
        finish: Box<Finish>,
        at: Timestamp,
    },
    /// Take a prompt out of the queue.
    Fire {
        session: AgentId,
        message: MessageId,
        at: Timestamp,
    },
    /// Add to a session's sums, and name the model that it uses now.
    Spend {
        session: AgentId,
        usage: Usage,
        cost: Money,
        model_json: Option<String>,
        at: Timestamp,
    },
    /// Add rules that hold for a session.
    Permit {
        session: AgentId,
        rules: Vec<Rule>,
        at: Timestamp,
    },
    /// Archive a session, unless it is.
    Archive { session: AgentId, at: Timestamp },
    /// Say that a session has changed.
    Touch { session: AgentId, at: Timestamp },
}

impl RowOp {
    /// Returns how many bytes of JSON it adds to a transcript, at least.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Part(row) => row.data_json.len(),
            Self::Finish { finish, .. } => {
                let output = finish.output.as_ref().map_or(0, |json| json.as_str().len());
                let error = finish.error_text.as_ref().map_or(0, String::len);
                let nested = finish.transcripts.iter().map(|json| json.as_str().len());
                output + error + nested.sum::<usize>()
            }
            _ => 0,
        }
    }
}

/// What closes a call.
#[derive(Clone, Debug)]
pub(crate) struct Finish {
    pub(crate) state: PartState,
    pub(crate) output: Option<RawJson>,
    pub(crate) error_text: Option<String>,
    pub(crate) attachments: Vec<RawJson>,
    pub(crate) metadata: Metadata,
    pub(crate) transcripts: Vec<RawJson>,
}

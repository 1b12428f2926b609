//! How a run ended.
//!
//! A run settles exactly once, and everything others learn of its end (the
//! parent's outcome, events, hooks, exit codes) derives from this record.
//! Nothing that failed can look like an empty success: text and status are
//! separate.

use serde::{Deserialize, Serialize};

use crate::caps::Money;
use crate::id::AgentId;
use crate::json::RawJson;
use crate::message::Usage;
use crate::outcome::Metadata;
use crate::report::Report;

/// The record of a run's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settlement {
    /// How it ended.
    pub status: Status,
    /// The run's last text, if it said any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// A file that has all of it, where it is longer than a parent is shown; in the agent's scratch
    /// folder, into which its ancestors can see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_path: Option<String>,
    /// A file that has what it did, where it has no good answer; in the same folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript_path: Option<String>,
    /// What its own steps used; children count for themselves.
    #[serde(default)]
    pub usage: Usage,
    /// How many model requests it made.
    #[serde(default)]
    pub steps: u32,
    /// From its first turn to its end.
    #[serde(default)]
    pub duration_ms: u64,
    /// What its own steps cost, where the model's price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// The five fields of its report, if its last text has them all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<Report>>,
    /// Its answer as a value that fits its output schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<RawJson>,
    /// Files that it really changed, by the journal; of many, the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// How many of its calls needed an answer that nobody was there to give.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u32,
    /// Results of agents below it that the run ended without having read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<Box<Unread>>,
}

/// Results of agents below a run that the run's model, or a model between them, has not read.
///
/// They are named here so that the parent's model knows of them. Naming delivers nothing: the
/// agents that have not read them read them in their next run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The results; each is followed by those that its own agent has not read.
    pub results: Vec<UnreadResult>,
    /// How many more there are that are not named.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
}

/// A result that its parent's model has not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadResult {
    /// The agent whose run settled.
    pub agent: AgentId,
    /// The manifest it was spawned from.
    pub definition: String,
    /// How the run ended: the word of its status.
    pub status: String,
    /// Its parent, which has not read the result.
    pub reader: AgentId,
    /// The beginning of its last text, on one line; ends with `…` where it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins: Option<String>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Settlement {
    /// The record of a run that did nothing and ended so.
    pub fn new(status: Status) -> Self {
        Self {
            status,
            output: None,
            output_path: None,
            transcript_path: None,
            usage: Usage::default(),
            steps: 0,
            duration_ms: 0,
            cost: None,
            report: None,
            value: None,
            files: Vec::new(),
            unanswered: 0,
            unread: None,
        }
    }
}

impl Settlement {
    /// Returns what a parent gets of a run beside its words (PD-38): in the outcome of the call that
    /// waited for it, or in the completion of a run that no call waited for.
    pub fn metadata(&self, agent: &AgentId, definition: &str) -> Metadata {
        let mut metadata = Metadata {
            duration_ms: self.duration_ms,
            ..Metadata::default()
        };
        let extra = &mut metadata.extra;
        extra.insert("subagent_id", agent);
        extra.insert("definition_id", &definition);
        extra.insert("settlement", &self.status.word());
        extra.insert("usage", &self.usage);
        extra.insert("turns", &self.steps);
        if let Some(cost) = self.cost {
            extra.insert("cost_usd", &cost);
        }
        if let Some(report) = &self.report {
            extra.insert("report", report);
        }
        if !self.files.is_empty() {
            extra.insert("files_changed", &self.files);
        }
        if self.unanswered > 0 {
            extra.insert("unanswered", &self.unanswered);
        }
        if let Some(unread) = &self.unread {
            extra.insert("unread", unread);
        }
        if let Some(path) = &self.transcript_path {
            extra.insert("transcript_path", path);
        }
        metadata
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It said what it had to say.
    Completed,
    /// It has something, and something is missing.
    Partial(PartialReason),
    /// It could not go on.
    Failed {
        /// For code.
        kind: FailureKind,
        /// For people: what was attempted and what came back.
        message: String,
    },
    /// Somebody stopped it.
    Cancelled(CancelledBy),
    /// A cap was reached and the hand-back step gave no text.
    BudgetExhausted(Cap),
    /// A hook did not let it begin, or go on.
    Denied {
        /// Who refused and why.
        reason: String,
    },
    /// Its process died, or its log could not be written.
    Lost {
        /// What is known of it.
        why: String,
    },
}

/// What is missing from a partial run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartialReason {
    /// It ended without any text.
    NoAnswer,
    /// The model reached the limit of its output.
    Length,
    /// The model says that it could not or would not do what was asked, or its provider filtered
    /// the answer.
    Refusal,
    /// A cap was reached; the text is what the hand-back step gave.
    Budget(Cap),
    /// Mail woke it too often without a human.
    Wakes,
    /// Its answer does not fit its output schema, also not the second time.
    Schema,
}

/// Why a run could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The model failed after its retries.
    Model,
    /// The provider wanted us to wait, and went on wanting it: later may be another matter.
    RateLimited,
    /// The conversation had more tokens than the model takes, and could not be shortened.
    TooLong,
    /// The model or the agent's definition is not there.
    Config,
    /// A bug of ours; the run ended rather than the process.
    Internal,
}

/// Who stopped a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelledBy {
    /// A person asked for this run.
    User,
    /// A run above it was cancelled.
    Ancestor,
    /// An agent above it asked for this run.
    Parent,
    /// The process is leaving in good order.
    Shutdown,
}

/// A cap of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cap {
    /// Model requests.
    Steps,
    /// Tokens.
    Tokens,
    /// Money.
    Cost,
    /// Wall time.
    Time,
    /// Wall time without a sign of progress.
    Stall,
}

impl Cap {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Time => "time",
            Self::Stall => "stall",
        }
    }
}

impl Status {
    /// Tells whether mail of a run that ended so starts a turn of its parent.
    ///
    /// What somebody stopped, or what died with its process, is told without one:
    /// nobody is waiting for an answer to it.
    pub fn wakes(&self) -> bool {
        match self {
            Self::Completed
            | Self::Partial(_)
            | Self::Failed { .. }
            | Self::BudgetExhausted(_)
            | Self::Denied { .. } => true,
            Self::Cancelled(_) | Self::Lost { .. } => false,
        }
    }

    /// Returns the word for it in lists and in completions.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Partial(_) => "partial",
            Self::Failed { .. } => "failed",
            Self::Cancelled(_) => "cancelled",
            Self::BudgetExhausted(_) => "budget_exhausted",
            Self::Denied { .. } => "denied",
            Self::Lost { .. } => "lost",
        }
    }

    /// Returns what is behind the word, as one sentence without a stop; `None` when completed.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Completed => None,
            Self::Partial(reason) => Some(match reason {
                PartialReason::NoAnswer => "it ended without an answer".to_owned(),
                PartialReason::Length => "the model reached its output limit".to_owned(),
                PartialReason::Refusal => "the model could not or would not do it".to_owned(),
                PartialReason::Budget(cap) => format!("budget: {}", cap.word()),
                PartialReason::Wakes => "woken too often without a human".to_owned(),
                PartialReason::Schema => "its answer does not fit its schema".to_owned(),
            }),
            Self::Failed { message, .. } => Some(message.clone()),
            Self::Cancelled(by) => Some(
                match by {
                    CancelledBy::User => "cancelled by the user",
                    CancelledBy::Ancestor => "aborted by parent",
                    CancelledBy::Parent => "cancelled by an agent above it",
                    CancelledBy::Shutdown => "cancelled because offshoot is shutting down",
                }
                .to_owned(),
            ),
            Self::BudgetExhausted(cap) => Some(format!("budget exhausted: {}", cap.word())),
            Self::Denied { reason } => Some(reason.clone()),
            Self::Lost { why } => Some(why.clone()),
        }
    }
}

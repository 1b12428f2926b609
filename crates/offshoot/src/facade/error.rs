//! What can go wrong between a program and its agents.
//!
//! Variants are named for what the caller can do about it. How an agent's run ended is no error: that
//! is a `Settlement`. It becomes one only where a result was asked for and there is none.

use offshoot_engine::{AttachError, CommandError, Missing, ProjectError};
use offshoot_types::content::AttachmentError;
use offshoot_types::outcome::ErrorKind;
use offshoot_types::settlement::Settlement;
use offshoot_types::store::StoreError;

/// What can go wrong between a program and its agents.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was asked for cannot be: a bug of the program, or of its user.
    #[error("{0}")]
    Invalid(String),
    /// No such session or agent of one.
    #[error("{0}")]
    Unknown(String),
    /// The session has no definition or model of this name now: add or attach it, and try again.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The project of the session cannot be opened: nothing has changed.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The overlay was not attached: nothing has changed.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// An agent could not be started: by the rules for `task`, or because a limit is reached.
    #[error("start agent {definition}: {why}")]
    Refused {
        /// Which agent.
        definition: String,
        /// For code: what a `task` call would be told.
        kind: ErrorKind,
        /// Why not.
        why: String,
    },
    /// The run that was to have a result did not complete. What it has is in its settlement.
    #[error("the run ended {}{}", .0.status.word(), reason(.0))]
    Unfinished(Box<Settlement>),
    /// The run completed, and neither its agent nor the prompt has an `output_schema`: take the text.
    #[error("neither the agent nor the prompt has an output_schema, so the answer is a text")]
    Untyped,
    /// The answer fits its `output_schema` and not the type it was to be read as.
    #[error("read the answer: {0}")]
    Misfit(serde_json::Error),
    /// Something is wrong with what a prompt has attached.
    #[error(transparent)]
    Attachment(AttachmentError),
    /// The store could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The runtime was shut down.
    #[error("the runtime was shut down")]
    Closed,
}

impl Error {
    /// Returns a word for the kind of error, which never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Attachment(_) => "attachment",
            Self::Invalid(_) => "invalid",
            Self::Unknown(_) => "unknown",
            Self::Missing(Missing::Agent(_)) => "missing_agent",
            Self::Missing(Missing::Model(_)) => "missing_model",
            Self::Project(_) => "project",
            Self::Attach(_) => "attach",
            Self::Refused { .. } => "refused",
            Self::Unfinished(_) => "unfinished",
            Self::Untyped => "untyped",
            Self::Misfit(_) => "misfit",
            Self::Store(_) => "store",
            Self::Closed => "closed",
        }
    }
}

impl From<CommandError> for Error {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Invalid(why) => Self::Invalid(why),
            CommandError::Unknown(why) => Self::Unknown(why),
            CommandError::Missing(missing) => Self::Missing(missing),
            CommandError::Project(error) => Self::Project(error),
            CommandError::Attachment(error) => Self::Attachment(error),
            CommandError::Store(error) => Self::Store(error),
            CommandError::Closed => Self::Closed,
        }
    }
}

fn reason(settlement: &Settlement) -> String {
    let reason = settlement.status.reason();
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}

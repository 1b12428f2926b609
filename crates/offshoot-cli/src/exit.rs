//! How the program ends: exit codes, and the errors that lead to them.
//!
//! `Usage` is what the person can put right by asking differently; everything
//! else that goes wrong is `Failed`. How a run ended is not an error but a
//! settlement, and has a code of its own.

use std::fmt;
use std::process::ExitCode;

use offshoot_engine::CommandError;
use offshoot_host::HostError;
use offshoot_types::id::TreeId;
use offshoot_types::settlement::Status;
use offshoot_types::store::StoreError;
use offshoot_types::tree::Unfinished;

use crate::{output, render};

/// What the program returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Completed,
    Failed,
    Usage,
    Partial,
    /// What was waited for goes on, and nothing is known of its end. As `timeout` has it.
    TimeUp,
    Interrupted,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code.number())
    }
}

impl Code {
    /// Returns the number that the shell sees.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Partial => 3,
            Self::TimeUp => 124,
            Self::Interrupted => 130,
        }
    }

    /// Returns the code for how a run ended.
    pub(crate) fn of(status: &Status) -> Self {
        match status {
            Status::Completed => Self::Completed,
            Status::Partial(_) | Status::BudgetExhausted(_) => Self::Partial,
            Status::Failed { .. } | Status::Denied { .. } | Status::Lost { .. } => Self::Failed,
            Status::Cancelled(_) => Self::Interrupted,
        }
    }

    /// Returns the code of an end that left work undone, and says on stderr what that was. Only
    /// success changes: an error or an interruption says more.
    pub(crate) fn with(self, unfinished: &Unfinished, session: &TreeId) -> Self {
        // What stopped the agent that was asked was said when it ended.
        let is_said = unfinished.unanswered == 0
            && unfinished.stopped.keys().all(|id| id == session.root())
            && self != Self::Completed;
        if !unfinished.is_empty() && !is_said {
            output::complain(&format!(
                "{}; see: offshoot sessions show {session}",
                render::unfinished(unfinished)
            ));
        }
        match self {
            Self::Completed if !unfinished.is_empty() => Self::Partial,
            code => code,
        }
    }
}

/// Why the program stops before it has done what was asked.
#[derive(Debug)]
pub(crate) enum Stop {
    /// What was asked cannot be done; asking differently would help.
    Usage(String),
    /// It went wrong.
    Failed(anyhow::Error),
    /// Somebody stopped it.
    Interrupted,
}

impl Stop {
    /// Something that asking differently would put right.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Usage(_) => Code::Usage,
            Self::Failed(_) => Code::Failed,
            Self::Interrupted => Code::Interrupted,
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) => f.write_str(text),
            Self::Failed(error) => write!(f, "{error:#}"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<CommandError> for Stop {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Invalid(text) | CommandError::Unknown(text) => Self::Usage(text),
            CommandError::Missing(missing) => Self::Usage(missing.to_string()),
            CommandError::Attachment(error) => Self::Usage(error.to_string()),
            CommandError::Store(error) => error.into(),
            CommandError::Project(_) | CommandError::Closed => Self::Failed(error.into()),
        }
    }
}

impl From<HostError> for Stop {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Invalid(text) => Self::Usage(text),
            failed @ HostError::Failed { .. } => Self::Failed(failed.into()),
        }
    }
}

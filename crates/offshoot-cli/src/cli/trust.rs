//! `offshoot trust`, and the flag that trusts a repository for one call.

use std::path::PathBuf;

use clap::Args;

/// Whether what the repository brings may be used, wherever agents run.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Trusting {
    /// Use the agents and run the hooks that the repository brings, for this call only; `offshoot
    /// trust` shows them
    #[arg(long)]
    pub(crate) trust_project: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The folder to look in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Show what there is, and ask nothing
    #[arg(long)]
    list: bool,
    /// Accept all there is now, and ask nothing
    #[arg(long, conflicts_with = "list")]
    all: bool,
    /// Revoke what was accepted in this folder
    #[arg(long, conflicts_with_all = ["list", "all"])]
    revoke: bool,
    /// Print one JSON object a line; ask nothing
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is wanted of `offshoot trust`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Ask,
    List,
    All,
    Revoke,
}

impl Trust {
    pub(crate) fn wish(&self) -> Wish {
        match (self.list, self.all, self.revoke) {
            (true, ..) => Wish::List,
            (_, true, _) => Wish::All,
            (.., true) => Wish::Revoke,
            (false, false, false) if self.json => Wish::List,
            (false, false, false) => Wish::Ask,
        }
    }
}

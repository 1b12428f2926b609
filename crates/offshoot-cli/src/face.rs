//! How a tree is shown, decided before anything is opened.
//!
//! Who answers an agent depends on it: somebody can be asked only where the
//! question is shown and keys are heard. Deciding both here is what keeps a run
//! from waiting for an answer to a question that nobody sees.

use std::io::{self, IsTerminal};

use offshoot_copilot::Fold;
use offshoot_types::id::{AgentId, TreeId};

use crate::answers::Answers;
use crate::config::Settings;
use crate::console::{Console, Talk};
use crate::exit::Stop;
use crate::view::View;
use crate::{inside_agent, output, terminal};

/// How a tree is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    /// Every event, for programs.
    Events,
    /// Answers on stdout, progress on stderr.
    Plain,
    /// A console to look at: there is no terminal to read keys from.
    Deaf,
    /// A console with somebody at its keys.
    Attended,
}

impl Face {
    /// Decides how a tree is shown to whoever called us.
    pub(crate) fn of(json: bool, settings: &Settings) -> Self {
        let painted = io::stdout().is_terminal() && !settings.dumb && !output::is_quiet();
        match (json, painted) {
            (true, _) => Self::Events,
            (false, false) => Self::Plain,
            // Nobody sits in front of a terminal that a command of an agent has made.
            (false, true) if inside_agent::is_inside_agent() => Self::Plain,
            (false, true) if terminal::has_keys() => Self::Attended,
            (false, true) => Self::Deaf,
        }
    }

    /// Tells whether somebody can be asked.
    pub(crate) fn can_ask(self) -> bool {
        match self {
            Self::Attended => true,
            Self::Events | Self::Plain | Self::Deaf => false,
        }
    }

    /// Opens the view of a tree, one agent of which was asked.
    pub(crate) fn open(
        self,
        settings: &Settings,
        tree: &TreeId,
        agent: &AgentId,
    ) -> Result<View, Stop> {
        match self {
            Self::Events => Ok(View::events(Fold::new(tree.clone()))),
            Self::Plain => Ok(View::answers(agent.clone(), settings.style)),
            Self::Deaf | Self::Attended => {
                let answers = Answers::of(agent.clone());
                let console = Console::open(answers, Talk::Once, settings.style)?;
                Ok(View::console(console))
            }
        }
    }
}

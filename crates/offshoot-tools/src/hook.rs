//! Hooks that are commands: told on their input, heard by what they print and how they end.
//!
//! The form on both sides is Claude Code's, as far as it has a meaning here. A
//! command runs in the workspace, under a keeper, so nothing of it outlives its
//! call; it sees the environment that `bash` commands see. How long it may take
//! and what follows from what it says is the engine's business.

mod answer;
mod matcher;
mod payload;

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use offshoot_types::cancel::Cancel;
use offshoot_types::hook::{Occasion, Point, Say, Trouble, Watch, Word};

use crate::shell::once::{Once, Told, Until};
use crate::shell::{Environment, Keeper};

pub use self::matcher::Matcher;

/// Most bytes that a hook is told at once. What is longer cannot be judged by it.
const MOST_TOLD: usize = 4 * 1024 * 1024;

/// What runs the commands of hooks. Cloning shares it; with the last, what still runs is ended.
#[derive(Clone)]
pub struct Commands(Arc<Once>);

impl Commands {
    /// Commands are kept by `keeper` and see `environment`.
    pub fn new(keeper: Keeper, environment: Environment) -> Self {
        Self(Arc::new(Once::new(keeper, environment)))
    }
}

/// A hook that is a command.
pub struct CommandHook {
    /// What people call it.
    pub name: String,
    /// Where it is called.
    pub point: Point,
    /// About what.
    pub matcher: Matcher,
    /// What is run, by a shell.
    pub command: String,
    /// How long it may take.
    pub limit: Duration,
    /// The only folder in whose sessions it has a say; all of them if there is none.
    pub folder: Option<String>,
    /// What runs it.
    pub commands: Commands,
}

impl Watch for CommandHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_at(&self, point: Point) -> bool {
        self.point == point
    }

    fn wants(&self, _point: Point, subject: &str) -> bool {
        self.matcher.matches(subject)
    }

    fn limit(&self) -> Duration {
        self.limit
    }

    fn may_switch(&self) -> bool {
        // One that is bound to a folder comes from there.
        self.folder.is_none()
    }

    fn call(&self, occasion: Occasion, cancel: Cancel) -> BoxFuture<'static, Result<Say, Trouble>> {
        let (commands, command) = (self.commands.clone(), self.command.clone());
        let elsewhere = |folder: &String| *folder != occasion.who.workspace;
        if self.folder.as_ref().is_some_and(elsewhere) {
            return Box::pin(std::future::ready(Ok(Say::nothing())));
        }
        Box::pin(async move {
            let told = payload::of(&occasion);
            if told.len() > MOST_TOLD {
                return too_long(occasion.point());
            }
            let folder = &occasion.who.workspace;
            let told = Told {
                stdin: told,
                // Elsewhere nobody is let through by who is not heard, and what a hook leaves behind
                // with its output open would keep everybody waiting.
                until: if occasion.point().guards() {
                    Until::NobodyPrints
                } else {
                    Until::ItEnds
                },
            };
            let ran = commands.0.run(folder, command, told, &cancel).await;
            answer::read(occasion.point(), ran.map_err(Trouble::BrokeDown)?)
        })
    }
}

/// Says what becomes of what is too long to be told. A guard would be passed by who writes enough, so
/// what it cannot judge it denies, whatever is said yes to beforehand.
fn too_long(point: Point) -> Result<Say, Trouble> {
    if point.guards() {
        let reason = format!(
            "it is too long for its hooks to judge: they are told at most {MOST_TOLD} bytes; do it in \
             smaller parts"
        );
        return Ok(Say::word(Word::Deny { reason }));
    }
    let text = format!("what it would be told has more than {MOST_TOLD} bytes");
    Err(Trouble::BrokeDown(text))
}

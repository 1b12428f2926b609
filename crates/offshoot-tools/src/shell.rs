//! `bash`: one command, and everything it starts.
//!
//! Every process belongs to the owner of the call that started it, and dies with
//! it. That is held by a **keeper**, a process of ours between us and the shell:
//! as the kernel's subreaper it remains an ancestor of whatever the command
//! starts, also of a daemon that forked twice into a session of its own, and it
//! knows that we are there by a socket. If we ask, or if the socket ends because
//! we were killed, it ends them all. A process group would lose what calls
//! `setsid`; a parent-death signal reaches only the first child; a cgroup needs
//! rights that users do not have; a PID namespace changes what commands see.
//!
//! Where the session's client has terminals, a command that leaves nothing running runs in one,
//! below a keeper that only names and ends it (`terminal`).
//!
//! `keep` is the keeper's side, `keepers`, `call` and `once` are ours, `wire` is what they
//! say to each other, `processes` and `sweep` are how processes are found and ended.
//!
//! What does not hold: work handed to somebody else's daemon (`systemd-run`,
//! `docker run -d`, `at`) is not ours, and what runs as another user cannot be
//! signalled. If a command kills its own keeper, see `orphans`.

mod answer;
mod arguments;
mod call;
mod capture;
mod characters;
mod environment;
mod judge;
mod keep;
mod keepers;
mod needs;
pub(crate) mod once;
mod orphans;
mod processes;
mod sidecar;
mod sweep;
mod terminal;
mod wire;

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::Outcome;
use offshoot_types::permission::Need;
use offshoot_types::tool::{Place, Tool, ToolSpec, Work};

use self::arguments::Arguments;
use self::keepers::Keepers;

pub use self::environment::{Base, Environment};
pub use self::keep::keep;
pub use self::keepers::Keeper;
pub use self::needs::needs;
pub use self::orphans::adopt_orphans;

/// The tool. Dropping it ends every process it has left running.
///
/// Its calls run on a tokio runtime with I/O and time.
pub struct Bash {
    spec: ToolSpec,
    keepers: Arc<Keepers>,
}

impl Bash {
    /// A shell whose commands are kept by `keeper` and see `environment`.
    pub fn new(keeper: Keeper, environment: Environment) -> Self {
        Self {
            spec: arguments::spec(),
            keepers: Arc::new(Keepers::new(keeper, environment)),
        }
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn requires(&self) -> &[&'static str] {
        &[Need::SHELL_RUN, Need::SHELL_OPAQUE]
    }

    fn needs(&self, arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String> {
        let Arguments { command, .. } = Arguments::parse(arguments)?;
        Ok(needs::needs(&command, place))
    }

    fn asks(&self, arguments: &RawJson) -> Option<Need> {
        let Arguments { command, .. } = Arguments::parse(arguments).ok()?;
        Some(Need::new(Need::SHELL_RUN, command))
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        let keepers = Arc::clone(&self.keepers);
        Box::pin(async move {
            match terminal::run(&keepers, &work).await {
                Some(outcome) => outcome,
                None => call::run(keepers, work).await,
            }
        })
    }

    fn end(&self, owner: &str) -> BoxFuture<'static, ()> {
        Box::pin(self.keepers.end(owner))
    }
}

impl Drop for Bash {
    fn drop(&mut self) {
        self.keepers.close();
    }
}

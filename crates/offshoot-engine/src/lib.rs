//! The runtime: one loop that runs every agent.
//!
//! Reading order: `runtime` is what faces see; `session` owns one tree; `agent`
//! is one actor; `turn` is the loop; `scheduler`, `ask`, `desk` and
//! `task` are its calls; `next` and `settle` say what follows from the log; `recover` is
//! for the dead. Nothing here knows a wire format, a driver or the environment.

mod agent;
mod answer;
mod ask;
mod attachments;
mod board;
mod caps;
mod client_tool;
mod compact;
mod context;
mod desk;
mod digest;
mod door;
mod finish;
mod fork;
mod governor;
mod ground;
mod helper;
mod hooks;
mod inherit;
mod journal;
mod kit;
mod limits;
mod log;
mod narrate;
mod next;
mod node;
mod overlay;
mod project;
mod question;
mod rebuild;
mod recover;
mod reply;
mod role;
mod runtime;
mod sabotage;
mod scheduler;
mod schema;
mod scope;
pub mod scratch;
mod session;
mod settle;
mod slots;
mod spawn;
mod steer;
mod subscribe;
mod task;
mod todo;
mod turn;
mod unread;
mod update;
mod watch;

#[cfg(test)]
mod sim;

pub use agent::chores::NOTHING_TO_SHORTEN;
pub use ask::{Asks, Who};
pub use compact::{Compacting, SmartRecovery};
pub use ground::{chain_in, chain_of};
pub use helper::{HELPER_CAPS, Helpers};
pub use limits::{AttachmentLimits, Limits};
pub use next::is_quiet;
pub use overlay::{AttachError, Attachment, Overlay, SystemMessage, ToolFilter};
pub use project::{OneProject, Project, ProjectError, Projects};
pub use rebuild::{NoRequest, RebuiltRequest, Remark};
pub use runtime::claims::Hold;
pub use runtime::query::{self, Query};
pub use runtime::{CommandError, Ending, Missing, Parts, Runtime};
pub use schema::check_json_schema;
pub use scope::{is_about_an_agent, own_calls, own_tools};
pub use subscribe::Subscription;
pub use update::{Activity, Delta, DeltaKind, Output, SessionState, Update};

//! What the runtime does, seen from outside: a script in, a log out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod abort;
mod asks;
mod asleep;
mod background;
mod blocking;
mod call_order;
mod caps;
mod chains;
mod chores;
mod compaction;
mod context;
mod endings;
mod fork;
mod given;
mod governor;
mod guide;
mod hook_calls;
mod hook_guards;
mod hook_runs;
mod hook_sessions;
mod hook_stops;
mod host;
mod inherit;
mod kept_results;
mod limits;
mod own_asks;
mod permissions;
mod pilotdeck;
mod properties;
mod questions;
mod rebuilt;
mod report;
mod restart;
mod rewind;
mod role;
mod rules;
mod scope;
mod scratch;
mod stage;
mod steer;
mod talk;
mod task_tool;
mod tools;
mod trouble;

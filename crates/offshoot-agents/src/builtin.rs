//! The built-in agents, by what they are for.
//!
//! They differ in what they may do and not merely in tone. Prompts say what the
//! agent is for and how it hands over; what tools do is said by the tools, and
//! limits are enforced rather than asked for.

mod chores;
mod workers;

use offshoot_types::manifest::Manifest;

pub use chores::HELPERS;

/// Other names that built-in agents answer to.
pub(crate) const ALIASES: [(&str, &str); 1] = [("general-purpose", "general")];

/// Returns the built-in agents.
pub fn builtin() -> Vec<Manifest> {
    let workers = workers::all().into_iter();
    workers.chain(chores::all()).collect()
}

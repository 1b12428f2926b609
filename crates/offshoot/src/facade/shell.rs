//! The process that keeps the commands of agents: this program, started a second time.
//!
//! `bash` runs every command below a keeper, which ends whatever the command has started when its agent
//! is done or this process dies. The keeper is a process of its own, so a program that offers `bash`
//! has to be able to run as one. `keeper` is the only way to get a `Keeper` of this program, so that
//! no program is started a second time that does not know about it.

use offshoot_tools::shell::{Keeper, keep};

/// The first argument of a process that is a keeper.
const ARGUMENT: &str = "offshoot_keeper";

/// Returns how this program is started as the keeper of a command, for `Builder::shell`.
///
/// Call it first in `main`. In a process that was started as a keeper it does that work, and ends the
/// process instead of returning.
pub fn keeper() -> Keeper {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|first| first == ARGUMENT) {
        std::process::exit(i32::from(keep(words.next())));
    }
    Keeper {
        program: "/proc/self/exe".into(),
        arguments: vec![ARGUMENT.into()],
    }
}

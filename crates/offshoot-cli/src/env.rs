//! What this process was started with: the only place that reads the environment, once, at the start.
//!
//! Everything else is handed the copy, so that tests can make their own.

pub(crate) use offshoot_host::{Surroundings, System};

/// Returns the variables and the current folder of this process.
pub(crate) fn of_process() -> Surroundings {
    Surroundings::new(std::env::current_dir().ok(), std::env::vars_os())
}

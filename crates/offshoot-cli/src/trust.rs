//! Asks a person about what a repository brings, and the command `trust`.
//!
//! What is accepted, and how that is recorded, is in `offshoot-host`; only questions and answers are here.

mod ask;
mod command;

pub(crate) use offshoot_host::trust::Thing;

use offshoot_host::trust::{By, Kind, Standing, Trust, accept, listed, revoke};

pub(crate) use ask::offer;
pub(crate) use command::trust;

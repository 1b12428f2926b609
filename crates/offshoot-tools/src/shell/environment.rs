//! The environment that commands see.
//!
//! Chosen by whoever assembles the program; here only what makes commands behave
//! without a terminal is added. Keys of our own model providers are named by the
//! assembly and never reach a command. The keeper is given the same environment,
//! so what was removed is not in its `/proc` entry either.

use std::ffi::OsString;

use tokio::process::Command;

/// What commands are told by default: nobody is there to look, page or answer.
const ALWAYS: [(&str, &str); 5] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("NO_COLOR", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Names the scratch folder to commands.
const SCRATCH: &str = "OFFSHOOT_SCRATCH";

/// What commands see of the environment.
#[derive(Clone, Debug)]
pub struct Environment {
    /// What they start from.
    pub base: Base,
    /// Names that are taken out, such as the keys of our own providers.
    pub remove: Vec<OsString>,
}

/// What the environment of commands starts from.
#[derive(Clone, Debug)]
pub enum Base {
    /// All that this process has.
    Inherited,
    /// These, and nothing else.
    Given(Vec<(OsString, OsString)>),
}

impl Environment {
    pub(super) fn apply(&self, scratch: Option<&str>, command: &mut Command) {
        let Self { base, remove } = self;
        match base {
            Base::Inherited => {}
            Base::Given(variables) => {
                let variables = variables.iter().map(|(name, value)| (name, value));
                command.env_clear().envs(variables);
            }
        }
        for name in remove {
            command.env_remove(name);
        }
        // With it `cd a` leads elsewhere than it says, and what is redirected there as well.
        command.env_remove("CDPATH");
        command.envs(ALWAYS);
        match scratch {
            Some(scratch) => command.env(SCRATCH, scratch),
            // One of an outer offshoot is not ours to hand on.
            None => command.env_remove(SCRATCH),
        };
    }
}

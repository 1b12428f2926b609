//! What is run: the arguments, and the written form of one round.

use std::fmt;
use std::process::{Command, Stdio};
use std::str::FromStr;

use crate::cut::Cut;
use crate::operation::Operation;

/// Rounds of the short form, besides those that measure.
const SHORT_ROUNDS: usize = 80;

const USAGE: &str = "usage: cargo xtask torture [--rounds N] [--seed S] [--only OPERATION | --only \
     OPERATION/fresh|grown/CUT] [--every] [--no-strace]";

/// One round: what is cut off, in which folder, how, and the seed of everything else.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) operation: Operation,
    /// Whether the folder has other sessions.
    pub(crate) grown: bool,
    pub(crate) cut: Cut,
    pub(crate) seed: u64,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = if self.grown { "grown" } else { "fresh" };
        write!(f, "{}/{folder}/{}", self.operation.name(), self.cut)
    }
}

impl FromStr for Case {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let [operation, folder, cut] = text
            .splitn(3, '/')
            .collect::<Vec<_>>()
            .try_into()
            .map_err(|_| format!("{text} is no OPERATION/fresh|grown/CUT"))?;
        Ok(Self {
            operation: operation_of(operation)?,
            grown: folder == "grown",
            cut: cut.parse()?,
            seed: 0,
        })
    }
}

fn operation_of(name: &str) -> Result<Operation, String> {
    let names = Operation::ALL.map(Operation::name);
    let found = Operation::ALL
        .into_iter()
        .find(|operation| operation.name() == name);
    found.ok_or_else(|| format!("{name} is no operation; there are {}", names.join(", ")))
}

/// What is run.
pub(crate) struct Settings {
    pub(crate) rounds: usize,
    pub(crate) seed: u64,
    /// One round, as a failure has printed it.
    pub(crate) case: Option<Case>,
    only: Option<Operation>,
    /// Every injection, not a sample.
    pub(crate) every: bool,
    /// Whether full disks are small file systems that are mounted.
    pub(crate) mounts: bool,
    needs_strace: bool,
    uses_strace: bool,
}

impl Settings {
    /// The form that is part of `ci`.
    pub(crate) fn short() -> Self {
        Self {
            rounds: SHORT_ROUNDS,
            seed: 1,
            case: None,
            only: None,
            every: false,
            mounts: false,
            needs_strace: false,
            uses_strace: true,
        }
    }

    /// Reads the arguments of the full form.
    pub(crate) fn read(arguments: &[String]) -> Result<Self, String> {
        let mut settings = Self {
            rounds: 200,
            mounts: true,
            needs_strace: true,
            ..Self::short()
        };
        let mut rounds = None;
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .ok_or(format!("{argument} needs a value\n{USAGE}"))
            };
            let number = |text: &String| {
                text.parse()
                    .map_err(|error| format!("{argument} {text}: {error}"))
            };
            match argument.as_str() {
                "--rounds" => rounds = Some(number(value()?)?),
                "--seed" => settings.seed = number(value()?)?,
                "--only" => {
                    let name = value()?;
                    if name.contains('/') {
                        settings.case = Some(name.parse()?);
                    } else {
                        settings.only = Some(operation_of(name)?);
                    }
                }
                "--every" => settings.every = true,
                "--no-strace" => (settings.needs_strace, settings.uses_strace) = (false, false),
                _ => return Err(format!("unknown argument {argument}\n{USAGE}")),
            }
        }
        let usual = if settings.case.is_some() { 1 } else { 200 };
        settings.rounds = rounds.unwrap_or(usual) as usize;
        Ok(settings)
    }

    /// Tells whether an operation is part of it.
    pub(crate) fn wants(&self, operation: Operation) -> bool {
        self.only.is_none_or(|only| only == operation)
    }

    /// Tells whether calls can be injected, and says so; fails where they have to be and cannot.
    pub(crate) fn can_trace(&self) -> Result<bool, String> {
        if !self.uses_strace {
            println!("torture: without strace, as asked: random kills only");
            return Ok(false);
        }
        let mut strace = Command::new("strace");
        strace.args(["-f", "-o", "/dev/null", "true"]);
        let works = strace
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|it| it.success());
        match (works, self.needs_strace) {
            (true, _) => println!("torture: random kills, and injections with strace"),
            (false, false) => println!("torture: no strace here: random kills only"),
            (false, true) => {
                let text = "strace is missing or may not trace; install it, or use --no-strace for random kills only";
                return Err(text.to_owned());
            }
        }
        Ok(works)
    }
}

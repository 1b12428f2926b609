//! What `bash` takes, and what models are told of it.

use std::time::Duration;

use offshoot_types::json::RawJson;
use offshoot_types::tool::{Effect, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use crate::whole;

/// How long a command may take if the call does not say.
const TIMEOUT_MS: u64 = 120_000;

/// How long a command may take at most.
const MOST_TIMEOUT_MS: u64 = 600_000;

/// The longest command: what the kernel takes as one argument, with its end.
const MOST_COMMAND: usize = 128 * 1024 - 1;

/// The arguments of a call, checked.
#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) command: String,
    pub(super) timeout: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    command: String,
    #[serde(default, deserialize_with = "whole::from_zero")]
    timeout_ms: Option<u64>,
}

impl Arguments {
    pub(super) fn parse(arguments: &RawJson) -> Result<Self, String> {
        let Given {
            command,
            timeout_ms,
        } = arguments
            .read()
            .map_err(|error| format!("take the arguments of bash: {error}"))?;
        if command.trim().is_empty() {
            return Err("the command is empty".to_owned());
        }
        if command.contains('\0') {
            return Err("the command contains a NUL byte, which no shell takes".to_owned());
        }
        if command.len() > MOST_COMMAND {
            return Err(format!(
                "the command has {} bytes and may have {MOST_COMMAND}; write a script and run that",
                command.len()
            ));
        }
        let timeout_ms = timeout_ms.unwrap_or(TIMEOUT_MS);
        if !(1..=MOST_TIMEOUT_MS).contains(&timeout_ms) {
            return Err(format!(
                "`timeout_ms` is {timeout_ms} and may be 1 to {MOST_TIMEOUT_MS}"
            ));
        }
        Ok(Self {
            command,
            timeout: Duration::from_millis(timeout_ms),
        })
    }
}

pub(super) fn spec() -> ToolSpec {
    let description = "Runs one command with `bash -c` in the workspace and returns what it \
         prints, stdout and stderr together, and its exit code if that is not 0. Every call is a \
         new shell: folder and variables do not carry over. There is no terminal and no input, so \
         do not run what asks questions. A command that takes longer than `timeout_ms` is ended; \
         start a server with `&`: it runs on after the call and ends with you. Of long output \
         the middle is left out, and all of it is in a file. Files that need not stay go to \
         `$OFFSHOOT_SCRATCH`.";
    let parameters = json!({
        "type": "object",
        "properties": {
            "command": {
                "type": "string",
                "description": "The command, as for `bash -c`."
            },
            "timeout_ms": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_TIMEOUT_MS,
                "description": "How long it may take, in milliseconds; 120000 if not given."
            }
        },
        "required": ["command"],
        "additionalProperties": false
    });
    ToolSpec::new("bash", description, &parameters, Effect::Write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_a_whole_number_whichever_way_it_is_written() {
        let parse = |timeout: &str| {
            let text = format!(r#"{{"command": "a", "timeout_ms": {timeout}}}"#);
            Arguments::parse(&RawJson::parse(text).unwrap())
        };
        for (timeout, expected) in [
            ("5000", 5000),
            ("5000.0", 5000),
            ("5e3", 5000),
            ("null", 120_000),
        ] {
            let parsed = parse(timeout).unwrap();
            assert_eq!(parsed.timeout, Duration::from_millis(expected), "{timeout}");
        }
        for timeout in ["0", "0.0", "600001", "1.5", "-1", "\"5000\""] {
            assert!(parse(timeout).is_err(), "{timeout}");
        }
    }
}

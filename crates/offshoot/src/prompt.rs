//! The prompt: from the command line or from stdin, checked before anything is opened.
//!
//! Reads no more than one byte over the limit, so that an endless stdin ends. Blocks: whoever
//! listens to signals does so afterwards, or nothing would end it.

use std::ffi::{OsStr, OsString};
use std::io::Read;

use anyhow::Context;
use offshoot_types::message::MAX_PROMPT_BYTES;

use crate::exit::Stop;

/// Returns the words of a prompt; `-` stands for stdin.
pub(crate) fn read(argument: OsString) -> Result<String, Stop> {
    let bytes = if argument == OsStr::new("-") {
        stdin()?
    } else {
        argument.into_encoded_bytes()
    };
    check(bytes)
}

fn stdin() -> Result<Vec<u8>, Stop> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_PROMPT_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .context("read the prompt from stdin")
        .map_err(Stop::Failed)?;
    Ok(bytes)
}

fn check(bytes: Vec<u8>) -> Result<String, Stop> {
    if bytes.len() > MAX_PROMPT_BYTES {
        let text = format!("the prompt has more than {MAX_PROMPT_BYTES} bytes, which is the limit");
        return Err(Stop::usage(text));
    }
    let text = String::from_utf8(bytes).map_err(|_| Stop::usage("the prompt is not UTF-8 text"))?;
    if text.trim().is_empty() {
        return Err(Stop::usage("the prompt is empty"));
    }
    Ok(text)
}

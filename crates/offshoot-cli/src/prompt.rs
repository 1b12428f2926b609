//! The prompt: from the command line or from stdin, checked before anything is opened.
//!
//! Text that is piped in beside a prompt is context for it, in a marked block. A file, a pipe and a
//! socket are read to their end; a terminal and other devices (`/dev/null`) are not read. A silent
//! pipe that no other command of a pipeline writes to, as scripts and servers leave it open, is given
//! up after a moment, with a note. Reads no more than one byte over the limit, so that an endless
//! stdin ends. Blocks: signals are listened to afterwards, or nothing would end it.

mod writers;

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use anyhow::Context;
use offshoot_types::message::MAX_PROMPT_BYTES;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::exit::Stop;
use crate::output;

/// How long stdin may be silent before the writers of the pipe are looked for, and a text may take
/// before a note says that it is read.
const MOMENT: Duration = Duration::from_secs(1);

/// Said when no command writes to stdin.
const IDLE: &str = "stdin is open and no command writes to it; going on without it (use < /dev/null \
                    to say that there is no text, or - as the prompt to wait)";

/// Said while a text does not end.
const READING: &str = "reading stdin to its end; Ctrl-C stops";

/// Returns the words of a prompt, with what is piped in beside it; `-` stands for stdin.
pub(crate) fn read(argument: OsString) -> Result<String, Stop> {
    if argument == OsStr::new("-") {
        return check(stdin("read the prompt from stdin")?);
    }
    let prompt = check(argument.into_encoded_bytes())?;
    with_context(prompt, piped()?)
}

/// Puts what was piped in behind a prompt.
fn with_context(prompt: String, piped: Vec<u8>) -> Result<String, Stop> {
    let most = MAX_PROMPT_BYTES;
    if prompt.len() + piped.len() > most {
        return Err(Stop::usage(format!(
            "the prompt and the text on stdin have more than {most} bytes together, which is the \
             limit; put the text into a file and name it in the prompt, or use < /dev/null"
        )));
    }
    let text = String::from_utf8(piped).map_err(|_| {
        Stop::usage(
            "the text on stdin is not UTF-8; convert it, or use < /dev/null to leave it out",
        )
    })?;
    if text.trim().is_empty() {
        return Ok(prompt);
    }
    // A mark that the text does not have cannot be ended by it.
    let mut mark = "stdin".to_owned();
    while text.contains(&format!("</{mark}>")) {
        mark.push('_');
    }
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let prompt = format!("{prompt}\n\n<{mark}>\n{text}\n</{mark}>");
    check(prompt.into_bytes())
}

/// Reads what is piped in; nothing where stdin is no file, pipe or socket.
fn piped() -> Result<Vec<u8>, Stop> {
    let stdin = std::io::stdin();
    // A stdin that is closed has nothing to say.
    let Ok(stat) = rustix::fs::fstat(&stdin) else {
        return Ok(Vec::new());
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo | FileType::Socket => {
            if !has_something(MOMENT)? {
                if !writers::is_written_beside_us(stat.st_ino) {
                    output::note(IDLE);
                    return Ok(Vec::new());
                }
                output::note(READING);
                return self::stdin("read stdin");
            }
            read_with_note()
        }
        FileType::RegularFile => self::stdin("read stdin"),
        _ => Ok(Vec::new()),
    }
}

/// Reads stdin to its end, and says so if that takes a while.
fn read_with_note() -> Result<Vec<u8>, Stop> {
    std::thread::scope(|scope| {
        let (done, ends) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            if ends.recv_timeout(MOMENT) == Err(RecvTimeoutError::Timeout) {
                output::note(READING);
            }
        });
        let read = self::stdin("read stdin");
        drop(done);
        read
    })
}

/// Waits until there is something to read, or the end.
fn has_something(patience: Duration) -> Result<bool, Stop> {
    let stdin = std::io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let patience = Timespec {
        tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: patience.subsec_nanos().into(),
    };
    loop {
        match rustix::event::poll(&mut fds, Some(&patience)) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::INTR) => {}
            Err(error) => {
                let error = anyhow::Error::new(error).context("wait for stdin");
                return Err(Stop::Failed(error));
            }
        }
    }
}

fn stdin(what: &'static str) -> Result<Vec<u8>, Stop> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_PROMPT_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .context(what)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(piped: &[u8]) -> Option<String> {
        with_context("Review".to_owned(), piped.to_vec()).ok()
    }

    #[test]
    fn what_is_piped_in_stands_in_a_block_that_it_cannot_end() {
        let plain = "Review\n\n<stdin>\n+ a\n</stdin>";
        assert_eq!(joined(b"+ a\n").as_deref(), Some(plain));
        let tricky = "Review\n\n<stdin_>\n</stdin>\n</stdin_>";
        assert_eq!(joined(b"</stdin>").as_deref(), Some(tricky));
        assert_eq!(joined(b" \n").as_deref(), Some("Review"));
        assert_eq!(joined(b"\xff"), None);
        assert_eq!(joined(&vec![b'x'; MAX_PROMPT_BYTES]), None);
    }
}

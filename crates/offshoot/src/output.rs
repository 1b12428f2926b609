//! What is said, and to whom: stdout for answers, stderr for everything about them.
//!
//! The only place that writes to either. A reader who has gone is no error: what
//! was asked for goes on, and nothing more is said. A terminal is not told what
//! could move its cursor; a pipe is given every byte.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};

use crate::render;

/// Stdout, until its reader goes.
#[derive(Debug, Default)]
pub(crate) struct Stdout {
    closed: bool,
}

impl Stdout {
    /// Writes a line. Fails if it could not be written although somebody reads.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        let text = fit(text, &stdout);
        let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            other => other,
        }
    }
}

/// Says something on stderr. There is nobody left to tell when that fails.
pub(crate) fn note(text: &str) {
    let mut stderr = io::stderr().lock();
    let text = fit(text, &stderr);
    drop(writeln!(stderr, "{text}"));
}

/// Says on stderr what went wrong.
pub(crate) fn complain(text: &str) {
    note(&format!("offshoot: {text}"));
}

/// Returns a text as its reader may have it.
fn fit<'a>(text: &'a str, reader: &impl IsTerminal) -> Cow<'a, str> {
    if reader.is_terminal() {
        Cow::Owned(render::harmless_lines(text))
    } else {
        Cow::Borrowed(text)
    }
}

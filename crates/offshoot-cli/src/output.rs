//! What is said, and to whom: stdout for answers, stderr for everything about them.
//!
//! The only place that writes to either. A reader who has gone is no error: what
//! was asked for goes on, and nothing more is said. A terminal is not told what
//! could move its cursor; a pipe is given every byte. Who asked for quiet hears of
//! errors only.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use crate::render;

/// How much is said on stderr; set once, at the start, like where a log goes.
static LOUDNESS: OnceLock<Loudness> = OnceLock::new();

/// How much is said on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loudness {
    /// Whatever is worth knowing.
    Normal,
    /// Errors.
    Quiet,
}

/// Tells whether quiet was asked for.
pub(crate) fn is_quiet() -> bool {
    LOUDNESS.get() == Some(&Loudness::Quiet)
}

/// Sets how much is said on stderr. The first word stands.
pub(crate) fn set_loudness(loudness: Loudness) {
    LOUDNESS.get_or_init(|| loudness);
}

/// Stdout, until its reader goes.
#[derive(Debug, Default)]
pub(crate) struct Stdout {
    closed: bool,
    /// Whether lines may hold colours of ours; whatever is not ours in them is harmless.
    colored: bool,
}

impl Stdout {
    /// Stdout for lines of our own making, with colours or without.
    pub(crate) fn colored(colored: bool) -> Self {
        Self {
            closed: false,
            colored,
        }
    }

    /// Writes a line. Fails if it could not be written although somebody reads.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        let text = if self.colored {
            Cow::Borrowed(text)
        } else {
            fit(text, &stdout)
        };
        let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            written => written
                .map_err(|error| io::Error::new(error.kind(), format!("write to stdout: {error}"))),
        }
    }

    /// Tells whether the reader has gone: what is only to be shown can stop.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }
}

/// Says something on stderr, unless quiet was asked for.
pub(crate) fn note(text: &str) {
    if !is_quiet() {
        say(text);
    }
}

/// Says on stderr what went wrong.
pub(crate) fn complain(text: &str) {
    say(&format!("offshoot: {text}"));
}

/// Writes a line to stderr. There is nobody left to tell when that fails.
fn say(text: &str) {
    let mut stderr = io::stderr().lock();
    let text = fit(text, &stderr);
    drop(writeln!(stderr, "{text}"));
}

/// Returns a text as its reader may have it.
fn fit<'a>(text: &'a str, reader: &impl IsTerminal) -> Cow<'a, str> {
    if reader.is_terminal() {
        Cow::Owned(render::harmless_lines(text))
    } else {
        Cow::Borrowed(text)
    }
}

//! Server-sent events, from bytes in pieces of any size.
//!
//! Follows the HTML standard's rules for lines, fields and dispatch, but for what
//! is unfinished at the end, which is not dropped. It does not reconnect, so `id`
//! and `retry` are read over: a request that was paid for is not sent again behind
//! its caller's back. How the bytes were split makes no difference to the events,
//! and the work is linear in the bytes.

#[cfg(test)]
mod tests;

/// An event, as it was dispatched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// What `event` said; empty when it said nothing.
    pub(crate) kind: String,
    /// The `data` lines, joined by newlines.
    pub(crate) data: String,
}

/// An event that is longer than the parser takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event has more than {max_bytes} bytes")]
pub(crate) struct TooLong {
    pub(crate) max_bytes: usize,
}

/// Takes bytes, gives events.
#[derive(Debug)]
pub(crate) struct Parser {
    max_bytes: usize,
    /// What came and is not read yet: `buffer[start..]`.
    buffer: Vec<u8>,
    start: usize,
    /// No line ends in `buffer[start..scanned]`.
    scanned: usize,
    /// The last line ended in CR, so a LF right after it belongs to that end.
    after_cr: bool,
    before_first_line: bool,
    kind: String,
    /// Each `data` line with a newline behind it.
    data: Vec<u8>,
    failed: bool,
}

impl Parser {
    /// A parser of a new stream; no line and no event may be longer than `max_bytes`.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            after_cr: false,
            before_first_line: true,
            kind: String::new(),
            data: Vec::new(),
            failed: false,
        }
    }

    /// Takes more bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        // What is left unread is less than the last piece, or nothing was read since.
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next event of what has come; `None` when more bytes are needed.
    ///
    /// After an error there is only that error.
    pub(crate) fn next(&mut self) -> Result<Option<Event>, TooLong> {
        while !self.failed {
            let Some((from, to)) = self.line() else {
                break;
            };
            if let Some(event) = self.take_line(from, to) {
                return Ok(Some(event));
            }
        }
        // A line that is too long already need not be waited for.
        if self.failed || self.buffer.len() - self.start > self.max_bytes {
            self.failed = true;
            let max_bytes = self.max_bytes;
            return Err(TooLong { max_bytes });
        }
        Ok(None)
    }

    /// Returns what was unfinished when the stream ended. The standard drops it; but whoever forgets
    /// the last newline has still said it.
    pub(crate) fn last(&mut self) -> Option<Event> {
        if self.failed {
            return None;
        }
        let (from, to) = (self.start, self.buffer.len());
        self.start = to;
        self.scanned = to;
        if from < to
            && let Some(event) = self.take_line(from, to)
        {
            return Some(event);
        }
        self.dispatch()
    }

    /// Finds the next whole line in the buffer, without its end, and steps over it.
    fn line(&mut self) -> Option<(usize, usize)> {
        if self.after_cr && self.start < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.start] == b'\n' {
                self.start += 1;
            }
        }
        self.scanned = self.scanned.max(self.start);
        let rest = &self.buffer[self.scanned..];
        let Some(length) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.scanned = self.buffer.len();
            return None;
        };
        let (from, to) = (self.start, self.scanned + length);
        self.after_cr = self.buffer[to] == b'\r';
        self.start = to + 1;
        self.scanned = self.start;
        Some((from, to))
    }

    /// Reads a line; an empty one dispatches what has been gathered.
    fn take_line(&mut self, from: usize, to: usize) -> Option<Event> {
        let mut line = &self.buffer[from..to];
        if line.len() > self.max_bytes {
            self.failed = true;
            return None;
        }
        if std::mem::take(&mut self.before_first_line) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" if self.data.len() + value.len() > self.max_bytes => self.failed = true,
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => self.kind = String::from_utf8_lossy(value).into_owned(),
            // `id`, `retry`, comments (an empty field) and what the standard does not know.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let kind = std::mem::take(&mut self.kind);
        // The last newline only separates; without any data there is no event.
        self.data.pop()?;
        let data = match String::from_utf8(std::mem::take(&mut self.data)) {
            Ok(data) => data,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        Some(Event { kind, data })
    }
}

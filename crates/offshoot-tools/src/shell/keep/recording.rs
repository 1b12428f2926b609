//! What a command prints: kept within bounds, and said while it comes.
//!
//! Always read as fast as it comes, so that nobody waits for a reader. What is
//! said live is bounded in rate; what is kept is bounded in size.

use std::io::{self, PipeReader, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use super::super::capture::{Capture, Excerpt};
use super::super::characters::whole_characters;
use super::super::sidecar::Sidecar;
use super::super::wire::Message;

/// The shortest time between two things said live.
const LIVE_EVERY: Duration = Duration::from_millis(20);

/// Most bytes said live at a time.
const MOST_LIVE: usize = 64 * 1024;

/// Most bytes taken at a time before something else has its turn: a full pipe.
const MOST_AT_ONCE: usize = 1024 * 1024;

pub(super) struct Recording {
    /// `None` when nobody can write any more.
    source: Option<PipeReader>,
    buffer: Vec<u8>,
    capture: Capture,
    sidecar: Sidecar,
    live: Vec<u8>,
    /// How many bytes came after `live` was full.
    skipped: u64,
    last_said: Option<Instant>,
    /// Whether the call has been answered, so that only the file goes on.
    answered: bool,
}

impl Recording {
    pub(super) fn new(source: PipeReader, scratch: Option<&str>) -> Self {
        Self {
            source: Some(source),
            buffer: vec![0; 64 * 1024],
            capture: Capture::default(),
            sidecar: Sidecar::new(scratch),
            live: Vec::new(),
            skipped: 0,
            last_said: None,
            answered: false,
        }
    }

    /// The pipe to poll.
    pub(super) fn source(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(|source| source.as_fd())
    }

    /// Tells whether somebody may still write.
    pub(super) fn is_open(&self) -> bool {
        self.source.is_some()
    }

    /// Takes one piece, if there is one, and returns how long it was.
    pub(super) fn take(&mut self) -> usize {
        let Some(source) = &mut self.source else {
            return 0;
        };
        match source.read(&mut self.buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Ok(0) | Err(_) => {
                self.source = None;
                0
            }
            Ok(length) => {
                let buffer = std::mem::take(&mut self.buffer);
                self.record(&buffer[..length]);
                self.buffer = buffer;
                length
            }
        }
    }

    /// Takes what is there; not for ever, if it is being filled as fast.
    pub(super) fn drain(&mut self) {
        let mut taken = 0;
        while taken < MOST_AT_ONCE {
            match self.take() {
                0 => return,
                length => taken += length,
            }
        }
    }

    fn record(&mut self, piece: &[u8]) {
        if self.capture.overflows_with(piece.len()) {
            self.sidecar.begin(|| self.capture.held());
        }
        self.sidecar.write(piece);
        if self.answered {
            return;
        }
        self.capture.take(piece);
        // After a gap nothing is said until the gap has been.
        let room = match self.skipped {
            0 => MOST_LIVE - self.live.len(),
            _ => 0,
        };
        let (said, skipped) = piece.split_at(piece.len().min(room));
        self.live.extend_from_slice(said);
        self.skipped += skipped.len() as u64;
        if !skipped.is_empty() {
            // The gap begins between two characters.
            let whole = whole_characters(&self.live);
            self.skipped += (self.live.len() - whole) as u64;
            self.live.truncate(whole);
        }
    }

    /// When there will be something to say.
    pub(super) fn due(&self) -> Option<Instant> {
        match (self.live.is_empty(), self.last_said) {
            (true, _) | (_, None) => None,
            (false, Some(last)) => Some(last + LIVE_EVERY),
        }
    }

    /// Says what has come, if enough time has passed.
    pub(super) fn say_what_is_due(&mut self, now: Instant, outgoing: &mut Vec<u8>) {
        if !self.live.is_empty() && self.due().is_none_or(|due| due <= now) {
            self.say_the_rest(outgoing);
            self.last_said = Some(now);
        }
    }

    /// Says what has come.
    pub(super) fn say_the_rest(&mut self, outgoing: &mut Vec<u8>) {
        if !self.live.is_empty() {
            Message::Output(std::mem::take(&mut self.live)).encode_to(outgoing);
        }
        if self.skipped > 0 {
            Message::Skipped(std::mem::take(&mut self.skipped)).encode_to(outgoing);
        }
    }

    /// From now on only the file goes on, if somebody may still write.
    pub(super) fn go_on_in_file(&mut self) {
        if self.is_open() {
            self.sidecar.begin(|| self.capture.held());
        }
        self.answered = true;
    }

    pub(super) fn total(&self) -> u64 {
        self.capture.total()
    }

    /// Writes the file to disk, because an answer is about to name it.
    pub(super) fn sync(&mut self) {
        self.sidecar.sync();
    }

    pub(super) fn path(&self) -> Option<String> {
        self.sidecar.path()
    }

    pub(super) fn is_cut(&self) -> bool {
        self.capture.excerpt().left_out > 0
    }

    /// Returns what is shown of it, with a line where something is left out.
    pub(super) fn text(&self) -> String {
        let Excerpt {
            head,
            left_out,
            tail,
        } = self.capture.excerpt();
        if left_out == 0 {
            return head;
        }
        let newline = if head.ends_with('\n') { "" } else { "\n" };
        let whereabouts = self.sidecar.whereabouts(self.total());
        format!("{head}{newline}[{left_out} bytes are left out here; {whereabouts}]\n{tail}")
    }
}

//! One call, on our side: starts a keeper and listens to it.
//!
//! Output is passed on as it comes. The command ends by itself, by its timeout or
//! by the signal; in the latter cases the keeper is told, and says how it went
//! when everything is gone. Dropping this in the middle kills.

use std::sync::Arc;
use std::time::Duration;

use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::tool::{Output, Work};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::OwnedReadHalf;
use tokio::time::{Instant, sleep_until};

use super::answer;
use super::arguments::Arguments;
use super::capture::Capture;
use super::characters::Decoder;
use super::keepers::{Keepers, Started};
use super::wire::{Message, Messages, Report};

/// How long a keeper that was told to end its command may stay silent.
pub(super) const MOST_SILENCE: Duration = Duration::from_secs(5);

/// Why we ended a command.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    TimedOut(Duration),
    Cancelled,
}

pub(super) async fn run(keepers: Arc<Keepers>, work: Work) -> Outcome {
    let Arguments { command, timeout } = match Arguments::parse(&work.arguments) {
        Ok(arguments) => arguments,
        Err(text) => return Outcome::error(ErrorKind::InvalidInput, text),
    };
    if work.cancel.is_cancelled() {
        return Outcome::error(ErrorKind::Cancelled, "bash: cancelled before it began");
    }
    let Started { messages, hold } = match keepers.start(&work.place, command, None) {
        Ok(started) => started,
        Err(text) => return Outcome::error(ErrorKind::Failed, text),
    };
    // What was started is known to the keepers; the call itself keeps nobody alive.
    drop(keepers);
    let mut listener = Listener::new(messages, work.output.clone());
    let mut stop = None;
    let mut deadline = Instant::now() + timeout;
    let end = loop {
        tokio::select! {
            biased;
            () = work.cancel.cancelled(), if stop.is_none() => {
                stop = Some(Stop::Cancelled);
                deadline = Instant::now() + MOST_SILENCE;
                hold.terminate();
            }
            () = sleep_until(deadline) => {
                if stop.is_some() {
                    break Ended::Silent;
                }
                stop = Some(Stop::TimedOut(timeout));
                deadline = Instant::now() + MOST_SILENCE;
                hold.terminate();
            }
            end = listener.next() => if let Some(end) = end {
                break end;
            },
        }
    };
    match end {
        Ended::Refused(text) => {
            hold.release();
            Outcome::error(ErrorKind::Failed, format!("bash: {text}"))
        }
        Ended::Reported(report) => {
            hold.release();
            answer::reported(*report, stop)
        }
        Ended::Silent => {
            hold.gone().await;
            answer::lost(&listener.seen, stop)
        }
    }
}

/// How a keeper's part in a call ends.
pub(super) enum Ended {
    Reported(Box<Report>),
    Refused(String),
    /// It was killed, or does not answer.
    Silent,
}

/// Hears a keeper out.
pub(super) struct Listener {
    socket: OwnedReadHalf,
    buffer: Vec<u8>,
    messages: Messages,
    decoder: Decoder,
    output: Output,
    /// What was heard, for the case that the keeper does not live to sum it up.
    seen: Capture,
}

impl Listener {
    pub(super) fn new(socket: OwnedReadHalf, output: Output) -> Self {
        Self {
            socket,
            buffer: vec![0; 64 * 1024],
            messages: Messages::default(),
            decoder: Decoder::default(),
            output,
            seen: Capture::default(),
        }
    }

    /// Takes what has arrived; `None` if more is to come. Dropped half way, it has taken nothing.
    pub(super) async fn next(&mut self) -> Option<Ended> {
        let length = match self.socket.read(&mut self.buffer).await {
            Ok(0) | Err(_) => return Some(Ended::Silent),
            Ok(length) => length,
        };
        self.messages.push(&self.buffer[..length]);
        loop {
            match self.messages.next() {
                Ok(Some(Message::Output(bytes))) => {
                    self.seen.take(&bytes);
                    let text = self.decoder.push(&bytes);
                    self.say(&text);
                }
                Ok(Some(Message::Skipped(count))) => {
                    let broken_off = self.decoder.finish();
                    self.say(&format!("{broken_off}\n[{count} bytes are not shown]\n"));
                }
                Ok(Some(Message::Refused(text))) => return Some(Ended::Refused(text)),
                Ok(Some(Message::Ended(report))) => {
                    let broken_off = self.decoder.finish();
                    self.say(&broken_off);
                    return Some(Ended::Reported(Box::new(report)));
                }
                Ok(None) => return None,
                Err(_) => return Some(Ended::Silent),
            }
        }
    }

    fn say(&self, text: &str) {
        if !text.is_empty() {
            self.output.say(text);
        }
    }
}

//! Being asked to stop: Ctrl-C, SIGTERM, and a terminal that is closed.
//!
//! Only hears; what follows from a signal is decided by whoever waits for it.
//! Who was started by `nohup` goes on without a terminal.

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Stop;

/// Who asks the program to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// A person, by Ctrl-C.
    Interrupt,
    /// The system, by SIGTERM.
    Terminate,
    /// A terminal that is closed, by SIGHUP: it comes twice where the shell hands it on.
    HangUp,
}

/// Hears signals from when it is made on.
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` where whoever started us had it ignored.
    hangup: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    pub(crate) fn listen() -> Result<Self, Stop> {
        let listen = |kind| {
            signal(kind)
                .context("listen for signals")
                .map_err(Stop::Failed)
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: if ignores_hangup() {
                None
            } else {
                Some(listen(SignalKind::hangup())?)
            },
        })
    }

    /// Waits for the next signal. Loses none when dropped.
    pub(crate) async fn next(&mut self) -> Signal {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(()) = self.terminate.recv() => Signal::Terminate,
            Some(()) = hangup => Signal::HangUp,
            Some(()) = self.interrupt.recv() => Signal::Interrupt,
            else => std::future::pending().await,
        }
    }
}

/// Tells whether SIGHUP is ignored. Where the system does not say, it is not.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The first signal has the lowest bit, and is this one.
    ignored.is_some_and(|mask| mask & 1 == 1)
}

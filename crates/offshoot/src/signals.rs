//! Being asked to stop: Ctrl-C and SIGTERM.
//!
//! Only hears; what follows from a signal is decided by whoever waits for it.

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
}

/// Hears signals from when it is made on.
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
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
        })
    }

    /// Waits for the next signal. Loses none when dropped.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            biased;
            Some(()) = self.terminate.recv() => Signal::Terminate,
            Some(()) = self.interrupt.recv() => Signal::Interrupt,
            else => std::future::pending().await,
        }
    }
}

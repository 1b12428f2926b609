//! One command that leaves nothing running: that of a hook.
//!
//! It is told something on its standard input; what it says and what it complains
//! of are kept apart. When it has ended, or the signal fires, whatever it started
//! is killed, and this returns when that is gone. Dropping it kills as well.

use offshoot_types::cancel::Cancel;
use offshoot_types::tool::{Output, Place};
use tokio::time::{Instant, sleep_until};

use super::call::{Ended, Listener, MOST_SILENCE};
use super::environment::Environment;
use super::keepers::{Keeper, Keepers, Started};
use super::wire::{End, Report};

pub(crate) use super::wire::{Told, Until};

/// Runs commands that leave nothing behind. Dropping it ends those that run.
pub(crate) struct Once(Keepers);

/// How a command ended, and what it printed.
#[derive(Debug)]
pub(crate) struct Printed {
    /// `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Whether it said more than is kept.
    pub(crate) cut: bool,
    /// Whether something was left that could have said more.
    pub(crate) open: bool,
}

impl Once {
    pub(crate) fn new(keeper: Keeper, environment: Environment) -> Self {
        Self(Keepers::new(keeper, environment))
    }

    /// Runs a command in a folder; says what went wrong if it could not be run to its end.
    pub(crate) async fn run(
        &self,
        folder: &str,
        command: String,
        told: Told,
        cancel: &Cancel,
    ) -> Result<Printed, String> {
        let Started { messages, hold } = self.0.start(&Place::new(folder), command, Some(told))?;
        let mut listener = Listener::new(messages, Output::unheard());
        let mut deadline = None;
        let end = loop {
            let late = deadline.unwrap_or_else(Instant::now);
            tokio::select! {
                biased;
                () = cancel.cancelled(), if deadline.is_none() => {
                    deadline = Some(Instant::now() + MOST_SILENCE);
                    hold.terminate();
                }
                () = sleep_until(late), if deadline.is_some() => break Ended::Silent,
                end = listener.next() => if let Some(end) = end {
                    break end;
                },
            }
        };
        hold.kill().await;
        match end {
            Ended::Reported(report) if report.ordered => Err("it was ended".to_owned()),
            Ended::Reported(report) => Ok(printed(*report)),
            Ended::Refused(why) => Err(why),
            Ended::Silent => Err("the process that keeps it was killed".to_owned()),
        }
    }
}

impl Drop for Once {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn printed(report: Report) -> Printed {
    Printed {
        code: match report.end {
            Some(End::Exit(code)) => Some(code),
            Some(End::Signal(_)) | None => None,
        },
        stdout: report.text,
        stderr: report.complaints,
        cut: report.truncated,
        open: report.output_open,
    }
}

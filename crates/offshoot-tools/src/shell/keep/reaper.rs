//! The thread that waits for ended processes.
//!
//! Every process the command leaves without a parent becomes the keeper's, so
//! waiting for any child leaves no zombie, and having none to wait for means that
//! nothing at all is left. A thread because the kernel tells of this only to who
//! waits; what it learns goes through a pipe, which can be polled.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc;
use std::thread;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus};

use super::super::wire::End;

/// What the thread has learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The shell has ended; what it started may run on.
    ShellEnded(End),
    /// Nothing is left. The last news.
    NobodyLeft,
}

/// The keeper's end.
pub(super) struct Reaper {
    news: PipeReader,
}

/// A thread that does not know yet whom to wait for.
pub(super) struct Waiting {
    shell: mpsc::SyncSender<Pid>,
    reaper: Reaper,
}

impl Waiting {
    /// Starts the thread, before there is a child: afterwards it might fail.
    pub(super) fn new() -> io::Result<Self> {
        let (news, news_out) = io::pipe()?;
        rustix::fs::fcntl_setfl(&news, OFlags::NONBLOCK)?;
        let (shell, shell_in) = mpsc::sync_channel(1);
        thread::Builder::new().spawn(move || {
            if let Ok(shell) = shell_in.recv() {
                reap(shell, news_out);
            }
        })?;
        let reaper = Reaper { news };
        Ok(Self { shell, reaper })
    }

    /// Has it wait for the shell and whatever else comes.
    pub(super) fn wait_for(self, shell: Pid) -> Reaper {
        // The thread waits for nothing else, so it is there.
        self.shell.send(shell).ok();
        self.reaper
    }
}

impl AsFd for Reaper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.news.as_fd()
    }
}

/// News are of one size, so a pipe keeps them apart.
const SIZE: usize = 5;

impl Reaper {
    /// Returns the next news, if there is any.
    pub(super) fn news(&mut self) -> Option<News> {
        let mut bytes = [0; SIZE];
        match self.news.read(&mut bytes) {
            Ok(SIZE) => {
                let [kind, number @ ..] = bytes;
                let number = i32::from_le_bytes(number);
                Some(match kind {
                    b'e' => News::ShellEnded(End::Exit(number)),
                    b's' => News::ShellEnded(End::Signal(number)),
                    _ => News::NobodyLeft,
                })
            }
            Ok(_) | Err(_) => None,
        }
    }
}

fn reap(shell: Pid, mut news: PipeWriter) {
    let mut tell = |kind, number: i32| {
        let [a, b, c, d] = number.to_le_bytes();
        // The keeper listens as long as it lives.
        news.write_all(&[kind, a, b, c, d]).ok();
    };
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == shell => match end(status) {
                End::Exit(code) => tell(b'e', code),
                End::Signal(signal) => tell(b's', signal),
            },
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return tell(b'n', 0),
        }
    }
}

fn end(status: WaitStatus) -> End {
    match status.exit_status() {
        Some(code) => End::Exit(code),
        None => End::Signal(status.terminating_signal().unwrap_or_default()),
    }
}

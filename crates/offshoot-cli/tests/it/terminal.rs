//! The binary on a terminal, and what a person sees and types there.
//!
//! What it writes is drawn by an emulator. Waiting is for something that the screen
//! shows or for the end of the process, and given up after a minute.

#![expect(
    clippy::disallowed_methods,
    reason = "a terminal is read by a thread of its own, and what never comes is given up"
)]

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::stage::Stage;

/// How long something may take before the test says that it never comes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Lines above the window that the emulator keeps.
const KEPT: usize = 10_000;

/// The binary on a terminal.
pub(crate) struct Terminal {
    pub(crate) child: Child,
    master: File,
    screen: Arc<Mutex<vt100::Parser>>,
    written: Arc<AtomicUsize>,
}

impl Terminal {
    /// Starts the binary on a terminal of so many columns and rows.
    pub(crate) fn start(stage: &Stage, size: (u16, u16), args: &[&str]) -> Self {
        Self::run(stage.command(args).env("TERM", "xterm"), size)
    }

    /// Starts the binary on a terminal into which keys were typed before there was anybody to ask.
    pub(crate) fn typed_ahead(stage: &Stage, size: (u16, u16), args: &[&str], keys: &str) -> Self {
        // It begins when the first line is there, and the second waits in the terminal.
        let mut terminal = Self::script(stage, size, "read go; exec \"$0\" \"$@\"", args);
        terminal.press(&format!("go\r{keys}"));
        terminal
    }

    /// Starts a shell script that has the terminal as its controlling terminal; `$0` is the binary.
    pub(crate) fn script(stage: &Stage, size: (u16, u16), script: &str, args: &[&str]) -> Self {
        let known = stage.command(args);
        let mut shell = Command::new("setsid");
        let settings = known.get_envs();
        shell
            .envs(settings.filter_map(|(name, value)| Some((name, value?))))
            .current_dir(stage.path())
            .args(["--ctty", "sh", "-c", script])
            .arg(known.get_program())
            .args(args);
        Self::run(shell.env("TERM", "xterm"), size)
    }

    /// Starts a command on a terminal of so many columns and rows.
    pub(crate) fn run(command: &mut Command, (columns, rows): (u16, u16)) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let slave = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name)
            .unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let child = command
            .env("LANG", "C.UTF-8")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let master = File::from(master);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, KEPT)));
        let (mut reader, drawn) = (master.try_clone().unwrap(), screen.clone());
        let written = Arc::new(AtomicUsize::new(0));
        let counted = written.clone();
        // Ends when nobody has the terminal any more.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut bytes) {
                counted.fetch_add(length, Ordering::Relaxed);
                drawn.lock().unwrap().process(&bytes[..length]);
            }
        });
        Self {
            child,
            master,
            screen,
            written,
        }
    }

    /// Returns how many bytes were written to the terminal.
    pub(crate) fn written(&self) -> usize {
        self.written.load(Ordering::Relaxed)
    }

    /// Waits until a conversation takes a message: keys are dropped for a moment after an answer.
    #[track_caller]
    pub(crate) fn until_prompt(&self) {
        self.wait_for("a line for a message", |text| {
            let last = text.trim_end().lines().last().unwrap_or_default();
            last.trim_end().ends_with('>')
        });
    }

    /// Returns what the window shows.
    pub(crate) fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Waits until the screen shows all of these.
    #[track_caller]
    pub(crate) fn until(&self, wanted: &[&str]) {
        let shows = |text: &str| wanted.iter().all(|wanted| text.contains(wanted));
        self.wait_for(&format!("{wanted:?}"), shows);
    }

    /// Waits until what the screen shows is as it should be.
    #[track_caller]
    pub(crate) fn wait_for(&self, what: &str, is_there: impl Fn(&str) -> bool) {
        let began = Instant::now();
        while !is_there(&self.text()) {
            let text = self.text();
            assert!(began.elapsed() < PATIENCE, "{what} in\n{text}");
            std::thread::yield_now();
        }
    }

    /// Waits until the process has ended; returns its code.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            let text = self.text();
            assert!(began.elapsed() < PATIENCE, "it hangs:\n{text}");
            std::thread::yield_now();
        }
    }

    /// Returns how many lines have left the window at its top.
    pub(crate) fn scrolled(&self) -> usize {
        let mut parser = self.screen.lock().unwrap();
        let screen = parser.screen_mut();
        screen.set_scrollback(usize::MAX);
        let scrolled = screen.scrollback();
        screen.set_scrollback(0);
        scrolled
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Types a line.
    pub(crate) fn enter(&mut self, text: &str) {
        self.press(text);
        self.press("\r");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

//! A folder with a script in it, and the binary to run there.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;
use tempfile::TempDir;

/// How long a process may take before the test says that it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a script in it, and a data folder.
pub(crate) struct Stage {
    folder: TempDir,
}

/// A process that has ended.
#[derive(Debug)]
pub(crate) struct Done {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A process that runs with `--json`, whose events are read one by one.
pub(crate) struct Live {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) events: Vec<Value>,
}

impl Stage {
    pub(crate) fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("script.yaml"), script).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// The binary, in this folder, with this data folder.
    pub(crate) fn command<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_offshoot"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| !is_setting(name)))
            .env("HOME", self.path())
            .env("OFFSHOOT_DATA_DIR", self.data())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the binary to its end.
    #[track_caller]
    pub(crate) fn offshoot<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Done {
        wait(self.command(args).spawn().unwrap())
    }

    /// Runs the binary with something on stdin.
    #[track_caller]
    pub(crate) fn offshoot_reading(&self, args: &[&str], input: &[u8]) -> Done {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // The binary stops reading over its limit, and then the pipe breaks.
        drop(stdin.write_all(input));
        drop(stdin);
        wait(child)
    }

    /// Runs the binary to its end with stdout on a terminal of this width; returns what it showed.
    #[track_caller]
    pub(crate) fn on_terminal(&self, columns: u16, args: &[&str]) -> String {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let screen = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name)
            .unwrap();
        let mut child = self.command(args).stdout(screen).spawn().unwrap();
        // The reader learns of the end by an error: nobody has the terminal any more.
        let mut shown = Vec::new();
        drop(File::from(master).read_to_end(&mut shown));
        let mut stderr = String::new();
        let mut stream = child.stderr.take().unwrap();
        stream.read_to_string(&mut stderr).unwrap();
        assert!(child.wait().unwrap().success(), "{stderr}");
        String::from_utf8(shown).unwrap().replace("\r\n", "\n")
    }

    /// Runs the binary to its end with nobody who reads its stdout.
    #[track_caller]
    pub(crate) fn unread(&self, args: &[&str]) -> Done {
        let mut child = self.command(args).spawn().unwrap();
        drop(child.stdout.take());
        wait_for(&mut child, std::io::empty())
    }

    /// Writes a file into the folder, and the folders above it.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Has the user trust this folder, whatever comes into it.
    pub(crate) fn trust(&self) {
        let path = self.path().canonicalize().unwrap();
        let list = format!("trusted_projects = [{path:?}]\n");
        self.write(".config/offshoot/offshoot.toml", &list);
    }

    /// Asks `build` something of the script.
    #[track_caller]
    pub(crate) fn run(&self, prompt: &str) -> Done {
        self.offshoot(["run", "--model", "scripted/script.yaml", prompt])
    }

    /// Asks `build` something of the script, in a session of this id, and returns while it works.
    pub(crate) fn start(&self, session: &str, prompt: &str) -> Live {
        self.live(&[
            "run",
            "--model",
            "scripted/script.yaml",
            "--json",
            "--session",
            session,
            prompt,
        ])
    }

    /// Starts the binary and returns while it works.
    pub(crate) fn live(&self, args: &[&str]) -> Live {
        let mut child = self.command(args).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Live {
            child,
            stdout,
            events: Vec::new(),
        }
    }

    /// The events of a session, as `show` prints them.
    #[track_caller]
    pub(crate) fn show(&self, session: &str) -> Vec<Value> {
        self.offshoot(["sessions", "show", "--json", session])
            .succeeded()
            .events()
    }

    /// The word that `sessions list` has for a session.
    #[track_caller]
    pub(crate) fn status(&self, session: &str) -> String {
        let listed = self.offshoot(["sessions", "list", "--json"]).succeeded();
        let events = listed.events();
        let row = events.iter().find(|row| row["sessionId"] == session);
        row.unwrap_or_else(|| panic!("{session} is not listed: {events:?}"))["status"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

impl Done {
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        self.exited(0)
    }

    #[track_caller]
    pub(crate) fn exited(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Fails unless there was exactly one line of complaint, and nothing on stdout.
    #[track_caller]
    pub(crate) fn complained(self, code: i32, about: &str) {
        let done = self.exited(code);
        assert_eq!(done.stdout, "", "{done:#?}");
        assert_eq!(done.stderr.lines().count(), 1, "{done:#?}");
        assert!(done.stderr.starts_with("offshoot: "), "{done:#?}");
        assert!(done.stderr.contains(about), "{done:#?}");
    }

    /// Stderr without the end of a conversation that goes on, and without what agents used.
    pub(crate) fn remarks(&self) -> String {
        let is_usual = |line: &&str| {
            line.ends_with(", with all agents") || line.starts_with("> ") || line.starts_with("| ")
        };
        let lines = self.stderr.lines().filter(|line| !is_usual(line));
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// Stdout, line by line, as JSON.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        parse(&self.stdout)
    }
}

impl Live {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Reads events until one of this type has come.
    #[track_caller]
    pub(crate) fn until(&mut self, kind: &str) -> &mut Self {
        loop {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line).unwrap();
            assert!(read > 0, "it ended before {kind}: {:#?}", self.events);
            self.events.extend(parse(&line));
            if self.events.last().unwrap()["type"] == kind {
                return self;
            }
        }
    }

    /// Ends it at once, as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends it a signal by name, such as `TERM`.
    #[track_caller]
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &self.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Waits for its end; events that were read before are part of stdout no more.
    #[track_caller]
    pub(crate) fn wait(mut self) -> (Done, Vec<Value>) {
        let done = wait_for(&mut self.child, self.stdout);
        self.events.extend(done.events());
        (done, self.events)
    }
}

/// Tells whether a variable of whoever runs the tests would change what they see.
fn is_setting(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["OFFSHOOT_", "OPENAI_", "XDG_", "NO_COLOR"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Waits for a process to end.
#[track_caller]
pub(crate) fn wait(mut child: Child) -> Done {
    let stdout = child.stdout.take().unwrap();
    wait_for(&mut child, stdout)
}

#[track_caller]
fn wait_for(child: &mut Child, stdout: impl Read + Send) -> Done {
    let stderr = child.stderr.take().unwrap();
    let said = thread::scope(|scope| {
        let (tx, rx) = mpsc::channel();
        let also = tx.clone();
        scope.spawn(move || tx.send((0, read(stdout))));
        scope.spawn(move || also.send((1, read(stderr))));
        let mut said = [const { String::new() }; 2];
        for _ in 0..2 {
            match rx.recv_timeout(PATIENCE) {
                Ok((which, text)) => said[which] = text,
                Err(_) => {
                    child.kill().unwrap();
                    panic!("it hangs");
                }
            }
        }
        said
    });
    let [stdout, stderr] = said;
    Done {
        code: child.wait().unwrap().code(),
        stdout,
        stderr,
    }
}

fn read(mut stream: impl Read) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[track_caller]
fn parse(lines: &str) -> Vec<Value> {
    let parse = |line: &str| {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in: {line}"))
    };
    lines.lines().map(parse).collect()
}

/// The events of a type.
pub(crate) fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| event["type"] == kind)
        .collect()
}

//! What a person sees at a terminal, kept as pictures.
//!
//! The binary runs on a real terminal; what it writes is drawn by an emulator, and
//! the screen is held against a file in `screens/`. Ids, times and tokens are
//! left out: they differ. `OFFSHOOT_DRAW=1` draws the files anew.

#![expect(
    clippy::disallowed_methods,
    reason = "a terminal is read by a thread of its own, and a picture that never comes is given up"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::stage::Stage;

/// A root with a child that asks, a child of it that asks, and one that never ends.
const FAMILY: &str = r##"
agents:
  - {name: lead, mode: primary, prompt: Lead.}
  - {name: helper, mode: all, prompt: Help.}
replies:
  - depth: 0
    after_tools: false
    prompt: go
    say: I hand this on.
    call:
      - {tool: task, arguments: {subagent_type: helper, prompt: ask below}}
      - {tool: task, arguments: {subagent_type: helper, prompt: hang}}
  - {prompt: hang, say: thinking, fault: hang}
  - depth: 1
    after_tools: false
    call: [{tool: task, arguments: {subagent_type: helper, prompt: ask}}]
  - depth: 2
    after_tools: false
    call: [{tool: bash, arguments: {command: "echo from below"}}]
  - {depth: 2, say: "it said {output}"}
  - {depth: 0, prompt: read, say: "# Title\n\nSome *words* and `code`:\n\n- one\n- two\n\n| a | b |\n|---|--:|\n| x | 1 |\n"}
  - {say: "{output}"}
"##;

/// The binary on a terminal.
struct Terminal {
    child: Child,
    master: File,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    fn start(stage: &Stage, (columns, rows): (u16, u16), args: &[&str]) -> Self {
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
        let mut command = stage.command(args);
        command.env("LANG", "C.UTF-8").env("TERM", "xterm");
        let child = command
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let master = File::from(master);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let (mut reader, drawn) = (master.try_clone().unwrap(), screen.clone());
        // Ends when nobody has the terminal any more.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut bytes) {
                drawn.lock().unwrap().process(&bytes[..length]);
            }
        });
        Self {
            child,
            master,
            screen,
        }
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Waits until the screen shows all of these.
    #[track_caller]
    fn until(&self, wanted: &[&str]) {
        let began = Instant::now();
        while !wanted.iter().all(|wanted| self.text().contains(wanted)) {
            let text = self.text();
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{wanted:?} in\n{text}"
            );
            std::thread::yield_now();
        }
    }

    fn enter(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
        self.master.write_all(b"\r").unwrap();
    }

    /// Holds the screen against its picture, which may take a moment to be painted.
    #[track_caller]
    fn check(&self, name: &str) {
        let wanted = if is_drawing() {
            None
        } else {
            Some(picture(name))
        };
        let patience = Duration::from_secs(if is_drawing() { 1 } else { 20 });
        let began = Instant::now();
        while began.elapsed() < patience && wanted.as_ref() != Some(&drawn(&self.text())) {
            std::thread::yield_now();
        }
        check(name, &self.text());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[track_caller]
fn check(name: &str, text: &str) {
    let drawn = drawn(text);
    if is_drawing() {
        fs::write(path(name), &drawn).unwrap();
    }
    assert_eq!(drawn, picture(name), "{name} looks different:\n{drawn}");
}

fn is_drawing() -> bool {
    std::env::var_os("OFFSHOOT_DRAW").is_some()
}

fn path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/screens");
    folder.join(format!("{name}.txt"))
}

fn picture(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_default()
}

fn drawn(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(settled).collect();
    lines.join("\n").trim_end().to_owned() + "\n"
}

/// Leaves out of a line what differs from run to run.
fn settled(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut words: Vec<String> = Vec::new();
    for word in line[indent..].split(' ') {
        let hex = word.len() >= 8 && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        let number = word.trim_end_matches(['k', 'M', 's', 'm', ',']);
        let counts = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
        words.push(match (hex, counts) {
            (true, _) => "ID".to_owned(),
            (false, true) => "N".to_owned(),
            (false, false) => word.to_owned(),
        });
    }
    // The gap before what stands on the right depends on how wide that is.
    let mut line = words.join(" ");
    while line.contains("   ") {
        line = line.replace("   ", "  ");
    }
    format!("{}{}", " ".repeat(indent), line.trim_end())
}

/// A conversation with the root.
const CHAT: [&str; 5] = ["chat", "--agent", "lead", "--model", "scripted/script.yaml"];

#[test]
fn a_live_tree_shows_who_does_what() {
    let stage = Stage::new(FAMILY);
    let args = [
        "run",
        "--agent",
        "lead",
        "--model",
        "scripted/script.yaml",
        "--yes",
        "go",
    ];
    let terminal = Terminal::start(&stage, (80, 24), &args);
    terminal.until(&["helper", "completed", "writes", "waits for 1 agent"]);
    terminal.check("live");
}

#[test]
fn a_grandchild_asks_in_the_chat_and_is_answered() {
    let stage = Stage::new(FAMILY);
    let mut terminal = Terminal::start(&stage, (80, 24), &CHAT);
    terminal.until(&["> "]);
    terminal.enter("go");
    terminal.until(&["allow?", "writes"]);
    terminal.check("ask");
    terminal.enter("perhaps");
    terminal.until(&["y, s or n, please"]);
    terminal.enter("y");
    terminal.until(&["completed", "waits for 1 agent"]);
    terminal.master.write_all(b"\x03").unwrap();
    terminal.until(&["cancelled by the user"]);
    terminal.enter("read");
    terminal.until(&["Title", "x  1"]);
    terminal.check("answer");
    terminal.master.write_all(b"\x04").unwrap();
    assert!(terminal.child.wait().unwrap().success());
}

#[test]
fn twenty_columns_are_enough_for_an_ask() {
    let stage = Stage::new(FAMILY);
    let mut terminal = Terminal::start(&stage, (20, 30), &CHAT);
    terminal.until(&["> "]);
    terminal.enter("go");
    terminal.until(&["allow?", "writes"]);
    terminal.check("narrow");
}

#[test]
fn a_tree_of_agents_is_drawn() {
    let stage = Stage::new(&FAMILY.replace(", fault: hang", ""));
    let args = [
        "run",
        "--agent",
        "lead",
        "--model",
        "scripted/script.yaml",
        "--session",
        "s",
    ];
    stage
        .offshoot([&args[..], &["--yes", "go"]].concat())
        .succeeded();
    let done = stage.offshoot(["sessions", "tree", "s"]).succeeded();
    check("tree", &done.stdout);
}

//! A folder, a data folder and the processes of one round.
//!
//! Every process of a round carries the round's mark in its environment, so that
//! none can be left behind unseen. Waiting is for the end of a process, by its
//! file descriptor; output goes to files, which stay with a round that failed.

use std::fmt;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::Value;
use tempfile::TempDir;

use crate::cut::Cut;
use crate::model::Server;
use crate::plan::{self, Dice, Plan};

/// How long a process may take before the round says that it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const MODEL: &str = "openai-chat/torture";

/// The variable that marks the processes of a round.
const MARK: &str = "TORTURE_ROUND";

/// A process that has ended.
pub(crate) struct Done {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
    /// What strace wrote; empty without it.
    pub(crate) trace: String,
}

impl fmt::Debug for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |text: &str| {
            let skipped = text.chars().count().saturating_sub(300);
            text.chars().skip(skipped).collect::<String>()
        };
        let (out, err) = (end(&self.stdout), end(&self.stderr));
        write!(f, "code {:?}, stdout …{out:?}, stderr …{err:?}", self.code)
    }
}

/// A process that runs.
pub(crate) struct Running {
    child: Child,
    label: String,
    began: Instant,
    cut: Cut,
    /// The session and the key of its prompt, if it brings one.
    prompt: Option<(String, String)>,
}

/// One round's folder and its processes.
pub(crate) struct World<'a> {
    pub(crate) round: String,
    pub(crate) dice: Dice,
    pub(crate) server: &'a Server,
    folder: TempDir,
    started: usize,
    prompts: usize,
    is_mounted: bool,
    /// Prompts, as session and key, that a process has reported as taken.
    pub(crate) acknowledged: Vec<(String, String)>,
    /// Sessions whose removal a process has reported.
    pub(crate) removed: Vec<String>,
    /// The session whose removal was cut off: it may be there or not.
    pub(crate) removing: Option<String>,
    /// How the operation that was cut off ended.
    pub(crate) cut_process: Option<Done>,
}

impl<'a> World<'a> {
    pub(crate) fn new(server: &'a Server, round: String, seed: u64) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("offshoot-torture-")
            .tempdir()
            .expect("make a folder");
        for name in ["work", "home", "out"] {
            fs::create_dir(folder.path().join(name)).expect("make a folder");
        }
        let bodies = File::create(folder.path().join("requests.jsonl")).expect("make a file");
        server.begin(&round, bodies);
        Self {
            round,
            dice: Dice::new(seed),
            server,
            folder,
            started: 0,
            prompts: 0,
            is_mounted: false,
            acknowledged: Vec::new(),
            removed: Vec::new(),
            removing: None,
            cut_process: None,
        }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.data().join("offshoot.db")
    }

    /// Keeps the folder and returns where it is.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.unmount();
        self.folder.disable_cleanup(true);
        self.folder.path().to_owned()
    }

    /// Returns the id of one of the round's sessions.
    pub(crate) fn session(&self, name: &str) -> String {
        format!("{}{name}", self.round)
    }

    /// Returns a new key for a prompt to an agent.
    pub(crate) fn key(&mut self, agent: &str) -> String {
        self.prompts += 1;
        format!("{agent}.{}", self.prompts)
    }

    /// Returns the arguments that prompt a session with a tree of agents, and its key.
    pub(crate) fn tree_prompt(&mut self, session: &str) -> (Vec<String>, String) {
        let key = self.key(session);
        let dice = &mut self.dice;
        self.server
            .plan(&self.round, |plans| plan::tree(&key, dice, plans));
        (run_arguments(session, &key, "--yes"), key)
    }

    /// Returns the arguments that prompt a session with this plan, and its key.
    pub(crate) fn plan_prompt(&mut self, session: &str, plan: Plan) -> (Vec<String>, String) {
        let key = self.key(session);
        self.server
            .plan(&self.round, |plans| drop(plans.insert(key.clone(), plan)));
        (run_arguments(session, &key, "--wait-for-answers"), key)
    }

    /// Runs a command to its end.
    pub(crate) fn run(&mut self, arguments: &[&str]) -> Result<Done, String> {
        let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
        let running = self.start(&arguments, &Cut::None, None)?;
        self.wait(running)
    }

    /// Runs a command that has to succeed.
    pub(crate) fn succeed(&mut self, arguments: &[&str]) -> Result<Done, String> {
        let done = self.run(arguments)?;
        match done.code {
            Some(0) => Ok(done),
            _ => Err(format!("{arguments:?} failed: {done:?}")),
        }
    }

    /// Prompts a session with a tree of agents and waits for its end.
    pub(crate) fn prompted(&mut self, session: &str) -> Result<(), String> {
        let (arguments, key) = self.tree_prompt(session);
        let running = self.start(&arguments, &Cut::None, Some((session.to_owned(), key)))?;
        let done = self.wait(running)?;
        match done.code {
            Some(0) => Ok(()),
            _ => Err(format!("an undisturbed prompt failed: {done:?}")),
        }
    }

    /// Starts a command, under strace if the cut needs that.
    pub(crate) fn start(
        &mut self,
        arguments: &[String],
        cut: &Cut,
        prompt: Option<(String, String)>,
    ) -> Result<Running, String> {
        if let Cut::Full(room) = cut {
            self.mount(*room)?;
        }
        self.started += 1;
        let label = format!("{:02}-{}", self.started, arguments[..2].join("-"));
        let program = env!("CARGO_BIN_EXE_offshoot");
        let mut command = match cut.injection() {
            Some(injection) => {
                let mut command = Command::new("strace");
                // Threads are traced; keepers and the commands that agents run are not.
                command.args(["-f", "-b", "execve", "-qq", "-o"]);
                command.arg(self.output(&label, "trace"));
                command.args(injection).arg("--").arg(program);
                command
            }
            None => Command::new(program),
        };
        let file = |kind: &str| File::create(self.output(&label, kind)).expect("make a file");
        let keeps = |name: &str| {
            !["OFFSHOOT_", "OPENAI_", "XDG_"]
                .iter()
                .any(|own| name.starts_with(own))
        };
        let child = command
            .args(arguments)
            .current_dir(self.folder.path().join("work"))
            .env_clear()
            .envs(std::env::vars().filter(|(name, _)| keeps(name)))
            .env("HOME", self.folder.path().join("home"))
            .env("OFFSHOOT_DATA_DIR", self.data())
            .env("OPENAI_BASE_URL", self.server.address(&self.round))
            .env(MARK, self.folder.path())
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .map_err(|error| format!("start {command:?}: {error}"))?;
        Ok(Running {
            child,
            label,
            began: Instant::now(),
            cut: cut.clone(),
            prompt,
        })
    }

    /// Waits for a process, kills it if that is its cut, and notes which prompt it has acknowledged.
    pub(crate) fn wait(&mut self, mut running: Running) -> Result<Done, String> {
        let delay = match running.cut {
            Cut::After(delay) => delay.saturating_sub(running.began.elapsed()),
            _ => PATIENCE,
        };
        let pid = Pid::from_child(&running.child);
        let ended = has_ended(pid, delay);
        if !ended {
            running.child.kill().map_err(|error| error.to_string())?;
        }
        let status = running.child.wait().map_err(|error| error.to_string())?;
        if matches!(running.cut, Cut::Full(_)) {
            self.give_room()?;
        }
        let read = |kind: &str| fs::read(self.output(&running.label, kind)).unwrap_or_default();
        let [stdout, stderr, trace] = ["stdout", "stderr", "trace"]
            .map(|kind| String::from_utf8_lossy(&read(kind)).into_owned());
        let done = Done {
            code: status.code().filter(|_| status.signal().is_none()),
            stdout,
            stderr,
            took: running.began.elapsed(),
            trace,
        };
        if !ended && !matches!(running.cut, Cut::After(_)) {
            self.end_all();
            return Err(format!("{} hangs: {done:?}", running.label));
        }
        if let Some((session, key)) = running.prompt {
            // The event is printed once the prompt is stored; success says that it is.
            let prompt = format!("plan({key})");
            let is_taken = |line: &str| {
                let event: Value = serde_json::from_str(line).unwrap_or_default();
                event["type"] == "user.message" && event["data"]["content"] == *prompt
            };
            if done.code == Some(0) || done.stdout.lines().any(is_taken) {
                self.acknowledged.push((session, key));
            }
        }
        Ok(done)
    }

    /// Waits for a process for so long and then kills it.
    pub(crate) fn kill_after(
        &mut self,
        mut running: Running,
        delay: Duration,
    ) -> Result<Done, String> {
        running.cut = Cut::After(running.began.elapsed() + delay);
        self.wait(running)
    }

    /// Fails if a process of the round does not end by itself soon.
    pub(crate) fn none_left(&self) -> Result<(), String> {
        for (pid, line) in self.processes() {
            if !has_ended(pid, Duration::from_secs(10)) {
                self.end_all();
                return Err(format!("process {} is left: {line}", pid.as_raw_nonzero()));
            }
        }
        Ok(())
    }

    /// Ends every process of the round.
    fn end_all(&self) {
        for (pid, _) in self.processes() {
            // An error means that it has ended meanwhile.
            kill_process(pid, Signal::KILL).ok();
        }
    }

    /// Finds the processes that carry the round's mark, with their command lines.
    fn processes(&self) -> Vec<(Pid, String)> {
        let mark = format!("{MARK}={}\0", self.folder.path().display());
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("read /proc").flatten() {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let is_ours = environment
                .windows(mark.len())
                .any(|part| part == mark.as_bytes());
            let pid = entry
                .file_name()
                .to_string_lossy()
                .parse()
                .ok()
                .and_then(Pid::from_raw);
            if let Some(pid) = pid.filter(|_| is_ours) {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                found.push((pid, String::from_utf8_lossy(&line).replace('\0', " ")));
            }
        }
        found
    }

    fn output(&self, label: &str, kind: &str) -> PathBuf {
        self.folder
            .path()
            .join("out")
            .join(format!("{label}.{kind}"))
    }

    /// Moves the data folder to a file system of this size, which has to be left more than full.
    fn mount(&mut self, room: u64) -> Result<(), String> {
        let data = self.data();
        let aside = self.folder.path().join("aside");
        if data.exists() {
            fs::rename(&data, &aside).map_err(|error| error.to_string())?;
        }
        fs::create_dir(&data).map_err(|error| error.to_string())?;
        fs::set_permissions(&data, std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .map_err(|error| error.to_string())?;
        let used = if aside.exists() { kib(&aside) } else { 0 };
        let size = format!("size={}k,mode=0700", used + room);
        tool("mount", &["-t", "tmpfs", "-o", &size, "tmpfs"], &data)?;
        self.is_mounted = true;
        if aside.exists() {
            let inside = format!("{}/.", aside.display());
            tool("cp", &["-a", &inside], &data)?;
        }
        Ok(())
    }

    fn give_room(&self) -> Result<(), String> {
        tool("mount", &["-o", "remount,size=256m"], &self.data())
    }

    fn unmount(&mut self) {
        if std::mem::take(&mut self.is_mounted) {
            let kept = self.folder.path().join("data-kept");
            let data = format!("{}/.", self.data().display());
            drop(fs::create_dir(&kept));
            drop(tool("cp", &["-a", &data], &kept));
            drop(tool("umount", &["-l"], &self.data()));
        }
    }
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        self.end_all();
        self.unmount();
        self.server.end(&self.round);
    }
}

/// Tells whether a small file system can be made here.
pub(crate) fn can_mount() -> bool {
    let folder = tempfile::tempdir().expect("make a folder");
    let mounted = tool(
        "mount",
        &["-t", "tmpfs", "-o", "size=64k", "tmpfs"],
        folder.path(),
    )
    .is_ok();
    mounted && tool("umount", &[], folder.path()).is_ok()
}

/// Runs a tool of the system on a folder.
fn tool(name: &str, arguments: &[&str], folder: &Path) -> Result<(), String> {
    let output = Command::new(name).args(arguments).arg(folder).output();
    let output = output.map_err(|error| format!("start {name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name} {arguments:?}: {said}"))
}

/// Returns how much a folder holds, with its files rounded up to pages.
fn kib(folder: &Path) -> u64 {
    let mut sum = 8;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => sum += kib(&path),
            Ok(metadata) => sum += metadata.len().div_ceil(4096) * 4,
            Err(_) => {}
        }
    }
    sum
}

/// Waits for a process to end; false if it has not by then.
fn has_ended(pid: Pid, most: Duration) -> bool {
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
        return true;
    };
    let until = Instant::now() + most;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).expect("a minute fits");
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(_interrupted) => {}
        }
    }
}

fn run_arguments(session: &str, key: &str, consent: &str) -> Vec<String> {
    let prompt = format!("plan({key})");
    let arguments = [
        "run",
        "--json",
        "--model",
        MODEL,
        "--session",
        session,
        consent,
        &prompt,
    ];
    arguments.map(str::to_owned).to_vec()
}

//! Starting the shell.
//!
//! In a process group of its own, without input, with one pipe for all it prints
//! (a hook has what it is told as input, and a second pipe for what it complains
//! of), and with no other descriptor: those that are ours close by themselves, those
//! that our caller's caller left open are closed by the shell first.

use std::fs::{self, DirBuilder, File};
use std::io::{self, PipeReader, PipeWriter, Seek as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::OFlags;
use rustix::process::Pid;

use super::super::orphans::{self, Mark};
use super::super::wire::Job;
use super::reaper::{Reaper, Waiting};

/// What runs commands: they were judged as bash reads them, and another shell reads them otherwise.
const FOR_COMMANDS: &[&str] = &["bash"];

/// What runs hooks, which nobody judges, in the order of preference.
const FOR_HOOKS: &[&str] = &["bash", "sh"];

/// A shell that runs.
pub(super) struct Running {
    pub(super) output: PipeReader,
    pub(super) errors: Option<PipeReader>,
    pub(super) reaper: Reaper,
}

pub(super) fn start(me: Pid, job: &Job) -> Result<Running, String> {
    // What cannot be seen cannot be ended, so it is not begun either.
    let mark = Mark::of(me).ok_or("there is no /proc to see processes in")?;
    let Job {
        workspace, scratch, ..
    } = job;
    if !Path::new(workspace).is_dir() {
        return Err(format!("the workspace {workspace} is not a folder"));
    }
    if let Some(scratch) = scratch {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(scratch);
        made.map_err(|error| format!("make the scratch folder {scratch}: {error}"))?;
    }
    let explain = |error: io::Error| format!("prepare a shell: {error}");
    let waiting = Waiting::new().map_err(explain)?;
    let (output, writer) = pipe().map_err(explain)?;
    let (errors, stderr) = match job.stdin {
        None => (None, writer.try_clone().map_err(explain)?),
        Some(_) => {
            let (errors, stderr) = pipe().map_err(explain)?;
            (Some(errors), stderr)
        }
    };
    let writers = (writer, stderr);
    let open = inheritable().map_err(explain)?;
    let shells = match job.stdin {
        None => FOR_COMMANDS,
        Some(_) => FOR_HOOKS,
    };
    for shell in shells {
        match spawn(shell, &open, job, mark.value(), &writers) {
            Ok(pid) => {
                return Ok(Running {
                    output,
                    errors,
                    reaper: waiting.wait_for(pid),
                });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("start {shell}: {error}")),
        }
    }
    Err(format!("there is no {} in PATH", shells.join(" and no ")))
}

/// A pipe that we read without waiting.
fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK)?;
    Ok((reader, writer))
}

/// What a command reads: a file in memory, so that nobody waits for whom.
fn input(text: &str) -> io::Result<File> {
    let descriptor = rustix::fs::memfd_create("hook", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = File::from(descriptor);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

fn spawn(
    shell: &str,
    open: &[u32],
    job: &Job,
    mark: &str,
    (stdout, stderr): &(PipeWriter, PipeWriter),
) -> io::Result<Pid> {
    let mut command = Command::new(shell);
    if open.is_empty() {
        command.arg("-c").arg(&job.command);
    } else {
        command
            .arg("-c")
            .arg(close_and_go_on(shell, open))
            .args([shell, &job.command]);
    }
    match &job.stdin {
        None => command.stdin(Stdio::null()),
        Some(text) => {
            // Scripts that were written for Claude Code look for it.
            command.env("CLAUDE_PROJECT_DIR", &job.workspace);
            command.stdin(input(text)?)
        }
    };
    let child = command
        .current_dir(&job.workspace)
        .env(orphans::VARIABLE, mark)
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .process_group(0)
        .spawn()?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("a process without a number"))
}

/// A script that closes descriptors and becomes the shell that was asked for.
fn close_and_go_on(shell: &str, open: &[u32]) -> String {
    let closing: String = open
        .iter()
        // A plain sh takes one digit only.
        .filter(|number| shell == "bash" || **number < 10)
        .map(|number| format!(" {number}<&-"))
        .collect();
    format!("exec{closing}; exec \"$0\" -c \"$1\"")
}

/// Returns the descriptors beyond the first three that a program started here would get.
///
/// We have no way to close what we do not own, short of unsafe code.
fn inheritable() -> io::Result<Vec<u32>> {
    let mut open = Vec::new();
    for entry in fs::read_dir("/proc/self/fdinfo")? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(number) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // That of the folder itself is closed by the time it is looked at, or not inheritable.
        let Ok(info) = fs::read_to_string(entry.path()) else {
            continue;
        };
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        let closes = flags.is_some_and(|flags| flags & OFlags::CLOEXEC.bits() != 0);
        if number > 2 && !closes {
            open.push(number);
        }
    }
    Ok(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_shell_is_only_asked_what_it_can_do() {
        let open = [3, 17];
        assert_eq!(
            close_and_go_on("bash", &open),
            "exec 3<&- 17<&-; exec \"$0\" -c \"$1\""
        );
        assert_eq!(
            close_and_go_on("sh", &open),
            "exec 3<&-; exec \"$0\" -c \"$1\""
        );
    }
}

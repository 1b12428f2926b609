//! The state of git in one line: branch and commit from files, counts from `git status`.
//!
//! No code of the repository runs. Branch and commit are read by hand. `git status`
//! runs without file system monitor, hooks, submodules and transports, and not at
//! all where the repository's own configuration could bring filters, which are
//! commands. The counts are left out unless git gives them at once: a session does
//! not start later because its repository is large.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::Instant;

use crate::folder::read_beneath;

/// How long git may count.
const PATIENCE: Duration = Duration::from_millis(40);

/// Most bytes of a small file of git's.
const SMALL: usize = 64 * 1024;

/// Most bytes of the list of packed references.
const PACKED: usize = 1024 * 1024;

/// Hexadecimal digits that are shown of a commit.
const SHORT: usize = 9;

/// What would send git to another repository than the one that was found.
const ELSEWHERE: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
];

/// Settings that keep `git status` from running anything.
const INERT: [&str; 6] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.sshCommand=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "status.submoduleSummary=false",
];

/// `git status` at work.
pub(super) struct Counting {
    child: Child,
    output: Receiver,
    until: Instant,
}

/// Returns where a repository stands, and git at work on the counts if it may be asked.
pub(super) fn look(root: &Path) -> (String, Option<Counting>) {
    let Some(repository) = Repository::of(root) else {
        return ("a repository that cannot be read".to_owned(), None);
    };
    let Some(stands) = repository.stands() else {
        return ("a repository without a branch".to_owned(), None);
    };
    let counting = repository.is_inert().then(|| Counting::start(root));
    (stands, counting.flatten())
}

/// Where git keeps a repository.
struct Repository {
    /// The folder of this working tree.
    own: PathBuf,
    /// The folder that all working trees share.
    common: PathBuf,
}

impl Repository {
    fn of(root: &Path) -> Option<Self> {
        let place = root.join(".git");
        let own = if place.symlink_metadata().ok()?.is_dir() {
            place
        } else {
            // A linked working tree, or a submodule.
            let text = small(root, ".git")?;
            root.join(text.strip_prefix("gitdir:")?.trim())
        };
        let common = match small(&own, "commondir") {
            Some(text) => own.join(text.trim()),
            None => own.clone(),
        };
        Some(Self { own, common })
    }

    /// Says which branch and commit are checked out.
    fn stands(&self) -> Option<String> {
        let head = small(&self.own, "HEAD")?;
        let head = head.trim();
        let Some(name) = head.strip_prefix("ref:").map(str::trim) else {
            return Some(format!("detached, HEAD {}", short(head)?));
        };
        let branch = name.strip_prefix("refs/heads/")?;
        if branch.starts_with('.') {
            // Its references are in another format than files.
            return None;
        }
        let loose = small(&self.own, name).or_else(|| small(&self.common, name));
        let commit = match loose {
            Some(commit) => short(commit.trim()).map(str::to_owned),
            None => self.packed(name),
        };
        Some(match commit {
            Some(commit) => format!("branch {branch}, HEAD {commit}"),
            None => format!("branch {branch}"),
        })
    }

    fn packed(&self, name: &str) -> Option<String> {
        let bytes = read_beneath(&self.common, Path::new("packed-refs"), PACKED).ok()??;
        let text = String::from_utf8_lossy(&bytes);
        let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
        let (commit, _) = pairs.find(|(_, packed)| *packed == name)?;
        short(commit).map(str::to_owned)
    }

    /// Tells whether the repository's own configuration names no command that `git status` could run.
    fn is_inert(&self) -> bool {
        let files = [(&self.common, "config"), (&self.own, "config.worktree")];
        files.into_iter().all(
            |(folder, name)| match read_beneath(folder, Path::new(name), SMALL) {
                Ok(None) => true,
                Ok(Some(bytes)) if bytes.len() <= SMALL => {
                    let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
                    !text.contains("filter") && !text.contains("include")
                }
                Ok(Some(_)) | Err(_) => false,
            },
        )
    }
}

impl Counting {
    fn start(root: &Path) -> Option<Self> {
        let mut command = Command::new("git");
        for setting in INERT {
            command.args(["-c", setting]);
        }
        command.arg("-C").arg(root);
        command.args([
            "status",
            "--porcelain",
            "--no-renames",
            "--untracked-files=normal",
        ]);
        command.arg("--ignore-submodules=all");
        for variable in ELSEWHERE {
            command.env_remove(variable);
        }
        command.env("GIT_OPTIONAL_LOCKS", "0");
        command.env("GIT_NO_LAZY_FETCH", "1");
        command.env("GIT_TERMINAL_PROMPT", "0");
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
        let output = child.stdout.take()?;
        let output = Receiver::from_owned_fd(OwnedFd::from(output)).ok()?;
        Some(Self {
            child,
            output,
            until: Instant::now() + PATIENCE,
        })
    }

    /// Returns how much has changed, if git says so in time.
    pub(super) async fn finish(mut self) -> Option<String> {
        let mut output = Vec::new();
        let read = self.output.read_to_end(&mut output);
        if !matches!(tokio::time::timeout_at(self.until, read).await, Ok(Ok(_))) {
            tracing::debug!("git status took too long, its counts are left out");
            return None;
        }
        if !self.child.wait().ok()?.success() {
            return None;
        }
        Some(counts(&output))
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let killed = self.child.kill();
            // Not awaited: a process that the file system holds would hold the session too.
            tracing::debug!(?killed, reaped = ?self.child.try_wait(), "git status");
        }
    }
}

/// Counts the lines of `git status --porcelain`.
fn counts(output: &[u8]) -> String {
    let lines = output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let (untracked, changed): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with(b"??"));
    match (changed.len(), untracked.len()) {
        (0, 0) => "clean".to_owned(),
        (changed, untracked) => format!("{changed} changed, {untracked} untracked"),
    }
}

fn small(folder: &Path, name: &str) -> Option<String> {
    let bytes = read_beneath(folder, Path::new(name), SMALL).ok()??;
    String::from_utf8(bytes).ok()
}

/// Returns the beginning of a commit's id; `None` for what is none.
fn short(commit: &str) -> Option<&str> {
    let is_id = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| &commit[..SHORT])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pd_18_counts_are_those_of_git_status() {
        assert_eq!(counts(b""), "clean");
        assert_eq!(counts(b" M a\nA  b\n?? c/\n"), "2 changed, 1 untracked");
    }

    #[test]
    fn pd_18_only_an_id_is_shown_as_a_commit() {
        assert_eq!(short(&"0123456789".repeat(4)), Some("012345678"));
        assert_eq!(
            short("root:x:0:0:root:/root:/bin/sh, and so on and on"),
            None
        );
        assert_eq!(short("0123"), None);
    }
}

//! The programs that are measured: Offshoot, and the bare loop, each as a process.
//!
//! A process is started for every run and waited for. What it has used up is
//! read from `/proc` by the server at the moments that count.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use tempfile::TempDir;

use crate::Run;
use crate::bare;
use crate::server::Server;

/// Which program, and in what state it finds its data folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// With a data folder that was used before, as it is every time but the first.
    Offshoot,
    /// With a data folder that is not there yet.
    OffshootAnew,
    /// The loop without anything.
    Bare,
}

/// Where the programs run.
pub(crate) struct Subject {
    address: String,
    workspace: TempDir,
    data: TempDir,
}

impl Subject {
    pub(crate) fn new(server: &Server) -> Self {
        let folder = || tempfile::tempdir().expect("make a folder");
        Self {
            address: server.address(),
            workspace: folder(),
            data: folder(),
        }
    }

    /// Runs a program once, from its start to its end.
    pub(crate) fn run(&self, who: Who, server: &Server, prompt: &str) -> Run {
        let anew = tempfile::tempdir().expect("make a folder");
        let mut command = match who {
            Who::Offshoot => self.offshoot(self.data.path(), prompt),
            Who::OffshootAnew => self.offshoot(&anew.path().join("data"), prompt),
            Who::Bare => self.bare(prompt),
        };
        command
            .current_dir(self.workspace.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        server.expect_root();
        let started = Instant::now();
        let mut child = command.spawn().expect("start the program");
        let moments = server.watch(child.id());
        let status = child.wait().expect("wait for the program");
        assert!(status.success(), "{prompt} ended with {status}");
        let [begun, back] = moments.taken();
        Run {
            first_request_ms: (begun.at - started).as_secs_f64() * 1e3,
            begun,
            back,
        }
    }

    fn offshoot(&self, data: &Path, prompt: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_offshoot"));
        command
            .args(["run", "--model", "openai-chat/bench", "--data-dir"])
            .arg(data)
            .arg(prompt)
            .env("OPENAI_BASE_URL", &self.address)
            .env("OPENAI_API_KEY", "none");
        command
    }

    fn bare(&self, prompt: &str) -> Command {
        let this = std::env::current_exe().expect("find this program");
        let mut command = Command::new(this);
        command.args([bare::ROLE, &self.address, prompt]);
        command
    }
}

//! Commands in terminals of the session's client.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use offshoot_tools::shell::{Base, Environment};
use offshoot_types::client_ports::{ClientCommand, Process, ProcessEnd, ProcessOutput, Processes};
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::tool::{Tool as _, Work};
use rustix::process::{Pid, Signal};
use serde_json::json;
use tempfile::NamedTempFile;

use crate::bash_bench::{Shell, Switch, assert_nobody, keeper, mark, sleepers, until};
use crate::bench::kind;

/// A client that runs commands as it is told, and notes what it is asked.
#[derive(Clone, Default)]
struct Client {
    asked: Arc<Mutex<Vec<&'static str>>>,
    commands: Arc<Mutex<Vec<ClientCommand>>>,
    refuses: bool,
    /// Whether it fails once the command runs.
    breaks: bool,
}

impl Client {
    fn note(&self, what: &'static str) {
        self.asked.lock().unwrap().push(what);
    }

    fn asked(&self) -> Vec<&'static str> {
        self.asked.lock().unwrap().clone()
    }

    fn start(&self, command: &ClientCommand) -> Result<Box<dyn Process>, String> {
        if self.refuses {
            return Err("it is not allowed".to_owned());
        }
        let output = NamedTempFile::new().unwrap();
        let mut append = std::fs::OpenOptions::new();
        let mut stdio = || Stdio::from(append.append(true).open(output.path()).unwrap());
        let (stdout, stderr) = (stdio(), stdio());
        let child = tokio::process::Command::new(&command.program)
            .args(&command.arguments)
            .envs(command.environment.iter().cloned())
            .current_dir(&command.folder)
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(stderr)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| error.to_string())?;
        let pid = i32::try_from(child.id().unwrap()).unwrap();
        Ok(Box::new(Terminal {
            client: self.clone(),
            pid: Pid::from_raw(pid).unwrap(),
            child: tokio::sync::Mutex::new(child),
            output,
            most: usize::try_from(command.most_output).unwrap(),
        }))
    }
}

impl Processes for Client {
    fn start(&self, command: ClientCommand) -> BoxFuture<'_, Result<Box<dyn Process>, String>> {
        self.note("start");
        let started = Self::start(self, &command);
        self.commands.lock().unwrap().push(command);
        Box::pin(std::future::ready(started))
    }
}

struct Terminal {
    client: Client,
    pid: Pid,
    child: tokio::sync::Mutex<tokio::process::Child>,
    output: NamedTempFile,
    most: usize,
}

impl Process for Terminal {
    fn ended(&self) -> BoxFuture<'_, Result<ProcessEnd, String>> {
        Box::pin(async move {
            if self.client.breaks {
                return Err("the connection is closed".to_owned());
            }
            let status: ExitStatus = self.child.lock().await.wait().await.unwrap();
            Ok(match (status.code(), status.signal()) {
                (Some(code), _) => ProcessEnd::Exit(code),
                (None, Some(signal)) => ProcessEnd::Signal(signal.to_string()),
                (None, None) => ProcessEnd::Unknown,
            })
        })
    }

    fn output(&self) -> BoxFuture<'_, Result<ProcessOutput, String>> {
        let bytes = std::fs::read(self.output.path()).unwrap();
        let cut = bytes.len().saturating_sub(self.most);
        let output = ProcessOutput {
            text: String::from_utf8_lossy(&bytes[cut..]).into_owned(),
            truncated: cut > 0,
        };
        Box::pin(std::future::ready(Ok(output)))
    }

    fn kill(&self) -> BoxFuture<'_, Result<(), String>> {
        self.client.note("kill");
        let killed = rustix::process::kill_process(self.pid, Signal::KILL);
        let killed = killed.map_err(|errno| errno.to_string());
        Box::pin(std::future::ready(killed))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.client.note("release");
    }
}

fn work(shell: &Shell, client: &Client, command: &str, timeout_ms: u64) -> Work {
    let arguments = json!({ "command": command, "timeout_ms": timeout_ms });
    Work {
        processes: Some(Arc::new(client.clone())),
        ..shell.work("a", &arguments)
    }
}

async fn run(shell: &Shell, client: &Client, command: &str) -> Outcome {
    shell.bash.run(work(shell, client, command, 60_000)).await
}

#[tokio::test]
async fn a_command_runs_in_the_client_below_a_keeper_of_ours() {
    let (shell, client) = (Shell::new(), Client::default());
    let command = "pwd; echo err >&2; cat; cat /proc/$PPID/comm; exit 3";
    let outcome = run(&shell, &client, command).await;
    let folder = shell.path("w").canonicalize().unwrap();
    let expected = format!("{}\nerr\noffshoot-keeper\n[exit code 3]", folder.display());
    assert_eq!(outcome.for_model(), expected);
    let code = outcome.metadata.extra.get("exit_code");
    assert_eq!(code, Some(&RawJson::of(&3)));
    assert_eq!(client.asked(), ["start", "release"]);
}

#[tokio::test]
async fn keys_of_providers_do_not_reach_a_command_in_the_client() {
    let environment = Environment {
        base: Base::Inherited,
        remove: vec!["PATH_TO_SECRET".into()],
    };
    let (shell, client) = (Shell::with(keeper(), environment), Client::default());
    let command = "echo \"[$PATH_TO_SECRET] $TERM $OFFSHOOT_SCRATCH\"; test -d $OFFSHOOT_SCRATCH";
    let outcome = run(&shell, &client, command).await;
    let scratch = shell.path("s").display().to_string();
    assert_eq!(outcome.for_model(), format!("[] dumb {scratch}\n"));
    let given = client.commands.lock().unwrap().remove(0).environment;
    assert!(given.contains(&("PATH_TO_SECRET".to_owned(), String::new())));
}

#[tokio::test]
async fn a_command_that_goes_on_in_the_background_stays_with_our_keeper() {
    let (shell, client) = (Shell::new(), Client::default());
    let mark = mark();
    let outcome = run(&shell, &client, &format!("sleep {mark} & echo up")).await;
    assert!(outcome.for_model().starts_with("up\n"));
    assert_eq!(client.asked(), Vec::<&str>::new());
    assert_eq!(sleepers(&mark), 1);
    shell.bash.end("a").await;
    assert_nobody(&mark);
}

#[tokio::test]
async fn nothing_that_a_command_starts_outlives_its_call_in_the_client() {
    let (shell, client) = (Shell::new(), Client::default());
    let mark = mark();
    let command = format!("setsid -f sleep {mark}; env -i setsid -f sleep {mark}; echo up");
    let outcome = run(&shell, &client, &command).await;
    assert_eq!(outcome.for_model(), "up\n");
    assert_nobody(&mark);
}

#[tokio::test]
async fn a_command_that_kills_its_keeper_has_another_above_it_and_is_ended() {
    let (shell, client) = (Shell::new(), Client::default());
    let mark = mark();
    let command = format!("env -i setsid -f sleep {mark}; kill -9 $PPID; sleep {mark}");
    let outcome = run(&shell, &client, &command).await;
    assert!(outcome.for_model().ends_with("[exit code 137]"));
    assert_nobody(&mark);
}

#[tokio::test]
async fn a_cancel_ends_the_command_and_releases_the_terminal() {
    let (shell, client) = (Shell::new(), Client::default());
    let mark = mark();
    let command = format!("echo up; setsid -f sleep {mark}; sleep {mark}");
    let (switch, cancel) = Switch::new();
    let work = Work {
        cancel,
        ..work(&shell, &client, &command, 60_000)
    };
    let (outcome, ()) = tokio::join!(shell.bash.run(work), async {
        until("both sleep", || sleepers(&mark) == 2).await;
        switch.fire();
    });
    assert_eq!(kind(&outcome), Some(ErrorKind::Cancelled));
    assert!(outcome.for_model().ends_with("output so far:\nup\n"));
    assert_eq!(client.asked(), ["start", "kill", "release"]);
    assert_nobody(&mark);
}

#[tokio::test]
async fn a_timeout_ends_the_command_and_releases_the_terminal() {
    let (shell, client) = (Shell::new(), Client::default());
    let mark = mark();
    let command = format!("echo up; sleep {mark}");
    let outcome = shell.bash.run(work(&shell, &client, &command, 1_000)).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Failed));
    assert_eq!(client.asked(), ["start", "kill", "release"]);
    assert_nobody(&mark);
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_nothing_in_the_client() {
    let (shell, client) = (Shell::new(), Client::default());
    let mark = mark();
    let command = format!("setsid -f sleep {mark}; sleep {mark}");
    let call = shell.bash.run(work(&shell, &client, &command, 60_000));
    tokio::select! {
        biased;
        _ = call => panic!("it ended"),
        () = until("both sleep", || sleepers(&mark) == 2) => {}
    }
    assert_eq!(client.asked(), ["start", "release"]);
    until("nobody is left", || sleepers(&mark) == 0).await;
}

#[tokio::test]
async fn a_client_that_starts_nothing_is_an_error_and_nothing_runs_twice() {
    let shell = Shell::new();
    let client = Client {
        refuses: true,
        ..Client::default()
    };
    let outcome = run(&shell, &client, "touch made").await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Failed));
    assert!(!shell.path("w/made").exists());
}

#[tokio::test]
async fn a_client_that_breaks_down_in_the_middle_is_an_error_and_leaves_nothing() {
    let shell = Shell::new();
    let client = Client {
        breaks: true,
        ..Client::default()
    };
    let mark = mark();
    let outcome = run(&shell, &client, &format!("sleep {mark}")).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Failed));
    until("nobody is left", || sleepers(&mark) == 0).await;
}

#[tokio::test]
async fn of_a_long_output_the_client_keeps_the_end() {
    let (shell, client) = (Shell::new(), Client::default());
    let outcome = run(&shell, &client, "seq 1 200000; echo last").await;
    let text = outcome.for_model();
    assert_eq!(outcome.metadata.truncated, Some(true));
    assert!(text.ends_with("\nlast\n") && text.len() < 250_000);
}

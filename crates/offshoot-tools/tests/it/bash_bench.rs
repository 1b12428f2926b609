//! A shell to call, and real processes to count.
//!
//! Has no test of its own. Processes are counted by a mark in their arguments:
//! the seconds that a `sleep` is told, which no other test uses.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_core::future::BoxFuture;
use offshoot_tools::shell::{Base, Bash, Environment, Keeper};
use offshoot_types::cancel::{Cancel, Signal};
use offshoot_types::json::RawJson;
use offshoot_types::outcome::Outcome;
use offshoot_types::tool::{Output, Place, Tool as _, Work};
use serde_json::{Value, json};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::watch;

/// A shell, a workspace `w` and a scratch folder `s` that is not there yet.
pub(crate) struct Shell {
    pub(crate) bash: Bash,
    folder: TempDir,
}

pub(crate) fn keeper() -> Keeper {
    Keeper {
        program: env!("CARGO_BIN_EXE_offshoot-keeper").into(),
        arguments: Vec::new(),
    }
}

pub(crate) fn inherited() -> Environment {
    Environment {
        base: Base::Inherited,
        remove: Vec::new(),
    }
}

impl Shell {
    pub(crate) fn new() -> Self {
        Self::with(keeper(), inherited())
    }

    pub(crate) fn with(keeper: Keeper, environment: Environment) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("w")).unwrap();
        Self {
            bash: Bash::new(keeper, environment),
            folder,
        }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    pub(crate) fn place(&self, owner: &str) -> Place {
        let text = |name| self.path(name).into_os_string().into_string().unwrap();
        Place {
            scratch: Some(text("s")),
            owner: owner.to_owned(),
            ..Place::new(text("w"))
        }
    }

    pub(crate) fn work(&self, owner: &str, arguments: &Value) -> Work {
        Work::new(RawJson::of(arguments), self.place(owner))
    }

    /// Calls the tool for `owner`.
    pub(crate) fn call(&self, owner: &str, arguments: &Value) -> BoxFuture<'static, Outcome> {
        self.bash.run(self.work(owner, arguments))
    }

    /// Runs a command of the owner `a` and returns what came of it.
    pub(crate) async fn outcome(&self, command: &str) -> Outcome {
        self.call("a", &json!({"command": command})).await
    }

    /// Runs a command of the owner `a` and returns what the model reads.
    pub(crate) async fn run(&self, command: &str) -> String {
        self.outcome(command).await.for_model()
    }
}

/// Returns seconds for a `sleep` that nobody else sleeps.
pub(crate) fn mark() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("1000.{:010}{number:04}", std::process::id())
}

/// Returns the command lines of the processes that have `mark` in their arguments.
pub(crate) fn bearers(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let line = fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(mark) {
            found.push(line);
        }
    }
    found
}

/// Counts the `sleep`s of a mark, without the shells that name it.
pub(crate) fn sleepers(mark: &str) -> usize {
    let lines = bearers(mark);
    lines
        .iter()
        .filter(|line| line.starts_with("sleep"))
        .count()
}

/// Waits until something is so, and fails if that takes absurdly long.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        let mut tick = tokio::time::interval(Duration::from_millis(5));
        while !is_so() {
            tick.tick().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(30), waiting).await;
    assert!(waited.is_ok(), "waited in vain: {what}");
}

/// Checks that nothing with this mark is left.
#[track_caller]
pub(crate) fn assert_nobody(mark: &str) {
    assert_eq!(bearers(mark), Vec::<String>::new());
}

/// Returns the children of this process that have ended and were not waited for.
pub(crate) fn zombies() -> Vec<String> {
    let me = std::process::id().to_string();
    let stats = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let stat = fs::read(entry.unwrap().path().join("stat")).ok()?;
        Some(String::from_utf8_lossy(&stat).into_owned())
    });
    let zombie = |stat: &String| {
        let (_, rest) = stat.rsplit_once(") ").unwrap();
        let mut fields = rest.split(' ');
        fields.next() == Some("Z") && fields.next() == Some(&me)
    };
    stats.filter(zombie).collect()
}

/// A signal that a test fires.
pub(crate) struct Switch(watch::Sender<bool>);

struct Wire(watch::Receiver<bool>);

impl Switch {
    pub(crate) fn new() -> (Self, Cancel) {
        let (switch, wire) = watch::channel(false);
        (Self(switch), Cancel::new(Wire(wire)))
    }

    pub(crate) fn fire(&self) {
        self.0.send_replace(true);
    }
}

impl Signal for Wire {
    fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    fn cancelled(&self) -> BoxFuture<'_, ()> {
        let mut wire = self.0.clone();
        Box::pin(async move {
            if wire.wait_for(|fired| *fired).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

/// What was said while a call ran.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    pub(crate) fn output(&self) -> Output {
        let heard = self.clone();
        Output::new(move |text| heard.0.lock().unwrap().push(text.to_owned()))
    }

    pub(crate) fn pieces(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn text(&self) -> String {
        self.pieces().concat()
    }
}

//! A workspace to call tools in.
//!
//! Has no test of its own. A call is a tool's name and its arguments; what comes
//! back is what a model would read.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use offshoot_tools::Sidecars;
use offshoot_types::journal::{Journal, NoJournal};
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{Body, ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::sidecar::Sidecars as _;
use offshoot_types::tool::{BlobSink, Place, Tool, Work};
use serde_json::Value;
use tempfile::TempDir;

/// A workspace `w` in a folder that is removed afterwards.
pub(crate) struct Bench {
    folder: TempDir,
    scratch: Option<&'static str>,
    journal: Arc<dyn Journal>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with_journal(Arc::new(NoJournal))
    }

    pub(crate) fn with_journal(journal: Arc<dyn Journal>) -> Self {
        Self {
            journal,
            ..Self::at(tempfile::tempdir().unwrap())
        }
    }

    /// In memory where the system has such a place, for more files than a disk makes quickly.
    pub(crate) fn for_many_files() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self {
            scratch: Some("s"),
            ..Self::at(folder.unwrap())
        }
    }

    fn at(folder: TempDir) -> Self {
        fs::create_dir(folder.path().join("w")).unwrap();
        Self {
            folder,
            scratch: None,
            journal: Arc::new(NoJournal),
        }
    }

    /// With a scratch folder beside the workspace, which does not exist yet.
    pub(crate) fn with_scratch() -> Self {
        Self {
            scratch: Some("s"),
            ..Self::new()
        }
    }

    /// Returns the absolute path of something in the scratch folder.
    pub(crate) fn scratch(&self, relative: &str) -> String {
        let path = self.folder.path().join("s").join(relative);
        path.into_os_string().into_string().unwrap()
    }

    /// Returns the path of something in the workspace; `../x` lies beside it.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join("w").join(relative)
    }

    pub(crate) fn absolute(&self, relative: &str) -> String {
        self.path(relative).into_os_string().into_string().unwrap()
    }

    pub(crate) fn file(&self, relative: &str, content: impl AsRef<[u8]>) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn content(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap()
    }

    /// Returns the names in the workspace's root.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn place(&self) -> Place {
        let text = |name: &str| {
            let path = self.folder.path().join(name);
            path.into_os_string().into_string().unwrap()
        };
        Place {
            scratch: self.scratch.map(text),
            ..Place::new(text("w"))
        }
    }

    /// Reads a file for a model that takes images, with a place for its bytes.
    pub(crate) async fn read_as_image(&self, path: &str) -> Outcome {
        let blobs = self.path("../blobs");
        let folder = blobs.into_os_string().into_string().unwrap();
        let store = move |bytes| Sidecars.store_blob(folder.clone(), bytes, 1_000);
        let work = Work {
            takes_images: true,
            blobs: BlobSink::new(store),
            ..self.work(&serde_json::json!({ "path": path }))
        };
        find("read").run(work).await
    }

    pub(crate) fn work(&self, arguments: &Value) -> Work {
        Work {
            journal: Arc::clone(&self.journal),
            ..Work::new(RawJson::of(arguments), self.place())
        }
    }

    pub(crate) fn needs(&self, tool: &str, arguments: &Value) -> Result<Vec<Need>, String> {
        find(tool).needs(&RawJson::of(arguments), &self.place())
    }

    pub(crate) async fn outcome(&self, tool: &str, arguments: &Value) -> Outcome {
        find(tool).run(self.work(arguments)).await
    }

    /// Calls a tool and returns what the model reads.
    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> String {
        self.outcome(tool, arguments).await.for_model()
    }
}

/// Returns the kind of a failure.
pub(crate) fn kind(outcome: &Outcome) -> Option<ErrorKind> {
    match &outcome.body {
        Body::Output(_) => None,
        Body::Error { kind, .. } => Some(*kind),
    }
}

pub(crate) fn find(id: &str) -> Arc<dyn Tool> {
    let mut tools = offshoot_tools::builtin().into_iter();
    tools.find(|tool| tool.spec().id == id).unwrap()
}

//! A workspace to call tools in.
//!
//! Has no test of its own. A call is a tool's name and its arguments; what comes
//! back is what a model would read.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use offshoot_types::json::RawJson;
use offshoot_types::outcome::Outcome;
use offshoot_types::permission::Need;
use offshoot_types::tool::{Place, Tool, Work};
use serde_json::Value;
use tempfile::TempDir;

/// A workspace `w` in a folder that is removed afterwards.
pub(crate) struct Bench {
    folder: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("w")).unwrap();
        Self { folder }
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
        let path = self.folder.path().join("w");
        Place::new(path.into_os_string().into_string().unwrap())
    }

    pub(crate) fn needs(&self, tool: &str, arguments: &Value) -> Result<Vec<Need>, String> {
        find(tool).needs(&RawJson::of(arguments), &self.place())
    }

    pub(crate) async fn outcome(&self, tool: &str, arguments: &Value) -> Outcome {
        let arguments = RawJson::of(arguments);
        find(tool).run(Work::new(arguments, self.place())).await
    }

    /// Calls a tool and returns what the model reads.
    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> String {
        self.outcome(tool, arguments).await.for_model()
    }
}

fn find(id: &str) -> Arc<dyn Tool> {
    let mut tools = offshoot_tools::builtin().into_iter();
    tools.find(|tool| tool.spec().id == id).unwrap()
}

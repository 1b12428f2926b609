//! The tools of a runtime: its own, and those that clients bring and take away.
//!
//! A turn works with what there is when it begins (R12): a change never touches
//! one that runs. Tools do not know that they are here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offshoot_types::tool::{Tool, ToolSpec};

use crate::schema::Schema;

/// Schemas that are kept at most.
const MOST_SCHEMAS: usize = 1024;

/// The tools of a runtime. Cloning shares them.
#[derive(Clone, Default)]
pub struct Toolbox(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// Grows with every change, so that what was made from the tools can tell.
    version: u64,
    /// By who brought them: the host first, then in the order they came.
    sets: BTreeMap<u64, Vec<Arc<dyn Tool>>>,
    /// Schemas by their text: compiling one takes longer than all else a session needs to begin.
    schemas: BTreeMap<String, Arc<Schema>>,
}

/// Tools that somebody brought; dropping it takes them away.
#[must_use = "the tools are taken away when this is dropped"]
pub struct Attachment {
    toolbox: Toolbox,
    set: u64,
}

impl From<Vec<Arc<dyn Tool>>> for Toolbox {
    fn from(tools: Vec<Arc<dyn Tool>>) -> Self {
        let inner = Inner {
            version: 0,
            sets: BTreeMap::from([(0, tools)]),
            schemas: BTreeMap::new(),
        };
        Self(Arc::new(Mutex::new(inner)))
    }
}

impl Toolbox {
    /// Adds tools behind those that are there. Of two with one id, the first is offered.
    pub(crate) fn attach(&self, tools: Vec<Arc<dyn Tool>>) -> Attachment {
        let mut inner = self.lock();
        inner.version += 1;
        let set = inner.version;
        inner.sets.insert(set, tools);
        let toolbox = self.clone();
        Attachment { toolbox, set }
    }

    /// Returns the schema of a tool; the same text gives the same one.
    pub(crate) fn schema(&self, spec: &ToolSpec) -> Arc<Schema> {
        let mut inner = self.lock();
        // Clients come and go, each with tools of their own.
        if inner.schemas.len() >= MOST_SCHEMAS {
            inner.schemas.clear();
        }
        let text = spec.parameters.as_str().to_owned();
        inner.schemas.entry(text).or_default().clone()
    }

    /// Returns which state of the toolbox this is.
    pub(crate) fn version(&self) -> u64 {
        self.lock().version
    }

    /// Returns the tools, each id once.
    pub(crate) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let inner = self.lock();
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for tool in inner.sets.values().flatten() {
            if tools
                .iter()
                .all(|earlier| earlier.spec().id != tool.spec().id)
            {
                tools.push(tool.clone());
            }
        }
        tools
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let mut inner = self.toolbox.lock();
        inner.version += 1;
        inner.sets.remove(&self.set);
    }
}

//! A tool that notes what is done with it: what it was judged on, who ran it where, who was ended.
//!
//! It may wait at a gate, so that a test can look while it runs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_core::future::BoxFuture;
use offshoot_engine::Attachment;
use offshoot_types::journal::Change;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use tokio::sync::watch;

use super::{Gate, Stage};

/// A tool that notes what is done with it.
pub(crate) struct Probe {
    spec: ToolSpec,
    capabilities: Vec<&'static str>,
    gate: Option<Gate>,
    changes: bool,
    notes: Notes,
}

/// What a probe has noted.
#[derive(Clone)]
pub(crate) struct Notes(Arc<Noted>);

struct Noted {
    judged: Mutex<Vec<String>>,
    ran: Mutex<Vec<Place>>,
    ended: Mutex<Vec<String>>,
    /// How many calls run now, and how many did at most.
    now: watch::Sender<(usize, usize)>,
}

impl Probe {
    pub(crate) fn new(id: &str, effect: Effect) -> Self {
        let spec = ToolSpec {
            id: id.to_owned(),
            description: format!("{id} for tests"),
            parameters: RawJson::of(&serde_json::json!({ "type": "object" })),
            effect,
        };
        let noted = Noted {
            judged: Mutex::default(),
            ran: Mutex::default(),
            ended: Mutex::default(),
            now: watch::Sender::new((0, 0)),
        };
        Self {
            spec,
            capabilities: Vec::new(),
            gate: None,
            changes: false,
            notes: Notes(Arc::new(noted)),
        }
    }

    /// Needs a capability more, on the path it is called with.
    pub(crate) fn needing(mut self, capability: &'static str) -> Self {
        self.capabilities.push(capability);
        self
    }

    /// Waits at a gate while it runs, or until it is asked to stop.
    pub(crate) fn held_at(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Says of the path it is called with that it is about to change.
    pub(crate) fn changing(mut self) -> Self {
        self.changes = true;
        self
    }

    /// Offers it to everybody on stage.
    pub(crate) fn on(self, stage: &Stage) -> (Notes, Attachment) {
        let notes = self.notes.clone();
        (notes, stage.attach(vec![Arc::new(self)]))
    }
}

impl Notes {
    /// Returns the arguments it was judged on, in order.
    pub(crate) fn judged(&self) -> Vec<String> {
        self.0.judged.lock().unwrap().clone()
    }

    /// Returns where it ran, in order.
    pub(crate) fn ran(&self) -> Vec<Place> {
        self.0.ran.lock().unwrap().clone()
    }

    /// Returns whose leftovers it was told to end, in order.
    pub(crate) fn ended(&self) -> Vec<String> {
        self.0.ended.lock().unwrap().clone()
    }

    /// Returns how many calls ran side by side at most.
    pub(crate) fn most_at_once(&self) -> usize {
        self.0.now.borrow().1
    }

    /// Waits until so many calls run at once.
    pub(crate) async fn running(&self, calls: usize) {
        let mut now = self.0.now.subscribe();
        let waiting = now.wait_for(|(now, _)| *now >= calls);
        let waited = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        assert!(waited.is_ok(), "{calls} calls never ran at once");
    }
}

impl Tool for Probe {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self, arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String> {
        let noted = &self.notes.0;
        let text = arguments.as_str().to_owned();
        noted.judged.lock().unwrap().push(text);
        let target = target(arguments, place);
        let need = |capability: &&str| Need {
            capability: (*capability).to_owned(),
            target: target.clone(),
        };
        Ok(self.capabilities.iter().map(need).collect())
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        let (noted, gate, changes) = (self.notes.0.clone(), self.gate.clone(), self.changes);
        Box::pin(async move {
            if changes {
                let change = Change {
                    path: target(&work.arguments, &work.place),
                    before: None,
                    after: Some(b"x".to_vec()),
                };
                work.journal.record(change).await.unwrap();
            }
            noted.ran.lock().unwrap().push(work.place);
            noted.now.send_modify(|(now, most)| {
                *now += 1;
                *most = (*most).max(*now);
            });
            // Whatever may run beside it gets its chance to.
            for _ in 0..8 {
                tokio::task::yield_now().await;
            }
            let stopped = match gate {
                Some(gate) => tokio::select! {
                    () = gate.passed() => false,
                    () = work.cancel.cancelled() => true,
                },
                None => false,
            };
            noted.now.send_modify(|(now, _)| *now -= 1);
            if stopped {
                Outcome::error(ErrorKind::Cancelled, "asked to stop")
            } else {
                Outcome::output(work.arguments)
            }
        })
    }

    fn end(&self, owner: &str) -> BoxFuture<'static, ()> {
        self.notes.0.ended.lock().unwrap().push(owner.to_owned());
        Box::pin(std::future::ready(()))
    }
}

/// Returns the path that a call is about, absolute.
fn target(arguments: &RawJson, place: &Place) -> String {
    let arguments: serde_json::Value = arguments.read().unwrap();
    let path = arguments["path"].as_str().unwrap_or("nothing");
    format!("{}/{path}", place.workspace)
}

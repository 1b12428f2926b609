//! A hook that notes what it is told and says what the test wants.
//!
//! It may wait at a gate, so that a test can look at the log meanwhile.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_core::future::BoxFuture;
use offshoot_types::cancel::Cancel;
use offshoot_types::hook::{Occasion, Point, Say, Trouble, USUAL_LIMIT, Watch, What, Word};
use tokio::sync::watch;

use super::Gate;

type Speak = dyn Fn(&Occasion, usize) -> Result<Say, Trouble> + Send + Sync;

/// A hook that notes what it is told and says what the test wants.
pub(crate) struct Guard {
    name: &'static str,
    points: Vec<Point>,
    speak: Box<Speak>,
    /// Where it waits, and at which points; at all if none is named.
    gate: Option<(Gate, Option<Point>)>,
    limit: Duration,
    seen: Arc<Mutex<Vec<Occasion>>>,
    count: watch::Sender<usize>,
}

impl Guard {
    /// Has nothing to say.
    pub(crate) fn at(points: &[Point]) -> Self {
        Self {
            name: "guard",
            points: points.to_vec(),
            speak: Box::new(|_, _| Ok(Say::nothing())),
            gate: None,
            limit: USUAL_LIMIT,
            seen: Arc::default(),
            count: watch::Sender::new(0),
        }
    }

    /// Has another name than `guard`.
    pub(crate) fn named(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Says this, whatever it is told.
    pub(crate) fn saying(self, say: Say) -> Self {
        self.speaking(move |_, _| Ok(say.clone()))
    }

    /// Says what `speak` does of what it is told, for the nth time.
    pub(crate) fn speaking(
        mut self,
        speak: impl Fn(&Occasion, usize) -> Result<Say, Trouble> + Send + Sync + 'static,
    ) -> Self {
        self.speak = Box::new(speak);
        self
    }

    /// Waits at a gate before it says anything.
    pub(crate) fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some((gate.clone(), None));
        self
    }

    /// Waits at a gate at one point.
    pub(crate) fn behind_at(mut self, point: Point, gate: &Gate) -> Self {
        self.gate = Some((gate.clone(), Some(point)));
        self
    }

    /// May take as long as this.
    pub(crate) fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Returns what it was told so far, in order.
    pub(crate) fn seen(&self) -> Vec<Occasion> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until it has been called so often.
    pub(crate) async fn called(&self, times: usize) {
        let mut count = self.count.subscribe();
        count.wait_for(|count| *count >= times).await.unwrap();
    }
}

impl Watch for Guard {
    fn name(&self) -> &str {
        self.name
    }

    fn is_at(&self, point: Point) -> bool {
        self.points.contains(&point)
    }

    fn limit(&self) -> Duration {
        self.limit
    }

    fn call(&self, occasion: Occasion, cancel: Cancel) -> BoxFuture<'static, Result<Say, Trouble>> {
        let nth = {
            let mut seen = self.seen.lock().unwrap();
            seen.push(occasion.clone());
            seen.len()
        };
        let said = (self.speak)(&occasion, nth);
        let here = |point: &Option<Point>| point.is_none_or(|point| point == occasion.point());
        let gate = self.gate.clone().filter(|(_, point)| here(point));
        self.count.send_modify(|count| *count += 1);
        Box::pin(async move {
            if let Some((gate, _)) = gate {
                tokio::select! {
                    () = gate.passed() => {}
                    () = cancel.cancelled() => {}
                }
            }
            said
        })
    }
}

pub(crate) fn deny(reason: &str) -> Say {
    Say::word(Word::Deny {
        reason: reason.to_owned(),
    })
}

/// Returns an ending that a hook was told of, as (status, kept before, over already).
pub(crate) fn ending(occasion: &Occasion) -> (&'static str, bool, bool) {
    match &occasion.what {
        What::Stop(ending) | What::SubagentStop(ending) => {
            (ending.status, ending.kept, ending.over)
        }
        other => panic!("not the end of a run: {other:?}"),
    }
}

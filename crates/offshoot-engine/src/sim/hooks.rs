//! A hook of a history: slow, moody, sometimes broken, and drawn from a seed of its own.
//!
//! It objects to calls, to starts and ends of children and to summaries, tells
//! agents things, takes longer than it may, and panics. What people say it only
//! delays, so that the oracle finds their words again. It notes which runs it was
//! told the end of.

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use offshoot_types::cancel::Cancel;
use offshoot_types::hook::{Hooks, Occasion, Point, Say, Trouble, Watch, What, Word};
use offshoot_types::id::RunId;

use super::chance::Chance;
use super::oracle::Witness;

struct Moody {
    chance: Chance,
    witness: Arc<Witness>,
}

/// Returns the hooks of a history: of every third, one; else none.
pub(crate) fn hooks(seed: u64, witness: &Arc<Witness>) -> Hooks {
    let mut hooks = Hooks::default();
    if seed.is_multiple_of(3) {
        let (chance, witness) = (Chance::new(!seed), witness.clone());
        hooks.watch(Arc::new(Moody { chance, witness }));
        hooks.watch(Arc::new(Mute));
    }
    hooks
}

/// One that has nothing to say to the end of a run, whatever the other says.
struct Mute;

impl Watch for Mute {
    fn name(&self) -> &str {
        "mute"
    }

    fn is_at(&self, point: Point) -> bool {
        point.is_end_of_run()
    }

    fn call(&self, _: Occasion, _: Cancel) -> BoxFuture<'static, Result<Say, Trouble>> {
        Box::pin(std::future::ready(Ok(Say::nothing())))
    }
}

impl Watch for Moody {
    fn name(&self) -> &str {
        "moody"
    }

    fn is_at(&self, _point: Point) -> bool {
        true
    }

    fn limit(&self) -> Duration {
        Duration::from_millis(700)
    }

    fn call(&self, occasion: Occasion, cancel: Cancel) -> BoxFuture<'static, Result<Say, Trouble>> {
        let chance = self.chance.clone();
        if let (What::SubagentStop(ending), Some(run)) = (&occasion.what, occasion.who.run) {
            let agent = occasion.who.agent.clone();
            self.witness.stopped(RunId { agent, run }, ending.over);
        }
        Box::pin(async move {
            chance.pause().await;
            if chance.one_in(12) {
                let long = Duration::from_millis(chance.draw() % 4_000);
                tokio::select! {
                    biased;
                    () = cancel.cancelled(), if chance.one_in(2) => {}
                    () = tokio::time::sleep(long) => {}
                }
            }
            if chance.one_in(40) {
                return Err(Trouble::BrokeDown("it has a bad day".to_owned()));
            }
            Ok(Say {
                word: word(&chance, occasion.point()),
                context: context(&chance, occasion.point()),
                note: None,
                switch: None,
            })
        })
    }
}

fn word(chance: &Chance, point: Point) -> Word {
    let reason = "it does not like it".to_owned();
    match point {
        Point::PreToolUse | Point::PermissionRequest => match chance.below(10) {
            0 => Word::Deny { reason },
            1 => Word::Ask { reason },
            2 if chance.one_in(4) => Word::Stop { reason },
            _ => Word::Nothing,
        },
        Point::SubagentStop if chance.one_in(4) => Word::Deny { reason },
        Point::SubagentStart | Point::PreCompact if chance.one_in(8) => Word::Deny { reason },
        Point::PostToolUse | Point::PostToolUseFailure if chance.one_in(20) => {
            Word::Stop { reason }
        }
        Point::PostToolUse
        | Point::PostToolUseFailure
        | Point::SubagentStart
        | Point::SubagentStop
        | Point::PreCompact
        | Point::UserPromptSubmit
        | Point::SessionStart
        | Point::SessionEnd
        | Point::Stop
        | Point::Notification => Word::Nothing,
    }
}

fn context(chance: &Chance, point: Point) -> Option<String> {
    let tells = !matches!(point, Point::UserPromptSubmit | Point::SessionStart);
    (tells && chance.one_in(5)).then(|| "by the way".to_owned())
}

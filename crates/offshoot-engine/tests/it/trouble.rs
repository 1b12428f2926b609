//! What is written late, or not at all: who waits for it, and what is said anew after a crash.

use std::sync::Arc;
use std::time::Duration;

use offshoot_engine::{Asks, Limits, Update, Who};
use offshoot_types::caps::Caps;
use offshoot_types::command::{Answer, Order, Receipt, Scope, Verdict};
use offshoot_types::event::Event;
use offshoot_types::hook::{About, Hook};
use offshoot_types::id::{Pos, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, Mode};
use offshoot_types::message::UserMessage;
use offshoot_types::model::ModelErrorKind;
use offshoot_types::tool::Effect;
use serde_json::json;

use crate::asks::{answer, asked, no, no_effect, stage, write};
use crate::stage::{Gate, Line, Probe, Script, Stage, Trouble, call, data, fail, say, task};

#[tokio::test]
async fn whoever_answers_what_is_being_decided_hears_at_once_that_it_has_been() {
    let script = Script::default().part("lead", [call(&[("probe", json!({}))]), say("done")]);
    let stage = stage(script).await;
    let (written, ran) = (Gate::shut(), Gate::shut());
    let probe = Probe::new("probe", Effect::Write).needing("fs.write");
    let (notes, _attached) = probe.held_at(&ran).on(&stage);
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    let decided = |event: &Event| matches!(event, Event::Decided { .. });
    stage
        .wire
        .trouble_with(Trouble::Held(written.clone()), decided);
    let second = async {
        stage.wire.met(1).await;
        let second = answer(&stage, ask.clone(), no("too late"));
        let between = async {
            // Whatever was sent before has been taken when this is answered.
            stage.order(stage.root(), Order::Promote).await;
            written.open();
        };
        let (second, ()) = tokio::join!(second, between);
        second
    };
    let (first, second) = tokio::join!(answer(&stage, ask.clone(), Verdict::Once), second);
    assert_eq!(first, Receipt::Answered);
    assert_eq!(second, no_effect("it has been decided"));
    notes.running(1).await;
    ran.open();
    stage.quiet().await;
}

#[tokio::test]
async fn r6_an_outcome_that_cannot_be_written_is_heard_of_while_the_model_is_silent() {
    let never = Gate::shut();
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("never").behind(&never)])
        .part("worker", [say("worked")]);
    let stage = Stage::new(script).await;
    let mut updates = stage.runtime.subscribe(&stage.tree, Pos::ZERO).await;
    // From here on it follows what happens, and not only the log.
    while !matches!(updates.next().await.unwrap(), Update::Idle) {}
    let finished = |event: &Event| matches!(event, Event::CallFinished { .. });
    stage.wire.trouble_with(Trouble::Broken, finished);
    stage.prompt(stage.root(), "go").await;
    while !matches!(updates.next().await.unwrap(), Update::Parked(_)) {}
}

/// How a child ends that a call waits for: who it is, what it says, who answers what it asks.
struct Ending {
    child: Manifest,
    lines: Vec<Line>,
    asks: Asks,
}

impl Ending {
    fn of(lines: impl IntoIterator<Item = Line>) -> Self {
        Self {
            child: Manifest::new("child", Mode::Subagent, "Work."),
            lines: lines.into_iter().collect(),
            asks: Asks::YES,
        }
    }

    fn within_a_step(lines: [Line; 2]) -> Self {
        let mut ending = Self::of(lines);
        ending.child.limits = Caps {
            steps: Some(1),
            ..Caps::default()
        };
        ending
    }
}

#[tokio::test]
async fn r14_a_child_is_told_in_the_same_words_after_a_crash() {
    let look = || call(&[("read", json!({ "path": "a" }))]);
    let with_value = || {
        let mut ending = Ending::of([say("{\"count\": 3}")]);
        ending.child.output_schema = Some(RawJson::of(&json!({ "type": "object" })));
        ending
    };
    let unanswered = |mut ending: Ending| {
        ending.lines.insert(0, write("a"));
        ending.asks = Asks::NOBODY;
        ending
    };
    let endings = [
        ("completed", Ending::of([say("worked")])),
        ("long", Ending::of([say(&"words ".repeat(60_000))])),
        ("no answer", Ending::of([say("")])),
        ("failed", Ending::of([fail(ModelErrorKind::Invalid)])),
        ("partial", Ending::within_a_step([look(), say("so far")])),
        ("exhausted", Ending::within_a_step([look(), say("")])),
        (
            "cancelled",
            Ending::of([say("never").behind(&Gate::shut())]),
        ),
        ("a value", with_value()),
        ("unanswered", unanswered(Ending::of([say("could not")]))),
        ("both", unanswered(with_value())),
    ];
    for (name, ending) in endings {
        check_told_again(name, ending).await;
    }
}

async fn check_told_again(name: &str, ending: Ending) {
    let Ending { child, lines, asks } = ending;
    let script = Script::default()
        .part("lead", [task("child", "go"), say("never")])
        .part("child", lines);
    let stage = Stage::cast(script, Limits::default(), asks, vec![child]).await;
    stage.wire.trouble(Trouble::Broken, |append| {
        let mut entries = append.entries.iter();
        entries.any(|entry| {
            let finished = matches!(entry.event, Event::CallFinished { .. });
            finished && entry.agent.as_str() == "root"
        })
    });
    stage.prompt(stage.root(), "go").await;
    if name == "cancelled" {
        let child = stage.born("child").await;
        stage.asked("child", 1).await;
        tokio::select! {
            biased;
            () = stage.wire.met(1) => {}
            _ = stage.cancel(child) => {}
        }
    }
    stage.wire.met(1).await;
    let mut sent = stage.wire.broken();
    let [sent] = sent.remove(0).try_into().unwrap();
    let stage = stage.crash().await;
    stage.order(stage.root(), Order::Promote).await;
    let log = stage.log().await.into_iter();
    let told = log
        .filter(|entry| entry.agent == stage.root())
        .find(|entry| matches!(entry.event, Event::CallFinished { .. }));
    assert_eq!(told.unwrap().event, sent, "{name}");
}

/// Refuses what is bad.
struct Prim;

impl Hook for Prim {
    fn user_message(&self, _about: About<'_>, message: &mut UserMessage) -> Result<(), String> {
        if message.text.contains("bad") {
            Err("mind your words".to_owned())
        } else {
            Ok(())
        }
    }
}

#[tokio::test]
async fn a_message_that_is_refused_takes_nobodys_place_though_its_sender_waits_no_longer() {
    let bad = call(&[("message", json!({ "session_id": "CHILD", "text": "bad" }))]);
    let lines = [task("worker", "go"), say("done"), bad, task("worker", "go")];
    let script = Script::default()
        .part("lead", lines.into_iter().chain([say("done")]))
        .part("worker", [say("worked"), say("again")]);
    script.name_first_child("CHILD");
    let lead = Manifest {
        limits: Caps {
            descendants: Some(1),
            ..Caps::default()
        },
        ..Manifest::new("lead", Mode::Primary, "Lead.")
    };
    let stage = Stage::hooked(script, vec![lead], Arc::new(Prim)).await;
    stage.ask("go").await;
    let written = Gate::shut();
    let refused = |receipt: &Receipt| matches!(receipt, Receipt::NoEffect { .. });
    stage
        .wire
        .trouble(Trouble::Held(written.clone()), move |append| {
            append.applied.iter().any(|(_, receipt)| refused(receipt))
        });
    stage.prompt(stage.root(), "say that").await;
    stage.wire.met(1).await;
    stage.order(stage.root(), Order::Cancel(Scope::Turn)).await;
    stage.settled_twice(&stage.root()).await;
    written.open();
    stage.quiet().await;
    stage.ask("once more").await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(data(outcomes.last().unwrap()), json!({ "output": "again" }));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_given_in_time_counts_though_its_nudge_was_lost() {
    let script = Script::default().part("lead", [write("a"), say("written")]);
    let limits = Limits {
        poll: Duration::from_secs(3_600),
        ..Limits::default()
    };
    let asks = Asks {
        yes: false,
        who: Who::Somebody {
            within: Some(Duration::from_secs(6)),
        },
    };
    let stage = Stage::ticking_asking(script, limits, asks, Vec::new()).await;
    stage.prompt(stage.root(), "go").await;
    let (_, call) = asked(&stage, 1).await;
    stage.wire.lose_nudges();
    let yes = Answer {
        given: Some(Timestamp::new(2_000)),
        ..Answer::new(call, Verdict::Once)
    };
    stage.leave_order(Order::Answer(yes)).await;
    stage.pass(8).await;
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
}

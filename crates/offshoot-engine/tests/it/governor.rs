//! A provider that wants everybody to wait (R28).

use std::time::Duration;

use futures_util::FutureExt as _;
use offshoot_engine::{Activity, Limits, Update};
use offshoot_types::caps::{Caps, Span};
use offshoot_types::event::Event;
use offshoot_types::id::Pos;
use offshoot_types::model::ModelErrorKind;
use serde_json::json;

use crate::stage::{Gate, Line, Script, Stage, call, fail, say, task_arguments};

fn wait_for(secs: u64) -> Line {
    fail(ModelErrorKind::RateLimited {
        retry_after: Some(Duration::from_secs(secs)),
    })
}

fn tries_again(activity: &Activity) -> bool {
    matches!(activity, Activity::Retrying { .. })
}

#[tokio::test(start_paused = true)]
async fn r28_a_retry_after_holds_every_session_that_asks_the_model() {
    let script = Script::default().part("lead", [wait_for(30), say("one"), say("two")]);
    let stage = Stage::ticking(script, Vec::new()).await;
    stage.prompt(stage.root(), "go").await;
    stage.until_activity(tries_again).await;

    stage.ask_another("other", "go too").await;
    stage.pass(29).await;
    assert_eq!(stage.script.sent("lead").len(), 1, "nobody asked meanwhile");
    stage.pass(2).await;
    assert_eq!(stage.script.sent("lead").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn r28_who_waits_for_the_provider_holds_no_slot_and_does_not_stall() {
    let both = call(&[
        ("task", task_arguments("worker", "one")),
        ("task", task_arguments("worker", "two")),
    ]);
    let script = Script::default()
        .part("lead", [both, say("done")])
        .part("worker", [wait_for(60), say("one"), say("two")]);
    // With one slot the second child waits for it when the first is told to wait: it gets the slot, and
    // must not ask.
    let limits = Limits {
        slots: 1,
        spawned: Caps {
            stall: Some(Span::secs(10)),
            ..Caps::default()
        },
        ..Limits::default()
    };
    let stage = Stage::ticking_with(script, limits, Vec::new()).await;
    stage.prompt(stage.root(), "go").await;
    stage.until_activity(tries_again).await;
    stage
        .until_activity(|activity| *activity == Activity::RateLimit)
        .await;
    stage.pass(59).await;
    assert_eq!(stage.script.sent("worker").len(), 1);
    stage.pass(2).await;
    assert_eq!(stage.script.sent("worker").len(), 3);
    for child in ["one", "two"] {
        let told = stage.outcomes("lead").await;
        assert!(
            told.iter()
                .any(|outcome| outcome.for_model().contains(child)),
            "{told:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r28_a_deadline_goes_on_while_the_provider_makes_everybody_wait() {
    let script = Script::default()
        .part(
            "lead",
            [
                call(&[(
                    "task",
                    json!({
                        "subagent_type": "worker", "prompt": "one",
                    }),
                )]),
                say("done"),
            ],
        )
        .part("worker", [wait_for(600), say("too late")]);
    let limits = Limits {
        spawned: Caps {
            time: Some(Span::secs(100)),
            ..Caps::default()
        },
        ..Limits::default()
    };
    let stage = Stage::ticking_with(script, limits, Vec::new()).await;
    stage.prompt(stage.root(), "go").await;
    stage.until_activity(tries_again).await;
    stage.pass(101).await;
    let told = stage.outcomes("lead").await;
    assert!(told[0].for_model().contains("exhausted: time"), "{told:?}");
    stage.pass(500).await;
    assert_eq!(stage.script.sent("worker").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn r28_what_is_halved_are_streams_however_many_wait_for_a_slot() {
    let (complains, begun) = (Gate::shut(), Gate::shut());
    let children: Vec<_> = (0..20)
        .map(|index| ("task", task_arguments("worker", &format!("part {index}"))))
        .collect();
    let mut lines = vec![wait_for(5).behind(&complains)];
    lines.extend((0..3).map(|_| say("early").behind(&begun)));
    lines.extend((0..20).map(|_| say("late").behind(&begun)));
    let script = Script::default()
        .part("lead", [call(&children), say("done")])
        .part("worker", lines);
    let limits = Limits {
        slots: 4,
        ..Limits::default()
    };
    let stage = Stage::ticking_with(script, limits, Vec::new()).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 4).await;
    stage.pass(1).await;
    assert_eq!(
        stage.script.sent("worker").len(),
        4,
        "as many as have a slot"
    );
    complains.open();
    stage.pass(7).await;
    // Half of four may be answered now, and three are.
    assert_eq!(stage.script.sent("worker").len(), 4);
    begun.open();
    stage.pass(2).await;
    assert_eq!(stage.script.sent("worker").len(), 21);
}

#[tokio::test(start_paused = true)]
async fn r28_who_is_told_to_wait_no_time_waits_as_long_as_who_is_told_nothing() {
    let script = Script::default().part("lead", [wait_for(0), wait_for(0), say("at last")]);
    let stage = Stage::ticking(script, Vec::new()).await;
    stage.prompt(stage.root(), "go").await;
    stage.until_activity(tries_again).await;
    assert_eq!(stage.script.sent("lead").len(), 1);
    // Half a second before the second try, a whole one before the third.
    stage.pass(1).await;
    assert_eq!(stage.script.sent("lead").len(), 2);
    stage.pass(1).await;
    assert_eq!(stage.script.sent("lead").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn r28_who_waits_for_a_slot_of_the_provider_neither_streams_nor_stalls() {
    let line = say("at last").queueing(6, Duration::from_secs(5));
    let script = Script::default().part("lead", [line]);
    let limits = Limits {
        root: Caps {
            stall: Some(Span::secs(10)),
            ..Caps::default()
        },
        ..Limits::default()
    };
    let stage = Stage::ticking_with(script, limits, Vec::new()).await;
    stage.prompt(stage.root(), "go").await;
    let mut updates = stage.runtime.subscribe(&stage.tree, Pos::ZERO).await;
    stage.pass(12).await;
    while let Some(Ok(update)) = updates.next().now_or_never() {
        let streams = matches!(update, Update::Activity(_, Activity::Streaming));
        assert!(!streams, "nothing has come yet");
    }
    stage.pass(20).await;
    let settled = stage.settlement(&stage.root()).await;
    assert_eq!(settled.output.as_deref(), Some("at last"));
    let log = stage.log().await;
    let timing = log.iter().find_map(|entry| match &entry.event {
        Event::Replied(message) => message.timing,
        _ => None,
    });
    let first = timing.and_then(|timing| timing.first_ms);
    assert!(first.is_some_and(|first| first >= 30_000), "{first:?}");
}

//! Agents that a program starts itself: what they are, what they come to, what stops them.

use futures_util::future::{join_all, try_join_all};
use offshoot::types::caps::Caps;
use offshoot::types::event::Origin;
use offshoot::types::outcome::ErrorKind;
use offshoot::types::settlement::{CancelledBy, Cap, PartialReason};
use offshoot::{Ending, Error, Event, FnModel, Limits, Manifest, Mode, Reply, Runtime, Status};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Gate, gated, numbers, said, stage, until, unwell};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Number {
    n: u64,
}

#[tokio::test]
async fn sa_13_a_child_of_the_program_is_a_true_child_of_one_tree() {
    let runtime = stage(|request| Reply::text(format!("{} heard", request.from.definition)))
        .build()
        .unwrap();
    let host = runtime.host().await.unwrap();
    let child = host.spawn_child("worker", "go").await.unwrap();
    let settlement = child.settled().await.unwrap();
    assert_eq!(settlement.output.as_deref(), Some("worker heard"));
    let tree = host.session().tree().await.unwrap();
    let born = &tree.agent(child.id()).unwrap().spawned;
    assert!(
        matches!(&born.origin, Origin::Task(parent) if parent.agent == *host.session().root().id())
    );
    assert_eq!((born.depth, born.model.as_str()), (1, "demo/words"));
}

#[tokio::test]
async fn the_program_has_no_turn_and_no_run() {
    let runtime = stage(|request| {
        assert_ne!(request.from.definition, "host");
        Reply::text("done")
    })
    .build()
    .unwrap();
    let host = runtime.host().await.unwrap();
    let child = host.spawn_child("worker", "go").await.unwrap();
    child.settled().await.unwrap();
    until(host.session(), |event| {
        matches!(event, Event::Completion { .. })
    })
    .await;
    let tree = host.session().tree().await.unwrap();
    assert!(
        tree.agent(host.session().root().id())
            .unwrap()
            .runs
            .is_empty()
    );
}

/// With one slot, and with more children than a root may be woken for.
#[tokio::test]
async fn sixty_children_at_a_time_have_sixty_results() {
    let limits = Limits {
        slots: 1,
        ..Limits::default()
    };
    let runtime = stage(|request| Reply::value(&json!({ "n": said(request).len() })))
        .agent(numbers())
        .limits(limits)
        .build()
        .unwrap();
    let host = runtime.host().await.unwrap();
    let texts: Vec<String> = (0..60).map(|length| "x".repeat(length)).collect();
    let spawned = texts.iter().map(|text| host.spawn_child("numbers", text));
    let children = try_join_all(spawned).await.unwrap();
    let results = try_join_all(children.iter().map(|child| child.result::<Number>()));
    let expected: Vec<Number> = (0..60).map(|n| Number { n }).collect();
    assert_eq!(results.await.unwrap(), expected);
    runtime.shutdown(Ending::WhenQuiet).await;
}

#[tokio::test]
async fn an_answer_that_never_fits_the_schema_is_not_a_result() {
    let runtime = stage(|_| Reply::text("many")).agent(numbers()).build();
    let host = runtime.unwrap().host().await.unwrap();
    let child = host.spawn_child("numbers", "go").await.unwrap();
    let Err(Error::Unfinished(settlement)) = child.result::<Number>().await else {
        panic!("a result")
    };
    assert_eq!(settlement.status, Status::Partial(PartialReason::Schema));
    assert_eq!(settlement.output.as_deref(), Some("many"));
}

#[tokio::test]
async fn what_cannot_be_read_as_the_type_says_so_and_what_has_no_schema_too() {
    let runtime = stage(|_| Reply::value(&json!({ "n": -1 })))
        .agent(numbers())
        .build()
        .unwrap();
    let host = runtime.host().await.unwrap();
    let child = host.spawn_child("numbers", "go").await.unwrap();
    assert!(matches!(
        child.result::<Number>().await,
        Err(Error::Misfit(_))
    ));
    let child = host.spawn_child("worker", "go").await.unwrap();
    assert!(matches!(
        child.result::<Number>().await,
        Err(Error::Untyped)
    ));
}

#[tokio::test]
async fn sa_03_sa_11_what_task_would_refuse_is_refused_with_its_reason() {
    let runtime = stage(|_| Reply::text("done"))
        .agent(Manifest::new("chief", Mode::Primary, "Lead."))
        .build()
        .unwrap();
    let host = runtime.host().await.unwrap();
    for (definition, expected) in [
        ("nobody", ErrorKind::UnknownAgent),
        ("chief", ErrorKind::WrongMode),
        ("host", ErrorKind::WrongMode),
    ] {
        let Err(Error::Refused { kind, .. }) = host.spawn_child(definition, "go").await else {
            panic!("{definition} was started")
        };
        assert_eq!(kind, expected, "{definition}");
    }
    // Being refused ends nothing.
    let child = host.spawn_child("worker", "go").await.unwrap();
    assert_eq!(child.settled().await.unwrap().status, Status::Completed);
}

#[tokio::test]
async fn a_cap_on_live_agents_holds_for_all_that_the_program_starts() {
    let gate = Gate::shut();
    let runtime = gated(&gate).build().unwrap();
    let caps = Caps {
        descendants: Some(2),
        ..Caps::default()
    };
    let host = runtime.new_session().caps(caps).host().await.unwrap();
    let spawned = join_all((0..3).map(|_| host.spawn_child("worker", "go"))).await;
    let refused = spawned
        .iter()
        .filter(|child| matches!(child, Err(Error::Refused { .. })));
    assert_eq!(refused.count(), 1);
    gate.open();
}

#[tokio::test]
async fn r25_without_room_in_a_cap_of_the_session_a_child_asks_no_model() {
    let runtime = stage(|_| Reply::text("done")).build().unwrap();
    let caps = Caps {
        tokens: Some(1_000),
        ..Caps::default()
    };
    let host = runtime.new_session().caps(caps).host().await.unwrap();
    let child = host.spawn_child("worker", "go").await.unwrap();
    let settlement = child.settled().await.unwrap();
    assert_eq!(settlement.status, Status::BudgetExhausted(Cap::Tokens));
    assert_eq!(settlement.steps, 0);
}

#[tokio::test]
async fn r14_a_child_below_an_agent_with_a_model_is_read_in_its_next_turn_and_wakes_it_only_in_the_background()
 {
    let runtime = stage(|request| Reply::text(format!("{} read", request.messages.len())));
    let runtime = runtime.agent(Manifest::new("chief", Mode::Primary, "Lead."));
    let runtime = runtime.build().unwrap();
    let session = runtime.open("chief").await.unwrap();
    let child = session.root().spawn("worker").prompt("go").id("kid").await;
    let child = child.unwrap();
    assert_eq!(child.id().as_str(), "kid");
    child.settled().await.unwrap();
    // The completion and the prompt.
    let settlement = session.prompt("well?").await.unwrap();
    assert_eq!(
        (settlement.output.as_deref(), settlement.steps),
        (Some("2 read"), 1)
    );

    let metadata = offshoot::RawJson::of(&json!({ "ticket": 7 }));
    let caps = Caps {
        steps: Some(1),
        ..Caps::default()
    };
    let form = session.root().spawn("worker").prompt("more");
    let form = form.metadata(metadata.clone()).caps(caps).background();
    let child = form.start().await.unwrap();
    let woken = |event: &Event| matches!(event, Event::TurnStarted { prompt: None, .. });
    until(&session, woken).await;
    let tree = session.tree().await.unwrap();
    let born = &tree.agent(child.id()).unwrap().spawned;
    assert_eq!(
        (&born.metadata, born.terms.caps.steps),
        (&Some(metadata), Some(1))
    );
}

#[tokio::test]
async fn sa_21_cancelling_the_programs_session_stops_all_its_children() {
    let runtime = gated(&Gate::shut()).build().unwrap();
    let host = runtime.host().await.unwrap();
    let spawned = (0..3).map(|_| host.spawn_child("worker", "go"));
    let children = try_join_all(spawned).await.unwrap();
    host.session().cancel().await.unwrap();
    for child in children {
        let status = child.settled().await.unwrap().status;
        assert_eq!(status, Status::Cancelled(CancelledBy::Ancestor));
    }
}

#[tokio::test]
async fn sa_40_one_child_is_cancelled_alone_and_another_goes_on() {
    let gate = Gate::shut();
    let runtime = gated(&gate).build().unwrap();
    let host = runtime.host().await.unwrap();
    let stopped = host.spawn_child("worker", "go").await.unwrap();
    let other = host.spawn_child("worker", "go").await.unwrap();
    stopped.cancel().await.unwrap();
    gate.open();
    let status = stopped.settled().await.unwrap().status;
    assert_eq!(status, Status::Cancelled(CancelledBy::User));
    assert_eq!(other.settled().await.unwrap().status, Status::Completed);
    // Of one that is over there is nothing to stop, and that is no error.
    other.cancel().await.unwrap();
}

#[tokio::test]
async fn sa_40_a_child_that_is_done_can_be_asked_again() {
    let runtime = stage(|request| Reply::value(&json!({ "n": request.messages.len() })))
        .agent(numbers())
        .build()
        .unwrap();
    let host = runtime.host().await.unwrap();
    let child = host.spawn_child("numbers", "go").await.unwrap();
    assert_eq!(child.result::<Number>().await.unwrap(), Number { n: 1 });
    // It remembers: its first question and answer, then this.
    let again: Number = child.ask("and now?").await.unwrap();
    assert_eq!(again, Number { n: 3 });
    assert_eq!(child.result::<Number>().await.unwrap(), again);
}

#[tokio::test]
async fn a_child_that_fails_is_an_error_with_the_reason() {
    let model = FnModel::new(|_| async { Err(unwell()) });
    let runtime = Runtime::builder()
        .model("demo/unwell", model)
        .agent(numbers())
        .build()
        .unwrap();
    let host = runtime.host().await.unwrap();
    let child = host.spawn_child("numbers", "go").await.unwrap();
    let error = child.result::<Number>().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the run ended failed: the model is unwell"
    );
}

/// The engine's own children go through the same door: what is said of the program's holds for them.
#[tokio::test]
async fn children_of_children_are_reached_by_their_ids() {
    let runtime = stage(
        |request| match (request.from.definition.as_str(), said(request)) {
            ("worker", "go") => Reply::call(
                "task",
                &json!({ "subagent_type": "numbers", "prompt": "x" }),
            ),
            ("worker", _) => Reply::text("done"),
            _ => Reply::value(&json!({ "n": request.from.depth })),
        },
    )
    .agent(numbers())
    .build()
    .unwrap();
    let host = runtime.host().await.unwrap();
    let child = host.spawn_child("worker", "go").await.unwrap();
    child.settled().await.unwrap();
    until(
        host.session(),
        |event| matches!(event, Event::Spawned(born) if born.depth == 2),
    )
    .await;
    let tree = host.session().tree().await.unwrap();
    let grandchild = &tree.agent(child.id()).unwrap().children[0];
    let result: Number = host.session().agent(grandchild).result().await.unwrap();
    assert_eq!(result, Number { n: 2 });
}

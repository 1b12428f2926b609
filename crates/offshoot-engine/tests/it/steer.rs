//! Looking after children: list, wait, talk, stop.

use offshoot_engine::{CommandError, Limits};
use offshoot_types::command::{Command, Order};
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, CommandId};
use offshoot_types::message::Author;
use offshoot_types::model::ModelErrorKind;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::settlement::{CancelledBy, Status};
use serde_json::json;

use crate::stage::{
    Gate, Line, Script, Stage, call, data, fail, kind, outcome_texts, say, task, task_arguments,
    task_in_background, user_texts,
};

fn steer(tool: &str, arguments: serde_json::Value) -> Line {
    call(&[(tool, arguments)])
}

/// Two workers in the background, in one message.
fn two_in_background() -> Line {
    let mut arguments = task_arguments("worker", "go");
    arguments["background"] = true.into();
    call(&[("task", arguments.clone()), ("task", arguments)])
}

#[tokio::test]
async fn a_parent_sees_its_children_what_they_do_and_what_they_used() {
    let gate = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                two_in_background(),
                steer("children", json!({})).behind(&gate),
                say("seen"),
            ],
        )
        .part("worker", [say("one"), say("two").behind(&Gate::shut())]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let first = stage.born("worker").await;
    stage.settled(&first).await;
    stage.asked("worker", 2).await;
    gate.open();
    stage.turn_ended(&stage.root()).await;

    let seen = data(&stage.outcomes("lead").await[2]);
    let children = seen["children"].as_array().unwrap();
    assert_eq!(children.len(), 2);
    let of = |state: &str| children.iter().find(|child| child["state"] == state);
    assert_eq!(of("running").unwrap()["doing"], "waits for the model");
    let done = of("completed").unwrap();
    assert_eq!((&done["tokens"], &done["turns"]), (&json!(12), &json!(1)));
    assert_eq!(done["agent"], "worker");
    assert!(done.get("output").is_none(), "what it said is told once");
}

#[tokio::test]
async fn r14_what_wait_returned_is_not_told_a_second_time() {
    let script = Script::default()
        .part(
            "lead",
            [two_in_background(), steer("wait", json!({})), say("done")],
        )
        .part("worker", [say("one"), say("two")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;

    let told = data(&stage.outcomes("lead").await[2]);
    let said: Vec<_> = told["settled"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["output"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(said.len(), 2);
    assert!(said.contains(&"one".to_owned()) && said.contains(&"two".to_owned()));
    assert!(stage.completions().await.is_empty());
    assert_eq!(stage.script.sent("lead").len(), 3, "nothing woke it again");
}

#[tokio::test]
async fn wait_any_returns_with_the_first_and_the_other_arrives_as_a_message() {
    let gate = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                two_in_background(),
                steer("wait", json!({ "mode": "any" })),
                say("one is enough"),
                say("and the other"),
            ],
        )
        .part("worker", [say("one"), say("two").behind(&gate)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    stage.turn_ended(&stage.root()).await;
    let told = data(&stage.outcomes("lead").await[2]);
    assert_eq!(told["settled"][0]["output"], "one");
    assert_eq!(told["running"][0]["state"], "running");
    gate.open();
    stage.quiet().await;
    assert_eq!(
        stage.completions().await,
        [("completed".to_owned(), Some("two".to_owned()))]
    );
}

#[tokio::test(start_paused = true)]
async fn wait_has_a_deadline_and_then_says_who_still_runs() {
    let gate = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "go"),
                steer("wait", json!({ "timeout_ms": 5_000 })),
                say("not yet"),
            ],
        )
        .part("worker", [say("late").behind(&gate)]);
    let stage = Stage::ticking(script, Vec::new()).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 1).await;
    stage.asked("lead", 2).await;
    // Longer than it has to be: the call begins when its entry is committed, and not before.
    stage.pass(30).await;
    stage.turn_ended(&stage.root()).await;
    let told = data(&stage.outcomes("lead").await[1]);
    assert_eq!(told["timed_out"], true);
    assert_eq!(told["running"][0]["agent"], "worker");
    gate.open();
    stage.quiet().await;
    assert_eq!(stage.completions().await.len(), 1);
}

#[tokio::test]
async fn a_message_reaches_a_running_child_at_its_next_step() {
    let (gate, said) = (Gate::shut(), Gate::shut());
    let look = call(&[("read", json!({ "path": "a" }))]);
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "look"),
                steer(
                    "message",
                    json!({ "session_id": "CHILD", "text": "only b" }),
                )
                .behind(&said),
                say("told it"),
            ],
        )
        .part("worker", [look.behind(&gate), say("looked at b")]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let child = stage.born("worker").await;
    stage.script.name("CHILD", &child);
    stage.asked("worker", 1).await;
    said.open();
    stage.turn_ended(&stage.root()).await;
    gate.open();
    stage.quiet().await;

    let sent = stage.script.sent("worker");
    assert_eq!(user_texts(&sent[0]), ["look"]);
    assert_eq!(user_texts(&sent[1]), ["look", "only b"]);
    assert_eq!(outcome_texts(&sent[1]).len(), 1, "behind the outcome");
    assert_eq!(sent.len(), 2, "in the same turn");
    let log = stage.log().await;
    let by = log.iter().find_map(|entry| match &entry.event {
        Event::Prompted(message) if message.text == "only b" => Some(message.from.clone()),
        _ => None,
    });
    assert_eq!(by, Some(Author::Parent));
}

#[tokio::test]
async fn a_message_continues_a_settled_child_as_a_new_run() {
    let script = Script::default()
        .part(
            "lead",
            [
                task("watched", "first"),
                steer(
                    "message",
                    json!({ "session_id": "CHILD", "text": "and now?" }),
                ),
                say("asked again"),
                say("thanks"),
            ],
        )
        .part("watched", [say("one"), say("two")]);
    let stage = Stage::new(script).await;
    stage.script.name_first_child("CHILD");
    stage.ask("go").await;

    let child = stage.born("watched").await;
    let tree = stage.tree().await;
    assert_eq!(tree.agent(&child).unwrap().runs.len(), 2);
    assert_eq!(
        stage.completions().await,
        [("completed".to_owned(), Some("two".to_owned()))]
    );
    let sent = stage.script.sent("watched");
    assert_eq!(user_texts(&sent[1]), ["first", "and now?"]);
}

#[tokio::test]
async fn cancel_stops_one_child_and_returns_how_it_ended() {
    let gate = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                two_in_background(),
                steer("cancel", json!({ "session_id": "CHILD" })).behind(&gate),
                steer("wait", json!({})),
                say("one is gone"),
            ],
        )
        .part("worker", [say("never").behind(&Gate::shut()), say("two")]);
    let stage = Stage::new(script).await;
    stage.script.name_first_child("CHILD");
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 2).await;
    gate.open();
    stage.quiet().await;

    let outcomes = stage.outcomes("lead").await;
    assert_eq!(data(&outcomes[2])["settled"][0]["status"], "cancelled");
    let child = stage.born("worker").await;
    assert_eq!(
        stage.settlement(&child).await.status,
        Status::Cancelled(CancelledBy::Parent)
    );
    let rest = data(&outcomes[3]);
    assert_eq!(rest["settled"].as_array().unwrap().len(), 1);
    assert_eq!(rest["settled"][0]["output"], "two");
    assert!(stage.completions().await.is_empty());
}

#[tokio::test]
async fn nobody_reaches_a_strangers_child_nor_itself_nor_whoever_is_above() {
    let script = Script::default()
        .part("lead", [task("helper", "go"), say("done")])
        .part(
            "helper",
            [
                steer(
                    "message",
                    json!({ "session_id": "root", "text": "allow everything" }),
                ),
                steer("cancel", json!({ "session_id": "root" })),
                steer("wait", json!({ "session_ids": ["nobody"] })),
                steer("message", json!({ "session_id": "CHILD", "text": "me" })),
                say("refused"),
            ],
        );
    let stage = Stage::new(script).await;
    stage.script.name_first_child("CHILD");
    stage.ask("go").await;
    let outcomes = stage.outcomes("helper").await;
    assert_eq!(outcomes.len(), 4);
    assert!(
        outcomes
            .iter()
            .all(|outcome| kind(outcome) == ErrorKind::UnknownAgent)
    );
}

#[tokio::test]
async fn a_face_cannot_speak_for_an_agent() {
    let stage = Stage::new(Script::default()).await;
    let mut prompt = stage.words("do it");
    prompt.from = Author::Parent;
    let forged = stage
        .runtime
        .command(Command {
            id: CommandId::new("forged"),
            tree: stage.tree.clone(),
            agent: AgentId::new("root"),
            order: Order::Prompt(prompt),
        })
        .await;
    assert!(matches!(forged, Err(CommandError::Invalid(_))));
}

#[tokio::test]
async fn what_wait_tells_stands_before_who_still_runs_however_many_they_are() {
    let gate = Gate::shut();
    let mut arguments = task_arguments("worker", "go");
    arguments["background"] = true.into();
    let many: Vec<_> = (0..120).map(|_| ("task", arguments.clone())).collect();
    let script = Script::default()
        .part(
            "lead",
            [
                call(&many),
                steer("wait", json!({ "mode": "any" })),
                say("enough"),
            ],
        )
        .part(
            "worker",
            std::iter::once(say("the first")).chain((0..119).map(|_| say("later").behind(&gate))),
        );
    // Those that wait at the gate hold a slot each.
    let limits = offshoot_engine::Limits {
        slots: 200,
        ..offshoot_engine::Limits::default()
    };
    let stage = Stage::with(script, limits).await;
    stage.prompt(stage.root(), "go").await;
    stage.turn_ended(&stage.root()).await;
    let told = &stage.outcomes("lead").await[120];
    assert!(told.for_model().starts_with("{\"settled\":[{"));
    let told = data(told);
    assert_eq!(told["running"].as_array().unwrap().len(), 50);
    assert_eq!(told["more_running"], 69);
    gate.open();
    stage.quiet().await;
    assert_eq!(stage.completions().await.len(), 119, "each exactly once");
}

#[tokio::test(start_paused = true)]
async fn the_clock_of_an_ancestor_that_has_settled_does_not_stop_a_new_run_below_it() {
    let script = Script::default()
        .part("lead", [task("helper", "go"), say("done"), say("thanks")])
        .part("helper", [task("watched", "go"), say("ok"), say("heard")])
        .part("watched", [say("one"), say("two")]);
    let stage = Stage::ticking(script, Vec::new()).await;
    stage.ask_and_wait("go").await;
    let leaf = stage.born("watched").await;
    stage.pass(3_700).await;
    stage.prompt(leaf.clone(), "and the next day?").await;
    while stage.script.sent("watched").len() < 2 {
        stage.pass(1).await;
    }
    stage.settled_twice(&leaf).await;
    let settlement = stage.settlement(&leaf).await;
    assert_eq!(settlement.status, Status::Completed);
    assert_eq!(settlement.output.as_deref(), Some("two"));
}

#[tokio::test]
async fn r26_a_message_does_not_wake_more_agents_than_may_live() {
    let gate = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                task("worker", "first"),
                task_in_background("helper", "for long"),
                steer(
                    "message",
                    json!({ "session_id": "FIRST", "text": "once more" }),
                ),
                say("done"),
            ],
        )
        .part("worker", [say("worked")])
        .part("helper", [say("helped").behind(&gate)]);
    script.name_first_child("FIRST");
    let limits = Limits {
        descendants: 1,
        ..Limits::default()
    };
    let stage = Stage::with(script, limits).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("lead", 4).await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(kind(&outcomes[2]), ErrorKind::Caps);
    gate.open();
    stage.quiet().await;
    assert_eq!(stage.script.sent("worker").len(), 1);
}

#[tokio::test]
async fn r26_two_messages_of_one_reply_do_not_wake_more_agents_than_may_live() {
    let gate = Gate::shut();
    let message = |word: &str| ("message", json!({ "session_id": word, "text": "more" }));
    let script = Script::default()
        .part(
            "lead",
            [
                task("worker", "first"),
                task("helper", "second"),
                say("made"),
                // Two for one of them take one place.
                call(&[message("FIRST"), message("FIRST"), message("SECOND")]),
                say("asked"),
                say("heard"),
            ],
        )
        .part("worker", [say("worked"), say("again").behind(&gate)])
        .part("helper", [say("helped")]);
    let limits = Limits {
        descendants: 1,
        ..Limits::default()
    };
    let stage = Stage::with(script, limits).await;
    stage.ask("go").await;
    stage.script.name("FIRST", &stage.born("worker").await);
    stage.script.name("SECOND", &stage.born("helper").await);
    stage.prompt(stage.root(), "once more").await;
    stage.asked("lead", 5).await;
    let outcomes = stage.outcomes("lead").await;
    let refused: Vec<ErrorKind> = outcomes
        .iter()
        .filter(|one| one.is_error())
        .map(kind)
        .collect();
    assert_eq!(refused, [ErrorKind::Caps]);
    gate.open();
    stage.quiet().await;
    assert_eq!(stage.script.sent("helper").len(), 1);
}

#[tokio::test]
async fn r26_a_child_that_fails_with_a_message_waiting_for_it_gives_its_place_back() {
    let (gate, said) = (Gate::shut(), Gate::shut());
    let more = |text: &str| {
        let arguments = json!({ "session_id": "CHILD", "text": text });
        steer("message", arguments)
    };
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "look"),
                more("only b").behind(&said),
                say("told it"),
                task("helper", "instead"),
                more("try again"),
                say("asked"),
                say("heard"),
            ],
        )
        .part(
            "worker",
            [
                fail(ModelErrorKind::Invalid).behind(&gate),
                say("looked at b"),
                say("tried again"),
            ],
        )
        .part("helper", [say("helped")]);
    let limits = Limits {
        descendants: 1,
        ..Limits::default()
    };
    let stage = Stage::with(script, limits).await;
    stage.prompt(stage.root(), "go").await;
    let worker = stage.born("worker").await;
    stage.script.name("CHILD", &worker);
    stage.asked("worker", 1).await;
    said.open();
    stage.turn_ended(&stage.root()).await;
    gate.open();
    stage.quiet().await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(
        data(&outcomes[2]),
        json!({ "output": "helped" }),
        "there is room for another"
    );
    assert!(!outcomes[3].is_error(), "and for itself, once it is free");
    let sent = stage.script.sent("worker");
    let last = user_texts(sent.last().unwrap());
    assert_eq!(last, ["look", "only b", "try again"]);
}

#[tokio::test]
async fn who_is_spoken_to_and_waited_for_in_one_reply_is_waited_for_until_it_has_answered() {
    let wait = ("wait", json!({}));
    let named = ("wait", json!({ "session_ids": ["FIRST"] }));
    let message = ("message", json!({ "session_id": "FIRST", "text": "more" }));
    for wait in [named, wait] {
        let gate = Gate::shut();
        let script = Script::default()
            .part(
                "lead",
                [
                    task("worker", "first"),
                    call(&[message.clone(), wait]),
                    say("done"),
                ],
            )
            .part("worker", [say("worked"), say("and again").behind(&gate)]);
        script.name_first_child("FIRST");
        let stage = Stage::new(script).await;
        stage.prompt(stage.root(), "go").await;
        stage.asked("worker", 2).await;
        assert_eq!(stage.script.sent("lead").len(), 2, "it still waits");
        gate.open();
        stage.quiet().await;
        let outcomes = stage.outcomes("lead").await;
        let told = |outcome: &&Outcome| outcome.for_model().contains("and again");
        assert_eq!(outcomes.iter().filter(told).count(), 1, "{outcomes:?}");
        assert_eq!(stage.script.sent("lead").len(), 3, "and is told once");
    }
}

#[tokio::test]
async fn what_is_done_to_one_agent_in_one_reply_is_done_in_the_order_of_the_calls() {
    let gate = Gate::shut();
    let both = call(&[
        ("cancel", json!({ "session_id": "CHILD" })),
        (
            "message",
            json!({ "session_id": "CHILD", "text": "start over" }),
        ),
        ("wait", json!({})),
    ]);
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "x"),
                both.behind(&gate),
                say("done"),
            ],
        )
        .part(
            "worker",
            [say("never").behind(&Gate::shut()), say("over again")],
        );
    let stage = Stage::new(script).await;
    stage.script.name_first_child("CHILD");
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 1).await;
    gate.open();
    stage.quiet().await;

    let outcomes = stage.outcomes("lead").await;
    assert_eq!(data(&outcomes[1])["settled"][0]["status"], "cancelled");
    assert_eq!(data(&outcomes[3])["settled"][0]["output"], "over again");
}

//! What PilotDeck's subagents do, on ours: scope, limits, side by side, transcripts.

use offshoot_types::event::{Event, Origin};
use offshoot_types::manifest::{Manifest, Mode};
use offshoot_types::model::{ModelErrorKind, RequestMessage, ToolChoice};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::Action;
use offshoot_types::settlement::{Cap, PartialReason, Status};
use offshoot_types::transcript::Transcript;
use serde_json::json;

use crate::stage::{
    Gate, Script, Stage, call, data, fail, kind, outcome_texts, say, task, task_arguments,
    task_in_background,
};

#[tokio::test]
async fn pd_24_an_unknown_tool_in_a_child_is_a_tool_error_and_it_goes_on() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part(
            "worker",
            [call(&[("telescope", json!({}))]), say("without it")],
        );
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    assert_eq!(
        kind(&stage.outcomes("worker").await[0]),
        ErrorKind::UnknownTool
    );
    assert_eq!(
        data(&stage.outcomes("lead").await[0]),
        json!({ "output": "without it" })
    );
}

#[tokio::test]
async fn pd_33_pd_34_a_spawned_run_has_sixteen_steps_and_its_cap_is_no_success() {
    let look = || call(&[("read", json!({ "path": "a" }))]);
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part(
            "worker",
            (0..16).map(|_| look()).chain([say("what I have")]),
        );
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let sent = stage.script.sent("worker");
    assert_eq!(sent.len(), 17);
    assert_eq!(sent[15].choice, ToolChoice::Auto);
    assert_eq!(sent[16].choice, ToolChoice::None);
    let child = stage.settlement(&stage.born("worker").await).await;
    assert_eq!(
        child.status,
        Status::Partial(PartialReason::Budget(Cap::Steps))
    );
}

#[tokio::test]
async fn pd_50_pd_51_calls_of_one_message_run_side_by_side_and_one_that_fails_harms_no_other() {
    let gate = Gate::shut();
    let three = call(&[
        ("task", task_arguments("worker", "one")),
        ("task", task_arguments("helper", "two")),
        ("task", task_arguments("watched", "three")),
    ]);
    let script = Script::default()
        .part("lead", [three, say("done")])
        .part("worker", [say("first").behind(&gate)])
        .part("helper", [fail(ModelErrorKind::Invalid)])
        .part("watched", [say("third").behind(&gate)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    // All three are under way before any of them is let go.
    stage.asked("worker", 1).await;
    stage.asked("helper", 1).await;
    stage.asked("watched", 1).await;
    gate.open();
    stage.quiet().await;
    let texts = outcome_texts(&stage.script.sent("lead")[1]);
    assert!(texts[0].contains("first"), "in the order of the calls");
    assert!(texts[1].starts_with("error: agent helper"));
    assert!(texts[2].contains("third"));
}

#[tokio::test]
async fn pd_45_pd_46_pd_47_a_childs_log_is_its_own_and_the_parents_names_it_with_its_call() {
    let script = Script::default()
        .part("lead", [task("worker", "look at it"), say("done")])
        .part(
            "worker",
            [call(&[("read", json!({ "path": "a" }))]), say("seen")],
        );
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let child = stage.born("worker").await;
    let log = stage.log().await;
    let own: Vec<_> = log.iter().filter(|entry| entry.agent == child).collect();
    let seqs: Vec<u64> = own.iter().map(|entry| entry.seq.get()).collect();
    assert_eq!(seqs, (1..=own.len() as u64).collect::<Vec<_>>());
    let Event::Spawned(spawned) = &own[0].event else {
        panic!("it begins with its birth")
    };
    let Origin::Task(parent) = &spawned.origin else {
        panic!("it is a child")
    };
    assert!(
        matches!(own.last().unwrap().event, Event::Settled { .. }),
        "W-5: and ends with its end"
    );
    let started = log.iter().find_map(|entry| match &entry.event {
        Event::CallStarted {
            call,
            child: Some(child),
        } => Some((call.clone(), child.clone())),
        _ => None,
    });
    assert_eq!(started, Some((parent.call.clone(), child.clone())), "W-20");
    // W-5: what it did can be replayed from its own log alone.
    let replayed = Transcript::fold(own.iter().map(|entry| &entry.event)).unwrap();
    assert_eq!(replayed.items().len(), 3);
}

#[tokio::test]
async fn pd_49_what_a_child_said_is_there_after_its_parents_turn_was_stopped() {
    let gate = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "go"),
                say("…").behind(&gate),
                say("heard"),
            ],
        )
        .part("worker", [say("the answer")]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let child = stage.born("worker").await;
    stage.settled(&child).await;
    stage.cancel(stage.root()).await;
    stage.ask("and now?").await;
    let sent = stage.script.sent("lead");
    let told = sent.last().unwrap().messages.iter().any(
        |message| matches!(message, RequestMessage::User(text) if text.contains("the answer")),
    );
    assert!(told, "it is told with the next turn");
}

#[tokio::test]
async fn sa_12_sa_14_what_a_child_may_do_is_settled_before_its_model_is_asked() {
    let reader = Manifest {
        read_only: true,
        ..Manifest::new("looker", Mode::Subagent, "Look.")
    };
    let script = Script::default().part("lead", [task("looker", "go"), say("done")]);
    let stage = Stage::with_agents(script, vec![reader]).await;
    stage.ask("go").await;
    let child = stage.born("looker").await;
    let log = stage.log().await;
    let of_child = |wanted: fn(&Event) -> bool| {
        let mut own = log.iter().filter(|entry| entry.agent == child);
        own.find(|entry| wanted(&entry.event)).unwrap()
    };
    let born = of_child(|event| matches!(event, Event::Spawned(_)));
    let said = of_child(|event| matches!(event, Event::Replied(_)));
    assert!(born.pos < said.pos);
    let Event::Spawned(spawned) = &born.event else {
        unreachable!()
    };
    assert_eq!(spawned.terms.permissions["fs.write"], Action::Deny);
    assert!(
        stage.script.sent("looker")[0]
            .system
            .contains("workspace: /w"),
        "the parent's folder"
    );
}

#[tokio::test]
async fn sa_15_sa_23_a_lost_blocking_child_is_an_outcome_and_a_background_one_a_message() {
    let never = Gate::shut();
    let mut background = task_arguments("helper", "two");
    background["background"] = true.into();
    let both = call(&[
        ("task", task_arguments("worker", "one")),
        ("task", background),
    ]);
    let script = Script::default()
        .part("lead", [both, say("told")])
        .part("worker", [say("never").behind(&never)])
        .part("helper", [say("never").behind(&never)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 1).await;
    stage.asked("helper", 1).await;
    let stage = stage.crash().await;
    stage.ask("what happened?").await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(outcomes.len(), 2, "the handle, and the lost one");
    assert!(outcomes.iter().any(|outcome| outcome.is_error()));
    let told = stage.completions().await;
    assert_eq!(told.len(), 1, "exactly one failure message");
    assert_eq!(told[0].0, "lost");
}

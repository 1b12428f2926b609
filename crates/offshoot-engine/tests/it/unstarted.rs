//! Calls that had not started when their process died, beside one that a root asks about (R10, R16).

use std::sync::Arc;

use offshoot_engine::{Asks, Attachment};
use offshoot_types::command::{Order, Receipt, Scope, Verdict};
use offshoot_types::event::Event;
use offshoot_types::hook::{Hooks, Point, Say, What};
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::{Action, Layer, Need, Rule, Standing};
use offshoot_types::tool::Effect;
use serde_json::{Value, json};

use crate::asks::{answer, asked, no_effect};
use crate::call_order::Did::{Ask, End, Start};
use crate::call_order::{
    Files, asking, get, history, lead, put, read_by_lead, started, worker, worker_says,
};
use crate::stage::{Gate, Guard, Notes, Probe, Stage, data, deny, kind};

fn run() -> (&'static str, Value) {
    ("run", json!({ "path": "ls" }))
}

fn question() -> (&'static str, Value) {
    let questions = json!([{ "question": "like it?" }]);
    ("question", json!({ "questions": questions }))
}

async fn resume(stage: &Stage) {
    let receipt = stage.order(stage.root(), Order::Resume).await;
    assert_eq!(receipt, Receipt::Resumed);
}

async fn say_yes(stage: &Stage, ask: (AgentId, CallId)) {
    assert_eq!(answer(stage, ask, Verdict::Once).await, Receipt::Answered);
}

/// A root asks about two calls, the second one is allowed, and the process dies.
async fn second_allowed(second: (&str, Value), then: Asks) -> (Stage, (AgentId, CallId)) {
    let stage = asking(
        lead(&[("write", json!({ "path": "a" })), second]),
        Action::Ask,
    )
    .await;
    let (_, _tools) = edit(&stage);
    stage.prompt(stage.root(), "go").await;
    let (first, second) = (asked(&stage, 1).await, asked(&stage, 2).await);
    say_yes(&stage, second).await;
    (stage.crash_into(then).await, first)
}

/// A tool that reads and writes: people are asked about the writing only.
fn edit(stage: &Stage) -> (Notes, Attachment) {
    let probe = Probe::new("edit", Effect::Write).needing(Need::FS_READ);
    probe.needing(Need::FS_WRITE).on(stage)
}

/// The user's rules of `asking`, and one more.
fn rules(permission: &str, action: Action) -> Vec<Layer> {
    vec![Layer {
        name: "the user's rules".to_owned(),
        rules: vec![
            Rule::new(Need::FS_READ, "*", Action::Allow),
            Rule::new(Need::FS_WRITE, "*", Action::Ask),
            Rule::new(permission, "*", action),
        ],
        standing: Standing::Grants,
        ..Layer::default()
    }]
}

#[tokio::test]
async fn r10_calls_behind_an_ask_survive_a_crash_and_run_in_their_order() {
    let script = lead(&[put("a"), get("a"), worker()]).part("worker", worker_says("ok"));
    let stage = asking(script, Action::Ask).await;
    let tools = Files::default().on(&stage);
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    let stage = stage.crash().await;
    drop(tools);
    let _tools = Files::default().on(&stage);
    resume(&stage).await;
    say_yes(&stage, ask).await;
    stage.quiet().await;
    let outcomes = read_by_lead(&stage);
    assert_eq!(outcomes[..2], ["written", "text"]);
    assert!(outcomes[2].contains("ok"), "{outcomes:?}");
    let in_order = [
        (Ask, 0),
        (Start, 0),
        (End, 0),
        (Start, 1),
        (End, 1),
        (Start, 2),
        (End, 2),
    ];
    assert_eq!(history(&stage).await, in_order);
}

#[tokio::test]
async fn r16_a_yes_to_a_call_whose_group_had_not_started_holds_over_crashes() {
    for then in [Asks::SOMEBODY, Asks::NOBODY] {
        let (stage, first) = second_allowed(run(), Asks::SOMEBODY).await;
        resume(&stage).await;
        let stage = stage.crash_into(then).await;
        assert_eq!(answer(&stage, first, Verdict::Once).await, Receipt::Queued);
        resume(&stage).await;
        stage.quiet().await;
        let outcomes = stage.outcomes("lead").await;
        let done: Vec<Value> = outcomes.iter().map(data).collect();
        assert_eq!(done, [json!("done"), json!("done")]);
        let in_order = [(Start, 0), (End, 0), (Start, 1), (End, 1)];
        assert_eq!(
            history(&stage).await[2..],
            in_order,
            "nothing is asked twice"
        );
    }
}

#[tokio::test]
async fn r16_a_deny_by_now_holds_against_a_yes_to_a_call_that_had_not_started() {
    let (stage, first) = second_allowed(run(), Asks::SOMEBODY).await;
    stage.says(rules("shell.run", Action::Deny));
    let stage = stage.crash().await;
    resume(&stage).await;
    say_yes(&stage, first).await;
    stage.quiet().await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(kind(&outcomes[0]), ErrorKind::Denied);
    assert_eq!(data(&outcomes[1]), json!("done"));
}

#[tokio::test]
async fn r16_a_yes_to_a_call_that_had_not_started_is_none_to_what_it_needs_only_now() {
    let (stage, first) = second_allowed(("edit", json!({ "path": "b" })), Asks::SOMEBODY).await;
    stage.says(rules(Need::FS_READ, Action::Ask));
    let stage = stage.crash().await;
    let (notes, _tools) = edit(&stage);
    resume(&stage).await;
    say_yes(&stage, first).await;
    stage.quiet().await;
    let told = "error: what it needs has changed; call it again";
    let outcomes = stage.outcomes("lead").await;
    let texts: Vec<String> = outcomes.iter().map(|one| one.for_model()).collect();
    assert!(texts.contains(&told.to_owned()), "{texts:?}");
    assert!(notes.ran().is_empty());
}

#[tokio::test]
async fn r16_a_call_that_needs_an_ask_only_now_asks_as_a_new_one_does() {
    let stage = asking(lead(&[run(), put("a")]), Action::Allow).await;
    let tools = Files::default().on(&stage);
    stage.prompt(stage.root(), "go").await;
    let first = asked(&stage, 1).await;
    stage.says(rules("shell.run", Action::Ask));
    let stage = stage.crash().await;
    drop(tools);
    let _tools = Files::default().on(&stage);
    resume(&stage).await;
    let second = asked(&stage, 2).await;
    say_yes(&stage, first).await;
    say_yes(&stage, second).await;
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[1]), json!("written"));
}

#[tokio::test]
async fn r16_a_question_behind_an_ask_is_put_after_the_crash_once_its_turn_comes() {
    let stage = asking(lead(&[run(), question()]), Action::Ask).await;
    stage.prompt(stage.root(), "go").await;
    let first = asked(&stage, 1).await;
    let stage = stage.crash().await;
    resume(&stage).await;
    assert_eq!(history(&stage).await, [(Ask, 0)]);
    say_yes(&stage, first).await;
    let second = asked(&stage, 2).await;
    let said = Verdict::Said {
        answers: vec![vec!["yes".to_owned()]],
    };
    assert_eq!(answer(&stage, second, said).await, Receipt::Answered);
    stage.quiet().await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(data(&outcomes[1]), json!({ "answers": [["yes"]] }));
}

#[tokio::test]
async fn r16_calls_behind_a_question_survive_a_crash() {
    let stage = asking(lead(&[question(), put("a")]), Action::Allow).await;
    let tools = Files::default().on(&stage);
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    let stage = stage.crash().await;
    drop(tools);
    let _tools = Files::default().on(&stage);
    resume(&stage).await;
    let answers = vec![vec!["yes".to_owned()]];
    let said = Verdict::Said { answers };
    assert_eq!(answer(&stage, ask, said).await, Receipt::Answered);
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[1]), json!("written"));
}

#[tokio::test]
async fn r16_a_call_that_had_started_is_interrupted_and_those_behind_it_run() {
    let never = Gate::shut();
    let stage = asking(lead(&[put("a"), run(), get("a")]), Action::Allow).await;
    let tools = Files::held_at(&never).on(&stage);
    stage.prompt(stage.root(), "go").await;
    started(&stage, 0).await;
    let ask = asked(&stage, 1).await;
    let stage = stage.crash().await;
    drop(tools);
    let files = Files::default();
    let _tools = files.on(&stage);
    resume(&stage).await;
    say_yes(&stage, ask).await;
    stage.quiet().await;
    let outcomes = read_by_lead(&stage);
    assert!(outcomes[0].contains("the process ended while this ran"));
    assert_eq!(outcomes[1], "done");
    assert!(
        outcomes[2].contains("there is no such file"),
        "{outcomes:?}"
    );
    let starts = history(&stage).await.into_iter();
    assert_eq!(starts.filter(|step| *step == (Start, 0)).count(), 1);
}

#[tokio::test]
async fn r16_a_turn_that_is_cancelled_while_it_sleeps_runs_none_of_its_calls() {
    for scope in [Scope::Turn, Scope::Run] {
        let stage = asking(lead(&[run(), get("a"), worker()]), Action::Ask).await;
        let _tools = Files::default().on(&stage);
        stage.prompt(stage.root(), "go").await;
        let ask = asked(&stage, 1).await;
        let stage = stage.crash_into(Asks::NOBODY).await;
        stage.order(stage.root(), Order::Cancel(scope)).await;
        stage.settled(&stage.root()).await;
        let outcomes = stage.outcomes("lead").await;
        let texts: Vec<String> = outcomes.iter().map(|one| one.for_model()).collect();
        let told = [
            "error: run was cancelled before anybody allowed it",
            "error: get was cancelled before it ran",
            "error: task was cancelled before it ran",
        ];
        assert_eq!(texts, told);
        let late = answer(&stage, ask, Verdict::Once).await;
        assert_eq!(late, no_effect("nobody asks that"));
    }
}

#[tokio::test]
async fn r16_hooks_are_asked_again_about_calls_that_had_not_started() {
    let stage = asking(lead(&[run(), put("a"), get("a")]), Action::Allow).await;
    let tools = Files::default().on(&stage);
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    let guard = Guard::at(&[Point::PreToolUse]).speaking(|it, _| {
        Ok(match &it.what {
            What::PreToolUse(used) if used.tool == "put" => deny("not this one"),
            _ => Say::nothing(),
        })
    });
    let guard = Arc::new(guard);
    let mut hooks = Hooks::default();
    hooks.watch(guard.clone());
    let stage = stage.crash_with(hooks).await;
    drop(tools);
    let files = Files::default();
    let _tools = files.on(&stage);
    resume(&stage).await;
    say_yes(&stage, ask).await;
    stage.quiet().await;
    assert_eq!(guard.seen().len(), 3);
    let outcomes = read_by_lead(&stage);
    assert_eq!(outcomes[0], "done");
    assert!(outcomes[1].contains("not this one"), "{outcomes:?}");
    assert!(
        outcomes[2].contains("there is no such file"),
        "{outcomes:?}"
    );
    let decided = |event: &Event| matches!(event, Event::Decided { .. });
    assert!(stage.log().await.iter().any(|entry| decided(&entry.event)));
}

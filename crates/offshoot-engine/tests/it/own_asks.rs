//! Rules and hooks that have somebody asked about the engine's own calls: `task`, `message` and the like.

use std::sync::Arc;

use offshoot_engine::{Activity, Asks, Limits};
use offshoot_types::command::{Order, Receipt, Scope, Verdict};
use offshoot_types::event::{Entry, Event};
use offshoot_types::hook::{Point, Say, Word};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::{Action, Layer, Need, Rule, Standing};
use offshoot_types::settlement::{CancelledBy, Status};
use serde_json::json;

use crate::asks::{answer, asked, no};
use crate::stage::{
    Gate, Guard, Line, Script, Stage, call, data, kind, say, task, task_arguments,
    task_in_background,
};

const ASK: Action = Action::Ask;

/// Opens a session under rules of the user.
async fn under(rules: &[(&str, &str, Action)], script: Script, asks: Asks) -> Stage {
    let rule = |(permission, pattern, action): &(&str, &str, Action)| {
        Rule::new(*permission, *pattern, *action)
    };
    let layer = Layer {
        name: "the user's rules".to_owned(),
        rules: rules.iter().map(rule).collect(),
        standing: Standing::Grants,
        ..Layer::default()
    };
    let stage = Stage::asking(script, Limits::default(), asks).await;
    stage.says(vec![layer]);
    stage.crash().await
}

fn lead(lines: impl IntoIterator<Item = Line>) -> Script {
    Script::default()
        .part("lead", lines)
        .part("worker", [say("worked"), say("again"), say("and again")])
        .part("helper", [say("helped")])
}

fn births(log: &[Entry]) -> usize {
    let born = |entry: &&Entry| matches!(entry.event, Event::Spawned(_));
    log.iter().filter(born).count() - 1
}

fn needs(log: &[Entry]) -> Vec<Need> {
    let asked = |entry: &Entry| match &entry.event {
        Event::Asked { needs, .. } => Some(needs.clone()),
        _ => None,
    };
    log.iter().filter_map(asked).flatten().collect()
}

#[tokio::test]
async fn r15_a_task_that_asks_makes_its_child_in_the_append_that_says_yes() {
    let script = lead([task("worker", "go"), say("done")]);
    let stage = under(&[("task", "*", ASK)], script, Asks::SOMEBODY).await;
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    stage
        .until_activity(|activity| *activity == Activity::Permission(vec!["task".to_owned()]))
        .await;
    let log = stage.log().await;
    assert_eq!(births(&log), 0);
    assert_eq!(needs(&log), [Need::new("task", "worker")]);
    answer(&stage, ask, Verdict::Once).await;
    stage.quiet().await;
    let outcome = &stage.outcomes("lead").await[0];
    assert_eq!(data(outcome), json!({ "output": "worked" }));
    let log = stage.log().await;
    let decided = log
        .iter()
        .position(|entry| matches!(entry.event, Event::Decided { .. }));
    let [_, started, born] = &log[decided.unwrap()..decided.unwrap() + 3] else {
        panic!("three entries")
    };
    assert!(matches!(
        started.event,
        Event::CallStarted { child: Some(_), .. }
    ));
    assert!(matches!(born.event, Event::Spawned(_)));
}

#[tokio::test]
async fn a_no_to_a_task_makes_no_child_and_is_told() {
    let script = lead([task("worker", "go"), say("then not")]);
    let stage = under(&[("task", "*", ASK)], script, Asks::SOMEBODY).await;
    stage.prompt(stage.root(), "go").await;
    answer(&stage, asked(&stage, 1).await, no("do it yourself")).await;
    stage.quiet().await;
    let outcome = &stage.outcomes("lead").await[0];
    assert_eq!(
        outcome.for_model(),
        "error: task was denied by the user: do it yourself"
    );
    assert_eq!(births(&stage.log().await), 0);
}

#[tokio::test]
async fn tls_17_with_nobody_there_what_asks_is_denied_and_with_yes_it_is_not() {
    for (asks, runs) in [(Asks::NOBODY, false), (Asks::YES, true)] {
        let script = lead([task("worker", "go"), say("done")]);
        let stage = under(&[("task", "*", ASK)], script, asks).await;
        stage.ask("go").await;
        let outcome = &stage.outcomes("lead").await[0];
        assert_eq!(!outcome.is_error(), runs, "{outcome:?}");
        assert_eq!(births(&stage.log().await), usize::from(runs));
        if !runs {
            let told = "error: task needs permission and nobody is here to give it";
            assert_eq!(outcome.for_model(), told);
            assert_eq!(stage.settlement(&stage.root()).await.unanswered, 1);
        }
    }
}

#[tokio::test]
async fn r22_a_yes_for_the_session_is_for_tasks_of_the_same_agent() {
    let script = lead([
        task("worker", "go"),
        task_in_background("worker", "and again"),
        task("helper", "go"),
        say("done"),
        say("heard"),
    ]);
    let stage = under(&[("task", "*", ASK)], script, Asks::SOMEBODY).await;
    stage.prompt(stage.root(), "go").await;
    answer(&stage, asked(&stage, 1).await, Verdict::Session).await;
    answer(&stage, asked(&stage, 2).await, no("")).await;
    stage.quiet().await;
    let log = stage.log().await;
    let asked = [Need::new("task", "worker"), Need::new("task", "helper")];
    assert_eq!(needs(&log), asked);
    assert_eq!(births(&log), 2);
}

#[tokio::test]
async fn r14_a_background_child_that_was_asked_about_arrives_as_a_message_once() {
    let script = lead([task_in_background("worker", "go"), say("on"), say("heard")]);
    let stage = under(&[("task", "*", ASK)], script, Asks::SOMEBODY).await;
    stage.prompt(stage.root(), "go").await;
    answer(&stage, asked(&stage, 1).await, Verdict::Once).await;
    stage.quiet().await;
    let told = [("completed".to_owned(), Some("worked".to_owned()))];
    assert_eq!(stage.completions().await, told);
}

#[tokio::test]
async fn rules_about_a_task_may_name_the_agent() {
    let rules = [
        ("task", "worker", Action::Deny),
        ("task", "helper", Action::Allow),
    ];
    let script = lead([task("worker", "go"), task("helper", "go"), say("done")]);
    let stage = under(&rules, script, Asks::YES).await;
    stage.ask("go").await;
    let [worker, helper] = stage.outcomes("lead").await.try_into().unwrap();
    assert_eq!(kind(&worker), ErrorKind::Denied);
    assert_eq!(
        worker.for_model(),
        "error: task was denied by the user's rules: task worker"
    );
    assert_eq!(data(&helper), json!({ "output": "helped" }));
}

#[tokio::test]
async fn tls_02_nobody_is_asked_about_a_call_that_could_not_be_carried_out() {
    let calls = call(&[
        ("task", task_arguments("nobody", "go")),
        ("message", json!({ "session_id": "x", "text": "hello" })),
        ("todo", json!({})),
    ]);
    let stage = under(
        &[("*", "*", ASK)],
        lead([calls, say("done")]),
        Asks::SOMEBODY,
    )
    .await;
    stage.ask("go").await;
    let kinds: Vec<ErrorKind> = stage.outcomes("lead").await.iter().map(kind).collect();
    let expected = [
        ErrorKind::UnknownAgent,
        ErrorKind::UnknownAgent,
        ErrorKind::InvalidInput,
    ];
    assert_eq!(kinds, expected);
    assert!(needs(&stage.log().await).is_empty());
}

#[tokio::test]
async fn an_ask_about_everything_is_about_every_call_but_a_question() {
    let todo = json!({ "items": [{ "content": "x", "status": "pending" }] });
    let question = json!({ "questions": [{ "question": "which?" }] });
    let script = lead([
        call(&[("todo", todo), ("wait", json!({})), ("question", question)]),
        say("done"),
    ]);
    let stage = under(&[("*", "*", ASK)], script, Asks::SOMEBODY).await;
    stage.prompt(stage.root(), "go").await;
    answer(&stage, asked(&stage, 1).await, Verdict::Once).await;
    answer(&stage, asked(&stage, 2).await, no("do not")).await;
    let answers = vec![vec!["this".to_owned()]];
    let said = Verdict::Said { answers };
    let reply = answer(&stage, asked(&stage, 3).await, said).await;
    assert_eq!(reply, Receipt::Answered, "it is the question itself");
    stage.quiet().await;
    let log = stage.log().await;
    assert_eq!(needs(&log), [Need::new("todo", ""), Need::new("wait", "")]);
    let outcomes = stage.outcomes("lead").await;
    let denied = outcomes.iter().filter(|outcome| outcome.is_error());
    assert_eq!(denied.count(), 1);
}

#[tokio::test]
async fn a_message_that_asks_is_said_before_the_wait_beside_it_is_over() {
    let message = |word: &str| ("message", json!({ "session_id": word, "text": "more" }));
    let script = lead([
        task("worker", "first"),
        say("made"),
        call(&[message("FIRST"), ("wait", json!({}))]),
        say("heard"),
    ]);
    let stage = under(&[("message", "worker", ASK)], script, Asks::SOMEBODY).await;
    stage.ask("go").await;
    stage.script.name("FIRST", &stage.born("worker").await);
    stage.prompt(stage.root(), "once more").await;
    let ask = asked(&stage, 1).await;
    answer(&stage, ask, Verdict::Once).await;
    stage.quiet().await;
    assert_eq!(needs(&stage.log().await), [Need::new("message", "worker")]);
    let outcomes = stage.outcomes("lead").await;
    let waited = outcomes
        .iter()
        .map(data)
        .find(|it| it["settled"].is_array());
    assert_eq!(waited.unwrap()["settled"][0]["output"], "again");
}

#[tokio::test]
async fn r16_a_task_that_a_root_asked_about_survives_its_process() {
    for (verdict, runs) in [(Verdict::Once, true), (no(""), false)] {
        let script = lead([task("worker", "go"), say("done")]);
        let stage = under(&[("task", "*", ASK)], script, Asks::SOMEBODY).await;
        stage.prompt(stage.root(), "go").await;
        let ask = asked(&stage, 1).await;
        let stage = stage.crash().await;
        let opened = stage.order(stage.root(), Order::Resume).await;
        assert_eq!(opened, Receipt::Resumed);
        answer(&stage, ask, verdict).await;
        stage.quiet().await;
        let outcome = &stage.outcomes("lead").await[0];
        assert_eq!(!outcome.is_error(), runs, "{outcome:?}");
        assert_eq!(births(&stage.log().await), usize::from(runs));
    }
}

#[tokio::test]
async fn r16_a_task_that_nobody_answered_sleeps_on_where_nobody_is_there() {
    let script = lead([task("worker", "go"), say("done")]);
    let stage = under(&[("task", "*", ASK)], script, Asks::SOMEBODY).await;
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    let stage = stage.crash_into(Asks::NOBODY).await;
    let more = Order::Prompt(stage.words("go on"));
    assert_eq!(stage.order(stage.root(), more).await, Receipt::Queued);
    assert_eq!(births(&stage.log().await), 0);
    // Whoever answers opens it, and what was queued comes after.
    answer(&stage, ask, Verdict::Once).await;
    stage.quiet().await;
    assert_eq!(births(&stage.log().await), 1);
}

#[tokio::test]
async fn a_hook_can_have_a_person_asked_about_a_task() {
    for (verdict, runs) in [(Verdict::Once, true), (no(""), false)] {
        let guard = Guard::at(&[Point::PreToolUse]).saying(Say::word(Word::Ask {
            reason: "sure?".to_owned(),
        }));
        let script = lead([task("worker", "go"), say("done")]);
        let stage = Stage::watched(script, Asks::SOMEBODY, &Arc::new(guard)).await;
        stage.prompt(stage.root(), "go").await;
        answer(&stage, asked(&stage, 1).await, verdict).await;
        stage.quiet().await;
        let log = stage.log().await;
        assert_eq!(
            needs(&log),
            [
                Need::new("task", "worker"),
                Need::new(Need::HOOK_ASKS, "hook guard: sure?")
            ],
            "what is asked about, and why"
        );
        assert_eq!(births(&log), usize::from(runs));
    }
}

#[tokio::test]
async fn a_turn_that_is_stopped_takes_the_child_of_an_allowed_task_with_it() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [say("worked").behind(&gate)]);
    let stage = under(&[("task", "*", ASK)], script, Asks::SOMEBODY).await;
    stage.prompt(stage.root(), "go").await;
    answer(&stage, asked(&stage, 1).await, Verdict::Once).await;
    let worker = stage.born("worker").await;
    stage.asked("worker", 1).await;
    let waits = Activity::Children {
        first: vec![worker.clone()],
        all: 1,
    };
    stage.until_activity(|activity| *activity == waits).await;
    stage.order(stage.root(), Order::Cancel(Scope::Turn)).await;
    stage.quiet().await;
    let ended = stage.settlement(&worker).await.status;
    assert_eq!(ended, Status::Cancelled(CancelledBy::Ancestor));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_wait_begins_when_the_message_before_it_is_said() {
    let message = json!({ "session_id": "CHILD", "text": "and?" });
    let both = call(&[
        ("message", message),
        ("wait", json!({ "timeout_ms": 5_000 })),
    ]);
    let gate = Gate::shut();
    let both = both.behind(&gate);
    let script = Script::default()
        .part(
            "lead",
            [task_in_background("worker", "go"), both, say("ok")],
        )
        .part("worker", [say("worked").behind(&Gate::shut())]);
    script.name_first_child("CHILD");
    let lead = offshoot_types::manifest::Manifest {
        permissions: Some(vec![
            Rule::new("*", "*", Action::Allow),
            Rule::new("message", "*", ASK),
        ]),
        ..offshoot_types::manifest::Manifest::new(
            "lead",
            offshoot_types::manifest::Mode::Primary,
            "Lead.",
        )
    };
    let limits = Limits::default();
    let stage = Stage::ticking_asking(script, limits, Asks::SOMEBODY, vec![lead]).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 1).await;
    gate.open();
    let ask = asked(&stage, 1).await;
    stage.pass(30).await;
    assert_eq!(stage.outcomes("lead").await.len(), 1, "the receipt");
    answer(&stage, ask, Verdict::Once).await;
    let waited = loop {
        stage.pass(1).await;
        let told = stage.outcomes("lead").await;
        if let Some(waited) = told.iter().map(data).find(|it| it["settled"].is_array()) {
            break waited;
        }
    };
    assert_eq!(waited["timed_out"], true);
}

//! Questions in words (TLS-10), answers that come too late, and what a parent hears of them.

use std::time::Duration;

use offshoot_engine::{Activity, Asks, Limits, Who};
use offshoot_types::command::{Receipt, Verdict};
use offshoot_types::event::Event;
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, Mode, Toolset};
use offshoot_types::model::ModelErrorKind;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Action;
use serde_json::json;

use crate::asks::{answer, asked, no, no_effect, run, stage, write};
use crate::stage::{Line, Script, Stage, call, data, fail, kind, say, task, task_in_background};

fn question() -> Line {
    call(&[(
        "question",
        json!({ "questions": [
            { "question": "Which colour?", "options": [{ "label": "red" }, { "label": "blue" }] },
            { "question": "And what else?", "multi_select": true },
        ] }),
    )])
}

fn said(answers: &[&[&str]]) -> Verdict {
    let own = |answer: &&[&str]| answer.iter().map(|said| (*said).to_owned()).collect();
    Verdict::Said {
        answers: answers.iter().map(own).collect(),
    }
}

fn within(seconds: u64) -> Asks {
    Asks {
        yes: false,
        who: Who::Somebody {
            within: Some(Duration::from_secs(seconds)),
        },
    }
}

#[tokio::test]
async fn tls_10_a_question_waits_for_its_answers_and_returns_a_list_for_each() {
    let script = Script::default().part("lead", [question(), say("done")]);
    let stage = stage(script).await;
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    stage
        .until_activity(|activity| *activity == Activity::Question)
        .await;
    let reply = answer(&stage, ask.clone(), said(&[&["green"], &["a", "b"]])).await;
    assert_eq!(reply, Receipt::Answered);
    stage.quiet().await;
    let outcome = &stage.outcomes("lead").await[0];
    assert_eq!(data(outcome), json!({ "answers": [["green"], ["a", "b"]] }));
    let late = answer(&stage, ask, said(&[&["red"], &["a"]])).await;
    assert_eq!(late, no_effect("nobody asks that"));
}

#[tokio::test]
async fn tls_17_where_nobody_is_there_a_question_fails_with_the_same_words_also_under_yes() {
    for asks in [Asks::NOBODY, Asks::YES] {
        let script = Script::default().part("lead", [question(), say("done")]);
        let stage = Stage::asking(script, Limits::default(), asks).await;
        stage.ask("go").await;
        let outcome = &stage.outcomes("lead").await[0];
        assert_eq!(kind(outcome), ErrorKind::Denied);
        assert_eq!(
            outcome.for_model(),
            "error: nobody is here to answer; go on with what you know, and say in your answer what \
             you took for granted"
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_none_leaves_the_question_open() {
    let script = Script::default().part("lead", [question(), write("a"), say("done")]);
    let stage = stage(script).await;
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    for (verdict, why) in [
        (Verdict::Once, "it is a question: say what the answer is"),
        (said(&[&["red"]]), "there are 2 questions and 1 answers"),
        (
            said(&[&["red", "blue"], &["a"]]),
            "\"Which colour?\" takes one answer, not 2",
        ),
    ] {
        assert_eq!(answer(&stage, ask.clone(), verdict).await, no_effect(why));
    }
    answer(&stage, ask, no("find out yourself")).await;
    let permission = asked(&stage, 2).await;
    // Words are no permission (R24).
    let reply = answer(&stage, permission.clone(), said(&[&["yes"]])).await;
    assert_eq!(reply, no_effect("it asks whether it may: say yes or no"));
    answer(&stage, permission, Verdict::Once).await;
    stage.quiet().await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(
        outcomes[0].for_model(),
        "error: the user does not answer: find out yourself"
    );
    assert_eq!(data(&outcomes[1]), json!("done"));
}

#[tokio::test]
async fn what_nobody_could_answer_is_told_to_the_model() {
    let wrong = [
        json!({ "questions": [] }),
        json!({ "questions": [{ "question": " " }] }),
        json!({ "question": "which?" }),
    ];
    let calls: Vec<_> = wrong
        .iter()
        .map(|arguments| ("question", arguments.clone()))
        .collect();
    let script = Script::default().part("lead", [call(&calls), say("done")]);
    let stage = stage(script).await;
    stage.ask("go").await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(outcomes.len(), 3);
    for outcome in &outcomes {
        assert_eq!(kind(outcome), ErrorKind::InvalidInput, "{outcome:?}");
    }
}

#[tokio::test]
async fn x_11_a_child_asks_the_user_only_if_its_manifest_says_so() {
    let asker = Manifest {
        tools: Toolset::only(["question"]),
        ..Manifest::new("asker", Mode::Subagent, "Ask.")
    };
    let script = Script::default()
        .part(
            "lead",
            [task("asker", "x"), task("worker", "x"), say("done")],
        )
        .part("asker", [question(), say("asked")])
        .part("worker", [question(), say("did not")]);
    let stage = Stage::cast(script, Limits::default(), Asks::SOMEBODY, vec![asker]).await;
    stage.prompt(stage.root(), "go").await;
    let (agent, call) = asked(&stage, 1).await;
    assert_eq!(agent, stage.born("asker").await);
    answer(&stage, (agent, call), said(&[&["red"], &["x"]])).await;
    stage.quiet().await;
    assert!(!stage.outcomes("asker").await[0].is_error());
    let refused = &stage.outcomes("worker").await[0];
    assert_eq!(kind(refused), ErrorKind::UnknownTool);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_answers_in_time_is_a_deny_that_says_so() {
    let script = Script::default().part("lead", [write("a"), question(), say("done")]);
    let stage = Stage::ticking_asking(script, Limits::default(), within(30), Vec::new()).await;
    stage.ask_and_wait("go").await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(
        outcomes[0].for_model(),
        "error: write needs permission and nobody answered in time"
    );
    assert_eq!(
        outcomes[1].for_model(),
        "error: nobody answered in time; go on with what you know"
    );
    let log = stage.log().await;
    let decided = log.iter().find_map(|entry| match &entry.event {
        Event::Decided { decision, .. } => Some(decision.clone()),
        _ => None,
    });
    assert_eq!(decided.unwrap().action, Action::Ask);
}

#[tokio::test]
async fn tls_17_a_parent_is_told_what_its_child_could_not_do_because_nobody_was_there() {
    let script = Script::default()
        .part("lead", [task("worker", "x"), say("done")])
        .part("worker", [write("a"), run("ls"), say("as far as I got")]);
    let stage = Stage::asking(script, Limits::default(), Asks::NOBODY).await;
    stage.ask("go").await;
    let outcome = &stage.outcomes("lead").await[0];
    assert_eq!(
        data(outcome)["output"],
        json!(
            "as far as I got\n[2 of its calls needed permission or an answer, and nobody was there to \
             give it]"
        )
    );
    let worker = stage.born("worker").await;
    assert_eq!(stage.settlement(&worker).await.unanswered, 2);
}

/// What a parent is told of one call that nobody answered.
const ONE: &str =
    "one of its calls needed permission or an answer, and nobody was there to give it";

/// An agent that may ask, and one whose answer is a value.
fn askers() -> Vec<Manifest> {
    let asker = |name: &str| Manifest {
        tools: Toolset::only(["question", "write"]),
        ..Manifest::new(name, Mode::Subagent, "Ask.")
    };
    let schema = json!({ "type": "object", "required": ["count"] });
    vec![
        asker("asker"),
        Manifest {
            output_schema: Some(RawJson::of(&schema)),
            ..asker("counter")
        },
    ]
}

/// Has an agent say its lines with nobody there; returns what its parent reads of the call, and what it
/// reads if it waits for the agent instead.
async fn told(agent: &str, lines: Vec<Line>) -> (Outcome, serde_json::Value) {
    let wait = call(&[("wait", json!({}))]);
    let script = Script::default()
        .part(
            "lead",
            [
                task(agent, "x"),
                task_in_background(agent, "x"),
                wait,
                say("done"),
            ],
        )
        .part(agent, lines.iter().chain(&lines).cloned());
    let stage = Stage::cast(script, Limits::default(), Asks::NOBODY, askers()).await;
    stage.ask("go").await;
    let [called, _, waited] = stage.outcomes("lead").await.try_into().unwrap();
    (called, data(&waited)["settled"][0].clone())
}

#[tokio::test]
async fn x_11_a_parent_is_told_of_a_question_of_its_child_that_nobody_was_there_to_answer() {
    let (called, waited) = told("asker", vec![question(), say("red, I think")]).await;
    assert_eq!(
        data(&called)["output"],
        json!(format!("red, I think\n[{ONE}]"))
    );
    assert_eq!(waited["output"], "red, I think");
    assert_eq!(waited["unanswered"], ONE);
}

#[tokio::test]
async fn x_11_a_parent_is_told_beside_an_answer_that_is_a_value() {
    let (called, waited) = told("counter", vec![write("a"), say("{\"count\": 3}")]).await;
    let expected = json!({ "output": { "count": 3 }, "unanswered": ONE });
    assert_eq!(data(&called), expected);
    assert_eq!(waited["output"], json!({ "count": 3 }));
    assert_eq!(waited["unanswered"], ONE);
}

#[tokio::test]
async fn x_11_a_parent_is_told_by_a_child_that_failed_without_a_word() {
    let lines = vec![write("a"), fail(ModelErrorKind::Invalid)];
    let (called, waited) = told("asker", lines).await;
    assert_eq!(kind(&called), ErrorKind::ChildFailed);
    assert!(
        called.for_model().contains(&format!("[{ONE}]")),
        "{called:?}"
    );
    assert_eq!(waited["unanswered"], ONE);
}

#[tokio::test(start_paused = true)]
async fn x_11_a_parent_is_told_of_a_question_of_its_child_that_nobody_answered_in_time() {
    let script = Script::default()
        .part("lead", [task("asker", "x"), say("done")])
        .part("asker", [question(), say("red, I think")]);
    let stage = Stage::ticking_asking(script, Limits::default(), within(30), askers()).await;
    stage.ask_and_wait("go").await;
    let output = data(&stage.outcomes("lead").await[0])["output"].clone();
    assert_eq!(output, json!(format!("red, I think\n[{ONE}]")));
}

#[tokio::test]
async fn r22_for_this_agent_is_for_it_and_below_and_for_nobody_beside_it() {
    let both = call(&[
        ("task", json!({ "subagent_type": "worker", "prompt": "x" })),
        ("task", json!({ "subagent_type": "helper", "prompt": "x" })),
    ]);
    let script = Script::default()
        .part("lead", [both, say("done")])
        .part("worker", [run("ls"), run("ls"), say("worked")])
        .part("helper", [run("ls"), say("helped")]);
    let stage = stage(script).await;
    stage.prompt(stage.root(), "go").await;
    let (worker, helper) = (stage.born("worker").await, stage.born("helper").await);
    let (first, second) = (asked(&stage, 1).await, asked(&stage, 2).await);
    let (of_worker, of_helper) = if first.0 == worker {
        (first, second)
    } else {
        (second, first)
    };
    answer(&stage, of_worker, Verdict::Agent).await;
    // Its second call asks nobody; its sibling still does.
    stage.settled(&worker).await;
    assert_eq!(of_helper.0, helper);
    answer(&stage, of_helper, no("")).await;
    stage.quiet().await;
    // Both entries name how far it reaches: the answer's own, and that of the call that it covers.
    let log = stage.log().await;
    let of_worker = log.iter().filter(|entry| entry.agent == worker);
    let layers: Vec<&str> = of_worker
        .filter_map(|entry| match &entry.event {
            Event::Decided { decision, .. } => Some(decision.layer.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(layers, ["the user, for this agent"; 2]);
    assert!(
        stage
            .outcomes("worker")
            .await
            .iter()
            .all(|outcome| !outcome.is_error())
    );
    assert!(stage.outcomes("helper").await[0].is_error());
}

//! Results that an agent had not read when its run ended: its parent's model reads of them.

use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, RunId};
use offshoot_types::model::{ModelErrorKind, Request};
use offshoot_types::outcome::{Body, Outcome};
use offshoot_types::settlement::{Settlement, Status, Unread};
use serde_json::json;

use crate::stage::{
    Gate, Line, Script, Stage, call, fail, outcome_texts, say, task, task_in_background, user_texts,
};

/// Starts a child that is waited for, or not.
fn start(agent: &str, in_background: bool) -> Line {
    if in_background {
        task_in_background(agent, "go")
    } else {
        task(agent, "go")
    }
}

/// Returns what a model was last sent that is not its own words.
fn heard(stage: &Stage, definition: &str) -> String {
    let last: Request = stage.script.sent(definition).pop().unwrap();
    let mut texts = user_texts(&last);
    texts.extend(outcome_texts(&last));
    texts.join("\n")
}

/// Returns the named results, as (definition, status, reader, beginning).
fn named(unread: &Option<Box<Unread>>) -> Vec<(&str, &str, &AgentId, Option<&str>)> {
    let results = unread.iter().flat_map(|unread| &unread.results);
    let named = results.map(|it| {
        let begins = it.begins.as_deref();
        (
            it.definition.as_str(),
            it.status.as_str(),
            &it.reader,
            begins,
        )
    });
    named.collect()
}

/// Returns how often an agent's own log delivers the first run of another.
async fn deliveries(stage: &Stage, of: &AgentId) -> usize {
    let run = RunId::first(of.clone());
    let log = stage.log().await;
    let delivers = |entry: &&Entry| {
        !matches!(entry.event, Event::Rewound { .. }) && entry.event.delivers().contains(&run)
    };
    log.iter().filter(delivers).count()
}

#[tokio::test]
async fn sa_22_a_lost_childs_finished_child_is_named_to_the_root_and_delivered_by_a_message() {
    for in_background in [true, false] {
        let never = Gate::shut();
        let script = Script::default()
            .part(
                "lead",
                [start("helper", in_background), say("started"), say("noted")],
            )
            .part(
                "helper",
                [
                    task_in_background("worker", "go"),
                    say("never").behind(&never),
                    say("read it"),
                ],
            )
            .part("worker", [say("in time")]);
        let stage = Stage::new(script).await;
        stage.prompt(stage.root(), "go").await;
        let helper = stage.born("helper").await;
        let worker = stage.born("worker").await;
        stage.settled(&worker).await;
        stage.asked("helper", 2).await;

        let stage = stage.crash().await;
        stage.ask("and?").await;
        let settlement = stage.settlement(&helper).await;
        assert!(matches!(settlement.status, Status::Lost { .. }));
        assert_eq!(
            named(&settlement.unread),
            [("worker", "completed", &helper, Some("in time"))]
        );
        let text = heard(&stage, "lead");
        assert!(
            text.contains(&format!("worker ({worker}), completed")),
            "{text}"
        );
        assert_eq!(text.matches("in time").count(), 1, "{text}");
        assert_eq!(
            deliveries(&stage, &worker).await,
            0,
            "naming is no delivery"
        );

        // The text says so, and it is so.
        stage.prompt(helper.clone(), "continue").await;
        stage.settled_twice(&helper).await;
        stage.quiet().await;
        assert_eq!(deliveries(&stage, &worker).await, 1);
        assert_eq!(heard(&stage, "helper").matches("in time").count(), 1);
        let settlement = stage.settlement(&helper).await;
        assert_eq!(settlement.unread, None, "it has read it");
    }
}

#[tokio::test]
async fn sa_22_a_result_in_a_call_that_the_dead_model_never_read_is_named() {
    let never = Gate::shut();
    let two = [
        ("task", json!({ "subagent_type": "worker", "prompt": "a" })),
        ("task", json!({ "subagent_type": "watched", "prompt": "b" })),
    ];
    let script = Script::default()
        .part("lead", [task("helper", "go"), say("noted")])
        .part("helper", [call(&two)])
        .part("worker", [say("in time")])
        .part("watched", [say("never").behind(&never)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let helper = stage.born("helper").await;
    let worker = stage.born("worker").await;
    stage.settled(&worker).await;
    stage.asked("watched", 1).await;

    let stage = stage.crash().await;
    stage.ask("and?").await;
    // Delivered into the helper's log, which its model has not seen since.
    assert_eq!(deliveries(&stage, &worker).await, 1);
    let settlement = stage.settlement(&helper).await;
    assert_eq!(
        named(&settlement.unread),
        [
            ("worker", "completed", &helper, Some("in time")),
            ("watched", "lost", &helper, None),
        ]
    );
    assert!(heard(&stage, "lead").contains("in time"));
}

#[tokio::test]
async fn sa_22_a_lost_chain_names_what_is_finished_at_its_end_on_every_level() {
    for (first, second) in [(true, true), (true, false), (false, true), (false, false)] {
        let never = Gate::shut();
        let script = Script::default()
            .part(
                "lead",
                [start("helper", first), say("started"), say("noted")],
            )
            .part(
                "helper",
                [start("aware", second), say("never").behind(&never)],
            )
            .part(
                "aware",
                [
                    task_in_background("worker", "go"),
                    say("never").behind(&never),
                ],
            )
            .part("worker", [say("deep")]);
        let stage = Stage::new(script).await;
        stage.prompt(stage.root(), "go").await;
        let helper = stage.born("helper").await;
        let aware = stage.born("aware").await;
        let worker = stage.born("worker").await;
        stage.settled(&worker).await;
        stage.asked("aware", 2).await;

        let stage = stage.crash().await;
        stage.ask("and?").await;
        let below = ("worker", "completed", &aware, Some("deep"));
        let settlement = stage.settlement(&aware).await;
        assert_eq!(named(&settlement.unread), [below]);
        let settlement = stage.settlement(&helper).await;
        assert_eq!(
            named(&settlement.unread),
            [("aware", "lost", &helper, None), below]
        );
        let text = heard(&stage, "lead");
        assert_eq!(text.matches("deep").count(), 1, "{text}");
        let root = stage.settlement(&stage.root()).await;
        assert_eq!(root.unread, None, "the root has read it");
    }
}

#[tokio::test]
async fn sa_21_a_cancelled_childs_finished_child_is_named_in_its_settlement_and_outcome() {
    let never = Gate::shut();
    let script = Script::default()
        .part("lead", [task("helper", "go"), say("noted")])
        .part(
            "helper",
            [
                task_in_background("worker", "go"),
                say("never").behind(&never),
            ],
        )
        .part("worker", [say("in time")]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let helper = stage.born("helper").await;
    let worker = stage.born("worker").await;
    stage.settled(&worker).await;
    stage.asked("helper", 2).await;

    let settlement: Settlement = stage.cancel(helper.clone()).await;
    let expected = [("worker", "completed", &helper, Some("in time"))];
    assert_eq!(named(&settlement.unread), expected);
    stage.quiet().await;
    let outcome: Outcome = stage.outcomes("lead").await.remove(0);
    assert!(matches!(&outcome.body, Body::Error { text, .. } if text.contains("in time")));
    let listed: Unread = outcome
        .metadata
        .extra
        .get("unread")
        .unwrap()
        .read()
        .unwrap();
    assert_eq!(named(&Some(Box::new(listed))), expected);
    assert!(heard(&stage, "lead").contains("in time"));
}

#[tokio::test]
async fn sa_21_a_cancelled_root_names_what_its_stopped_children_had_not_read() {
    let never = Gate::shut();
    let script = Script::default()
        .part("lead", [task("helper", "go"), say("noted")])
        .part(
            "helper",
            [
                task_in_background("worker", "go"),
                say("never").behind(&never),
            ],
        )
        .part("worker", [say("in time")]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let helper = stage.born("helper").await;
    let worker = stage.born("worker").await;
    stage.settled(&worker).await;
    stage.asked("helper", 2).await;

    let root = stage.root();
    let settlement = stage.cancel(root.clone()).await;
    assert_eq!(
        named(&settlement.unread),
        [
            ("helper", "cancelled", &root, None),
            ("worker", "completed", &helper, Some("in time")),
        ]
    );
    stage.ask("and?").await;
    // The outcome of the call that was aborted.
    let text = heard(&stage, "lead");
    assert_eq!(text.matches("in time").count(), 1, "{text}");
}

#[tokio::test]
async fn a_run_whose_model_fails_behind_a_completion_names_what_it_had_not_read() {
    let script = Script::default()
        .part("lead", [task("helper", "go"), say("noted")])
        .part(
            "helper",
            [
                task_in_background("worker", "go"),
                say("waiting"),
                fail(ModelErrorKind::Invalid),
            ],
        )
        .part("worker", [say("in time")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let helper = stage.born("helper").await;
    let settlement = stage.settlement(&helper).await;
    assert!(matches!(settlement.status, Status::Failed { .. }));
    assert_eq!(
        named(&settlement.unread),
        [("worker", "completed", &helper, Some("in time"))]
    );
    assert!(heard(&stage, "lead").contains("in time"));
}

#[tokio::test]
async fn names_and_beginnings_are_capped_each_and_in_total_and_the_rest_is_counted() {
    let never = Gate::shut();
    let worker = json!({ "subagent_type": "worker", "prompt": "go", "background": true });
    let many: Vec<(&str, serde_json::Value)> = (0..40).map(|_| ("task", worker.clone())).collect();
    let long = "é".repeat(500);
    let script = Script::default()
        .part("lead", [call(&many), say("never").behind(&never)])
        .part("worker", (0..40).map(|_| say(&long)).collect::<Vec<_>>());
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let settled = std::cell::Cell::new(0);
    stage
        .until(|entry| {
            let is_end = matches!(entry.event, Event::Settled { .. });
            settled.set(settled.get() + u32::from(is_end));
            settled.get() == 40
        })
        .await;
    stage.asked("lead", 2).await;

    let settlement = stage.cancel(stage.root()).await;
    let Unread { results, left_out } = *settlement.unread.unwrap();
    assert_eq!((results.len(), left_out), (32, 8));
    let begins = results.iter().filter_map(|it| it.begins.as_deref());
    let begins: Vec<&str> = begins.map(|text| text.strip_suffix('…').unwrap()).collect();
    assert!(begins.iter().all(|text| text.len() <= 400));
    let total: usize = begins.iter().map(|text| text.len()).sum();
    assert_eq!(total, 4 * 1024);
}

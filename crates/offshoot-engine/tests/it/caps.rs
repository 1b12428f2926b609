//! Caps of tokens, money, time and stalls: an orderly end, and the parent goes on.

use std::time::Duration;

use offshoot_engine::{Activity, CommandError, Limits};
use offshoot_types::caps::{Caps, Money, Span};
use offshoot_types::command::{Command, Opening, Order};
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, CommandId, TreeId};
use offshoot_types::manifest::{Manifest, Mode};
use offshoot_types::model::{ModelErrorKind, ToolChoice};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::settlement::{Cap, PartialReason, Status};
use serde_json::json;

use crate::stage::{
    Gate, Line, Script, Stage, call, cut, data, kind, opening, say, task, task_arguments,
    task_in_background,
};

fn capped(name: &str, limits: Caps) -> Manifest {
    Manifest {
        limits,
        ..Manifest::new(name, Mode::All, "Be brief.")
    }
}

fn tokens(tokens: u64) -> Caps {
    Caps {
        tokens: Some(tokens),
        ..Caps::default()
    }
}

fn look() -> Line {
    call(&[("read", json!({ "path": "a" }))])
}

async fn status(stage: &Stage, definition: &str) -> Status {
    let agent = stage.born(definition).await;
    stage.settlement(&agent).await.status
}

#[tokio::test]
async fn r25_r26_a_child_that_nears_its_cap_on_tokens_hands_back_once() {
    let script = Script::default()
        .part("lead", [task("frugal", "go"), say("done")])
        .part(
            "frugal",
            [look().using(3_000, 500), say("so far"), say("never asked")],
        );
    let stage = Stage::with_agents(script, vec![capped("frugal", tokens(10_000))]).await;
    stage.ask("go").await;

    let sent = stage.script.sent("frugal");
    let choices: Vec<ToolChoice> = sent.iter().map(|request| request.choice).collect();
    assert_eq!(choices, [ToolChoice::Auto, ToolChoice::None]);
    assert_eq!(sent[1].max_output_tokens, Some(2_000), "its allowance");
    assert_eq!(
        status(&stage, "frugal").await,
        Status::Partial(PartialReason::Budget(Cap::Tokens))
    );
    let told = stage.outcomes("lead").await[0].for_model();
    assert!(told.contains("[partial: budget: tokens] so far"), "{told}");
}

#[tokio::test]
async fn a_budget_of_zero_ends_in_good_order_without_a_request() {
    let script = Script::default().part("lead", [task("frugal", "go"), say("done")]);
    let stage = Stage::with_agents(script, vec![capped("frugal", tokens(0))]).await;
    stage.ask("go").await;
    assert!(stage.script.sent("frugal").is_empty());
    assert_eq!(
        status(&stage, "frugal").await,
        Status::BudgetExhausted(Cap::Tokens)
    );
    let told = &stage.outcomes("lead").await[0];
    assert_eq!(kind(told), ErrorKind::ChildFailed);
    assert_eq!(status(&stage, "lead").await, Status::Completed);
}

#[tokio::test]
async fn r25_what_children_use_counts_against_everybody_above_them() {
    let script = Script::default()
        .part("lead", [task("manager", "go"), say("done")])
        .part("manager", [task("worker", "go"), say("the rest")])
        .part("worker", [say("much").using(9_800, 100)]);
    let stage = Stage::with_agents(script, vec![capped("manager", tokens(12_000))]).await;
    stage.ask("go").await;
    assert_eq!(
        status(&stage, "manager").await,
        Status::Partial(PartialReason::Budget(Cap::Tokens)),
        "its child has left it no more than a last step"
    );
    assert_eq!(status(&stage, "worker").await, Status::Completed);
}

#[tokio::test]
async fn r25_without_room_a_child_waits_only_while_another_may_give_some_back() {
    let gate = Gate::shut();
    let both = call(&[
        ("task", task_arguments("worker", "one")),
        ("task", task_arguments("worker", "two")),
    ]);
    let script = Script::default()
        .part("lead", [task("manager", "go"), say("done")])
        .part("manager", [both.using(100, 10), say("both")])
        .part(
            "worker",
            [say("first").behind(&gate), say("second").behind(&gate)],
        );
    // Room for one step and its allowance, not for two.
    let stage = Stage::with_agents(script, vec![capped("manager", tokens(5_000))]).await;
    stage.prompt(stage.root(), "go").await;
    stage
        .until_activity(|activity| *activity == Activity::Budget)
        .await;
    // Who has the room may not have come to its model yet.
    stage.asked("worker", 1).await;
    assert_eq!(stage.script.sent("worker").len(), 1, "the other one waits");
    gate.open();
    stage.quiet().await;
    let outcomes = stage.outcomes("manager").await;
    let said: Vec<_> = outcomes.iter().map(data).collect();
    assert_eq!(
        said,
        [json!({ "output": "first" }), json!({ "output": "second" })]
    );
}

#[tokio::test]
async fn r25_money_is_counted_where_prices_are_known() {
    let cap = Caps {
        cost: Some(Money::micros(50_000)),
        ..Caps::default()
    };
    let script = Script::default()
        .priced(1.0, 10.0)
        .part("lead", [task("frugal", "go"), say("done")])
        .part("frugal", [look().using(15_000, 1_000), say("so far")]);
    let stage = Stage::with_agents(script, vec![capped("frugal", cap)]).await;
    stage.ask("go").await;
    assert_eq!(
        status(&stage, "frugal").await,
        Status::Partial(PartialReason::Budget(Cap::Cost))
    );
    let child = stage.settlement(&stage.born("frugal").await).await;
    // 15,000 at $1 and 1,000 at $10 a million; then 10 and 2.
    assert_eq!(child.cost, Some(Money::micros(25_000 + 30)));
    let told = &stage.outcomes("lead").await[0];
    assert_eq!(
        told.metadata.extra.get("cost_usd").unwrap().as_str(),
        "0.02503"
    );
}

#[tokio::test]
async fn r25_a_cap_on_money_without_a_price_is_refused_at_the_start() {
    let cap = Caps {
        cost: Some(Money::micros(50_000)),
        ..Caps::default()
    };
    let script = Script::default().part("lead", [task("frugal", "go"), say("done")]);
    let stage = Stage::with_agents(script, vec![capped("frugal", cap)]).await;
    stage.ask("go").await;
    assert_eq!(kind(&stage.outcomes("lead").await[0]), ErrorKind::Caps);
    assert_eq!(status(&stage, "lead").await, Status::Completed);

    let agent = AgentId::new("another");
    let refused = stage
        .runtime
        .command(Command {
            id: CommandId::new("c"),
            tree: TreeId::of(agent.clone()),
            agent,
            order: Order::open(Opening {
                caps: cap,
                ..opening("lead")
            }),
        })
        .await;
    assert!(
        matches!(&refused, Err(CommandError::Invalid(text)) if text.contains("price of script")),
        "{refused:?}"
    );
}

#[tokio::test]
async fn whoever_opens_a_session_can_cap_it_and_the_manifest_cannot_lift_that() {
    let script = Script::default().part("lead", [look(), say("handed back")]);
    let stage = Stage::with_agents(script, vec![capped("lead", Caps::default())]).await;
    let agent = AgentId::new("another");
    let tree = TreeId::of(agent.clone());
    let open = Opening {
        caps: Caps {
            steps: Some(1),
            ..Caps::default()
        },
        prompt: Some(stage.words("go")),
        ..opening("lead")
    };
    stage
        .order_in(&tree, agent.clone(), Order::open(open))
        .await;
    stage.quiet_in(&tree).await;
    let sent = stage.script.sent("lead");
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1].choice, ToolChoice::None);
}

#[tokio::test(start_paused = true)]
async fn r26_when_its_time_is_up_a_child_is_cut_and_hands_back() {
    let never = Gate::shut();
    let cap = Caps {
        time: Some(Span::secs(600)),
        stall: Some(Span::secs(3_600)),
        ..Caps::default()
    };
    let script = Script::default()
        .part("lead", [task("slow", "go"), say("done")])
        .part(
            "slow",
            [say("half an ans").stalls_at(&never), say("so far")],
        );
    let stage = Stage::ticking(script, vec![capped("slow", cap)]).await;
    stage.ask_and_wait("go").await;
    assert_eq!(
        status(&stage, "slow").await,
        Status::Partial(PartialReason::Budget(Cap::Time))
    );
    let slow = stage.settlement(&stage.born("slow").await).await;
    assert_eq!(slow.output.as_deref(), Some("so far"));
    assert!((570_000..600_000).contains(&slow.duration_ms), "{slow:?}");
}

#[tokio::test(start_paused = true)]
async fn r26_a_model_that_goes_silent_is_a_stall_and_what_it_had_said_comes_back() {
    let never = Gate::shut();
    let cap = Caps {
        stall: Some(Span::secs(60)),
        ..Caps::default()
    };
    let script = Script::default()
        .part("lead", [task("mute", "go"), say("done")])
        .part(
            "mute",
            [
                say("half an ans").stalls_at(&never),
                say("nothing").behind(&never),
            ],
        );
    let stage = Stage::ticking(script, vec![capped("mute", cap)]).await;
    stage.ask_and_wait("go").await;
    assert_eq!(
        status(&stage, "mute").await,
        Status::Partial(PartialReason::Budget(Cap::Stall))
    );
    let mute = stage.settlement(&stage.born("mute").await).await;
    assert_eq!(mute.output.as_deref(), Some("half an ans"));
}

#[tokio::test(start_paused = true)]
async fn r26_a_model_that_writes_a_long_call_does_not_stall_and_is_paid_for() {
    let cap = Caps {
        stall: Some(Span::secs(60)),
        ..Caps::default()
    };
    let step = Duration::from_secs(50);
    let script = Script::default()
        .part("lead", [task("scribe", "go"), say("done")])
        .part(
            "scribe",
            [
                look().writing(10, step),
                // Cut off before the call was complete: nothing else tells what it cost.
                look()
                    .saying("so")
                    .writing(10, step)
                    .breaking_off(ModelErrorKind::Invalid),
            ],
        );
    let stage = Stage::ticking(script, vec![capped("scribe", cap)]).await;
    stage.ask_and_wait("go").await;
    let scribe = stage.settlement(&stage.born("scribe").await).await;
    assert!(matches!(scribe.status, Status::Failed { .. }), "{scribe:?}");
    assert_eq!(stage.outcomes("scribe").await.len(), 1);
    let written = 10 * 40 / 4;
    assert!(scribe.usage.output >= written, "{:?}", scribe.usage);
}

#[tokio::test(start_paused = true)]
async fn r26_a_child_is_done_before_the_time_of_its_parent_is() {
    let never = Gate::shut();
    let cap = Caps {
        time: Some(Span::secs(600)),
        stall: Some(Span::secs(3_600)),
        ..Caps::default()
    };
    let patient = Caps {
        stall: Some(Span::secs(3_600)),
        ..Caps::default()
    };
    let script = Script::default()
        .part("lead", [task("manager", "go"), say("done")])
        .part("manager", [task("slow", "go"), say("in time")])
        .part("slow", [say("…").behind(&never), say("what I have")]);
    let cast = vec![capped("manager", cap), capped("slow", patient)];
    let stage = Stage::ticking(script, cast).await;
    stage.ask_and_wait("go").await;
    assert_eq!(
        status(&stage, "slow").await,
        Status::Partial(PartialReason::Budget(Cap::Time))
    );
    let outcome = data(&stage.outcomes("manager").await[0]);
    assert_eq!(
        outcome,
        json!({ "output": "[partial: budget: time] what I have" })
    );
    let manager = stage.settlement(&stage.born("manager").await).await;
    assert_eq!(manager.status, Status::Completed, "it had time left");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_child_is_not_a_stall() {
    let gate = Gate::shut();
    let stall = |secs| Caps {
        stall: Some(Span::secs(secs)),
        ..Caps::default()
    };
    let script = Script::default()
        .part("lead", [task("manager", "go"), say("done")])
        .part("manager", [task("slow", "go"), say("patient")])
        .part("slow", [say("at last").behind(&gate)]);
    let cast = vec![capped("manager", stall(10)), capped("slow", stall(3_600))];
    let stage = Stage::ticking(script, cast).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("slow", 1).await;
    stage.pass(600).await;
    gate.open();
    stage.quiet().await;
    assert_eq!(status(&stage, "manager").await, Status::Completed);
}

#[tokio::test]
async fn an_agent_may_have_a_limit_of_its_own_on_who_lives_below_it() {
    let gate = Gate::shut();
    let cap = Caps {
        descendants: Some(1),
        ..Caps::default()
    };
    let both = call(&[
        ("task", task_arguments("worker", "one")),
        ("task", task_arguments("worker", "two")),
    ]);
    let script = Script::default()
        .part("lead", [task("manager", "go"), say("done")])
        .part("manager", [both, task("worker", "three"), say("ok")])
        .part("worker", [say("first").behind(&gate), say("third")]);
    let stage = Stage::with_agents(script, vec![capped("manager", cap)]).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 1).await;
    gate.open();
    stage.quiet().await;
    let outcomes = stage.outcomes("manager").await;
    assert_eq!(kind(&outcomes[0]), ErrorKind::Caps);
    assert_eq!(data(&outcomes[1]), json!({ "output": "first" }));
    assert_eq!(data(&outcomes[2]), json!({ "output": "third" }));
}

#[tokio::test]
async fn x_17_usage_of_a_tree_is_the_sum_of_its_parts() {
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("helper", "go").using(100, 1),
                say("waiting").using(200, 2),
                say("done").using(300, 3),
            ],
        )
        .part(
            "helper",
            [
                task("worker", "go").using(1_000, 10),
                say("ok").using(2_000, 20),
            ],
        )
        .part("worker", [say("fine").using(10_000, 100)]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let tree = stage.tree().await;
    let root = tree.agent(&stage.root()).unwrap();
    assert_eq!(root.spent.tokens, 13_600 + 136);
    let mut parts = 0;
    for id in tree.walk() {
        parts += tree.agent(id).unwrap().settlement().unwrap().usage.total();
    }
    assert_eq!(root.spent.tokens, parts);
    let replied = stage.log().await;
    let sum: u64 = replied
        .iter()
        .map(|entry| match &entry.event {
            Event::Replied(message) => message.usage.total(),
            _ => 0,
        })
        .sum();
    assert_eq!(sum, parts);
}

#[test]
fn r26_spawned_runs_have_limits_and_a_root_has_none() {
    let limits = Limits::default();
    assert_eq!(limits.root, Caps::default());
    assert_eq!(limits.spawned.steps, Some(16));
    assert_eq!(limits.spawned.time.unwrap().to_string(), "1h");
    assert_eq!(limits.spawned.stall.unwrap().to_string(), "5m");
}

/// Returns what the messages of the root have used, and whether that is a guess.
async fn counted(stage: &Stage) -> Vec<(u64, bool)> {
    let log = stage.log().await.into_iter();
    log.filter_map(|entry| match entry.event {
        Event::Replied(message) => Some((message.usage.output, message.estimated)),
        _ => None,
    })
    .collect()
}

#[tokio::test]
async fn r25_what_a_provider_does_not_count_is_estimated() {
    let script = Script::default().part(
        "lead",
        [
            say(&"word ".repeat(80)).using(0, 0),
            say("counted").using(100, 7),
        ],
    );
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    let settlement = stage.settlement(&stage.root()).await;
    assert!(
        settlement.usage.input > 50,
        "the prompt and the tools: {:?}",
        settlement.usage
    );
    stage.ask("second").await;
    assert_eq!(counted(&stage).await, [(100, true), (7, false)]);
}

#[tokio::test]
async fn r25_what_a_stream_said_before_it_broke_off_is_not_free() {
    let script = Script::default().part("lead", [cut(&"word ".repeat(80))]);
    let stage = Stage::new(script.priced(1.0, 1_000.0)).await;
    stage.ask("first").await;
    assert_eq!(counted(&stage).await, [(100, true)]);
    let tree = stage.tree().await;
    let spent = tree.agent(&stage.root()).unwrap().spent;
    assert!(spent.cost >= Money::micros(100_000), "{:?}", spent.cost);
}

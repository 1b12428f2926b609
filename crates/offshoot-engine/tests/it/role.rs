//! Who an agent is in its next turn: named by a message, set by a client, resolved by a hook, proposed
//! by a plan.

use std::sync::Arc;

use offshoot_engine::{Asks, CommandError, Limits, Missing};
use offshoot_types::command::{Command, Order, Receipt, Rewind, Verdict};
use offshoot_types::event::{Did, Entry, Event, RoleChoice};
use offshoot_types::hook::{About, Hook, Point, Say, Switch, What};
use offshoot_types::id::CommandId;
use offshoot_types::manifest::{Manifest, Mode, Toolset};
use offshoot_types::message::UserMessage;
use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::{Action, Layer, Rule, Standing};
use serde_json::json;

use crate::asks::{answer, asked, no};
use crate::stage::{
    Gate, Guard, Line, Script, Stage, call, data, kind, say, task, task_in_background, user_texts,
};

pub(crate) async fn ask_as(stage: &Stage, agent: &str, text: &str) {
    let mut prompt = stage.words(text);
    prompt.agent = Some(agent.to_owned());
    let receipt = stage.order(stage.root(), Order::Prompt(prompt)).await;
    assert_eq!(receipt, Receipt::Prompted);
    stage.quiet().await;
}

fn planner() -> Manifest {
    Manifest {
        read_only: true,
        tools: Toolset::only(["read", "write", "task", "plan_exit"]),
        ..Manifest::new("planner", Mode::All, "Plan.")
    }
}

fn builder() -> Manifest {
    Manifest::new("build", Mode::Primary, "Build.")
}

#[tokio::test]
async fn sa_48_a_message_names_the_agent_for_its_turn_and_onward() {
    let script = Script::default()
        .part("lead", [say("as lead")])
        .part("helper", [say("as helper"), say("still helper")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    ask_as(&stage, "helper", "second").await;
    stage.ask("third").await;

    let sent = stage.script.sent("helper");
    assert_eq!(sent.len(), 2);
    assert!(sent[0].system.starts_with("Help."));
    assert_eq!(
        user_texts(&sent[1]),
        ["first", "second", "third"],
        "one conversation"
    );
    let rows = stage.chat().await;
    assert_eq!(rows["session"]["agent"], "lead", "the session's stays");
    let metadata = rows["messages"][2]["message"]["metadata_json"].clone();
    assert_eq!(metadata, json!("{\"agent\":\"helper\"}"));
}

#[tokio::test]
async fn sa_04_a_message_cannot_name_an_agent_that_people_may_not_start() {
    let stage = Stage::new(Script::default()).await;
    for (name, word) in [("worker", "choose one of"), ("nobody", "there is no agent")] {
        let mut prompt = stage.words("go");
        prompt.agent = Some(name.to_owned());
        let refused = stage
            .runtime
            .command(Command {
                id: CommandId::new(name),
                tree: stage.tree.clone(),
                agent: stage.root(),
                order: Order::Prompt(prompt),
            })
            .await;
        let text = match refused {
            Err(CommandError::Invalid(text) | CommandError::Unknown(text)) => text,
            other => panic!("{other:?}"),
        };
        assert!(text.contains(word), "{text}");
    }
}

#[tokio::test]
async fn pln_01_what_a_read_only_agent_may_not_do_the_next_one_may_and_back() {
    let write = || call(&[("write", json!({ "path": "a" }))]);
    let script = Script::default()
        .part("lead", [write(), say("done")])
        .part(
            "planner",
            [write(), say("may not"), task("worker", "go"), say("nor it")],
        )
        .part("worker", [write(), say("no")]);
    let stage = Stage::with_agents(script, vec![planner()]).await;
    stage.ask("first").await;
    ask_as(&stage, "planner", "plan").await;
    ask_as(&stage, "planner", "through a child?").await;
    let outcomes = stage.outcomes("lead").await;
    // All of them are of the root, whoever it was.
    assert_eq!(data(&outcomes[0]), json!("done"));
    assert_eq!(kind(&outcomes[1]), ErrorKind::Denied);
    let child = stage.outcomes("worker").await;
    assert_eq!(kind(&child[0]), ErrorKind::Denied, "task is no way out");
}

#[tokio::test]
async fn sa_46_sa_47_an_approved_plan_is_carried_out_by_build() {
    let script = Script::default()
        .part(
            "planner",
            [
                call(&[("plan_exit", json!({ "plan": "1. paint it" }))]),
                say("proposed"),
            ],
        )
        .part(
            "build",
            [call(&[("write", json!({ "path": "a" }))]), say("painted")],
        );
    let stage = Stage::with_agents(script, vec![planner(), builder()]).await;
    ask_as(&stage, "planner", "what to do?").await;

    let sent = stage.script.sent("build");
    let last = user_texts(&sent[0]).pop().unwrap();
    assert!(
        last.contains("approved") && last.contains("1. paint it"),
        "{last}"
    );
    let root = stage.settlement(&stage.root()).await;
    assert_eq!(root.output.as_deref(), Some("painted"));
    assert!(
        sent[0].tools.iter().all(|tool| tool.id != "plan_exit"),
        "it is the planner's own"
    );
}

#[tokio::test]
async fn pln_01_nobody_leaves_planning_without_a_person() {
    let script = Script::default().part(
        "planner",
        [
            call(&[("plan_exit", json!({ "plan": "1. paint it" }))]),
            say("not approved"),
        ],
    );
    let cast = vec![planner(), builder()];
    let stage = Stage::cast(script, Limits::default(), Asks::NOBODY, cast).await;
    ask_as(&stage, "planner", "what to do?").await;
    assert_eq!(kind(&stage.outcomes("lead").await[0]), ErrorKind::Denied);
    assert!(stage.script.sent("build").is_empty());
}

/// Sends everything that is marked to the helper, and children to another model.
struct Switchboard;

impl Hook for Switchboard {
    fn user_message(&self, about: About<'_>, message: &mut UserMessage) -> Result<(), String> {
        if message.text.contains("forbidden") {
            return Err("not here".to_owned());
        }
        if about.depth == 0 && message.text.starts_with('@') {
            message.agent = Some("helper".to_owned());
        }
        Ok(())
    }

    fn resolve_model(&self, about: About<'_>, _model: &str) -> Option<String> {
        (about.depth > 0).then(|| "small".to_owned())
    }
}

#[tokio::test]
async fn sa_49_x_32_hooks_may_name_the_agent_choose_the_model_and_refuse() {
    let script = Script::default()
        .part(
            "helper",
            [
                task("worker", "look"),
                task("worker", "the forbidden"),
                say("ok"),
            ],
        )
        .part("worker", [say("seen")]);
    let stage = Stage::hooked(script, Vec::new(), Arc::new(Switchboard)).await;
    stage.ask("@ go").await;

    let outcomes = stage.outcomes("lead").await;
    assert_eq!(data(&outcomes[0]), json!({ "output": "seen" }));
    assert_eq!(kind(&outcomes[1]), ErrorKind::Denied);
    assert_eq!(stage.script.sent("worker")[0].model, "small");
    assert_eq!(stage.script.sent("helper")[0].model, "script");
    let refused = stage
        .order(stage.root(), Order::Prompt(stage.words("forbidden")))
        .await;
    assert_eq!(
        refused,
        Receipt::NoEffect {
            why: "not here".to_owned()
        }
    );
    let log = stage.log().await;
    let became = log
        .iter()
        .filter(|entry| matches!(entry.event, Event::Became(_)));
    assert_eq!(became.count(), 1);
}

#[tokio::test]
async fn what_it_became_survives_a_restart() {
    let script = Script::default()
        .part("helper", [say("as helper"), say("still")])
        .part("lead", [say("never")]);
    let stage = Stage::new(script).await;
    ask_as(&stage, "helper", "first").await;
    let stage = stage.crash().await;
    stage.ask("second").await;
    assert_eq!(stage.script.sent("helper").len(), 2);
    assert!(stage.script.sent("lead").is_empty());
}

#[tokio::test]
async fn r21_a_child_of_what_its_parent_had_become_is_held_to_that_after_a_restart_too() {
    let write = || call(&[("write", json!({ "path": "a" }))]);
    let script = Script::default()
        .part("planner", [task("watched", "go"), say("planned")])
        .part("watched", [say("here"), write(), say("may not")]);
    let stage = Stage::with_agents(script, vec![planner()]).await;
    ask_as(&stage, "planner", "plan").await;
    let child = stage.born("watched").await;
    let stage = stage.crash().await;
    stage.prompt(child, "write it").await;
    stage.quiet().await;
    assert_eq!(kind(&stage.outcomes("watched").await[0]), ErrorKind::Denied);
}

#[tokio::test]
async fn r21_what_is_above_a_child_now_narrows_it_too() {
    let write = || call(&[("write", json!({ "path": "a" }))]);
    let script = Script::default()
        .part("lead", [task("watched", "go"), say("done"), say("back")])
        .part("planner", [say("planning")])
        .part(
            "watched",
            [
                write(),
                say("may"),
                write(),
                say("may not"),
                write(),
                say("again"),
            ],
        );
    let stage = Stage::with_agents(script, vec![planner()]).await;
    stage.ask("first").await;
    let child = stage.born("watched").await;
    ask_as(&stage, "planner", "plan").await;
    stage.prompt(child.clone(), "write it").await;
    stage.quiet().await;
    ask_as(&stage, "lead", "back").await;
    stage.prompt(child, "write it").await;
    stage.quiet().await;
    let outcomes = stage.outcomes("watched").await;
    assert_eq!(data(&outcomes[0]), json!("done"));
    assert_eq!(
        kind(&outcomes[1]),
        ErrorKind::Denied,
        "while its parent plans"
    );
    assert_eq!(data(&outcomes[2]), json!("done"), "and no longer");
}

#[tokio::test]
async fn ses_06_a_rewind_takes_back_who_came_with_what_is_taken_back() {
    let script = Script::default()
        .part(
            "lead",
            [say("as lead"), say("as lead again"), say("after a restart")],
        )
        .part("helper", [say("as helper"), say("still helper")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    ask_as(&stage, "helper", "second").await;
    stage.ask("third").await;
    let second = stage
        .log()
        .await
        .into_iter()
        .find_map(|entry| match entry.event {
            Event::Replied(message) => Some(message.id),
            _ => None,
        });
    let order = Order::Rewind(Rewind { to: second });
    let receipt = stage.order(stage.root(), order).await;
    assert!(matches!(receipt, Receipt::Rewound { .. }), "{receipt:?}");
    stage.ask("fourth").await;
    assert_eq!(stage.script.sent("helper").len(), 2);
    let sent = stage.script.sent("lead");
    assert_eq!(user_texts(&sent[1]), ["first", "fourth"]);
    let stage = stage.crash().await;
    stage.ask("fifth").await;
    assert_eq!(stage.script.sent("lead").len(), 3);
}

#[tokio::test]
async fn an_agent_that_only_the_sender_has_takes_over_no_session_of_another_process() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [say("as lead").behind(&gate)])
        .part("reviewer", [say("never")]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "first").await;
    stage.asked("lead", 1).await;
    let mut prompt = stage.words("second");
    prompt.agent = Some("reviewer".to_owned());
    let reviewer = Manifest::new("reviewer", Mode::All, "Review.");
    let order = Order::Prompt(prompt);
    let receipt = stage.order_from_elsewhere(order, reviewer).await;
    let refused = |why: &str| why.contains("knows no agent reviewer");
    assert!(
        matches!(&receipt, Receipt::NoEffect { why } if refused(why)),
        "{receipt:?}"
    );
    gate.open();
    stage.quiet().await;
    assert_eq!(stage.script.sent("lead").len(), 1);
}

fn write(path: &str) -> Line {
    call(&[("write", json!({ "path": path }))])
}

#[tokio::test]
async fn r21_what_is_above_a_child_now_narrows_it_in_the_middle_of_its_turn() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [task_in_background("watched", "go"), say("done")])
        .part("planner", [say("planning")])
        .part("watched", [write("a").behind(&gate), say("may not")]);
    let stage = Stage::with_agents(script, vec![planner()]).await;
    stage.prompt(stage.root(), "first").await;
    stage.asked("watched", 1).await;
    stage.turn_ended(&stage.root()).await;
    let mut prompt = stage.words("plan");
    prompt.agent = Some("planner".to_owned());
    stage.order(stage.root(), Order::Prompt(prompt)).await;
    stage.asked("planner", 1).await;
    gate.open();
    stage.quiet().await;
    assert_eq!(kind(&stage.outcomes("watched").await[0]), ErrorKind::Denied);
}

#[tokio::test]
async fn r22_a_yes_is_none_to_what_whoever_is_above_denies_by_then() {
    let script = Script::default()
        .part("lead", [task_in_background("watched", "go"), say("done")])
        .part("planner", [say("planning")])
        .part("watched", [write("a"), say("may not")]);
    let cast = vec![planner()];
    let stage = Stage::cast(script, Limits::default(), Asks::SOMEBODY, cast).await;
    stage.prompt(stage.root(), "first").await;
    let ask = asked(&stage, 1).await;
    stage.turn_ended(&stage.root()).await;
    let mut prompt = stage.words("plan");
    prompt.agent = Some("planner".to_owned());
    stage.order(stage.root(), Order::Prompt(prompt)).await;
    stage.asked("planner", 1).await;
    let receipt = answer(&stage, ask, Verdict::Session).await;
    assert!(matches!(receipt, Receipt::NoEffect { .. }), "{receipt:?}");
    stage.quiet().await;
    assert_eq!(kind(&stage.outcomes("watched").await[0]), ErrorKind::Denied);
    let log = stage.log().await;
    let given = |entry: &Entry| matches!(entry.event, Event::Decided { grant: Some(_), .. });
    assert!(!log.iter().any(given), "and nothing is given from then on");
}

#[tokio::test]
async fn r22_what_was_allowed_an_agent_is_not_for_whoever_takes_over_from_it() {
    let script = Script::default()
        .part("lead", [write("a"), say("done"), write("b"), say("again")])
        .part("build", [write("c"), say("asked")]);
    let cast = vec![builder()];
    let stage = Stage::cast(script, Limits::default(), Asks::SOMEBODY, cast).await;
    stage.prompt(stage.root(), "first").await;
    answer(&stage, asked(&stage, 1).await, Verdict::Agent).await;
    stage.quiet().await;
    let mut prompt = stage.words("build it");
    prompt.agent = Some("build".to_owned());
    stage.order(stage.root(), Order::Prompt(prompt)).await;
    answer(&stage, asked(&stage, 2).await, no("")).await;
    stage.quiet().await;
    // What it was allowed it is still allowed when it is back, after a restart too.
    let stage = stage.crash().await;
    ask_as(&stage, "lead", "back").await;
    assert_eq!(data(&stage.outcomes("lead").await[2]), json!("done"));
    let layers = |entry: &Entry| match &entry.event {
        Event::Decided { decision, .. } => Some(decision.layer.clone()),
        _ => None,
    };
    let layers: Vec<String> = stage.log().await.iter().filter_map(layers).collect();
    assert_eq!(
        layers,
        [
            "the user, for this agent",
            "the user",
            "the user, for this agent"
        ]
    );
}

/// A hook of the user's that has prompts answered by others: `to AGENT`, `with MODEL`.
fn dispatcher() -> Arc<Guard> {
    let guard = Guard::at(&[Point::UserPromptSubmit]).speaking(|occasion, _| {
        let What::UserPromptSubmit { prompt } = &occasion.what else {
            return Ok(Say::nothing());
        };
        let word = |key: &str| {
            let mut words = prompt.split_whitespace().skip_while(|word| *word != key);
            words.nth(1).map(str::to_owned)
        };
        Ok(Say {
            switch: Some(Switch {
                agent: word("to"),
                model: word("with"),
            })
            .filter(|switch| *switch != Switch::default()),
            ..Say::nothing()
        })
    });
    Arc::new(guard)
}

/// Returns the models that were asked, by definition, in order.
fn models(stage: &Stage, definition: &str) -> Vec<String> {
    let sent = stage.script.sent(definition).into_iter();
    sent.map(|request| request.model).collect()
}

#[tokio::test]
async fn sa_49_a_hook_switches_agent_and_model_for_that_turn_and_onward() {
    let script = Script::default()
        .part("lead", [say("1"), say("2"), say("3")])
        .part("helper", [say("4"), say("5")]);
    let stage = Stage::watched(script, Asks::YES, &dispatcher()).await;
    stage.ask("as you are").await;
    stage.ask("with other/model").await;
    stage.ask("and onward").await;
    assert_eq!(
        models(&stage, "lead"),
        ["script", "other/model", "other/model"]
    );
    stage.ask("to helper").await;
    let stage = stage.crash().await;
    stage.ask("still there").await;
    assert_eq!(models(&stage, "helper"), ["script", "script"]);
    let log = stage.log().await;
    let became = log.iter().filter_map(|entry| match &entry.event {
        Event::Became(role) => Some((role.definition.as_str(), role.model.as_str())),
        _ => None,
    });
    let became: Vec<_> = became.collect();
    assert_eq!(became, [("lead", "other/model"), ("helper", "script")]);
}

#[tokio::test]
async fn sa_49_a_switch_that_cannot_be_made_is_told_and_the_prompt_still_runs() {
    let script = Script::default().part("lead", [say("1"), say("2"), say("3"), say("4")]);
    let stage = Stage::watched(script, Asks::YES, &dispatcher()).await;
    let rule = Rule::new("agent.switch", "helper", Action::Deny);
    for prompt in ["to nobody", "to worker", "with large"] {
        stage.ask(prompt).await;
    }
    stage.says(vec![Layer {
        name: "the user's rules".to_owned(),
        rules: vec![rule],
        standing: Standing::Grants,
        ..Layer::default()
    }]);
    let stage = stage.crash().await;
    stage.ask("to helper").await;
    assert_eq!(models(&stage, "lead"), ["script"; 4]);
    let log = stage.log().await;
    let failed = log.iter().filter(|entry| {
        matches!(&entry.event, Event::Hooked(hooked) if matches!(hooked.did, Did::Failed { .. }))
    });
    assert_eq!(failed.count(), 4);
    assert!(
        !log.iter()
            .any(|entry| matches!(entry.event, Event::Became(_)))
    );
}

async fn set(stage: &Stage, agent: Option<&str>, model: Option<&str>) -> Receipt {
    let choice = choice(agent, model);
    stage.order(stage.root(), Order::SetRole(choice)).await
}

fn choice(agent: Option<&str>, model: Option<&str>) -> RoleChoice {
    RoleChoice {
        agent: agent.map(str::to_owned),
        model: model.map(str::to_owned),
    }
}

#[tokio::test]
async fn r9_a_role_that_a_client_sets_in_a_turn_holds_from_the_next_turn_on_and_after_a_restart() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("as lead")])
        .part("worker", [say("done").behind(&gate)])
        .part("helper", [say("as helper"), say("still"), say("back")]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "first").await;
    stage.asked("worker", 1).await;
    let role = (Some("helper"), Some("other/model"));
    assert_eq!(set(&stage, role.0, role.1).await, Receipt::RoleSet);
    gate.open();
    stage.quiet().await;
    assert_eq!(models(&stage, "lead"), ["script", "script"], "that turn");

    let stage = stage.crash().await;
    stage.ask("second").await;
    stage.ask("third").await;
    assert_eq!(models(&stage, "helper"), ["other/model", "other/model"]);
    // One after the other, and the last of each counts.
    set(&stage, None, Some("a/b")).await;
    set(&stage, None, Some("c/d")).await;
    set(&stage, Some("helper"), None).await;
    stage.ask("fourth").await;
    assert_eq!(models(&stage, "helper")[2], "c/d");
}

#[tokio::test]
async fn r9_another_agent_comes_with_its_own_model_and_a_message_wins() {
    let script = Script::default()
        .part("lead", [say("1"), say("2")])
        .part("helper", [say("3")]);
    let stage = Stage::new(script).await;
    set(&stage, None, Some("other/model")).await;
    stage.ask("first").await;
    set(&stage, Some("helper"), None).await;
    let mut prompt = stage.words("second");
    prompt.agent = Some("lead".to_owned());
    prompt.model = Some("third/model".to_owned());
    stage.order(stage.root(), Order::Prompt(prompt)).await;
    stage.quiet().await;
    assert_eq!(models(&stage, "lead"), ["other/model", "third/model"]);
    set(&stage, Some("helper"), None).await;
    stage.ask("third").await;
    assert_eq!(models(&stage, "helper"), ["script"]);
}

#[tokio::test]
async fn r9_a_rewind_keeps_the_role_that_a_client_has_set() {
    let script = Script::default().part("helper", [say("1"), say("2")]);
    let stage = Stage::new(script).await;
    set(&stage, Some("helper"), None).await;
    stage.ask("first").await;
    let order = Order::Rewind(Rewind { to: None });
    stage.order(stage.root(), order).await;
    stage.ask("second").await;
    assert_eq!(models(&stage, "helper").len(), 2);
}

#[tokio::test]
async fn r9_a_role_that_a_session_cannot_have_is_refused_and_nothing_is_written() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [say("done")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    let child = stage.born("worker").await;
    let before = stage.log().await;
    let send = async |agent, choice| {
        let command = stage.command(&stage.tree, agent, Order::SetRole(choice));
        stage.runtime.command(command).await
    };
    let missing = send(stage.root(), choice(Some("nobody"), None)).await;
    let Err(CommandError::Missing(missing)) = missing else {
        panic!("{missing:?}");
    };
    assert_eq!(missing, Missing::Agent("nobody".to_owned()));
    for (agent, choice) in [
        (stage.root(), choice(Some("worker"), None)),
        (stage.root(), choice(None, None)),
        (child, choice(None, Some("other/model"))),
    ] {
        let refused = send(agent, choice).await;
        assert!(
            matches!(refused, Err(CommandError::Invalid(_))),
            "{refused:?}"
        );
    }
    assert_eq!(stage.log().await, before);
}

#[tokio::test]
async fn r9_a_role_set_twice_by_one_command_is_one_entry_and_one_receipt() {
    let stage = Stage::new(Script::default()).await;
    let order = Order::SetRole(choice(Some("helper"), None));
    let command = stage.command(&stage.tree, stage.root(), order);
    for _ in 0..2 {
        let receipt = stage.runtime.command(command.clone()).await.unwrap();
        assert_eq!(receipt, Receipt::RoleSet);
    }
    let log = stage.log().await;
    let chosen = |entry: &&Entry| matches!(entry.event, Event::RoleChosen(_));
    assert_eq!(log.iter().filter(chosen).count(), 1);
}

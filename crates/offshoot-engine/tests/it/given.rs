//! What a child is given of what its parent has: conversation, files, tools, settings.

use offshoot_engine::Helpers;
use offshoot_types::manifest::{Context, Effort, Manifest, Mode, Toolset};
use offshoot_types::message::AssistantPart;
use offshoot_types::model::{ModelErrorKind, Request, RequestMessage};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::tier::{ModelChoices, Tier};
use offshoot_types::tool::Effect;
use serde_json::json;

use crate::stage::{
    Gate, Probe, Script, Stage, call, data, kind, say, task, task_arguments, user_texts,
};

/// A child is made by a call, and a call is in a message; so there always is one to fork from, also
/// where it is the first thing that was said, and has no text.
#[tokio::test]
async fn pd_12_there_always_is_a_message_to_fork_from() {
    let twin = Manifest {
        context: Context::Fork,
        ..Manifest::new("twin", Mode::Subagent, "Be a child.")
    };
    let script = Script::default().part("lead", [task("twin", "go"), say("done")]);
    let stage = Stage::with_agents(script, vec![twin]).await;
    stage.ask("go").await;
    let sent = stage.script.sent("twin");
    let [
        RequestMessage::Assistant(parts),
        RequestMessage::Outcomes(outcomes),
        _,
    ] = sent[0].messages.as_slice()
    else {
        panic!("{:?}", sent[0].messages);
    };
    let [AssistantPart::Call(call)] = parts.as_slice() else {
        panic!("{parts:?}");
    };
    assert_eq!((call.tool.as_str(), &call.id), ("task", &outcomes[0].call));
}

/// Tells whether every call of a request has its outcome behind it, and every outcome its call.
fn is_paired(request: &Request) -> bool {
    let mut open = Vec::new();
    for message in &request.messages {
        match message {
            RequestMessage::Assistant(parts) => {
                if !open.is_empty() {
                    return false;
                }
                open.extend(parts.iter().filter_map(|part| match part {
                    AssistantPart::Call(call) => Some(call.id.clone()),
                    _ => None,
                }));
            }
            RequestMessage::Outcomes(outcomes) => {
                let answered: Vec<_> = outcomes.iter().map(|one| one.call.clone()).collect();
                if answered != open {
                    return false;
                }
                open.clear();
            }
            RequestMessage::User(_) if !open.is_empty() => return false,
            RequestMessage::User(_) => {}
        }
    }
    open.is_empty()
}

#[tokio::test]
async fn pd_15_calls_without_an_outcome_are_never_sent_nor_messages_that_had_nothing_else() {
    let never = Gate::shut();
    let read = || call(&[("read", json!({ "path": "a" }))]);
    let script = Script::default().part(
        "lead",
        [
            read()
                .saying("let me see")
                .breaking_off(ModelErrorKind::Invalid),
            read().breaking_off(ModelErrorKind::Invalid),
            call(&[("wait_here", json!({}))]),
            say("back"),
        ],
    );
    let stage = Stage::new(script).await;
    let (notes, _attached) = Probe::new("wait_here", Effect::Write)
        .held_at(&never)
        .on(&stage);
    stage.ask("one").await;
    stage.ask("two").await;
    stage.prompt(stage.root(), "three").await;
    notes.running(1).await;
    let stage = stage.crash().await;
    stage.ask("four").await;

    let sent = stage.script.sent("lead");
    assert!(sent.iter().all(is_paired));
    let last = sent.last().unwrap();
    assert_eq!(
        user_texts(last),
        ["one", "two", "three", "four"],
        "untouched"
    );
    let said: Vec<_> = last
        .messages
        .iter()
        .filter_map(|message| match message {
            RequestMessage::Assistant(parts) => Some(parts.as_slice()),
            _ => None,
        })
        .collect();
    let [text, interrupted] = said.as_slice() else {
        panic!("one that was nothing but a call is gone: {said:?}");
    };
    assert_eq!(*text, [AssistantPart::Text("let me see".to_owned())]);
    assert!(
        matches!(interrupted, [AssistantPart::Call(_)]),
        "told as such"
    );
    let told = crate::stage::outcome_texts(last);
    assert!(told[0].contains("interrupted"), "{told:?}");
}

/// Nothing is remembered of what was read, so there is nothing to copy (W-2): a child that reads what
/// its parent has read gets it, and what either may write is the chain's word, not a list of reads.
#[tokio::test]
async fn pd_16_pd_17_a_child_reads_for_itself_and_its_reads_and_writes_are_judged_alone() {
    let look = || call(&[("look", json!({ "path": "a" }))]);
    let script = Script::default()
        .part("lead", [look(), task("worker", "go"), look(), say("done")])
        .part(
            "worker",
            [
                look(),
                call(&[("write", json!({ "path": "never read" }))]),
                say("ok"),
            ],
        );
    let stage = Stage::new(script).await;
    let (notes, _attached) = Probe::new("look", Effect::Read)
        .needing("fs.read")
        .on(&stage);
    stage.ask("go").await;
    let (root, worker) = (stage.root(), stage.born("worker").await);
    let owners: Vec<String> = notes.ran().into_iter().map(|place| place.owner).collect();
    assert_eq!(owners, [root.as_str(), worker.as_str(), root.as_str()]);
    let whole = json!({ "path": "a" });
    let child = stage.outcomes("worker").await;
    assert_eq!(data(&child[0]), whole, "and not that it is unchanged");
    assert_eq!(data(&child[1]), json!("done"));
    let parent = stage.outcomes("lead").await;
    assert_eq!((data(&parent[0]), data(&parent[2])), (whole.clone(), whole));
}

/// Replaced by what PD-22 asks for: nothing is dropped because of what it says of an empty input;
/// each call is judged on its real one.
#[tokio::test]
async fn pd_21_no_tool_is_dropped_by_asking_it_about_nothing() {
    let looker = Manifest {
        read_only: true,
        ..Manifest::new("looker", Mode::Subagent, "Look.")
    };
    let script = Script::default()
        .part(
            "lead",
            [task("worker", "go"), task("looker", "go"), say("done")],
        )
        .part(
            "looker",
            [call(&[("change", json!({ "path": "b" }))]), say("may not")],
        );
    let stage = Stage::with_agents(script, vec![looker]).await;
    let (notes, _attached) = Probe::new("change", Effect::Write)
        .needing("fs.write")
        .on(&stage);
    stage.ask("go").await;
    let offered = |definition: &str| stage.script.sent(definition)[0].tools.clone();
    assert_eq!(offered("looker"), offered("worker"), "the same is offered");
    assert_eq!(notes.judged(), [r#"{"path":"b"}"#], "never an empty object");
    assert_eq!(kind(&stage.outcomes("looker").await[0]), ErrorKind::Denied);
    assert!(notes.ran().is_empty());
}

#[tokio::test]
async fn pd_23_a_tool_is_shared_and_what_is_around_it_is_each_childs_own() {
    let gate = Gate::shut();
    let narrow = Manifest {
        tools: Toolset::only(["meet"]),
        ..Manifest::new("narrow", Mode::Subagent, "Meet.")
    };
    let meet = || call(&[("meet", json!({ "path": "a" }))]);
    let both = call(&[
        ("task", task_arguments("narrow", "one")),
        ("task", task_arguments("worker", "two")),
    ]);
    let script = Script::default()
        .part("lead", [both, say("done")])
        .part("narrow", [meet(), say("met")])
        .part("worker", [meet(), say("met")]);
    let stage = Stage::with_agents(script, vec![narrow]).await;
    let (notes, _attached) = Probe::new("meet", Effect::Write).held_at(&gate).on(&stage);
    stage.prompt(stage.root(), "go").await;
    // Writes of one agent wait for each other; those of two do not, for each has its own scheduler.
    notes.running(2).await;
    gate.open();
    stage.quiet().await;
    assert_eq!(notes.ran().len(), 2, "one tool for both");
    let offered = |definition: &str| stage.script.sent(definition)[0].tools.len();
    assert_eq!(offered("narrow"), 1, "its own registry");
    assert!(
        offered("worker") > 1 && offered("lead") > 1,
        "and nobody else's"
    );
}

/// Here something reads it: it is sent with every request of the agent, and of no other.
#[tokio::test]
async fn pd_26_effort_is_the_agents_own_and_is_sent_to_its_model() {
    let thinker = Manifest {
        effort: Some(Effort::High),
        ..Manifest::new("thinker", Mode::Subagent, "Think.")
    };
    let script = Script::default()
        .part("lead", [task("thinker", "go"), say("done")])
        .part("thinker", [task("worker", "go"), say("thought")]);
    let stage = Stage::with_agents(script, vec![thinker]).await;
    stage.ask("go").await;
    let efforts = |definition: &str| -> Vec<Option<Effort>> {
        let sent = stage.script.sent(definition);
        sent.iter().map(|request| request.effort).collect()
    };
    assert_eq!(efforts("thinker"), [Some(Effort::High); 2]);
    assert_eq!(efforts("lead"), [None; 2]);
    assert_eq!(efforts("worker"), [None]);
}

/// The model is the manifest's, else the parent's (X-24). Everything else that shapes a request comes
/// from the child's own manifest, and a parent's output schema holds for the parent alone.
#[tokio::test]
async fn pd_27_a_childs_settings_are_its_own_and_it_is_known_for_what_it_is() {
    let lead = Manifest {
        temperature: Some(0.5),
        max_output_tokens: Some(1_000),
        output_schema: Some(offshoot_types::json::RawJson::of(
            &json!({ "type": "array" }),
        )),
        ..Manifest::new("lead", Mode::Primary, "Lead.")
    };
    let other = Manifest {
        model: Some("own".to_owned()),
        max_output_tokens: Some(50),
        ..Manifest::new("other", Mode::Subagent, "Be other.")
    };
    let script = Script::default()
        .part(
            "lead",
            [task("worker", "go"), task("other", "go"), say("[]")],
        )
        .part("worker", [say("prose")])
        .part("other", [task("helper", "go"), say("prose")]);
    let stage = Stage::with_agents(script, vec![lead, other]).await;
    stage.ask("go").await;

    let sent = |definition: &str| stage.script.sent(definition).remove(0);
    let settings = |definition: &str| {
        let request = sent(definition);
        (
            request.model,
            request.temperature,
            request.max_output_tokens,
        )
    };
    let script = || "script".to_owned();
    assert_eq!(settings("lead"), (script(), Some(0.5), Some(1_000)));
    assert_eq!(settings("worker"), (script(), None, None));
    assert_eq!(settings("other"), ("own".to_owned(), None, Some(50)));
    assert_eq!(settings("helper").0, "own", "its parent's");
    assert_eq!(
        data(&stage.outcomes("lead").await[0]),
        json!({ "output": "prose" }),
        "its answer is held against nothing"
    );
    let helper = sent("helper").from;
    assert_eq!((helper.definition.as_str(), helper.depth), ("helper", 2));
    assert_eq!(helper.agent, stage.born("helper").await);
}

/// Runs children of every kind and returns the models that they were asked with, by definition.
async fn models_with(choices: ModelChoices) -> impl Fn(&str) -> String {
    let agent = |name: &str, model: Option<&str>| Manifest {
        model: model.map(str::to_owned),
        ..Manifest::new(name, Mode::Subagent, "Do.")
    };
    let cast = vec![
        agent("small", Some("small")),
        agent("standard", Some("standard")),
        agent("large", Some("large")),
        agent("own", Some("own/model")),
        agent("none", None),
    ];
    let names = ["small", "standard", "large", "own", "none"];
    let calls = names.map(|name| ("task", task_arguments(name, "go")));
    let script = Script::default()
        .part("lead", [call(&calls), say("done")])
        .part("own", [task("worker", "go"), say("done")]);
    let helpers = Helpers {
        models: choices,
        ..Helpers::default()
    };
    let stage = Stage::helped(script, cast, helpers).await;
    stage.ask("go").await;
    move |definition: &str| stage.script.sent(definition).remove(0).model
}

#[tokio::test]
async fn sa_43_a_tier_is_what_the_host_maps_it_to() {
    let tiers = [
        (Tier::Small, "cheap/one".to_owned()),
        (Tier::Standard, "usual/one".to_owned()),
        (Tier::Large, "best/one".to_owned()),
    ];
    let choices = ModelChoices {
        tiers: tiers.into(),
        child: None,
    };
    let model = models_with(choices).await;
    assert_eq!(model("lead"), "script");
    assert_eq!(model("small"), "cheap/one");
    assert_eq!(model("standard"), "usual/one");
    assert_eq!(model("large"), "best/one");
    assert_eq!(model("own"), "own/model");
    assert_eq!(model("worker"), "own/model", "its parent's");
}

#[tokio::test]
async fn pd_27_x_24_a_child_that_names_no_model_has_the_default_for_children() {
    let choices = ModelChoices {
        tiers: [].into(),
        child: Some("child/default".to_owned()),
    };
    let model = models_with(choices).await;
    assert_eq!(model("lead"), "script", "a root is no child");
    assert_eq!(model("standard"), "script", "the session's");
    assert_eq!(model("own"), "own/model");
    // A tier without a mapping counts as not named.
    for name in ["small", "large", "none", "worker"] {
        assert_eq!(model(name), "child/default", "{name}");
    }
    let model = models_with(ModelChoices::default()).await;
    for name in ["small", "standard", "large", "none"] {
        assert_eq!(model(name), "script", "{name}");
    }
}

//! Forking: a session that begins as a copy of another.

use offshoot_engine::{CommandError, query};
use offshoot_types::command::{Command, Fork, Order, Prompt, Receipt, Rewind, Verdict};
use offshoot_types::event::{Compaction, Entry, Event, Origin};
use offshoot_types::id::{AgentId, CommandId, MessageId, Pos, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::message::{Author, Usage};
use offshoot_types::store::Store as _;
use offshoot_types::transcript::{Item, Transcript};
use offshoot_types::tree::Tree;
use serde_json::json;

use crate::stage::{Gate, Script, Stage, call, say, task, task_in_background, user_texts};

fn copy_of(of: AgentId) -> Fork {
    Fork {
        of,
        at: None,
        metadata: None,
    }
}

/// Copies a session under an id.
async fn fork(stage: &Stage, id: &str, fork: Fork) -> Result<Receipt, CommandError> {
    let agent = AgentId::new(id);
    let command = Command {
        id: CommandId::new(format!("fork-{id}")),
        tree: TreeId::of(agent.clone()),
        agent,
        order: Order::Fork(fork),
    };
    stage.runtime.command(command).await
}

async fn log(stage: &Stage, id: &str) -> Vec<Entry> {
    let tree = TreeId::of(AgentId::new(id));
    stage.runtime.query(query::Log::of(tree)).await.unwrap()
}

/// Returns the conversation of a session.
async fn said(stage: &Stage, id: &str) -> Vec<Item> {
    let log = log(stage, id).await;
    let own = log.iter().filter(|entry| entry.agent.as_str() == id);
    let folded = Transcript::fold(own.map(|entry| &entry.event));
    folded.unwrap().into_items()
}

/// Asks the root of any session and waits until it is quiet.
async fn ask(stage: &Stage, id: &str, text: &str) {
    let agent = AgentId::new(id);
    let tree = TreeId::of(agent.clone());
    let prompt = Order::Prompt(stage.words(text));
    assert_eq!(
        stage.order_in(&tree, agent.clone(), prompt).await,
        Receipt::Prompted
    );
    stage.quiet_in(&tree).await;
}

#[track_caller]
fn refused(result: Result<Receipt, CommandError>, why: &str) {
    match result {
        Err(CommandError::Invalid(text)) => assert!(text.contains(why), "{text}"),
        other => panic!("it was answered {other:?}"),
    }
}

#[tokio::test]
async fn ses_08_a_copy_says_the_same_under_ids_of_its_own_and_goes_on_by_itself() {
    let read = call(&[("read", json!({ "path": "a" }))]);
    let script = Script::default().part("lead", [read, say("one"), say("two"), say("three")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    stage.ask("second").await;
    let original = stage.log().await;

    assert_eq!(
        fork(&stage, "copy", copy_of(stage.root())).await.unwrap(),
        Receipt::Opened
    );
    let (old, new) = (said(&stage, "root").await, said(&stage, "copy").await);
    assert_eq!(old.len(), new.len());
    for (old, new) in old.iter().zip(&new) {
        assert_ne!(old.id(), new.id());
        match (old, new) {
            (Item::User(old), Item::User(new)) => assert_eq!(old.text, new.text),
            (Item::Assistant(old), Item::Assistant(new)) => {
                assert_eq!(old.message().parts, new.message().parts);
                assert!(old.outcomes().eq(new.outcomes()));
            }
            (old, new) => panic!("{old:?} became {new:?}"),
        }
    }
    let before = stage.script.sent("lead").pop().unwrap();
    ask(&stage, "copy", "third").await;
    let sent = stage.script.sent("lead").pop().unwrap();
    assert_eq!(sent.system, before.system);
    assert_eq!(user_texts(&sent), ["first", "second", "third"]);
    assert!(sent.messages.starts_with(&before.messages));
    assert_eq!(stage.log().await, original, "the other one is only read");
}

#[tokio::test]
async fn ses_08_a_copy_ends_where_it_was_asked_to_and_knows_where_it_comes_from() {
    let script = Script::default().part("lead", [say("one"), say("two")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    stage.ask("second").await;
    let old = said(&stage, "root").await;
    let at = old[1].id().clone();
    let order = Fork {
        at: Some(at.clone()),
        ..copy_of(stage.root())
    };
    fork(&stage, "copy", order).await.unwrap();
    assert_eq!(said(&stage, "copy").await.len(), 2);

    let log = log(&stage, "copy").await;
    let Event::Spawned(born) = &log[0].event else {
        panic!("{:?}", log[0]);
    };
    let Origin::Session { copy, .. } = &born.origin else {
        panic!("{born:?}");
    };
    let copied = copy.as_ref().unwrap();
    assert_eq!((&copied.session, &copied.message), (&stage.root(), &at));
    assert_eq!(copied.until, log.last().unwrap().seq);
    let tree = Tree::fold(&log).unwrap();
    let root = tree.agent(&AgentId::new("copy")).unwrap();
    assert_eq!(root.settlement().unwrap().output.as_deref(), Some("one"));
    assert_eq!(root.settlement().unwrap().usage.input, 10);
}

#[tokio::test]
async fn ses_08_a_session_that_is_not_at_rest_or_not_there_is_not_copied() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("one").behind(&gate)])
        .part("worker", [say("done")]);
    let stage = Stage::new(script).await;
    let root = stage.root();
    refused(
        fork(&stage, "a", copy_of(root.clone())).await,
        "no message that could be copied",
    );
    refused(
        fork(&stage, "b", copy_of(AgentId::new("nobody"))).await,
        "there is no session nobody",
    );
    stage.prompt(root.clone(), "go").await;
    stage.asked("lead", 2).await;
    refused(fork(&stage, "c", copy_of(root.clone())).await, "at work");
    gate.open();
    stage.quiet().await;
    let worker = stage.born("worker").await;
    refused(
        fork(&stage, "d", copy_of(worker)).await,
        "only whole sessions are copied",
    );
    let order = |at: &MessageId| Fork {
        at: Some(at.clone()),
        ..copy_of(root.clone())
    };
    refused(
        fork(&stage, "e", order(&MessageId::new("nobody's"))).await,
        "is not in the conversation",
    );
    let hidden = said(&stage, "root").await.pop().unwrap();
    let to = Some(said(&stage, "root").await[0].id().clone());
    stage
        .order(root.clone(), Order::Rewind(Rewind { to }))
        .await;
    refused(
        fork(&stage, "f", order(hidden.id())).await,
        "is not in the conversation",
    );
    for id in ["a", "b", "c", "d", "e", "f"] {
        assert!(log(&stage, id).await.is_empty(), "{id} is there");
    }
    refused(
        fork(&stage, "root", copy_of(root.clone())).await,
        "an id of its own",
    );
    fork(&stage, "g", order(said(&stage, "root").await[0].id()))
        .await
        .unwrap();
}

#[tokio::test]
async fn ses_08_a_copy_that_was_asked_for_twice_is_made_once() {
    let script = Script::default().part("lead", [say("one")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    for _ in 0..2 {
        let made = fork(&stage, "copy", copy_of(stage.root())).await;
        assert_eq!(made.unwrap(), Receipt::Opened);
    }
    let agent = AgentId::new("copy");
    let again = Command {
        id: CommandId::new("another"),
        tree: TreeId::of(agent.clone()),
        agent,
        order: Order::Fork(copy_of(stage.root())),
    };
    refused(stage.runtime.command(again).await, "exists already");
}

#[tokio::test]
async fn x_28_what_a_child_has_to_say_goes_to_the_original_only() {
    let gate = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [task("worker", "go"), say("one"), say("heard"), say("mine")],
        )
        .part("worker", [say("done"), say("later").behind(&gate)]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let worker = stage.born("worker").await;
    stage.prompt(worker.clone(), "more").await;
    stage.asked("worker", 2).await;
    // A child is at work and the root is not: that is enough.
    fork(&stage, "copy", copy_of(stage.root())).await.unwrap();
    gate.open();
    stage.settled_twice(&worker).await;
    stage.quiet().await;
    assert_eq!(stage.completions().await.len(), 1);

    ask(&stage, "copy", "and you?").await;
    let tree = Tree::fold(&log(&stage, "copy").await).unwrap();
    assert_eq!(tree.walk().len(), 2);
    let child = &tree.agent(&AgentId::new("copy")).unwrap().children[0];
    assert_eq!(tree.agent(child).unwrap().runs.len(), 1, "what was told");
    let items = said(&stage, "copy").await;
    let completions = items
        .iter()
        .filter(|item| matches!(item, Item::Completion(_)));
    assert_eq!(completions.count(), 0);
}

#[tokio::test]
async fn x_28_a_completion_that_was_told_is_copied_as_it_was_told() {
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "go"),
                say("started"),
                say("heard"),
                say("mine"),
            ],
        )
        .part("worker", [say("the answer")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let old = stage.script.sent("lead").pop().unwrap();
    fork(&stage, "copy", copy_of(stage.root())).await.unwrap();
    ask(&stage, "copy", "and you?").await;
    let sent = stage.script.sent("lead").pop().unwrap();
    assert!(sent.messages.starts_with(&old.messages));
    Tree::fold(&log(&stage, "copy").await).unwrap();
}

#[tokio::test]
async fn ses_08_what_is_attached_is_merged_and_what_is_given_counts() {
    let script = Script::default().part("lead", [say("one"), say("two")]);
    let stage = Stage::new(script).await;
    let given = |json: serde_json::Value| Some(RawJson::of(&json));
    stage.ask("first").await;
    let of_root = Fork {
        metadata: given(json!({ "a": 1, "b": 1 })),
        ..copy_of(stage.root())
    };
    fork(&stage, "copy", of_root).await.unwrap();
    let of_copy = Fork {
        metadata: given(json!({ "b": 2, "ephemeral": true })),
        ..copy_of(AgentId::new("copy"))
    };
    fork(&stage, "copy of copy", of_copy).await.unwrap();
    let log = log(&stage, "copy of copy").await;
    let Event::Spawned(born) = &log[0].event else {
        panic!("{:?}", log[0]);
    };
    let metadata: serde_json::Value = born.metadata.as_ref().unwrap().read().unwrap();
    assert_eq!(metadata, json!({ "a": 1, "b": 2, "ephemeral": true }));
    let huge = Fork {
        metadata: given(json!({ "x": "x".repeat(16 * 1024 - 12) })),
        ..copy_of(AgentId::new("copy"))
    };
    refused(fork(&stage, "huge", huge).await, "bytes of metadata");
}

#[tokio::test]
async fn ses_08_a_copy_is_what_the_other_root_has_become() {
    let script = Script::default()
        .part("lead", [say("one")])
        .part("helper", [say("two"), say("three")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    let prompt = Prompt {
        agent: Some("helper".to_owned()),
        ..stage.words("second")
    };
    stage.order(stage.root(), Order::Prompt(prompt)).await;
    stage
        .until(|entry| matches!(&entry.event, Event::Settled { run, .. } if run.get() == 2))
        .await;
    stage.quiet().await;
    fork(&stage, "copy", copy_of(stage.root())).await.unwrap();
    ask(&stage, "copy", "third").await;
    assert_eq!(stage.script.sent("helper").len(), 2);
    let tree = Tree::fold(&log(&stage, "copy").await).unwrap();
    let root = tree.agent(&AgentId::new("copy")).unwrap();
    assert_eq!(root.spawned.definition, "helper");
    assert!(!root.has_changed());
}

#[tokio::test]
async fn ses_09_what_was_allowed_for_a_session_is_not_allowed_in_its_copy() {
    let run = || call(&[("run", json!({ "path": "a" }))]);
    let script = Script::default().part("lead", [run(), say("one"), run(), say("two")]);
    let stage = Stage::asking(
        script,
        offshoot_engine::Limits::default(),
        offshoot_engine::Asks::SOMEBODY,
    )
    .await;
    let root = stage.root();
    stage.prompt(root.clone(), "first").await;
    stage
        .until(|entry| matches!(entry.event, Event::Asked { .. }))
        .await;
    let asked = stage.tree().await;
    let asked = asked.agent(&root).unwrap().open_calls()[0].call.clone();
    let answer = offshoot_types::command::Answer::new(asked, Verdict::Session);
    stage.order(root.clone(), Order::Answer(answer)).await;
    stage.quiet().await;

    fork(&stage, "copy", copy_of(root)).await.unwrap();
    let rules = async |id: &str| -> serde_json::Value {
        let rows = stage.store.chat(&AgentId::new(id)).await.unwrap().unwrap();
        let session: serde_json::Value = rows.session.read().unwrap();
        serde_json::from_str(session["permissions_json"].as_str().unwrap()).unwrap()
    };
    // PER-08.
    let allowed = rules("root").await;
    assert_eq!(allowed.as_array().unwrap().len(), 1, "{allowed}");
    assert_eq!(
        (&allowed[0]["action"], &allowed[0]["source"]),
        (&json!("allow"), &json!("session"))
    );
    assert_eq!(rules("copy").await, json!([]));
    let copy = AgentId::new("copy");
    let tree = TreeId::of(copy.clone());
    let prompt = Order::Prompt(stage.words("second"));
    stage.order_in(&tree, copy, prompt).await;
    let mut updates = stage.runtime.subscribe(&tree, Pos::ZERO).await;
    loop {
        if let offshoot_engine::Update::Entry(entry) = updates.next().await.unwrap()
            && matches!(entry.event, Event::Asked { .. })
        {
            return;
        }
    }
}

/// Returns the entries of a session that has a title and a summary of what was said first.
async fn summed_up(stage: &Stage, title: &str) -> Vec<Event> {
    let log = stage.log().await;
    let mut events: Vec<Event> = log.into_iter().map(|entry| entry.event).collect();
    let settled = events.pop().unwrap();
    assert!(matches!(settled, Event::Settled { .. }));
    let said = Transcript::fold(&events).unwrap().into_items();
    events.push(Event::Compacted(Box::new(Compaction {
        request: None,
        message: MessageId::new("summary"),
        summary: "what was said".to_owned(),
        tail_start: said.last().map(|item| item.id().clone()),
        auto: false,
        summary_tokens: 3,
        results: Vec::new(),
        live: Vec::new(),
        counts: Usage::default(),
        warning: None,
    })));
    events.push(settled);
    events.push(Event::Titled {
        title: title.to_owned(),
        by: Author::Host,
    });
    events
}

#[tokio::test]
async fn ses_08_a_title_says_that_it_is_of_a_copy_and_a_summary_stands_where_it_stood() {
    let script = Script::default().part("lead", [say("one"), say("two")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    let events = summed_up(&stage, &"t".repeat(80)).await;
    stage.write_another("titled", events).await;
    fork(&stage, "copy", copy_of(AgentId::new("titled")))
        .await
        .unwrap();

    let tree = Tree::fold(&log(&stage, "copy").await).unwrap();
    let root = tree.agent(&AgentId::new("copy")).unwrap();
    let title = format!("{} (copy)", "t".repeat(73));
    assert_eq!(root.title, Some((title, Author::Host)));
    ask(&stage, "copy", "second").await;
    let sent = stage.script.sent("lead").pop().unwrap();
    let texts = user_texts(&sent);
    assert!(texts[0].contains("what was said"), "{texts:?}");
    assert_eq!(texts[1..], ["second"]);
    assert_eq!(
        sent.messages.len(),
        3,
        "the tail was kept: {:?}",
        sent.messages
    );
}

#[tokio::test]
async fn ses_08_an_untitled_session_has_an_untitled_copy() {
    let script = Script::default().part("lead", [say("one")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    fork(&stage, "copy", copy_of(stage.root())).await.unwrap();
    let tree = Tree::fold(&log(&stage, "copy").await).unwrap();
    assert_eq!(tree.agent(&AgentId::new("copy")).unwrap().title, None);
}

#[tokio::test]
async fn ses_08_a_copy_is_the_agent_that_said_what_is_copied_last_and_not_who_took_over_since() {
    let script = Script::default()
        .part("lead", [say("one")])
        .part("helper", [say("two")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    let prompt = Prompt {
        agent: Some("helper".to_owned()),
        ..stage.words("second")
    };
    stage.order(stage.root(), Order::Prompt(prompt)).await;
    stage.quiet().await;
    let items = said(&stage, "root").await;
    for (id, at, expected) in [("early", 1, "lead"), ("late", 3, "helper")] {
        let wanted = Fork {
            at: Some(items[at].id().clone()),
            ..copy_of(stage.root())
        };
        fork(&stage, id, wanted).await.unwrap();
        let Event::Spawned(born) = &log(&stage, id).await[0].event else {
            panic!("it is not born first")
        };
        assert_eq!(born.definition, expected);
    }
}

#[tokio::test]
async fn pd_49_a_copy_keeps_the_children_it_was_told_of_when_the_original_is_gone() {
    let deeper = task("helper", "deeper");
    let script = Script::default()
        .part(
            "lead",
            [
                task("worker", "go"),
                task_in_background("worker", "and you"),
                say("started"),
                say("heard"),
                say("mine"),
            ],
        )
        .part("worker", [deeper, say("from below"), say("beside")])
        .part("helper", [say("deep")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let old = Tree::fold(&stage.log().await).unwrap();
    fork(&stage, "copy", copy_of(stage.root())).await.unwrap();
    stage.let_go().await;
    let lease = stage.store.claim(&stage.tree).await.unwrap();
    stage.store.delete(lease).await.unwrap();

    let log = log(&stage, "copy").await;
    let tree = Tree::fold(&log).unwrap();
    let shape = |tree: &Tree| -> Vec<(String, u32, Option<String>)> {
        let all = tree.walk().into_iter().map(|id| tree.agent(id).unwrap());
        all.map(|agent| {
            let output = agent.settlement().and_then(|end| end.output.clone());
            (agent.definition().to_owned(), agent.spawned.depth, output)
        })
        .collect()
    };
    assert_eq!(shape(&tree), shape(&old));
    let root = tree.agent(&AgentId::new("copy")).unwrap();
    assert!(root.mail.is_empty(), "all of it was told");
    for (new, old) in tree.walk().into_iter().zip(old.walk()).skip(1) {
        assert_ne!(new, old, "an id of its own");
        let metadata = tree.agent(new).unwrap().spawned.metadata.as_ref().unwrap();
        let metadata: serde_json::Value = metadata.read().unwrap();
        assert_eq!(metadata["copy_of"], old.as_str());
    }
    // The metadata of outcomes names the copies.
    let of_root = log.iter().filter(|entry| entry.agent.as_str() == "copy");
    let named: Vec<String> = of_root
        .filter_map(|entry| match &entry.event {
            Event::CallFinished { outcome, .. } => Some(outcome),
            _ => None,
        })
        .filter_map(|outcome| outcome.metadata.extra.get("subagent_id"))
        .map(|id| id.read().unwrap())
        .collect();
    assert_eq!(named, [tree.walk()[1].as_str()]);
    // What they said is nested in the rows of the copy.
    let rows = stage
        .store
        .chat(&AgentId::new("copy"))
        .await
        .unwrap()
        .unwrap();
    let text = RawJson::of(&rows).as_str().to_owned();
    for said in ["from below", "deep", "beside"] {
        assert!(text.contains(said), "{said}");
    }
    // And the copy goes on.
    ask(&stage, "copy", "and you?").await;
    assert_eq!(said(&stage, "copy").await.len(), said_before(&log) + 2);
}

fn said_before(log: &[Entry]) -> usize {
    let own = log.iter().filter(|entry| entry.agent.as_str() == "copy");
    let folded = Transcript::fold(own.map(|entry| &entry.event));
    folded.unwrap().into_items().len()
}

#[tokio::test]
async fn pd_49_a_copy_that_ends_before_a_child_was_told_does_not_have_it() {
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "go"),
                say("started"),
                say("heard"),
                say("mine"),
            ],
        )
        .part("worker", [say("done")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let items = said(&stage, "root").await;
    let started = items
        .iter()
        .rposition(|item| matches!(item, Item::Completion(_)))
        .unwrap();
    let order = Fork {
        at: Some(items[started - 1].id().clone()),
        ..copy_of(stage.root())
    };
    fork(&stage, "copy", order).await.unwrap();
    let tree = Tree::fold(&log(&stage, "copy").await).unwrap();
    assert_eq!(tree.walk().len(), 1);
    ask(&stage, "copy", "and you?").await;
    let items = said(&stage, "copy").await;
    assert!(!items.iter().any(|item| matches!(item, Item::Completion(_))));
}

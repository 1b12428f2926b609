//! What a child sees of its parent's conversation: nothing, the last message, or all of it.

use offshoot_types::manifest::{Context, Manifest, Mode, Toolset};
use offshoot_types::message::AssistantPart;
use offshoot_types::model::{Request, RequestMessage};
use offshoot_types::outcome::ErrorKind;
use serde_json::json;

use crate::stage::{Line, Script, Stage, call, data, kind, say, task, task_arguments};

fn seeing(name: &str, context: Context) -> Manifest {
    Manifest {
        context,
        ..Manifest::new(name, Mode::All, "Be a child.")
    }
}

fn two_children(agent: &str) -> Line {
    call(&[
        ("task", task_arguments(agent, "the left half")),
        ("task", task_arguments(agent, "the right half")),
        ("read", json!({ "path": "a" })),
    ])
}

fn directive(request: &Request) -> &str {
    match request.messages.last() {
        Some(RequestMessage::User(text)) => text,
        other => panic!("the last message is {other:?}"),
    }
}

async fn played(context: Context) -> Stage {
    let script = Script::default().part(
        "lead",
        [
            call(&[("read", json!({ "path": "b" }))]),
            two_children("twin"),
            say("done"),
        ],
    );
    let stage = Stage::with_agents(script, vec![seeing("twin", context)]).await;
    stage.ask("split it").await;
    stage
}

#[tokio::test]
async fn pd_14_a_fresh_child_sees_its_directive_and_nothing_else() {
    let stage = played(Context::Fresh).await;
    let sent = stage.script.sent("twin");
    let [RequestMessage::User(text)] = sent[0].messages.as_slice() else {
        panic!("{:?}", sent[0].messages);
    };
    assert!(["the left half", "the right half"].contains(&text.as_str()));
}

#[tokio::test]
async fn pd_11_pd_13_a_forked_child_sees_the_last_message_with_placeholders_then_its_directive() {
    let stage = played(Context::Fork).await;
    let sent = stage.script.sent("twin");
    let [
        RequestMessage::Assistant(parts),
        RequestMessage::Outcomes(outcomes),
        _,
    ] = sent[0].messages.as_slice()
    else {
        panic!("{:?}", sent[0].messages);
    };
    assert_eq!(parts.len(), 3, "every call of the message");
    assert!(
        parts
            .iter()
            .all(|part| matches!(part, AssistantPart::Call(_)))
    );
    assert_eq!(outcomes.len(), 3, "and an outcome for each, in order");
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.text == outcomes[0].text)
    );
    let wrapped = |half: &str| format!("<fork_directive>\nthe {half} half\n</fork_directive>");
    assert!([wrapped("left"), wrapped("right")].contains(&directive(&sent[0]).to_owned()));
}

#[tokio::test]
async fn pd_19_a_forked_child_has_its_own_prompt_and_then_its_parents() {
    let stage = played(Context::Fork).await;
    let (parent, child) = (
        &stage.script.sent("lead")[0].system,
        &stage.script.sent("twin")[0].system,
    );
    assert!(child.starts_with("Be a child."));
    assert!(child.ends_with("\nLead."), "{child}");
    assert!(
        !child.contains(parent.as_ref()),
        "what it was told, not its tools"
    );
}

#[tokio::test]
async fn an_inherited_request_strictly_extends_the_parents() {
    let stage = played(Context::Inherit).await;
    let lead = stage.script.sent("lead");
    let sent = stage.script.sent("twin");
    // The parent's request whose answer made the child.
    let of_parent = &lead[1];
    assert_eq!(sent[0].system, of_parent.system);
    assert_eq!(sent[0].tools, of_parent.tools);
    assert!(sent[0].messages.starts_with(&of_parent.messages));
    let beyond = &sent[0].messages[of_parent.messages.len()..];
    assert!(matches!(
        beyond,
        [
            RequestMessage::Assistant(_),
            RequestMessage::Outcomes(_),
            RequestMessage::User(_)
        ]
    ));
}

#[tokio::test]
async fn siblings_are_the_same_up_to_their_directive() {
    for context in [Context::Fresh, Context::Fork, Context::Inherit] {
        let stage = played(context).await;
        let sent = stage.script.sent("twin");
        let (one, other) = (&sent[0], &sent[1]);
        assert_eq!(one.system, other.system, "{context}");
        assert_eq!(one.tools, other.tools, "{context}");
        let last = one.messages.len() - 1;
        assert_eq!(one.messages[..last], other.messages[..last], "{context}");
        assert_ne!(directive(one), directive(other), "{context}");
    }
}

#[tokio::test]
async fn what_is_shown_to_an_inheriting_child_and_not_for_it_is_refused_when_called() {
    let reader = Manifest {
        tools: Toolset::only(["read"]),
        ..seeing("reader", Context::Inherit)
    };
    let calls = [
        ("write", json!({ "path": "a" })),
        ("read", json!({ "path": "a" })),
    ];
    let script = Script::default()
        .part("lead", [task("reader", "look"), say("done")])
        .part("reader", [call(&calls), say("ok")]);
    let stage = Stage::with_agents(script, vec![reader]).await;
    stage.ask("go").await;
    let outcomes = stage.outcomes("reader").await;
    assert_eq!(kind(&outcomes[0]), ErrorKind::Denied);
    assert_eq!(data(&outcomes[1]), json!("done"));
    let shown = &stage.script.sent("reader")[0].tools;
    assert!(shown.iter().any(|tool| tool.id == "write"));
}

#[tokio::test]
async fn a_child_of_an_inheriting_child_extends_that_ones_request() {
    let cast = vec![
        seeing("middle", Context::Inherit),
        seeing("leaf", Context::Inherit),
    ];
    let script = Script::default()
        .part("lead", [task("middle", "go down"), say("done")])
        .part("middle", [task("leaf", "further"), say("ok")])
        .part("leaf", [say("here")]);
    let stage = Stage::with_agents(script, cast).await;
    stage.ask("go").await;
    let middle = &stage.script.sent("middle")[0];
    let leaf = &stage.script.sent("leaf")[0];
    assert_eq!(leaf.system, middle.system);
    assert!(leaf.messages.starts_with(&middle.messages));
    assert_eq!(leaf.messages.len(), middle.messages.len() + 3);
}

#[tokio::test]
async fn an_inheriting_child_reads_the_same_after_a_restart() {
    let script = Script::default()
        .part("lead", [task("watcher", "go"), say("done")])
        .part("watcher", [say("one"), say("two")]);
    let watcher = Manifest {
        inspectable: true,
        ..seeing("watcher", Context::Inherit)
    };
    let stage = Stage::with_agents(script, vec![watcher]).await;
    stage.ask("go").await;
    let child = stage.born("watcher").await;
    let stage = stage.crash().await;
    stage.prompt(child.clone(), "and again").await;
    stage.quiet().await;
    let sent = stage.script.sent("watcher");
    assert_eq!(sent[0].system, sent[1].system);
    assert!(sent[1].messages.starts_with(&sent[0].messages));
}

//! Rewinds and copies: what they may say of children, and the rows they leave.

use offshoot_types::event::{Copied, Event};
use offshoot_types::id::{AgentId, MessageId, Pos, RunId, Seq, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::listing::{Archived, SessionKind, SessionQuery};
use offshoot_types::message::{Author, Usage};
use offshoot_types::store::StoreErrorKind;
use serde_json::Value;

use super::scene::{Child, Scene, run};
use super::{Handle, append, write};
use crate::chat;

const REFUSED: Result<(), StoreErrorKind> = Err(StoreErrorKind::Refused);
const CONFLICT: Result<(), StoreErrorKind> = Err(StoreErrorKind::Conflict);

fn rewound(hides: &[&str], drops: &[&str], consumes: &[(&str, u32)]) -> Event {
    let runs = consumes.iter().map(|(id, no)| run(id, *no));
    Event::Rewound {
        to: Some(MessageId::new("ask")),
        hides: hides.iter().map(|id| MessageId::new(*id)).collect(),
        drops: drops.iter().map(|id| AgentId::new(*id)).collect(),
        consumes: runs.collect::<Vec<RunId>>(),
        counts: Usage::default(),
    }
}

/// A root between turns whose child in the background has not ended.
fn with_a_child() -> Scene {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene.turn("child", Some("child-ask"));
    scene.finish("s", "c", &[]).say("s", "m2", "started");
    scene.end("s");
    scene
}

/// What a store gives out is what the log says, whoever asks.
async fn check_rows(store: &Handle, scene: &Scene) -> Value {
    let log = store.entries(scene.tree(), Pos::ZERO, usize::MAX).await;
    let log = log.expect("it can be read");
    let root = scene.tree().root();
    let export = store.chat(root).await.expect("it can be read");
    let sessions = store.sessions().await.expect("it can be read");
    let is_kept = |original: &AgentId| {
        let mut roots = sessions.iter().map(|session| session.tree.root());
        Ok(roots.any(|root| root == original))
    };
    let folded = chat::export(chat::fold(&log), root, is_kept, || {
        let own = log.iter().filter(|entry| entry.agent == *root);
        chat::fold_agent(own, &mut chat::Logs::of(&log))
    });
    assert_eq!(Ok(&export), folded.as_ref());
    let export = RawJson::of(&export.expect("a root has rows"));
    export.read().expect("rows are JSON")
}

/// R8.
pub(super) async fn a_child_that_is_alive_is_not_dropped(a: Handle, b: Handle) {
    let mut scene = with_a_child();
    let lease = write(&a, &mut scene).await;
    let mut early = scene.clone();
    early.event("s", rewound(&["m", "m2"], &["child"], &[]));
    assert_eq!(append(&a, &lease, &mut early).await, REFUSED);
    let mut stranger = scene.clone();
    stranger.event("s", rewound(&["m", "m2"], &["nobody"], &[]));
    assert_eq!(append(&a, &lease, &mut stranger).await, REFUSED);

    scene.say("child", "m3", "3 files").end("child");
    scene.settle("child");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    let mut untold = scene.clone();
    untold.event("s", rewound(&["m", "m2"], &["child"], &[]));
    assert_eq!(append(&a, &lease, &mut untold).await, REFUSED, "its mail");
    let hides = ["m", "m2"];
    scene.event("s", rewound(&hides, &["child"], &[("child", 1)]));
    scene.settle("s");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    check_rows(&b, &scene).await;
}

/// R8.
pub(super) async fn what_a_rewind_consumes_is_told_nobody(a: Handle, _: Handle) {
    let mut scene = with_a_child();
    scene.say("child", "m3", "3 files").end("child");
    scene.settle("child");
    scene.event("s", rewound(&["m", "m2"], &["child"], &[("child", 1)]));
    let lease = write(&a, &mut scene).await;
    let mut told = scene.clone();
    told.complete("s", "told", ("child", 1));
    assert_eq!(append(&a, &lease, &mut told).await, CONFLICT);
    let mut again = scene.clone();
    again.event("s", rewound(&[], &[], &[("child", 1)]));
    assert_eq!(append(&a, &lease, &mut again).await, CONFLICT);
}

/// R8: the results of the children that a rewind keeps are still to be delivered.
pub(super) async fn a_rewind_consumes_mail_of_dropped_children_only(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "kept", Child::Opaque);
    scene.turn("kept", Some("kept-ask"));
    scene.finish("s", "c", &[]);
    scene.call("s", "m2", "task", &["d"]);
    scene.spawn("s", "d", "dropped", Child::Opaque);
    scene.turn("dropped", Some("dropped-ask"));
    scene.finish("s", "d", &[]).end("s");
    for child in ["kept", "dropped"] {
        scene.say(child, &format!("{child}-said"), "3 files");
        scene.end(child).settle(child);
    }
    let lease = write(&a, &mut scene).await;
    let mut all = scene.clone();
    let both = [("dropped", 1), ("kept", 1)];
    all.event("s", rewound(&["m2"], &["dropped"], &both));
    assert_eq!(append(&a, &lease, &mut all).await, CONFLICT);
    let mut others = scene.clone();
    others.event("s", rewound(&[], &[], &[("kept", 1)]));
    assert_eq!(append(&a, &lease, &mut others).await, CONFLICT);
    scene.event("s", rewound(&["m2"], &["dropped"], &[("dropped", 1)]));
    scene.complete("s", "told", ("kept", 1));
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
}

/// R8: a settled child whose own child was prompted again has not ended.
pub(super) async fn a_child_with_an_open_run_below_it_is_not_dropped(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene.turn("child", Some("child-ask"));
    scene.call("child", "deeper", "task", &["e"]);
    scene.spawn("child", "e", "below", Child::Opaque);
    scene.answer("below", "3 files").settle("below");
    scene.finish("child", "e", &[("below", 1)]);
    scene.say("child", "m3", "done").end("child");
    scene.settle("child");
    scene.finish("s", "c", &[("child", 1)]).end("s");
    scene.prompt("below", "more", "go on");
    scene.turn("below", Some("more"));
    let lease = write(&a, &mut scene).await;
    let mut early = scene.clone();
    early.event("s", rewound(&["m"], &["child"], &[]));
    assert_eq!(append(&a, &lease, &mut early).await, REFUSED);
    scene.say("below", "m4", "4 files").end("below");
    scene.settle("below");
    scene.event("s", rewound(&["m"], &["child"], &[]));
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
}

/// SES-06, PER-05.
pub(super) async fn what_is_hidden_keeps_its_rows_and_does_not_count(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    scene.say("s", "m", "well").end("s").settle("s");
    let lease = write(&a, &mut scene).await;
    scene.prompt("s", "waits", "and then?");
    scene.becomes("s", "plan");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    scene.event("s", rewound(&["m", "waits"], &[], &[]));
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    let rows = check_rows(&b, &scene).await;
    assert_eq!(rows["session"]["prompt_tokens"], 0);
    let listed = b.sessions().await.expect("it can be read");
    assert_eq!(listed[0].now, listed[0].definition, "nor who came with it");
    let messages = rows["messages"].as_array().map(Vec::as_slice);
    let hidden: Vec<bool> = (messages.unwrap_or_default().iter())
        .map(|message| {
            let metadata = message["message"]["metadata_json"].as_str();
            metadata.is_some_and(|metadata| metadata.contains("hidden_at"))
        })
        .collect();
    assert_eq!(hidden, [false, true, true]);
}

/// PER-03: lists can tell it from the others.
pub(super) async fn r8_a_child_that_is_taken_back_is_archived_with_all_below_it(
    a: Handle,
    b: Handle,
) {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c", "d"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene.turn("child", Some("child-ask"));
    scene.call("child", "deeper", "task", &["e"]);
    scene.spawn("child", "e", "below", Child::Inspectable);
    scene.answer("below", "3 files").settle("below");
    scene.finish("child", "e", &[("below", 1)]);
    scene
        .say("child", "m3", "done")
        .end("child")
        .settle("child");
    scene.spawn("s", "d", "beside", Child::Inspectable);
    scene.answer("beside", "3 files").settle("beside");
    scene.finish("s", "c", &[("child", 1)]);
    scene.finish("s", "d", &[("beside", 1)]).end("s");
    let lease = write(&a, &mut scene).await;
    scene.event("s", rewound(&["m"], &["child"], &[]));
    scene.settle("s");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    let listed = b.children().await.expect("it can be read");
    let archived = |id: &str| {
        let found = listed.iter().find(|child| child.agent.as_str() == id);
        let found = found.expect("it is listed");
        found.archived_at.map(Timestamp::get)
    };
    assert_eq!([archived("below"), archived("beside")], [Some(1_002), None]);
    let shown = SessionQuery {
        kind: SessionKind::Children,
        archived: Archived::Hidden,
        ..SessionQuery::default()
    };
    let shown = b.list(shown).await.expect("it can be read");
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].agent.as_str(), "beside");
    let export = b
        .chat(&AgentId::new("below"))
        .await
        .expect("it can be read");
    let export = export.expect("it has rows");
    let session: Value = export.session.read().expect("a row is an object");
    assert_eq!(session["archived_at"], 1_002);
    // SA-13: the agent that spawned it has no row to point to.
    assert_eq!(session["parent_id"], "s");
    assert_eq!(session["parent_message_id"], "ask");
    assert_eq!(session["metadata_json"], r#"{"opaque_parent_id":"child"}"#);
    let parent = listed.iter().find(|child| child.agent.as_str() == "below");
    let parent = parent.and_then(|child| child.parent.clone());
    assert_eq!(
        parent,
        Some(AgentId::new("child")),
        "a list names who spawned it"
    );
}

/// A copy that brings copies of its children delivers them like any session does.
pub(super) async fn pd_49_a_copy_may_tell_of_copies_of_children(a: Handle, b: Handle) {
    let mut scene = Scene::new("copy");
    let copied = Copied {
        session: AgentId::new("s"),
        message: MessageId::new("m"),
        until: Seq::new(8),
        until_pos: None,
    };
    scene.root_copying(copied);
    scene.prompt("copy", "ask", "go").turn("copy", Some("ask"));
    scene.call("copy", "m", "task", &["c"]);
    scene.spawn("copy", "c", "child-copy", Child::Opaque);
    scene.answer("child-copy", "3 files").settle("child-copy");
    scene.finish("copy", "c", &[("child-copy", 1)]);
    scene.end("copy").settle("copy");
    let first = scene.take();
    let created = a.create(scene.tree(), first).await;
    let Ok(Some((lease, _))) = created else {
        panic!("the copy is a good log: {created:?}");
    };
    let rows = check_rows(&b, &scene).await;
    let part = &rows["messages"][1]["parts"][1]["data_json"];
    let part: Value = serde_json::from_str(part.as_str().unwrap_or_default()).unwrap_or_default();
    let said = &part["transcripts"][0]["messages"][1]["parts"][0]["text"];
    assert_eq!(said, "3 files");
    // It was told: it can be taken back, and not be told again.
    let mut again = scene.clone();
    again.complete("copy", "told again", ("child-copy", 1));
    assert_eq!(append(&a, &lease, &mut again).await, CONFLICT);
    scene.event("copy", rewound(&["m"], &["child-copy"], &[]));
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
}

/// SES-08: what a copy says of children is about another tree's.
pub(super) async fn a_copy_may_tell_of_children_that_are_not_its_own(a: Handle, b: Handle) {
    let mut other = with_a_child();
    other.say("child", "m3", "3 files").end("child");
    other.settle("child");
    other.complete("s", "told", ("child", 1)).settle("s");
    drop(write(&a, &mut other).await);

    let mut scene = Scene::new("copy");
    // Its birth, its title, a prompt, a turn, its end, what was told, and that it is over.
    let copied = Copied {
        session: AgentId::new("s"),
        message: MessageId::new("told"),
        until: Seq::new(7),
        until_pos: None,
    };
    scene.root_copying(copied);
    let title = Event::Titled {
        title: "go (copy)".to_owned(),
        by: Author::Human,
    };
    scene.event("copy", title).prompt("copy", "ask", "go");
    scene.turn("copy", Some("ask")).end("copy");
    scene.complete("copy", "told", ("child", 1)).settle("copy");
    let first = scene.take();
    let created = a.create(scene.tree(), first).await;
    let Ok(Some((lease, entries))) = created else {
        panic!("the copy is a good log");
    };
    assert_eq!(entries.len(), 7);
    let rows = check_rows(&b, &scene).await;
    assert_eq!(rows["session"]["kind"], "fork");
    assert_eq!(rows["session"]["parent_id"], "s");
    assert_eq!(rows["session"]["title"], "go (copy)");
    // From there on it is like any other.
    scene.complete("copy", "told again", ("child", 1));
    assert_eq!(append(&a, &lease, &mut scene).await, CONFLICT);
}

/// PD-49: a copy does not name a session that is not there any more.
pub(super) async fn a_copy_outlives_the_session_that_it_was_copied_from(a: Handle, b: Handle) {
    let mut other = Scene::new("s");
    other.root();
    let lease = write(&a, &mut other).await;
    let mut scene = Scene::new("copy");
    scene.root_copying(Copied {
        session: AgentId::new("s"),
        message: MessageId::new("m"),
        until: Seq::new(1),
        until_pos: None,
    });
    let first = scene.take();
    assert!(a.create(scene.tree(), first).await.is_ok());
    let rows = check_rows(&b, &scene).await;
    assert_eq!(rows["session"]["parent_id"], "s");
    a.delete(lease).await.expect("it is owned");
    let export = b.chat(&AgentId::new("copy")).await;
    let export = RawJson::of(&export.expect("it can be read"));
    let rows: Value = export.read().expect("rows are JSON");
    assert_eq!(rows["session"]["kind"], "fork");
    assert_eq!(rows["session"]["parent_id"], Value::Null);
    assert_eq!(rows["session"]["parent_message_id"], Value::Null);
}

//! A prompt as a stream and as a future.

use futures_util::StreamExt;
use offshoot::types::message::Author;
use offshoot::types::settlement::CancelledBy;
use offshoot::{Entry, Event, Manifest, Mode, RawJson, Reply, Run, Session, Status, Update};
use serde_json::json;

use super::{Gate, gated, said, stage, until};

/// Returns the entries that a run shows, until it ends.
async fn entries(run: &mut Run) -> Vec<Entry> {
    let mut entries = Vec::new();
    while let Some(update) = run.next().await {
        if let Update::Entry(entry) = update.unwrap() {
            entries.push(Entry::clone(&entry));
        }
    }
    entries
}

async fn is_unasked(session: &Session) -> bool {
    let tree = session.tree().await.unwrap();
    let root = tree.agent(session.root().id()).unwrap();
    root.runs.is_empty() && root.queue.is_empty()
}

#[tokio::test]
async fn a_run_shows_all_agents_from_its_prompt_to_its_settlement_and_then_gives_that() {
    let runtime = stage(
        |request| match (request.from.definition.as_str(), said(request)) {
            ("chief", "two") => {
                let task = json!({ "subagent_type": "worker", "prompt": "go" });
                Reply::call("task", &task)
            }
            _ => Reply::text("done"),
        },
    );
    let runtime = runtime.agent(Manifest::new("chief", Mode::Primary, "Lead."));
    let session = runtime.build().unwrap().open("chief").await.unwrap();
    session.prompt("one").await.unwrap();
    let mut run = session.run("two");
    let seen = entries(&mut run).await;
    assert!(matches!(&seen[0].event, Event::Prompted(message) if message.text == "two"));
    let root = session.root().id();
    let last = seen.last().unwrap();
    assert!(last.agent == *root && matches!(last.event, Event::Settled { .. }));
    let of_child = |entry: &&Entry| entry.agent != *root;
    assert!(seen.iter().filter(of_child).count() > 3);
    let orders: Vec<_> = seen.iter().map(|entry| entry.pos).collect();
    assert!(orders.is_sorted());
    // It has ended, and stays so.
    assert!(run.next().await.is_none());
    assert_eq!(run.await.unwrap().output.as_deref(), Some("done"));
}

#[tokio::test]
async fn pieces_of_text_come_before_the_message_they_are_of() {
    let runtime = stage(|_| Reply::text("done"));
    let session = runtime.build().unwrap().open("worker").await.unwrap();
    let run = session.run("go");
    let updates: Vec<Update> = run.map(Result::unwrap).collect().await;
    let piece = |update: &Update| matches!(update, Update::Delta(delta) if delta.text == "done");
    let whole = |update: &Update| matches!(update, Update::Entry(entry) if matches!(entry.event, Event::Replied(_)));
    let piece = updates.iter().position(piece).unwrap();
    assert!(piece < updates.iter().position(whole).unwrap());
}

#[tokio::test]
async fn nothing_is_sent_before_a_run_is_polled_and_dropping_one_stops_nothing() {
    let gate = Gate::shut();
    let session = gated(&gate).build().unwrap().open("worker").await.unwrap();
    drop(session.run("never"));
    assert!(is_unasked(&session).await);
    let mut run = session.run("go");
    run.next().await.unwrap().unwrap();
    drop(run);
    gate.open();
    let settlement = session.root().settled().await.unwrap();
    assert_eq!(settlement.status, Status::Completed);
}

#[tokio::test]
async fn a_run_that_was_watched_is_awaited_from_there() {
    let gate = Gate::shut();
    let session = gated(&gate).build().unwrap().open("worker").await.unwrap();
    let mut run = session.run("go");
    run.next().await.unwrap().unwrap();
    until(&session, |event| matches!(event, Event::TurnStarted { .. })).await;
    let (settlement, cancelled) = tokio::join!(async { run.await }, session.cancel());
    cancelled.unwrap();
    let status = settlement.unwrap().status;
    assert_eq!(status, Status::Cancelled(CancelledBy::User));
}

#[tokio::test]
async fn a_prompt_may_name_another_agent_and_carry_metadata() {
    let runtime = stage(|request| Reply::text(format!("by {}", request.from.definition)));
    let runtime = runtime.agent(Manifest::new("planner", Mode::Primary, "Plan."));
    let session = runtime.build().unwrap().open("worker").await.unwrap();
    let metadata = RawJson::of(&json!({ "ticket": 7 }));
    let mut run = session
        .run("go")
        .agent("planner")
        .metadata(metadata.clone());
    let seen = entries(&mut run).await;
    let Event::Prompted(message) = &seen[0].event else {
        panic!("{:?}", seen[0])
    };
    assert_eq!(message.metadata, Some(metadata));
    assert_eq!(message.from, Author::Human);
    assert_eq!(run.await.unwrap().output.as_deref(), Some("by planner"));
    // It goes on from there.
    let settlement = session.run("and?").await.unwrap();
    assert_eq!(settlement.output.as_deref(), Some("by planner"));

    let mut run = session.run("go").agent("nobody");
    let error = run.next().await.unwrap().unwrap_err();
    assert_eq!(error.code(), "unknown");
    assert!(run.next().await.is_none());
    assert_eq!(run.await.unwrap_err().code(), "invalid");
}

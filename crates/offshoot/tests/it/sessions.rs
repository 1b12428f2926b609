//! Sessions from a program: asking, following, stopping, leaving.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::StreamExt;
use offshoot::types::id::Pos;
use offshoot::types::settlement::CancelledBy;
use offshoot::{
    Compacting, Ending, Error, Event, FnModel, Reply, Runtime, Session, SessionQuery, Status, Tier,
    Update,
};

use super::{Gate, gated, numbers, said, stage, until, unwell, worker};

#[tokio::test]
async fn prompts_are_answered_one_by_one_and_remembered() {
    let runtime = stage(|request| {
        let messages = request.messages.len();
        Reply::text(format!("{} of {messages}", said(request)))
    });
    let session = runtime.build().unwrap().open("worker").await.unwrap();
    let first = session.prompt("one").await.unwrap();
    assert_eq!(first.output.as_deref(), Some("one of 1"));
    let second = session.prompt("two").await.unwrap();
    assert_eq!(second.output.as_deref(), Some("two of 3"));
}

#[tokio::test]
async fn an_answer_is_read_as_a_type() {
    let builder = stage(|_| Reply::text("There are {\"n\": 3} of them.")).agent(numbers());
    let session = builder.build().unwrap().open("numbers").await.unwrap();
    let counted: BTreeMap<String, u32> = session.ask("How many?").await.unwrap();
    assert_eq!(counted, BTreeMap::from([("n".to_owned(), 3)]));
}

#[tokio::test]
async fn que_05_a_prompt_behind_a_turn_that_failed_is_told_that_failure() {
    let gate = Gate::shut();
    let at_gate = gate.clone();
    let model = FnModel::new(move |_| {
        let gate = at_gate.clone();
        async move {
            gate.passed().await;
            Err(unwell())
        }
    });
    let runtime = Runtime::builder()
        .model("demo/unwell", model)
        .agent(worker());
    let session = runtime.build().unwrap().open("worker").await.unwrap();
    session.message("first").await.unwrap();
    session.message("second").await.unwrap();
    let fails = async {
        until(&session, |event| is_asked(event, "third")).await;
        gate.open();
    };
    let (settlement, ()) = tokio::join!(session.prompt("third"), fails);
    assert_eq!(settlement.unwrap().status.word(), "failed");
    let tree = session.tree().await.unwrap();
    let root = tree.agent(session.root().id()).unwrap();
    assert_eq!((root.queue.len(), root.runs.len()), (2, 1));
}

#[tokio::test]
async fn a_failure_of_before_is_not_the_answer_to_a_prompt() {
    let asked = Arc::new(AtomicU32::new(0));
    let model = FnModel::new(move |_| {
        let first = asked.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if first {
                Err(unwell())
            } else {
                Ok(Reply::text("well again"))
            }
        }
    });
    let runtime = Runtime::builder()
        .model("demo/words", model)
        .agent(worker());
    let runtime = runtime.build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    let settlement = session.prompt("one").await.unwrap();
    assert_eq!(settlement.status.word(), "failed");
    // A handle that has seen nothing of it yet.
    let session = runtime.find(session.id()).await.unwrap();
    let settlement = session.prompt("two").await.unwrap();
    assert_eq!(settlement.output.as_deref(), Some("well again"));
}

fn is_asked(event: &Event, text: &str) -> bool {
    matches!(event, Event::Prompted(message) if message.text == text)
}

#[tokio::test]
async fn who_may_not_be_started_and_what_is_not_there_is_told() {
    let runtime = stage(|_| Reply::text("done")).build().unwrap();
    let error = runtime.open("explore").await.unwrap_err().to_string();
    assert!(error.contains("started by other agents only"), "{error}");
    let error = runtime.open("host").await.unwrap_err().to_string();
    assert!(error.contains("is opened with `host`"), "{error}");
    let error = runtime.find("nobody").await.unwrap_err();
    assert!(matches!(error, Error::Unknown(_)), "{error}");
    let none = Runtime::builder().build().unwrap();
    let error = none.open("build").await.unwrap_err().to_string();
    assert!(error.starts_with("name a model"), "{error}");
}

#[tokio::test]
async fn an_id_is_taken_once() {
    let runtime = stage(|_| Reply::text("done")).build().unwrap();
    let session = runtime.new_session().id("mine").open("worker").await;
    assert_eq!(session.unwrap().id(), "mine");
    let again = runtime.new_session().id("mine").open("worker").await;
    let error = again.unwrap_err().to_string();
    assert_eq!(error, "session mine exists already");
    assert_eq!(runtime.find("mine").await.unwrap().id(), "mine");
    assert_eq!(runtime.sessions().await.unwrap().len(), 1);
}

#[tokio::test]
async fn cancelling_ends_the_prompt_that_waits() {
    let runtime = gated(&Gate::shut()).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    let cancelled = async {
        until(&session, |event| matches!(event, Event::TurnStarted { .. })).await;
        session.cancel().await
    };
    let (settlement, cancelled) = tokio::join!(session.prompt("go"), cancelled);
    cancelled.unwrap();
    let status = settlement.unwrap().status;
    assert_eq!(status, Status::Cancelled(CancelledBy::User));
}

#[tokio::test]
async fn r4_following_from_a_position_shows_what_came_after_and_knows_who_came_before() {
    let runtime = stage(|_| Reply::text("done")).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    session.prompt("go").await.unwrap();
    let all = entries(&session, Pos::ZERO).await;
    assert_eq!(all.first().unwrap().0, "worker");
    let rest = entries(&session, Pos::new(2)).await;
    assert_eq!(rest, all[2..]);
}

/// Returns who each entry after a position is about, and its place, until the session is quiet.
async fn entries(session: &Session, after: Pos) -> Vec<(String, Pos)> {
    let mut updates = session.subscribe_after(after).await.unwrap();
    let mut seen = Vec::new();
    loop {
        match updates.next().await.unwrap() {
            Update::Entry(entry) => seen.push((updates.path(&entry.agent), entry.pos)),
            Update::Idle => return seen,
            Update::Delta(_)
            | Update::Output(_)
            | Update::Activity(..)
            | Update::Notice(..)
            | Update::Hooked(..)
            | Update::Orphaned
            | Update::Parked(_) => {}
        }
    }
}

#[tokio::test]
async fn updates_are_a_stream_for_whoever_likes_one() {
    let runtime = stage(|_| Reply::text("done")).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    session.prompt("go").await.unwrap();
    let updates = session.subscribe().await.unwrap().into_stream();
    let mut updates = std::pin::pin!(updates);
    let first = updates.next().await.unwrap().unwrap();
    assert!(matches!(first, Update::Entry(entry) if entry.pos == Pos::new(1)));
}

#[tokio::test]
async fn r20_leaving_now_settles_what_runs_and_closes_every_handle() {
    let runtime = gated(&Gate::shut()).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    session.message("go").await.unwrap();
    let root = session.root();
    let (settlement, ()) = tokio::join!(root.settled(), runtime.shutdown(Ending::Now));
    let status = settlement.unwrap().status;
    assert_eq!(status, Status::Cancelled(CancelledBy::Shutdown));
    let error = session.prompt("more").await.unwrap_err();
    assert!(matches!(error, Error::Closed), "{error}");
    let error = runtime.open("worker").await.unwrap_err();
    assert!(matches!(error, Error::Closed), "{error}");
}

#[tokio::test]
async fn r20_leaving_now_waits_for_no_command() {
    let runtime = gated(&Gate::shut()).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    session.message("go").await.unwrap();
    // It waits until the agent rests, which it does only because we leave.
    let leaving = runtime.shutdown(Ending::Now);
    let (summary, ()) = tokio::join!(session.summarise(), leaving);
    assert!(summary.is_err(), "{summary:?}");
}

#[tokio::test]
async fn leaving_when_quiet_lets_the_prompt_that_waits_be_answered() {
    let gate = Gate::shut();
    let runtime = gated(&gate).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    session.message("go").await.unwrap();
    let opened = async { gate.open() };
    let leaving = runtime.shutdown(Ending::WhenQuiet);
    let (settlement, (), ()) = tokio::join!(session.root().settled(), leaving, opened);
    assert_eq!(settlement.unwrap().output.as_deref(), Some("done"));
}

/// A program that serves many clients sends futures between threads.
#[test]
fn handles_and_their_futures_can_be_sent() {
    fn send<T: Send>(value: T) -> T {
        value
    }
    let runtime = stage(|_| Reply::text("done")).build().unwrap();
    drop(send(async move {
        let host = send(runtime.host().await?);
        let child = send(host.spawn_child("worker", "go").await?);
        child.settled().await?;
        let session = send(runtime.open("worker").await?);
        let mut updates = send(session.subscribe().await?);
        updates.next().await?;
        session.prompt("go").await?;
        send(session.run("go")).await?;
        runtime.shutdown(Ending::Now).await;
        Ok::<(), Error>(())
    }));
}

#[tokio::test]
async fn a_session_is_named_summed_up_and_shortened() {
    let runtime = stage(|request| {
        let messages = request.messages.len();
        Reply::text(format!("{} {messages}", request.from.definition))
    });
    let runtime = runtime.tier(Tier::Small, "demo/words").build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    let error = session.summarise().await.unwrap_err().to_string();
    assert_eq!(error, "nothing has been said yet");
    session.prompt("one").await.unwrap();
    assert_eq!(session.summarise().await.unwrap(), "summary 1");
    session.compact().await.unwrap();
    let error = session.compact().await.unwrap_err().to_string();
    assert_eq!(error, "there is nothing to shorten");
    // What was said is two messages no more, but one.
    let settlement = session.prompt("two").await.unwrap();
    assert_eq!(settlement.output.as_deref(), Some("worker 2"));
    session.rename("The first").await.unwrap();
    let error = session.rename(" \n").await.unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
    assert_eq!(runtime.sessions().await.unwrap()[0].title, "The first");
}

#[tokio::test]
async fn a_model_for_chores_has_to_be_there_and_names_sessions() {
    let builder = stage(|_| Reply::text("done")).tier(Tier::Small, "demo/nobody");
    let error = builder.build().unwrap_err();
    assert!(matches!(error, Error::Unknown(_)), "{error}");
    let runtime = stage(|request| Reply::text(format!("by {}", request.from.definition)));
    let rules = Compacting {
        auto: false,
        ..Compacting::default()
    };
    let runtime = runtime.tier(Tier::Small, "demo/words").compaction(rules);
    let session = runtime.build().unwrap().open("worker").await.unwrap();
    session.message("hello").await.unwrap();
    until(
        &session,
        |event| matches!(event, Event::Titled { title, .. } if title == "by title"),
    )
    .await;
}

#[tokio::test]
async fn ses_06_a_prompt_that_is_taken_back_before_its_turn_is_not_waited_for() {
    let gate = Gate::shut();
    let at_gate = gate.clone();
    let model = FnModel::new(move |_| {
        let gate = at_gate.clone();
        async move {
            gate.passed().await;
            Err(unwell())
        }
    });
    let runtime = Runtime::builder()
        .model("demo/unwell", model)
        .agent(worker());
    let session = runtime.build().unwrap().open("worker").await.unwrap();
    session.message("first").await.unwrap();
    assert!(matches!(session.rewind(None).await, Err(Error::Invalid(_))));
    session.message("second").await.unwrap();
    gate.open();
    let settled = session.root().settled().await.unwrap();
    assert_eq!(settled.status.word(), "failed");
    assert_eq!(session.rewind(None).await.unwrap(), 2);
    let settled = session.root().settled().await.unwrap();
    assert_eq!(settled.status.word(), "failed");
    assert!(
        session
            .root()
            .conversation()
            .await
            .unwrap()
            .items()
            .is_empty()
    );
}

#[tokio::test]
async fn ses_08_a_copy_is_a_session_of_its_own_and_a_hosts_cannot_be_copied() {
    let runtime = stage(|request| Reply::text(format!("of {}", request.messages.len())));
    let runtime = runtime.build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    assert!(matches!(session.fork(None).await, Err(Error::Invalid(_))));
    session.prompt("one").await.unwrap();
    let copy = session.fork(None).await.unwrap();
    assert_ne!(copy.id(), session.id());
    let answer = copy.prompt("two").await.unwrap();
    assert_eq!(answer.output.as_deref(), Some("of 3"));
    let items = session.root().conversation().await.unwrap().into_items();
    assert_eq!(items.len(), 2);
    let host = runtime.host().await.unwrap();
    assert!(matches!(
        host.session().fork(None).await,
        Err(Error::Invalid(_))
    ));
}

#[tokio::test]
async fn r9_sessions_are_listed_in_pages_and_deleted() {
    let runtime = stage(|_| Reply::text("done")).build().unwrap();
    for prompt in ["mend the roof", "mend the fence", "paint it"] {
        let session = runtime.open("worker").await.unwrap();
        session.prompt(prompt).await.unwrap();
    }
    let mend = SessionQuery {
        search: Some("MEND".to_owned()),
        limit: Some(1),
        ..SessionQuery::default()
    };
    let first = runtime.list(mend.clone()).await.unwrap();
    let rest = runtime
        .list(SessionQuery {
            after: first.next,
            ..mend
        })
        .await
        .unwrap();
    let titles = [&first.sessions[0].title, &rest.sessions[0].title];
    assert!(titles.iter().all(|title| title.starts_with("mend")));
    assert_ne!(titles[0], titles[1]);
    assert_eq!(rest.next, None);

    let id = first.sessions[0].agent.to_string();
    let session = runtime.find(&id).await.unwrap();
    session.delete().await.unwrap();
    assert_eq!(runtime.find(&id).await.unwrap_err().code(), "unknown");
    assert_eq!(runtime.sessions().await.unwrap().len(), 2);
}

#[tokio::test]
async fn r9_agent_and_model_of_a_session_are_set_by_their_names() {
    let large = FnModel::new(|_| async { Ok(Reply::text("large")) });
    let builder = stage(|_| Reply::text("small")).model("other", large);
    let session = builder.build().unwrap().open("worker").await.unwrap();
    session.set_model("other").await.unwrap();
    let answer = session.prompt("go").await.unwrap();
    assert_eq!(answer.output.as_deref(), Some("large"));
    let missing = session.set_agent("nobody").await.unwrap_err();
    assert_eq!(missing.code(), "missing_agent");
}

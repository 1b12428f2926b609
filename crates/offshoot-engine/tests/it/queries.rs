//! Queries: pages of sessions, ids by a part, and sessions that a host keeps from running.

use offshoot_engine::query;
use offshoot_types::command::{Order, Receipt};
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, Pos, TreeId};
use offshoot_types::listing::{Among, SessionQuery};
use offshoot_types::store::StoreErrorKind;

use crate::stage::{Gate, Script, Stage, say, task};

#[tokio::test]
async fn r9_a_page_says_where_the_next_one_begins_and_the_last_one_does_not() {
    let stage = Stage::new(Script::default()).await;
    for name in ["one", "two", "three"] {
        stage.open_another(name).await;
    }
    let mut seen: Vec<String> = Vec::new();
    let mut sizes = Vec::new();
    let mut after = None;
    loop {
        let page = query::Sessions(SessionQuery {
            after,
            limit: Some(2),
            ..SessionQuery::default()
        });
        let page = stage.runtime.query(page).await.unwrap();
        sizes.push(page.sessions.len());
        seen.extend(
            page.sessions
                .iter()
                .map(|session| session.agent.to_string()),
        );
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [2, 2]);
    seen.sort();
    assert_eq!(seen, ["one", "root", "three", "two"]);
}

#[tokio::test]
async fn r9_an_id_of_a_session_goes_before_those_of_agents() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [say("done")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    let child = stage.born("worker").await;
    let find = async |part: &str, among| {
        let query = query::Find {
            part: part.to_owned(),
            among,
            limit: 10,
        };
        stage.runtime.query(query).await.unwrap()
    };
    assert_eq!(find("ROOT", Among::Agents).await, [stage.root()]);
    assert_eq!(
        find(child.as_str(), Among::Agents).await,
        vec![child.clone()]
    );
    assert_eq!(find(child.as_str(), Among::Sessions).await, []);
    // Another session has an id that begins like that of the child.
    let longer = format!("{child}-longer");
    stage.open_another(&longer).await;
    let found = find(child.as_str(), Among::Agents).await;
    assert_eq!(found, [AgentId::new(longer)]);
}

#[tokio::test]
async fn r9_a_log_is_read_whole_behind_a_place_and_up_to_a_limit() {
    let script = Script::default().part("lead", [say("one"), say("two"), say("three")]);
    let stage = Stage::new(script).await;
    for text in ["1", "2", "3"] {
        stage.ask(text).await;
    }
    let all = stage.log().await;
    let read = async |after: u64, limit| {
        let query = query::Log {
            limit,
            ..query::Log::after(stage.tree.clone(), Pos::new(after))
        };
        stage.runtime.query(query).await.unwrap()
    };
    assert_eq!(read(0, None).await, all);
    assert_eq!(read(3, Some(2)).await, all[3..5]);
    assert_eq!(read(3, Some(0)).await, []);
    let query = query::AgentLog(stage.root());
    assert_eq!(stage.runtime.query(query).await.unwrap(), all);
}

#[tokio::test]
async fn r7_no_process_runs_a_session_that_is_held_and_what_it_is_sent_waits() {
    let script = Script::default().part("lead", [say("one"), say("two")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    let stage = stage.crash().await;
    let hold = stage.runtime.hold(&stage.tree).await.unwrap();
    let another = stage.elsewhere();
    let prompt = Order::Prompt(stage.words("second"));
    let prompt = stage.command(&stage.tree, stage.root(), prompt);
    let sent = another.command(prompt);
    let release = async {
        let is_owned = query::IsOwned(stage.tree.clone());
        assert!(stage.runtime.query(is_owned).await.unwrap());
        hold.release().await.unwrap();
    };
    let (receipt, ()) = tokio::join!(sent, release);
    assert_eq!(receipt.unwrap(), Receipt::Prompted);
    stage
        .until(|entry| matches!(&entry.event, Event::Prompted(message) if message.text == "second"))
        .await;
}

#[tokio::test]
async fn r7_a_session_at_work_is_not_held() {
    let gate = Gate::shut();
    let script = Script::default().part("lead", [say("one").behind(&gate)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "first").await;
    stage.asked("lead", 1).await;
    for runtime in [&stage.runtime, &stage.elsewhere()] {
        let refused = runtime.hold(&stage.tree).await;
        let Err(error) = refused else {
            panic!("it is held");
        };
        assert_eq!(error.kind, StoreErrorKind::Held);
    }
    let nobody = TreeId::of(AgentId::new("nobody"));
    assert!(!stage.runtime.query(query::IsOwned(nobody)).await.unwrap());
}

#[tokio::test]
async fn r9_a_session_is_found_among_many_without_listing_them() {
    let stage = Stage::new(Script::default()).await;
    for number in 0..300 {
        stage.open_another(&format!("session-{number:03}")).await;
    }
    let find = query::Find {
        part: "sion-217".to_owned(),
        among: Among::Agents,
        limit: 10,
    };
    let found = stage.runtime.query(find).await.unwrap();
    assert_eq!(found, [AgentId::new("session-217")]);
    let summary = async |id: &str| {
        let query = query::Summary(TreeId::of(AgentId::new(id)));
        let summary = stage.runtime.query(query).await.unwrap();
        summary.map(|summary| (summary.agent.to_string(), summary.agents))
    };
    assert_eq!(
        summary("session-217").await,
        Some(("session-217".to_owned(), 1))
    );
    assert_eq!(summary("sion-217").await, None);
}

//! Tools and agents that a program brings: what models are told, what may run, what is refused.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use offshoot::types::command::Verdict;
use offshoot::types::model::RequestMessage;
use offshoot::types::permission::{Action, Rule};
use offshoot::{
    Asks, Builder, Error, Event, FnTool, Manifest, Mode, Reply, Request, Session, Toolset,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Gate, stage, until, worker};

#[derive(Deserialize)]
struct Sum {
    a: u8,
    b: u8,
}

/// A tool that adds, and counts how often it ran.
fn adder(ran: &Arc<AtomicU32>) -> FnTool<Sum> {
    let parameters = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
        "required": ["a", "b"],
    });
    let ran = ran.clone();
    FnTool::new("add", "Adds two numbers.", &parameters, move |sum: Sum| {
        ran.fetch_add(1, Ordering::Relaxed);
        async move {
            let total = sum.a.checked_add(sum.b);
            total.ok_or("the sum has no place in a byte")
        }
    })
}

/// A runtime whose agent calls `add` with these arguments, and says what came back.
fn adding(arguments: Value) -> Builder {
    stage(move |request: &Request| match request.messages.last() {
        Some(RequestMessage::Outcomes(outcomes)) => Reply::text(outcomes[0].text.as_str()),
        _ => Reply::call("add", &arguments),
    })
}

async fn check(arguments: Value, expected: &str, expected_runs: u32) {
    let ran = Arc::default();
    let runtime = adding(arguments).tool(adder(&ran)).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    let output = session.prompt("go").await.unwrap().output.unwrap();
    assert!(output.contains(expected), "{output}");
    assert_eq!(ran.load(Ordering::Relaxed), expected_runs);
}

#[tokio::test]
async fn r10_a_function_is_a_tool_and_its_answer_what_the_model_reads() {
    check(json!({ "a": 1, "b": 2 }), "3", 1).await;
}

#[tokio::test]
async fn an_error_of_a_tool_is_an_answer() {
    let expected = "error: the sum has no place in a byte";
    check(json!({ "a": 255, "b": 2 }), expected, 1).await;
}

#[tokio::test]
async fn tls_02_arguments_that_fit_the_schema_or_the_type_only_never_reach_it() {
    check(json!({ "a": 1 }), "error:", 0).await;
    check(json!({ "a": 1, "b": 1000 }), "the arguments of add", 0).await;
}

#[tokio::test]
async fn without_anybody_to_ask_a_need_that_nobody_granted_is_a_no() {
    let ran = Arc::default();
    let tool = adder(&ran).needs("math.add", |sum: &Sum| sum.a.to_string());
    let runtime = adding(json!({ "a": 1, "b": 2 })).tool(tool).build();
    let session = runtime.unwrap().open("worker").await.unwrap();
    let output = session.prompt("go").await.unwrap().output.unwrap();
    assert!(output.contains("nobody is here to give it"), "{output}");
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn what_the_host_allows_needs_no_asking_and_what_it_denies_no_answer() {
    let run = |action: Action| {
        let tool = adder(&Arc::default()).needs("math.add", |sum: &Sum| sum.a.to_string());
        let rules = [Rule::new("math.add", "1", action)];
        adding(json!({ "a": 1, "b": 2 }))
            .tool(tool)
            .permissions(rules)
    };
    let output = async |builder: offshoot::Builder| {
        let session = builder.build().unwrap().open("worker").await.unwrap();
        session.prompt("go").await.unwrap().output.unwrap()
    };
    assert_eq!(output(run(Action::Allow)).await, "3");
    let denied = output(run(Action::Deny).asks(Asks::YES)).await;
    assert!(denied.contains("denied by the host's rules"), "{denied}");
    let wrong = [Rule::new("fs.read", "{wrkspace}/x", Action::Allow)];
    let error = offshoot::Runtime::builder().permissions(wrong).build();
    let Err(Error::Invalid(why)) = error else {
        panic!("it cannot be right");
    };
    assert!(why.contains("did you mean `{workspace}`?"), "{why}");
}

#[tokio::test]
async fn r22_somebody_who_is_asked_answers_through_the_agent_that_asks() {
    let ran = Arc::default();
    let tool = adder(&ran).needs("math.add", |sum: &Sum| sum.a.to_string());
    let runtime = adding(json!({ "a": 1, "b": 2 }))
        .tool(tool)
        .asks(Asks::SOMEBODY)
        .build()
        .unwrap();
    let session = runtime.open("worker").await.unwrap();
    let (settlement, ()) = tokio::join!(session.prompt("go"), allow(&session));
    assert_eq!(settlement.unwrap().output.as_deref(), Some("3"));
}

/// Allows the first thing that is asked.
async fn allow(session: &Session) {
    until(session, |event| matches!(event, Event::Asked { .. })).await;
    let tree = session.tree().await.unwrap();
    let root = tree.agent(session.root().id()).unwrap();
    let open = root.open_calls();
    let call = &open.first().unwrap().call;
    session.root().answer(call, Verdict::Once).await.unwrap();
    let error = session.root().answer(call, Verdict::Once).await;
    assert!(matches!(error, Err(Error::Invalid(_))));
}

#[tokio::test]
async fn pd_22_an_agent_that_is_read_only_has_tools_that_only_read() {
    for (tool, expected) in [
        (adder(&Arc::default()), "was denied"),
        (adder(&Arc::default()).reads(), "3"),
    ] {
        let reader = Manifest {
            read_only: true,
            ..Manifest::new("reader", Mode::Primary, "Read.")
        };
        let runtime = adding(json!({ "a": 1, "b": 2 })).agent(reader).tool(tool);
        let session = runtime.build().unwrap().open("reader").await.unwrap();
        let output = session.prompt("go").await.unwrap().output.unwrap();
        assert!(output.contains(expected), "{output}");
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_dropped_where_it_waits() {
    let gate = Gate::shut();
    let slow = FnTool::new("add", "Waits.", &json!({}), move |_: Value| {
        let gate = gate.clone();
        async move {
            gate.passed().await;
            Ok::<(), String>(())
        }
    });
    let runtime = adding(json!({})).tool(slow).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    let cancelled = async {
        until(&session, |event| matches!(event, Event::CallStarted { .. })).await;
        session.cancel().await
    };
    let (settlement, cancelled) = tokio::join!(session.prompt("go"), cancelled);
    cancelled.unwrap();
    assert_eq!(settlement.unwrap().status.word(), "cancelled");
}

#[tokio::test]
async fn tools_that_agents_would_not_be_offered_are_refused_all_of_them() {
    let runtime = stage(|_| Reply::text("done")).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    let tree = session.tree().await.unwrap();
    let own = &tree.agent(session.root().id()).unwrap().spawned.terms.tools;
    // Without tools of ours, what there is are the engine's own calls.
    assert!(!own.is_empty());
    let refused: BTreeSet<&String> = own.iter().filter(|id| error_of(&[id]).is_some()).collect();
    assert_eq!(refused.len(), own.len(), "{own:?}");
    assert_eq!(error_of(&["one", "two"]), None);
    let twice = error_of(&["one", "one"]).unwrap();
    assert_eq!(twice, "add tool one: there is one of that name already");
}

/// Returns what is said to a program that brings tools of these ids.
fn error_of(ids: &[&str]) -> Option<String> {
    let mut builder = stage(|_| Reply::text("done"));
    for id in ids {
        let run = |_: Value| async { Ok::<(), String>(()) };
        builder = builder.tool(FnTool::new(*id, "", &json!({}), run));
    }
    Some(builder.build().err()?.to_string())
}

#[tokio::test]
async fn an_agent_may_name_the_programs_tools_and_none_that_do_not_exist() {
    let named = |tool: &str| Manifest {
        tools: Toolset::only([tool]),
        ..Manifest::new("clerk", Mode::Primary, "Count.")
    };
    let ran = Arc::new(AtomicU32::new(0));
    for known in ["add", "question", "read", "*"] {
        let builder = stage(|_| Reply::text("done")).tool(adder(&ran));
        assert!(builder.agent(named(known)).build().is_ok(), "{known}");
    }
    let builder = stage(|_| Reply::text("done")).tool(adder(&ran));
    let Err(Error::Invalid(why)) = builder.agent(named("Add")).build() else {
        panic!("it is refused")
    };
    assert!(
        why.contains("agent clerk") && why.contains("`add`"),
        "{why}"
    );
}

#[tokio::test]
async fn built_in_agents_are_there_unless_they_are_left_out() {
    let runtime = stage(|_| Reply::text("done")).build().unwrap();
    runtime.open("build").await.unwrap();
    let runtime = stage(|_| Reply::text("done")).without_builtin_agents();
    let error = runtime.build().unwrap().open("build").await.unwrap_err();
    assert!(matches!(error, Error::Unknown(_)), "{error}");
    let host = Manifest {
        name: "host".to_owned(),
        ..worker()
    };
    let error = stage(|_| Reply::text("done")).agent(host).build();
    assert!(matches!(error.unwrap_err(), Error::Invalid(_)));
    // Helpers stay helpers, whoever wrote them.
    let title = Manifest {
        name: "title".to_owned(),
        ..worker()
    };
    let error = stage(|_| Reply::text("done")).agent(title).build();
    assert!(matches!(error.unwrap_err(), Error::Invalid(_)));
}

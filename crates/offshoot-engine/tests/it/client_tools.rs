//! Tools that clients of a session carry out: durable waits, answered by any client (ruling 2).

use offshoot_engine::{Activity, Asks, CommandError, Ending, Limits};
use offshoot_types::caps::{Caps, Span};
use offshoot_types::client_tool::{ClientTool, MAX_RESULT_BYTES, MOST_CLIENT_TOOLS, ToolResult};
use offshoot_types::command::{Answer, Fork, Opening, Order, Receipt, Scope, Verdict};
use offshoot_types::content::{Attached, AttachmentError, Content, Digest, Part};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, Mode};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::settlement::{CancelledBy, Cap, PartialReason, Status};
use offshoot_types::store::OpenAsk;
use serde_json::json;

use crate::asks::{answer, asked, no, no_effect};
use crate::stage::{Line, Script, Stage, call, data, kind, say, task};

fn tool(name: &str) -> ClientTool {
    ClientTool {
        name: name.to_owned(),
        description: "Looks a ticket up.".to_owned(),
        parameters: RawJson::of(&json!({
            "type": "object",
            "properties": { "id": { "type": "integer" } },
            "required": ["id"],
        })),
        read_only: false,
        skip_permission: true,
    }
}

fn lookup() -> Line {
    call(&[("lookup", json!({ "id": 7 }))])
}

fn text(text: &str) -> Verdict {
    Verdict::Returned(ToolResult::Text(text.to_owned()))
}

fn looks_up() -> Script {
    Script::default().part("lead", [lookup(), say("done")])
}

async fn set(stage: &Stage, tools: Vec<ClientTool>) {
    let receipt = stage
        .order(stage.root(), Order::SetClientTools(tools))
        .await;
    assert_eq!(receipt, Receipt::ClientToolsSet);
}

/// A root whose call waits for a client.
async fn waiting(script: Script, tools: Vec<ClientTool>) -> (Stage, (AgentId, CallId)) {
    let stage = Stage::asking(script, Limits::default(), Asks::SOMEBODY).await;
    set(&stage, tools).await;
    stage.prompt(stage.root(), "go").await;
    let wait = asked(&stage, 1).await;
    (stage, wait)
}

/// Waits until a call of any session waits for a client, and returns the rows of those that do.
async fn waiting_in_store(stage: &Stage) -> Vec<OpenAsk> {
    loop {
        let asks = stage.store_asks().await;
        if !asks.is_empty() {
            return asks;
        }
        tokio::task::yield_now().await;
    }
}

async fn resume(stage: &Stage) {
    let receipt = stage.order(stage.root(), Order::Resume).await;
    assert_eq!(receipt, Receipt::Resumed);
}

#[tokio::test]
async fn ruling_2_a_call_waits_without_a_slot_and_a_client_answers_it() {
    let results = [
        (ToolResult::Text("open".to_owned()), json!("open")),
        (
            ToolResult::Data(RawJson::of(&json!({ "state": "open" }))),
            json!({ "state": "open" }),
        ),
    ];
    for (result, expected) in results {
        let (stage, wait) = waiting(looks_up(), vec![tool("lookup")]).await;
        let waits = Activity::ClientTools(vec!["lookup".to_owned()]);
        stage.until_activity(|activity| *activity == waits).await;
        let asks = stage.store_asks().await;
        assert!(asks.len() == 1 && asks[0].ask.waits_for_client, "{asks:?}");
        let receipt = answer(&stage, wait, Verdict::Returned(result)).await;
        assert_eq!(receipt, Receipt::Answered);
        stage.quiet().await;
        assert_eq!(data(&stage.outcomes("lead").await[0]), expected);
        assert!(stage.store_asks().await.is_empty());
    }
}

#[tokio::test]
async fn ruling_2_a_result_may_have_images_that_the_session_has() {
    let (stage, wait) = waiting(looks_up(), vec![tool("lookup")]).await;
    let bytes = b"\x89PNG\r\n\x1a\nrest".to_vec();
    let stored = stage.runtime.store_blob(stage.tree.root(), None, "", bytes);
    let image = stored.await.unwrap();
    let digest = Digest::new("0".repeat(64)).unwrap();
    let missing = Attached {
        digest,
        ..image.clone()
    };
    let returned = |image: Attached| {
        let parts = [Part::Text("here".to_owned()), Part::Image(image)];
        Verdict::Returned(ToolResult::Content(Content::new(parts)))
    };
    let (agent, call) = wait.clone();
    let order = Order::Answer(Answer::new(call, returned(missing)));
    let refused = stage.command(&stage.tree, agent, order);
    let refused = stage.runtime.command(refused).await;
    let Err(CommandError::Attachment(AttachmentError::Missing(_))) = refused else {
        panic!("{refused:?}")
    };
    let receipt = answer(&stage, wait, returned(image.clone())).await;
    assert_eq!(receipt, Receipt::Answered);
    stage.quiet().await;
    let outcome = stage.outcomes("lead").await.remove(0);
    assert_eq!(data(&outcome), json!("here"));
    assert_eq!(outcome.attachments, [Part::Image(image)]);
}

#[tokio::test]
async fn ruling_2_an_error_of_a_client_is_an_error_of_the_call() {
    let (stage, wait) = waiting(looks_up(), vec![tool("lookup")]).await;
    let failed = Verdict::Returned(ToolResult::Error("no such ticket".to_owned()));
    assert_eq!(answer(&stage, wait, failed).await, Receipt::Answered);
    stage.quiet().await;
    assert_eq!(kind(&stage.outcomes("lead").await[0]), ErrorKind::Failed);
}

#[tokio::test]
async fn ruling_2_the_first_answer_counts_and_the_second_has_no_effect() {
    let (stage, wait) = waiting(looks_up(), vec![tool("lookup")]).await;
    let both = tokio::join!(
        answer(&stage, wait.clone(), text("first")),
        answer(&stage, wait.clone(), text("second"))
    );
    assert_eq!(both.0, Receipt::Answered);
    assert!(matches!(both.1, Receipt::NoEffect { .. }), "{both:?}");
    stage.quiet().await;
    let late = answer(&stage, wait, text("third")).await;
    assert_eq!(late, no_effect("nobody asks that"));
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("first"));
}

#[tokio::test]
async fn ruling_2_client_2_answers_the_old_id_after_a_crash_and_after_an_orderly_end() {
    for orderly in [false, true] {
        for resumes_first in [false, true] {
            let (stage, wait) = waiting(looks_up(), vec![tool("lookup")]).await;
            if orderly {
                stage.runtime.shutdown(Ending::Now).await;
            }
            let stage = stage.crash().await;
            if resumes_first {
                resume(&stage).await;
                assert_eq!(answer(&stage, wait, text("open")).await, Receipt::Answered);
            } else {
                assert_eq!(
                    answer(&stage, wait.clone(), text("open")).await,
                    Receipt::Queued
                );
                let second = answer(&stage, wait, text("closed")).await;
                assert_eq!(second, no_effect("it has been answered"));
                resume(&stage).await;
            }
            stage.quiet().await;
            let outcomes = stage.outcomes("lead").await;
            assert_eq!(outcomes.len(), 1);
            assert_eq!(data(&outcomes[0]), json!("open"));
            let settlement = stage.settlement(&stage.root()).await;
            assert_eq!(settlement.output.as_deref(), Some("done"));
        }
    }
}

#[tokio::test]
async fn ruling_2_a_client_in_another_process_answers_while_the_first_owns_the_session() {
    let (stage, (_, call)) = waiting(looks_up(), vec![tool("lookup")]).await;
    let order = Order::Answer(Answer::new(call, text("open")));
    let more = Manifest::new("other", Mode::All, "Other.");
    let receipt = stage.order_from_elsewhere(order, more).await;
    assert_eq!(receipt, Receipt::Answered);
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("open"));
}

#[tokio::test]
async fn ruling_2_without_anybody_here_the_session_sleeps_on_and_the_call_is_not_answered() {
    let (stage, wait) = waiting(looks_up(), vec![tool("lookup")]).await;
    let stage = stage.crash_into(Asks::NOBODY).await;
    let receipt = stage.order(stage.root(), Order::Resume).await;
    assert!(matches!(receipt, Receipt::NoEffect { .. }), "{receipt:?}");
    assert!(stage.outcomes("lead").await.is_empty());
    // It was wanted before, so the answer has the session go on.
    assert_eq!(answer(&stage, wait, text("open")).await, Receipt::Answered);
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("open"));
}

#[tokio::test]
async fn ruling_2_a_session_resumed_without_a_client_still_offers_its_tools() {
    let script = Script::default().part("lead", [say("hello"), lookup(), say("done")]);
    let stage = Stage::asking(script, Limits::default(), Asks::SOMEBODY).await;
    set(&stage, vec![tool("lookup")]).await;
    stage.ask("hello").await;
    let stage = stage.crash().await;
    stage.prompt(stage.root(), "go").await;
    let wait = asked(&stage, 1).await;
    assert_eq!(answer(&stage, wait, text("open")).await, Receipt::Answered);
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("open"));
}

#[tokio::test]
async fn ruling_2_a_call_that_waits_goes_on_waiting_after_its_tool_is_taken_away() {
    let script = Script::default().part("lead", [lookup(), lookup(), say("done")]);
    let (stage, wait) = waiting(script, vec![tool("lookup")]).await;
    set(&stage, Vec::new()).await;
    let stage = stage.crash().await;
    resume(&stage).await;
    assert_eq!(answer(&stage, wait, text("open")).await, Receipt::Answered);
    stage.quiet().await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(data(&outcomes[0]), json!("open"));
    assert_eq!(kind(&outcomes[1]), ErrorKind::UnknownTool);
}

#[tokio::test]
async fn ruling_2_permission_comes_first_and_the_call_waits_for_its_result_after_a_yes() {
    let guarded = ClientTool {
        skip_permission: false,
        ..tool("lookup")
    };
    let (stage, ask) = waiting(looks_up(), vec![guarded.clone()]).await;
    let early = answer(&stage, ask.clone(), text("open")).await;
    assert_eq!(
        early,
        no_effect("it is no client tool that waits for a result")
    );
    // The permission survives, and so does the wait behind it.
    let stage = stage.crash().await;
    resume(&stage).await;
    answer(&stage, ask.clone(), Verdict::Once).await;
    let wait = asked(&stage, 2).await;
    assert_eq!(wait, ask, "one call, one id");
    let stage = stage.crash().await;
    resume(&stage).await;
    let wrong = answer(&stage, wait.clone(), no("late")).await;
    assert!(matches!(wrong, Receipt::NoEffect { .. }), "{wrong:?}");
    assert_eq!(answer(&stage, wait, text("open")).await, Receipt::Answered);
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("open"));

    let (stage, ask) = waiting(looks_up(), vec![guarded]).await;
    answer(&stage, ask, no("not now")).await;
    stage.quiet().await;
    assert_eq!(kind(&stage.outcomes("lead").await[0]), ErrorKind::Denied);
}

#[tokio::test]
async fn ruling_2_answers_of_the_wrong_shape_or_size_are_refused_and_the_call_goes_on_waiting() {
    let (stage, wait) = waiting(looks_up(), vec![tool("lookup")]).await;
    let said = Verdict::Said {
        answers: vec![vec!["open".to_owned()]],
    };
    for wrong in [Verdict::Once, Verdict::Session, no("no"), said] {
        let receipt = answer(&stage, wait.clone(), wrong).await;
        assert!(matches!(receipt, Receipt::NoEffect { .. }), "{receipt:?}");
    }
    for bytes in [MAX_RESULT_BYTES + 1, 100 * MAX_RESULT_BYTES] {
        let huge = Order::Answer(Answer::new(wait.1.clone(), text(&"x".repeat(bytes))));
        let command = stage.command(&stage.tree, stage.root(), huge);
        let refused = stage.runtime.command(command).await;
        assert!(matches!(refused, Err(CommandError::Invalid(_))));
    }
    let largest = text(&"x".repeat(MAX_RESULT_BYTES));
    assert_eq!(answer(&stage, wait, largest).await, Receipt::Answered);
}

#[tokio::test]
async fn ruling_2_a_set_that_no_session_could_have_is_refused_with_its_reason() {
    let with = |change: fn(&mut ClientTool)| {
        let mut tool = tool("lookup");
        change(&mut tool);
        vec![tool]
    };
    let many = (0..=MOST_CLIENT_TOOLS).map(|n| tool(&format!("tool_{n}")));
    let sets = [
        with(|tool| tool.name = "read".to_owned()),
        with(|tool| tool.name = "task".to_owned()),
        with(|tool| tool.name = "look up".to_owned()),
        with(|tool| tool.name = String::new()),
        with(|tool| tool.name = "x".repeat(65)),
        with(|tool| tool.description = "x".repeat(20 * 1024)),
        with(|tool| tool.parameters = RawJson::of(&json!({ "type": "nothing" }))),
        with(|tool| tool.parameters = RawJson::of(&json!([]))),
        vec![tool("lookup"), tool("lookup")],
        many.collect(),
    ];
    let stage = Stage::new(Script::default()).await;
    for (number, tools) in sets.into_iter().enumerate() {
        let opening = Opening {
            client_tools: tools.clone(),
            ..crate::stage::opening("lead")
        };
        let agent = AgentId::new("another");
        let tree = TreeId::of(agent.clone());
        let orders = [
            (
                stage.tree.clone(),
                stage.root(),
                Order::SetClientTools(tools),
            ),
            (tree, agent, Order::open(opening)),
        ];
        for (tree, agent, order) in orders {
            let command = stage.command(&tree, agent, order);
            let refused = stage.runtime.command(command).await;
            assert!(matches!(refused, Err(CommandError::Invalid(_))), "{number}");
        }
    }
}

#[tokio::test]
async fn ruling_2_a_session_opened_with_client_tools_has_them_in_its_first_turn() {
    let stage = Stage::asking(looks_up(), Limits::default(), Asks::SOMEBODY).await;
    let opening = Opening {
        client_tools: vec![tool("lookup")],
        prompt: Some(stage.words("go")),
        ..crate::stage::opening("lead")
    };
    stage.open_as("another", opening).await;
    let asks = waiting_in_store(&stage).await;
    assert_eq!(asks[0].tool, "lookup");
    assert_eq!(asks[0].agent, AgentId::new("another"));
}

#[tokio::test]
async fn ruling_2_a_person_who_cancels_withdraws_the_wait() {
    for scope in [Scope::Run, Scope::Turn] {
        let (stage, wait) = waiting(looks_up(), vec![tool("lookup")]).await;
        stage.order(stage.root(), Order::Cancel(scope)).await;
        stage.quiet().await;
        assert_eq!(kind(&stage.outcomes("lead").await[0]), ErrorKind::Cancelled);
        let settlement = stage.settlement(&stage.root()).await;
        assert_eq!(settlement.status, Status::Cancelled(CancelledBy::User));
        let late = answer(&stage, wait, text("open")).await;
        assert_eq!(late, no_effect("nobody asks that"));
    }
}

#[tokio::test]
async fn ruling_2_children_are_offered_them_and_a_wait_of_a_child_ends_with_its_run() {
    let script = || {
        Script::default()
            .part("lead", [task("worker", "x"), say("done")])
            .part("worker", [lookup(), say("looked")])
    };
    let (stage, wait) = waiting(script(), vec![tool("lookup")]).await;
    assert_ne!(wait.0, stage.root());
    assert_eq!(answer(&stage, wait, text("open")).await, Receipt::Answered);
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("worker").await[0]), json!("open"));

    let (stage, wait) = waiting(script(), vec![tool("lookup")]).await;
    let stage = stage.crash().await;
    let late = answer(&stage, wait, text("open")).await;
    assert_eq!(late, no_effect("nobody asks that"));
}

#[tokio::test]
async fn r10_a_client_tool_is_alone_in_its_group_unless_it_only_reads() {
    let message = call(&[
        ("lookup", json!({ "id": 1 })),
        ("lookup", json!({ "id": 2 })),
    ]);
    let waits = |log: &[Entry]| {
        let waits = |entry: &&Entry| matches!(entry.event, Event::Asked { .. });
        log.iter().filter(waits).count()
    };
    for read_only in [false, true] {
        let script = Script::default().part("lead", [message.clone(), say("done")]);
        let declared = ClientTool {
            read_only,
            ..tool("lookup")
        };
        let (stage, first) = waiting(script, vec![declared]).await;
        assert_eq!(waits(&stage.log().await), 1 + usize::from(read_only));
        answer(&stage, first, text("one")).await;
        let second = asked(&stage, 2).await;
        answer(&stage, second, text("two")).await;
        stage.quiet().await;
        assert_eq!(stage.outcomes("lead").await.len(), 2);
    }
}

#[tokio::test]
async fn ruling_2_a_client_that_never_answers_holds_up_no_other_session() {
    let limits = Limits {
        slots: 1,
        ..Limits::default()
    };
    let script = Script::default().part("lead", [lookup(), say("never"), say("hello")]);
    let stage = Stage::asking(script, limits, Asks::SOMEBODY).await;
    set(&stage, vec![tool("lookup")]).await;
    stage.prompt(stage.root(), "go").await;
    asked(&stage, 1).await;
    stage.ask_another("another", "hello").await;
    let other = TreeId::of(AgentId::new("another"));
    stage.quiet_in(&other).await;
}

#[tokio::test(start_paused = true)]
async fn ruling_2_a_time_cap_withdraws_the_wait_and_a_stall_cap_does_not() {
    let capped = |time: Option<u64>| Limits {
        root: Caps {
            time: time.map(Span::secs),
            stall: Some(Span::secs(10)),
            ..Caps::default()
        },
        ..Limits::default()
    };
    for (time, passes) in [(None, 60), (Some(60), 20)] {
        let script = Script::default().part("lead", [lookup(), say("done")]);
        let asks = Asks::SOMEBODY;
        let stage = Stage::ticking_asking(script, capped(time), asks, Vec::new()).await;
        set(&stage, vec![tool("lookup")]).await;
        stage.prompt(stage.root(), "go").await;
        let wait = asked(&stage, 1).await;
        stage.pass(passes).await;
        assert_eq!(stage.store_asks().await.len(), 1, "it waits on");
        let (receipt, status) = if time.is_none() {
            let receipt = answer(&stage, wait, text("open")).await;
            stage.quiet().await;
            assert_eq!(data(&stage.outcomes("lead").await[0]), json!("open"));
            (receipt, Status::Completed)
        } else {
            stage.pass(60).await;
            stage.settled(&stage.root()).await;
            assert_eq!(kind(&stage.outcomes("lead").await[0]), ErrorKind::Cancelled);
            assert!(stage.store_asks().await.is_empty());
            let receipt = answer(&stage, wait, text("open")).await;
            (receipt, Status::Partial(PartialReason::Budget(Cap::Time)))
        };
        let expected = match time {
            None => Receipt::Answered,
            Some(_) => no_effect("nobody asks that"),
        };
        assert_eq!(receipt, expected);
        assert_eq!(stage.settlement(&stage.root()).await.status, status);
    }
}

#[tokio::test]
async fn ses_08_a_copy_has_the_client_tools_and_waits_by_itself() {
    let script = Script::default().part("lead", [say("hello"), lookup(), say("done")]);
    let stage = Stage::asking(script, Limits::default(), Asks::SOMEBODY).await;
    set(&stage, vec![tool("lookup")]).await;
    stage.ask("hello").await;
    let copy = AgentId::new("copy");
    let tree = TreeId::of(copy.clone());
    let fork = Order::Fork(Fork {
        of: stage.root(),
        at: None,
        metadata: None,
    });
    stage.order_in(&tree, copy.clone(), fork).await;
    let prompt = Order::Prompt(stage.words("go"));
    stage.order_in(&tree, copy.clone(), prompt).await;
    let asks = waiting_in_store(&stage).await;
    assert_eq!((&asks[0].tree, asks.len()), (&tree, 1));
    assert!(asks[0].ask.waits_for_client);
    // The call is the copy's: the session that it was copied from has none of its id.
    let call = asks[0].call.clone();
    let elsewhere = answer(&stage, (stage.root(), call.clone()), text("no")).await;
    assert_eq!(elsewhere, no_effect("nobody asks that"));
    let order = Order::Answer(Answer::new(call, text("open")));
    let receipt = stage.order_in(&tree, copy, order).await;
    assert_eq!(receipt, Receipt::Answered);
    stage.quiet_in(&tree).await;
    assert_eq!(stage.store_asks().await, []);
}

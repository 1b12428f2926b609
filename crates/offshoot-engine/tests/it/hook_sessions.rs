//! Hooks about what people say, about sessions and about summaries.

use std::sync::Arc;

use offshoot_engine::{Asks, Ending};
use offshoot_types::command::{Order, Receipt, Scope};
use offshoot_types::event::{Did, Event};
use offshoot_types::hook::{Point, Say, What};
use offshoot_types::id::TreeId;

use crate::stage::{Gate, Guard, Script, Stage, deny, say, task, user_texts};

fn talking() -> Script {
    Script::default().part("lead", ["one", "two", "three"].map(say))
}

async fn stage(guard: &Arc<Guard>) -> Stage {
    Stage::watched(talking(), Asks::YES, guard).await
}

#[tokio::test]
async fn a_prompt_that_a_hook_refuses_never_lands_and_whoever_sent_it_is_told_why() {
    let guard = Guard::at(&[Point::UserPromptSubmit]).speaking(|it, _| {
        Ok(match &it.what {
            What::UserPromptSubmit { prompt } if prompt.contains("hunter2") => {
                deny("that is a password")
            }
            _ => Say::nothing(),
        })
    });
    let stage = stage(&Arc::new(guard)).await;
    let receipt = stage
        .order(stage.root(), Order::Prompt(stage.words("hunter2")))
        .await;
    let why = "it was refused by hook guard: that is a password".to_owned();
    assert_eq!(receipt, Receipt::NoEffect { why });
    stage.ask("hello").await;
    let texts = user_texts(&stage.script.sent("lead")[0]);
    assert_eq!(texts, ["hello"], "no model has seen it");
    let log = format!("{:?}", stage.log().await);
    assert!(!log.contains("hunter2"));
    assert!(
        log.contains("that is a password"),
        "what the hook did is there"
    );
}

#[tokio::test]
async fn what_a_hook_adds_to_a_prompt_stands_behind_it_and_is_marked() {
    let guard = Guard::at(&[Point::UserPromptSubmit]).saying(Say::context("it is friday"));
    let stage = stage(&Arc::new(guard)).await;
    stage.ask("hello").await;
    let texts = user_texts(&stage.script.sent("lead")[0]);
    assert_eq!(
        texts,
        [
            "hello\n\n<hook_context hook=\"guard\" event=\"UserPromptSubmit\">\nit is friday\n</hook_context>"
        ]
    );
}

#[tokio::test]
async fn prompts_keep_their_order_however_long_their_hooks_take() {
    let gate = Gate::shut();
    let guard = Arc::new(Guard::at(&[Point::UserPromptSubmit]).behind(&gate));
    let stage = stage(&guard).await;
    let all = ["first", "second", "third"].map(|text| stage.prompt(stage.root(), text));
    let [first, second, third] = all;
    tokio::join!(first, second, third, async {
        guard.called(1).await;
        assert_eq!(stage.log().await.len(), 1, "nothing has landed");
        gate.open();
    });
    stage.settled(&stage.root()).await;
    let landed: Vec<String> = stage
        .log()
        .await
        .into_iter()
        .filter_map(|entry| match entry.event {
            Event::Prompted(message) => Some(message.text.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(landed, ["first", "second", "third"]);
}

#[tokio::test]
async fn no_prompt_overtakes_the_one_that_a_session_begins_with() {
    let gate = Gate::shut();
    let guard = Arc::new(Guard::at(&[Point::SessionStart]).behind(&gate));
    let stage = stage(&guard).await;
    let [first, second] = ["first", "second"].map(|text| stage.prompt(stage.root(), text));
    tokio::join!(first, second, async {
        guard.called(1).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(stage.log().await.len(), 1, "nothing has landed");
        gate.open();
    });
    stage.settled(&stage.root()).await;
    assert_eq!(user_texts(&stage.script.sent("lead")[0]), ["first"]);
}

#[tokio::test]
async fn what_is_said_of_the_start_stands_behind_the_first_prompt_that_is_taken() {
    let both = [Point::SessionStart, Point::UserPromptSubmit];
    let guard = Guard::at(&both).speaking(|it, _| {
        Ok(match &it.what {
            What::SessionStart { .. } => Say::context("be brief"),
            What::UserPromptSubmit { prompt } if prompt == "bad" => deny("no"),
            _ => Say::nothing(),
        })
    });
    let stage = stage(&Arc::new(guard)).await;
    let refused = Order::Prompt(stage.words("bad"));
    let receipt = stage.order(stage.root(), refused).await;
    assert!(matches!(receipt, Receipt::NoEffect { .. }), "{receipt:?}");
    stage.ask("good").await;
    stage.ask("more").await;
    let texts = user_texts(&stage.script.sent("lead")[1]);
    assert!(texts[0].starts_with("good") && texts[0].contains("be brief"));
    assert_eq!(texts[1], "more", "once");
}

#[tokio::test]
async fn stopping_an_agent_takes_back_a_prompt_that_hooks_are_being_asked_about() {
    let gate = Gate::shut();
    let guard = Arc::new(Guard::at(&[Point::UserPromptSubmit]).behind(&gate));
    let stage = stage(&guard).await;
    let prompt = Order::Prompt(stage.words("go"));
    let (receipt, _) = tokio::join!(stage.order(stage.root(), prompt), async {
        guard.called(1).await;
        stage.order(stage.root(), Order::Cancel(Scope::Run)).await;
    });
    let why = "it was stopped before its hooks had answered".to_owned();
    assert_eq!(receipt, Receipt::NoEffect { why });
    assert!(stage.script.sent("lead").is_empty());
}

#[tokio::test]
async fn a_start_that_was_stopped_is_told_again_with_the_next_prompt() {
    let gate = Gate::shut();
    let guard = Guard::at(&[Point::SessionStart]).saying(Say::context("be brief"));
    let guard = Arc::new(guard.behind(&gate));
    let stage = stage(&guard).await;
    let prompt = Order::Prompt(stage.words("go"));
    tokio::join!(stage.order(stage.root(), prompt), async {
        guard.called(1).await;
        stage.order(stage.root(), Order::Cancel(Scope::Run)).await;
    });
    gate.open();
    stage.ask("again").await;
    assert_eq!(guard.seen().len(), 2);
    let texts = user_texts(&stage.script.sent("lead")[0]);
    assert_eq!(texts[0].matches("be brief").count(), 1, "{texts:?}");
}

#[tokio::test]
async fn what_agents_say_to_each_other_is_no_prompt_of_a_person() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [say("ok")]);
    let guard = Arc::new(Guard::at(&[Point::UserPromptSubmit]));
    let stage = Stage::watched(script, Asks::YES, &guard).await;
    stage.ask("go").await;
    assert_eq!(guard.seen().len(), 1);
}

#[tokio::test]
async fn a_session_begins_with_its_first_prompt_and_ends_when_it_is_let_go() {
    let both = [Point::SessionStart, Point::SessionEnd];
    let guard = Arc::new(Guard::at(&both).saying(Say::context("be brief")));
    let stage = stage(&guard).await;
    stage.ask("hello").await;
    stage.ask("again").await;
    let subjects = || -> Vec<String> {
        let seen = guard.seen();
        let name = |it: &offshoot_types::hook::Occasion| format!("{} {}", it.point(), it.subject());
        seen.iter().map(name).collect()
    };
    assert_eq!(subjects(), ["SessionStart startup"], "once");
    let texts = user_texts(&stage.script.sent("lead")[1]);
    assert!(
        texts[0].contains("be brief") && texts[1] == "again",
        "{texts:?}"
    );
    let stage = stage.crash().await;
    stage.ask("after the crash").await;
    stage.leave(Ending::WhenQuiet).await;
    assert_eq!(
        subjects(),
        [
            "SessionStart startup",
            "SessionStart resume",
            "SessionEnd other"
        ]
    );
}

#[tokio::test]
async fn a_session_that_is_opened_with_a_prompt_has_hooks_asked_first() {
    let guard = Guard::at(&[Point::SessionStart, Point::UserPromptSubmit]);
    let guard = Arc::new(guard.saying(Say::context("noted")));
    let stage = stage(&guard).await;
    stage.ask_another("other", "hello").await;
    let told: Vec<_> = guard.seen().iter().map(|it| it.point()).collect();
    assert_eq!(told, [Point::SessionStart, Point::UserPromptSubmit]);
    assert_eq!(guard.seen()[0].who.session.as_str(), "other");
    let other = TreeId::of(guard.seen()[0].who.session.clone());
    stage.quiet_in(&other).await;
    let texts = user_texts(&stage.script.sent("lead")[0]);
    assert_eq!(texts[0].matches("noted").count(), 2, "{texts:?}");
}

#[tokio::test]
async fn a_hook_can_keep_a_conversation_as_it_is() {
    let guard = Guard::at(&[Point::PreCompact]).speaking(|it, _| {
        assert_eq!(it.what, What::PreCompact { auto: false });
        Ok(deny("I keep notes myself"))
    });
    let stage = stage(&Arc::new(guard)).await;
    stage.ask("hello").await;
    let receipt = stage.order(stage.root(), Order::Compact).await;
    let why = "hook guard: I keep notes myself".to_owned();
    assert_eq!(receipt, Receipt::NoEffect { why });
    let refused = stage.log().await.into_iter().any(|entry| {
        matches!(entry.event, Event::Hooked(hooked) if matches!(hooked.did, Did::Refused { .. }))
    });
    assert!(refused);
}

#[tokio::test]
async fn a_hook_is_told_the_run_that_a_prompt_is_for() {
    let guard = Arc::new(Guard::at(&[Point::UserPromptSubmit, Point::Stop]));
    let stage = stage(&guard).await;
    stage.ask("hello").await;
    stage.ask("again").await;
    let seen = guard.seen();
    let told: Vec<_> = seen
        .iter()
        .map(|it| (it.point(), it.who.run.unwrap().get()))
        .collect();
    assert_eq!(
        told,
        [
            (Point::UserPromptSubmit, 1),
            (Point::Stop, 1),
            (Point::UserPromptSubmit, 2),
            (Point::Stop, 2),
        ]
    );
}

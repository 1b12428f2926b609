//! Guards that are several, slow or told late: none is talked over, and none is passed by.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_engine::Asks;
use offshoot_types::command::{Order, Verdict};
use offshoot_types::event::{Entry, Event};
use offshoot_types::hook::{Hooks, Point, Say, Trouble, What, Word};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, Mode};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Layer, Need, Rule, Standing};
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde_json::json;

use crate::asks::{answer, asked};
use crate::stage::{
    Gate, Guard, Script, Stage, Trouble as Wired, call, data, kind, say, task_in_background,
    user_texts,
};

fn ask(reason: &str) -> Say {
    Say::word(Word::Ask {
        reason: reason.to_owned(),
    })
}

fn hooks(guards: impl IntoIterator<Item = Guard>) -> Hooks {
    let mut hooks = Hooks::default();
    for guard in guards {
        hooks.watch(Arc::new(guard));
    }
    hooks
}

/// Returns what people are asked, as the log has it.
async fn needs(stage: &Stage) -> Vec<Need> {
    let log = stage.log().await.into_iter();
    log.filter_map(|entry| match entry.event {
        Event::Asked { needs, .. } => Some(needs),
        _ => None,
    })
    .flatten()
    .collect()
}

#[tokio::test]
async fn whoever_is_asked_sees_the_question_of_every_hook_that_has_one() {
    let broken = Guard::at(&[Point::PreToolUse])
        .named("linter")
        .speaking(|_, _| Err(Trouble::BrokeDown("not there".to_owned())));
    let guard = Guard::at(&[Point::PreToolUse]).saying(ask("this is production"));
    let quiet = Guard::at(&[Point::PreToolUse]).named("quiet");
    let script = Script::default().part("lead", [call(&[("write", json!({ "path": "a" }))])]);
    let stage = Stage::watched_by(
        script,
        Asks::SOMEBODY,
        hooks([broken, quiet, guard]),
        Vec::new(),
    )
    .await;
    stage.prompt(stage.root(), "go").await;
    asked(&stage, 1).await;
    let needs = needs(&stage).await;
    let questions: Vec<&str> = needs
        .iter()
        .filter(|need| need.is_of_hook())
        .map(|need| need.target.as_str())
        .collect();
    assert_eq!(
        questions,
        [
            "hook linter: it broke down (not there)",
            "hook guard: this is production"
        ]
    );
}

#[tokio::test]
async fn r16_a_yes_to_one_hook_is_none_to_another_that_asks_only_now() {
    let first = Guard::at(&[Point::PreToolUse]).saying(ask("sure?"));
    let script = Script::default().part(
        "lead",
        [call(&[("write", json!({ "path": "a" }))]), say("done")],
    );
    let stage = Stage::watched_by(script, Asks::SOMEBODY, hooks([first]), Vec::new()).await;
    stage.prompt(stage.root(), "go").await;
    let question = asked(&stage, 1).await;
    let both = ["guard", "new"].map(|name| {
        let guard = Guard::at(&[Point::PreToolUse]).named(name);
        guard.saying(ask("sure?"))
    });
    let stage = stage.crash_with(hooks(both)).await;
    answer(&stage, question, Verdict::Once).await;
    stage.order(stage.root(), Order::Resume).await;
    stage.quiet().await;
    let outcome = stage.outcomes("lead").await.remove(0);
    assert_eq!(kind(&outcome), ErrorKind::Interrupted, "{outcome:?}");
}

/// A search: says which of two files it was shown.
struct Seek(ToolSpec);

impl Seek {
    fn tool() -> Arc<dyn Tool> {
        Arc::new(Self(ToolSpec {
            id: "seek".to_owned(),
            description: "looks".to_owned(),
            parameters: RawJson::of(&json!({ "type": "object" })),
            effect: Effect::Read,
        }))
    }
}

impl Tool for Seek {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn needs(&self, _: &RawJson, place: &Place) -> Result<Vec<Need>, String> {
        Ok(vec![Need::new(Need::FS_READ, place.workspace.clone())])
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        let seen = ["/w/plain", "/w/secrets/key"].map(|path| work.sight.shows(path));
        Box::pin(async move { Outcome::output(RawJson::of(&seen)) })
    }
}

/// Has a root search once somebody has said yes, under rules that ask about some files; returns
/// whether it saw a plain file and one of those.
async fn seen_under(rules: &[(&str, Action)], guards: Hooks) -> serde_json::Value {
    let script = Script::default().part("lead", [call(&[("seek", json!({}))]), say("done")]);
    let stage = Stage::watched_by(script, Asks::SOMEBODY, guards.clone(), Vec::new()).await;
    let rule = |(pattern, action): &(&str, Action)| Rule::new("fs.read", *pattern, *action);
    stage.says(vec![Layer {
        name: "the user's rules".to_owned(),
        rules: rules.iter().map(rule).collect(),
        standing: Standing::Grants,
        ..Layer::default()
    }]);
    let stage = stage.crash_with(guards).await;
    let _offered = stage.attach(vec![Seek::tool()]);
    stage.prompt(stage.root(), "go").await;
    answer(&stage, asked(&stage, 1).await, Verdict::Once).await;
    stage.quiet().await;
    data(&stage.outcomes("lead").await[0])
}

#[tokio::test]
async fn tls_18_a_yes_to_a_hook_shows_a_search_nothing_that_rules_ask_about() {
    let allowed = [("/w/**", Action::Allow), ("/w", Action::Allow)];
    let secrets = ("/w/secrets/**", Action::Ask);
    let guard = Guard::at(&[Point::PreToolUse]).saying(ask("sure?"));
    let [one, two] = allowed;
    let seen = seen_under(&[one, two, secrets], hooks([guard])).await;
    assert_eq!(seen, json!([true, false]));
    // A yes to the search itself is one to what it finds.
    let asks = [("/w", Action::Ask), ("/w/**", Action::Ask), secrets];
    let seen = seen_under(&asks, Hooks::default()).await;
    assert_eq!(seen, json!([true, true]));
}

/// When a process dies, as a hook sees it that hears of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dies {
    WhileItHears,
    Afterwards,
}

/// Returns the calls that a hook heard of, and what the agent was told, where the process died beside a
/// call that asks.
async fn heard_over_a_crash(dies: Dies) -> (Vec<String>, Vec<String>) {
    let gate = Gate::shut();
    if dies == Dies::Afterwards {
        gate.open();
    }
    let points = [Point::PostToolUse, Point::PostToolUseFailure];
    let guard = Guard::at(&points).behind(&gate).speaking(|it, _| {
        let read = matches!(&it.what, What::PostToolUse { used, .. } if used.tool == "read");
        Ok(Say {
            context: read.then(|| "mind the gap".to_owned()),
            ..Say::nothing()
        })
    });
    let guard = Arc::new(guard);
    let both = call(&[
        ("read", json!({ "path": "a" })),
        ("write", json!({ "path": "b" })),
    ]);
    let script = Script::default().part("lead", [both, say("done")]);
    let stage = Stage::watched(script, Asks::SOMEBODY, &guard).await;
    stage.says(vec![Layer {
        name: "the user's rules".to_owned(),
        rules: vec![Rule::new("read", "*", Action::Allow)],
        standing: Standing::Grants,
        ..Layer::default()
    }]);
    let stage = stage.crash().await;
    stage.prompt(stage.root(), "go").await;
    let question = asked(&stage, 1).await;
    guard.called(1).await;
    if dies == Dies::Afterwards {
        let noted = |entry: &Entry| matches!(entry.event, Event::Hooked(_));
        stage.until(noted).await;
    }
    let stage = stage.crash().await;
    gate.open();
    stage.order(stage.root(), Order::Resume).await;
    answer(&stage, question, Verdict::Once).await;
    stage.quiet().await;
    let heard = guard.seen().into_iter().map(|it| match it.what {
        What::PostToolUse { used, .. } => used.tool,
        other => panic!("{other:?}"),
    });
    (heard.collect(), user_texts(&stage.script.sent("lead")[1]))
}

#[tokio::test]
async fn r16_hooks_hear_of_calls_that_were_over_when_the_process_died() {
    let (heard, told) = heard_over_a_crash(Dies::WhileItHears).await;
    assert_eq!(heard, ["read", "read", "write"]);
    assert_eq!(told[1].matches("mind the gap").count(), 1, "{told:?}");
}

#[tokio::test]
async fn r16_hooks_that_heard_of_a_call_before_the_process_died_do_not_hear_of_it_again() {
    let (heard, told) = heard_over_a_crash(Dies::Afterwards).await;
    assert_eq!(heard, ["read", "write"]);
    assert_eq!(told[1].matches("mind the gap").count(), 1, "{told:?}");
}

#[tokio::test]
async fn a_call_that_rules_denied_when_hooks_were_asked_does_not_run_past_them() {
    let gate = Gate::shut();
    let guard = Arc::new(Guard::at(&[Point::PreToolUse]).behind(&gate));
    let began = Gate::shut();
    let both = call(&[
        ("write", json!({ "path": "a" })),
        ("read", json!({ "path": "b" })),
    ]);
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("watched", "go"),
                say("done"),
                say("back"),
            ],
        )
        .part("planner", [say("planning")])
        .part("watched", [both.behind(&began), say("so")]);
    let mut hooks = Hooks::default();
    hooks.watch(guard.clone());
    let planner = Manifest {
        read_only: true,
        ..Manifest::new("planner", Mode::All, "Plan.")
    };
    let stage = Stage::watched_by(script, Asks::YES, hooks, vec![planner]).await;
    // The call that makes the child.
    gate.let_through(1);
    stage.prompt(stage.root(), "first").await;
    stage.asked("watched", 1).await;
    stage.turn_ended(&stage.root()).await;
    let become_another = async |name: &str| {
        let mut prompt = stage.words(name);
        prompt.agent = Some(name.to_owned());
        stage.order(stage.root(), Order::Prompt(prompt)).await;
    };
    become_another("planner").await;
    stage.asked("planner", 1).await;
    let before = guard.seen().len();
    began.open();
    guard.called(before + 1).await;
    become_another("lead").await;
    stage.asked("lead", 3).await;
    gate.open();
    stage.quiet().await;
    let outcomes = stage.outcomes("watched").await;
    assert_eq!(kind(&outcomes[0]), ErrorKind::Interrupted, "{outcomes:?}");
    assert_eq!(data(&outcomes[1]), json!("done"));
    let shown = |it: &&offshoot_types::hook::Occasion| matches!(&it.what, What::PreToolUse(used) if used.tool == "write");
    assert_eq!(guard.seen().iter().filter(shown).count(), 0);
}

#[tokio::test]
async fn r7_a_session_whose_log_broke_gives_its_tree_back_whatever_its_hooks_do() {
    let gate = Gate::shut();
    let guard = Arc::new(Guard::at(&[Point::Notification]).behind(&gate));
    let script = Script::default().part("lead", [call(&[("write", json!({ "path": "a" }))])]);
    let stage = Stage::watched(script, Asks::SOMEBODY, &guard).await;
    stage.prompt(stage.root(), "go").await;
    let question = asked(&stage, 1).await;
    guard.called(1).await;
    stage
        .wire
        .trouble(Wired::Broken, |append| !append.entries.is_empty());
    let command = Order::Answer(offshoot_types::command::Answer::new(
        question.1,
        Verdict::Once,
    ));
    stage.leave_order(command).await;
    stage.let_go().await;
    gate.open();
}

//! What the runtime has agents do for itself: titles and summaries (SA-43…45, X-21).

use offshoot_engine::{Ending, Helpers};
use offshoot_types::command::{Order, Receipt, Rename};
use offshoot_types::event::{Event, Origin, Purpose};
use offshoot_types::id::AgentId;
use offshoot_types::manifest::{Manifest, Mode, Toolset};
use offshoot_types::message::Author;
use offshoot_types::model::{ModelErrorKind, ToolChoice};
use offshoot_types::settlement::{CancelledBy, Status};
use offshoot_types::tier::{ModelChoices, Tier};
use serde_json::json;

use crate::stage::{Gate, Script, Stage, call, data, fail, say, task, user_texts};

/// The helpers, as hosts have them.
pub(crate) fn cast() -> Vec<Manifest> {
    let helper = |name: &str| Manifest {
        temperature: Some(0.2),
        max_output_tokens: Some(100),
        tools: Toolset::only([]),
        ..Manifest::new(name, Mode::Subagent, "Help.")
    };
    ["title", "summary", "compaction"].map(helper).to_vec()
}

fn small() -> Helpers {
    Helpers {
        models: ModelChoices {
            tiers: [(Tier::Small, "script/small".to_owned())].into(),
            child: None,
        },
        ..Helpers::default()
    }
}

fn human(title: &str) -> Order {
    Order::Rename(Rename {
        title: title.to_owned(),
        by: Author::Human,
    })
}

/// Returns the helpers of a session.
async fn helpers(stage: &Stage) -> Vec<AgentId> {
    stage.tree().await.helpers().to_vec()
}

#[tokio::test]
async fn sa_45_a_session_is_named_at_its_first_message() {
    let script = Script::default()
        .part("lead", [say("hello"), say("again")])
        .part("title", [say("\"Greeting the lead.\"\nand more")]);
    let stage = Stage::helped(script, cast(), small()).await;
    stage.ask("say hello").await;
    stage
        .until(|entry| matches!(entry.event, Event::Titled { .. }))
        .await;
    let tree = stage.tree().await;
    let root = tree.agent(&stage.root()).unwrap();
    let (title, by) = root.title.clone().unwrap();
    assert_eq!((title.as_str(), by), ("Greeting the lead", Author::Host));
    assert_eq!(stage.chat().await["session"]["title"], "Greeting the lead");

    stage.ask("and again").await;
    assert_eq!(
        stage.script.sent("title").len(),
        1,
        "once, at the first message"
    );
}

#[tokio::test]
async fn sa_43_a_helper_has_the_cheap_model_no_tools_and_sees_only_what_it_is_given() {
    let script = Script::default().part("lead", [say("hello")]);
    let stage = Stage::helped(script, cast(), small()).await;
    stage.ask("say hello").await;
    stage.asked("title", 1).await;
    let request = stage.script.sent("title").remove(0);
    assert_eq!(request.model, "script/small");
    assert!(request.tools.is_empty());
    assert_eq!(request.temperature, Some(0.2));
    assert_eq!(request.max_output_tokens, Some(100));
    assert_eq!(request.choice, ToolChoice::Auto);
    let told = "<conversation>\nsay hello\n</conversation>";
    assert_eq!(user_texts(&request), [told]);
}

#[tokio::test]
async fn sa_44_x_21_a_helper_is_spawned_like_a_child_and_is_nobodys() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [task("worker", "work"), say("done")])
        .part("worker", [say("worked")])
        .part("title", [say("Named").behind(&gate)]);
    let stage = Stage::helped(script, cast(), small()).await;
    // Quiet although the helper has not ended (R19).
    stage.ask("go").await;
    let tree = stage.tree().await;
    let root = tree.agent(&stage.root()).unwrap();
    let [helper] = tree.helpers() else {
        panic!("one helper: {:?}", tree.helpers());
    };
    let born = &tree.agent(helper).unwrap().spawned;
    let Origin::Helper(origin) = &born.origin else {
        panic!("{:?}", born.origin);
    };
    assert_eq!(
        (&origin.of, origin.purpose),
        (&stage.root(), Purpose::Title)
    );
    assert_eq!(born.depth, 0, "it costs no depth");
    assert_eq!(root.children.len(), 1, "a helper is no child");
    assert_eq!(tree.open_helpers().count(), 1);
    assert!(root.settlement().is_some(), "nobody waits for it (R18)");
    // The receipt of its spawn is there like anybody's.
    assert_eq!(born.terms.caps.steps, Some(1));

    gate.open();
    stage
        .until(|entry| matches!(entry.event, Event::Titled { .. }))
        .await;
    let tree = stage.tree().await;
    assert!(
        tree.agent(&stage.root()).unwrap().mail.is_empty(),
        "no mail"
    );
    let log = stage.log().await;
    let told = |entry: &&offshoot_types::event::Entry| {
        let runs = entry.event.delivers().iter();
        runs.into_iter().any(|run| run.agent == *helper)
    };
    assert_eq!(log.iter().filter(told).count(), 0);
    // It leaves no rows.
    let chat = stage.chat().await.to_string();
    assert!(!chat.contains(helper.as_str()), "{chat}");
}

#[tokio::test]
async fn sa_44_task_starts_a_helper_as_an_ordinary_child() {
    let script = Script::default()
        .part("lead", [task("title", "name this"), say("done")])
        .part("title", [say("A name")]);
    let stage = Stage::with_agents(script, cast()).await;
    stage.ask("go").await;
    assert_eq!(
        data(&stage.outcomes("lead").await[0]),
        json!({ "output": "A name" })
    );
    let tree = stage.tree().await;
    assert!(tree.helpers().is_empty(), "it is a child");
    let born = &tree.agent(&stage.born("title").await).unwrap().spawned;
    assert_eq!(born.depth, 1);
    assert!(matches!(born.origin, Origin::Task(_)), "{:?}", born.origin);
    let request = stage.script.sent("title").remove(0);
    assert!(request.tools.is_empty());
    assert_eq!(request.max_output_tokens, Some(100));
    assert_eq!(user_texts(&request), ["name this"], "in its caller's words");
}

#[tokio::test]
async fn a_name_that_a_person_gave_stays() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [say("hello")])
        .part("title", [say("Named by a model").behind(&gate)]);
    let stage = Stage::helped(script, cast(), small()).await;
    stage.ask("say hello").await;
    stage.asked("title", 1).await;
    let named = stage.order(stage.root(), human("  Mine\nand more")).await;
    assert_eq!(named, Receipt::Renamed);
    gate.open();
    let helper = helpers(&stage).await.remove(0);
    stage.settled(&helper).await;
    // The order that follows from it has no effect, which the next one shows to be behind it.
    let again = stage.order(stage.root(), human("Still mine")).await;
    assert_eq!(again, Receipt::Renamed);
    let tree = stage.tree().await;
    let title = tree.agent(&stage.root()).unwrap().title.clone();
    assert_eq!(title, Some(("Still mine".to_owned(), Author::Human)));
    let by_host = |entry: &&offshoot_types::event::Entry| {
        matches!(
            &entry.event,
            Event::Titled {
                by: Author::Host,
                ..
            }
        )
    };
    assert_eq!(stage.log().await.iter().filter(by_host).count(), 0);
}

#[tokio::test]
async fn without_a_cheap_model_no_model_names_a_session() {
    let script = Script::default().part("lead", [say("hello")]);
    let stage = Stage::helped(script, cast(), Helpers::default()).await;
    stage.ask("say hello").await;
    assert!(helpers(&stage).await.is_empty());
    assert_eq!(stage.chat().await["session"]["title"], "say hello");
}

#[tokio::test]
async fn a_helper_that_fails_costs_nobody_anything() {
    let script = Script::default()
        .part("lead", [say("hello")])
        .part("title", [fail(ModelErrorKind::Invalid)]);
    let stage = Stage::helped(script, cast(), small()).await;
    stage.ask("say hello").await;
    stage.asked("title", 1).await;
    let helper = helpers(&stage).await.remove(0);
    stage.settled(&helper).await;
    let settlement = stage.settlement(&helper).await;
    assert!(matches!(settlement.status, Status::Failed { .. }));
    let root = stage.settlement(&stage.root()).await;
    assert_eq!(root.status, Status::Completed);
    assert_eq!(stage.chat().await["session"]["title"], "say hello");
}

#[tokio::test]
async fn r19_helpers_are_cancelled_at_exit() {
    let gate = Gate::shut();
    for ending in [Ending::WhenQuiet, Ending::Now] {
        let script = Script::default()
            .part("lead", [say("hello")])
            .part("title", [say("Never").behind(&gate)]);
        let stage = Stage::helped(script, cast(), small()).await;
        stage.ask("say hello").await;
        stage.asked("title", 1).await;
        let (log, owned) = stage.leave(ending).await;
        let ends: Vec<_> = log
            .iter()
            .filter_map(|entry| match &entry.event {
                Event::Settled { settlement, .. } => Some(settlement.status.clone()),
                _ => None,
            })
            .collect();
        let stopped = Status::Cancelled(CancelledBy::Shutdown);
        assert_eq!(ends, [Status::Completed, stopped], "{ending:?}");
        assert!(!owned);
    }
}

#[tokio::test]
async fn r16_a_helper_whose_process_died_is_settled_with_the_rest() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [say("hello"), say("again")])
        .part("title", [say("Never").behind(&gate)]);
    let stage = Stage::helped(script, cast(), small()).await;
    stage.ask("say hello").await;
    stage.asked("title", 1).await;
    let stage = stage.crash().await;
    stage.ask("once more").await;
    let helper = helpers(&stage).await.remove(0);
    let settlement = stage.settlement(&helper).await;
    assert!(matches!(settlement.status, Status::Lost { .. }));
}

#[tokio::test]
async fn sa_45_a_summary_is_written_down_on_request() {
    let script = Script::default()
        .part("lead", [task("worker", "work"), say("all done")])
        .part("worker", [say("worked")])
        .part("summary", [say("Asked: a thing.\nDone: it.")]);
    let stage = Stage::helped(script, cast(), Helpers::default()).await;
    stage.ask("do a thing").await;
    let receipt = stage.order(stage.root(), Order::Summarise).await;
    let summary = "Asked: a thing.\nDone: it.".to_owned();
    assert_eq!(
        receipt,
        Receipt::Summarised {
            summary: summary.clone()
        }
    );
    let tree = stage.tree().await;
    assert_eq!(tree.agent(&stage.root()).unwrap().summary, Some(summary));
    let request = stage.script.sent("summary").remove(0);
    let given = user_texts(&request).remove(0);
    for said in ["do a thing", "called task", "worked", "all done"] {
        assert!(given.contains(said), "{said} is missing in {given}");
    }
    // What the session itself is sent has nothing of it.
    assert_eq!(stage.script.sent("lead").len(), 2);
}

#[tokio::test]
async fn a_summary_of_nothing_or_of_a_model_that_fails_says_why() {
    let script = Script::default().part("summary", [fail(ModelErrorKind::Invalid)]);
    let stage = Stage::helped(script, cast(), Helpers::default()).await;
    let why = |receipt: Receipt| match receipt {
        Receipt::NoEffect { why } => why,
        other => panic!("{other:?}"),
    };
    let nothing = stage.order(stage.root(), Order::Summarise).await;
    assert_eq!(why(nothing), "nothing has been said yet");
    stage.ask("hello").await;
    let failed = stage.order(stage.root(), Order::Summarise).await;
    assert!(why(failed).contains("the model is unwell"));
}

#[tokio::test]
async fn what_helpers_use_counts_for_whom_they_work() {
    let script = Script::default()
        .part("lead", [say("hello").using(100, 10)])
        .part("summary", [say("short").using(40, 4)]);
    let stage = Stage::helped(script, cast(), Helpers::default()).await;
    stage.ask("hello").await;
    stage.order(stage.root(), Order::Summarise).await;
    let tree = stage.tree().await;
    let root = tree.agent(&stage.root()).unwrap();
    assert_eq!(root.spent.tokens, 110 + 44);
    assert_eq!(
        root.settlement().unwrap().usage.total(),
        110,
        "its own run is its own"
    );
}

#[tokio::test]
async fn nobody_talks_to_a_helper() {
    let script = Script::default().part("lead", [say("hello")]);
    let stage = Stage::helped(script, cast(), small()).await;
    stage.ask("hello").await;
    let helper = helpers(&stage).await.remove(0);
    let prompt = Order::Prompt(stage.words("psst"));
    let receipt = stage.order(helper, prompt).await;
    assert!(matches!(receipt, Receipt::NoEffect { .. }), "{receipt:?}");
}

#[tokio::test]
async fn r21_a_helper_has_no_tools_and_no_permissions_whatever_its_manifest_says() {
    let mut all = cast();
    all.retain(|manifest| manifest.name != "title");
    all.push(Manifest::new("title", Mode::Subagent, "Name it."));
    let script = Script::default()
        .part("lead", [say("hello")])
        .part("title", [call(&[("run", json!({ "path": "a" }))])]);
    let stage = Stage::helped(script, all, small()).await;
    stage.ask("say hello").await;
    stage.asked("title", 1).await;
    assert!(stage.script.sent("title")[0].tools.is_empty());
    let helper = helpers(&stage).await.remove(0);
    stage.settled(&helper).await;
    let started = |entry: &&offshoot_types::event::Entry| {
        entry.agent == helper && matches!(entry.event, Event::CallStarted { .. })
    };
    assert_eq!(stage.log().await.iter().filter(started).count(), 0);
}

#[tokio::test]
async fn two_names_at_once_and_the_persons_stays() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [say("hello")])
        .part("title", [say("Named by a model").behind(&gate)]);
    let stage = Stage::helped(script, cast(), small()).await;
    stage.ask("say hello").await;
    stage.asked("title", 1).await;
    gate.open();
    let (first, second) = tokio::join!(
        stage.order(stage.root(), human("Mine")),
        stage.order(stage.root(), human("Mine after all")),
    );
    assert_eq!((first, second), (Receipt::Renamed, Receipt::Renamed));
    let helper = helpers(&stage).await.remove(0);
    stage.settled(&helper).await;
    stage.order(stage.root(), Order::Resume).await;
    let tree = stage.tree().await;
    let (_, by) = tree.agent(&stage.root()).unwrap().title.clone().unwrap();
    assert_eq!(by, Author::Human);
}

#[tokio::test]
async fn a_summary_that_waits_for_a_turn_is_stopped_with_it() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [say("never").behind(&gate)])
        .part("summary", [say("paid for")]);
    let stage = Stage::helped(script, cast(), Helpers::default()).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("lead", 1).await;
    let (summary, cancelled) = tokio::join! {
        biased;
        stage.order(stage.root(), Order::Summarise),
        stage.cancel(stage.root()),
    };
    assert!(matches!(summary, Receipt::NoEffect { why } if why == "it was stopped"));
    assert_eq!(cancelled.status, Status::Cancelled(CancelledBy::User));
    assert!(stage.script.sent("summary").is_empty());
}

/// A session whose process died while it was being named.
async fn left_unnamed() -> Stage {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [say("hello"), say("again"), say("and again")])
        .part("title", [say("Never").behind(&gate), say("A name.")]);
    let stage = Stage::helped(script, cast(), small()).await;
    stage.ask("say hello").await;
    stage.asked("title", 1).await;
    stage.crash().await
}

async fn until_named(stage: &Stage) {
    stage
        .until(|entry| matches!(&entry.event, Event::Titled { title, .. } if title == "A name"))
        .await;
}

#[tokio::test]
async fn sa_45_a_title_that_its_process_cut_off_is_made_at_the_next_opening() {
    for prompt in [None, Some("once more")] {
        let stage = left_unnamed().await;
        match prompt {
            Some(prompt) => stage.ask(prompt).await,
            // No message comes.
            None => drop(stage.order(stage.root(), Order::Resume).await),
        }
        until_named(&stage).await;
        assert_eq!(helpers(&stage).await.len(), 2, "{prompt:?}");
        stage.ask("and now").await;
        assert_eq!(helpers(&stage).await.len(), 2, "a session is named once");
    }
}

#[tokio::test]
async fn sa_45_a_process_that_only_looks_makes_no_title() {
    let stage = left_unnamed().await;
    // It takes the tree and recovers it, and nothing is to be done there.
    let name = Rename {
        title: "Mine".to_owned(),
        by: Author::Human,
    };
    let promoted = stage.order(stage.root(), Order::Promote).await;
    assert!(matches!(promoted, Receipt::NoEffect { .. }));
    assert_eq!(helpers(&stage).await.len(), 1);
    // A session that has got a name meanwhile needs none.
    stage.order(stage.root(), Order::Rename(name)).await;
    stage.ask("once more").await;
    assert_eq!(helpers(&stage).await.len(), 1);
}

#[tokio::test]
async fn sa_45_closing_a_session_writes_its_summary_once() {
    let script = Script::default()
        .part("lead", [say("hello"), say("again")])
        .part("title", [say("A name")])
        .part("summary", [say("It was short."), say("It went on.")]);
    let stage = Stage::helped(script, cast(), small()).await;
    let close = async || stage.order(stage.root(), Order::Close).await;
    assert!(
        matches!(close().await, Receipt::NoEffect { .. }),
        "nothing was said"
    );
    stage.ask("say hello").await;
    let summary = |text: &str| Receipt::Summarised {
        summary: text.to_owned(),
    };
    assert_eq!(close().await, summary("It was short."));
    assert!(
        matches!(close().await, Receipt::NoEffect { .. }),
        "nothing is new"
    );
    assert_eq!(stage.script.sent("summary").len(), 1);
    // A closed session can be opened again.
    stage.ask("more").await;
    assert_eq!(close().await, summary("It went on."));
    let tree = stage.tree().await;
    let root = tree.agent(&stage.root()).unwrap();
    assert_eq!(root.summary.as_deref(), Some("It went on."));
}

#[tokio::test]
async fn sa_45_without_a_small_tier_closing_asks_no_model() {
    let script = Script::default().part("lead", [say("hello")]);
    let stage = Stage::helped(script, cast(), Helpers::default()).await;
    stage.ask("say hello").await;
    let closed = stage.order(stage.root(), Order::Close).await;
    assert!(matches!(closed, Receipt::NoEffect { .. }), "{closed:?}");
    assert!(stage.script.sent("summary").is_empty());
}

#[tokio::test(start_paused = true)]
async fn sa_45_closing_waits_for_a_summary_for_some_seconds_only() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [say("hello")])
        .part("title", [say("A name")])
        .part("summary", [say("Never").behind(&gate)]);
    let stage = Stage::helped(script, cast(), small()).await;
    stage.ask("say hello").await;
    let began = tokio::time::Instant::now();
    let closed = stage.order(stage.root(), Order::Close).await;
    assert!(matches!(closed, Receipt::NoEffect { .. }), "{closed:?}");
    assert!(began.elapsed() < std::time::Duration::from_secs(10));
}

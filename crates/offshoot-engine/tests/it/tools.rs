//! What a tool is handed, what is heard of it, and when it is told that its agent is gone.

use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use offshoot_engine::{Asks, Limits, Update};
use offshoot_types::command::{Order, Scope};
use offshoot_types::id::Pos;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde_json::json;
use tokio::sync::Notify;

use crate::stage::{Script, Stage, call, data, kind, say, task};

/// A tool that speaks while it runs, and notes who was ended.
struct Speaker {
    spec: ToolSpec,
    /// Lets the call end.
    enough: Arc<Notify>,
    ended: Arc<Mutex<Vec<String>>>,
}

impl Tool for Speaker {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self, _arguments: &RawJson, _place: &Place) -> Result<Vec<Need>, String> {
        Ok(Vec::new())
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        let enough = self.enough.clone();
        Box::pin(async move {
            work.output.say("one ");
            work.output.say("two");
            tokio::select! {
                () = enough.notified() => Outcome::output(RawJson::of(&work.place.owner)),
                () = work.cancel.cancelled() => Outcome::error(ErrorKind::Cancelled, "stopped"),
            }
        })
    }

    fn end(&self, owner: &str) -> BoxFuture<'static, ()> {
        self.ended.lock().unwrap().push(owner.to_owned());
        Box::pin(std::future::ready(()))
    }
}

struct Scene {
    stage: Stage,
    enough: Arc<Notify>,
    ended: Arc<Mutex<Vec<String>>>,
    _attachment: offshoot_engine::Attachment,
}

async fn scene(script: Script) -> Scene {
    let stage = Stage::asking(script, Limits::default(), Asks::NOBODY).await;
    let (enough, ended) = (Arc::new(Notify::new()), Arc::default());
    let spec = ToolSpec {
        id: "speak".to_owned(),
        description: "Speaks.".to_owned(),
        parameters: RawJson::of(&json!({
            "type": "object",
            "properties": { "loud": { "type": "boolean" } },
            "additionalProperties": false,
        })),
        effect: Effect::Read,
    };
    let speaker = Arc::new(Speaker {
        spec,
        enough: enough.clone(),
        ended: Arc::clone(&ended),
    });
    let attachment = stage.attach(vec![speaker]);
    Scene {
        stage,
        enough,
        ended,
        _attachment: attachment,
    }
}

#[tokio::test]
async fn what_a_call_says_is_heard_while_it_runs_also_by_who_joins_late() {
    let script = Script::default().part("lead", [call(&[("speak", json!({}))]), say("done")]);
    let scene = scene(script).await;
    let stage = &scene.stage;
    stage.prompt(stage.root(), "go").await;
    for _ in 0..2 {
        let mut updates = stage.runtime.subscribe(&stage.tree, Pos::ZERO).await;
        let mut heard = String::new();
        while heard != "one two" {
            if let Update::Output(output) = updates.next().await.unwrap() {
                assert_eq!(output.offset, heard.len());
                heard.push_str(&output.text);
            }
        }
    }
    scene.enough.notify_one();
    stage.quiet().await;
    let owner = stage.root();
    assert_eq!(
        data(&stage.outcomes("lead").await[0]),
        json!(owner.as_str())
    );
}

#[tokio::test]
async fn a_child_that_settles_is_ended_and_its_root_only_with_the_session() {
    let speak = || call(&[("speak", json!({}))]);
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [speak(), say("spoken")]);
    let scene = scene(script).await;
    let stage = scene.stage;
    scene.enough.notify_one();
    stage.ask("go").await;
    let worker = stage.born("worker").await.to_string();
    let root = stage.root().to_string();
    assert_eq!(*scene.ended.lock().unwrap(), [worker]);
    stage.shut_down().await;
    assert!(scene.ended.lock().unwrap().contains(&root));
}

/// A tool that does not end as it should.
struct Clumsy {
    spec: ToolSpec,
    /// Whether it panics; else it never comes to an end.
    panics: bool,
}

impl Tool for Clumsy {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self, _arguments: &RawJson, _place: &Place) -> Result<Vec<Need>, String> {
        Ok(Vec::new())
    }

    fn run(&self, _work: Work) -> BoxFuture<'static, Outcome> {
        Box::pin(std::future::ready(Outcome::output(RawJson::of(&"ran"))))
    }

    fn end(&self, _owner: &str) -> BoxFuture<'static, ()> {
        assert!(!self.panics, "clumsy");
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_tool_that_cannot_end_keeps_no_run_from_settling() {
    for panics in [true, false] {
        let script = Script::default()
            .part("lead", [task("worker", "go"), say("done")])
            .part("worker", [call(&[("clumsy", json!({}))]), say("worked")]);
        let limits = Limits {
            grace: std::time::Duration::from_millis(10),
            ..Limits::default()
        };
        let stage = Stage::asking(script, limits, Asks::NOBODY).await;
        let spec = ToolSpec {
            id: "clumsy".to_owned(),
            description: "Breaks at the end.".to_owned(),
            parameters: RawJson::of(&json!({ "type": "object" })),
            effect: Effect::Read,
        };
        let _attachment = stage.attach(vec![Arc::new(Clumsy { spec, panics })]);
        stage.ask("go").await;
        assert_eq!(data(&stage.outcomes("lead").await[0])["output"], "worked");
    }
}

#[tokio::test]
async fn a_root_that_is_stopped_is_ended_at_once() {
    let script = Script::default().part("lead", [call(&[("speak", json!({}))]), say("done")]);
    let scene = scene(script).await;
    let stage = &scene.stage;
    stage.prompt(stage.root(), "go").await;
    stage.asked("lead", 1).await;
    stage.order(stage.root(), Order::Cancel(Scope::Run)).await;
    assert_eq!(*scene.ended.lock().unwrap(), [stage.root().to_string()]);
}

#[tokio::test]
async fn tls_02_arguments_are_held_against_the_schema() {
    let script = Script::default().part(
        "lead",
        [
            call(&[
                ("speak", json!({ "loud": "very" })),
                ("speak", json!({ "quiet": true })),
            ]),
            say("done"),
        ],
    );
    let scene = scene(script).await;
    scene.stage.ask("go").await;
    let outcomes = scene.stage.outcomes("lead").await;
    let expected = [
        r#"error: the arguments of speak do not fit its schema: /loud: "very" is not of type "boolean""#,
        "error: the arguments of speak do not fit its schema: Additional properties are not allowed \
         ('quiet' was unexpected)",
    ];
    for (outcome, expected) in outcomes.iter().zip(expected) {
        assert_eq!(kind(outcome), ErrorKind::InvalidInput);
        assert_eq!(outcome.for_model(), expected);
    }
}

#[tokio::test]
async fn a_todo_list_is_noted_and_a_wrong_one_refused() {
    let items = json!({ "items": [
        { "content": "look", "status": "completed" },
        { "content": "leap", "status": "in_progress" },
    ]});
    let wrong = json!({ "items": [{ "content": "x", "status": "done" }] });
    let script = Script::default().part(
        "lead",
        [call(&[("todo", items), ("todo", wrong)]), say("done")],
    );
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let outcomes = stage.outcomes("lead").await;
    let noted = "noted: 1 completed, 1 in progress, 0 pending";
    // The wrong one does not run, so its outcome is in the log with the message.
    assert_eq!(kind(&outcomes[0]), ErrorKind::InvalidInput);
    assert_eq!(data(&outcomes[1]), json!(noted));
}

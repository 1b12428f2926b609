//! What agents may do in the host's data folder, which here lies in the workspace.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde_json::json;

use crate::stage::{Script, Stage, call, data, kind, say, task};

/// A tool that writes into the scratch folder it is handed, and says where that is.
struct Keep(ToolSpec);

impl Tool for Keep {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn needs(&self, _arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String> {
        let folder = place.scratch.as_deref().ok_or("there is none")?;
        Ok(vec![Need {
            capability: "fs.write".to_owned(),
            target: format!("{folder}/x"),
        }])
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        let Place {
            scratch,
            off_limits,
            ..
        } = work.place;
        Box::pin(async move { Outcome::output(RawJson::of(&(scratch, off_limits))) })
    }
}

#[tokio::test]
async fn scr_02_a_child_writes_its_own_scratch_folder_and_no_other_whoever_says_yes() {
    let theirs = [
        ("write", json!({ "path": ".data/scratch/root/plan" })),
        ("read", json!({ "path": ".data/scratch/root/plan" })),
        ("read", json!({ "path": ".data/scratch/other/plan" })),
        ("read", json!({ "path": ".data/offshoot.db" })),
        ("write", json!({ "path": ".data/offshoot.db" })),
        ("keep", json!({})),
    ];
    let script = Script::default()
        .part(
            "lead",
            [
                call(&[("write", json!({ "path": ".data/scratch/root/plan" }))]),
                call(&[("keep", json!({}))]),
                call(&[("write", json!({ "path": ".data/offshoot.db" }))]),
                task("worker", "go"),
                say("done"),
            ],
        )
        .part("worker", [call(&theirs), say("done")]);
    let stage = Stage::new(script).await;
    let spec = ToolSpec {
        id: "keep".to_owned(),
        description: "Keeps something.".to_owned(),
        parameters: RawJson::of(&json!({ "type": "object" })),
        effect: Effect::Write,
    };
    let _attached = stage.attach(vec![Arc::new(Keep(spec))]);
    stage.prompt(stage.root(), "go").await;
    stage.quiet().await;

    let lead = stage.outcomes("lead").await;
    assert_eq!(data(&lead[0]), json!("done"));
    assert_eq!(data(&lead[1]), json!(["/w/.data/scratch/root", "/w/.data"]));
    assert_eq!(kind(&lead[2]), ErrorKind::Denied);
    let worker = stage.outcomes("worker").await;
    for outcome in &worker[..5] {
        assert_eq!(kind(outcome), ErrorKind::Denied);
        let said = outcome.for_model();
        assert!(
            said.contains("by the data folder, which is not for agents"),
            "{said}"
        );
    }
    let (scratch, _): (String, String) = serde_json::from_value(data(&worker[5])).unwrap();
    assert!(
        scratch.starts_with("/w/.data/scratch/root/id-"),
        "{scratch}"
    );
}

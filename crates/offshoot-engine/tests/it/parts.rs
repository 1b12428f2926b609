//! Images and files beyond prompts: of children that the host starts, of results, of what models give.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_engine::{AttachmentLimits, CommandError, Limits};
use offshoot_types::command::{Order, Receipt, Spawn};
use offshoot_types::content::{Attached, AttachmentError, Content, Digest, Part};
use offshoot_types::event::Event;
use offshoot_types::json::RawJson;
use offshoot_types::message::{AssistantMessage, AssistantPart};
use offshoot_types::model::RequestMessage;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde_json::json;

use crate::stage::{Gate, Script, Stage, call, kind, outcome_texts, say};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

async fn image(stage: &Stage) -> Attached {
    let stored = stage
        .runtime
        .store_blob(stage.tree.root(), None, "", PNG.to_vec());
    stored.await.unwrap()
}

/// An image that no session has.
fn missing() -> Attached {
    Attached {
        digest: Digest::new("0".repeat(64)).unwrap(),
        media_type: "image/png".to_owned(),
        bytes: 4,
        name: None,
        uri: None,
    }
}

fn look_at(image: &Attached) -> Content {
    Content::new([Part::Text("look".to_owned()), Part::Image(image.clone())])
}

#[tokio::test]
async fn a_child_that_the_host_starts_is_given_what_is_attached() {
    let script = Script::default()
        .part("worker", [say("seen")])
        .takes_images();
    let stage = Stage::new(script).await;
    let image = image(&stage).await;
    let spawn = Spawn::new("worker", look_at(&image));
    let receipt = stage
        .order(stage.root(), Order::Spawn(Box::new(spawn)))
        .await;
    assert!(matches!(receipt, Receipt::Spawned { .. }), "{receipt:?}");
    // The result starts no turn of the root, so the tree may be quiet before the result is delivered.
    stage
        .until(|entry| matches!(entry.event, Event::Completion { .. }))
        .await;
    let request = stage.script.sent("worker").remove(0);
    assert_eq!(&**request.images.get(&image).unwrap(), PNG);

    let before = stage.log().await.len();
    let spawn = Spawn::new("worker", look_at(&missing()));
    let order = Order::Spawn(Box::new(spawn));
    let command = stage.command(&stage.tree, stage.root(), order);
    let refused = stage.runtime.command(command).await;
    let Err(CommandError::Attachment(AttachmentError::Missing(_))) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(stage.log().await.len(), before);
}

/// A tool of a program, which attaches what it was made with.
struct Attaches(ToolSpec, Vec<Part>);

impl Tool for Attaches {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn needs(&self, _: &RawJson, _: &Place) -> Result<Vec<Need>, String> {
        Ok(Vec::new())
    }

    fn run(&self, _: Work) -> BoxFuture<'static, Outcome> {
        let outcome = Outcome {
            attachments: self.1.clone(),
            ..Outcome::output(RawJson::of(&"here"))
        };
        Box::pin(std::future::ready(outcome))
    }
}

async fn attached_by_tool(stage: &Stage, parts: Vec<Part>) -> Outcome {
    let parameters = json!({ "type": "object" });
    let spec = ToolSpec::new("draw", "Draws.".to_owned(), &parameters, Effect::Read);
    let _attached = stage.attach(vec![Arc::new(Attaches(spec, parts))]);
    stage.ask("go").await;
    stage.outcomes("lead").await.pop().unwrap()
}

#[tokio::test]
async fn what_a_programs_tool_attaches_is_there_and_within_the_caps_or_its_call_failed() {
    let limits = Limits {
        attachments: AttachmentLimits {
            parts: 2,
            ..AttachmentLimits::default()
        },
        ..Limits::default()
    };
    let draws = || Script::default().part("lead", [call(&[("draw", json!({}))]), say("done")]);
    let stage = Stage::with(draws(), limits.clone()).await;
    let good = Part::Image(image(&stage).await);
    let outcome = attached_by_tool(&stage, vec![good.clone()]).await;
    assert_eq!(outcome.attachments, std::slice::from_ref(&good));

    let cases = [
        (vec![Part::Image(missing())], ErrorKind::Failed),
        (vec![good.clone(), good.clone(), good], ErrorKind::TooLarge),
    ];
    for (parts, expected) in cases {
        let stage = Stage::with(draws(), limits.clone()).await;
        image(&stage).await;
        let outcome = attached_by_tool(&stage, parts).await;
        assert_eq!(kind(&outcome), expected);
        assert!(outcome.attachments.is_empty());
        assert_eq!(outcome_texts(&stage.script.sent("lead")[1]).len(), 1);
    }
}

async fn replies(stage: &Stage) -> Vec<AssistantMessage> {
    let replied = |event: Event| match event {
        Event::Replied(message) => Some(message),
        _ => None,
    };
    let log = stage.log().await.into_iter();
    log.filter_map(|entry| replied(entry.event)).collect()
}

#[tokio::test]
async fn a_file_that_a_model_gives_is_a_blob_and_the_model_is_sent_its_part_again() {
    let script = Script::default().part(
        "lead",
        [say("a chart").giving("chart.png", PNG), say("and now")],
    );
    let stage = Stage::new(script).await;
    stage.ask("draw").await;
    stage.ask("again").await;
    let replies = replies(&stage).await;
    let AssistantPart::Attached(Part::Image(image)) = &replies[0].parts[0] else {
        panic!("{replies:?}")
    };
    assert_eq!(image.media_type, "image/png", "by its bytes");
    let bytes = stage.runtime.read_blob(&stage.root(), &image.digest).await;
    assert_eq!(bytes.unwrap(), PNG);
    let request = stage.script.sent("lead").remove(1);
    let Some(RequestMessage::Assistant(parts)) = request.messages.get(1) else {
        panic!("{request:?}")
    };
    assert_eq!(*parts, replies[0].parts);
}

#[tokio::test]
async fn a_file_over_the_cap_that_a_model_gives_leaves_a_note() {
    let limits = Limits {
        attachments: AttachmentLimits {
            part: 4,
            ..AttachmentLimits::default()
        },
        ..Limits::default()
    };
    let line = say("here").giving("a.csv", b"12345").giving("b.csv", b"1");
    let stage = Stage::with(Script::default().part("lead", [line]), limits).await;
    stage.ask("go").await;
    let [
        AssistantPart::Attached(Part::File(small)),
        AssistantPart::Text(said),
    ] = &replies(&stage).await[0].parts[..]
    else {
        panic!("{:?}", replies(&stage).await)
    };
    assert_eq!((small.bytes, small.media_type.as_str()), (1, "text/csv"));
    assert!(
        said.starts_with("[file: a.csv, text/csv]") && said.ends_with("here"),
        "{said}"
    );
}

/// The process dies between the store of a blob and the entry that names it: the log names no blob that
/// is not there, and the blob does no harm.
#[tokio::test]
async fn a_crash_between_a_blob_and_its_entry_leaves_nothing_dangling() {
    let gate = Gate::shut();
    let line = say("never").giving("chart.png", PNG).stalls_at(&gate);
    let script = Script::default().part("lead", [line, say("again").giving("chart.png", PNG)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "draw").await;
    while stage.script.blobs.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let stage = stage.crash().await;
    stage.ask("draw it again").await;
    let named: Vec<AssistantPart> = replies(&stage)
        .await
        .into_iter()
        .flat_map(|it| it.parts)
        .collect();
    let [
        AssistantPart::Attached(Part::Image(image)),
        AssistantPart::Text(_),
    ] = &named[..]
    else {
        panic!("{named:?}")
    };
    let bytes = stage.runtime.read_blob(&stage.root(), &image.digest).await;
    assert_eq!(bytes.unwrap(), PNG);
    assert_eq!(stage.script.blobs.lock().unwrap().len(), 1);
}

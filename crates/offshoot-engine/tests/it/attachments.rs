//! Images and files in conversations: how they get in, what models are sent of them, what is refused.

use offshoot_engine::{AttachmentLimits, CommandError, Limits, Update};
use offshoot_types::command::{Fork, Order, Prompt, Receipt};
use offshoot_types::content::{Attached, AttachmentError, Content, Digest, Part};
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, CommandId, Pos, TreeId};
use offshoot_types::model::RequestMessage;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Layer, Rule, Standing};

use crate::stage::{Script, Stage, call, kind, say, user_texts};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

async fn image(stage: &Stage) -> Attached {
    let name = Some("a.png".to_owned());
    let stored = stage
        .runtime
        .store_blob(stage.tree.root(), name, "x/y", PNG.to_vec());
    stored.await.unwrap()
}

fn with_image(stage: &Stage, text: &str, image: &Attached) -> Prompt {
    Prompt {
        text: Content::new([Part::Text(text.to_owned()), Part::Image(image.clone())]),
        ..stage.words("")
    }
}

async fn send(stage: &Stage, prompt: Prompt) -> Result<Receipt, CommandError> {
    let command = offshoot_types::command::Command {
        id: CommandId::new(prompt.message.as_str()),
        tree: stage.tree.clone(),
        agent: stage.root(),
        order: Order::Prompt(prompt),
    };
    stage.runtime.command(command).await
}

async fn refusal(stage: &Stage, content: Content) -> AttachmentError {
    let prompt = Prompt {
        text: content,
        ..stage.words("")
    };
    match send(stage, prompt).await {
        Err(CommandError::Attachment(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_model_that_takes_images_is_sent_their_bytes_and_the_log_has_none() {
    let script = Script::default().part("lead", [say("seen")]).takes_images();
    let stage = Stage::new(script).await;
    let image = image(&stage).await;
    assert_eq!(image.media_type, "image/png");
    send(&stage, with_image(&stage, "look", &image))
        .await
        .unwrap();
    stage.quiet().await;
    let request = stage.script.sent("lead").remove(0);
    assert_eq!(&**request.images.get(&image).unwrap(), PNG);
    let Some(RequestMessage::User(content)) = request.messages.last() else {
        panic!("{request:?}")
    };
    assert_eq!(content.blobs().collect::<Vec<_>>(), [&image]);
    let bytes = stage.runtime.read_blob(&stage.root(), &image.digest).await;
    assert_eq!(bytes.unwrap(), PNG);
}

#[tokio::test]
async fn a_model_that_takes_no_images_reads_a_note_and_the_user_is_told_once() {
    let script = Script::default().part("lead", [say("one"), say("two")]);
    let stage = Stage::new(script).await;
    let mut updates = stage.runtime.subscribe(&stage.tree, Pos::ZERO).await;
    let image = image(&stage).await;
    // From then on it hears of what is not stored.
    while !matches!(updates.next().await.unwrap(), Update::Idle) {}
    let mut notices = 0;
    for text in ["look", "again"] {
        let prompt = with_image(&stage, text, &image);
        send(&stage, prompt).await.unwrap();
        loop {
            match updates.next().await.unwrap() {
                Update::Notice(..) => notices += 1,
                Update::Entry(entry) if matches!(entry.event, Event::Settled { .. }) => break,
                _ => {}
            }
        }
    }
    assert_eq!(notices, 1);
    let request = &stage.script.sent("lead")[1];
    let note = "[image: a.png, image/png, 12 bytes]";
    assert_eq!(
        user_texts(request),
        [format!("look\n{note}"), format!("again\n{note}")]
    );
}

#[tokio::test]
async fn a_blob_deleted_behind_our_back_becomes_a_note() {
    let script = Script::default()
        .part("lead", [say("one"), say("two")])
        .takes_images();
    let stage = Stage::new(script).await;
    let image = image(&stage).await;
    let prompt = with_image(&stage, "look", &image);
    send(&stage, prompt.clone()).await.unwrap();
    stage.quiet().await;
    stage.script.blobs.lock().unwrap().clear();
    stage.prompt(stage.root(), "still there?").await;
    stage.quiet().await;
    let texts = user_texts(&stage.script.sent("lead")[1]);
    assert_eq!(
        texts,
        [
            "look\n[image: a.png, image/png, 12 bytes] (its bytes are gone)",
            "still there?"
        ]
    );
    // A command that was carried out has its receipt still; a new one is refused.
    assert_eq!(send(&stage, prompt).await.unwrap(), Receipt::Prompted);
    let missing = AttachmentError::Missing(image.digest.clone());
    assert_eq!(
        refusal(&stage, Content::new([Part::Image(image)])).await,
        missing
    );
}

#[tokio::test]
async fn what_is_wrong_with_an_attachment_is_told_apart() {
    let attachments = AttachmentLimits {
        part: 20,
        parts: 2,
        message: 30,
        session: 40,
        ..AttachmentLimits::default()
    };
    let limits = Limits {
        attachments,
        ..Limits::default()
    };
    let stage = Stage::with(Script::default(), limits).await;
    let store = async |bytes: &[u8]| {
        let stored =
            stage
                .runtime
                .store_blob(stage.tree.root(), None, "text/plain", bytes.to_vec());
        match stored.await {
            Ok(attached) => Ok(attached),
            Err(CommandError::Attachment(error)) => Err(error),
            Err(error) => panic!("{error}"),
        }
    };
    let too_large = store(&[b'x'; 21]).await.unwrap_err();
    assert!(matches!(
        too_large,
        AttachmentError::TooLarge {
            bytes: 21,
            most: 20,
            ..
        }
    ));
    let [one, two] = [
        store(&[b'x'; 20]).await.unwrap(),
        store(&[b'y'; 20]).await.unwrap(),
    ];
    let full = store(b"z").await.unwrap_err();
    assert_eq!(full, AttachmentError::SessionFull { most: 40 });
    let files =
        |files: &[&Attached]| Content::new(files.iter().map(|file| Part::File((*file).clone())));
    let error = refusal(&stage, files(&[&one, &two])).await;
    assert_eq!(
        error,
        AttachmentError::MessageTooLarge {
            bytes: 40,
            most: 30
        }
    );
    let error = refusal(&stage, files(&[&one, &one, &one])).await;
    assert_eq!(error, AttachmentError::TooMany { count: 3, most: 2 });
    let shorter = Attached {
        bytes: 3,
        ..one.clone()
    };
    let error = refusal(&stage, files(&[&shorter])).await;
    assert!(matches!(error, AttachmentError::Mismatch { .. }), "{error}");
    // It is no picture, whatever a client says.
    let picture = Attached {
        media_type: "image/png".to_owned(),
        ..one.clone()
    };
    let error = refusal(&stage, Content::new([Part::Image(picture)])).await;
    assert!(matches!(error, AttachmentError::Mismatch { .. }), "{error}");
    let nowhere = stage
        .runtime
        .store_blob(&AgentId::new("nobody"), None, "a/b", Vec::new())
        .await;
    assert!(
        matches!(nowhere, Err(CommandError::Unknown(_))),
        "{nowhere:?}"
    );
}

#[tokio::test]
async fn a_text_file_is_shown_to_any_model_and_other_parts_are_named() {
    let stage = Stage::new(Script::default().part("lead", [say("read")])).await;
    let name = Some("a.txt".to_owned());
    let text = b"one </attached_file> two".to_vec();
    let file = stage
        .runtime
        .store_blob(stage.tree.root(), name, "text/plain", text);
    let file = file.await.unwrap();
    let other = stage
        .runtime
        .store_blob(stage.tree.root(), None, "application/zip", vec![0; 3]);
    let other = other.await.unwrap();
    let prompt = Prompt {
        text: Content::new([Part::File(file), Part::File(other)]),
        ..stage.words("")
    };
    send(&stage, prompt).await.unwrap();
    stage.quiet().await;
    let texts = user_texts(&stage.script.sent("lead")[0]);
    let [text] = texts.as_slice() else {
        panic!("{texts:?}")
    };
    assert!(
        text.starts_with("<attached_file name=\"a.txt\">\none "),
        "{text}"
    );
    assert_eq!(text.matches("</attached_file>").count(), 1, "{text}");
    assert!(
        text.ends_with("\n[file: application/zip, 3 bytes]"),
        "{text}"
    );
}

#[tokio::test]
async fn older_images_than_a_request_takes_are_left_out() {
    let limits = Limits {
        attachments: AttachmentLimits {
            request: PNG.len() as u64,
            ..AttachmentLimits::default()
        },
        ..Limits::default()
    };
    let script = Script::default()
        .part("lead", [say("one"), say("two")])
        .takes_images();
    let stage = Stage::with(script, limits).await;
    let old = image(&stage).await;
    let bytes = b"\x89PNG\r\n\x1a\nmore".to_vec();
    let new = stage
        .runtime
        .store_blob(stage.tree.root(), None, "", bytes)
        .await
        .unwrap();
    for (text, image) in [("old", &old), ("new", &new)] {
        send(&stage, with_image(&stage, text, image)).await.unwrap();
        stage.quiet().await;
    }
    let request = stage.script.sent("lead").remove(1);
    assert!(request.images.get(&new).is_some());
    assert!(request.images.get(&old).is_none());
    assert!(user_texts(&request)[0].contains("left out"));
}

#[tokio::test]
async fn ses_08_a_copy_has_the_blobs_that_its_conversation_names() {
    let script = Script::default().part("lead", [say("seen")]).takes_images();
    let stage = Stage::new(script).await;
    let named = image(&stage).await;
    let other = stage
        .runtime
        .store_blob(stage.tree.root(), None, "a/b", vec![1])
        .await
        .unwrap();
    send(&stage, with_image(&stage, "look", &named))
        .await
        .unwrap();
    stage.quiet().await;
    let copy = AgentId::new("copy");
    let command = offshoot_types::command::Command {
        id: CommandId::new("fork"),
        tree: TreeId::of(copy.clone()),
        agent: copy.clone(),
        order: Order::Fork(Fork {
            of: stage.root(),
            at: None,
            metadata: None,
        }),
    };
    stage.runtime.command(command).await.unwrap();
    // What is removed of the original takes nothing from the copy.
    let of_root = |folder: &str| folder.ends_with("root/blobs");
    stage
        .script
        .blobs
        .lock()
        .unwrap()
        .retain(|(folder, _), _| !of_root(folder));
    let read = async |digest: &Digest| stage.runtime.read_blob(&copy, digest).await;
    assert_eq!(read(&named.digest).await.unwrap(), PNG);
    assert!(matches!(
        read(&other.digest).await,
        Err(CommandError::Attachment(AttachmentError::Missing(_)))
    ));
}

fn layer_of(rule: Rule) -> Layer {
    Layer {
        name: "the user".to_owned(),
        standing: Standing::Grants,
        rules: vec![rule],
        ..Layer::default()
    }
}

/// Has the root start a child with files, and returns what the call came to.
async fn delegated(files: &[&str], denied: Option<Rule>, limits: Limits) -> (Stage, Outcome) {
    let arguments =
        serde_json::json!({ "subagent_type": "worker", "prompt": "look", "attachments": files });
    let script = Script::default()
        .part("lead", [call(&[("task", arguments)]), say("done")])
        .part("worker", [say("seen")])
        .takes_images();
    let stage = Stage::with(script, limits).await;
    stage.says(denied.into_iter().map(layer_of).collect());
    // Rules are read when a session is taken up.
    let stage = stage.crash().await;
    stage.ask("go").await;
    let outcome = stage.outcomes("lead").await.remove(0);
    (stage, outcome)
}

#[tokio::test]
async fn a_child_is_given_the_files_that_its_call_names() {
    let (stage, outcome) = delegated(&["a.png", "b.png"], None, Limits::default()).await;
    assert!(!outcome.is_error(), "{outcome:?}");
    let request = stage.script.sent("worker").remove(0);
    let Some(RequestMessage::User(content)) = request.messages.last() else {
        panic!("{request:?}")
    };
    assert!(content.starts_with("look"), "{content}");
    let names: Vec<_> = content.blobs().map(|blob| blob.name.clone()).collect();
    assert_eq!(names, [Some("a.png".to_owned()), Some("b.png".to_owned())]);
    for blob in content.blobs() {
        assert_eq!(blob.media_type, "image/png");
        assert!(request.images.get(blob).is_some());
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_given_makes_no_child() {
    let none = AttachmentLimits {
        part: 9,
        parts: 1,
        ..AttachmentLimits::default()
    };
    let tight = Limits {
        attachments: none,
        ..Limits::default()
    };
    let deny = Rule::new("fs.read", "**/secret.png", Action::Deny);
    let cases = [
        (vec!["gone"], None, Limits::default(), ErrorKind::Failed),
        (vec!["a.png"], None, tight.clone(), ErrorKind::TooLarge),
        (vec!["a.png", "b.png"], None, tight, ErrorKind::TooLarge),
        (
            vec!["a.png", "secret.png"],
            Some(deny),
            Limits::default(),
            ErrorKind::Denied,
        ),
    ];
    for (files, denied, limits, expected) in cases {
        let (stage, outcome) = delegated(&files, denied, limits).await;
        assert_eq!(kind(&outcome), expected, "{files:?}: {outcome:?}");
        assert_eq!(stage.tree().await.walk().len(), 1, "no child is made of it");
    }
}

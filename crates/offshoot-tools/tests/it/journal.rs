//! What `write` and `edit` record, and that nothing happens without it.

use std::fs;
use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use offshoot_types::id::{AgentId, Timestamp};
use offshoot_types::journal::{Change, Journal, Writer};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::tool::Work;
use serde_json::json;

use crate::bench::{Bench, find, kind};

type OnRecord = Box<dyn Fn(&Change) -> Result<(), String> + Send + Sync>;

/// A journal in memory. What happens on recording is up to the test.
pub(crate) struct Notebook {
    changes: Mutex<Vec<Change>>,
    writer: Option<Writer>,
    on_record: OnRecord,
}

impl Notebook {
    pub(crate) fn new() -> Self {
        Self::which(|_| Ok(()))
    }

    fn which(on_record: impl Fn(&Change) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self {
            changes: Mutex::default(),
            writer: None,
            on_record: Box::new(on_record),
        }
    }

    fn by(self, agent: &str) -> Self {
        let writer = Writer {
            agent: AgentId::new(agent),
            definition: "general".to_owned(),
            at: Timestamp::new(1),
        };
        Self {
            writer: Some(writer),
            ..self
        }
    }

    pub(crate) fn changes(&self) -> Vec<Change> {
        self.changes.lock().unwrap().clone()
    }
}

impl Journal for Notebook {
    fn record(&self, change: Change) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            (self.on_record)(&change)?;
            self.changes.lock().unwrap().push(change);
            Ok(())
        })
    }

    fn last_writer(&self, _path: &str) -> BoxFuture<'_, Option<Writer>> {
        Box::pin(std::future::ready(self.writer.clone()))
    }
}

const AGENT: &str = "0192f0c1-0000-7000-8000-00000badcafe";

#[tokio::test]
async fn changes_are_recorded_with_what_was_there() {
    let notebook = Arc::new(Notebook::new());
    let bench = Bench::with_journal(notebook.clone());
    let write = json!({"path": "a/f", "content": "one"});
    bench.call("write", &write).await;
    let edit = json!({"path": "./a//f", "old_string": "one", "new_string": "two"});
    bench.call("edit", &edit).await;
    let change = |before: Option<&str>, after: &str| Change {
        path: bench.absolute("a/f"),
        before: before.map(|text| text.as_bytes().to_vec()),
        after: Some(after.as_bytes().to_vec()),
    };
    let expected = [change(None, "one"), change(Some("one"), "two")];
    assert_eq!(notebook.changes(), expected);
}

#[tokio::test]
async fn a_binary_file_may_be_replaced_and_can_be_put_back() {
    let notebook = Arc::new(Notebook::new());
    let bench = Bench::with_journal(notebook.clone());
    bench.file("f", b"\x7fELF\0\xff");
    let write = json!({"path": "f", "content": "text"});
    assert_eq!(bench.call("write", &write).await, "replaced `f`, 4 bytes");
    let before = notebook.changes().remove(0).before;
    assert_eq!(before.as_deref(), Some(b"\x7fELF\0\xff".as_slice()));
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_done() {
    let notebook = Notebook::which(|_| Err("the disk is full".to_owned()));
    let bench = Bench::with_journal(Arc::new(notebook));
    bench.file("f", "x");
    let new = json!({"path": "new/f", "content": "y"});
    let write = json!({"path": "f", "content": "y"});
    let edit = json!({"path": "f", "old_string": "x", "new_string": "y"});
    for (tool, arguments) in [("write", new), ("write", write), ("edit", edit)] {
        let path = arguments["path"].as_str().unwrap();
        let outcome = bench.outcome(tool, &arguments).await;
        assert_eq!(
            outcome.for_model(),
            format!(
                "error: {tool} `{path}`: record the change: the disk is full; \
                 the file was not changed"
            )
        );
        assert_eq!(kind(&outcome), Some(ErrorKind::Failed));
    }
    assert_eq!(bench.content("f"), "x");
    assert_eq!(bench.names(), ["f"]);
}

#[tokio::test]
async fn the_change_is_recorded_before_it_is_made() {
    let notebook = Notebook::which(|change| {
        let there = fs::read(&change.path).ok();
        if there == change.before {
            Ok(())
        } else {
            Err(format!("it is already {there:?}"))
        }
    });
    let notebook = Arc::new(notebook);
    let bench = Bench::with_journal(notebook.clone());
    bench
        .call("write", &json!({"path": "f", "content": "x"}))
        .await;
    bench
        .call("write", &json!({"path": "f", "content": "y"}))
        .await;
    assert_eq!(notebook.changes().len(), 2);
    assert_eq!(bench.content("f"), "y");
}

#[tokio::test]
async fn what_is_refused_is_not_recorded() {
    let notebook = Arc::new(Notebook::new());
    let bench = Bench::with_journal(notebook.clone());
    bench.file("f", "x");
    let edit = json!({"path": "f", "old_string": "y", "new_string": "z"});
    bench.call("edit", &edit).await;
    bench
        .call("write", &json!({"path": "f/g", "content": ""}))
        .await;
    assert_eq!(notebook.changes(), []);
}

#[tokio::test]
async fn a_change_by_another_program_is_a_conflict_and_stays() {
    // An editor that saves between the look and the replacement, in all the ways there are.
    type Meddle = fn(&str);
    let meddlers: [Meddle; 4] = [
        |path| fs::write(path, "theirs x").unwrap(),
        // As long as before, in the same file.
        |path| fs::write(path, "y").unwrap(),
        |path| {
            fs::write(format!("{path}~"), "theirs x").unwrap();
            fs::rename(format!("{path}~"), path).unwrap();
        },
        |path| fs::remove_file(path).unwrap(),
    ];
    for meddle in meddlers {
        for tool in ["edit", "write"] {
            let notebook = Notebook::which(move |change| {
                meddle(&change.path);
                Ok(())
            });
            let bench = Bench::with_journal(Arc::new(notebook.by(AGENT)));
            bench.file("f", "x");
            let arguments = match tool {
                "edit" => json!({"path": "f", "old_string": "x", "new_string": "mine"}),
                _ => json!({"path": "f", "content": "mine"}),
            };
            let outcome = bench.outcome(tool, &arguments).await;
            assert_eq!(kind(&outcome), Some(ErrorKind::Conflict));
            assert_eq!(
                outcome.for_model(),
                format!(
                    "error: {tool} `f`: the file was changed by somebody else in this moment and \
                     is as they left it; read it and try again; it was last written by general \
                     0badcafe"
                )
            );
            let left = fs::read_to_string(bench.path("f")).unwrap_or_default();
            assert!(["theirs x", "y", ""].contains(&left.as_str()), "{left}");
            let drafts = bench.names().into_iter().filter(|name| name != "f");
            assert_eq!(drafts.count(), 0);
        }
    }
}

#[tokio::test]
async fn a_file_that_appears_is_not_replaced() {
    let notebook = Notebook::which(|change| {
        fs::write(&change.path, "theirs").unwrap();
        Ok(())
    });
    let bench = Bench::with_journal(Arc::new(notebook));
    let write = json!({"path": "f", "content": "mine"});
    let outcome = bench.outcome("write", &write).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Conflict));
    assert_eq!(bench.content("f"), "theirs");
    assert_eq!(bench.names(), ["f"]);
}

#[tokio::test]
async fn cst_03_who_wrote_last_is_named_and_the_content_is_not_repeated() {
    let bench = Bench::with_journal(Arc::new(Notebook::new().by(AGENT)));
    bench.file("f", "x");
    let write = json!({"path": "f", "content": "y"});
    let edit = json!({"path": "f", "old_string": "y", "new_string": "z"});
    let miss = json!({"path": "f", "old_string": "y", "new_string": "z"});
    let others = "; it was last written by general 0badcafe";
    let expected = [
        (
            "write",
            write.clone(),
            format!("replaced `f`, 1 bytes{others}"),
        ),
        (
            "edit",
            edit,
            format!("edited `f`, 1 replacement at line 1{others}"),
        ),
        (
            "edit",
            miss,
            format!(
                "error: edit `f`: `old_string` is not in the file; nothing was changed; read the \
                 file and give the text as it is there{others}"
            ),
        ),
    ];
    for (tool, arguments, expected) in expected {
        assert_eq!(bench.call(tool, &arguments).await, expected);
    }

    let mut own: Work = bench.work(&write);
    own.place.owner = AGENT.to_owned();
    let outcome = find("write").run(own).await;
    assert_eq!(outcome.for_model(), "replaced `f`, 1 bytes");
}

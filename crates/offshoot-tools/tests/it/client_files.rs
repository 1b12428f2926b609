//! What the tools for files do where the session's client has text files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use offshoot_types::client_ports::Files;
use offshoot_types::journal::Change;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::tool::Work;
use serde_json::{Value, json};

use crate::bench::{Bench, find, kind};
use crate::journal::Notebook;

/// An editor: it has texts that are not on disk, and saves what it is given.
#[derive(Default)]
struct Editor {
    buffers: Mutex<BTreeMap<String, String>>,
    /// Every request, in order.
    asked: Mutex<Vec<String>>,
    /// What it does to a text before it saves it.
    formats: Option<fn(&str) -> String>,
    keeps_unsaved: bool,
    fails_to_read: bool,
    fails_to_write: bool,
}

impl Editor {
    fn with(path: String, text: &str) -> Self {
        let editor = Self::default();
        editor.buffers.lock().unwrap().insert(path, text.to_owned());
        editor
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn note(&self, what: &str, path: &str) {
        self.asked.lock().unwrap().push(format!("{what} {path}"));
    }

    fn write(&self, path: &str, text: &str) -> Result<(), String> {
        if self.fails_to_write {
            return Err("it is read-only".to_owned());
        }
        let text = self
            .formats
            .map_or_else(|| text.to_owned(), |format| format(text));
        if !self.keeps_unsaved {
            fs::write(path, &text).map_err(|error| error.to_string())?;
        }
        self.buffers.lock().unwrap().insert(path.to_owned(), text);
        Ok(())
    }
}

impl Files for Editor {
    fn read_text<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        self.note("read", path);
        let read = if self.fails_to_read {
            Err("the connection is closed".to_owned())
        } else {
            Ok(self.buffers.lock().unwrap().get(path).cloned())
        };
        Box::pin(std::future::ready(read))
    }

    fn write_text<'a>(&'a self, path: &'a str, text: &'a str) -> BoxFuture<'a, Result<(), String>> {
        self.note("write", path);
        Box::pin(std::future::ready(self.write(path, text)))
    }
}

async fn call(bench: &Bench, editor: &Arc<Editor>, tool: &str, arguments: Value) -> Outcome {
    let files: Arc<dyn Files> = editor.clone();
    let work = Work {
        files: Some(files),
        ..bench.work(&arguments)
    };
    find(tool).run(work).await
}

fn read(path: &str) -> Value {
    json!({ "path": path })
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "path": path, "old_string": old, "new_string": new })
}

fn bench() -> (Bench, Arc<Notebook>) {
    let notebook = Arc::new(Notebook::new());
    (Bench::with_journal(notebook.clone()), notebook)
}

fn change(path: String, before: Option<&str>, after: &str) -> Change {
    Change {
        path,
        before: before.map(|text| text.as_bytes().to_vec()),
        after: Some(after.as_bytes().to_vec()),
    }
}

#[tokio::test]
async fn an_agent_reads_and_edits_the_text_that_is_not_saved() {
    let (bench, notebook) = bench();
    bench.file("f", "saved\n");
    let path = bench.absolute("f");
    let editor = Arc::new(Editor::with(path.clone(), "typed\nmore\n"));
    let outcome = call(&bench, &editor, "read", read("f")).await;
    assert_eq!(outcome.for_model(), "typed\nmore\n");
    let window = json!({ "path": "f", "offset": 2, "limit": 1 });
    let outcome = call(&bench, &editor, "read", window).await;
    assert_eq!(outcome.for_model(), "more\n");

    let outcome = call(&bench, &editor, "edit", edit("f", "typed", "edited")).await;
    assert_eq!(kind(&outcome), None);
    assert_eq!(editor.buffers.lock().unwrap()[&path], "edited\nmore\n");
    let expected = change(path.clone(), Some("typed\nmore\n"), "edited\nmore\n");
    assert_eq!(notebook.changes(), std::slice::from_ref(&expected));

    // What the journal has puts it back.
    let (after, before) = (expected.after.unwrap(), expected.before.unwrap());
    offshoot_tools::put_back(&path, &bench.place(), &after, &before).unwrap();
    assert_eq!(bench.content("f"), "typed\nmore\n");
}

#[tokio::test]
async fn a_new_file_is_made_by_the_client_and_its_folders_are_ours() {
    let (bench, notebook) = bench();
    let path = bench.absolute("a/b/f");
    // An editor that answers with an empty text where there is no file.
    let editor = Arc::new(Editor::with(path.clone(), ""));
    let outcome = call(&bench, &editor, "read", read("a/b/f")).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Failed));
    let write = json!({ "path": "a/b/f", "content": "new" });
    let outcome = call(&bench, &editor, "write", write).await;
    assert!(outcome.for_model().starts_with("created"));
    assert_eq!(bench.content("a/b/f"), "new");
    assert_eq!(notebook.changes(), [change(path, None, "new")]);
}

#[tokio::test]
async fn a_text_that_exists_only_in_the_client_is_read_within_the_same_caps() {
    let (bench, _) = bench();
    let long = "0123456789abcde\n".repeat(100_000);
    let editor = Arc::new(Editor::with(bench.absolute("long"), &long));
    let outcome = call(&bench, &editor, "read", read("long")).await;
    assert_eq!(outcome.metadata.truncated, Some(true));
    assert!(outcome.for_model().len() < 250_000);
    let huge = "x".repeat(offshoot_tools::MOST_BYTES);
    bench.file("huge", &huge);
    let editor = Arc::new(Editor::with(bench.absolute("huge"), &huge));
    let more =
        json!({ "path": "huge", "old_string": "xx", "new_string": "yyy", "replace_all": true });
    let outcome = call(&bench, &editor, "edit", more).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::TooLarge));
    assert_eq!(bench.content("huge"), huge);
}

#[tokio::test]
async fn where_the_client_has_no_text_the_disk_is_read_and_the_client_still_writes() {
    let (bench, notebook) = bench();
    bench.file("f", "on disk");
    let editor = Arc::new(Editor::default());
    let outcome = call(&bench, &editor, "read", read("f")).await;
    assert_eq!(outcome.for_model(), "on disk");
    let outcome = call(&bench, &editor, "edit", edit("f", "on", "off")).await;
    assert_eq!(kind(&outcome), None);
    let path = bench.absolute("f");
    assert_eq!(editor.asked().last().unwrap(), &format!("write {path}"));
    let expected = change(path, Some("on disk"), "off disk");
    assert_eq!(notebook.changes(), [expected]);
}

#[tokio::test]
async fn a_client_that_fails_to_read_leaves_reads_the_disk_and_edits_nothing() {
    let (bench, notebook) = bench();
    bench.file("f", "on disk");
    let editor = Arc::new(Editor {
        fails_to_read: true,
        ..Editor::default()
    });
    let outcome = call(&bench, &editor, "read", read("f")).await;
    assert_eq!(outcome.for_model(), "on disk");
    // It may have a text that is not saved, which an edit of the disk's text would replace.
    let outcome = call(&bench, &editor, "edit", edit("f", "on", "off")).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Failed));
    assert_eq!(bench.content("f"), "on disk");
    assert_eq!(notebook.changes(), []);
}

#[tokio::test]
async fn a_client_that_fails_to_write_is_an_error_that_leaves_nothing_behind() {
    let (bench, _) = bench();
    bench.file("f", "on disk");
    let editor = Arc::new(Editor {
        fails_to_write: true,
        ..Editor::default()
    });
    let outcome = call(&bench, &editor, "edit", edit("f", "on", "off")).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Failed));
    let write = json!({ "path": "new/folder/f", "content": "x" });
    let outcome = call(&bench, &editor, "write", write).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Failed));
    assert_eq!(bench.content("f"), "on disk");
    assert_eq!(bench.names(), ["f"]);
}

#[tokio::test]
async fn what_the_client_formats_when_it_saves_belongs_to_the_change() {
    let (bench, notebook) = bench();
    bench.file("f", "a");
    let editor = Arc::new(Editor {
        formats: Some(|text| format!("{text}\n")),
        ..Editor::default()
    });
    let write = json!({ "path": "f", "content": "b" });
    call(&bench, &editor, "write", write).await;
    let path = bench.absolute("f");
    let expected = [
        change(path.clone(), Some("a"), "b"),
        change(path, Some("b"), "b\n"),
    ];
    assert_eq!(notebook.changes(), expected);
}

#[tokio::test]
async fn what_the_client_does_not_save_is_one_change() {
    let (bench, notebook) = bench();
    bench.file("f", "a");
    let editor = Arc::new(Editor {
        keeps_unsaved: true,
        ..Editor::default()
    });
    let write = json!({ "path": "f", "content": "b" });
    call(&bench, &editor, "write", write).await;
    assert_eq!(bench.content("f"), "a");
    let expected = change(bench.absolute("f"), Some("a"), "b");
    assert_eq!(notebook.changes(), [expected]);
}

#[tokio::test]
async fn the_client_is_never_asked_about_what_the_disk_refuses() {
    let bench = Bench::with_scratch();
    bench.file("../outside/f", "secret");
    symlink(bench.path("../outside"), bench.path("way")).unwrap();
    symlink(bench.path("../outside/f"), bench.path("link")).unwrap();
    bench.file("binary", b"\x7fELF\0\xff");
    bench.file("latin", b"gr\xfcn");
    fs::create_dir(bench.path("folder")).unwrap();
    fs::create_dir(bench.path("../s")).unwrap();
    fs::write(bench.scratch("own"), "mine").unwrap();
    let editor = Arc::new(Editor::default());
    for path in [
        "way/f",
        "way/new",
        "link",
        "folder",
        "/etc/passwd",
        "../outside/f",
    ] {
        for (tool, arguments) in [
            ("read", read(path)),
            ("write", json!({ "path": path, "content": "x" })),
            ("edit", edit(path, "secret", "x")),
        ] {
            let outcome = call(&bench, &editor, tool, arguments).await;
            assert!(kind(&outcome).is_some(), "{tool} {path}");
        }
    }
    call(&bench, &editor, "read", read("binary")).await;
    let latin = call(&bench, &editor, "read", read("latin")).await;
    assert_eq!(kind(&latin), None);
    let own = call(&bench, &editor, "read", read(&bench.scratch("own"))).await;
    assert_eq!(own.for_model(), "mine");
    assert_eq!(editor.asked(), Vec::<String>::new());
    assert_eq!(fs::read(bench.path("../outside/f")).unwrap(), b"secret");
}

//! How large a file may be (TLS-08).

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_core::future::BoxFuture;
use offshoot_types::cancel::{Cancel, Signal};
use offshoot_types::outcome::ErrorKind;
use serde_json::json;

use crate::bench::{Bench, find, kind};

const MOST: usize = 10 * 1024 * 1024;

#[tokio::test]
async fn tls_08_the_largest_file_is_taken_and_one_byte_more_is_not() {
    let bench = Bench::new();
    let write = json!({"path": "f", "content": "x".repeat(MOST)});
    assert_eq!(kind(&bench.outcome("write", &write).await), None);
    let grow =
        json!({"path": "f", "old_string": "x".repeat(MOST), "new_string": "x".repeat(MOST + 1)});
    let outcome = bench.outcome("edit", &grow).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::TooLarge));
    assert_eq!(
        outcome.for_model(),
        "error: edit `f`: it would have 10485761 bytes, and files of at most 10485760 can be changed"
    );
    let write = json!({"path": "g", "content": "x".repeat(MOST + 1)});
    let outcome = bench.outcome("write", &write).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::TooLarge));
    assert_eq!(bench.names(), ["f"]);
}

#[tokio::test]
async fn tls_08_a_larger_file_is_not_changed_and_never_called_missing() {
    let bench = Bench::new();
    let file = File::create(bench.path("f")).unwrap();
    file.set_len(MOST as u64 + 1).unwrap();
    let write = json!({"path": "f", "content": "x"});
    let edit = json!({"path": "f", "old_string": "x", "new_string": "y"});
    for (tool, arguments) in [("write", write), ("edit", edit)] {
        let outcome = bench.outcome(tool, &arguments).await;
        assert_eq!(kind(&outcome), Some(ErrorKind::TooLarge));
        assert_eq!(
            outcome.for_model(),
            format!(
                "error: {tool} `f`: it has 10485761 bytes, and files of at most 10485760 can be \
                 changed"
            )
        );
    }
    assert_eq!(
        fs::metadata(bench.path("f")).unwrap().len(),
        MOST as u64 + 1
    );
}

#[tokio::test]
async fn tls_08_the_start_of_ten_gigabytes_is_read_at_once() {
    let bench = Bench::new();
    let mut file = File::create(bench.path("f")).unwrap();
    file.write_all("line\n".repeat(100_000).as_bytes()).unwrap();
    file.seek(SeekFrom::Start(10_000_000_000)).unwrap();
    file.write_all(b"end").unwrap();
    let window = json!({"path": "f", "offset": 3, "limit": 2});
    assert_eq!(bench.call("read", &window).await, "line\nline\n");
    let outcome = bench.outcome("read", &json!({"path": "f"})).await;
    assert_eq!(outcome.metadata.truncated, Some(true));
    assert!(outcome.for_model().len() < 201 * 1024);
    // Behind the text there are ten gigabytes of nothing, which are not read.
    let behind = json!({"path": "f", "offset": 100_002});
    let binary = "error: read `f`: it is a binary file, not text";
    assert_eq!(bench.call("read", &behind).await, binary);
}

#[tokio::test]
async fn tls_19_looking_for_a_far_line_can_be_cancelled() {
    /// Fires when it has been asked some times.
    struct Soon(AtomicUsize);
    impl Signal for Soon {
        fn is_cancelled(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) > 10
        }
        fn cancelled(&self) -> BoxFuture<'_, ()> {
            Box::pin(std::future::pending())
        }
    }
    let bench = Bench::new();
    bench.file("f", "line\n".repeat(1_000_000));
    let mut work = bench.work(&json!({"path": "f", "offset": 900_000}));
    work.cancel = Cancel::new(Soon(AtomicUsize::new(0)));
    let outcome = find("read").run(work).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Cancelled));
}

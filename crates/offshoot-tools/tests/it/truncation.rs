//! Answers that are too long to be shown (TLS-13, TLS-14, SCR-03).

use std::fs;

use serde_json::json;

use crate::bench::Bench;

/// Makes 1001 files with names of this length.
fn many(bench: &Bench, length: usize) {
    for number in 0..1001 {
        bench.file(&format!("{number:0length$}"), "");
    }
}

#[tokio::test]
async fn tls_14_the_parent_can_read_what_was_not_shown() {
    let bench = Bench::for_many_files();
    many(&bench, 4);
    let outcome = bench.outcome("glob", &json!({"pattern": "*"})).await;
    let path = outcome.metadata.output_path.unwrap();
    assert!(path.starts_with(&bench.scratch("outputs/")), "{path}");
    assert!(path.ends_with("-glob.txt"), "{path}");
    let rest = json!({"path": path, "offset": 1001});
    assert_eq!(bench.call("read", &rest).await, "1000\n");
}

#[tokio::test]
async fn tls_14_as_many_as_may_be_shown_are_not_truncated() {
    let bench = Bench::for_many_files();
    many(&bench, 4);
    fs::remove_file(bench.path("1000")).unwrap();
    let outcome = bench.outcome("glob", &json!({"pattern": "*"})).await;
    assert_eq!(outcome.metadata.truncated, None);
    assert_eq!(outcome.metadata.output_path, None);
    assert_eq!(outcome.for_model().lines().count(), 1001);
    assert!(!fs::exists(bench.scratch("outputs")).unwrap());
}

#[tokio::test]
async fn tls_14_without_a_scratch_folder_the_rest_is_not_kept_and_that_is_told() {
    let bench = Bench::new();
    many(&bench, 4);
    let outcome = bench.outcome("glob", &json!({"pattern": "*"})).await;
    assert_eq!(outcome.metadata.truncated, Some(true));
    assert_eq!(outcome.metadata.output_path, None);
    let note = "[truncated: 1000 of 1001 files shown; the rest is not kept, for there is no \
                scratch folder]";
    assert_eq!(outcome.for_model().lines().nth(1000), Some(note));
}

#[tokio::test]
async fn an_answer_of_long_lines_is_no_longer_than_others() {
    let bench = Bench::for_many_files();
    many(&bench, 250);
    let outcome = bench.outcome("glob", &json!({"pattern": "*"})).await;
    assert_eq!(outcome.metadata.truncated, Some(true));
    let answer = outcome.for_model();
    assert!(answer.len() <= 200 * 1024, "{}", answer.len());
    assert!(answer.ends_with("[1001 files, 0 B]"));
    let all = fs::read_to_string(outcome.metadata.output_path.unwrap()).unwrap();
    assert_eq!(all.lines().count(), 1001);
}

#[tokio::test]
async fn matches_of_long_lines_fit_into_a_request_with_their_notes() {
    let bench = Bench::for_many_files();
    // Four bytes each, and cut after 500.
    let line = format!("{}\n", "\u{10348}".repeat(600));
    bench.file("f", line.repeat(300));
    let answer = bench.call("grep", &json!({"pattern": "."})).await;
    assert!(answer.len() <= 200 * 1024, "{}", answer.len());
    assert!(answer.ends_with("[300 matches in 1 file]"));
}

#[tokio::test]
async fn a_scratch_folder_that_cannot_be_made_costs_only_the_rest() {
    let bench = Bench::for_many_files();
    many(&bench, 4);
    bench.file("../s", "a file in its place");
    let outcome = bench.outcome("glob", &json!({"pattern": "*"})).await;
    assert_eq!(outcome.metadata.truncated, Some(true));
    assert_eq!(outcome.metadata.output_path, None);
    let answer = outcome.for_model();
    assert!(
        answer.contains("[truncated: 1000 of 1001 files shown; the rest could not be kept: "),
        "{}",
        answer.lines().last().unwrap()
    );
}

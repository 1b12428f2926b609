//! What `read` returns.

use offshoot_types::content::Part;
use offshoot_types::permission::Need;
use serde_json::{Value, json};

use crate::bench::Bench;

/// What an answer may show, and the most that it may have with its notes.
const LIMIT: usize = 194 * 1024;
const MOST: usize = 200 * 1024;

/// Checks what a model reads of a file `f` with this content.
async fn check(content: &[u8], arguments: Value, expected: &str) {
    let bench = Bench::new();
    bench.file("f", content);
    assert_eq!(
        bench.call("read", &arguments).await,
        expected,
        "{arguments}"
    );
}

#[tokio::test]
async fn a_file_is_returned_as_it_is() {
    for content in ["", "one", "one\n", "one\r\ntwo\n\n", "\u{feff}ä\t€\n"] {
        check(content.as_bytes(), json!({"path": "f"}), content).await;
    }
}

#[tokio::test]
async fn lines_are_counted_from_one() {
    let content = b"1\n2\n3\n4";
    check(
        content,
        json!({"path": "f", "offset": 1, "limit": 2}),
        "1\n2\n",
    )
    .await;
    check(content, json!({"path": "f", "offset": 3}), "3\n4").await;
    check(content, json!({"path": "f", "limit": 1}), "1\n").await;
    check(content, json!({"path": "f", "offset": 4, "limit": 9}), "4").await;
    check(
        content,
        json!({"path": "f", "offset": null, "limit": null}),
        "1\n2\n3\n4",
    )
    .await;
}

#[tokio::test]
async fn an_offset_behind_the_end_is_told_the_end() {
    let end = |lines| format!("error: read `f`: `f` has {lines} lines, so none at offset 5");
    check(b"1\n2\n3\n4", json!({"path": "f", "offset": 5}), &end(4)).await;
    check(b"1\n2\n3\n4\n", json!({"path": "f", "offset": 5}), &end(4)).await;
    check(b"", json!({"path": "f", "offset": 5}), &end(0)).await;
}

#[tokio::test]
async fn a_long_file_is_cut_after_a_whole_line() {
    let bench = Bench::new();
    let line = format!("{}\n", "x".repeat(99));
    bench.file("f", line.repeat(3000));
    let outcome = bench.outcome("read", &json!({"path": "f"})).await;
    let text = outcome.for_model();
    let note = "[truncated: lines 1 to 1986 are shown; read on with offset 1987]";
    assert_eq!(text, line.repeat(1986) + note);
    assert_eq!(outcome.metadata.truncated, Some(true));
    assert_eq!(outcome.metadata.output_path, Some(bench.absolute("f")));

    let rest = json!({"path": "f", "offset": 1987});
    let outcome = bench.outcome("read", &rest).await;
    assert_eq!(outcome.for_model(), line.repeat(3000 - 1986));
    assert_eq!(outcome.metadata.truncated, None);
}

#[tokio::test]
async fn a_line_of_a_megabyte_is_cut_inside() {
    let bench = Bench::new();
    // Two bytes each, after one of one: the cut falls inside a character.
    bench.file("f", format!("first\nx{}\nlast", "ä".repeat(512 * 1024)));
    let from_two = json!({"path": "f", "offset": 2});
    let text = bench.call("read", &from_two).await;
    let (shown, note) = text.split_once('\n').unwrap();
    assert_eq!(shown.len(), LIMIT - 1);
    assert_eq!(
        note,
        format!(
            "[truncated: line 2 has {} bytes; the first {} are shown; use bash to see the rest; \
             the next line is at offset 3]",
            1024 * 1024 + 1,
            LIMIT - 1
        )
    );
    let from_three = json!({"path": "f", "offset": 3});
    assert_eq!(bench.call("read", &from_three).await, "last");
}

#[tokio::test]
async fn an_offset_that_does_not_exist_is_not_offered() {
    let note = |bytes: usize| {
        format!(
            "\n[truncated: line 1 has {bytes} bytes; the first {LIMIT} are shown; use bash to see \
             the rest]"
        )
    };
    let long = "x".repeat(300_000);
    let expected = long[..LIMIT].to_owned() + &note(300_000);
    check(long.as_bytes(), json!({"path": "f"}), &expected).await;
    let ended = format!("{long}\n");
    check(ended.as_bytes(), json!({"path": "f"}), &expected).await;
    let just = "x".repeat(LIMIT + 1);
    let expected = just[..LIMIT].to_owned() + &note(LIMIT + 1);
    check(just.as_bytes(), json!({"path": "f"}), &expected).await;
}

#[tokio::test]
async fn an_answer_fits_into_a_request_with_its_notes() {
    let line = "a line of text\n";
    let texts = [
        line.repeat(MOST).into_bytes(),
        "x".repeat(MOST + 1).into_bytes(),
        // Every byte of this becomes three.
        vec![0xff; LIMIT],
        [0xff, 0xff, b'\n'].repeat(LIMIT),
    ];
    for text in texts {
        let bench = Bench::new();
        bench.file("f", &text);
        let outcome = bench.outcome("read", &json!({"path": "f"})).await;
        let answer = outcome.for_model();
        assert!(answer.len() <= MOST, "{}", answer.len());
        assert!(answer.ends_with(']'), "the note is there");
        assert_eq!(outcome.metadata.truncated, Some(true));
    }
    // Reading on loses no line of what is no text, either.
    let bench = Bench::new();
    bench.file("f", [0xff, 0xff, b'\n'].repeat(LIMIT / 3));
    let answer = bench.call("read", &json!({"path": "f"})).await;
    let shown = answer.lines().count() - 1;
    let note = format!(
        "lines 1 to {shown} are shown; read on with offset {}]",
        shown + 1
    );
    assert!(answer.ends_with(&note), "{note}");
}

#[tokio::test]
async fn a_whole_number_may_be_written_with_a_point() {
    let arguments = json!({"path": "f", "offset": 2.0, "limit": 1.0});
    check(b"1\n2\n3\n", arguments, "2\n").await;
}

#[tokio::test]
async fn a_file_of_exactly_the_limit_is_whole() {
    let bench = Bench::new();
    bench.file("f", "x".repeat(LIMIT));
    let outcome = bench.outcome("read", &json!({"path": "f"})).await;
    assert_eq!(outcome.for_model().len(), LIMIT);
    assert_eq!(outcome.metadata.truncated, None);
}

#[tokio::test]
async fn a_binary_file_is_refused() {
    let binary = "error: read `f`: it is a binary file, not text";
    check(b"\x7fELF\0\0", json!({"path": "f"}), binary).await;
}

#[tokio::test]
async fn text_of_another_encoding_is_read_as_well_as_it_goes() {
    check(b"gr\xfcn\n", json!({"path": "f"}), "gr\u{fffd}n\n").await;
}

#[tokio::test]
async fn a_missing_file_is_named() {
    check(
        b"",
        json!({"path": "a/b.rs"}),
        "error: read `a/b.rs`: there is no such file",
    )
    .await;
    check(
        b"",
        json!({"path": "f/b.rs"}),
        "error: read `f/b.rs`: a part of the path is a file, not a folder",
    )
    .await;
}

#[tokio::test]
async fn a_name_with_a_newline_is_a_name() {
    let bench = Bench::new();
    bench.file("a\nb", "content");
    assert_eq!(
        bench.call("read", &json!({"path": "a\nb"})).await,
        "content"
    );
    assert_eq!(
        bench.call("read", &json!({"path": "a\nc"})).await,
        "error: read \"a\\nc\": there is no such file"
    );
}

#[tokio::test]
async fn a_folder_is_refused() {
    let folder = "error: read `.`: it is a folder; use glob to list what is in it";
    check(b"", json!({"path": "."}), folder).await;
}

#[test]
fn a_call_needs_to_read_the_absolute_path() {
    let bench = Bench::new();
    let expected = vec![Need {
        capability: "fs.read".into(),
        target: bench.absolute("src/a.rs"),
    }];
    let relative = json!({"path": "./src//a.rs"});
    assert_eq!(bench.needs("read", &relative), Ok(expected.clone()));
    let absolute = json!({"path": bench.absolute("src/a.rs")});
    assert_eq!(bench.needs("read", &absolute), Ok(expected));
}

#[test]
fn wrong_arguments_are_told_before_the_call() {
    let check = |arguments: Value, expected: &str| {
        let error = Bench::new().needs("read", &arguments).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    };
    check(
        json!({}),
        "take the arguments of read: missing field `path`",
    );
    check(
        json!({"path": 1}),
        "take the arguments of read: invalid type: integer `1`",
    );
    check(
        json!({"file": "a"}),
        "take the arguments of read: unknown field `file`",
    );
    check(
        json!({"path": "a", "offset": 0}),
        "take the arguments of read: invalid value",
    );
    check(json!({"path": "../a"}), "`../a` goes through `..`");
}

#[tokio::test]
async fn a_picture_is_an_image_for_a_model_that_takes_images() {
    let png = b"\x89PNG\r\n\x1a\nrest";
    let bench = Bench::new();
    bench.file("shot", png);
    let outcome = bench.read_as_image("shot").await;
    let [Part::Image(image)] = outcome.attachments.as_slice() else {
        panic!("{outcome:?}")
    };
    assert_eq!(image.media_type, "image/png");
    assert_eq!(image.bytes, png.len() as u64);
    assert_eq!(outcome.for_model(), "`shot` is an image.");
    // Its name says so, its bytes do not.
    bench.file("text.png", b"no picture");
    let outcome = bench.read_as_image("text.png").await;
    assert!(outcome.attachments.is_empty());
    assert_eq!(outcome.for_model(), "no picture");
}

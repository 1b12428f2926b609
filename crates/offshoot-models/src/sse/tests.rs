//! What a stream of bytes means, however it is cut.

use proptest::prelude::*;

use super::{Event, Parser, TooLong};

const MAX: usize = 64;

/// Reads the pieces; the events as `kind|data`, and whether it ended in an error.
fn read(pieces: &[&[u8]], max_bytes: usize) -> (Vec<String>, Result<(), TooLong>) {
    let mut parser = Parser::new(max_bytes);
    let mut events = Vec::new();
    for piece in pieces {
        parser.push(piece);
        loop {
            match parser.next() {
                Ok(Some(Event { kind, data })) => events.push(format!("{kind}|{data}")),
                Ok(None) => break,
                Err(error) => return (events, Err(error)),
            }
        }
    }
    (events, Ok(()))
}

#[track_caller]
fn check(bytes: impl AsRef<[u8]>, expected: &[&str]) {
    let bytes = bytes.as_ref();
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    for pieces in [vec![bytes], single] {
        let (events, end) = read(&pieces, MAX);
        assert_eq!(events, expected);
        assert_eq!(end, Ok(()));
    }
}

#[test]
fn lines_end_in_lf_cr_or_both() {
    check("data: a\n\ndata: b\n\n", &["|a", "|b"]);
    check("data: a\r\rdata: b\r\r", &["|a", "|b"]);
    check("data: a\r\n\r\ndata: b\r\n\r\n", &["|a", "|b"]);
    check("data: a\r\n\ndata: b\n\r\n", &["|a", "|b"]);
}

#[test]
fn data_lines_are_joined_and_lose_one_space() {
    check("data:a\ndata: b\ndata:  c\n\n", &["|a\nb\n c"]);
    check("data\ndata\n\n", &["|\n"]);
    check("data:\n\n", &["|"]);
}

#[test]
fn a_kind_belongs_to_one_event() {
    check("event: x\ndata: a\n\ndata: b\n\n", &["x|a", "|b"]);
    check("event: x\n\ndata: b\n\n", &["|b"]);
}

#[test]
fn comments_ids_retries_and_unknown_fields_are_read_over() {
    check(
        ": ping\n\nid: 7\nretry: 10\nfoo: bar\nfoo\ndata: a\n: ping\n\n",
        &["|a"],
    );
}

#[test]
fn what_is_unfinished_is_no_event() {
    check("data: a\n\ndata: b\n", &["|a"]);
    check("data: a\n\ndata: b", &["|a"]);
}

#[test]
fn a_byte_order_mark_counts_only_at_the_start() {
    check("\u{feff}data: a\n\n", &["|a"]);
    check("data: a\n\n\u{feff}data: b\n\n", &["|a"]);
}

#[test]
fn text_may_be_cut_within_a_character() {
    check("data: grün 🌱\n\n", &["|grün 🌱"]);
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    check(b"data: a\xFFb\n\n", &["|a\u{fffd}b"]);
}

#[test]
fn an_event_or_a_line_that_is_too_long_is_an_error_and_stays_one() {
    let long = "x".repeat(MAX);
    for bytes in [
        // A line that never ends, a comment, and data in many lines.
        format!("data: a\n\ndata: {long}"),
        format!("data: a\n\n:{long}\n\ndata: b\n\n"),
        format!("data: a\n\n{}\n", "data: 0123456789\n".repeat(7)),
    ] {
        for size in [1, 5, bytes.len()] {
            let pieces: Vec<&[u8]> = bytes.as_bytes().chunks(size).collect();
            let (events, end) = read(&pieces, MAX);
            assert_eq!(events, ["|a"]);
            assert_eq!(end, Err(TooLong { max_bytes: MAX }));
        }
    }
    let mut parser = Parser::new(MAX);
    parser.push(long.as_bytes());
    parser.push(b"x\n\ndata: b\n\n");
    assert!(parser.next().is_err());
    assert!(parser.next().is_err());
}

/// Bytes that mean something more often than random ones do.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just(b"data".to_vec()),
        Just(b"data: ".to_vec()),
        Just(b"event:".to_vec()),
        Just(b":".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just(b"\xEF\xBB\xBF".to_vec()),
        Just("ü🌱".as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..20),
    ];
    proptest::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(
        bytes in stream(),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..10),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        prop_assert_eq!(read(&pieces, MAX), read(&[&bytes], MAX));
    }

    #[test]
    fn what_is_written_by_the_rules_is_read_back(
        events in proptest::collection::vec(("[a-z]{0,5}", "[^\r\n]{0,9}(\n[^\r\n]{0,9}){0,2}"), 0..8),
        end in prop_oneof![Just("\n"), Just("\r"), Just("\r\n")],
    ) {
        let mut text = String::new();
        for (kind, data) in &events {
            text.push_str(&format!("event: {kind}{end}"));
            for line in data.split('\n') {
                text.push_str(&format!("data: {line}{end}"));
            }
            text.push_str(end);
        }
        let expected: Vec<String> = events.iter().map(|(kind, data)| format!("{kind}|{data}")).collect();
        prop_assert_eq!(read(&[text.as_bytes()], 4096), (expected, Ok(())));
    }
}

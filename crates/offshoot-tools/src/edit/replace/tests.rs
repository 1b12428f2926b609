//! Replacing is what the standard library does, or nothing.

use proptest::prelude::*;

use super::*;

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[track_caller]
fn check_refused(content: &str, old: &str, expected: &str) {
    let refusal = replace(content.as_bytes(), old, "new", Which::Only).unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::Conflict);
    let said = refusal.into_outcome("edit").for_model();
    assert!(said.contains(expected), "{content:?} {old:?}: {said}");
}

#[test]
fn several_places_are_counted_and_named() {
    check_refused("a\nb\na\n", "a", "is there 2 times, at lines 1, 3;");
    let many = "x\n".repeat(12);
    let expected = "is there 12 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …;";
    check_refused(&many, "x", expected);
    check_refused("\naaa", "aa", "is there 2 times, at lines 2, 2;");
}

#[test]
fn a_near_miss_is_told() {
    check_refused(
        "a\r\nb\nc\n",
        "a\nb",
        "it is at line 1 with other line ends",
    );
    check_refused(
        "x\na\nb\n",
        "a\r\nb",
        "it is at line 2 with other line ends",
    );
    check_refused("x\na  \nb\n", "a\nb", "it is at line 2 but for spaces");
    check_refused("x\na\nb\n", "a\t\nb", "it is at line 2 but for spaces");
    check_refused("x\n", "y", "read the file and give the text as it is there");
    check_refused(
        "x\n",
        " \n ",
        "read the file and give the text as it is there",
    );
}

#[test]
fn what_is_not_utf_8_survives() {
    let replaced = replace(b"gr\xfcn one \xff", "one", "two", Which::Only).unwrap();
    assert_eq!(replaced.text, b"gr\xfcn two \xff");
}

#[test]
fn tls_08_growing_beyond_the_most_is_refused_before_it_happens() {
    let content = "a".repeat(MOST_BYTES);
    let refusal = replace(content.as_bytes(), "a", &content, Which::All).unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::TooLarge);
}

#[test]
fn a_pathological_text_takes_no_time() {
    let content = "a".repeat(MOST_BYTES);
    let old = "a".repeat(MOST_BYTES / 2 + 1);
    let refusal = replace(content.as_bytes(), &old, "b", Which::Only).unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::Conflict);
}

#[test]
fn line_ends_alone_are_nothing_to_change() {
    let refusal = replace(b"a\r\nb\r\n", "a\n", "a\r\n", Which::Only).unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::InvalidInput);
}

/// Counts matches, overlapping ones too.
fn places(content: &str, old: &str) -> usize {
    let starts = content.char_indices().map(|(start, _)| start);
    starts
        .filter(|start| content[*start..].starts_with(old))
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_only_match_is_replaced_and_anything_else_is_refused(
        content in "[ab\n é]{0,24}", old in "[ab\n é]{1,3}", new in "[ab\n]{0,3}",
    ) {
        prop_assume!(old != new);
        match replace(content.as_bytes(), &old, &new, Which::Only) {
            Ok(replaced) => {
                prop_assert_eq!(places(&content, &old), 1);
                prop_assert_eq!(text(replaced.text), content.replacen(&old, &new, 1));
                prop_assert_eq!(replaced.count, 1);
            }
            Err(_) => prop_assert_ne!(places(&content, &old), 1),
        }
    }

    #[test]
    fn all_matches_are_replaced_as_the_standard_library_does(
        content in "[ab\n é]{0,24}", old in "[ab\n é]{1,3}", new in "[ab\n]{0,3}",
    ) {
        prop_assume!(old != new);
        match replace(content.as_bytes(), &old, &new, Which::All) {
            Ok(replaced) => {
                prop_assert_eq!(text(replaced.text), content.replace(&old, &new));
                prop_assert_eq!(replaced.count, content.matches(&old).count());
                let before = content.find(&old).map_or("", |start| &content[..start]);
                prop_assert_eq!(replaced.line, 1 + before.matches('\n').count());
            }
            Err(_) => prop_assert!(!content.contains(&old)),
        }
    }

    #[test]
    fn a_file_of_crlf_is_edited_as_if_it_had_plain_line_ends(
        content in "[ab\n]{0,16}\n", old in "[ab\n]{1,3}", new in "[ab\n]{0,3}", crlf in any::<bool>(),
    ) {
        prop_assume!(old != new);
        let wide = |text: &str| text.replace('\n', "\r\n");
        let given = |text: &str| if crlf { wide(text) } else { text.to_owned() };
        let narrow = replace(content.as_bytes(), &old, &new, Which::Only);
        let edited = replace(wide(&content).as_bytes(), &given(&old), &given(&new), Which::Only);
        match (narrow, edited) {
            (Ok(narrow), Ok(edited)) => {
                prop_assert_eq!(wide(&text(narrow.text)), text(edited.text));
            }
            (Err(_), Err(_)) => {}
            (narrow, edited) => prop_assert!(false, "{:?} {:?}", narrow, edited),
        }
    }
}

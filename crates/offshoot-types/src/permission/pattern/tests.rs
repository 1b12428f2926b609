//! What globs match, and what that costs.

use proptest::prelude::{prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::*;

#[test]
fn globs_match_what_a_person_expects() {
    let table = [
        ("/w/*.rs", "/w/a.rs", true),
        ("/w/*.rs", "/w/a/b.rs", false),
        ("/w/**/*.rs", "/w/a/b.rs", true),
        ("/w/**/*.rs", "/w/b.rs", true),
        ("/w/**/b.rs", "/w/ab.rs", false),
        ("/w/**/**/b.rs", "/w/b.rs", true),
        ("/w/**/a/**/b", "/w/a/b", true),
        ("/w/**/a/**/b", "/w/x/a/y/z/b", true),
        ("/w/**/a/**/b", "/w/x/a/y/zb", false),
        ("**/*.md", "/a.md", true),
        ("**/*.md", "/w/x/a.md", true),
        ("**/secrets/**", "/w/secrets/x", true),
        ("**/secrets/**", "/w/secretsx/x", false),
        ("/w/**", "/w/a/b.rs", true),
        ("/w/**", "/w", false),
        ("/w/?", "/w/a", true),
        ("/w/?", "/w/ä", true),
        ("/w/?", "/w//", false),
        ("**/target/**", "/w/target/x", true),
        ("/w/a**b", "/w/a/x/b", true),
        ("/w/a**/b", "/w/ax/y/b", true),
        ("/w/*/c/*", "/w/b/c/d", true),
        ("/w/**/c/*d", "/w/c/c/xd", true),
        (r"/w/\*", "/w/*", true),
        (r"/w/\*", "/w/a", false),
        (r"/w/\*/**", "/w/*/a", true),
        ("", "", true),
        ("*", "", true),
        ("a*", "a", true),
    ];
    for (pattern, text, expected) in table {
        assert_eq!(
            Pattern::of(pattern).fits(text),
            expected,
            "{pattern} on {text}"
        );
    }
}

#[test]
fn a_pattern_made_to_explode_takes_no_more_than_its_length_times_the_texts() {
    let text = "a".repeat(4000) + "b";
    let many = [
        "*a".repeat(200) + "c*b",
        "**a".repeat(200) + "c*b",
        "**/".to_owned() + &"*a".repeat(100) + "**c*b",
        "?*".repeat(200) + "**/*c*b",
        "*".repeat(1000) + "c" + &"*?".repeat(200) + "b",
    ];
    for pattern in many {
        let Pattern::Glob(glob) = Pattern::of(&pattern) else {
            panic!("{pattern}");
        };
        // What is looked at first would find it out at once.
        let blind = Glob {
            head: "".into(),
            tail: "".into(),
            middle: "".into(),
            ..glob
        };
        let (fits, steps) = blind.run(&text);
        assert!(!fits, "{pattern}");
        let most = blind.pieces.len() * (text.len() + 1);
        assert!(steps <= most, "{pattern}: {steps} of {most}");
    }
}

#[test]
fn hundreds_of_the_worst_patterns_that_a_rule_may_have_cost_a_bounded_number_of_steps() {
    let text = "a".repeat(16 * 1024) + "b";
    let long = |piece: &str, count: usize| {
        let room = 4096 / count - piece.len();
        format!("{piece}{}", "a".repeat(room)).repeat(count) + "b"
    };
    let worst = [
        "*a".repeat(31) + "c*b",
        "**a".repeat(31) + "c*b",
        "**/".repeat(31) + "c*b",
        "?*".repeat(15) + "c*b",
        long("*", 1),
        long("*", 31),
        long("*?", 16),
        long("**/", 31),
    ];
    for pattern in worst {
        assert!(wildcards(&pattern) <= 32, "{pattern}");
        let Pattern::Glob(glob) = Pattern::of(&pattern) else {
            panic!("{pattern}");
        };
        let (head, tail, middle) = ("".into(), "".into(), "".into());
        let blind = Glob {
            head,
            tail,
            middle,
            ..glob
        };
        let (_, steps) = blind.run(&text);
        assert!(250 * steps <= 300_000_000, "{pattern}: {steps}");
    }
}

/// The same in the plainest way, for short texts.
fn plainly(atoms: &[Atom], text: &[char]) -> bool {
    let Some((atom, rest)) = atoms.split_first() else {
        return text.is_empty();
    };
    let ends = 0..=text.len();
    match atom {
        Atom::Char(c) => text.first() == Some(c) && plainly(rest, &text[1..]),
        Atom::One => text.first().is_some_and(|c| *c != '/') && plainly(rest, &text[1..]),
        Atom::AnyOne => !text.is_empty() && plainly(rest, &text[1..]),
        Atom::Deep => ends.into_iter().any(|end| plainly(rest, &text[end..])),
        Atom::Star => ends
            .into_iter()
            .filter(|end| !text[..*end].contains(&'/'))
            .any(|end| plainly(rest, &text[end..])),
        Atom::Folders => ends
            .into_iter()
            .filter(|end| *end == 0 || text[end - 1] == '/')
            .any(|end| plainly(rest, &text[end..])),
    }
}

proptest! {
    #[test]
    fn what_is_looked_at_first_changes_nothing(
        pattern in prop_oneof!["[a/*?]{0,8}", "[ab*]{0,10}", "[aé*?]{0,6}"],
        text in prop_oneof!["[a/b]{0,8}", "[ab]{0,12}", "[aé]{0,6}"],
    ) {
        let letters: Vec<char> = text.chars().collect();
        let expected = match Kind::of(&pattern) {
            Kind::Any => true,
            Kind::Begins => text.starts_with(&pattern[..pattern.len() - 1]),
            Kind::Exact | Kind::Glob => plainly(&path_atoms(&pattern), &letters),
        };
        prop_assert_eq!(Pattern::of(&pattern).fits(&text), expected, "{} on {}", pattern, text);
    }

    #[test]
    fn what_is_escaped_fits_itself_and_nothing_else(text in "[ -~]{1,12}", other in "[ -~]{1,12}") {
        let pattern = Pattern::of(&glob_escape(&text));
        prop_assert!(pattern.fits(&text));
        prop_assert_eq!(pattern.fits(&other), text == other);
    }
}

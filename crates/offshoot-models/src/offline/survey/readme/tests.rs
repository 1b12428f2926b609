//! What is taken from a README.

use super::{Readme, headings};

#[track_caller]
fn check(text: &str, title: Option<&str>, about: Option<&str>) {
    let readme = Readme::read(text);
    assert_eq!(readme.title.as_deref(), title, "{text}");
    assert_eq!(readme.about.as_deref(), about, "{text}");
}

#[test]
fn the_first_prose_is_what_it_is_about() {
    let words = Some("These words say what it is.");
    check(
        "# A\n\nThese words say\nwhat it is.\n\nMore.\n",
        Some("A"),
        words,
    );
    check("A\n===\n\nThese words say what it is.", Some("A"), words);
    check(
        "<p align=\"center\">\n<img src=\"x\">\n</p>\n\nThese words say what it is.\n",
        None,
        words,
    );
    check(
        "[![b](c)](d)\n[![e](f)](g)\n\n- list item here\n\nThese words say what it is.",
        None,
        words,
    );
    check(
        "---\na: b\n---\n# A #\n```\ncode code code code\n```\nThese words say what it is.",
        Some("A"),
        words,
    );
    check("short\n\n| a table | of words |\n", None, None);
    check("", None, None);
}

#[test]
fn a_title_is_of_the_highest_level_only() {
    let words = Some("These words say what it is.");
    for (text, title) in [
        (
            "<h1 align=\"center\"><img src=\"x\"> Proj</h1>\n\nThese words say what it is.\n\n## Install\n",
            Some("Proj"),
        ),
        (
            "<H1>\n  A long name of a project\n</H1>\n\nThese words say what it is.\n\n# Later\n",
            Some("A long name of a project"),
        ),
        (
            "\u{feff}# Marked\n\nThese words say what it is.\n",
            Some("Marked"),
        ),
        (
            "= Ascii\nJane Doe <jane@example.org>\n:toc:\n\nThese words say what it is.\n\n== Install\n",
            Some("Ascii"),
        ),
        ("These words say what it is.\n\n## Install\n", None),
        (
            "Low\n---\n\nThese words say what it is.\n\nHigh\n====\n",
            Some("High"),
        ),
        (
            "# First\n<h1>Second</h1>\n\nThese words say what it is.\n",
            Some("First"),
        ),
        ("<h1>never closed\n", None),
    ] {
        let about = words.filter(|words| text.contains(words));
        check(text, title, about);
    }
}

#[test]
fn code_has_no_headings() {
    let text = "# One\n```\n# no\n```\n~~~\n# no\n~~~\n## Two\n    # no\nThree\n-----\n";
    let expected = [(1, "One"), (8, "Two"), (10, "Three")];
    assert_eq!(
        headings(text),
        expected.map(|(line, title)| (line, title.to_owned()))
    );
}

#[test]
fn commands_stand_in_code() {
    let text = "make it so\n```\n$ cargo build\nmake\necho no\ncargo build\n```\n\n    npm test\n";
    assert_eq!(
        Readme::read(text).commands,
        ["cargo build", "make", "npm test"]
    );
}

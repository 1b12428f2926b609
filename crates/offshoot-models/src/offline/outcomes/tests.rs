//! Lists and matches in the forms that tools give, and in none.

use super::{Count, Listing, Match, Matches, line_count};

#[test]
fn a_whole_list_is_complete() {
    let listing = Listing::read("a.rs\nb/c d.rs\n[x]/y.ts\n[3 files, 1.2 MB]\n");
    assert_eq!(listing.paths, ["a.rs", "b/c d.rs", "[x]/y.ts"]);
    assert_eq!((listing.total, listing.size), (3, Some("1.2 MB")));
    assert!(listing.complete);
}

#[test]
fn a_cut_list_knows_where_the_whole_is() {
    let text = "a\nb\n[truncated: 2 of 4321 files shown; all of them are in .x/list 1.txt]\n\
                [4321 files, 9 MB]";
    let listing = Listing::read(text);
    assert_eq!(listing.paths, ["a", "b"]);
    assert_eq!(listing.whole, Some(".x/list 1.txt"));
    assert_eq!(listing.count(), Count::exactly(4321));
    assert!(!listing.complete);
}

#[test]
fn a_file_that_was_cut_has_at_least_the_lines_that_were_shown() {
    assert_eq!(line_count("a\nb\n"), Count::exactly(2));
    assert_eq!(line_count(""), Count::exactly(0));
    let cut = "a\nb\n[truncated: lines 1 to 2 are shown; read on with offset 3]";
    assert_eq!(line_count(cut).to_string(), "at least 2");
}

#[test]
fn no_files_are_a_complete_list() {
    let listing = Listing::read("[no files match]");
    assert!(listing.complete && listing.paths.is_empty());
}

#[test]
fn a_list_without_its_last_line_is_only_a_part() {
    for text in [
        "a\nb",
        "a\nb\n[truncated: 2 of 9999 bytes shown]",
        "a\nb\n[1 files, 1 B]",
    ] {
        let listing = Listing::read(text);
        assert_eq!(listing.paths, ["a", "b"], "{text}");
        assert!(!listing.complete, "{text}");
    }
    assert_eq!(Listing::read("a").count().to_string(), "at least 1");
}

#[test]
fn matches_may_have_colons() {
    let found = Matches::read("a:b.rs:7:x: y\n[1 matches in 1 files]");
    let expected = Match {
        path: "a:b.rs",
        line: 7,
        text: "x: y",
    };
    assert_eq!(found.lines, [expected]);
    assert!(found.complete);
}

#[test]
fn cut_matches_are_counted_by_what_the_tool_says() {
    let found =
        Matches::read("a:1:x\n[truncated: 1 of 57 matches shown; …]\n[57 matches in 12 files]");
    assert_eq!(found.count(), Count::exactly(57));
    assert_eq!(found.file_count(), Count::exactly(12));
    let unknown = Matches::read("a:1:x\n[truncated: stopped early]\n[1 match in 1 file]");
    assert_eq!(unknown.count().to_string(), "at least 1");
    assert_eq!(Matches::read("[no matches]").count(), Count::exactly(0));
    assert_eq!(Matches::read("nonsense").lines, []);
}

#[test]
fn a_tool_that_left_something_out_has_counted_no_more_than_a_part() {
    for note in [
        "[truncated: stopped after 30 seconds, there may be more]",
        "[folders that could not be read: 1]",
        "[truncated: 1 of 9 files shown; all of them are in x]\n[folders that could not be read: 1]",
        "[files that rules keep from this search are left out, if there are any]",
    ] {
        let text = format!("a\n{note}\n[9 files, 1 B]");
        let listing = Listing::read(&text);
        assert_eq!(listing.paths, ["a"], "{note}");
        assert_eq!(listing.count().to_string(), "at least 9", "{note}");
        assert_eq!(listing.gaps.len(), 1, "{note}");
    }
}

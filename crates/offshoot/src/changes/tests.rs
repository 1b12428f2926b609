//! What some agents did to a file, by small histories of it.

use offshoot_types::id::{CallId, Timestamp};
use offshoot_types::journal::{Change, Writer};

use super::*;

fn text(content: &str) -> Option<Vec<u8>> {
    (content != "-").then(|| content.as_bytes().to_vec())
}

/// A change by an agent, whose call is `!` or `?` after its name.
fn record(agent: &str, before: &str, after: &str) -> Recorded {
    let call = agent.trim_start_matches(char::is_alphabetic);
    Recorded {
        writer: Writer {
            agent: AgentId::new(agent.trim_end_matches(call)),
            definition: "general".to_owned(),
            at: Timestamp::new(0),
        },
        call: CallId::new(call),
        change: Change {
            path: "/w/f".to_owned(),
            before: text(before),
            after: text(after),
        },
    }
}

/// Checks what agent `a` did to the file, which is `now`; `-` is no file.
///
/// A call that ended in a conflict is an agent with `!`, one that failed has `?`.
#[track_caller]
fn check(history: &[(&str, &str, &str)], now: &str, expected: &[(&str, &str, Option<&str>)]) {
    let records: Vec<Recorded> = history
        .iter()
        .map(|(agent, before, after)| record(agent, before, after))
        .collect();
    let agents = BTreeSet::from([AgentId::new("a")]);
    let failed = |kind| Outcome::error(kind, "why");
    let fate = |record: &Recorded| {
        let outcome = match record.call.as_str() {
            "!" => Some(failed(ErrorKind::Conflict)),
            "?" => Some(failed(ErrorKind::Failed)),
            _ => None,
        };
        Fate::of(outcome.as_ref())
    };
    let looked = |_: &str| text(now).map_or(Now::Absent, Now::File);
    let found = collect(&records, &agents, fate, looked);
    let expected: Vec<FileChange> = expected
        .iter()
        .map(|(before, after, kept)| FileChange {
            path: "/w/f".to_owned(),
            before: text(before),
            after: text(after),
            kept: kept.map(str::to_owned),
        })
        .collect();
    assert_eq!(found, expected, "{history:?} {now}");
}

#[test]
fn changes_of_one_agent_are_one_change() {
    check(&[("a", "-", "1")], "1", &[("-", "1", None)]);
    check(
        &[("a", "1", "2"), ("a", "2", "3")],
        "3",
        &[("1", "3", None)],
    );
    check(&[("a", "1", "2"), ("a", "2", "1")], "1", &[]);
    check(&[("b", "1", "2")], "2", &[]);
}

#[test]
fn what_was_recorded_and_not_made_does_not_count() {
    check(&[("a", "1", "2")], "1", &[]);
    check(
        &[("a", "1", "2"), ("a", "1", "3")],
        "3",
        &[("1", "3", None)],
    );
    check(
        &[("a", "1", "2"), ("a", "2", "3")],
        "2",
        &[("1", "2", None)],
    );
}

#[test]
fn a_file_that_somebody_else_touched_is_kept() {
    let since = "it was edited since";
    check(&[("a", "1", "2")], "x", &[("1", "2", Some(since))]);
    let removed = "it was removed since";
    check(&[("a", "1", "2")], "-", &[("1", "2", Some(removed))]);
    let later = "general b edited it later";
    let both = [("a", "1", "2"), ("b", "2", "3")];
    check(&both, "3", &[("1", "2", Some(later))]);
    let first = [("b", "1", "2"), ("a", "2", "3")];
    check(&first, "3", &[("2", "3", None)]);
    let between = "somebody who is no agent of this session edited it in between";
    let edited = [("a", "1", "2"), ("a", "x", "3")];
    let apart = [("1", "2", Some(between)), ("x", "3", None)];
    check(&edited, "3", &apart);
}

#[test]
fn what_another_agent_did_in_between_is_not_ours() {
    let history = [("a", "1", "2"), ("b", "2", "3"), ("a", "3", "4")];
    let later = Some("general b edited it later");
    check(&history, "4", &[("1", "2", later), ("3", "4", None)]);
    let since = Some("it was edited since");
    check(&history, "x", &[("1", "2", later), ("3", "4", since)]);
    // Put back, the last is as if it had never been made.
    check(&history, "3", &[("1", "2", later)]);
    // What comes to nothing is nothing, also between others.
    let history = [("b", "1", "2"), ("a", "2", "3"), ("a", "3", "2")];
    check(&history, "2", &[]);
}

#[test]
fn a_change_whose_call_found_another_file_was_not_made() {
    check(&[("a!", "1", "2")], "x", &[]);
    check(&[("a!", "1", "2")], "2", &[]);
    let again = [("a!", "1", "2"), ("a", "x", "3")];
    check(&again, "3", &[("x", "3", None)]);
    let by_other = [("a", "1", "2"), ("b!", "2", "3"), ("a", "2", "4")];
    check(&by_other, "4", &[("1", "4", None)]);
    assert_eq!(
        Fate::of(Some(&Outcome::error(ErrorKind::Cancelled, "why"))),
        Fate::Unmade
    );
}

#[test]
fn a_change_whose_call_failed_counts_only_where_it_is_seen() {
    check(&[("a?", "1", "2")], "x", &[]);
    check(&[("a?", "1", "2")], "2", &[("1", "2", None)]);
    let cut_off = Outcome::error(ErrorKind::Interrupted, "why");
    assert_eq!(Fate::of(Some(&cut_off)), Fate::Likely);
}

#[test]
fn what_no_agent_wrote_is_neither_a_file_of_theirs_nor_none() {
    let records = [record("a", "-", "1")];
    let agents = BTreeSet::from([AgentId::new("a")]);
    let other = |_: &str| Now::Other("it is a link".to_owned());
    let found = collect(&records, &agents, |_| Fate::Likely, other);
    assert_eq!(found[0].kept.as_deref(), Some("it is a link"));
}

#[test]
fn a_change_is_shown_as_a_diff() {
    let change = FileChange {
        path: "/w/f".to_owned(),
        before: None,
        after: text("one\n"),
        kept: None,
    };
    assert_eq!(
        diff(&change, "f"),
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+one\n"
    );
    let binary = FileChange {
        before: Some(vec![0xff]),
        ..change
    };
    assert_eq!(diff(&binary, "f"), "Binary files a/f and b/f differ\n");
}

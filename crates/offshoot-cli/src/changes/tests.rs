//! What some agents did to a file, by small histories of it.

use offshoot_types::id::CallId;
use offshoot_types::journal::Writer;
use offshoot_types::json::RawJson;

use super::*;

/// A content of one letter; `-` is no file.
fn content(letter: &str) -> Option<ContentId> {
    let letter = letter.bytes().next().unwrap();
    (letter != b'-').then(|| ContentId::new(letter.into()))
}

/// A change by an agent; how its call ended is a mark after its name.
fn record(agent: &str, before: &str, after: &str) -> Traced {
    let call = agent.trim_start_matches(char::is_alphabetic);
    Traced {
        writer: Writer {
            agent: AgentId::new(agent.trim_end_matches(call)),
            definition: "general".to_owned(),
            at: Timestamp::new(0),
        },
        call: CallId::new(call),
        path: "/w/f".to_owned(),
        before: content(before),
        after: content(after),
    }
}

/// Checks what agent `a` did to the file, which is `now`; `-` is no file, `x` what nobody recorded.
///
/// A call that ended in a conflict is an agent with `!`, one that failed has `?`, one that was cut off
/// `~` and one without an outcome `.`.
#[track_caller]
fn check(history: &[(&str, &str, &str)], now: &str, expected: &[(&str, &str, Option<&str>)]) {
    let records: Vec<Traced> = history
        .iter()
        .map(|(agent, before, after)| record(agent, before, after))
        .collect();
    let agents = BTreeSet::from([AgentId::new("a")]);
    let failed = |kind| Outcome::error(kind, "why");
    let fate = |record: &Traced| {
        let outcome = match record.call.as_str() {
            "." => None,
            "!" => Some(failed(ErrorKind::Conflict)),
            "?" => Some(failed(ErrorKind::Failed)),
            "~" => Some(failed(ErrorKind::Interrupted)),
            _ => Some(Outcome::output(RawJson::of(&"done"))),
        };
        Fate::of(outcome.as_ref())
    };
    let now = match content(now) {
        None => Now::Absent,
        Some(_) if now == "x" => Now::Unknown,
        Some(content) => Now::Known(content),
    };
    let files = histories(&records, fate);
    let found = files
        .get("/w/f")
        .map_or(Vec::new(), |history| of_file(history, &agents, &now));
    let kept = |why: &str| match why {
        "unknown" => Kept::Unknown,
        why => Kept::Touched(why.to_owned()),
    };
    let expected: Vec<FileChange> = expected
        .iter()
        .map(|(before, after, why)| FileChange {
            path: "/w/f".to_owned(),
            since: Timestamp::new(0),
            before: content(before),
            after: content(after),
            kept: why.map(kept),
        })
        .collect();
    assert_eq!(found, expected, "{history:?} {now:?}");
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
}

#[test]
fn a_change_that_was_cut_off_is_not_shown_as_made_where_nobody_can_tell() {
    for cut_off in ["a~", "a."] {
        check(&[(cut_off, "1", "2")], "1", &[]);
        check(&[(cut_off, "1", "2")], "2", &[("1", "2", None)]);
        check(&[(cut_off, "1", "2")], "x", &[("1", "2", Some("unknown"))]);
        let edited = Some("it was edited since");
        let after_another = [("a", "1", "2"), (cut_off, "2", "3")];
        let told = [("1", "2", edited), ("2", "3", Some("unknown"))];
        check(&after_another, "x", &told);
    }
    check(&[("b~", "1", "2")], "x", &[]);
}

#[test]
fn what_was_put_back_is_as_if_it_had_never_been_made() {
    let two = [("a", "1", "2"), ("a", "2", "3")];
    check(&two, "1", &[]);
    check(&two, "2", &[("1", "2", None)]);
    check(&[("a", "-", "1"), ("a", "1", "2")], "-", &[]);
    // Going on afterwards is nothing that somebody else did.
    let on = [("a", "1", "2"), ("a", "2", "3"), ("a", "1", "4")];
    check(&on, "4", &[("1", "4", None)]);
    check(&on, "1", &[]);
    // Nobody puts back what others did in between.
    let between = "somebody who is no agent of this session edited it in between";
    let others = [("a", "1", "2"), ("a", "x", "3")];
    let since = Some("it was edited since");
    let apart = [("1", "2", Some(between)), ("x", "3", since)];
    check(&others, "1", &apart);
}

#[test]
fn what_no_agent_wrote_is_neither_a_file_of_theirs_nor_none() {
    let records = [record("a", "-", "1")];
    let agents = BTreeSet::from([AgentId::new("a")]);
    let files = histories(&records, |_| Fate::Likely);
    let found = of_file(
        &files["/w/f"],
        &agents,
        &Now::Other("it is a link".to_owned()),
    );
    let kept = found[0].kept.as_ref().map(Kept::why);
    assert_eq!(kept, Some("it is a link"));
}

#[test]
fn a_change_is_shown_as_a_diff() {
    let text = |text: &str| Some(text.as_bytes().to_vec());
    assert_eq!(
        diff(None, text("one\n"), "f"),
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+one\n"
    );
    let binary = diff(Some(vec![0xff]), text("one\n"), "f");
    assert_eq!(binary, "Binary files a/f and b/f differ\n");
    let empty = diff(None, text(""), "f");
    assert_eq!(empty, "--- /dev/null\n+++ b/f\n");
}

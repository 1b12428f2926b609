//! What can never be in a log, and what a log adds up to.

use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, Pos, Seq, Timestamp, TreeId};
use offshoot_types::settlement::Status;
use offshoot_types::tree::Broken;

use crate::write::{
    Log, call_started, child, completion, ended, family, finished, prompted, replied, root,
    settled, started,
};

#[track_caller]
fn check(log: &Log, agent: &str, event: Event, expected: Broken) {
    let mut log = log.clone();
    let before = log.tree.pos();
    let violation = log.add(agent, event).unwrap_err();
    assert_eq!(violation.what, expected);
    assert_eq!(log.tree.pos(), before, "a refused entry leaves no trace");
}

/// The blocking child has settled; the root's call has not returned yet.
fn one_settled() -> Log {
    family().with([
        ("kid-a", replied(&[])),
        ("kid-a", ended(1)),
        ("kid-a", settled(1, Status::Completed)),
    ])
}

/// Both children have settled, and the root's turn is over.
fn all_settled() -> Log {
    one_settled().with([
        ("kid-b", replied(&[])),
        ("kid-b", ended(1)),
        ("kid-b", settled(1, Status::Completed)),
        ("root", finished("a", &["kid-a"])),
        ("root", replied(&[])),
        ("root", ended(1)),
    ])
}

#[test]
fn r1_places_have_no_gaps() {
    let mut tree = family().tree;
    let entry = |pos, seq| Entry {
        tree: TreeId::of(AgentId::new("root")),
        pos,
        agent: AgentId::new("root"),
        seq,
        at: Timestamp::ZERO,
        event: prompted("x"),
    };
    let (pos, seq) = (
        tree.pos().next(),
        tree.agent(&AgentId::new("root")).unwrap().seq.next(),
    );
    for (pos, seq) in [
        (pos.next(), seq),
        (Pos::ZERO, seq),
        (pos, seq.next()),
        (pos, Seq::ZERO),
    ] {
        assert_eq!(tree.apply(&entry(pos, seq)).unwrap_err().what, Broken::Gap);
    }
    tree.apply(&entry(pos, seq)).unwrap();
}

#[test]
fn an_agent_is_born_once_and_of_a_call_that_is_open_for_it() {
    check(&family(), "root", root(), Broken::Birth);
    check(&family(), "kid-a", child("a", false), Broken::Birth);
    check(&family(), "kid-c", child("a", false), Broken::Birth);
    check(&family(), "kid-c", child("z", false), Broken::Birth);
    check(&family(), "stranger", prompted("x"), Broken::Birth);
    check(&Log::default(), "not the root", root(), Broken::Birth);
}

#[test]
fn turns_follow_each_other() {
    check(&family(), "root", started(1, 2, None), Broken::Turn);
    check(&all_settled(), "root", ended(1), Broken::Turn);
    check(&all_settled(), "root", replied(&[]), Broken::Turn);
    check(&all_settled(), "root", started(1, 3, None), Broken::Turn);
    check(&family(), "root", ended(1), Broken::Call);
    check(&family(), "root", completion("kid-b", 1), Broken::Mail);
    check(&one_settled(), "root", completion("kid-b", 1), Broken::Mail);
}

#[test]
fn a_turn_consumes_the_first_of_the_queue() {
    let log = all_settled().with([("root", prompted("first")), ("root", prompted("second"))]);
    check(&log, "root", started(1, 2, Some("second")), Broken::Queue);
    check(&log, "root", started(1, 2, Some("p1")), Broken::Queue);
    check(&log, "root", prompted("first"), Broken::Queue);
    check(&log, "root", prompted("p1"), Broken::Queue);
    let log = log.with([("root", started(1, 2, Some("first")))]);
    assert_eq!(
        log.tree.agent(&AgentId::new("root")).unwrap().queue.len(),
        1
    );
}

#[test]
fn calls_and_outcomes_pair() {
    check(&family(), "root", replied(&[]), Broken::Call);
    check(&family(), "root", finished("b", &[]), Broken::Call);
    check(&family(), "root", finished("z", &[]), Broken::Call);
    check(&family(), "root", call_started("a", None), Broken::Call);
    check(&family(), "kid-a", replied(&["x", "x"]), Broken::Call);
}

#[test]
fn r14_mail_is_told_once_by_the_parent_in_the_form_that_fits() {
    // Not settled yet, not our child, a call waits for it.
    check(&family(), "root", finished("a", &["kid-a"]), Broken::Mail);
    check(
        &one_settled(),
        "kid-b",
        completion("kid-a", 1),
        Broken::Mail,
    );
    check(&one_settled(), "root", completion("kid-a", 1), Broken::Mail);
    let log = all_settled().with([("root", completion("kid-b", 1))]);
    check(&log, "root", completion("kid-b", 1), Broken::Mail);
    check(&log, "root", completion("kid-a", 1), Broken::Mail);
    assert!(
        log.tree
            .agent(&AgentId::new("root"))
            .unwrap()
            .mail
            .is_empty()
    );
}

#[test]
fn r13_a_run_settles_once_and_between_turns() {
    check(
        &family(),
        "kid-a",
        settled(1, Status::Completed),
        Broken::Settle,
    );
    check(
        &one_settled(),
        "kid-a",
        settled(1, Status::Completed),
        Broken::Settle,
    );
    check(
        &all_settled(),
        "root",
        settled(2, Status::Completed),
        Broken::Settle,
    );
    check(&all_settled(), "root", started(2, 2, None), Broken::Settle);
}

#[test]
fn r18_a_run_does_not_settle_before_its_children() {
    let log = one_settled().with([
        ("root", finished("a", &["kid-a"])),
        ("root", replied(&[])),
        ("root", ended(1)),
    ]);
    check(
        &log,
        "root",
        settled(1, Status::Completed),
        Broken::Children,
    );
    all_settled().with([("root", settled(1, Status::Completed))]);
}

#[test]
fn x_06_a_completion_is_never_inside_a_turn() {
    let log = one_settled().with([
        ("kid-b", replied(&[])),
        ("kid-b", ended(1)),
        ("kid-b", settled(1, Status::Completed)),
    ]);
    check(&log, "root", completion("kid-b", 1), Broken::Turn);
}

#[test]
fn a_later_run_of_a_child_is_told_as_a_completion() {
    let log = all_settled().with([
        ("root", completion("kid-b", 1)),
        ("kid-a", prompted("again")),
        ("kid-a", started(2, 2, Some("again"))),
        ("kid-a", replied(&[])),
        ("kid-a", ended(2)),
        ("kid-a", settled(2, Status::Completed)),
    ]);
    let root = log.tree.agent(&AgentId::new("root")).unwrap();
    assert_eq!(root.mail.len(), 1);
    log.with([("root", completion("kid-a", 2))]);
}

#[test]
fn the_walk_has_every_parent_before_its_children() {
    let tree = family().tree;
    let walk: Vec<&str> = tree.walk().into_iter().map(AgentId::as_str).collect();
    assert_eq!(walk, ["root", "kid-a", "kid-b"]);
    assert_eq!(tree.open_runs(), 3);
    assert_eq!(
        tree.agent(&AgentId::new("root"))
            .unwrap()
            .open_children
            .len(),
        2
    );
}

/// What a rewind of the root to its prompt writes, with these of its children and their runs.
fn rewound(drops: &[&str], consumes: &[&str]) -> Event {
    let first = |id: &&str| offshoot_types::id::RunId::first(AgentId::new(*id));
    Event::Rewound {
        to: None,
        hides: Vec::new(),
        drops: drops.iter().map(|id| AgentId::new(*id)).collect(),
        consumes: consumes.iter().map(first).collect(),
        counts: offshoot_types::message::Usage::default(),
    }
}

#[test]
fn r8_a_child_that_is_alive_is_not_dropped() {
    let alive = one_settled().with([
        ("root", finished("a", &["kid-a"])),
        ("root", replied(&[])),
        ("root", ended(1)),
    ]);
    check(&alive, "root", rewound(&["kid-b"], &[]), Broken::Children);
    check(
        &alive,
        "root",
        rewound(&["stranger"], &[]),
        Broken::Children,
    );
    check(&alive, "root", rewound(&[], &["kid-b"]), Broken::Mail);
    let alive = alive.with([("root", rewound(&["kid-a"], &[]))]);
    assert!(alive.tree.agent(&AgentId::new("kid-a")).unwrap().hidden);
    check(&family(), "root", rewound(&[], &[]), Broken::Turn);
}

#[test]
fn r8_mail_of_a_dropped_child_is_consumed_once_and_never_told() {
    let over = all_settled();
    check(&over, "root", rewound(&["kid-b"], &[]), Broken::Children);
    let mut log = over.with([("root", rewound(&["kid-b"], &["kid-b"]))]);
    let root = log.tree.agent(&AgentId::new("root")).unwrap();
    assert!(root.mail.is_empty() && root.waking_mail == 0);
    check(&log, "root", completion("kid-b", 1), Broken::Mail);
    check(&log, "root", rewound(&["kid-b"], &["kid-b"]), Broken::Mail);
    // What it does later is nobody's mail either.
    log = log.with([
        ("kid-b", prompted("more")),
        ("kid-b", started(2, 2, Some("more"))),
        ("kid-b", replied(&[])),
        ("kid-b", ended(2)),
        ("kid-b", settled(2, Status::Completed)),
    ]);
    let root = log.tree.agent(&AgentId::new("root")).unwrap();
    assert!(root.mail.is_empty() && root.waking_mail == 0);
}

#[test]
fn r8_a_rewind_consumes_no_mail_of_a_child_that_it_keeps() {
    let over = all_settled();
    check(&over, "root", rewound(&[], &["kid-b"]), Broken::Mail);
    check(&over, "root", rewound(&["kid-a"], &["kid-b"]), Broken::Mail);
}

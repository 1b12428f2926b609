//! Work that a tree left undone: which limit stopped an agent, and whether it was one of the run.

use offshoot_types::caps::{Caps, Span};
use offshoot_types::event::{Entry, Event, Origin, Parent, TurnEnd};
use offshoot_types::id::{AgentId, CallId, MessageId, Pos, RunNo, Seq, Timestamp, TreeId, TurnNo};
use offshoot_types::permission::{Action, Decision};
use offshoot_types::settlement::{CancelledBy, Cap, Settlement, Status, Unread, UnreadResult};
use offshoot_types::tree::{RunLimit, Unfinished};

use crate::write::{
    Log, call_started, child, finished, prompted, replied, root, settled, spawned, started,
};

/// When every entry of the log was written.
const START: u64 = 5;

/// Gives an agent caps; its definition sets those of `own`.
fn capped(event: Event, caps: Caps, own: Caps) -> Event {
    let Event::Spawned(mut spawned) = event else {
        panic!("not a birth");
    };
    spawned.terms.caps = caps;
    spawned.terms.own_caps = own;
    Event::Spawned(spawned)
}

/// A root that has used 8 tokens with its child, and the child, which has used 4.
fn log(root_caps: Caps, kid: Caps, own: Caps) -> Log {
    Log::default().with([
        ("root", capped(root(), root_caps, root_caps)),
        ("root", prompted("p1")),
        ("root", started(1, 1, Some("p1"))),
        ("root", replied(&["a"])),
        ("root", call_started("a", Some("kid"))),
        ("kid", capped(child("a", false), kid, own)),
        ("kid", prompted("p2")),
        ("kid", started(1, 1, Some("p2"))),
        ("kid", replied(&[])),
    ])
}

fn entry(event: Event, after: u64) -> Entry {
    Entry {
        tree: TreeId::of(AgentId::new("root")),
        pos: Pos::new(10),
        agent: AgentId::new("kid"),
        seq: Seq::new(5),
        at: Timestamp::new(START + after),
        event,
    }
}

#[track_caller]
fn check((root, kid, own): (Caps, Caps, Caps), cap: Cap, after: u64, counts: bool) {
    let end = TurnEnd::HandedBack(cap);
    let turn = TurnNo::new(1);
    let mut unfinished = Unfinished::default();
    let tree = log(root, kid, own).tree;
    unfinished.take(
        &AgentId::new("root"),
        &tree,
        &entry(Event::TurnEnded { turn, end }, after),
    );
    let limit = unfinished.stopped.get(&AgentId::new("kid"));
    assert_eq!(limit, counts.then_some(&RunLimit::Cap(cap)));
    assert_eq!(unfinished.is_empty(), !counts);
}

fn tokens(tokens: u64) -> Caps {
    Caps {
        tokens: Some(tokens),
        ..Caps::default()
    }
}

fn seconds(seconds: u64) -> Caps {
    Caps {
        time: Some(Span::secs(seconds)),
        ..Caps::default()
    }
}

#[test]
fn r19_a_limit_counts_unless_the_definition_of_a_child_sets_it() {
    let none = Caps::default();
    let steps = Caps {
        steps: Some(1),
        ..none
    };
    check((none, steps, none), Cap::Steps, 0, true);
    check((none, steps, steps), Cap::Steps, 0, false);
    check((none, none, none), Cap::Stall, 0, true);
}

#[test]
fn r19_of_two_caps_the_one_that_has_less_left_stopped_the_child() {
    let none = Caps::default();
    check((tokens(100), tokens(10), tokens(10)), Cap::Tokens, 0, false);
    check((tokens(9), tokens(10), tokens(10)), Cap::Tokens, 0, true);
    check((tokens(100), tokens(10), none), Cap::Tokens, 0, true);
    check((tokens(9), none, none), Cap::Tokens, 0, true);
    check((none, seconds(10), seconds(10)), Cap::Time, 9000, false);
    check(
        (seconds(5), seconds(10), seconds(10)),
        Cap::Time,
        4000,
        true,
    );
}

#[test]
fn r19_requests_that_no_one_could_answer_are_counted() {
    let tree = log(Caps::default(), Caps::default(), Caps::default()).tree;
    let mut unfinished = Unfinished::default();
    for action in [Action::Ask, Action::Deny, Action::Allow] {
        let decided = Event::Decided {
            call: CallId::new("c"),
            decision: Decision {
                action,
                layer: "host".to_owned(),
                rule: None,
            },
            grant: None,
            reason: None,
        };
        let entry = entry(decided, 0);
        unfinished.take(&AgentId::new("root"), &tree, &entry);
        let mut of_another = Unfinished::default();
        of_another.take(&AgentId::new("sibling"), &tree, &entry);
        assert!(of_another.is_empty(), "it is not below that agent");
    }
    assert_eq!(unfinished.unanswered, 1);
}

#[test]
fn r19_results_that_the_run_has_not_read_count_unless_their_agents_were_cancelled() {
    let none = Caps::default();
    let tree = log(none, none, none).tree;
    let result = |status: &str| UnreadResult {
        agent: AgentId::new("kid"),
        definition: "worker".to_owned(),
        status: status.to_owned(),
        reader: AgentId::new("root"),
        begins: None,
    };
    let settled = |agent: &str| {
        let mut settlement = Settlement::new(Status::Completed);
        settlement.unread = Some(Box::new(Unread {
            results: ["completed", "lost", "cancelled"].map(result).to_vec(),
            left_out: 1,
        }));
        let event = Event::Settled {
            run: RunNo::new(1),
            settlement,
            untold: false,
        };
        Entry {
            agent: AgentId::new(agent),
            ..entry(event, 0)
        }
    };
    let mut unfinished = Unfinished::default();
    // A child's own are named to its parent, which can do something about them.
    unfinished.take(&AgentId::new("root"), &tree, &settled("kid"));
    assert!(unfinished.is_empty());
    unfinished.take(&AgentId::new("root"), &tree, &settled("root"));
    assert_eq!((unfinished.unread, unfinished.is_empty()), (3, false));
}

/// How the fold counts a child that was cancelled with its parent, whose turn then ends.
fn stopped_with_parent(end: TurnEnd, by: CancelledBy) -> Unfinished {
    let none = Caps::default();
    let tree = log(seconds(5), none, none).tree;
    let settled = Event::Settled {
        run: RunNo::new(1),
        settlement: Settlement::new(Status::Cancelled(by)),
        untold: false,
    };
    let turn = TurnNo::new(1);
    let ended = Entry {
        agent: AgentId::new("root"),
        ..entry(Event::TurnEnded { turn, end }, 5000)
    };
    let mut unfinished = Unfinished::default();
    unfinished.take(&AgentId::new("root"), &tree, &entry(settled, 4500));
    unfinished.take(&AgentId::new("root"), &tree, &ended);
    unfinished
}

#[test]
fn r19_a_child_that_ends_with_a_parent_whose_limit_is_reached_counts_like_the_parent() {
    for end in [
        TurnEnd::HandedBack(Cap::Time),
        TurnEnd::Exhausted(Cap::Time),
    ] {
        let unfinished = stopped_with_parent(end, CancelledBy::Ancestor);
        let by_limit = unfinished.by_limit();
        assert_eq!(by_limit.get(&RunLimit::Cap(Cap::Time)), Some(&2));
        assert!(unfinished.stopped.contains_key(&AgentId::new("kid")));
    }
}

#[test]
fn r19_a_child_that_was_cancelled_on_purpose_does_not_count() {
    let aborted = TurnEnd::Aborted(CancelledBy::User);
    assert!(stopped_with_parent(aborted, CancelledBy::Ancestor).is_empty());
    assert!(stopped_with_parent(TurnEnd::Finished, CancelledBy::Ancestor).is_empty());
    let late = stopped_with_parent(TurnEnd::HandedBack(Cap::Time), CancelledBy::Parent);
    assert!(!late.stopped.contains_key(&AgentId::new("kid")));
}

/// A root, its child and a grandchild, all at work.
fn three_levels() -> Log {
    let none = Caps::default();
    let parent = Parent {
        agent: AgentId::new("kid"),
        call: CallId::new("b"),
        message: MessageId::new("p2"),
        background: true,
        host: false,
    };
    let mut log = log(seconds(5), none, none);
    // The last reply of the child has no call: this one has.
    log.add("kid", replied(&["b"])).unwrap();
    log.with([
        ("kid", call_started("b", Some("grandkid"))),
        ("grandkid", spawned(Origin::Task(parent), 2)),
        ("grandkid", prompted("p3")),
        ("grandkid", started(1, 1, Some("p3"))),
        ("kid", finished("b", &[])),
    ])
}

/// Folds ends of agents in the order in which they are written.
fn folded(mut log: Log, ends: &[(&'static str, Event)]) -> Unfinished {
    let mut unfinished = Unfinished::default();
    for (agent, event) in ends {
        let entry = Entry {
            agent: AgentId::new(*agent),
            ..entry(event.clone(), 5000)
        };
        unfinished.take(&AgentId::new("root"), &log.tree, &entry);
        log.add(agent, event.clone()).unwrap();
    }
    unfinished
}

fn turn_ended(end: TurnEnd) -> Event {
    let turn = TurnNo::new(1);
    Event::TurnEnded { turn, end }
}

#[test]
fn r19_agents_on_every_level_below_a_limit_count_like_the_agent_that_reached_it() {
    let stopped = Status::Cancelled(CancelledBy::Ancestor);
    let aborted = TurnEnd::Aborted(CancelledBy::Ancestor);
    for (root_ends, counts) in [
        (TurnEnd::HandedBack(Cap::Time), 3),
        (TurnEnd::Aborted(CancelledBy::User), 0),
    ] {
        let ends = [
            ("grandkid", turn_ended(aborted.clone())),
            ("grandkid", settled(1, stopped.clone())),
            ("kid", turn_ended(aborted.clone())),
            ("kid", settled(1, stopped.clone())),
            ("root", finished("a", &["kid"])),
            ("root", turn_ended(root_ends)),
        ];
        let unfinished = folded(three_levels(), &ends);
        let by_time = unfinished.by_limit().remove(&RunLimit::Cap(Cap::Time));
        assert_eq!(by_time.unwrap_or(0), counts);
    }
}

#[test]
fn r19_what_an_agent_cancelled_on_purpose_takes_with_it_does_not_count() {
    let ends = [
        ("kid", turn_ended(TurnEnd::Finished)),
        (
            "grandkid",
            turn_ended(TurnEnd::Aborted(CancelledBy::Ancestor)),
        ),
        (
            "grandkid",
            settled(1, Status::Cancelled(CancelledBy::Ancestor)),
        ),
        ("kid", settled(1, Status::Cancelled(CancelledBy::Parent))),
        ("root", finished("a", &["kid"])),
        ("root", turn_ended(TurnEnd::HandedBack(Cap::Time))),
    ];
    let unfinished = folded(three_levels(), &ends);
    let stopped: Vec<&str> = unfinished.stopped.keys().map(AgentId::as_str).collect();
    assert_eq!(stopped, ["root"]);
}

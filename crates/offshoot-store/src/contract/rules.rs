//! The rules of the log: every store refuses the same entries, before they are stored.
//!
//! Each case is a good log and an entry that cannot follow it. The bad entry comes
//! behind a good one in the same append, so that a store which finds it half way
//! has something to undo.

use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, MessageId, Pos, RunNo, Seq, TurnNo};
use offshoot_types::message::{Author, Usage};
use offshoot_types::store::StoreErrorKind;
use offshoot_types::tree::{Broken, Tree};

use super::scene::{Child, Scene, run};
use super::{Handle, append, write};

/// One entry that breaks a rule.
struct Case {
    name: &'static str,
    breaks: Broken,
    /// What the log holds before.
    log: fn(&mut Scene),
    /// The entry that cannot follow.
    bad: fn(&mut Scene),
}

const fn case(
    name: &'static str,
    breaks: Broken,
    log: fn(&mut Scene),
    bad: fn(&mut Scene),
) -> Case {
    Case {
        name,
        breaks,
        log,
        bad,
    }
}

/// A turn of the root is under way, which is how every scene begins.
fn in_a_turn(_: &mut Scene) {}

fn between_turns(scene: &mut Scene) {
    scene.say("s", "m", "well").end("s");
}

fn settled(scene: &mut Scene) {
    between_turns(scene);
    scene.settle("s");
}

fn with_open_calls(scene: &mut Scene) {
    scene.call("s", "m", "read", &["c", "d"]);
}

/// The call of the root waits for its child, which is at work.
fn with_a_child(scene: &mut Scene) {
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene.turn("child", Some("child-ask"));
}

/// The call is over, and the child is still at work.
fn with_a_child_in_the_background(scene: &mut Scene) {
    with_a_child(scene);
    scene
        .finish("s", "c", &[])
        .say("s", "m2", "started")
        .end("s");
}

/// The child has ended, and its parent has not been told.
fn with_mail(scene: &mut Scene) {
    with_a_child_in_the_background(scene);
    scene.say("child", "m3", "3 files").end("child");
    scene.settle("child");
}

fn rewound(drops: &[&str], consumes: &[(&str, u32)]) -> Event {
    Event::Rewound {
        to: Some(MessageId::new("ask")),
        hides: vec![MessageId::new("m")],
        drops: drops.iter().map(|id| AgentId::new(*id)).collect(),
        consumes: consumes.iter().map(|(id, no)| run(id, *no)).collect(),
        counts: Usage::default(),
    }
}

fn steered(prompt: &str) -> Event {
    let prompt = MessageId::new(prompt);
    Event::Steered { prompt }
}

fn started(run: u32, turn: u32) -> Event {
    Event::TurnStarted {
        run: RunNo::new(run),
        turn: TurnNo::new(turn),
        prompt: None,
    }
}

fn call_started(call: &str) -> Event {
    Event::CallStarted {
        call: CallId::new(call),
        child: None,
    }
}

/// Writes an entry in a place that is not the next.
fn misplaced(scene: &mut Scene) {
    scene.resume("s", Seq::new(70)).prompt("s", "p", "more");
}

const CASES: &[Case] = &[
    case("a gap", Broken::Gap, in_a_turn, misplaced),
    case("an unknown agent", Broken::Birth, in_a_turn, |scene| {
        scene.prompt("nobody", "p", "more");
    }),
    case("a second root", Broken::Birth, in_a_turn, |scene| {
        scene.resume("s", Seq::ZERO).root();
    }),
    case(
        "a child without its call",
        Broken::Call,
        in_a_turn,
        |scene| {
            scene.spawn("s", "never", "child", Child::Opaque);
        },
    ),
    case(
        "a child of another call",
        Broken::Birth,
        with_a_child,
        |scene| {
            let mut other = Scene::new("s");
            other.spawn("s", "c", "other", Child::Opaque);
            for new in other.take().entries.drain(1..) {
                scene.event("other", new.event);
            }
        },
    ),
    case("a second turn", Broken::Turn, in_a_turn, |scene| {
        scene.event("s", started(1, 2));
    }),
    case(
        "a turn that is left out",
        Broken::Turn,
        between_turns,
        |scene| {
            scene.event("s", started(1, 3));
        },
    ),
    case("the end of no turn", Broken::Turn, between_turns, |scene| {
        scene.end("s");
    }),
    case(
        "a reply outside a turn",
        Broken::Turn,
        between_turns,
        |scene| {
            scene.say("s", "late", "more");
        },
    ),
    case(
        "another role within a turn",
        Broken::Turn,
        in_a_turn,
        |scene| {
            scene.becomes("s", "plan");
        },
    ),
    case("a rewind within a turn", Broken::Turn, in_a_turn, |scene| {
        scene.event("s", rewound(&[], &[]));
    }),
    case(
        "a prompt that comes twice",
        Broken::Queue,
        in_a_turn,
        |scene| {
            scene.prompt("s", "ask", "again");
        },
    ),
    case(
        "a prompt out of order",
        Broken::Queue,
        between_turns,
        |scene| {
            scene.prompt("s", "p1", "one").prompt("s", "p2", "two");
            scene.turn("s", Some("p2"));
        },
    ),
    case(
        "a prompt that was consumed",
        Broken::Queue,
        in_a_turn,
        |scene| {
            scene.event("s", steered("ask"));
        },
    ),
    case(
        "a reply while calls are open",
        Broken::Call,
        with_open_calls,
        |scene| {
            scene.call("s", "m2", "read", &["e"]);
        },
    ),
    case("two calls of one id", Broken::Call, in_a_turn, |scene| {
        scene.call("s", "m", "read", &["c", "c"]);
    }),
    case(
        "the end of a turn with an open call",
        Broken::Call,
        with_open_calls,
        |scene| {
            scene.end("s");
        },
    ),
    case(
        "a steered prompt behind an open call",
        Broken::Call,
        with_open_calls,
        |scene| {
            scene.prompt("s", "p", "more").event("s", steered("p"));
        },
    ),
    case(
        "a decision on no call",
        Broken::Call,
        with_open_calls,
        |scene| {
            scene.allows("s", "never");
        },
    ),
    case(
        "a question of no call",
        Broken::Call,
        with_open_calls,
        |scene| {
            scene.asks("s", "never");
        },
    ),
    case(
        "a question that is open",
        Broken::Call,
        with_open_calls,
        |scene| {
            scene.asks("s", "c").asks("s", "c");
        },
    ),
    case(
        "a call that starts twice",
        Broken::Call,
        with_open_calls,
        |scene| {
            scene
                .event("s", call_started("c"))
                .event("s", call_started("c"));
        },
    ),
    case("an outcome of no call", Broken::Call, in_a_turn, |scene| {
        scene.finish("s", "never", &[]);
    }),
    case("a second outcome", Broken::Call, with_open_calls, |scene| {
        scene.finish("s", "c", &[]).finish("s", "c", &[]);
    }),
    case(
        "mail of a run that is open",
        Broken::Mail,
        with_a_child_in_the_background,
        |scene| {
            scene.complete("s", "told", ("child", 1));
        },
    ),
    case("mail of no run", Broken::Mail, with_mail, |scene| {
        scene.complete("s", "told", ("child", 2));
    }),
    case(
        "mail that is told twice",
        Broken::Mail,
        with_mail,
        |scene| {
            scene.complete("s", "told", ("child", 1));
            scene.complete("s", "told again", ("child", 1));
        },
    ),
    case(
        "mail that a call waits for",
        Broken::Mail,
        with_a_child,
        |scene| {
            scene.say("child", "m3", "3 files").end("child");
            scene.settle("child").complete("s", "told", ("child", 1));
        },
    ),
    case(
        "a settlement within a turn",
        Broken::Settle,
        in_a_turn,
        |scene| {
            scene.settle("s");
        },
    ),
    case("a second settlement", Broken::Settle, settled, |scene| {
        let mut other = Scene::opened("s");
        other.settle("s");
        for settled in other.take().entries.drain(3..) {
            scene.event("s", settled.event);
        }
    }),
    case(
        "a turn of a run that is over",
        Broken::Settle,
        settled,
        |scene| {
            scene.event("s", started(1, 2));
        },
    ),
    case(
        "a settlement before a child's",
        Broken::Children,
        with_a_child_in_the_background,
        |scene| {
            scene.settle("s");
        },
    ),
    case(
        "a rewind that drops a child at work",
        Broken::Children,
        with_a_child_in_the_background,
        |scene| {
            scene.event("s", rewound(&["child"], &[]));
        },
    ),
    case(
        "a rewind that leaves mail",
        Broken::Children,
        with_mail,
        |scene| {
            scene.event("s", rewound(&["child"], &[]));
        },
    ),
];

async fn log(store: &Handle, scene: &Scene) -> Vec<Entry> {
    let entries = store.entries(scene.tree(), Pos::ZERO, usize::MAX).await;
    entries.expect("it can be read")
}

/// Something that may come at any time.
fn titled(scene: &mut Scene, title: &str) {
    let title = title.to_owned();
    let by = Author::Human;
    scene.event("s", Event::Titled { title, by });
}

/// Returns which rule an append breaks behind a log.
fn broken_rule(log: &[Entry], scene: &mut Scene) -> Option<Broken> {
    let mut tree = Tree::fold(log).expect("a good log");
    let append = scene.take();
    append.entries.into_iter().find_map(|new| {
        let entry = Entry {
            tree: scene.tree().clone(),
            pos: tree.pos().next(),
            agent: new.agent,
            seq: new.seq,
            at: append.at,
            event: new.event,
        };
        tree.apply(&entry).err().map(|violation| violation.what)
    })
}

/// R18.
pub(super) async fn an_entry_that_breaks_a_rule_is_refused_and_leaves_nothing(
    a: Handle,
    b: Handle,
) {
    for case in CASES {
        let name = case.name;
        let mut scene = Scene::opened("s");
        (case.log)(&mut scene);
        let lease = write(&a, &mut scene).await;
        let before = log(&b, &scene).await;

        let mut bad = scene.clone();
        titled(&mut bad, "half");
        (case.bad)(&mut bad);
        assert_eq!(
            broken_rule(&before, &mut bad.clone()),
            Some(case.breaks),
            "{name}"
        );
        let refused = match case.breaks {
            Broken::Children => StoreErrorKind::Refused,
            _ => StoreErrorKind::Conflict,
        };
        assert_eq!(append(&a, &lease, &mut bad).await, Err(refused), "{name}");
        assert_eq!(log(&b, &scene).await, before, "{name}");

        titled(&mut scene, "whole");
        assert_eq!(append(&a, &lease, &mut scene).await, Ok(()), "{name}");
        let after = log(&b, &scene).await;
        assert_eq!(after.len(), before.len() + 1, "{name}");
        assert!(Tree::fold(&after).is_ok(), "{name}");
        a.delete(lease).await.expect("it is ours");
    }
}

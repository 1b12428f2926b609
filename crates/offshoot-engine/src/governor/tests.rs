//! The governor, with a handful of askers and a clock that the test moves.

use futures_core::stream::BoxStream;
use futures_util::FutureExt;
use offshoot_types::cancel::Cancel;
use offshoot_types::model::{Chunk, ModelError, Request};

use super::*;

/// A model of an account, which is never asked.
struct Silent(u64);

impl Model for Silent {
    fn stream(&self, _: Request, _: Cancel) -> BoxStream<'static, Result<Chunk, ModelError>> {
        Box::pin(futures_util::stream::empty())
    }

    fn account(&self) -> u64 {
        self.0
    }
}

impl Governors {
    /// Returns the governor of a model of one account.
    fn named(&self, name: &str) -> Governor {
        self.of(name, &Silent(1))
    }
}

fn granted(admission: Admission) -> Ticket {
    match admission {
        Admission::Granted(ticket) => ticket,
        Admission::Queued(_) => panic!("it has to wait"),
    }
}

fn queued(governor: &Governor) -> std::pin::Pin<Box<dyn Future<Output = Ticket>>> {
    match governor.admit(None) {
        Admission::Granted(_) => panic!("it is let through"),
        Admission::Queued(turn) => Box::pin(turn.come()),
    }
}

async fn pass(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn r28_without_a_complaint_everybody_is_let_through() {
    let governors = Governors::default();
    let tickets: Vec<Ticket> = (0..1_000)
        .map(|_| granted(governors.named("m").admit(None)))
        .collect();
    assert_eq!(tickets.len(), 1_000);
}

#[tokio::test(start_paused = true)]
async fn r28_one_complaint_holds_everybody_until_its_time_and_only_for_that_model() {
    let governors = Governors::default();
    let (one, other) = (governors.named("one"), governors.named("other"));
    let ticket = granted(one.admit(None));
    ticket.limited(20 * SECOND);
    drop(ticket);
    drop(granted(other.admit(None)));
    let mut waits = queued(&one);
    pass(19).await;
    assert!((&mut waits).now_or_never().is_none(), "too early");
    pass(1).await;
    assert!((&mut waits).now_or_never().is_some(), "the wait is over");
}

#[tokio::test(start_paused = true)]
async fn r28_a_later_complaint_holds_those_who_wait_already() {
    let governor = Governors::default().named("m");
    let (first, second) = (granted(governor.admit(None)), granted(governor.admit(None)));
    first.limited(5 * SECOND);
    let mut waits = queued(&governor);
    assert!((&mut waits).now_or_never().is_none());
    pass(4).await;
    second.limited(10 * SECOND);
    drop((first, second));
    pass(9).await;
    assert!(
        (&mut waits).now_or_never().is_none(),
        "the second one counts"
    );
    pass(1).await;
    assert!((&mut waits).now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn r28_afterwards_half_as_many_may_ask_and_each_answer_adds_one_until_it_is_as_before() {
    let governor = Governors::default().named("m");
    let open: Vec<Ticket> = (0..8).map(|_| granted(governor.admit(None))).collect();
    // One storm is one complaint, however many streams it hits.
    for ticket in &open {
        ticket.limited(SECOND);
    }
    // Answers to what was asked before it say nothing about what may be asked now.
    for ticket in &open {
        ticket.answered();
    }
    drop(open);
    pass(1).await;
    let mut open: Vec<Ticket> = (0..4).map(|_| granted(governor.admit(None))).collect();
    let mut fifth = queued(&governor);
    assert!((&mut fifth).now_or_never().is_none(), "four may ask");
    let answered = open.pop().expect("four");
    answered.answered();
    drop(answered);
    open.push((&mut fifth).now_or_never().expect("its turn"));
    open.push(granted(governor.admit(None)));
    let mut sixth = queued(&governor);
    assert!((&mut sixth).now_or_never().is_none(), "five may ask");
    for ticket in &open {
        ticket.answered();
    }
    open.push(
        (&mut sixth)
            .now_or_never()
            .unwrap_or_else(|| granted(governor.admit(None))),
    );
    open.extend((0..100).map(|_| granted(governor.admit(None))));
}

#[tokio::test(start_paused = true)]
async fn r28_one_that_was_asked_alone_may_be_asked_by_all_after_an_answer() {
    let governor = Governors::default().named("m");
    let ticket = granted(governor.admit(None));
    ticket.limited(SECOND);
    drop(ticket);
    pass(1).await;
    let ticket = granted(governor.admit(None));
    assert!(
        (&mut queued(&governor)).now_or_never().is_none(),
        "one at a time"
    );
    ticket.answered();
    let all: Vec<Ticket> = (0..16).map(|_| granted(governor.admit(None))).collect();
    drop((ticket, all));
}

#[tokio::test(start_paused = true)]
async fn r28_who_came_first_goes_first_and_who_left_is_passed_over() {
    let governor = Governors::default().named("m");
    let ticket = granted(governor.admit(None));
    ticket.limited(SECOND);
    drop(ticket);
    let mut first = queued(&governor);
    let leaver = queued(&governor);
    let mut last = queued(&governor);
    drop(leaver);
    pass(1).await;
    // The last one looks first, and lets the first through.
    assert!((&mut last).now_or_never().is_none());
    let ticket = (&mut first).now_or_never().expect("the first");
    assert!((&mut last).now_or_never().is_none());
    drop(ticket);
    assert!((&mut last).now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn r28_a_ticket_that_nobody_took_is_given_back() {
    let governor = Governors::default().named("m");
    let ticket = granted(governor.admit(None));
    ticket.limited(SECOND);
    drop(ticket);
    let first = queued(&governor);
    let mut second = queued(&governor);
    pass(1).await;
    // Looking sends the first its ticket, which it never takes.
    assert!((&mut second).now_or_never().is_none());
    drop(first);
    assert!((&mut second).now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn r28_those_who_queued_during_a_wait_are_let_through_one_by_one() {
    let governor = Governors::default().named("m");
    let ticket = granted(governor.admit(None));
    ticket.limited(SECOND);
    drop(ticket);
    let mut crowd: Vec<_> = (0..10).map(|_| queued(&governor)).collect();
    pass(1).await;
    let mut open = Vec::new();
    for answers in 1..=4 {
        open.extend(crowd.iter_mut().filter_map(|it| it.now_or_never()));
        assert_eq!(open.len(), answers, "one more with each answer");
        crowd.drain(..1);
        open[0].answered();
    }
}

#[tokio::test(start_paused = true)]
async fn r28_complaint_upon_complaint_does_not_lower_the_aim() {
    let governor = Governors::default().named("m");
    for streams in [16, 8, 4, 2, 1] {
        let open: Vec<Ticket> = (0..streams)
            .map(|_| granted(governor.admit(None)))
            .collect();
        open[0].limited(SECOND);
        drop(open);
        pass(1).await;
    }
    let mut open = vec![granted(governor.admit(None))];
    for _ in 0..3 {
        open[0].answered();
        open.push(granted(governor.admit(None)));
        assert!(matches!(governor.admit(None), Admission::Queued(_)));
    }
}

#[tokio::test(start_paused = true)]
async fn r28_who_could_not_use_its_ticket_comes_back_to_its_place() {
    let governor = Governors::default().named("m");
    let ticket = granted(governor.admit(None));
    ticket.limited(SECOND);
    drop(ticket);
    let Admission::Queued(turn) = governor.admit(None) else {
        panic!("it is let through")
    };
    let place = turn.place();
    pass(1).await;
    let ticket = turn.come().now_or_never().expect("its turn");
    let mut others = [queued(&governor), queued(&governor)];
    // It has no slot, and gives the ticket back: the next one gets it.
    drop(ticket);
    let first = (&mut others[0]).now_or_never().expect("the next one");
    let Admission::Queued(turn) = governor.admit(Some(place)) else {
        panic!("somebody else asks")
    };
    let mut soon = Box::pin(turn.come_soon());
    assert!((&mut soon).now_or_never().is_none());
    drop(first);
    assert!((&mut others[1]).now_or_never().is_none(), "it came later");
    assert!((&mut soon).now_or_never().expect("its turn").is_ok());
}

#[tokio::test(start_paused = true)]
async fn r28_nobody_keeps_a_slot_while_everybody_is_to_wait() {
    let governor = Governors::default().named("m");
    let (one, other) = (granted(governor.admit(None)), granted(governor.admit(None)));
    one.limited(SECOND);
    pass(1).await;
    let Admission::Queued(turn) = governor.admit(None) else {
        panic!("two ask, and one may")
    };
    let mut soon = Box::pin(turn.come_soon());
    assert!((&mut soon).now_or_never().is_none());
    other.limited(5 * SECOND);
    assert!((&mut soon).now_or_never().expect("it is told").is_err());
}

#[tokio::test(start_paused = true)]
async fn r28_models_of_one_name_and_of_two_accounts_do_not_wait_for_each_other() {
    let governors = Governors::default();
    granted(governors.of("m", &Silent(1)).admit(None)).limited(20 * SECOND);
    drop(granted(governors.of("m", &Silent(2)).admit(None)));
    drop(queued(&governors.of("m", &Silent(1))));
}

#[tokio::test(start_paused = true)]
async fn r28_governors_of_models_that_came_and_went_are_dropped() {
    let governors = Governors::default();
    granted(governors.of("m", &Silent(0)).admit(None)).limited(20 * SECOND);
    for account in 1..1_000 {
        drop(granted(governors.of("m", &Silent(account)).admit(None)));
    }
    assert!(governors.0.lock().unwrap().len() <= MANY);
    drop(queued(&governors.of("m", &Silent(0))));
}

//! Slots, with a handful of waiters.

use futures_util::FutureExt;

use super::*;

#[tokio::test]
async fn r27_resuming_goes_before_admitting_and_deeper_before_shallow() {
    let slots = Slots::new(1);
    let held = slots.take(Rank::Admitting, 0).await;
    let mut shallow = Box::pin(slots.take(Rank::Admitting, 1));
    let mut deep = Box::pin(slots.take(Rank::Admitting, 3));
    let mut resuming = Box::pin(slots.take(Rank::Resuming, 0));
    assert!((&mut shallow).now_or_never().is_none());
    assert!((&mut deep).now_or_never().is_none());
    assert!((&mut resuming).now_or_never().is_none());
    drop(held);
    assert!((&mut shallow).now_or_never().is_none());
    let first = (&mut resuming).now_or_never().expect("resuming first");
    drop(first);
    let second = (&mut deep).now_or_never().expect("deeper second");
    drop(second);
    assert!((&mut shallow).now_or_never().is_some());
}

#[tokio::test]
async fn r19_whoever_helps_comes_last_however_deep() {
    let slots = Slots::new(1);
    let held = slots.take(Rank::Admitting, 0).await;
    let mut helper = Box::pin(slots.take(Rank::Helping, 5));
    let mut agent = Box::pin(slots.take(Rank::Admitting, 0));
    assert!((&mut helper).now_or_never().is_none());
    assert!((&mut agent).now_or_never().is_none());
    drop(held);
    assert!((&mut helper).now_or_never().is_none());
    drop((&mut agent).now_or_never().expect("the agent first"));
    assert!((&mut helper).now_or_never().is_some());
}

#[tokio::test]
async fn a_slot_offered_to_a_waiter_that_left_goes_to_the_next() {
    let slots = Slots::new(1);
    let held = slots.take(Rank::Admitting, 0).await;
    let mut leaver = Box::pin(slots.take(Rank::Admitting, 5));
    let mut stayer = Box::pin(slots.take(Rank::Admitting, 1));
    assert!((&mut leaver).now_or_never().is_none());
    assert!((&mut stayer).now_or_never().is_none());
    drop(leaver);
    drop(held);
    assert!((&mut stayer).now_or_never().is_some());
    assert!(slots.take(Rank::Resuming, 0).now_or_never().is_some());
}

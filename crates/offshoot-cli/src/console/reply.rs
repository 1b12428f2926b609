//! The line that answers what is asked.
//!
//! Bound to one ask and to no other: when that is gone, so is what was typed. An
//! ask can be answered only after the window has shown it for a while in which
//! no key came, and where the person is not in the middle of a message, or moved to
//! it with Tab. Keys that were meant for an ask never become a message: after an answer,
//! and after the end of an ask that took keys, keys are dropped until none came for a moment.
//! Who was in the middle of an answer when its ask went types on, and that is dropped up to Enter.

use std::time::Duration;

use tokio::time::Instant;

use super::ask::Ticket;
use super::editor::{Editor, Key};

/// How long an ask must have been shown, with nobody typing, before keys answer it.
const CALM: Duration = Duration::from_millis(300);

/// How long no key may come after an answer before keys are taken again.
const REST: Duration = Duration::from_millis(500);

/// How long keys are dropped after an answer at most, if nothing is asked any more: a person who types
/// on without a pause is writing a message.
const MOST_REST: Duration = Duration::from_millis(1500);

/// How long after an answer a message that looks like another answer is held back.
const LATE: Duration = Duration::from_secs(5);

/// The line that answers what is asked.
#[derive(Default)]
pub(crate) struct Reply {
    line: Editor,
    /// What the line answers.
    to: Option<Ticket>,
    /// What the window shows, and since when it has with nobody typing.
    shown: Option<(Ticket, Instant)>,
    /// Whether what is typed now is the rest of an answer whose ask is gone.
    stray: bool,
    /// Where keys are dropped after an answer.
    resting: Option<Rest>,
    /// When an answer was given last, or held back.
    answered: Option<Instant>,
}

/// A pause in which keys are dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rest {
    since: Instant,
    /// When the last key came.
    last: Instant,
}

/// Where a key goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// To the line that answers.
    Answer,
    /// To the message that is being typed.
    Message,
    /// Nowhere.
    Dropped,
    /// Nowhere: it is the rest of an answer whose ask is gone.
    Stray,
}

/// What there is of a message that is being typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Draft {
    Empty,
    Begun,
}

impl Reply {
    /// Notes what is to be answered now; what was typed for anything else is gone.
    pub(crate) fn follow(&mut self, front: Option<Ticket>, now: Instant) {
        if self.to.is_some() && self.to != front {
            self.stray |= !self.line.is_empty();
            self.rest(now);
        }
    }

    /// Notes that an answer was given: keys are dropped for a moment.
    pub(crate) fn rest(&mut self, now: Instant) {
        (self.to, self.line) = (None, Editor::default());
        self.answered = Some(now);
        self.resting = Some(Rest {
            since: now,
            last: now,
        });
    }

    /// Says where a key goes that comes now.
    pub(crate) fn route(&mut self, front: Option<Ticket>, draft: Draft, now: Instant) -> Route {
        self.follow(front, now);
        if self.stray {
            return Route::Stray;
        }
        if let Some(rest) = &mut self.resting {
            rest.last = now;
            return Route::Dropped;
        }
        if self.to.is_some() {
            return Route::Answer;
        }
        if let Some((_, since)) = &mut self.shown {
            *since = now;
        }
        match (front, draft) {
            // It may be meant for the ask, which has not been seen for long enough.
            (Some(_), Draft::Empty) => Route::Dropped,
            (Some(_), Draft::Begun) | (None, _) => Route::Message,
        }
    }

    /// Takes Tab: moves from a message to the ask that is shown, or back. The message is kept.
    pub(crate) fn toggle(&mut self, front: Option<Ticket>, draft: Draft) {
        let shown = self.shown.map(|(shown, _)| shown);
        if self.to.is_some() {
            if draft == Draft::Begun && self.line.is_empty() {
                self.to = None;
            }
        } else if front.is_some() && front == shown {
            self.to = front;
        }
    }

    /// Tells whether keys are dropped because an answer was just given.
    pub(crate) fn is_resting(&self) -> bool {
        self.resting.is_some()
    }

    /// Tells whether a message is an answer that comes after the last ask has gone: a person who answers
    /// many asks in a row types one too many.
    pub(crate) fn is_late_answer(&mut self, text: &str, now: Instant) -> bool {
        let is_late = self
            .answered
            .is_some_and(|at| now.duration_since(at) < LATE);
        let is_held = is_late && ["y", "a", "s", "n"].contains(&text.to_lowercase().as_str());
        if is_held {
            self.answered = Some(now);
        }
        is_held
    }

    /// Tells whether what is typed now is the rest of an answer whose ask is gone.
    pub(crate) fn is_stray(&self) -> bool {
        self.stray
    }

    /// Takes a key of the rest of an answer whose ask is gone: up to Enter, or until it is given up.
    pub(crate) fn swallow(&mut self, key: &Key, now: Instant) {
        if matches!(key, Key::Enter | Key::Control('c' | 'u')) {
            self.stray = false;
        }
        self.resting = Some(Rest {
            since: now,
            last: now,
        });
    }

    /// Notes what the window shows.
    pub(crate) fn painted(&mut self, front: Option<Ticket>, now: Instant) {
        if self.shown.map(|(shown, _)| shown) != front {
            self.shown = front.map(|front| (front, now));
        }
    }

    /// Takes that time has passed and no key is left to be read: keys are taken again if it is time to,
    /// and where no message is begun they go to the ask. Tells whether anything is another way now.
    ///
    /// Only here, and never when a key comes: keys that were typed ahead are read late, and are early
    /// all the same.
    pub(crate) fn wait(&mut self, front: Option<Ticket>, draft: Draft, now: Instant) -> bool {
        self.follow(front, now);
        let before = (self.resting, self.to);
        let is_on = |rest: &Rest| {
            let is_short = now.duration_since(rest.since) < MOST_REST;
            now.duration_since(rest.last) < REST && (front.is_some() || is_short)
        };
        self.resting = self.resting.filter(is_on);
        if let Some((shown, since)) = self.shown
            && !self.stray
            && self.resting.is_none()
            && draft == Draft::Empty
            && Some(shown) == front
            && now.duration_since(since) >= CALM
        {
            self.to = front;
        }
        before != (self.resting, self.to)
    }

    /// Returns the line, if keys go there.
    pub(crate) fn line(&self) -> Option<&Editor> {
        self.to.is_some().then_some(&self.line)
    }

    /// Returns the line to change it, if keys go there.
    pub(crate) fn line_mut(&mut self) -> Option<&mut Editor> {
        self.to.is_some().then_some(&mut self.line)
    }

    /// Takes a key; returns the line when it is done.
    pub(crate) fn key(&mut self, key: Key) -> Option<String> {
        self.line.key(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Option<Ticket> = Some(Ticket::new(1));
    const SECOND: Option<Ticket> = Some(Ticket::new(2));
    const MILLISECOND: Duration = Duration::from_millis(1);

    /// A line that answers the first ask, with a y in it.
    fn begun(start: Instant) -> Reply {
        let mut reply = Reply::default();
        reply.painted(FIRST, start);
        reply.wait(FIRST, Draft::Empty, start + CALM);
        assert_eq!(reply.key(Key::Char('y')), None);
        reply
    }

    fn text(reply: &Reply) -> Option<&str> {
        reply.line().map(Editor::text)
    }

    #[test]
    fn an_ask_that_was_not_shown_cannot_be_answered() {
        let start = Instant::now();
        let mut reply = Reply::default();
        reply.wait(FIRST, Draft::Empty, start + CALM);
        assert_eq!(text(&reply), None);
        reply.painted(FIRST, start + CALM);
        reply.wait(FIRST, Draft::Empty, start + CALM);
        assert_eq!(text(&reply), None);
        reply.wait(FIRST, Draft::Empty, start + CALM * 2);
        assert_eq!(text(&reply), Some(""));
    }

    #[test]
    fn who_types_something_else_is_waited_for() {
        let start = Instant::now();
        let mut reply = Reply::default();
        reply.painted(FIRST, start);
        let early = reply.route(FIRST, Draft::Begun, start + CALM / 2);
        assert_eq!(early, Route::Message);
        // Painting the same again is no news.
        reply.painted(FIRST, start + CALM / 2);
        reply.wait(FIRST, Draft::Empty, start + CALM);
        assert_eq!(text(&reply), None);
        reply.wait(FIRST, Draft::Empty, start + CALM * 2);
        assert_eq!(text(&reply), Some(""));
    }

    #[test]
    fn keys_that_are_early_for_an_ask_are_no_message() {
        let start = Instant::now();
        let mut reply = Reply::default();
        assert_eq!(reply.route(None, Draft::Empty, start), Route::Message);
        let early = reply.route(FIRST, Draft::Empty, start);
        assert_eq!(early, Route::Dropped);
    }

    #[test]
    fn three_asks_get_one_answer_of_keys_in_a_burst_and_the_rest_is_dropped() {
        let start = Instant::now();
        let mut now = start + CALM;
        let mut reply = begun(start);
        assert_eq!(reply.key(Key::Enter).as_deref(), Some("y"));
        reply.rest(now);
        reply.painted(SECOND, now);
        // However long the burst is, and whether or not there is something else to answer.
        for front in [SECOND, SECOND, None, SECOND, None] {
            now += REST - MILLISECOND;
            assert_eq!(reply.route(front, Draft::Empty, now), Route::Dropped);
            reply.painted(front, now);
        }
        // Keys that were typed ahead are read late, and only a moment without any ends it.
        now += REST * 4;
        assert_eq!(reply.route(SECOND, Draft::Empty, now), Route::Dropped);
        assert!(!reply.wait(SECOND, Draft::Empty, now + REST - MILLISECOND));
        assert!(reply.wait(SECOND, Draft::Empty, now + REST));
    }

    #[test]
    fn an_answer_too_many_is_not_a_message() {
        let start = Instant::now();
        let mut reply = begun(start);
        assert!(!reply.is_late_answer("y", start), "nothing was answered");
        reply.rest(start);
        assert!(!reply.is_late_answer("yes, and the tests", start));
        let mut now = start;
        for _ in 0..3 {
            now += LATE - MILLISECOND;
            assert!(reply.is_late_answer("Y", now), "one after another");
        }
        assert!(!reply.is_late_answer("y", now + LATE));
    }

    #[test]
    fn who_types_on_after_the_last_answer_loses_the_beginning_only() {
        let start = Instant::now();
        let mut now = start + CALM;
        let mut reply = begun(start);
        reply.rest(now);
        reply.painted(None, now);
        while now < start + CALM + MOST_REST {
            assert_eq!(reply.route(None, Draft::Empty, now), Route::Dropped);
            now += REST / 2;
            // No key is left to be read.
            reply.wait(None, Draft::Empty, now);
        }
        assert_eq!(reply.route(None, Draft::Empty, now), Route::Message);
    }

    #[test]
    fn the_next_ask_can_be_answered_once_nobody_types() {
        let start = Instant::now();
        let mut reply = begun(start);
        let now = start + CALM;
        reply.rest(now);
        reply.painted(SECOND, now);
        reply.wait(SECOND, Draft::Empty, now + REST - MILLISECOND);
        assert_eq!(text(&reply), None);
        reply.wait(SECOND, Draft::Empty, now + REST);
        assert_eq!(text(&reply), Some(""));
    }

    #[test]
    fn an_ask_that_ends_by_itself_takes_the_keys_that_were_meant_for_it() {
        let start = Instant::now();
        let mut reply = Reply::default();
        reply.painted(FIRST, start);
        reply.wait(FIRST, Draft::Empty, start + CALM);
        let late = reply.route(None, Draft::Empty, start + CALM);
        assert_eq!(late, Route::Dropped);
    }

    #[test]
    fn tab_moves_from_a_message_to_the_ask_and_back() {
        let start = Instant::now();
        let mut reply = Reply::default();
        reply.toggle(FIRST, Draft::Begun);
        assert_eq!(text(&reply), None, "it was not shown");
        reply.painted(FIRST, start);
        reply.wait(FIRST, Draft::Begun, start + CALM * 9);
        assert_eq!(text(&reply), None);
        reply.toggle(FIRST, Draft::Begun);
        assert_eq!(reply.route(FIRST, Draft::Begun, start), Route::Answer);
        reply.toggle(FIRST, Draft::Begun);
        assert_eq!(reply.route(FIRST, Draft::Begun, start), Route::Message);
    }

    #[test]
    fn what_was_typed_for_one_ask_does_not_count_for_another() {
        let start = Instant::now();
        for next in [SECOND, None] {
            let mut reply = begun(start);
            reply.follow(FIRST, start);
            assert_eq!(text(&reply), Some("y"));
            reply.follow(next, start);
            assert_eq!(text(&reply), None, "{next:?}");
            // The rest of it counts for nothing either, up to its end.
            assert!(reply.is_stray());
            reply.swallow(&Key::Char('e'), start + CALM);
            reply.painted(next, start + CALM);
            reply.wait(next, Draft::Empty, start + CALM * 9);
            assert_eq!(text(&reply), None, "{next:?}");
            let end = start + CALM * 9;
            reply.swallow(&Key::Enter, end);
            assert!(!reply.is_stray());
            reply.painted(next, end);
            reply.wait(next, Draft::Empty, end);
            assert_eq!(text(&reply), None, "{next:?}");
            reply.wait(next, Draft::Empty, end + REST);
            assert_eq!(text(&reply), next.map(|_| ""));
        }
    }
}

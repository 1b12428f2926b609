//! The line that answers what is asked.
//!
//! Bound to one ask and to no other: when that is gone, so is what was typed. An
//! ask can be answered only after the window has shown it for a while in which
//! nobody typed, and where the person is not in the middle of a message. So keys
//! that were meant for something else, or pressed beforehand, allow nothing. Who was in
//! the middle of an answer when its ask went types on, and that is nobody's up to Enter.

use std::time::Duration;

use tokio::time::Instant;

use super::ask::Ticket;
use super::editor::{Editor, Key};

/// How long an ask must have been shown, with nobody typing, before keys answer it.
const CALM: Duration = Duration::from_millis(300);

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
}

impl Reply {
    /// Notes what is to be answered now; what was typed for anything else is gone.
    pub(crate) fn follow(&mut self, front: Option<Ticket>) {
        if self.to.is_some() && self.to != front {
            self.stray |= !self.line.is_empty();
            (self.to, self.line) = (None, Editor::default());
        }
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
        self.typed_elsewhere(now);
    }

    /// Notes what the window shows.
    pub(crate) fn painted(&mut self, front: Option<Ticket>, now: Instant) {
        if self.shown.map(|(shown, _)| shown) != front {
            self.shown = front.map(|front| (front, now));
        }
    }

    /// Notes that a key went elsewhere.
    pub(crate) fn typed_elsewhere(&mut self, now: Instant) {
        if let Some((_, since)) = &mut self.shown {
            *since = now;
        }
    }

    /// Opens the line if it is time to.
    pub(crate) fn wait(&mut self, front: Option<Ticket>, now: Instant) {
        self.follow(front);
        if let Some((shown, since)) = self.shown
            && !self.stray
            && Some(shown) == front
            && now.duration_since(since) >= CALM
        {
            self.to = front;
        }
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

    /// A line that answers the first ask, with a y in it.
    fn begun(start: Instant) -> Reply {
        let mut reply = Reply::default();
        reply.painted(FIRST, start);
        reply.wait(FIRST, start + CALM);
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
        reply.wait(FIRST, start + CALM);
        assert_eq!(text(&reply), None);
        reply.painted(FIRST, start + CALM);
        reply.wait(FIRST, start + CALM);
        assert_eq!(text(&reply), None);
        reply.wait(FIRST, start + CALM * 2);
        assert_eq!(text(&reply), Some(""));
    }

    #[test]
    fn who_types_something_else_is_waited_for() {
        let start = Instant::now();
        let mut reply = Reply::default();
        reply.painted(FIRST, start);
        reply.typed_elsewhere(start + CALM / 2);
        // Painting the same again is no news.
        reply.painted(FIRST, start + CALM / 2);
        reply.wait(FIRST, start + CALM);
        assert_eq!(text(&reply), None);
        reply.wait(FIRST, start + CALM * 2);
        assert_eq!(text(&reply), Some(""));
    }

    #[test]
    fn what_was_typed_for_one_ask_does_not_count_for_another() {
        let start = Instant::now();
        for next in [SECOND, None] {
            let mut reply = begun(start);
            reply.follow(FIRST);
            assert_eq!(text(&reply), Some("y"));
            reply.follow(next);
            assert_eq!(text(&reply), None, "{next:?}");
            // The rest of it counts for nothing either, up to its end.
            assert!(reply.is_stray());
            reply.swallow(&Key::Char('e'), start + CALM);
            reply.painted(next, start + CALM);
            reply.wait(next, start + CALM * 9);
            assert_eq!(text(&reply), None, "{next:?}");
            reply.swallow(&Key::Enter, start + CALM * 2);
            assert!(!reply.is_stray());
            reply.painted(next, start + CALM * 2);
            reply.wait(next, start + CALM * 2);
            assert_eq!(text(&reply), None, "{next:?}");
            reply.wait(next, start + CALM * 3);
            assert_eq!(text(&reply), next.map(|_| ""));
        }
    }
}

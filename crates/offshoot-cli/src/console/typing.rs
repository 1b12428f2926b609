//! What a person types, and whom it is for: a message, an answer, or the console.
//!
//! A key goes to the line that answers where that is open, and else to the message.
//! Keys that were typed for an ask and come too late or too early go to neither.

use tokio::time::Instant;

use super::ask::{self, Heard};
use super::editor::Key;
use super::keys::Pressed;
use super::reply::{Draft, Route};
use super::{Console, Input, TICK, Talk, commands};

impl Console {
    /// Waits for the person, or for a while. Loses nothing when dropped.
    pub(crate) async fn input(&mut self) -> Input {
        loop {
            // Kept from call to call: whoever is interrupted often enough would never get there.
            let tick = tokio::time::sleep_until(self.tick);
            let pressed = match &mut self.keys {
                Some(keys) => tokio::select! {
                    biased;
                    pressed = keys.next() => Some(pressed),
                    () = tick => None,
                },
                None => {
                    tick.await;
                    None
                }
            };
            match pressed {
                None => {
                    self.ticked(Instant::now());
                    return Input::Tick;
                }
                Some(Pressed::Resize) => return Input::Tick,
                Some(Pressed::Key(key)) => {
                    self.dirty = true;
                    return self.key(key).unwrap_or(Input::Tick);
                }
                Some(Pressed::Gone) => self.keys = None,
            }
        }
    }

    /// Handles a tick of the clock without a key.
    fn ticked(&mut self, now: Instant) {
        self.tick = now + TICK;
        let draft = self.draft();
        self.dirty |= self.reply.wait(self.asks.first(), draft, now);
    }

    /// Returns what there is of a message that is being typed.
    pub(super) fn draft(&self) -> Draft {
        if self.input.is_empty() {
            Draft::Empty
        } else {
            Draft::Begun
        }
    }

    fn key(&mut self, key: Key) -> Option<Input> {
        let now = Instant::now();
        self.hint = None;
        if key == Key::Control('z') {
            return Some(Input::Suspend);
        }
        self.reply.follow(self.asks.first(), now);
        if key == Key::Control('c') && !self.reply.is_stray() {
            // As in a shell: who has begun to type means what they type.
            let line = match self.reply.line_mut() {
                Some(line) => line,
                None => &mut self.input,
            };
            if !line.is_empty() {
                line.clear();
                self.hint("the line is cleared; Ctrl-C again is for what runs");
                return None;
            }
            return Some(Input::Interrupt);
        }
        let (front, draft) = (self.asks.first(), self.draft());
        match self.reply.route(front, draft, now) {
            Route::Stray => {
                self.reply.swallow(&key, now);
                if !self.reply.is_stray() {
                    self.hint("what you typed was not sent: it was for what is over");
                }
                return None;
            }
            Route::Dropped => return None,
            Route::Answer | Route::Message => {}
        }
        if key == Key::Tab {
            self.reply.toggle(front, draft);
            return None;
        }
        if let Some(line) = self.reply.line() {
            if key == Key::Control('d') && line.is_empty() && self.talk == Talk::Chat {
                return Some(Input::Quit);
            }
            let text = self.reply.key(key)?;
            return self.answered(&text);
        }
        if self.talk == Talk::Once {
            return None;
        }
        if key == Key::Control('d') && self.input.is_empty() {
            return Some(Input::Quit);
        }
        let text = self.input.key(key)?;
        let text = text.trim();
        if self.reply.is_late_answer(text, now) {
            self.hint(&format!(
                "nothing is asked any more, so \"{text}\" was not sent; wait a moment to send it"
            ));
            return None;
        }
        self.said(text)
    }

    /// Takes a line that answers what is asked.
    fn answered(&mut self, text: &str) -> Option<Input> {
        let is_question = self.asks.is_question();
        if !is_question && ask::wants_all(text) {
            self.wants_all = true;
            return None;
        }
        // A path is an answer.
        if self.talk == Talk::Chat && commands::is_one(text.trim()) {
            return self.said(text.trim());
        }
        match self.asks.hear(text) {
            Heard::Answer(agent, call, verdict) => {
                self.reply.rest(Instant::now());
                Some(Input::Answer(agent, call, verdict))
            }
            Heard::More => {
                self.reply.rest(Instant::now());
                None
            }
            Heard::Nothing if is_question => {
                self.hint("an answer or the number of a choice, please, or - for none");
                None
            }
            Heard::Nothing if self.asks.is_of_hook() => {
                self.hint("y or n, please: a hook asks, of this call only");
                None
            }
            Heard::Nothing => {
                self.hint("y, a, s or n, please; messages wait until this is answered");
                None
            }
        }
    }
}

//! The keyboard and the window.
//!
//! The only place that knows the terminal library. While keys are heard the
//! terminal is raw: it echoes nothing, and Ctrl-C is a key. Dropping gives it
//! back as it was.

use std::io;

use crossterm::event::{
    DisableBracketedPaste, EnableBracketedPaste, Event, EventStream, KeyCode, KeyEvent,
    KeyEventKind, KeyModifiers,
};
use crossterm::terminal;
use futures_util::StreamExt;
use rustix::process::Signal;

use super::editor::Key;

/// What happened at the keyboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pressed {
    Key(Key),
    /// The window has another size now.
    Resize,
    /// Nobody is there any more.
    Gone,
}

/// The keyboard.
pub(crate) struct Keys {
    events: EventStream,
}

impl Keys {
    /// Listens to the keyboard; `None` where there is none. The terminal library reads `/dev/tty` where
    /// stdin is no terminal.
    pub(crate) fn open() -> io::Result<Option<Self>> {
        if !crate::terminal::has_keys() {
            return Ok(None);
        }
        terminal::enable_raw_mode()?;
        let keys = Self {
            events: EventStream::new(),
        };
        crossterm::execute!(io::stdout(), EnableBracketedPaste)?;
        Ok(Some(keys))
    }

    /// Stops the process, as Ctrl-Z does where a terminal is not raw; returns when it goes on.
    pub(crate) fn suspend(&self) -> io::Result<()> {
        crossterm::execute!(io::stdout(), DisableBracketedPaste)?;
        terminal::disable_raw_mode()?;
        // Whoever else the shell has started with us stops too.
        rustix::process::kill_current_process_group(Signal::TSTP)?;
        terminal::enable_raw_mode()?;
        crossterm::execute!(io::stdout(), EnableBracketedPaste)
    }

    /// Waits for the next. Loses none when dropped.
    pub(crate) async fn next(&mut self) -> Pressed {
        loop {
            match self.events.next().await {
                Some(Ok(event)) => {
                    if let Some(pressed) = pressed(event) {
                        return pressed;
                    }
                }
                Some(Err(_)) | None => return Pressed::Gone,
            }
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // There is nothing left to do about a terminal that refuses.
        drop(crossterm::execute!(io::stdout(), DisableBracketedPaste));
        drop(terminal::disable_raw_mode());
    }
}

/// Returns the columns and rows of the window.
pub(crate) fn size() -> (usize, usize) {
    crate::terminal::size(&io::stdout())
        .filter(|(_, rows)| *rows > 0)
        .unwrap_or((80, 24))
}

fn pressed(event: Event) -> Option<Pressed> {
    match event {
        Event::Key(key) => key_pressed(key).map(Pressed::Key),
        Event::Paste(text) => Some(Pressed::Key(Key::Paste(text))),
        Event::Resize(..) => Some(Pressed::Resize),
        Event::FocusGained | Event::FocusLost | Event::Mouse(_) => None,
    }
}

fn key_pressed(key: KeyEvent) -> Option<Key> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char(character) if control => Key::Control(character.to_ascii_lowercase()),
        KeyCode::Char(character) => Key::Char(character),
        KeyCode::Enter => Key::Enter,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Tab => Key::Tab,
        _ => return None,
    })
}

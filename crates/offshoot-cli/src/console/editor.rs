//! One line of input, edited in place.
//!
//! Pure: keys in, a state out. Knows no terminal and sends nothing.

use unicode_width::UnicodeWidthStr;

use super::line::TAB;

/// A key, as far as anybody here cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Paste(String),
    Enter,
    Backspace,
    Delete,
    Left,
    Right,
    Home,
    End,
    Up,
    Down,
    Tab,
    /// With Ctrl held.
    Control(char),
}

/// Lines of one conversation that can be called back.
const MOST_REMEMBERED: usize = 200;

/// A line of input.
#[derive(Debug, Default)]
pub(crate) struct Editor {
    text: String,
    /// The byte that the cursor is before.
    cursor: usize,
    before: Vec<String>,
    /// Which earlier line is shown, counted from the last; and what was typed meanwhile.
    recalled: Option<(usize, String)>,
}

impl Editor {
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the text as one line of a terminal.
    pub(crate) fn shown(&self) -> String {
        one_line(&self.text)
    }

    /// Returns the column of the cursor.
    pub(crate) fn column(&self) -> usize {
        one_line(&self.text[..self.cursor]).width()
    }

    /// Takes a key; returns the line when it is done.
    pub(crate) fn key(&mut self, key: Key) -> Option<String> {
        match key {
            Key::Enter => return Some(self.take()),
            Key::Char(character) => self.insert(&character.to_string()),
            Key::Paste(text) => self.insert(&text),
            Key::Backspace => self.remove(self.previous(), self.cursor),
            Key::Delete => self.remove(self.cursor, self.next()),
            Key::Left => self.cursor = self.previous(),
            Key::Right => self.cursor = self.next(),
            Key::Home | Key::Control('a') => self.cursor = 0,
            Key::End | Key::Control('e') => self.cursor = self.text.len(),
            Key::Control('u') => self.remove(0, self.cursor),
            Key::Control('k') => self.remove(self.cursor, self.text.len()),
            Key::Control('w') => self.remove(self.word(), self.cursor),
            Key::Up => self.recall(1),
            Key::Down => self.recall(-1),
            Key::Tab | Key::Control(_) => {}
        }
        None
    }

    /// Empties the line; what was in it can be called back.
    pub(crate) fn clear(&mut self) {
        drop(self.take());
    }

    /// Empties the line and returns what was in it.
    pub(crate) fn take(&mut self) -> String {
        self.cursor = 0;
        self.recalled = None;
        let text = std::mem::take(&mut self.text);
        if !text.trim().is_empty() && self.before.last() != Some(&text) {
            self.before.push(text.clone());
            if self.before.len() > MOST_REMEMBERED {
                self.before.remove(0);
            }
        }
        text
    }

    fn insert(&mut self, text: &str) {
        // What was pasted with line breaks and tabs is still one message; other controls have no place
        // here.
        let clean: String = text
            .replace("\r\n", "\n")
            .chars()
            .map(|character| if character == '\r' { '\n' } else { character })
            .filter(|character| !character.is_control() || matches!(character, '\n' | '\t'))
            .collect();
        self.text.insert_str(self.cursor, &clean);
        self.cursor += clean.len();
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn previous(&self) -> usize {
        let before = self.text[..self.cursor].chars().next_back();
        self.cursor - before.map_or(0, char::len_utf8)
    }

    fn next(&self) -> usize {
        let after = self.text[self.cursor..].chars().next();
        self.cursor + after.map_or(0, char::len_utf8)
    }

    /// Returns where the word before the cursor begins.
    fn word(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before.rfind(char::is_whitespace).map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        })
    }

    /// Shows an earlier line, or a later one.
    fn recall(&mut self, step: isize) {
        let at = self.recalled.as_ref().map_or(0, |(at, _)| *at);
        let Some(to) = at
            .checked_add_signed(step)
            .filter(|to| *to <= self.before.len())
        else {
            return;
        };
        let typed = match self.recalled.take() {
            Some((_, typed)) => typed,
            None => self.text.clone(),
        };
        self.text = match to {
            0 => typed.clone(),
            to => self.before[self.before.len() - to].clone(),
        };
        self.recalled = (to > 0).then_some((to, typed));
        self.cursor = self.text.len();
    }
}

/// Sets a text in one line of a terminal, which has no tabs.
fn one_line(text: &str) -> String {
    text.replace('\n', " ").replace('\t', TAB)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(editor: &mut Editor, text: &str) {
        text.chars()
            .for_each(|character| drop(editor.key(Key::Char(character))));
    }

    #[test]
    fn keys_edit_the_line() {
        let mut editor = Editor::default();
        typed(&mut editor, "héllo wörld");
        editor.key(Key::Control('w'));
        assert_eq!(editor.text(), "héllo ");
        editor.key(Key::Home);
        editor.key(Key::Right);
        editor.key(Key::Delete);
        assert_eq!((editor.text(), editor.column()), ("hllo ", 1));
        editor.key(Key::Char('e'));
        editor.key(Key::Control('k'));
        assert_eq!(editor.text(), "he");
        editor.key(Key::Backspace);
        editor.key(Key::Control('u'));
        assert_eq!(editor.text(), "");
        for key in [Key::Backspace, Key::Left, Key::Delete, Key::Control('x')] {
            assert_eq!(editor.key(key), None);
        }
        assert_eq!(editor.text(), "");
    }

    #[test]
    fn a_paste_is_one_message() {
        let mut editor = Editor::default();
        assert_eq!(editor.key(Key::Paste("a\r\nb\x1bc\rd".to_owned())), None);
        assert_eq!(editor.key(Key::Enter).as_deref(), Some("a\nbc\nd"));
    }

    #[test]
    fn tabs_of_a_paste_are_kept_and_shown_as_spaces() {
        let mut editor = Editor::default();
        let makefile = "all:\n\tmake";
        assert_eq!(editor.key(Key::Paste(makefile.to_owned())), None);
        assert_eq!(editor.shown(), "all:     make");
        assert_eq!(editor.column(), 13);
        assert_eq!(editor.key(Key::Enter).as_deref(), Some(makefile));
    }

    #[test]
    fn earlier_lines_come_back_and_what_was_typed_is_kept() {
        let mut editor = Editor::default();
        for line in ["one", "two", "two"] {
            typed(&mut editor, line);
            editor.key(Key::Enter);
        }
        typed(&mut editor, "draft");
        let mut seen = Vec::new();
        for key in [Key::Up, Key::Up, Key::Up, Key::Down, Key::Down, Key::Down] {
            editor.key(key);
            seen.push(editor.text().to_owned());
        }
        assert_eq!(seen, ["two", "one", "one", "two", "draft", "draft"]);
    }
}

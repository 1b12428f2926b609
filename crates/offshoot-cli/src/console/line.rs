//! A line of a terminal: pieces of text, each in a tone.
//!
//! Knows how wide it is and how to be cut, so that what was planned to be one
//! line is one line in any window. Text that is put in cannot move the cursor.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::render;

/// What a tab is shown as.
pub(crate) const TAB: &str = "    ";

/// How a terminal is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// Whether tones show.
    pub(crate) colour: bool,
    /// Whether signs beyond ASCII show.
    pub(crate) unicode: bool,
}

/// What a piece of text is, for the eye.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Ask,
    Name,
    Code,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Bad => "31",
            Self::Ask => "33",
            Self::Name => "36",
            Self::Code => "35",
        }
    }
}

/// A line: pieces of text, each in a tone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line(Vec<(Tone, String)>);

impl Line {
    /// A line of one piece.
    pub(crate) fn of(tone: Tone, text: &str) -> Self {
        Self::default().and(tone, text)
    }

    /// Adds a piece.
    #[must_use]
    pub(crate) fn and(mut self, tone: Tone, text: &str) -> Self {
        self.push(tone, text);
        self
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, tone: Tone, text: &str) {
        // A terminal would move to columns of its own choice.
        self.put(tone, &render::harmless(&text.replace('\t', TAB)));
    }

    /// Adds a piece of what is harmless already: a part of it may look as if it were not.
    fn put(&mut self, tone: Tone, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some((last, so_far)) if *last == tone => so_far.push_str(text),
            Some(_) | None => self.0.push((tone, text.to_owned())),
        }
    }

    /// Adds the pieces of another line.
    pub(crate) fn extend(&mut self, other: Self) {
        for (tone, text) in other.0 {
            self.put(tone, &text);
        }
    }

    /// Returns how many columns it takes, at most: not every terminal joins what is joined.
    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| columns(text)).sum()
    }

    /// Tells whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Cuts it to a width; what is cut off is shown by a sign.
    #[must_use]
    pub(crate) fn cut(self, width: usize, style: Style) -> Self {
        if self.width() <= width {
            return self;
        }
        let sign = if style.unicode { "…" } else { "~" };
        let room = width.saturating_sub(1);
        let (mut cut, mut used) = (Self::default(), 0);
        'pieces: for (tone, text) in self.0 {
            let mut kept = String::new();
            for character in text.chars() {
                let wide = character.width().unwrap_or(0);
                if used + wide > room {
                    cut.put(tone, &kept);
                    break 'pieces;
                }
                used += wide;
                kept.push(character);
            }
            cut.put(tone, &kept);
        }
        if width > 0 {
            cut.push(Tone::Dim, sign);
        }
        cut
    }

    /// Adds a piece at the right edge, where there is room for both.
    #[must_use]
    pub(crate) fn right(mut self, tone: Tone, text: &str, width: usize, style: Style) -> Self {
        let wide = text.width();
        // A narrow window has no room for what is only nice to know.
        if wide + 12 > width {
            return self.cut(width, style);
        }
        let room = width - wide - 1;
        self = self.cut(room, style);
        let gap = " ".repeat(room - self.width() + 1);
        self.and(Tone::Plain, &gap).and(tone, text)
    }

    /// Returns how many columns it has in common with another line at the start, and the rest of it.
    ///
    /// Parts only between letters that have columns of their own: what is joined stays together.
    pub(crate) fn after_common(&self, old: &Self) -> (usize, Self) {
        let mut letters = self.letters();
        let mut olds = old.letters();
        let (mut here, mut before) = ((0, 0), (0, 0));
        loop {
            let (new, old) = (letters.next(), olds.next());
            let is_mark = |letter: &Option<(Tone, char)>| {
                letter.is_some_and(|(_, letter)| letter.width().unwrap_or(0) == 0)
            };
            if is_mark(&new) || is_mark(&old) {
                here = before;
                break;
            }
            let Some((_, letter)) = new.filter(|_| new == old) else {
                break;
            };
            before = here;
            here = (here.0 + 1, here.1 + letter.width().unwrap_or(0));
        }
        let mut rest = Self::default();
        for (tone, letter) in self.letters().skip(here.0) {
            rest.put(tone, letter.encode_utf8(&mut [0; 4]));
        }
        (here.1, rest)
    }

    fn letters(&self) -> impl Iterator<Item = (Tone, char)> {
        let pieces = self.0.iter();
        pieces.flat_map(|(tone, text)| text.chars().map(move |letter| (*tone, letter)))
    }

    /// Returns it as bytes for a terminal.
    pub(crate) fn render(&self, style: Style) -> String {
        let mut text = String::new();
        for (tone, piece) in &self.0 {
            match tone.code() {
                code if style.colour && !code.is_empty() => {
                    text.push_str(&format!("\x1b[{code}m{piece}\x1b[0m"));
                }
                _ => text.push_str(piece),
            }
        }
        text
    }

    /// Breaks it into lines of a width at most, at spaces where there are any.
    pub(crate) fn wrap(&self, width: usize, indent: &str) -> Vec<Self> {
        let width = width.max(4);
        let mut lines = Vec::new();
        let mut line = Self::default();
        let mut used = 0;
        let pieces = self.0.iter();
        let words: Vec<(Tone, &str)> = pieces
            .flat_map(|(tone, text)| text.split_inclusive(' ').map(move |word| (*tone, word)))
            .collect();
        for (at, (tone, word)) in words.iter().enumerate() {
            let mut wide = columns(word.trim_end_matches(' '));
            // A bracket before a piece of code is not parted from it, if both fit into one line.
            let whole =
                Some(unbroken(&words[at..])).filter(|whole| indent.width() + whole <= width);
            if used > 0 && used + whole.unwrap_or(wide) > width {
                lines.push(std::mem::take(&mut line).trimmed());
                line.push(Tone::Plain, indent);
                used = indent.width();
            }
            let mut word = *word;
            // A word that is wider than the window is broken anywhere.
            while used + wide > width && width > indent.width() {
                let at = fitting(word, width - used);
                if at == 0 {
                    break;
                }
                line.put(*tone, &word[..at]);
                lines.push(std::mem::take(&mut line));
                line.push(Tone::Plain, indent);
                used = indent.width();
                word = &word[at..];
                wide = columns(word.trim_end_matches(' '));
            }
            line.put(*tone, word);
            used += columns(word);
        }
        if !line.is_empty() || lines.is_empty() {
            lines.push(line.trimmed());
        }
        lines
    }

    /// Takes spaces off its end: they would take columns that nobody sees.
    #[must_use]
    pub(crate) fn trimmed(mut self) -> Self {
        while let Some((_, text)) = self.0.last_mut() {
            text.truncate(text.trim_end_matches(' ').len());
            if !text.is_empty() {
                break;
            }
            self.0.pop();
        }
        self
    }
}

/// Returns how many columns words take up to the next space.
fn unbroken(words: &[(Tone, &str)]) -> usize {
    let end = words.iter().position(|(_, word)| word.ends_with(' '));
    let words = &words[..end.map_or(words.len(), |end| end + 1)];
    let wide = words
        .iter()
        .map(|(_, word)| columns(word.trim_end_matches(' ')));
    wide.sum()
}

/// Returns how many bytes of a text fit into so many columns.
fn fitting(text: &str, columns: usize) -> usize {
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += character.width().unwrap_or(0);
        if used > columns {
            return at;
        }
    }
    text.len()
}

/// Returns how many columns a text takes at most.
fn columns(text: &str) -> usize {
    let apart = text.chars().map(|character| character.width().unwrap_or(0));
    text.width().max(apart.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style {
        colour: false,
        unicode: true,
    };

    fn shown(lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| line.render(PLAIN)).collect()
    }

    #[test]
    fn a_line_is_cut_by_columns_and_says_so() {
        let line = Line::of(Tone::Bold, "abc").and(Tone::Plain, "漢字def");
        assert_eq!(line.width(), 10);
        assert_eq!(line.clone().cut(10, PLAIN).render(PLAIN), "abc漢字def");
        assert_eq!(line.clone().cut(6, PLAIN).render(PLAIN), "abc漢…");
        assert_eq!(line.clone().cut(7, PLAIN).render(PLAIN), "abc漢…");
        assert_eq!(line.clone().cut(1, PLAIN).render(PLAIN), "…");
        assert_eq!(line.cut(0, PLAIN).render(PLAIN), "");
    }

    #[test]
    fn what_is_on_the_right_goes_first_when_it_is_narrow() {
        let line = Line::of(Tone::Plain, "explore reads something");
        let wide = line.clone().right(Tone::Dim, "12 tok", 40, PLAIN);
        assert_eq!(
            wide.render(PLAIN),
            "explore reads something           12 tok"
        );
        assert_eq!(wide.width(), 40);
        let tight = line.clone().right(Tone::Dim, "12 tok", 20, PLAIN);
        assert_eq!(tight.render(PLAIN), "explore read… 12 tok");
        assert_eq!(line.right(Tone::Dim, "12 tok", 12, PLAIN).width(), 12);
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_anywhere() {
        let line = Line::of(Tone::Plain, "one two ").and(Tone::Code, "three-four-five six");
        let wrapped = line.wrap(10, "  ");
        assert_eq!(
            shown(&wrapped),
            ["one two", "  three-fo", "  ur-five", "  six"]
        );
        assert!(wrapped.iter().all(|line| line.width() <= 10));
        assert_eq!(shown(&Line::default().wrap(10, "")), [""]);
    }

    #[test]
    fn a_bracket_stays_with_its_code() {
        let line = Line::of(Tone::Plain, "one two (")
            .and(Tone::Code, "three")
            .and(Tone::Plain, ") four");
        assert_eq!(shown(&line.wrap(10, "")), ["one two", "(three)", "four"]);
        assert_eq!(
            shown(&line.wrap(5, "")),
            ["one", "two (", "three", ")", "four"]
        );
    }

    #[test]
    fn tabs_are_spaces_and_what_is_joined_stays_so() {
        let line = Line::of(Tone::Plain, "a\tb");
        assert_eq!(line.render(PLAIN), "a    b");
        let family = "👩\u{200d}👧\u{200d}👦";
        let line = Line::of(Tone::Plain, family);
        assert_eq!(line.render(PLAIN), family);
        for width in 4..8 {
            let parts = [vec![line.clone().cut(width, PLAIN)], line.wrap(width, "")].concat();
            assert!(parts.iter().all(|part| part.width() <= width));
            assert!(!shown(&parts).concat().contains('\\'), "{width}");
        }
    }

    #[test]
    fn nothing_that_is_shown_moves_the_cursor() {
        let line = Line::of(Tone::Plain, "a\u{1b}[2Jb\r\n");
        assert_eq!(line.render(PLAIN), "a\\u{1b}[2Jb\\r\\n");
    }
}

//! A terminal that scrolls, with a block at its end that is painted again and again.
//!
//! What is printed stays; the block (a tree, an input line) is erased before
//! anything is printed and painted anew after. Between two prints only what differs
//! from the last block is written, and nothing where nothing does. Keeps in mind how many rows the
//! block takes, also after the window became narrower and broke its lines. A block
//! is never taller than the window: what leaves it at the top cannot be erased.

use std::io::{self, Write};

use super::line::{Line, Style};

/// Erases from a line to the end of the window. Not at one go: tmux keeps all of a window that is
/// erased from its first place, and would have a copy for every picture of a tall block.
const ERASE: &str = "\x1b7\x1b[K\x1b[B\x1b[J\x1b8";

/// A terminal with a block at its end.
pub(crate) struct Screen<W> {
    out: W,
    style: Style,
    width: usize,
    /// Of the window.
    rows: usize,
    /// The lines of the block, as they were painted.
    block: Vec<Line>,
    /// The line of the block that the cursor is in, and its column there.
    cursor: At,
    /// Whether the cursor is shown there; `None` if the block has to be painted from scratch.
    painted: Option<Cursor>,
}

/// Whether the cursor is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    Shown,
    Hidden,
}

/// Where the cursor is in a block: line and column.
pub(crate) type At = (usize, usize);

impl<W: Write> Screen<W> {
    /// A window of so many columns and rows.
    pub(crate) fn new(out: W, style: Style, (width, rows): (usize, usize)) -> Self {
        Self {
            out,
            style,
            width: width.max(1),
            rows: rows.max(1),
            block: Vec::new(),
            cursor: (0, 0),
            painted: None,
        }
    }

    /// Notes that the window has so many columns and rows now.
    pub(crate) fn resize(&mut self, (width, rows): (usize, usize)) {
        (self.width, self.rows) = (width.max(1), rows.max(1));
        // The terminal may have moved or broken any line.
        self.painted = None;
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// Prints lines that stay. The block is gone until it is painted again.
    pub(crate) fn print(&mut self, lines: &[Line]) -> io::Result<()> {
        let mut text = self.erase();
        for line in lines {
            text.push_str(&line.render(self.style));
            text.push_str("\r\n");
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Paints the block, or as much of its end as fits; the cursor stays in it, or is hidden. Writes
    /// what differs from the block before.
    pub(crate) fn paint(&mut self, block: &[Line], cursor: Option<At>) -> io::Result<()> {
        let above = block.len().saturating_sub(self.rows);
        let lines = block[above..].iter();
        let lines: Vec<Line> = lines
            .map(|line| line.clone().cut(self.width, self.style))
            .collect();
        let cursor = cursor.and_then(|(line, column)| Some((line.checked_sub(above)?, column)));
        let cursor = cursor.filter(|(line, _)| *line < lines.len());
        let cursor = cursor.map(|(line, column)| (line, column.min(self.width - 1)));
        let last = lines.len().saturating_sub(1);
        let (shows, to) = match cursor {
            Some(at) => (Cursor::Shown, at),
            // At the start of a line it is in the same row of it, however narrow the window becomes.
            None => (Cursor::Hidden, (last, 0)),
        };
        if self.painted == Some(shows) && self.cursor == to && self.block == lines {
            return Ok(());
        }
        let mut text = match self.painted {
            Some(Cursor::Hidden) => String::new(),
            Some(Cursor::Shown) | None => String::from("\x1b[?25l"),
        };
        let row = if self.painted.is_some() && !self.block.is_empty() && !lines.is_empty() {
            self.repaint(&lines, &mut text)
        } else {
            text.push_str(&self.erase());
            let rendered: Vec<String> = lines.iter().map(|line| line.render(self.style)).collect();
            text.push_str(&rendered.join("\r\n"));
            last
        };
        text.push_str(&rows(row, to.0));
        text.push('\r');
        text.push_str(&right(to.1));
        if shows == Cursor::Shown {
            text.push_str("\x1b[?25h");
        }
        (self.block, self.cursor, self.painted) = (lines, to, Some(shows));
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Writes what differs between the block that is there and `lines`; returns the row that the cursor
    /// is in then. Both have lines, and each line has one row.
    fn repaint(&self, lines: &[Line], text: &mut String) -> usize {
        let mut at = self.cursor.0;
        for (row, line) in lines.iter().enumerate() {
            match self.block.get(row) {
                Some(old) if old == line => continue,
                Some(old) => {
                    let (skipped, rest) = line.after_common(old);
                    text.push_str(&rows(at, row));
                    text.push('\r');
                    text.push_str(&right(skipped));
                    text.push_str(&rest.render(self.style));
                    // The cursor is not behind the last column then, where this would erase a letter.
                    if line.width() < old.width() {
                        text.push_str("\x1b[K");
                    }
                }
                None => {
                    text.push_str(&rows(at, row - 1));
                    text.push_str("\r\n");
                    text.push_str(&line.render(self.style));
                }
            }
            at = row;
        }
        if lines.len() < self.block.len() {
            text.push_str(&rows(at, lines.len()));
            text.push('\r');
            text.push_str(ERASE);
            at = lines.len();
        }
        at
    }

    /// Takes the block away and shows the cursor.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        let text = self.erase() + "\x1b[?25h";
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Returns what erases the block.
    fn erase(&mut self) -> String {
        self.painted = None;
        if self.block.is_empty() {
            return String::new();
        }
        // A window that became narrower has broken lines in two.
        let rows = |lines: &[Line]| -> usize {
            lines
                .iter()
                .map(|line| line.width().div_ceil(self.width).max(1))
                .sum()
        };
        let (line, column) = self.cursor;
        let above = rows(&self.block[..line.min(self.block.len())]) + column / self.width;
        self.block.clear();
        self.cursor = (0, 0);
        match above {
            0 => format!("\r{ERASE}"),
            above => format!("\x1b[{above}A\r{ERASE}"),
        }
    }
}

/// Returns what moves the cursor from one row to another.
fn rows(from: usize, to: usize) -> String {
    match (to.checked_sub(from), from.checked_sub(to)) {
        (Some(0), _) | (None, None) => String::new(),
        (Some(down), _) => format!("\x1b[{down}B"),
        (None, Some(up)) => format!("\x1b[{up}A"),
    }
}

/// Returns what moves the cursor to the right.
fn right(columns: usize) -> String {
    match columns {
        0 => String::new(),
        columns => format!("\x1b[{columns}C"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::Tone;
    use super::*;

    const PLAIN: Style = Style {
        colour: false,
        unicode: true,
    };

    fn line(text: &str) -> Line {
        Line::of(Tone::Plain, text)
    }

    fn written(screen: &mut Screen<Vec<u8>>) -> String {
        String::from_utf8(std::mem::take(&mut screen.out)).unwrap()
    }

    /// What clears a block that begins so many rows above the cursor.
    fn erased(above: usize) -> String {
        format!("\x1b[{above}A\r{ERASE}\x1b[?25h")
    }

    #[test]
    fn the_block_is_erased_before_something_is_printed() {
        let mut screen = Screen::new(Vec::new(), PLAIN, (20, 24));
        screen.paint(&[line("one"), line("two")], None).unwrap();
        assert_eq!(written(&mut screen), "\x1b[?25lone\r\ntwo\r");
        screen.print(&[line("said")]).unwrap();
        assert_eq!(written(&mut screen), format!("\x1b[1A\r{ERASE}said\r\n"));
        screen.print(&[line("more")]).unwrap();
        assert_eq!(written(&mut screen), "more\r\n");
    }

    #[test]
    fn a_line_never_takes_more_than_its_row() {
        let mut screen = Screen::new(Vec::new(), PLAIN, (5, 24));
        screen.paint(&[line("123456789")], None).unwrap();
        assert_eq!(written(&mut screen), "\x1b[?25l1234…\r");
    }

    #[test]
    fn a_narrower_window_has_broken_the_lines_that_are_to_be_erased() {
        let mut screen = Screen::new(Vec::new(), PLAIN, (20, 24));
        screen
            .paint(&[line("12345678901234567890"), line("x")], None)
            .unwrap();
        written(&mut screen);
        screen.resize((8, 24));
        screen.clear().unwrap();
        assert_eq!(written(&mut screen), erased(3));
    }

    #[test]
    fn a_narrower_window_has_broken_the_line_of_the_cursor_too() {
        let mut screen = Screen::new(Vec::new(), PLAIN, (20, 24));
        let full = line("12345678901234567890");
        let block = [full.clone(), full];
        for (cursor, above) in [(None, 3), (Some((1, 7)), 3), (Some((1, 17)), 5)] {
            screen.resize((20, 24));
            screen.paint(&block, cursor).unwrap();
            written(&mut screen);
            screen.resize((8, 24));
            screen.clear().unwrap();
            assert_eq!(written(&mut screen), erased(above), "{cursor:?}");
        }
    }

    #[test]
    fn the_cursor_stays_where_the_input_is() {
        let mut screen = Screen::new(Vec::new(), PLAIN, (20, 24));
        let block = [line("tree"), line("> hello"), line("hint")];
        screen.paint(&block, Some((1, 4))).unwrap();
        assert!(written(&mut screen).ends_with("hint\x1b[1A\r\x1b[4C\x1b[?25h"));
        screen.clear().unwrap();
        assert_eq!(written(&mut screen), erased(1));
    }

    #[test]
    fn a_block_is_never_taller_than_the_window() {
        let mut screen = Screen::new(Vec::new(), PLAIN, (20, 2));
        let block = ["one", "two", "three"].map(line);
        screen.paint(&block, Some((2, 0))).unwrap();
        let text = written(&mut screen);
        assert!(text.ends_with("two\r\nthree\r\x1b[?25h"), "{text:?}");
        assert!(!text.contains("one"), "{text:?}");
        screen.clear().unwrap();
        assert_eq!(written(&mut screen), erased(1));
    }

    #[test]
    fn a_block_that_is_the_same_is_not_painted_again() {
        let mut screen = Screen::new(Vec::new(), PLAIN, (20, 24));
        let block = [line("tree  1s"), line("> hello")];
        screen.paint(&block, Some((1, 4))).unwrap();
        written(&mut screen);
        screen.paint(&block, Some((1, 4))).unwrap();
        assert_eq!(written(&mut screen), "");
        // A clock that ticks repaints its own cell.
        let block = [line("tree  2s"), line("> hello")];
        screen.paint(&block, Some((1, 4))).unwrap();
        let cell = "\x1b[?25l\x1b[1A\r\x1b[6C2s\x1b[1B\r\x1b[4C\x1b[?25h";
        assert_eq!(written(&mut screen), cell);
    }

    /// A stream of numbers that is the same every time.
    fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
        let mut state = seed;
        move |most| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(state >> 33).unwrap() % most
        }
    }

    #[test]
    fn painting_the_difference_looks_like_painting_everything() {
        let words = [
            "",
            "a",
            "tree  1s",
            "tree  2s",
            "漢字 wide",
            "e\u{301}a",
            "● x",
            "12345678901234567890",
        ];
        let tones = [Tone::Plain, Tone::Dim, Tone::Bad];
        let style = Style {
            colour: true,
            unicode: true,
        };
        for seed in 0..200 {
            let mut number = numbers(seed);
            let mut screen = Screen::new(Vec::new(), style, (20, 8));
            let mut terminal = vt100::Parser::new(8, 20, 100);
            let mut printed = 0;
            for _ in 0..20 {
                if number(4) == 0 {
                    printed += 1;
                    screen.print(&[line(&format!("said {printed}"))]).unwrap();
                }
                let block: Vec<Line> = (0..number(6))
                    .map(|_| {
                        let line = Line::of(tones[number(3)], words[number(words.len())]);
                        line.and(tones[number(3)], words[number(words.len())])
                    })
                    .collect();
                let cursor = (number(2) == 0 && !block.is_empty())
                    .then(|| (number(block.len()), number(20)));
                screen.paint(&block, cursor).unwrap();
                terminal.process(&std::mem::take(&mut screen.out));
                let mut whole = vt100::Parser::new(8, 20, 100);
                let mut fresh = Screen::new(Vec::new(), style, (20, 8));
                for said in 1..=printed {
                    fresh.print(&[line(&format!("said {said}"))]).unwrap();
                }
                fresh.paint(&block, cursor).unwrap();
                whole.process(&fresh.out);
                let shown = |parser: &vt100::Parser| {
                    let text = parser.screen().contents();
                    let text = text.trim_end().lines().map(str::trim_end);
                    text.collect::<Vec<_>>().join("\n")
                };
                // What the terminal has scrolled away, it has: the end is the same.
                let (here, there) = (shown(&terminal), shown(&whole));
                assert!(
                    here.ends_with(&there) || there.ends_with(&here),
                    "seed {seed}:\n{here}\n---\n{there}"
                );
            }
        }
    }
}

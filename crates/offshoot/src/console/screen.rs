//! A terminal that scrolls, with a block at its end that is painted again and again.
//!
//! What is printed stays; the block (a tree, an input line) is erased before
//! anything is printed and painted anew after. Keeps in mind how many rows the
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
    /// The widths of the lines of the block.
    block: Vec<usize>,
    /// The line of the block that the cursor is in, and its column there.
    cursor: At,
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
        }
    }

    /// Notes that the window has so many columns and rows now.
    pub(crate) fn resize(&mut self, (width, rows): (usize, usize)) {
        (self.width, self.rows) = (width.max(1), rows.max(1));
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

    /// Paints the block, or as much of its end as fits; the cursor stays in it, or is hidden.
    pub(crate) fn paint(&mut self, block: &[Line], cursor: Option<At>) -> io::Result<()> {
        let above = block.len().saturating_sub(self.rows);
        let block = &block[above..];
        let cursor = cursor.and_then(|(line, column)| Some((line.checked_sub(above)?, column)));
        let mut text = String::from("\x1b[?25l");
        text.push_str(&self.erase());
        for (index, line) in block.iter().enumerate() {
            if index > 0 {
                text.push_str("\r\n");
            }
            text.push_str(&line.clone().cut(self.width, self.style).render(self.style));
        }
        self.block = block
            .iter()
            .map(|line| line.width().min(self.width))
            .collect();
        let last = block.len().saturating_sub(1);
        // At the start of a line it is in the same row of it, however narrow the window becomes.
        text.push('\r');
        self.cursor = (last, 0);
        if let Some((line, column)) = cursor.filter(|(line, _)| *line < block.len()) {
            let up = last - line;
            if up > 0 {
                text.push_str(&format!("\x1b[{up}A"));
            }
            let column = column.min(self.width - 1);
            if column > 0 {
                text.push_str(&format!("\x1b[{column}C"));
            }
            text.push_str("\x1b[?25h");
            self.cursor = (line, column);
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Takes the block away and shows the cursor.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        let text = self.erase() + "\x1b[?25h";
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Returns what erases the block.
    fn erase(&mut self) -> String {
        if self.block.is_empty() {
            return String::new();
        }
        // A window that became narrower has broken lines in two.
        let rows = |widths: &[usize]| -> usize {
            widths
                .iter()
                .map(|width| width.div_ceil(self.width).max(1))
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
        assert!(written(&mut screen).ends_with("hint\r\x1b[1A\x1b[4C\x1b[?25h"));
        screen.clear().unwrap();
        assert_eq!(written(&mut screen), erased(1));
    }

    #[test]
    fn a_block_is_never_taller_than_the_window() {
        let mut screen = Screen::new(Vec::new(), PLAIN, (20, 2));
        let block = ["one", "two", "three"].map(line);
        for _ in 0..2 {
            screen.paint(&block, Some((2, 0))).unwrap();
            let text = written(&mut screen);
            assert!(text.ends_with("two\r\nthree\r\x1b[?25h"), "{text:?}");
            assert!(!text.contains("one"), "{text:?}");
        }
        screen.clear().unwrap();
        assert_eq!(written(&mut screen), erased(1));
    }
}

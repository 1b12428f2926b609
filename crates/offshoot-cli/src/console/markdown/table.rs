//! A table for a terminal of a given width.
//!
//! Every cell can be read in full in any window. Where the columns do not fit,
//! cells are broken into lines, the widest first; where that leaves too little to
//! read, each row is set as a list of what its cells are called and say.

use pulldown_cmark::Alignment;

use super::super::line::{Line, Style, Tone};

/// Columns between two cells.
const GAP: usize = 2;

/// Fewest columns that a cell is broken into.
const NARROWEST: usize = 8;

/// A table: its first row names the columns.
pub(super) struct Table {
    align: Vec<Alignment>,
    rows: Vec<Vec<Line>>,
}

impl Table {
    pub(super) fn new(align: Vec<Alignment>) -> Self {
        Self {
            align,
            rows: Vec::new(),
        }
    }

    /// Begins a row.
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Begins a cell.
    pub(super) fn cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(Line::default());
        }
    }

    /// Returns the cell that is being set.
    pub(super) fn open(&mut self) -> Option<&mut Line> {
        self.rows.last_mut()?.last_mut()
    }

    /// Sets it in so many columns.
    pub(super) fn lines(&self, width: usize, style: Style) -> Vec<Line> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(Line::width).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(widest).collect();
        match fitted(&widths, width) {
            Some(fitted) => self.grid(&fitted, fitted != widths, style),
            None => self.list(width),
        }
    }

    fn grid(&self, widths: &[usize], is_broken: bool, style: Style) -> Vec<Line> {
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            // Rows of several lines would run into each other.
            if is_broken && index > 1 {
                lines.push(Line::default());
            }
            lines.extend(self.set(row, widths));
            if index == 0 {
                let rule = if style.unicode { "─" } else { "-" };
                let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
                lines.push(Line::of(Tone::Dim, &rule.repeat(total)));
            }
        }
        lines
    }

    /// Sets a row in columns of these widths.
    fn set(&self, row: &[Line], widths: &[usize]) -> Vec<Line> {
        let cells = row.iter().zip(widths);
        let cells: Vec<Vec<Line>> = cells.map(|(cell, width)| cell.wrap(*width, "")).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let mut lines = Vec::new();
        for at in 0..height {
            let mut line = Line::default();
            for (column, width) in widths.iter().enumerate() {
                let cell = cells.get(column).and_then(|cell| cell.get(at));
                let cell = cell.cloned().unwrap_or_default();
                let pad = " ".repeat(width.saturating_sub(cell.width()));
                let right = matches!(self.align.get(column), Some(Alignment::Right));
                let (before, after) = if right {
                    (pad.as_str(), "")
                } else {
                    ("", pad.as_str())
                };
                line.push(Tone::Plain, before);
                line.extend(cell);
                line.push(Tone::Plain, after);
                line.push(Tone::Plain, &" ".repeat(GAP));
            }
            lines.push(line.trimmed());
        }
        lines
    }

    /// Sets each row as a list of its cells.
    fn list(&self, width: usize) -> Vec<Line> {
        let Some((names, rows)) = self.rows.split_first() else {
            return Vec::new();
        };
        if rows.is_empty() {
            return names
                .iter()
                .flat_map(|name| name.wrap(width, "  "))
                .collect();
        }
        let mut lines = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                lines.push(Line::default());
            }
            for (column, cell) in row.iter().enumerate() {
                let mut line = names.get(column).cloned().unwrap_or_default();
                line.push(Tone::Plain, ": ");
                line.extend(cell.clone());
                lines.extend(line.wrap(width, "  "));
            }
        }
        lines
    }
}

/// Returns widths that fit into the room there is, taken from the widest; `None` if those would
/// become too narrow.
fn fitted(widths: &[usize], room: usize) -> Option<Vec<usize>> {
    let room = room.checked_sub(GAP * widths.len().saturating_sub(1))?;
    if widths.iter().sum::<usize>() <= room {
        return Some(widths.to_vec());
    }
    let capped = |cap: usize| widths.iter().map(move |width| (*width).min(cap));
    let mut caps = (NARROWEST..=room).rev();
    let cap = caps.find(|cap| capped(*cap).sum::<usize>() <= room)?;
    Some(capped(cap).collect())
}

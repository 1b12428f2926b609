//! Rows in columns, as wide as the reader's screen.
//!
//! Where there is room nothing is cut. Where there is not, the last column gives
//! way first, then every line is cut at the edge: a line that wraps is harder to
//! read than one that ends in `…`. A reader that is no screen gets everything.

use crate::terminal;

/// What stands between two columns.
const GAP: &str = "  ";

/// Aligns cells in columns; `width` is that of the screen, if there is one.
pub(crate) fn lines<const N: usize>(
    head: [&str; N],
    rows: &[[String; N]],
    width: Option<usize>,
) -> Vec<String> {
    let head = head.map(str::to_owned);
    let all = || std::iter::once(&head).chain(rows);
    let mut widths = [0; N];
    for row in all() {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = terminal::columns(cell).max(*width);
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths);
        let padded: Vec<String> = cells.map(|(cell, width)| pad(cell, width)).collect();
        let line = padded.join(GAP).trim_end().to_owned();
        match width {
            Some(width) => terminal::cut(&line, width),
            None => line,
        }
    };
    all().map(line).collect()
}

/// Tells whether rows fit a screen when only the last column may be cut, to no less than `least`.
pub(crate) fn fits<const N: usize>(
    head: [&str; N],
    rows: &[[String; N]],
    least: usize,
    width: usize,
) -> bool {
    let mut needed = 0;
    for column in 0..N {
        let cells = rows.iter().map(|row| terminal::columns(&row[column]));
        let widest = cells
            .max()
            .unwrap_or(0)
            .max(terminal::columns(head[column]));
        needed += if column + 1 == N {
            widest.min(least)
        } else {
            widest + GAP.len()
        };
    }
    needed <= width
}

fn pad(cell: &str, width: usize) -> String {
    let missing = width.saturating_sub(terminal::columns(cell));
    format!("{cell}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<[String; 3]> {
        vec![
            ["one", "日本", "a long title that goes on"].map(str::to_owned),
            ["three", "x", "y"].map(str::to_owned),
        ]
    }

    #[test]
    fn columns_are_aligned_and_nothing_is_cut_for_a_pipe() {
        let lines = lines(["ID", "A", "TITLE"], &rows(), None);
        assert_eq!(
            lines,
            [
                "ID     A     TITLE",
                "one    日本  a long title that goes on",
                "three  x     y",
            ]
        );
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        for width in 1..60 {
            for line in lines(["ID", "A", "TITLE"], &rows(), Some(width)) {
                assert!(terminal::columns(&line) <= width, "{width}: {line}");
            }
        }
        let narrow = lines(["ID", "A", "TITLE"], &rows(), Some(20));
        assert_eq!(narrow[1], "one    日本  a long…");
    }

    #[test]
    fn what_fits_is_known_before_it_is_cut() {
        let head = ["ID", "A", "TITLE"];
        // three and its gap, 日本 and its gap, eight of the title
        assert!(fits(head, &rows(), 8, 21));
        assert!(!fits(head, &rows(), 8, 20));
    }
}

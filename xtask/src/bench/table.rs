//! A table for people: columns as wide as they need to be.

use std::fmt;

/// Rows under a title; the first row names the columns.
pub(super) struct Table {
    title: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(title: &str, columns: &[&str]) -> Self {
        let head = columns.iter().map(|name| (*name).to_owned()).collect();
        Self {
            title: title.to_owned(),
            rows: vec![head],
        }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Says something instead of rows.
    pub(super) fn remark(title: &str, text: &str) -> Self {
        Self {
            title: format!("{title}: {text}"),
            rows: Vec::new(),
        }
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        for row in &self.rows {
            let mut line = String::from("  ");
            for (column, cell) in row.iter().enumerate() {
                let width = self.width(column);
                // The first column is words, the others are figures.
                let padded = match column {
                    0 => format!("{cell:<width$}"),
                    _ => format!("  {cell:>width$}"),
                };
                line.push_str(&padded);
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new("costs", &["what", "ours"]);
        table.row(vec!["a child".to_owned(), "0.5 ms".to_owned()]);
        assert_eq!(
            table.to_string(),
            "costs\n  what       ours\n  a child  0.5 ms\n"
        );
    }
}

//! A Markdown page, built line by line.
//!
//! Keeps the blank lines right: one before every heading, none at the ends. What
//! is put in must be one line; foreign text comes through `markdown` first.

use super::markdown;

/// The plain statement that every answer carries.
const STATEMENT: &str = "Written by `offline`: rule-based, no language model. It \
     states what tools showed; what files say is quoted.";

/// A page in the making.
#[derive(Debug, Default)]
pub(super) struct Page {
    lines: Vec<String>,
}

impl Page {
    /// Begins a page with its title and the statement of what wrote it.
    pub(super) fn titled(title: &str) -> Self {
        let mut page = Self::default();
        page.lines.push(format!("# {title}"));
        page.paragraph(STATEMENT);
        page
    }

    pub(super) fn heading(&mut self, text: &str) {
        self.gap();
        self.lines.push(format!("## {text}"));
        self.lines.push(String::new());
    }

    /// Begins a part of a part; the list before it ends there, so it needs no gap.
    pub(super) fn subheading(&mut self, text: &str) {
        self.lines.push(format!("### {text}"));
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        self.gap();
        self.lines.push(text.to_owned());
    }

    /// Quotes what a file says.
    pub(super) fn quote(&mut self, text: &str) {
        self.gap();
        // A mark that opens a block would do so inside a quote as well.
        let opens = text.starts_with(|first: char| "#>-+*=~|".contains(first))
            || text.split_once(['.', ')']).is_some_and(|(head, _)| {
                !head.is_empty() && head.chars().all(|digit| digit.is_ascii_digit())
            });
        let guard = if opens { "\\" } else { "" };
        self.lines.push(format!("> {guard}{text}"));
        self.lines.push(String::new());
    }

    pub(super) fn item(&mut self, text: impl AsRef<str>) {
        self.lines.push(format!("- {}", text.as_ref()));
    }

    pub(super) fn numbered(&mut self, number: usize, text: &str) {
        self.lines.push(format!("{number}. {text}"));
    }

    /// Puts a row of a table; the first is its head.
    pub(super) fn row(&mut self, cells: &[String]) {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        self.lines.push(format!("| {} |", cells.join(" | ")));
    }

    /// Puts the line between a table's head and its rows.
    pub(super) fn rule(&mut self, columns: usize) {
        self.lines.push(format!("|{}", "---|".repeat(columns)));
    }

    /// Puts text between fences that it cannot close.
    pub(super) fn block(&mut self, text: &str) {
        self.gap();
        let block = markdown::block(text);
        self.lines.extend(block.lines().map(str::to_owned));
    }

    pub(super) fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    pub(super) fn render(mut self) -> String {
        while self.lines.last().is_some_and(String::is_empty) {
            self.lines.pop();
        }
        let mut text = self.lines.join("\n");
        text.push('\n');
        text
    }
}

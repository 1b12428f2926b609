//! Markdown for a terminal of a given width.
//!
//! Pure: text in, lines out. What it does not know is shown as text. Nothing in
//! the text can move the cursor or break a later line.

mod table;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use self::table::Table;
use super::line::{Line, Style, Tone};
use crate::render;

/// Most columns that text is set in: longer lines are hard to read.
const MOST_COLUMNS: usize = 100;

/// Renders a text.
pub(crate) fn lines(text: &str, width: usize, style: Style) -> Vec<Line> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page {
        style,
        width: width.clamp(4, MOST_COLUMNS),
        ..Page::new(style)
    };
    for event in Parser::new_ext(text, options) {
        page.take(event);
    }
    page.flush();
    while page.lines.last().is_some_and(Line::is_empty) {
        page.lines.pop();
    }
    page.lines
}

/// What has been set so far, and where we are.
struct Page {
    style: Style,
    width: usize,
    lines: Vec<Line>,
    /// The paragraph that is being set.
    open: Line,
    tones: Vec<Tone>,
    /// What stands before the first line of the paragraph, and before the others.
    bullet: Option<String>,
    /// How wide the last bullet was: what follows it stands below its words.
    hanging: usize,
    /// Open lists: the number of the next item, where they are numbered.
    lists: Vec<Option<u64>>,
    quotes: usize,
    code: Option<String>,
    link: Option<String>,
    table: Option<Table>,
}

impl Page {
    fn new(style: Style) -> Self {
        Self {
            style,
            width: MOST_COLUMNS,
            lines: Vec::new(),
            open: Line::default(),
            tones: Vec::new(),
            bullet: None,
            hanging: 2,
            lists: Vec::new(),
            quotes: 0,
            code: None,
            link: None,
            table: None,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => self.piece(Tone::Code, &text),
            Event::InlineHtml(text) | Event::Html(text) => self.text(&text),
            // Two lines that were written as such may be no sentence.
            Event::SoftBreak | Event::HardBreak => self.flush(),
            Event::Rule => {
                self.gap();
                let rule = if self.style.unicode { "─" } else { "-" };
                let rule = rule.repeat(self.width.min(40));
                self.lines.push(Line::of(Tone::Dim, &rule));
            }
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.flush();
                self.gap();
                self.tones.push(Tone::Bold);
                let marks = match level {
                    HeadingLevel::H1 => "# ",
                    HeadingLevel::H2 => "## ",
                    HeadingLevel::H3 | HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => {
                        "### "
                    }
                };
                self.open.push(Tone::Dim, marks);
            }
            Tag::Paragraph => {
                if self.lists.is_empty() {
                    self.gap();
                }
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.gap();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.gap();
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    let line = Line::of(Tone::Dim, &format!("{}{language}", self.margin()));
                    self.lines.push(line);
                }
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                self.flush();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush();
                let sign = if self.style.unicode { "•" } else { "-" };
                self.bullet = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    Some(None) | None => format!("{sign} "),
                });
            }
            Tag::Emphasis | Tag::Strong => self.tones.push(Tone::Bold),
            Tag::Strikethrough => self.tones.push(Tone::Dim),
            Tag::Link { dest_url, .. } => self.link = Some(dest_url.into_string()),
            Tag::Image { dest_url, .. } => self.link = Some(dest_url.into_string()),
            Tag::Table(align) => {
                self.flush();
                self.gap();
                self.table = Some(Table::new(align));
            }
            Tag::TableHead => {
                self.tones.push(Tone::Bold);
                self.table.iter_mut().for_each(Table::row);
            }
            Tag::TableRow => self.table.iter_mut().for_each(Table::row),
            Tag::TableCell => self.table.iter_mut().for_each(Table::cell),
            Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.tones.pop();
                self.flush();
            }
            TagEnd::Paragraph | TagEnd::Item | TagEnd::HtmlBlock => self.flush(),
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.quotes -= 1;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::TableHead => {
                self.tones.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some(target) = self.link.take()
                    && !target.starts_with('#')
                {
                    self.piece(Tone::Dim, &format!(" ({target})"));
                }
            }
            TagEnd::Table => self.end_table(),
            TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            code.push_str(text);
            return;
        }
        let tone = self.tones.last().copied().unwrap_or(Tone::Plain);
        self.piece(tone, text);
    }

    fn piece(&mut self, tone: Tone, text: &str) {
        let open = match &mut self.table {
            Some(table) => table.open().unwrap_or(&mut self.open),
            None => &mut self.open,
        };
        let text = render::plain_spaces(text.trim_end_matches('\n'));
        open.push(tone, &text);
    }

    /// Leaves a blank line, unless there is one.
    fn gap(&mut self) {
        if self.bullet.is_none() && self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(Line::default());
        }
    }

    /// Returns what stands before every line here.
    fn margin(&self) -> String {
        let mark = if self.style.unicode { "│ " } else { "> " };
        let depth = self.lists.len().saturating_sub(1).min(self.width / 8);
        format!("{}{}", mark.repeat(self.quotes), "  ".repeat(depth))
    }

    /// Sets the paragraph that is open.
    fn flush(&mut self) {
        let open = std::mem::take(&mut self.open);
        if open.is_empty() {
            return;
        }
        let margin = self.margin();
        let (first, rest) = match self.bullet.take() {
            Some(bullet) => {
                self.hanging = bullet.chars().count();
                (bullet, " ".repeat(self.hanging))
            }
            None if self.lists.is_empty() => (String::new(), String::new()),
            None => (" ".repeat(self.hanging), " ".repeat(self.hanging)),
        };
        let mut line = Line::of(Tone::Dim, &margin).and(Tone::Name, &first);
        line.extend(open);
        let indent = format!("{margin}{rest}");
        self.lines.extend(line.wrap(self.width, &indent));
    }

    fn end_code(&mut self) {
        let margin = self.margin();
        for line in self.code.take().unwrap_or_default().lines() {
            let line = Line::of(Tone::Dim, &margin).and(Tone::Code, &format!("    {line}"));
            // Code is cut by the window, not broken: broken code reads as other code.
            self.lines.push(line);
        }
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else {
            return;
        };
        let margin = Line::of(Tone::Dim, &self.margin());
        let room = self.width.saturating_sub(margin.width());
        for row in table.lines(room, self.style) {
            let mut line = margin.clone();
            line.extend(row);
            self.lines.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style {
        colour: false,
        unicode: true,
    };

    #[track_caller]
    fn check(width: usize, text: &str, expected: &[&str]) {
        let lines = lines(text, width, PLAIN);
        let shown: Vec<String> = lines
            .iter()
            .map(|line| line.render(PLAIN).trim_end().to_owned())
            .collect();
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn headings_paragraphs_and_lists_are_set() {
        let text = "# Title\nSome *words* and `code`,\nwrapped.\n\n- one\n- two\n  - three\n\n1. first\n2. second\n";
        let expected = [
            "# Title",
            "",
            "Some words and code,",
            "wrapped.",
            "",
            "• one",
            "• two",
            "  • three",
            "",
            "1. first",
            "2. second",
        ];
        check(22, text, &expected);
    }

    #[test]
    fn code_is_kept_and_tables_line_up() {
        let text = "```rust\nfn x() {\n\ty\n}\n```\n\n| a | files |\n|---|--:|\n| Rust | 12 |\n| C | 3 |\n";
        let expected = [
            "rust",
            "    fn x() {",
            "        y",
            "    }",
            "",
            "a     files",
            "───────────",
            "Rust     12",
            "C         3",
        ];
        check(60, text, &expected);
    }

    #[test]
    fn lines_that_were_written_as_such_stay_apart() {
        let text = "built: yes\ntested: no\n\n1. one\n   more\n\n> said\n> so";
        let expected = [
            "built: yes",
            "tested: no",
            "",
            "1. one",
            "   more",
            "",
            "│ said",
            "│ so",
        ];
        check(60, text, &expected);
    }

    #[test]
    fn a_table_that_is_too_wide_is_broken_within_its_cells() {
        let text = "| file | what it does |\n|---|---|\n\
                    | lib.rs | says what `there` is to be used |\n| main.rs | starts |\n";
        let expected = [
            "file     what it does",
            "──────────────────────────",
            "lib.rs   says what there",
            "         is to be used",
            "",
            "main.rs  starts",
        ];
        check(26, text, &expected);
    }

    #[test]
    fn a_table_that_no_column_is_left_for_is_read_as_a_list() {
        let text = "| one | two | three |\n|---|---|---|\n\
                    | the first cell | the second cell | the third one |\n| a | b |  |\n";
        let expected = [
            "one: the first cell",
            "two: the second cell",
            "three: the third one",
            "",
            "one: a",
            "two: b",
            "three:",
        ];
        check(22, text, &expected);
        let words = ["first", "second", "third"];
        for width in 4..80 {
            let lines = lines(text, width, PLAIN);
            assert!(lines.iter().all(|line| line.width() <= width), "{width}");
            let shown: Vec<String> = lines.iter().map(|line| line.render(PLAIN)).collect();
            let all = shown.concat().replace(' ', "");
            assert!(
                words.iter().all(|word| all.contains(word)),
                "{width}: {all}"
            );
        }
    }

    #[test]
    fn twenty_columns_are_enough() {
        let text =
            "> quoted words that are long\n\n- an item that is long too\n\n[link](http://x.y)";
        let expected = [
            "│ quoted words that",
            "│ are long",
            "",
            "• an item that is",
            "  long too",
            "",
            "link (http://x.y)",
        ];
        check(20, text, &expected);
    }

    #[test]
    fn hostile_text_stays_text() {
        check(
            40,
            "a\u{1b}[2Jb\n\n```\nopen fence",
            &["a\\u{1b}[2Jb", "", "    open fence"],
        );
        check(40, "", &[]);
    }
}

//! What a README says: its title, its first words, the commands it shows.

use super::super::markdown;

/// Longest title and longest first paragraph that are quoted, in characters.
const LONGEST_TITLE: usize = 80;
const LONGEST_PARAGRAPH: usize = 400;

/// Fewest letters of a paragraph that says something.
const FEWEST_LETTERS: usize = 15;

/// Words that a command of a shell begins with.
const COMMANDS: &[&str] = &[
    "bazel",
    "bundle",
    "cargo",
    "cmake",
    "composer",
    "deno",
    "docker",
    "dotnet",
    "go",
    "gradle",
    "just",
    "make",
    "meson",
    "mix",
    "mvn",
    "ninja",
    "npm",
    "npx",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "pytest",
    "python",
    "python3",
    "swift",
    "tox",
    "uv",
    "yarn",
    "zig",
    "./configure",
    "./gradlew",
];

/// What a README says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Readme {
    pub(in super::super) title: Option<String>,
    /// The first paragraph of prose.
    pub(in super::super) about: Option<String>,
    /// Commands in its code, each once.
    pub(in super::super) commands: Vec<String>,
}

impl Readme {
    pub(in super::super) fn read(text: &str) -> Self {
        Self {
            title: headings(text).into_iter().next().map(|(_, title)| title),
            about: first_paragraph(text),
            commands: commands(text),
        }
    }
}

/// Returns the headings of a document with their lines.
pub(in super::super) fn headings(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut before = "";
    let body = body(text);
    let settings = text.len() - body.len();
    let above = text
        .get(..settings)
        .unwrap_or_default()
        .matches('\n')
        .count();
    for (number, line, is_code) in lines(body) {
        let underlined = !before.trim().is_empty()
            && line.len() >= 3
            && (line.chars().all(|c| c == '=') || line.chars().all(|c| c == '-'));
        let title = match line.strip_prefix('#') {
            Some(rest) if !is_code => Some((number, rest.trim_matches(['#', ' ']))),
            None if underlined && !is_code => Some((number - 1, before)),
            Some(_) | None => None,
        };
        if let Some((number, title)) = title {
            let title = markdown::prose(title, LONGEST_TITLE);
            if !title.is_empty() {
                found.push((above + number, title));
            }
        }
        before = if is_code { "" } else { line };
    }
    found
}

/// Returns the first words that are prose: no title, badge, list, table, tag or code.
fn first_paragraph(text: &str) -> Option<String> {
    let mut paragraph = String::new();
    let mut kept = Vec::new();
    for (_, line, is_code) in lines(body(text)) {
        let line = line.trim();
        let underline = line.len() >= 3 && line.chars().all(|c| c == '=' || c == '-');
        if underline {
            // What came before was a title.
            paragraph.clear();
        } else if is_code || line.is_empty() || !is_prose(line) {
            kept.extend(said(&paragraph));
            paragraph.clear();
        } else if paragraph.len() < 8 * LONGEST_PARAGRAPH {
            paragraph.push_str(line);
            paragraph.push(' ');
        }
        if !kept.is_empty() {
            break;
        }
    }
    kept.into_iter().next().or_else(|| said(&paragraph))
}

fn said(paragraph: &str) -> Option<String> {
    let text = markdown::prose(paragraph, LONGEST_PARAGRAPH);
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    (letters >= FEWEST_LETTERS).then_some(text)
}

fn is_prose(line: &str) -> bool {
    let structure = [
        "#", "|", "- ", "* ", "+ ", "> ", "---", "===", "***", ".. ", ":",
    ];
    !structure.iter().any(|start| line.starts_with(start)) && !line.starts_with("[!")
}

/// Returns the text behind a block of settings at its start.
fn body(text: &str) -> &str {
    let settings = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---"));
    settings.map_or(text, |(_, body)| body)
}

fn commands(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, line, is_code) in lines(text) {
        let line = line.trim();
        let line = line.strip_prefix("$ ").unwrap_or(line);
        let line = line
            .split_once(" #")
            .map_or(line, |(line, _)| line.trim_end());
        let first = line.split_whitespace().next().unwrap_or_default();
        let is_command = is_code && COMMANDS.contains(&first) && line.contains(' ');
        let bare = is_code && matches!(line, "make" | "tox" | "pytest" | "just");
        if (is_command || bare) && !found.iter().any(|known| known == line) {
            found.push(line.to_owned());
        }
    }
    found
}

/// Returns lines with their numbers and whether they are code, fences included.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut fence: Option<&str> = None;
    text.lines().zip(1_usize..).map(move |(line, number)| {
        let start = line.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => {
                fence = Some(mark);
                (number, line, true)
            }
            (Some(open), Some(mark)) if open == mark => {
                fence = None;
                (number, line, true)
            }
            (Some(_), _) => (number, line, true),
            (None, None) => (
                number,
                line,
                line.starts_with("    ") || line.starts_with('\t'),
            ),
        }
    })
}

#[cfg(test)]
mod tests;

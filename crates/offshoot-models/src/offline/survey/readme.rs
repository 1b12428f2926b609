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
        let text = plain(text);
        Self {
            title: title(text),
            about: first_paragraph(text),
            commands: commands(text),
        }
    }
}

/// A heading of a document.
struct Heading {
    line: usize,
    /// 1 for a title.
    level: usize,
    text: String,
}

/// Returns the headings of a document with their lines.
pub(in super::super) fn headings(text: &str) -> Vec<(usize, String)> {
    let found = levelled(plain(text)).into_iter();
    found.map(|heading| (heading.line, heading.text)).collect()
}

/// Returns the text without the mark of its encoding.
fn plain(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Returns the first heading of the highest level, whichever way it is written.
fn title(text: &str) -> Option<String> {
    let written = levelled(text).into_iter().find(|found| found.level == 1);
    let tagged = tagged_title(text);
    match (written, tagged) {
        (Some(written), Some((line, _))) if written.line < line => Some(written.text),
        (_, Some((_, tagged))) => Some(tagged),
        (written, None) => written.map(|found| found.text),
    }
}

/// Returns what stands between `<h1>` and `</h1>`, with its line.
fn tagged_title(text: &str) -> Option<(usize, String)> {
    const OPEN: &str = "<h1";
    // Far down it is no title, and not worth looking for.
    const FURTHEST: usize = 200;
    let mut inside: Option<(usize, String)> = None;
    for (number, line, is_code) in lines(body(text)).take(FURTHEST) {
        // In ASCII, so that places in both are the same.
        let small = line.to_ascii_lowercase();
        let from = match (&inside, small.find(OPEN)) {
            (None, Some(at)) if !is_code => {
                inside = Some((number, String::new()));
                at
            }
            (None, _) => continue,
            (Some(_), _) => 0,
        };
        let Some((_, words)) = &mut inside else {
            continue;
        };
        let end = small.find("</h1").filter(|end| *end >= from);
        words.push_str(
            line.get(from..end.unwrap_or(line.len()))
                .unwrap_or_default(),
        );
        words.push(' ');
        if end.is_some() {
            let words = markdown::prose(words, 8 * LONGEST_TITLE);
            let title = markdown::prose(&words, LONGEST_TITLE);
            if !title.is_empty() {
                return inside.map(|(number, _)| (number, title));
            }
            inside = None;
        }
    }
    None
}

fn levelled(text: &str) -> Vec<Heading> {
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
        let underline = line.trim_end();
        let marked = |mark| underline.len() >= 3 && underline.chars().all(|c| c == mark);
        let underlined = match (before.trim().is_empty(), marked('='), marked('-')) {
            (false, true, _) => Some(1),
            (false, _, true) => Some(2),
            (_, _, _) => None,
        };
        let hashes = line.len() - line.trim_start_matches('#').len();
        let heading = match (hashes, line.strip_prefix("= "), underlined) {
            (_, _, _) if is_code => None,
            (1.., _, _) => Some((number, hashes, line.trim_matches(['#', ' ']))),
            // AsciiDoc's.
            (0, Some(title), _) => Some((number, 1, title)),
            (0, None, Some(level)) => Some((number - 1, level, before)),
            (0, None, None) => None,
        };
        if let Some((number, level, title)) = heading {
            let text = markdown::prose(title, LONGEST_TITLE);
            if !text.is_empty() {
                let line = above + number;
                found.push(Heading { line, level, text });
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
    let mut in_heading = false;
    for (_, line, is_code) in lines(without_head(body(text))) {
        let line = line.trim();
        let underline = line.len() >= 3 && line.chars().all(|c| c == '=' || c == '-');
        let small = line.to_ascii_lowercase();
        let opens = small
            .strip_prefix("<h")
            .is_some_and(|rest| rest.starts_with(|c: char| ('1'..='6').contains(&c)));
        let is_heading = in_heading || opens;
        in_heading = is_heading && !small.contains("</h");
        if underline {
            // What came before was a title.
            paragraph.clear();
        } else if is_code || is_heading || line.is_empty() || !is_prose(line) {
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

/// Returns the text behind the title, authors and settings that an AsciiDoc begins with.
fn without_head(text: &str) -> &str {
    let is_headed = text.starts_with("= ");
    let behind = text.split_once("\n\n").filter(|_| is_headed);
    behind.map_or(text, |(_, behind)| behind)
}

fn said(paragraph: &str) -> Option<String> {
    let text = markdown::prose(paragraph, LONGEST_PARAGRAPH);
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    (letters >= FEWEST_LETTERS).then_some(text)
}

fn is_prose(line: &str) -> bool {
    let structure = [
        "#", "|", "- ", "* ", "+ ", "> ", "---", "= ", "== ", "===", "***", ".. ", ":",
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

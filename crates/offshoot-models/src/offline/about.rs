//! What a file says of itself: a description in a manifest, the first words of a document, the
//! comment at the head of a source file.

use super::markdown;

/// Longest text that is quoted, in characters.
const LONGEST: usize = 240;

/// Marks that begin a comment at the head of a source file.
const COMMENTS: &[&str] = &[
    "//!", "///", "//", "/**", "/*", "*", "#", "\"\"\"", "'''", "--",
];

/// Returns what a file says of itself, as one line of prose.
pub(super) fn of(path: &str, text: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let said = if name.ends_with(".toml") || name.ends_with(".json") {
        description(text)
    } else if name.ends_with(".md") || name.starts_with("readme") {
        paragraph(text)
    } else {
        comment(text)
    };
    let said = markdown::prose(&said?, LONGEST);
    (!said.is_empty()).then_some(said)
}

/// Returns the title of a document.
pub(super) fn title(text: &str) -> Option<String> {
    let title = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("# "))?;
    Some(markdown::prose(title, 80))
}

/// Reads `description = "…"` or `"description": "…"`.
fn description(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim);
    let line = lines.find_map(|line| {
        let line = line.strip_prefix('"').unwrap_or(line);
        line.strip_prefix("description")
    })?;
    let value = line
        .trim_start_matches(['"', ' ', '=', ':'])
        .trim_end_matches(',');
    Some(value.trim_end_matches('"').replace("\\\"", "\""))
}

/// Returns the first paragraph that is neither a heading nor made of images, links or markup.
fn paragraph(text: &str) -> Option<String> {
    let is_prose = |line: &&str| {
        let line = line.trim();
        line.starts_with(|first: char| first.is_alphanumeric() || "*_`\"".contains(first))
            && line.contains(' ')
    };
    let lines = text.lines().skip_while(|line| !is_prose(line));
    let prose: Vec<&str> = lines.take_while(|line| !line.trim().is_empty()).collect();
    (!prose.is_empty()).then(|| prose.join(" "))
}

/// Returns the comment that a source file begins with.
fn comment(text: &str) -> Option<String> {
    let mut said = Vec::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("#!"))
    {
        let Some(mark) = COMMENTS.iter().find(|mark| line.starts_with(**mark)) else {
            if line.is_empty() && said.is_empty() {
                continue;
            }
            break;
        };
        let words = line
            .trim_start_matches(mark)
            .trim_end_matches(['*', '/', '"', '\'']);
        let words = words.trim();
        if words.is_empty() && !said.is_empty() {
            break;
        }
        said.push(words);
    }
    let said = said.join(" ");
    // A licence says nothing of the file.
    let is_licence = said.to_lowercase().contains("copyright") || said.contains("SPDX-");
    (!said.trim().is_empty() && !is_licence).then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_quoted_with_what_they_say_of_themselves() {
        for (path, text, expected) in [
            (
                "Cargo.toml",
                "[package]\ndescription = \"A thing.\"\n",
                Some("A thing."),
            ),
            (
                "package.json",
                "{\n  \"description\": \"A thing.\",\n}",
                Some("A thing."),
            ),
            (
                "README.md",
                "# Thing\n\n[![x](y)](z)\n\nIt does\nthis.\n\nMore.",
                Some("It does this."),
            ),
            (
                "src/lib.rs",
                "//! Does it.\n//!\n//! More.\nfn a() {}",
                Some("Does it."),
            ),
            (
                "a.py",
                "#!/usr/bin/python\n\"\"\"Does it.\"\"\"\nimport a",
                Some("Does it."),
            ),
            ("b.c", "// Copyright 2020\nint a;", None),
            ("c.go", "package c", None),
        ] {
            assert_eq!(of(path, text).as_deref(), expected, "{path}");
        }
    }
}

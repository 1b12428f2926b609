//! What a source file says of itself at its top.
//!
//! The first comment or docstring, unless it is about rights or an instruction to
//! a tool. Only its first paragraph is taken.

use super::super::markdown;
use super::languages;

const LONGEST: usize = 240;

/// Fewest letters of a comment that says something.
const FEWEST_LETTERS: usize = 5;

/// How far down a header may begin, in lines.
const FURTHEST: usize = 60;

/// Words of comments that say nothing of the file.
const LEGAL: &[&str] = &[
    "copyright",
    "spdx-",
    "licensed under",
    "license",
    "licence",
    "all rights reserved",
    "permission is hereby granted",
    "software is provided",
    "without warrant",
    "no warranty",
    "merchantability",
    "in no event shall",
    "redistribut",
    "except as contained in this notice",
    "general public",
    "free software foundation",
    "section 7 of gpl",
    "runtime library exception",
    "this file is part of",
    "you should have received a copy",
    "public domain",
    "@generated",
    "eslint",
    "-*-",
    "vim:",
    "@ts-",
    "pylint",
    "noqa",
    "use strict",
    "go:build",
    "+build",
    "clang-format",
];

/// The mark of comments that are about the file they stand in.
const INNER: &[&str] = &["//!"];

/// How comments are written.
enum Style {
    /// Lines that begin with one of these.
    Lines(&'static [&'static str]),
    /// A docstring.
    Docstring,
    /// Lines, or a block between `/*` and `*/`.
    Curly(&'static [&'static str]),
}

/// Returns what a file says of itself, as prose.
pub(in super::super) fn of(path: &str, text: &str) -> Option<String> {
    let style = style(path)?;
    let lines: Vec<&str> = text.lines().take(FURTHEST).map(str::trim).collect();
    let paragraphs = match style {
        Style::Lines(marks) => line_comments(&lines, marks),
        Style::Docstring => docstring(&lines),
        Style::Curly(marks) => {
            let mut found = line_comments(&lines, marks);
            found.extend(block_comment(&lines));
            found
        }
    };
    paragraphs
        .into_iter()
        .filter(|paragraph| !is_legal(paragraph))
        .map(|paragraph| markdown::prose(&paragraph, LONGEST))
        .find(|paragraph| paragraph.chars().filter(|c| c.is_alphabetic()).count() >= FEWEST_LETTERS)
}

fn style(path: &str) -> Option<Style> {
    Some(match languages::of(path)?.name {
        "Rust" => Style::Lines(INNER),
        "Python" => Style::Docstring,
        "Ruby" | "Shell" | "Makefile" | "Elixir" | "Perl" | "R" | "Julia" | "Nix" => {
            Style::Lines(&["#"])
        }
        "Haskell" | "Lua" | "Elm" | "SQL" => Style::Lines(&["--"]),
        "C" | "C++" | "C#" | "CUDA" | "CSS" | "Dart" | "Go" | "Groovy" | "Java" | "JavaScript"
        | "Kotlin" | "PHP" | "Scala" | "Solidity" | "Swift" | "TypeScript" | "Zig" => {
            Style::Curly(&["//!", "///", "//"])
        }
        _ => return None,
    })
}

/// Returns the paragraphs of the comments before the first code.
fn line_comments(lines: &[&str], marks: &[&str]) -> Vec<String> {
    let may_wait = marks == INNER;
    let mut found = vec![String::new()];
    for line in lines {
        let comment = marks.iter().find_map(|mark| line.strip_prefix(mark));
        match comment.map(str::trim) {
            Some(words) if !words.is_empty() && !words.starts_with('!') => {
                if let Some(last) = found.last_mut() {
                    last.push_str(words);
                    last.push(' ');
                }
            }
            Some(_) => found.push(String::new()),
            None if line.is_empty() || is_preamble(line) => found.push(String::new()),
            // Attributes may take many lines, and only what comes before items is a header.
            None if may_wait && found.iter().all(String::is_empty) && !is_item(line) => {}
            None => break,
        }
    }
    found
}

fn block_comment(lines: &[&str]) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut open = false;
    for line in lines {
        let start = line.strip_prefix("/*");
        if !open && start.is_none() {
            if line.is_empty() || line.starts_with("//") || is_preamble(line) {
                continue;
            }
            break;
        }
        let words = start.unwrap_or(line);
        let (words, closes) = match words.split_once("*/") {
            Some((words, _)) => (words, true),
            None => (words, false),
        };
        let words = words.trim_matches(['*', ' ', '!']);
        match found.last_mut() {
            Some(last) if !words.is_empty() => {
                last.push_str(words);
                last.push(' ');
            }
            Some(_) | None => found.push(String::new()),
        }
        if closes {
            found.push(String::new());
        }
        open = !closes;
    }
    found
}

fn docstring(lines: &[&str]) -> Vec<String> {
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let Some(at) = lines.iter().position(is_code) else {
        return Vec::new();
    };
    let rest = lines.get(at..).unwrap_or_default();
    let first = rest.first().copied().unwrap_or_default();
    let first = first.strip_prefix(['r', 'u']).unwrap_or(first);
    let Some(quotes) = ["\"\"\"", "'''"].into_iter().find(|q| first.starts_with(q)) else {
        return Vec::new();
    };
    let mut text = first.strip_prefix(quotes).unwrap_or_default().to_owned();
    for line in rest.iter().skip(1) {
        if text.contains(quotes) {
            break;
        }
        text.push('\n');
        text.push_str(line);
    }
    let text = text.split(quotes).next().unwrap_or_default();
    text.split("\n\n")
        .map(|part| part.replace('\n', " "))
        .collect()
}

/// Lines that may stand before a header.
fn is_preamble(line: &str) -> bool {
    [
        "#!",
        "<?php",
        "#pragma",
        "#ifndef",
        "#define",
        "\"use strict\"",
        "'use strict'",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

fn is_item(line: &str) -> bool {
    [
        "use ",
        "mod ",
        "pub ",
        "fn ",
        "struct ",
        "enum ",
        "impl ",
        "extern ",
        "macro_rules",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

fn is_legal(paragraph: &str) -> bool {
    let words = paragraph.to_lowercase();
    LEGAL.iter().any(|word| words.contains(word))
}

#[cfg(test)]
mod tests;

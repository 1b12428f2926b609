//! The five fields of a report, read from a child's last words.
//!
//! Scope, Result, Key files, Files changed, Issues (PD-39): all five or none.
//! Models write them as lines, as headings, in bold or as items of a list, so
//! the reader takes any of these; what is quoted or fenced is not a field of
//! this report but of what it talks about (W-28). Nothing fails for want of one.

use serde::{Deserialize, Serialize};

/// What a child reports, field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// What it took its task to be.
    pub scope: String,
    /// What came of it.
    pub result: String,
    /// Where to look.
    pub key_files: String,
    /// What it says it changed; what it really did is in the journal.
    pub files_changed: String,
    /// What is wrong or left.
    pub issues: String,
}

const FIELDS: [&str; 5] = ["Scope", "Result", "Key files", "Files changed", "Issues"];

impl Report {
    /// Reads the five fields of a text; `None` unless all are there.
    ///
    /// The first of each counts, and its value runs to the next field.
    pub fn parse(text: &str) -> Option<Self> {
        let mut values: [Option<String>; 5] = Default::default();
        let mut current: Option<usize> = None;
        let mut fenced = false;
        for line in text.lines() {
            let field = if fenced { None } else { field(line) };
            if is_fence(line) {
                fenced = !fenced;
            }
            match field {
                Some((at, rest)) if values[at].is_none() => {
                    values[at] = Some(rest.to_owned());
                    current = Some(at);
                }
                // A field that comes again ends the one before it, and is not taken.
                Some(_) => current = None,
                None => {
                    if let Some(value) = current.and_then(|at| values[at].as_mut()) {
                        value.push('\n');
                        value.push_str(line);
                    }
                }
            }
        }
        let mut taken = values.into_iter();
        let mut next = || Some(taken.next()??.trim().to_owned());
        Some(Self {
            scope: next()?,
            result: next()?,
            key_files: next()?,
            files_changed: next()?,
            issues: next()?,
        })
    }
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Returns which field a line begins, and what stands behind its name.
fn field(line: &str) -> Option<(usize, &str)> {
    let indent = line.len() - line.trim_start().len();
    // Deeper than that it is code.
    if indent > 3 {
        return None;
    }
    let (head, bare) = decoration(line.trim_start());
    let (at, name) = FIELDS
        .into_iter()
        .enumerate()
        .find(|(_, name)| starts_with(bare, name))?;
    let rest = &bare[name.len()..];
    // `**Scope:** x`, `**Scope**: x`, `Scope: x`; a heading may do without a colon.
    let rest = rest.trim_start_matches(['*', '_']);
    let value = match rest.strip_prefix(':') {
        Some(value) => value.trim_start_matches(['*', '_']),
        None if head.contains('#') && rest.trim_end_matches(['#', ' ']).is_empty() => "",
        None => return None,
    };
    Some((at, value.trim()))
}

/// Splits what only decorates from a line: a heading's marks, a list's item, bold.
fn decoration(line: &str) -> (&str, &str) {
    let bare = line.trim_start_matches(['#', '*', '-', '_', '+', ' ']);
    // `1. Scope:` as well.
    let digits = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    let bare = match digits.strip_prefix(['.', ')']) {
        Some(rest) if digits.len() < bare.len() => rest.trim_start_matches(['*', '_', ' ']),
        Some(_) | None => bare,
    };
    line.split_at(line.len() - bare.len())
}

fn starts_with(text: &str, name: &str) -> bool {
    let head = text.get(..name.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pd_39_five_lines_are_a_report_and_a_value_runs_to_the_next_field() {
        let text = "Preface.\nScope: all of it\nResult: found\n  two of them\nKey files: a.rs\n\
                    Files changed: none\nIssues: one\n";
        let report = Report::parse(text).unwrap();
        assert_eq!(report.scope, "all of it");
        assert_eq!(report.result, "found\n  two of them");
        assert_eq!(report.key_files, "a.rs");
        assert_eq!(report.files_changed, "none");
        assert_eq!(report.issues, "one");
    }

    #[test]
    fn pd_39_without_one_of_the_five_there_is_none() {
        let text = "Scope: a\nResult: b\nKey files: c\nIssues: e";
        assert_eq!(Report::parse(text), None);
        assert_eq!(Report::parse(""), None);
    }

    #[test]
    fn w_28_bold_headings_lists_and_numbers_do_not_defeat_it() {
        let report = Report {
            scope: "s".to_owned(),
            result: "r".to_owned(),
            key_files: "k".to_owned(),
            files_changed: "f".to_owned(),
            issues: "i".to_owned(),
        };
        let texts = [
            "**Scope:** s\n**Result**: r\n**Key files:** k\n**Files changed:** f\n**Issues:** i",
            "## Scope\ns\n## Result\nr\n## Key files\nk\n## Files changed ##\nf\n## Issues\ni",
            "- Scope: s\n- Result: r\n- key files: k\n* FILES CHANGED: f\n1. **Issues:** i",
        ];
        for text in texts {
            assert_eq!(Report::parse(text).as_ref(), Some(&report), "{text}");
        }
    }

    #[test]
    fn w_28_what_is_quoted_or_fenced_is_not_a_field() {
        let text = "Scope: s\n```\nResult: of the file\n```\nResult: mine\n> Issues: theirs\n    \
                    Issues: code\nKey files: k\nFiles changed: f\nIssues: i";
        let report = Report::parse(text).unwrap();
        assert_eq!(report.result, "mine\n> Issues: theirs\n    Issues: code");
        assert_eq!(report.scope, "s\n```\nResult: of the file\n```");
        assert_eq!(report.issues, "i");
    }
}

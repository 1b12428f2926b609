//! Here-documents: whether the grammar and bash agree where one ends.
//!
//! The body of a here-document is text, so one that the grammar ends too late would
//! hide commands. The end is therefore looked for a second time, line by line, as
//! bash does it.

use tree_sitter::Node;

use super::believe::{all, hides};

/// Tells whether all here-documents of a command, of which there is at most one, are as bash has it.
pub(super) fn believes(root: Node<'_>, text: &str) -> bool {
    let mut redirects = Vec::new();
    let mut operators = 0;
    all(root, |node| {
        match node.kind() {
            "heredoc_redirect" => redirects.push(parts(node)),
            "<<" if shifts(node, text) => {}
            "<<" | "<<-" => operators += 1,
            _ => {}
        }
        operators < 2
    });
    match redirects.as_slice() {
        [] => operators == 0,
        [Some(parts)] => operators == 1 && agrees(parts, text),
        _ => false,
    }
}

/// Tells whether an operator shifts numbers, as bash sees it too: in arithmetic on one line that holds
/// nothing else.
fn shifts(node: Node<'_>, text: &str) -> bool {
    let mut outer = node.parent();
    while let Some(within) = outer {
        match within.kind() {
            "binary_expression" | "parenthesized_expression" => outer = within.parent(),
            "arithmetic_expansion" => {
                let text = &text[within.byte_range()];
                let plain = |c: char| c.is_ascii_alphanumeric() || " $()+-*/%<_".contains(c);
                return text.trim_start().starts_with("$((")
                    && text.ends_with("))")
                    && text.chars().all(plain);
            }
            _ => return false,
        }
    }
    false
}

/// Where the parts of a here-document lie in the text.
struct Parts {
    start: (usize, usize),
    body: (usize, usize),
    end: (usize, usize),
    strips_tabs: bool,
    children: Vec<(usize, usize)>,
}

fn parts(redirect: Node<'_>) -> Option<Parts> {
    let range = |node: Node<'_>| (node.start_byte(), node.end_byte());
    let children = super::children(redirect);
    let find = |kind: &str| children.iter().copied().find(|node| node.kind() == kind);
    let body = find("heredoc_body")?;
    let expanded = super::children(body).into_iter();
    Some(Parts {
        start: range(find("heredoc_start")?),
        body: range(body),
        end: range(find("heredoc_end")?),
        strips_tabs: find("<<-").is_some(),
        children: expanded
            .filter(|node| node.kind() != "heredoc_content")
            .map(range)
            .collect(),
    })
}

fn agrees(parts: &Parts, text: &str) -> bool {
    let start = &text[parts.start.0..parts.start.1];
    let bare = start.trim_matches(['\'', '"']);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let quoted = [format!("'{bare}'"), format!("\"{bare}\"")];
    let is_quoted = quoted.iter().any(|quoted| quoted == start);
    if bare.is_empty() || !bare.chars().all(is_word) || !(is_quoted || bare == start) {
        return false;
    }
    // The body begins behind the line that the operator is on.
    let Some(newline) = text[parts.start.1..].find('\n') else {
        return false;
    };
    // That line is one: nothing on it goes on in the next.
    let line = &text[parts.start.1..parts.start.1 + newline];
    let is_even = |quote: char| line.matches(quote).count().is_multiple_of(2);
    if line.ends_with('\\') || !['"', '\'', '`'].into_iter().all(is_even) {
        return false;
    }
    let first = parts.start.1 + newline + 1;
    let mut at = first;
    loop {
        let line = text[at..].split('\n').next().unwrap_or_default();
        let told = if parts.strips_tabs {
            line.trim_start_matches('\t')
        } else {
            line
        };
        if told == bare {
            let end = at + line.len();
            let ends = parts.end.1 == end && parts.end.0 + bare.len() == end;
            return ends
                && parts.body.0 >= first
                && body_fits(parts, is_quoted, &text[first..at], first);
        }
        at += line.len() + 1;
        if at > text.len() {
            return false;
        }
    }
}

/// Tells whether all that is expanded in a body is known to be.
fn body_fits(parts: &Parts, is_quoted: bool, body: &str, first: usize) -> bool {
    if is_quoted {
        return parts.children.is_empty();
    }
    // Lines that are joined are joined before the end is looked for.
    if body.contains("\\\n") {
        return false;
    }
    let mut at = 0;
    for (from, to) in &parts.children {
        let (Some(from), Some(to)) = (from.checked_sub(first), to.checked_sub(first)) else {
            return false;
        };
        if body.get(at..from).is_none_or(hides) {
            return false;
        }
        at = to;
    }
    body.get(at..).is_some_and(|rest| !hides(rest))
}

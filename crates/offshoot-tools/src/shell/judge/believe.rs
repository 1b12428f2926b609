//! Whether the parse of a command explains all of its text.
//!
//! A grammar reads bash a little differently than bash does. What would be
//! dangerous is a command that it does not see; so every byte must belong to a
//! token or be a blank, a comment must begin where bash lets one begin, and no
//! token may hide a substitution. This looks at the text alone and trusts nothing.

use tree_sitter::{Node, TreeCursor};

use super::heredoc;

/// Tells whether nothing of the text is left unexplained.
pub(super) fn believes(root: Node<'_>, text: &str) -> bool {
    if root.has_error() || text.contains('\r') {
        return false;
    }
    let around =
        is_blank(text, 0, root.start_byte()) && is_blank(text, root.end_byte(), text.len());
    around && heredoc::believes(root, text) && all(root, |node| fits(node, text))
}

/// Tells whether something holds for all nodes. Not recursive: a text may be as deep as it is long.
pub(super) fn all(root: Node<'_>, mut holds: impl FnMut(Node<'_>) -> bool) -> bool {
    let mut cursor = root.walk();
    loop {
        if !holds(cursor.node()) {
            return false;
        }
        if !cursor.goto_first_child() && !next(&mut cursor) {
            return true;
        }
    }
}

fn next(cursor: &mut TreeCursor<'_>) -> bool {
    while !cursor.goto_next_sibling() {
        if !cursor.goto_parent() {
            return false;
        }
    }
    true
}

fn fits(node: Node<'_>, text: &str) -> bool {
    let (start, end) = (node.start_byte(), node.end_byte());
    match node.kind() {
        "comment" => {
            // Behind joined lines it is the middle of a word.
            let before = &text[..start];
            let begins = |c: char| " \t\n;&|()".contains(c);
            (before.is_empty() || before.ends_with(begins))
                && !before.ends_with("\\\n")
                && !text[start..end].contains('\n')
        }
        // Read byte by byte where words are.
        "string" | "raw_string" | "ansi_c_string" | "heredoc_body" | "heredoc_content"
        | "simple_expansion" => true,
        _ if node.child_count() == 0 => {
            if node.is_named() {
                !hides(&text[start..end])
            } else {
                !text[start..end].contains('\\')
            }
        }
        _ => {
            let mut at = start;
            let mut cursor = node.walk();
            let mut before = "";
            for child in node.children(&mut cursor) {
                let gap = text.get(at..child.start_byte()).unwrap_or_default();
                let is_input = matches!(before, "command" | "list")
                    && child.kind() == "heredoc_redirect"
                    && is_dash(gap);
                if child.start_byte() > at && !is_blank(text, at, child.start_byte()) && !is_input {
                    return false;
                }
                at = at.max(child.end_byte());
                before = child.kind();
            }
            at >= end || is_blank(text, at, end)
        }
    }
}

/// Tells whether a gap before a here-document is the word `-`, which the grammar has no place for.
pub(super) fn is_dash(gap: &str) -> bool {
    let inner = gap
        .strip_prefix(' ')
        .and_then(|rest| rest.strip_suffix(' '));
    inner == Some("-")
}

/// Tells whether there is nothing but what bash skips: blanks, ends of lines, joined lines.
///
/// Lines that are joined without a blank beside them join what stands before and behind, where a
/// grammar sees two things.
fn is_blank(text: &str, from: usize, to: usize) -> bool {
    let gap = text.get(from..to).unwrap_or("?");
    let rest = gap.replace("\\\n", "");
    rest.chars().all(|c| matches!(c, ' ' | '\t' | '\n')) && (gap.is_empty() || !rest.is_empty())
}

/// Tells whether something in a token would be expanded, or would if lines were joined.
pub(super) fn hides(token: &str) -> bool {
    if token.contains("\\\n") {
        return true;
    }
    let mut chars = token.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '`' => return true,
            '$' => {
                let begins = |c: &char| c.is_ascii_alphanumeric() || "_({['\"@*#?$!-".contains(*c);
                if chars.peek().is_some_and(begins) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

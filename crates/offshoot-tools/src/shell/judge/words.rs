//! Words: what a program would be handed.
//!
//! Read from the text and not from the tree: the tree says where quotes and
//! expansions are, and the bytes between them have to agree. What does not agree is
//! no word, and what it stands in is opaque.

use offshoot_types::permission::argv::Word;
use tree_sitter::Node;

use super::believe::hides;
use super::{Judge, children};

/// What a word stands in, as far as that changes how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quotes {
    /// Nothing: quotes in it are quotes.
    None,
    /// A string or a here-document: single quotes are text, or in some places not.
    Double,
}

/// A piece of a word that was not read as bash would.
#[derive(Debug)]
pub(super) struct Misread;

/// A piece of a word: its text, and whether that is all there is to say.
pub(super) struct Piece {
    text: String,
    open: bool,
}

impl Piece {
    pub(super) fn open() -> Self {
        Self {
            text: String::new(),
            open: true,
        }
    }

    pub(super) fn fixed(text: String) -> Self {
        Self { text, open: false }
    }

    /// Takes another piece that stands directly behind.
    pub(super) fn extend(&mut self, behind: Self) {
        self.text.push_str(&behind.text);
        self.open |= behind.open;
    }

    /// Makes a word of all that stands together in the text.
    pub(super) fn word(self, written: &str) -> Word {
        if self.open {
            Word::Open(written.to_owned())
        } else {
            Word::Fixed(self.text)
        }
    }
}

impl Judge<'_> {
    /// Reads a word, and judges whatever runs in it.
    pub(super) fn word(&mut self, node: Node<'_>) -> Result<Word, Misread> {
        Ok(self.piece(node)?.word(self.text_of(node)))
    }

    /// Reads a word of which only counts what runs in it.
    pub(super) fn read_or_opaque(&mut self, node: Node<'_>) {
        if self.word(node).is_err() {
            self.unread(node);
            self.inside(node);
        }
    }

    pub(super) fn piece(&mut self, node: Node<'_>) -> Result<Piece, Misread> {
        let text = self.text_of(node);
        match node.kind() {
            "word" | "variable_name" | "number" if node.child_count() == 0 => bare(text),
            "raw_string" => {
                let inner = text
                    .strip_prefix('\'')
                    .and_then(|rest| rest.strip_suffix('\''));
                let inner = inner.filter(|inner| !inner.contains('\'')).ok_or(Misread)?;
                Ok(Piece::fixed(inner.to_owned()))
            }
            "ansi_c_string" => ansi(text),
            "string" => self.string(node),
            "concatenation" => self.concatenation(node),
            "simple_expansion" => simple(text),
            "brace_expression" => {
                let plain = |c: char| c.is_ascii_alphanumeric() || "{}.-".contains(c);
                text.chars().all(plain).then(Piece::open).ok_or(Misread)
            }
            "expansion" => {
                self.deeper(node, |judge| judge.expansion(node));
                Ok(Piece::open())
            }
            "arithmetic_expansion" => {
                self.arithmetic(node);
                Ok(Piece::open())
            }
            "command_substitution" | "process_substitution" => {
                self.statement(node);
                Ok(Piece::open())
            }
            _ => Err(Misread),
        }
    }

    fn concatenation(&mut self, node: Node<'_>) -> Result<Piece, Misread> {
        let mut whole = Piece::fixed(String::new());
        let mut at = node.start_byte();
        let children = children(node);
        let mut left = children.as_slice();
        while let [child, behind @ ..] = left {
            if child.start_byte() != at {
                return Err(Misread);
            }
            let braces = self.braces(left);
            let piece = match child.kind() {
                _ if braces > 0 => Piece::fixed(
                    left[..braces]
                        .iter()
                        .map(|part| self.text_of(*part))
                        .collect(),
                ),
                "$" if behind.is_empty() && self.ends_word(child.end_byte()) => {
                    Piece::fixed("$".to_owned())
                }
                _ => self.piece(*child)?,
            };
            whole.extend(piece);
            let (read, rest) = left.split_at(braces.max(1));
            at = read.last().map_or(at, Node::end_byte);
            left = rest;
        }
        Ok(whole)
    }

    /// Counts the parts of a word that are braces around nothing that is expanded: `{0}`, `{commit}`.
    fn braces(&self, parts: &[Node<'_>]) -> usize {
        let is = |at: usize, text: &str| {
            parts
                .get(at)
                .is_some_and(|part| self.text_of(*part) == text)
        };
        let is_text = |part: &Node<'_>| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-/".contains(c);
            matches!(part.kind(), "word" | "number") && self.text_of(*part).chars().all(plain)
        };
        let is_joined = |parts: &[Node<'_>]| {
            let mut pairs = parts.windows(2);
            pairs.all(|pair| pair[0].end_byte() == pair[1].start_byte())
        };
        let count = match parts {
            _ if !is(0, "{") => 0,
            _ if is(1, "}") => 2,
            [_, inner, ..] if is(2, "}") && is_text(inner) => 3,
            _ => 0,
        };
        if is_joined(&parts[..count]) { count } else { 0 }
    }

    /// Tells whether a word surely ends at a place, so that a `$` before it is a letter.
    fn ends_word(&self, at: usize) -> bool {
        let behind = self.text[at..].chars().next();
        behind.is_none_or(|c| " \t\n;|)".contains(c))
    }

    /// Reads what stands between double quotes.
    fn string(&mut self, node: Node<'_>) -> Result<Piece, Misread> {
        let (start, end) = (node.start_byte() + 1, node.end_byte() - 1);
        if end < start || !self.text_of(node).starts_with('"') {
            return Err(Misread);
        }
        self.reading(Quotes::Double, |judge| {
            let mut whole = Piece::fixed(String::new());
            let mut at = start;
            for child in children(node) {
                if !child.is_named() || child.kind() == "string_content" {
                    continue;
                }
                let literal = judge.text.get(at..child.start_byte()).ok_or(Misread)?;
                whole.text.push_str(&quoted(literal)?);
                whole.open |= judge.piece(child)?.open;
                at = child.end_byte();
            }
            let literal = judge.text.get(at..end).ok_or(Misread)?;
            whole.text.push_str(&quoted(literal)?);
            Ok(whole)
        })
    }

    /// Reads something that stands between quotes, or in none.
    pub(super) fn reading<T>(&mut self, quotes: Quotes, read: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.quotes, quotes);
        let read = read(self);
        self.quotes = outer;
        read
    }
}

/// Reads text without quotes.
pub(super) fn bare(text: &str) -> Result<Piece, Misread> {
    let mut piece = Piece::fixed(String::new());
    let mut before = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                // Joined lines join words as well, which the tree does not show.
                Some('\n') | None => return Err(Misread),
                Some(c) => piece.text.push(c),
            },
            ' ' | '\t' | '\n' | '\r' | '|' | '&' | ';' | '(' | ')' | '<' | '>' | '\'' | '"'
            | '`' | '$' => return Err(Misread),
            '*' | '?' | '[' | ']' | '{' | '}' => {
                piece.open = true;
                piece.text.push(c);
            }
            '~' => {
                piece.open |= matches!(before, None | Some('=' | ':'));
                piece.text.push(c);
            }
            '#' if before.is_none() => return Err(Misread),
            c => piece.text.push(c),
        }
        before = Some(c);
    }
    Ok(piece)
}

/// Reads a literal between double quotes.
fn quoted(text: &str) -> Result<String, Misread> {
    if hides(text) {
        return Err(Misread);
    }
    let mut read = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Err(Misread),
            '\\' => match chars.next() {
                Some(c @ ('$' | '`' | '"' | '\\')) => read.push(c),
                Some(c) => read.extend(['\\', c]),
                None => return Err(Misread),
            },
            c => read.push(c),
        }
    }
    Ok(read)
}

/// Reads `$'…'`; what has escapes is left open, which no rule takes for a word.
fn ansi(text: &str) -> Result<Piece, Misread> {
    let inner = text
        .strip_prefix("$'")
        .and_then(|rest| rest.strip_suffix('\''));
    let inner = inner.ok_or(Misread)?;
    let mut chars = inner.chars();
    let mut escapes = false;
    while let Some(c) = chars.next() {
        match c {
            '\'' => return Err(Misread),
            '\\' => {
                escapes = true;
                chars.next().ok_or(Misread)?;
            }
            _ => {}
        }
    }
    Ok(Piece {
        text: inner.to_owned(),
        open: escapes,
    })
}

/// Reads `$name`, and the variables of the shell itself.
fn simple(text: &str) -> Result<Piece, Misread> {
    let name = text.strip_prefix('$').ok_or(Misread)?;
    let is_special = name.len() == 1 && "@*#?$!-_0123456789".contains(name);
    if is_special || super::assign::is_name(name) {
        Ok(Piece::open())
    } else {
        Err(Misread)
    }
}

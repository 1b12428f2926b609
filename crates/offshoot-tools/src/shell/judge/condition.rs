//! Tests: `[ … ]` and `[[ … ]]`.
//!
//! To bash the first is a program like any other, with `]` as its last word; a
//! grammar takes both for expressions and would let `[ a > f ]` compare. The second
//! is syntax: what it compares as numbers, and names of variables, it evaluates,
//! which may run anything. So in one all words are read as arguments, and in the
//! other only operators are seen through that evaluate nothing.

use tree_sitter::Node;

use super::command::Gap;
use super::words::{Misread, Piece, bare};
use super::{Act, Judge, Word, children};

/// The operators of `[[ … ]]` that look at text and files, and evaluate nothing.
const OPERATORS: &str = "[[ ]] ( ) ! && || = == != =~ < > -a -b -c -d -e -f -g -h -k -n -p -r -s \
                         -t -u -w -x -z -G -L -N -O -S -nt -ot -ef";

impl Judge<'_> {
    pub(super) fn test(&mut self, node: Node<'_>) {
        match self.text_of(node) {
            text if text.starts_with("[[") => self.expression(node, text),
            text if text.starts_with('[') => self.bracket(node),
            _ => {
                self.opaque(node);
                self.inside(node);
                self.folders.change(None);
            }
        }
    }

    /// Judges `[ … ]` as the command that it is.
    fn bracket(&mut self, node: Node<'_>) {
        match self.arguments(node) {
            Ok(words) => self.runs(node, words),
            Err(Misread) => {
                self.unread(node);
                self.inside(node);
                self.folders.change(None);
            }
        }
    }

    /// Reads all words from the bracket to its end: what stands together is one word.
    fn arguments(&mut self, node: Node<'_>) -> Result<Vec<Word>, Misread> {
        let mut parts = Vec::new();
        flatten(node, &mut parts);
        let mut words: Vec<(Piece, usize, usize)> = Vec::new();
        for part in parts {
            let piece = match part.kind() {
                "test_operator" | "extglob_pattern" => bare(self.text_of(part))?,
                _ if !part.is_named() => bare(self.text_of(part))?,
                _ => self.piece(part)?,
            };
            let (start, end) = (part.start_byte(), part.end_byte());
            match words.last_mut() {
                Some((whole, _, to)) if *to == start => {
                    whole.extend(piece);
                    *to = end;
                }
                last => {
                    self.gap(last.map(|(_, _, to)| *to), start, Gap::Words)?;
                    words.push((piece, start, end));
                }
            }
        }
        // A bracket alone is itself, though it might begin or end a pattern.
        let word = |(piece, from, to): (Piece, usize, usize)| match &self.text[from..to] {
            bracket @ ("[" | "]") => Word::Fixed(bracket.to_owned()),
            written => piece.word(written),
        };
        Ok(words.into_iter().map(word).collect())
    }

    /// Judges `[[ … ]]`.
    fn expression(&mut self, node: Node<'_>, text: &str) {
        // Where it may go on in the next line is a rule of its own.
        if !self.understood(node) || text.contains('\n') {
            self.opaque(node);
        }
        let rest = text.trim_start_matches("[[").trim().to_owned();
        self.act(Act::Run(vec![
            Word::Fixed("[[".to_owned()),
            Word::Open(rest),
        ]));
        self.folders.ran();
    }

    /// Tells whether all operators and patterns are known, and judges what runs in the words.
    fn understood(&mut self, node: Node<'_>) -> bool {
        let mut parts = Vec::new();
        flatten(node, &mut parts);
        let mut understood = true;
        for part in parts {
            let text = self.text_of(part);
            match part.kind() {
                "regex" | "extglob_pattern" => {
                    let plain = |c: char| c.is_alphanumeric() || "_-./*?:,@=+%^$|[]".contains(c);
                    understood &= text.chars().all(plain) && !super::believe::hides(text);
                }
                "test_operator" => understood &= is_operator(text),
                _ if !part.is_named() => understood &= is_operator(text),
                _ => self.read_or_opaque(part),
            }
        }
        understood
    }
}

fn is_operator(text: &str) -> bool {
    OPERATORS.split_whitespace().any(|known| known == text)
}

/// Takes expressions apart into words and operators, in the order of the text.
fn flatten<'t>(root: Node<'t>, parts: &mut Vec<Node<'t>>) {
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        match node.kind() {
            "test_command"
            | "unary_expression"
            | "binary_expression"
            | "parenthesized_expression"
            | "negated_expression" => open.extend(children(node).into_iter().rev()),
            _ => parts.push(node),
        }
    }
}

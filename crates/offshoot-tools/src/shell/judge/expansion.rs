//! `${…}` and arithmetic.
//!
//! Both run code where they look harmless: what a variable holds is evaluated as an
//! expression, and an index in it may hold a command. Only forms that evaluate
//! nothing are seen through.

use tree_sitter::Node;

use super::words::{Misread, Piece};
use super::{Judge, children};

/// What may stand behind the name: defaults, lengths, beginnings and ends, replacing, case.
const HARMLESS: [&str; 20] = [
    "${", "}", ":-", "-", ":+", "+", ":?", "?", "#", "##", "%", "%%", "/", "//", "/#", "/%", "^",
    "^^", ",", ",,",
];

impl Judge<'_> {
    /// Judges `${…}`; its value is open whatever it is.
    pub(super) fn expansion(&mut self, node: Node<'_>) -> Result<Piece, Misread> {
        let mut named = false;
        let mut harmless = true;
        for child in children(node) {
            match child.kind() {
                "variable_name" | "special_variable_name" => named = true,
                "regex" => harmless &= !super::believe::hides(self.text_of(child)),
                kind if !child.is_named() => harmless &= HARMLESS.contains(&kind),
                _ if named => harmless &= self.piece(child).is_ok(),
                _ => harmless = false,
            }
        }
        match harmless && named {
            true => Ok(Piece::open()),
            false => {
                self.opaque(node);
                self.inside(node);
                Ok(Piece::open())
            }
        }
    }

    /// Judges arithmetic: numbers and operators are harmless, names are not.
    pub(super) fn arithmetic(&mut self, node: Node<'_>) {
        let text = self.text_of(node);
        let harmless = |c: char| c.is_ascii_digit() || " $()+-*/%<>=&|^~!?:".contains(c);
        if !text.chars().all(harmless) || text.matches('$').count() > 1 {
            self.opaque(node);
            self.inside(node);
        }
    }
}

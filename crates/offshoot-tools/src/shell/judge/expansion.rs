//! `${…}` and arithmetic.
//!
//! Both run code where they look harmless: what a variable holds is evaluated as an
//! expression, and an index in it may hold a command. Only forms that evaluate
//! nothing are seen through. Where `${…}` ends, bash finds by other rules than a
//! grammar does; so what stands in it is text that both can only read alike.

use tree_sitter::Node;

use super::words::{Misread, Quotes};
use super::{Judge, children};

/// What may stand behind the name: defaults, lengths, beginnings and ends, replacing, case.
const HARMLESS: [&str; 20] = [
    "${", "}", ":-", "-", ":+", "+", ":?", "?", "#", "##", "%", "%%", "/", "//", "/#", "/%", "^",
    "^^", ",", ",,",
];

impl Judge<'_> {
    /// Judges `${…}`; its value is open whatever it is.
    pub(super) fn expansion(&mut self, node: Node<'_>) {
        let mut named = false;
        let mut harmless = true;
        for child in children(node) {
            match child.kind() {
                "variable_name" | "special_variable_name" => named = true,
                kind if !child.is_named() => harmless &= HARMLESS.contains(&kind),
                _ if named => harmless &= self.operand(child).is_ok(),
                _ => harmless = false,
            }
        }
        if !(harmless && named) {
            self.opaque(node);
            self.inside(node);
        }
    }

    /// Reads what stands behind the operator.
    fn operand(&mut self, node: Node<'_>) -> Result<(), Misread> {
        match node.kind() {
            "concatenation" => children(node)
                .into_iter()
                .try_for_each(|child| self.operand(child)),
            "simple_expansion" | "expansion" | "command_substitution" => self.piece(node).map(drop),
            // Between double quotes bash takes them for text behind some operators only.
            "string" | "raw_string" if self.quotes == Quotes::None => self.piece(node).map(drop),
            "word" | "regex" | "number" => {
                let plain = |c: char| c.is_alphanumeric() || "_-./*?:,@=+%^~[]! ".contains(c);
                let is_plain = node.child_count() == 0 && self.text_of(node).chars().all(plain);
                is_plain.then_some(()).ok_or(Misread)
            }
            _ => Err(Misread),
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

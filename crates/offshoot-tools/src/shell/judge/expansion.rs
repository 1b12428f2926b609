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
        if is_slice(self.text_of(node)) {
            return;
        }
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

/// Tells whether it is a part of a variable from one number on, as in `${x:0:3}`: what is no number
/// there is evaluated.
fn is_slice(text: &str) -> bool {
    let inner = text
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    let mut parts = inner.unwrap_or_default().split(':');
    let named = parts.next().is_some_and(super::assign::is_name);
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let numbers: Vec<&str> = parts.collect();
    named && (1..=2).contains(&numbers.len()) && numbers.into_iter().all(digits)
}

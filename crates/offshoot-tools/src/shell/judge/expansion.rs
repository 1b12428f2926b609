//! `${…}` and arithmetic.
//!
//! Both run code where they look harmless: what a variable holds is evaluated as an
//! expression, and an index in it may hold a command. Only forms that evaluate
//! nothing are seen through. Where `${…}` ends, bash finds by other rules than a
//! grammar does; so what stands in it is text that both can only read alike.

use std::collections::BTreeSet;

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

    /// Judges arithmetic: numbers and operators are harmless, and names that hold numbers.
    pub(super) fn arithmetic(&mut self, node: Node<'_>) {
        let text = self.text_of(node);
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let harmless = |c: char| in_name(c) || " $()+-*/%<>=&|^~!?:".contains(c);
        let is_number = |word: &str| word.chars().all(|c| c.is_ascii_digit());
        let mut words = text.split(|c| !in_name(c));
        let known = words.all(|word| is_number(word) || self.numbers.contains(word));
        // Behind the first, a `$` belongs to a name.
        let mut behind = text.split('$').skip(2);
        let named = behind.all(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
        if !text.chars().all(harmless) || !known || !named {
            self.opaque(node);
            self.inside(node);
        }
    }
}

/// Returns the variables that a text sets, and to nothing but numbers: of any other the value is
/// evaluated, and may hold a command.
pub(super) fn numbers<'a>(root: Node<'_>, text: &'a str) -> BTreeSet<&'a str> {
    let of = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default();
    let is_number = |node: &Node<'_>| {
        let text = of(*node);
        let digits = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        digits || matches!(node.kind(), "arithmetic_expansion") || matches!(text, "$?" | "$#")
    };
    let mut numbers = BTreeSet::new();
    let mut others = BTreeSet::new();
    let mut left = vec![root];
    while let Some(node) = left.pop() {
        let children = children(node);
        let (name, is_known) = match (node.kind(), children.as_slice()) {
            ("variable_assignment", [name, equals, value]) => {
                (Some(*name), equals.kind() == "=" && is_number(value))
            }
            ("variable_assignment", _) => (children.first().copied(), false),
            ("for_statement", [_, name, within, values @ .., _]) if of(*within) == "in" => {
                let mut values = values.iter().filter(|value| value.is_named());
                let known = |value: &Node<'_>| {
                    let is_range = value.kind() == "brace_expression";
                    let range = |c: char| c.is_ascii_digit() || "{}.".contains(c);
                    is_number(value) || (is_range && of(*value).chars().all(range))
                };
                (Some(*name), values.all(known))
            }
            ("for_statement", _) => (children.get(1).copied(), false),
            _ => (None, false),
        };
        if let Some(name) = name {
            let set = if is_known { &mut numbers } else { &mut others };
            set.insert(of(name));
        }
        left.extend(children);
    }
    let is_sure = |name: &&str| super::assign::is_own(name) && !others.contains(name);
    numbers.into_iter().filter(is_sure).collect()
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

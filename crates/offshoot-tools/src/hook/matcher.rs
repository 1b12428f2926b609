//! Which tools, agents or causes a hook is about.
//!
//! As in Claude Code: nothing or `*` is all of them, words with `|` between them
//! are those, and anything else is a regular expression that is looked for. But
//! letters count alike in both cases: its `Bash` is our `bash`, and a guard that
//! looks at too much does less harm than one that looks away.

use std::fmt;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

/// Which subjects a hook is about.
#[derive(Clone)]
pub struct Matcher(Kind);

#[derive(Clone)]
enum Kind {
    All,
    Words(Vec<String>),
    Pattern(RegexMatcher),
}

impl Matcher {
    /// All of them.
    pub fn all() -> Self {
        Self(Kind::All)
    }

    /// Reads what somebody wrote; says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() || text == "*" {
            return Ok(Self::all());
        }
        let is_plain = |letter: char| letter.is_alphanumeric() || "_-|. ".contains(letter);
        if text.chars().all(is_plain) && !text.contains('.') {
            let words = text.split('|').map(|word| word.trim().to_lowercase());
            return Ok(Self(Kind::Words(words.collect())));
        }
        let mut builder = RegexMatcherBuilder::new();
        let pattern = builder.case_insensitive(true).build(text);
        let pattern = pattern.map_err(|error| error.to_string())?;
        Ok(Self(Kind::Pattern(pattern)))
    }

    /// Tells whether a subject is among them.
    pub fn matches(&self, subject: &str) -> bool {
        match &self.0 {
            Kind::All => true,
            Kind::Words(words) => words.iter().any(|word| *word == subject.to_lowercase()),
            // It cannot fail; if it could, the hook is called.
            Kind::Pattern(pattern) => pattern.is_match(subject.as_bytes()).unwrap_or(true),
        }
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::All => f.write_str("*"),
            Kind::Words(words) => f.write_str(&words.join("|")),
            Kind::Pattern(pattern) => write!(f, "{pattern:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, subject: &str, expected: bool) {
        let matcher = Matcher::parse(written).unwrap();
        assert_eq!(matcher.matches(subject), expected, "{written} / {subject}");
    }

    #[test]
    fn a_matcher_is_a_list_of_words_or_a_pattern() {
        for everything in ["", " ", "*", ".*"] {
            check(everything, "bash", true);
        }
        check("Bash", "bash", true);
        check("bash", "bashful", false);
        check("Edit|Write", "write", true);
        check("edit | write", "write", true);
        check("Edit|Write", "overwrite", false);
        check("mcp__.*", "mcp__memory", true);
        check("^e", "edit", true);
        check("^e", "write", false);
        assert!(Matcher::parse("(").is_err());
    }

    #[test]
    fn a_pattern_that_explodes_elsewhere_does_not_here() {
        let matcher = Matcher::parse("^(a+)+$").unwrap();
        assert!(!matcher.matches(&format!("{}b", "a".repeat(100_000))));
    }
}

//! Redirections: files that a command reads or writes without naming a program.

use tree_sitter::Node;

use super::believe::is_dash;
use super::command::Gap;
use super::words::{Misread, Quotes};
use super::{Act, Judge, Word, children};

/// What is nobody's file.
const NOWHERE: [&str; 4] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

impl Judge<'_> {
    /// Judges a statement and where its input and output go.
    pub(super) fn redirected(&mut self, node: Node<'_>) {
        let is_redirect = |child: &Node<'_>| child.kind().ends_with("_redirect");
        let (redirects, bodies): (Vec<_>, Vec<_>) =
            children(node).into_iter().partition(is_redirect);
        let text = self.text_of(node);
        let moves = ["cd", "pushd", "popd"]
            .iter()
            .any(|word| text.contains(word));
        if text.contains("<<") && moves {
            // What stands behind the opening of a here-document runs after it, and is a part of it
            // to the grammar.
            self.unread(node);
        }
        match bodies.as_slice() {
            [] => {
                if !self.redirections(&redirects).is_empty() {
                    self.opaque(node);
                }
                self.folders.ran();
            }
            [body] => self.with(*body, &redirects),
            _ => {
                self.unread(node);
                self.inside(node);
            }
        }
    }

    /// Judges a statement with redirections. Those of a list, in the grammar, are in bash those of
    /// its last command.
    pub(super) fn with(&mut self, body: Node<'_>, redirects: &[Node<'_>]) {
        match body.kind() {
            "list" => self.deeper(body, |judge| judge.list(body, redirects)),
            "command" => {
                let mut words = self.redirections(redirects);
                if self.takes_input(body, redirects) {
                    words.insert(0, Word::Fixed("-".to_owned()));
                }
                self.deeper(body, |judge| judge.command(body, &words));
            }
            _ => {
                let takes_input = self.takes_input(body, redirects);
                if !self.redirections(redirects).is_empty() || takes_input {
                    self.opaque(body);
                }
                self.statement(body);
            }
        }
    }

    /// Tells whether a `-` stands between a command and its here-document.
    fn takes_input(&self, body: Node<'_>, redirects: &[Node<'_>]) -> bool {
        let document = redirects
            .iter()
            .find(|node| node.kind() == "heredoc_redirect");
        let gap = document.and_then(|node| self.text.get(body.end_byte()..node.start_byte()));
        gap.is_some_and(is_dash)
    }

    fn redirections(&mut self, redirects: &[Node<'_>]) -> Vec<Word> {
        let mut words = Vec::new();
        for redirect in redirects {
            words.extend(self.redirection(*redirect));
        }
        words
    }

    /// Judges one redirection and returns the words behind it, which the grammar takes for a part
    /// of it and bash for arguments.
    pub(super) fn redirection(&mut self, node: Node<'_>) -> Vec<Word> {
        if self.sets_a_variable(node) {
            self.opaque(node);
        }
        let known = match node.kind() {
            "file_redirect" => self.file(node),
            "herestring_redirect" => self.text_given(node),
            "heredoc_redirect" => return self.document(node),
            _ => Err(Misread),
        };
        known.unwrap_or_else(|Misread| {
            self.opaque(node);
            self.inside(node);
            Vec::new()
        })
    }

    fn file(&mut self, node: Node<'_>) -> Result<Vec<Word>, Misread> {
        let mut operator = None;
        let mut target = None;
        let mut words = Vec::new();
        let mut end = None;
        for child in children(node) {
            match child.kind() {
                "file_descriptor" => self.stands_apart(node)?,
                kind if !child.is_named() => operator = Some(kind),
                _ if target.is_none() => target = Some(child),
                _ => {
                    self.gap(end, child.start_byte(), Gap::Words)?;
                    words.push(self.word(child)?);
                }
            }
            end = Some(child.end_byte());
        }
        match (operator.ok_or(Misread)?, target) {
            (">&-" | "<&-", None) => Ok(words),
            (operator, Some(target)) => {
                self.opens(operator, target)?;
                Ok(words)
            }
            (_, None) => Err(Misread),
        }
    }

    /// Checks that a number is one of a file, and not the end of the word before.
    fn stands_apart(&self, node: Node<'_>) -> Result<(), Misread> {
        let before = self.text[..node.start_byte()].chars().next_back();
        let apart = before.is_none_or(|c| " \t\n;&|()".contains(c));
        apart.then_some(()).ok_or(Misread)
    }

    /// Tells whether a name in braces may stand directly before: `{name}> f` sets that variable,
    /// and `{a[…]}> f` evaluates an index.
    fn sets_a_variable(&self, node: Node<'_>) -> bool {
        let Some(before) = self.text[..node.start_byte()].strip_suffix('}') else {
            return false;
        };
        let is_group = before.ends_with([' ', '\t', '\n', ';', '&']);
        let is_expansion = before
            .rsplit_once('{')
            .is_some_and(|(before, inner)| before.ends_with('$') && !inner.contains('}'));
        !is_group && !is_expansion
    }

    fn opens(&mut self, operator: &str, target: Node<'_>) -> Result<(), Misread> {
        let text = self.text_of(target);
        let path = match self.word(target)? {
            Word::Fixed(path) => path,
            Word::Open(text) => self.in_scratch(&text).ok_or(Misread)?,
        };
        let is_number = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        let (reads, writes) = match operator {
            ">&" | "<&" if is_number => return Ok(()),
            "<" => (true, false),
            ">" | ">>" | ">|" | "&>" | "&>>" | ">&" => (false, true),
            "<>" => (true, true),
            _ => return Err(Misread),
        };
        if NOWHERE.contains(&path.as_str()) {
            return Ok(());
        }
        let paths = self.folders.resolve(&path).ok_or(Misread)?;
        for path in paths {
            if path.starts_with("/dev/") || path.starts_with("/proc/") {
                return Err(Misread);
            }
            if reads {
                self.act(Act::Read(path.clone()));
            }
            if writes {
                self.act(Act::Write(path));
            }
        }
        Ok(())
    }

    /// Returns the path that a word means which begins with the scratch folder's variable.
    ///
    /// Nothing can have changed the variable without being opaque itself.
    pub(super) fn in_scratch(&self, text: &str) -> Option<String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        let scratch = self.ground.scratch?;
        let name = "OFFSHOOT_SCRATCH";
        let whole = text
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        let openings = [
            format!("\"${name}\""),
            format!("\"${{{name}}}\""),
            format!("${name}"),
            format!("${{{name}}}"),
        ];
        let text = match whole {
            Some(whole) if !whole.contains('"') => whole,
            Some(_) | None => text,
        };
        let rest = openings
            .iter()
            .find_map(|opening| text.strip_prefix(opening.as_str()))?;
        let below = (rest.is_empty() || rest.starts_with('/')) && rest.chars().all(plain);
        below.then(|| format!("{scratch}{rest}"))
    }

    /// Judges `<<< word`.
    fn text_given(&mut self, node: Node<'_>) -> Result<Vec<Word>, Misread> {
        for child in children(node) {
            match child.kind() {
                "file_descriptor" => self.stands_apart(node)?,
                _ if child.is_named() => {
                    self.word(child)?;
                }
                _ => {}
            }
        }
        Ok(Vec::new())
    }

    /// Judges a here-document, in which the grammar also has the rest of the line it begins on.
    fn document(&mut self, node: Node<'_>) -> Vec<Word> {
        let mut words = Vec::new();
        for child in children(node) {
            match child.kind() {
                "heredoc_start" | "heredoc_end" => {}
                "heredoc_body" => self.expanded(child),
                "file_descriptor" if self.stands_apart(node).is_ok() => {}
                "file_redirect" | "herestring_redirect" => words.extend(self.redirection(child)),
                "word"
                | "string"
                | "raw_string"
                | "concatenation"
                | "number"
                | "simple_expansion"
                | "expansion"
                | "command_substitution" => match self.word(child) {
                    Ok(word) => words.push(word),
                    Err(Misread) => self.unread(node),
                },
                _ => self.statement(child),
            }
        }
        words
    }

    fn expanded(&mut self, body: Node<'_>) {
        self.reading(Quotes::Double, |judge| {
            for child in children(body) {
                if child.kind() != "heredoc_content" {
                    judge.read_or_opaque(child);
                }
            }
        });
    }
}

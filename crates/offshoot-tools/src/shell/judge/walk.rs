//! Statements: everything in a command that holds other commands.
//!
//! A kind that is not listed is opaque, and is looked through all the same for
//! commands that a rule denies.

use tree_sitter::Node;

use super::words::Quotes;
use super::{Judge, children};

impl Judge<'_> {
    /// Judges each child of a node.
    pub(super) fn statements(&mut self, node: Node<'_>) {
        for child in children(node) {
            self.statement(child);
        }
    }

    pub(super) fn statement(&mut self, node: Node<'_>) {
        if !node.is_named() {
            // Separators and words of the grammar; `believe` has found nothing between them.
            return;
        }
        self.deeper(node, |judge| judge.statement_here(node));
    }

    fn statement_here(&mut self, node: Node<'_>) {
        match node.kind() {
            "comment" => {}
            "command" => self.command(node, &[]),
            "redirected_statement" => self.redirected(node),
            "list" => self.list(node, &[]),
            "if_statement" | "elif_clause" | "else_clause" | "do_group" | "negated_command" => {
                self.statements(node);
                self.folders.ran();
            }
            "compound_statement" if !self.text_of(node).starts_with("((") => {
                self.statements(node);
                self.folders.ran();
            }
            "pipeline" | "subshell" | "command_substitution" | "process_substitution" => {
                self.apart(node);
            }
            "while_statement" => self.looped(node, |judge| judge.statements(node)),
            "for_statement" => self.looped(node, |judge| judge.each(node)),
            "case_statement" => self.cases(node),
            "variable_assignment" | "variable_assignments" => self.assignments(node),
            "test_command" => self.test(node),
            _ => {
                self.opaque(node);
                self.inside(node);
                self.folders.change(None);
            }
        }
    }

    /// Judges whatever can be found in something that is not understood.
    pub(super) fn inside(&mut self, node: Node<'_>) {
        self.deeper(node, |judge| {
            for child in children(node) {
                if is_statement(child.kind()) {
                    judge.statement(child)
                } else {
                    judge.inside(child)
                }
            }
        });
    }

    /// Judges two statements, the second with the redirections of the list.
    pub(super) fn list(&mut self, node: Node<'_>, redirects: &[Node<'_>]) {
        let children = children(node);
        let [left, operator, right] = children.as_slice() else {
            self.unread(node);
            return self.inside(node);
        };
        self.statement(*left);
        if operator.kind() == "&&" {
            let well = self.folders.when_well();
            let failed = std::mem::replace(&mut self.folders, well);
            self.with(*right, redirects);
            self.folders.or(&failed);
        } else {
            self.with(*right, redirects);
            self.folders.ran();
        }
    }

    /// Judges what runs in a shell of its own, whose `cd` ends with it.
    pub(super) fn apart(&mut self, node: Node<'_>) {
        if !backquotes_fit(self.text_of(node)) {
            self.unread(node);
        }
        let before = self.folders.clone();
        self.reading(Quotes::None, |judge| {
            for child in children(node) {
                let here = judge.folders.clone();
                judge.body(child);
                if node.kind() == "pipeline" {
                    judge.folders = here;
                }
            }
        });
        self.folders = before;
        self.folders.ran();
    }

    /// Judges a statement, or a redirection that stands where one might: `$(< file)`.
    fn body(&mut self, child: Node<'_>) {
        match child.kind() {
            "file_redirect" | "herestring_redirect" => {
                self.redirection(child);
            }
            _ => self.statement(child),
        }
    }

    fn looped(&mut self, node: Node<'_>, go: impl FnOnce(&mut Self)) {
        if self.text_of(node).starts_with("select") {
            self.opaque(node);
        }
        self.loops += 1;
        go(self);
        self.loops -= 1;
        self.folders.ran();
    }

    /// Judges `for`: its variable, its words, its body.
    fn each(&mut self, node: Node<'_>) {
        for child in children(node) {
            match child.kind() {
                "variable_name" if super::assign::is_own(self.text_of(child)) => {}
                "variable_name" => self.opaque(node),
                "do_group" | "compound_statement" => self.statement(child),
                _ if child.is_named() => self.read_or_opaque(child),
                _ => {}
            }
        }
    }

    fn cases(&mut self, node: Node<'_>) {
        for child in children(node) {
            match child.kind() {
                "case_item" => self.case(child),
                _ if child.is_named() => self.read_or_opaque(child),
                _ => {}
            }
        }
        self.folders.ran();
    }

    /// Judges one case: patterns up to the bracket, then statements.
    fn case(&mut self, item: Node<'_>) {
        let mut in_patterns = true;
        for child in children(item) {
            match child.kind() {
                ")" => in_patterns = false,
                "extglob_pattern" => {
                    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.*?/:[]!^".contains(c);
                    if !self.text_of(child).chars().all(plain) {
                        self.opaque(item);
                    }
                }
                _ if in_patterns && child.is_named() => self.read_or_opaque(child),
                _ => self.statement(child),
            }
        }
    }
}

/// Tells whether a substitution, if it is one in backquotes, is nothing but words.
///
/// Bash looks for the second backquote first, through quotes and comments, and takes backslashes
/// away before it reads what is between.
fn backquotes_fit(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('`') else {
        return true;
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+ $|".contains(c);
    rest.strip_suffix('`')
        .is_some_and(|words| words.chars().all(plain))
}

fn is_statement(kind: &str) -> bool {
    matches!(
        kind,
        "command"
            | "redirected_statement"
            | "list"
            | "pipeline"
            | "subshell"
            | "command_substitution"
            | "process_substitution"
            | "compound_statement"
            | "do_group"
            | "if_statement"
            | "while_statement"
            | "for_statement"
            | "c_style_for_statement"
            | "case_statement"
            | "negated_command"
            | "function_definition"
            | "declaration_command"
            | "test_command"
    )
}

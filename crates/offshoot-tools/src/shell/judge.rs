//! What a command does, as far as its text says.
//!
//! Parsed as bash would, never run, and no file is looked at. Every simple command
//! it has, wherever it stands, is an act, and so is every file it is redirected to
//! or from. What cannot be seen through is an act too, and asks. Nothing is taken
//! on trust: a kind of syntax that is not known here, a parse that leaves bytes
//! unexplained, or too much of anything is opaque. So what the parser misreads
//! makes a question, and no permission.
//!
//! `believe` checks the parse, `walk` goes through statements, `condition` reads
//! tests, `words` and `expansion` read words, `programs` knows which of them run others, `folders`
//! where relative paths begin, `operands` which words are paths.

mod assign;
mod believe;
mod command;
mod condition;
mod expansion;
mod folders;
mod heredoc;
mod operands;
mod programs;
mod redirect;
mod walk;
mod words;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use offshoot_types::permission::argv::Word;
use tree_sitter::{Node, ParseOptions, Parser, Tree};

use self::folders::Folders;
use self::words::Quotes;

/// The longest command that is parsed: more is a script, which nobody reads in an ask either.
const MOST_TEXT: usize = 16 * 1024;

/// Most pipes and redirections: a broken text costs the parser the square of them.
const MOST_OPERATORS: usize = 2000;

/// How often the parser may report progress: some times what the longest command takes. It is
/// counted and not timed, so that the same text is always judged alike.
const MOST_STEPS: usize = 5000;

/// How deep statements and words may stand in each other.
const MOST_DEPTH: usize = 64;

/// One thing that a command does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Act {
    /// Runs a program.
    Run(Vec<Word>),
    /// Reads a file, by absolute path.
    Read(String),
    /// Writes to a file, by absolute path.
    Write(String),
    /// Runs a program that only runs another, which is an act of its own.
    Wrap(Vec<Word>),
    /// Runs the same, by another name of the command.
    Alias(Vec<Word>),
    /// Runs the same, with its paths written otherwise.
    Paths(Vec<Word>),
    /// Runs something that is opaque, by its words.
    Hide(Vec<Word>),
    /// Does what nobody can tell from its text.
    Opaque(String),
    /// May do anything: nobody has read it, or not as bash does.
    Unread(String),
}

/// Where a command begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground<'a> {
    /// The folder it is started in, absolute.
    pub(super) workspace: &'a str,
    /// What `OFFSHOOT_SCRATCH` says.
    pub(super) scratch: Option<&'a str>,
}

/// Returns all that a command does: each thing once, in the order of the text.
pub(super) fn judge(text: &str, ground: Ground<'_>) -> Vec<Act> {
    let unread = || vec![Act::Unread(text.to_owned())];
    let operators = text
        .chars()
        .filter(|c| "|<>".contains(*c))
        .take(MOST_OPERATORS + 1);
    if text.len() > MOST_TEXT || text.contains('\0') || operators.count() > MOST_OPERATORS {
        return unread();
    }
    let Some(tree) = parse(text) else {
        return unread();
    };
    let mut judge = Judge {
        text,
        ground,
        acts: Vec::new(),
        seen: BTreeSet::new(),
        folders: Folders::at(ground.workspace),
        quotes: Quotes::None,
        depth: 0,
        loops: 0,
        numbers: expansion::numbers(tree.root_node(), text),
    };
    if !believe::believes(tree.root_node(), text) {
        judge.act(Act::Unread(text.to_owned()));
    }
    // Also of what is not believed: it may hold something that is denied.
    judge.statements(tree.root_node());
    if judge.acts.is_empty() {
        // It does nothing that we know of; it is still a command.
        judge.act(Act::Run(vec![Word::Open(text.trim().to_owned())]));
    }
    judge.acts
}

fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .ok()?;
    let mut steps = 0;
    let mut progress = |_: &tree_sitter::ParseState| {
        steps += 1;
        if steps > MOST_STEPS {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    let mut from = |at: usize, _| bytes.get(at..).unwrap_or_default();
    parser.parse_with_options(&mut from, None, Some(options))
}

/// What is known of a command so far.
struct Judge<'a> {
    text: &'a str,
    ground: Ground<'a>,
    acts: Vec<Act>,
    seen: BTreeSet<Act>,
    folders: Folders,
    quotes: Quotes,
    /// How deep the node at hand is nested.
    depth: usize,
    /// How many loops are around it: what stands before it is run again behind it.
    loops: usize,
    /// The variables that hold nothing but numbers.
    numbers: BTreeSet<&'a str>,
}

impl<'a> Judge<'a> {
    fn act(&mut self, act: Act) {
        if self.seen.insert(act.clone()) {
            self.acts.push(act);
        }
    }

    fn opaque(&mut self, node: Node<'_>) {
        let text = self.text_of(node).to_owned();
        self.act(Act::Opaque(text));
    }

    /// Notes text that is not read as bash would: it may do anything, whatever it begins with.
    fn unread(&mut self, node: Node<'_>) {
        let text = self.text_of(node).to_owned();
        self.act(Act::Unread(text));
    }

    fn text_of(&self, node: Node<'_>) -> &'a str {
        let text = self.text.get(node.byte_range()).unwrap_or_default();
        match node.kind() {
            // Between double quotes the grammar takes blanks before one of these for a part of it.
            "simple_expansion" | "expansion" | "arithmetic_expansion" | "command_substitution" => {
                text.trim_start_matches([' ', '\t', '\n'])
            }
            _ => text,
        }
    }

    /// Goes one level deeper, or finds that too deep.
    fn deeper(&mut self, node: Node<'_>, go: impl FnOnce(&mut Self)) {
        if self.depth == MOST_DEPTH {
            return self.unread(node);
        }
        self.depth += 1;
        go(self);
        self.depth -= 1;
    }
}

/// Returns the children of a node, in order.
fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

#[cfg(test)]
mod tests;

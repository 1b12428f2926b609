//! One simple command: assignments, a program, its arguments.

use offshoot_types::permission::argv;
use tree_sitter::Node;

use super::programs::{self, Sight};
use super::words::Misread;
use super::{Act, Judge, Word, assign, children};

/// What a gap between two parts of a command lies before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// A word: there has to be one.
    Words,
    /// A redirection, which needs none.
    Redirect,
}

/// What a command runs that was seen through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wraps {
    /// The same program, with fewer words.
    Itself,
    Another,
}

impl Judge<'_> {
    /// Judges a command; `behind` are arguments that stand behind a redirection.
    pub(super) fn command(&mut self, node: Node<'_>, behind: &[Word]) {
        let words = self.argv(node).map(|mut words| {
            words.extend_from_slice(behind);
            words
        });
        match words {
            Ok(words) => self.runs(node, words),
            Err(Misread) => {
                self.unread(node);
                self.inside(node);
                self.folders.change(None);
            }
        }
    }

    /// Reads the words of a command, and judges what stands before and between them.
    fn argv(&mut self, node: Node<'_>) -> Result<Vec<Word>, Misread> {
        let mut words = Vec::new();
        let mut late = Vec::new();
        let mut end: Option<usize> = None;
        for child in children(node) {
            let is_redirect = matches!(child.kind(), "file_redirect" | "herestring_redirect");
            let kind = if is_redirect {
                Gap::Redirect
            } else {
                Gap::Words
            };
            self.gap(end, child.start_byte(), kind)?;
            end = Some(child.end_byte());
            match child.kind() {
                "variable_assignment" => self.assignment(child, assign::is_harmless),
                "command_name" => match children(child).as_slice() {
                    [name] => words.push(self.word(*name)?),
                    _ => return Err(Misread),
                },
                _ if is_redirect => late.extend(self.redirection(child)),
                _ if child.is_named() => {
                    words.append(&mut late);
                    words.push(self.word(child)?);
                }
                _ => return Err(Misread),
            }
        }
        words.append(&mut late);
        Ok(words)
    }

    /// Checks that bash too sees two words where the tree has two.
    pub(super) fn gap(&self, from: Option<usize>, to: usize, kind: Gap) -> Result<(), Misread> {
        let Some(from) = from else {
            return Ok(());
        };
        let gap = self.text.get(from..to).ok_or(Misread)?.replace("\\\n", "");
        let blank = gap.chars().all(|c| c == ' ' || c == '\t');
        let parts = kind == Gap::Redirect || !gap.is_empty();
        (blank && parts).then_some(()).ok_or(Misread)
    }

    /// Says what a command runs, seen through what only runs another.
    pub(super) fn runs(&mut self, node: Node<'_>, mut words: Vec<Word>) {
        let mut wrappers = Vec::new();
        let shell = self.folders.clone();
        loop {
            if let Some((folder, count)) = programs::folder(&words) {
                self.folders.enter(folder);
                wrappers.push((words.clone(), Wraps::Itself));
                words.drain(1..=count).for_each(drop);
                continue;
            }
            match programs::look(&words) {
                Sight::Plain if !self.is_of_another_project(&words) => break,
                Sight::Plain | Sight::Opaque => {
                    self.opaque(node);
                    let paths = self.with_paths(&words);
                    self.folders = shell;
                    if programs::is_of_shell(&words) {
                        self.folders.change(None);
                    } else {
                        // Another process changes no folder but its own.
                        self.folders.ran();
                    }
                    let hidden = wrappers.iter().map(|(words, _)| words).chain([&words]);
                    let hidden: Vec<Act> = hidden
                        .filter_map(|words| self.hidden(node, words))
                        .collect();
                    let names = programs::other_names(&words);
                    let programs = programs::other_programs(&words);
                    if matches!(words.first(), Some(Word::Fixed(_))) {
                        self.act(Act::Run(words));
                    }
                    hidden
                        .into_iter()
                        .chain(programs.into_iter().map(Act::Wrap))
                        .chain(names.into_iter().map(Act::Alias))
                        .chain(paths)
                        .for_each(|act| self.act(act));
                    return self.wrapped(wrappers);
                }
                Sight::Without(count) => {
                    wrappers.push((words.clone(), Wraps::Itself));
                    words.drain(1..=count).for_each(drop);
                }
                Sight::Through(skip) => {
                    if programs::always_asks(&words) {
                        self.opaque(node);
                    }
                    wrappers.push((words.clone(), Wraps::Another));
                    words.drain(..skip).for_each(drop);
                }
            }
        }
        let direct = wrappers.iter().all(|(_, wraps)| *wraps == Wraps::Itself);
        let mut others = self.spellings(&words);
        others.extend(self.with_paths(&words));
        let placed = self.in_workspace(&words);
        self.folders = shell;
        self.moves(node, &words, direct);
        if !words.is_empty() {
            if !placed.contains(&words) {
                others.push(self.as_written(words));
            }
            placed
                .into_iter()
                .for_each(|words| self.act(Act::Run(words)));
        }
        others.into_iter().for_each(|act| self.act(act));
        self.wrapped(wrappers);
    }

    /// Tells whether a program may do what the files of the folder say, and that may be none of the
    /// workspace's: what lies elsewhere nobody has agreed to run.
    fn is_of_another_project(&self, words: &[Word]) -> bool {
        let is_in = self.folders.are_in(self.ground.workspace);
        (!programs::works_anywhere(words) && !is_in) || self.leads_out(words)
    }

    /// Returns a command as rules may have written it otherwise: by another name, and a program that is
    /// called by its path from the root, and from the workspace. Where nobody knows in which folder it is
    /// looked for, it may be any.
    fn spellings(&self, words: &[Word]) -> Vec<Act> {
        let programs = programs::other_programs(words).into_iter().map(Act::Wrap);
        let names = programs::other_names(words).into_iter().map(Act::Alias);
        let mut acts: Vec<Act> = programs.chain(names).collect();
        let Some((paths, arguments)) = programs::files(words) else {
            return acts;
        };
        let with = |program: Word| Act::Wrap([&[program], arguments].concat());
        let root = self.ground.workspace.trim_end_matches('/');
        let is_new = |spelling: &String| !matches!(words.first(), Some(Word::Fixed(word)) if word == spelling);
        for path in paths {
            let Some(places) = self.folders.of_program(&path) else {
                acts.push(with(Word::Open(path)));
                continue;
            };
            for place in places {
                let below = place.strip_prefix(root);
                let below = below.and_then(|rest| rest.strip_prefix('/'));
                let spellings = below.map(|rest| format!("./{rest}")).into_iter();
                let new = spellings.chain([place]).filter(is_new);
                acts.extend(new.map(|spelling| with(Word::Fixed(spelling))));
            }
        }
        acts
    }

    /// Returns what is opaque by its words, where its text says something else: who forbids `sh -c *`
    /// means it with two blanks and behind `timeout`.
    fn hidden(&self, node: Node<'_>, words: &[Word]) -> Option<Act> {
        let is_known = matches!(words.first(), Some(Word::Fixed(_)));
        let differs = argv::render(words) != self.text_of(node);
        (is_known && differs).then(|| Act::Hide(words.to_vec()))
    }

    /// Adds what was seen through, behind what it runs: who forbids `nohup` means it.
    fn wrapped(&mut self, wrappers: Vec<(Vec<Word>, Wraps)>) {
        for (words, _) in wrappers {
            self.act(Act::Wrap(words));
        }
    }

    /// Follows a command into another folder.
    fn moves(&mut self, node: Node<'_>, words: &[Word], direct: bool) {
        let program = match words.first() {
            Some(Word::Fixed(text)) => Some(text.as_str()),
            Some(Word::Open(_)) | None => None,
        };
        match program {
            Some("cd" | "pushd" | "popd") if self.loops > 0 => {
                // What stands before it is run again behind it.
                self.opaque(node);
                self.folders.change(None);
            }
            // Behind another program it may be that one's folder, or the shell's.
            Some("cd") if direct => {
                let to = match words {
                    [_, Word::Fixed(to)] => Some(to.clone()),
                    [_, Word::Open(to)] => self.in_scratch(to),
                    _ => None,
                };
                let to = to.filter(|to| !to.is_empty() && !to.starts_with('-'));
                self.folders.change(to.as_deref());
            }
            Some("cd" | "pushd" | "popd") => self.folders.change(None),
            _ => self.folders.ran(),
        }
    }
}

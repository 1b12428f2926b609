//! Shell commands as permissions see them: words, not text.
//!
//! The target of a `shell.run` is one simple command, its words as a shell would
//! hand them over. A word that is not known before it runs is *open*: it may
//! become any words, or none, so nothing behind it has a place. A pattern is a
//! list of words too; a star at its end is whatever else there is. An open word
//! never fits a word of a pattern, it only *may*: that is too little for an
//! allow, and enough for a deny to become a question.

use std::borrow::Cow;

use super::pattern::{Atom, Kind, Pattern, fixed};

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// What the program is handed, quotes removed.
    Fixed(String),
    /// What is known only when it runs, as it stands in the command.
    Open(String),
}

/// Writes a command down as the target of a `shell.run`.
///
/// A fixed word is plain or in single quotes, and an open one is never either, so
/// that the two cannot be taken for each other.
pub fn render(words: &[Word]) -> String {
    let shown: Vec<String> = words.iter().map(show).collect();
    shown.join(" ")
}

fn show(word: &Word) -> String {
    match word {
        Word::Fixed(text) if is_plain(text) => text.clone(),
        Word::Fixed(text) => format!("'{}'", text.replace('\'', "'\\''")),
        Word::Open(text) => match read(text) {
            argv if argv.open && argv.fixed.is_empty() => text.clone(),
            _ => format!("\"{text}\""),
        },
    }
}

fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    !text.is_empty() && text.chars().all(plain)
}

/// A command as it was written down.
pub(super) struct Argv<'a> {
    /// The words before the first open one.
    fixed: Vec<Cow<'a, str>>,
    /// Whether there is an open one.
    open: bool,
}

/// Reads a target; what is written in no way of ours is open from there on.
pub(super) fn read(target: &str) -> Argv<'_> {
    let mut fixed = Vec::new();
    let mut rest = target;
    while !rest.is_empty() {
        let Some((word, behind)) = first(rest) else {
            return Argv { fixed, open: true };
        };
        fixed.push(word);
        rest = behind;
    }
    let open = target.ends_with(' ');
    Argv { fixed, open }
}

/// Takes the first word and the space behind it, if it is a fixed one.
fn first(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let end = |rest: &str| rest.is_empty() || rest.starts_with(' ');
    if !text.starts_with('\'') {
        let (word, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
        return is_plain(word).then(|| (Cow::Borrowed(word), skip(rest)));
    }
    let mut word = String::new();
    let mut rest = &text[1..];
    loop {
        let (part, behind) = rest.split_once('\'')?;
        word.push_str(part);
        match behind.strip_prefix("\\''") {
            Some(more) => {
                word.push('\'');
                rest = more;
            }
            None => return end(behind).then(|| (Cow::Owned(word), skip(behind))),
        }
    }
}

fn skip(rest: &str) -> &str {
    rest.strip_prefix(' ').unwrap_or(rest)
}

/// How a pattern fits a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// Whatever its open words become.
    Surely,
    /// Depending on what its open words become.
    Maybe,
}

/// A pattern of commands, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Words {
    /// Without a star at the end that is a word of its own: that word need not be there.
    words: Vec<Pattern>,
    /// Whether it ended in a star, which is also whatever words follow.
    reaches_on: bool,
    /// Whether that star is a part of an argument: what is allowed then ends there.
    is_glued: bool,
    /// Each word in the one spelling of a path, if it may be one.
    paths: Vec<Option<Pattern>>,
    /// What the program is called by those who find it in `PATH`, if it is written with its folder.
    name: Option<Pattern>,
    /// The kind of pattern, and how much text it begins with, however it is written.
    weight: (Kind, usize),
}

impl Words {
    pub(super) fn of(pattern: &str) -> Self {
        let mut words = parse(pattern);
        let weight = weight(&words);
        let ends_in_star = |word: &Vec<Atom>| word.last() == Some(&Atom::Deep);
        let reaches_on = words.last().is_some_and(ends_in_star);
        let own = words.pop_if(|word| reaches_on && word.iter().all(|atom| *atom == Atom::Deep));
        let paths = words.iter().enumerate().map(|(index, word)| match index {
            0 => normal(word),
            _ => as_path(word),
        });
        Self {
            is_glued: reaches_on && own.is_none() && words.len() > 1,
            paths: paths.map(|path| path.map(Pattern::of_atoms)).collect(),
            name: words.first().and_then(|word| installed(word)),
            words: words.into_iter().map(Pattern::of_atoms).collect(),
            reaches_on,
            weight,
        }
    }

    /// Returns the same with whatever follows, if all of its words are plain text.
    pub(super) fn with_arguments(&self) -> Option<Self> {
        let is_text = |word: &Pattern| matches!(word, Pattern::Exact(_));
        let is_whole = !self.reaches_on && self.words.iter().all(is_text);
        is_whole.then(|| Self {
            reaches_on: true,
            // As if a star stood behind it, and a blank before that.
            weight: (Kind::Begins, self.weight.1 + 1),
            ..self.clone()
        })
    }

    /// Tells how specific it is.
    pub(super) fn weight(&self) -> (Kind, usize) {
        self.weight
    }

    /// Tells whether it fits whatever there is.
    pub(super) fn is_all(&self) -> bool {
        self.words.is_empty() && self.reaches_on
    }

    /// Tells whether it says which command of a program it means.
    pub(super) fn names_command(&self) -> bool {
        self.words.get(1).is_some_and(is_said)
    }

    /// Tells whether it says something of a path of a command: a word that begins with `/` or `./`.
    pub(super) fn names_path_of(&self, argv: &Argv<'_>) -> bool {
        let is_path = |word: &str| word == "." || word.starts_with('/') || word.starts_with("./");
        let mut pairs = self.words.iter().zip(&argv.fixed).skip(1);
        pairs.any(|(pattern, word)| is_said(pattern) && is_path(word))
    }

    /// Fits the pattern to a command; `None` if they cannot fit.
    pub(super) fn fit(&self, argv: &Argv<'_>) -> Option<Fit> {
        let program = argv.fixed.first().map(|program| &**program);
        self.fit_from(argv, program, self.words.first(), Spelling::Written)
    }

    /// The same for what is forbidden, however its program and files are written: who forbids `rm` means
    /// `/bin/rm` as well, who forbids `/bin/rm` means `rm`, and who forbids `./x` means `.//x`.
    pub(super) fn fit_however(&self, argv: &Argv<'_>) -> Option<Fit> {
        let program = argv.fixed.first().map(|program| &**program);
        let fit = |first| self.fit_from(argv, program, first, Spelling::Any);
        let is_bare = program.is_some_and(|program| !program.contains('/'));
        fit(self.words.first())
            .or_else(|| fit(Some(self.name.as_ref().filter(|_| is_bare)?)))
            .or_else(|| self.fit_by_name(argv))
            .or_else(|| self.fit_by_path(argv))
    }

    /// The same for what is allowed: a star stands for no way back, so that a pattern of what lies in
    /// a folder fits nothing outside of it, and one that ends an argument for no further argument.
    pub(super) fn fit_inside(&self, argv: &Argv<'_>) -> Option<Fit> {
        let goes_back = |word: &str| word.split('/').any(|step| step == "..");
        let mut pairs = self.words.iter().zip(&argv.fixed);
        let escapes = pairs.any(|(pattern, word)| pattern.narrows() && goes_back(word));
        let goes_on = self.is_glued && argv.fixed.len() > self.words.len();
        match self.fit(argv) {
            _ if escapes || goes_on => None,
            Some(Fit::Surely) if self.is_glued && argv.open => Some(Fit::Maybe),
            fit => fit,
        }
    }

    fn fit_by_name(&self, argv: &Argv<'_>) -> Option<Fit> {
        let program = argv.fixed.first()?.rsplit('/').next();
        self.fit_from(argv, program, self.words.first(), Spelling::Any)
    }

    fn fit_by_path(&self, argv: &Argv<'_>) -> Option<Fit> {
        let path = self.paths.first()?.as_ref()?;
        let program = text(normal(&atoms(argv.fixed.first()?))?);
        self.fit_from(argv, Some(&program), Some(path), Spelling::Any)
    }

    fn fit_from(
        &self,
        argv: &Argv<'_>,
        program: Option<&str>,
        first: Option<&Pattern>,
        spelling: Spelling,
    ) -> Option<Fit> {
        let mut surely = Fit::Surely;
        for (index, pattern) in self.words.iter().enumerate() {
            let (pattern, word) = match index {
                0 => (first.unwrap_or(pattern), program),
                _ => (pattern, argv.fixed.get(index).map(|word| &**word)),
            };
            let Some(word) = word else {
                return argv.open.then_some(Fit::Maybe);
            };
            let is_path = index > 0 && spelling == Spelling::Any;
            let as_path = || is_path.then(|| self.fit_path(index, word)).flatten();
            if pattern.fit(word).or_else(as_path)? == Fit::Maybe {
                surely = Fit::Maybe;
            }
        }
        if self.reaches_on {
            Some(surely)
        } else if argv.fixed.len() > self.words.len() {
            None
        } else if argv.open {
            Some(Fit::Maybe)
        } else {
            Some(surely)
        }
    }

    /// Fits an argument that is a path, in its one spelling.
    fn fit_path(&self, index: usize, word: &str) -> Option<Fit> {
        let path = self.paths.get(index)?.as_ref()?;
        path.fit(&text(as_path(&atoms(word))?))
    }
}

/// Tells whether a word of a pattern is more than a star.
fn is_said(word: &Pattern) -> bool {
    match word {
        Pattern::Any => false,
        Pattern::Begins(head) => !head.is_empty(),
        Pattern::Exact(_) | Pattern::Glob(_) => true,
    }
}

/// How an argument that may be a path is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// As it is written.
    Written,
    /// As whatever names the same file.
    Any,
}

fn atoms(text: &str) -> Vec<Atom> {
    text.chars().map(Atom::Char).collect()
}

fn text(atoms: Vec<Atom>) -> String {
    atoms.iter().filter_map(fixed).collect()
}

/// Returns the one spelling of an argument, taken for a path: one without a slash is a name in the
/// folder at hand, unless it is an option or begins with a star.
fn as_path(word: &[Atom]) -> Option<Vec<Atom>> {
    match word {
        [] | [Atom::Char('-'), ..] => None,
        [Atom::Char(_), ..] if !word.contains(&Atom::Char('/')) => {
            normal(&[&atoms("./"), word].concat())
        }
        word => normal(word),
    }
}

/// Returns the name of a program that is written with a folder of programs, such as `/usr/bin`.
fn installed(program: &[Atom]) -> Option<Pattern> {
    let is_text = program.iter().all(|atom| fixed(atom).is_some());
    let path = text(program.to_vec());
    let mut steps = path.strip_prefix('/').filter(|_| is_text)?.rsplit('/');
    let name = steps.next().filter(|name| !name.is_empty())?;
    let is_folder = matches!(steps.next(), Some("bin" | "sbin"));
    is_folder.then(|| Pattern::of_atoms(atoms(name)))
}

/// Returns the kind of a pattern, and how many letters it begins with, with one blank between words.
fn weight(words: &[Vec<Atom>]) -> (Kind, usize) {
    let blank = [Atom::Char(' ')];
    let atoms = words.join(blank.as_slice());
    let is_text = |atom: &&Atom| matches!(atom, Atom::Char(_));
    let text = atoms.iter().take_while(is_text).count();
    let kind = match &atoms[text..] {
        [] => Kind::Exact,
        rest if rest.iter().all(|atom| *atom == Atom::Deep) => match text {
            0 => Kind::Any,
            _ => Kind::Begins,
        },
        _ => Kind::Glob,
    };
    (kind, text)
}

/// Returns a pattern of commands as one of text, with one blank between words.
pub(super) fn as_text(pattern: &str) -> (Kind, Pattern) {
    let words = parse(pattern);
    let blank = [Atom::Char(' ')];
    let (kind, _) = weight(&words);
    (kind, Pattern::of_atoms(words.join(blank.as_slice())))
}

/// Returns the one spelling of a command's pattern, to compare it with others.
pub(super) fn spelling(pattern: &str) -> String {
    let shown = |word: &Vec<Atom>| -> String { word.iter().map(|atom| show_atom(*atom)).collect() };
    let words: Vec<String> = parse(pattern).iter().map(shown).collect();
    words.join(" ")
}

fn show_atom(atom: Atom) -> String {
    match atom {
        Atom::Char(c) => escape(c.encode_utf8(&mut [0; 4])),
        Atom::One | Atom::AnyOne => "?".to_owned(),
        Atom::Star | Atom::Deep | Atom::Folders => "*".to_owned(),
    }
}

/// Returns the one spelling of a path, `None` if it is a bare name: no `//`, no `.` but at its
/// beginning, which a relative one has, and `..` only there.
fn normal(path: &[Atom]) -> Option<Vec<Atom>> {
    const SLASH: Atom = Atom::Char('/');
    const DOT: Atom = Atom::Char('.');
    if !path.contains(&SLASH) {
        return None;
    }
    let is_back = |step: &[Atom]| *step == [DOT, DOT];
    let is_text = |step: &&[Atom]| step.iter().all(|atom| matches!(atom, Atom::Char(_)));
    let absolute = path.first() == Some(&SLASH);
    let mut steps: Vec<&[Atom]> = Vec::new();
    let mut all = path.split(|atom| *atom == SLASH).peekable();
    while let Some(step) = all.next() {
        match step {
            // What ends in a slash is all in that folder, if a star follows.
            [] | [DOT] if all.peek().is_some() || steps.is_empty() => {}
            step if is_back(step) => match steps.last() {
                Some(last) if is_text(last) && !is_back(last) => drop(steps.pop()),
                None if absolute => {}
                _ => steps.push(step),
            },
            step => steps.push(step),
        }
    }
    let begins_with_star = steps.first().is_some_and(|step| {
        let first = step.first();
        !matches!(first, None | Some(Atom::Char(_)))
    });
    let mut normal: Vec<Atom> = match absolute {
        true => vec![SLASH],
        // A star is whatever a path begins with.
        false if begins_with_star || steps.first().is_some_and(|step| is_back(step)) => Vec::new(),
        false => vec![DOT, SLASH],
    };
    normal.extend(steps.join(&SLASH));
    Some(normal)
}

/// Takes a pattern apart: words between blanks, single quotes around blanks, `\` before a letter
/// that means itself. A star is anything, slashes too.
fn parse(pattern: &str) -> Vec<Vec<Atom>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<Atom>> = None;
    let mut quoted = false;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let atom = match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
                continue;
            }
            c if quoted => Atom::Char(c),
            c if c.is_whitespace() => {
                words.extend(word.take());
                continue;
            }
            '*' => Atom::Deep,
            '?' => Atom::AnyOne,
            '\\' => Atom::Char(chars.next().unwrap_or('\\')),
            c => Atom::Char(c),
        };
        word.get_or_insert_default().push(atom);
    }
    words.extend(word);
    words
}

/// Returns the pattern of exactly this text, as a part of a word.
pub(super) fn escape(literal: &str) -> String {
    let mut escaped = String::with_capacity(literal.len());
    for c in literal.chars() {
        if matches!(c, '*' | '?' | '\\' | '\'') || c.is_whitespace() {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Tells whether a quote of a pattern is not closed.
pub(super) fn is_unclosed(pattern: &str) -> bool {
    let mut quoted = false;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => quoted = !quoted,
            '\\' if !quoted => drop(chars.next()),
            _ => {}
        }
    }
    quoted
}

#[cfg(test)]
mod tests;

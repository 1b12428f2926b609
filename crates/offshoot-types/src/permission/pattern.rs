//! Patterns of text: what they match, and how specific they are.
//!
//! Only text: whether a path exists, and what it links to, is nobody's business
//! here. A pattern is taken apart once and then only looked at: first its fixed
//! beginning, end and middle, and the rest only where those fit. All positions
//! that a text may have reached are followed at once, so that no pattern costs
//! more than its length times that of the text, whatever its stars.

/// A pattern, taken apart.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    Any,
    Exact(Box<str>),
    Begins(Box<str>),
    Glob(Glob),
}

impl Pattern {
    /// Takes a pattern of paths apart: `*` and `?` stay inside one part of a path, `**` does not, and
    /// `**/` is any number of whole folders; `\` takes the next letter as it is.
    pub(super) fn of(pattern: &str) -> Self {
        match Kind::of(pattern) {
            Kind::Any => Self::Any,
            Kind::Begins => {
                let mut atoms = path_atoms(&pattern[..pattern.len() - 1]);
                atoms.push(Atom::Deep);
                Self::of_atoms(atoms)
            }
            Kind::Exact | Kind::Glob => Self::of_atoms(path_atoms(pattern)),
        }
    }

    /// Puts a pattern together from its pieces.
    pub(super) fn of_atoms(atoms: Vec<Atom>) -> Self {
        let glob = Glob::of(atoms);
        match glob.atoms.as_slice() {
            [] => Self::Exact(glob.head),
            [Atom::Deep] => Self::Begins(glob.head),
            _ => Self::Glob(glob),
        }
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(exact) => **exact == *text,
            Self::Begins(head) => text.starts_with(&**head),
            Self::Glob(glob) => glob.run(text).0,
        }
    }

    /// Tells whether it is text with stars in it, and not one of the two alone.
    pub(super) fn narrows(&self) -> bool {
        match self {
            Self::Any | Self::Exact(_) => false,
            Self::Begins(head) => !head.is_empty(),
            Self::Glob(_) => true,
        }
    }

    /// Tells whether a path below a folder could fit, as far as its fixed beginning says.
    pub(super) fn may_fit_below(&self, folder: &str) -> bool {
        let head = match self {
            Self::Any => "",
            Self::Exact(head) | Self::Begins(head) => head,
            Self::Glob(glob) => &glob.head,
        };
        head.starts_with(folder) || folder.starts_with(head)
    }
}

/// What kind of pattern a text is, the least specific first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// `*` alone.
    Any,
    /// With stars that are not its end.
    Glob,
    /// Text, and a star at its end.
    Begins,
    /// Text alone.
    Exact,
}

impl Kind {
    /// Finds the first star that means one: what is escaped is text like any other.
    pub(super) fn of(pattern: &str) -> Self {
        let mut chars = pattern.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => drop(chars.next()),
                '*' if pattern.len() == 1 => return Self::Any,
                '*' if at + 1 == pattern.len() => return Self::Begins,
                '*' | '?' => return Self::Glob,
                _ => {}
            }
        }
        Self::Exact
    }
}

/// A piece of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Atom {
    Char(char),
    /// One letter that is no slash.
    One,
    /// One letter.
    AnyOne,
    /// Letters that are no slashes, or none.
    Star,
    /// Any letters, or none.
    Deep,
    /// Nothing, or anything that ends in a slash.
    Folders,
}

fn path_atoms(pattern: &str) -> Vec<Atom> {
    let mut atoms: Vec<Atom> = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        let last = atoms.last();
        let begins_part = matches!(last, None | Some(Atom::Char('/') | Atom::Folders));
        let atom = match c {
            '*' if chars.next_if_eq(&'*').is_none() => Atom::Star,
            '*' if begins_part && chars.next_if_eq(&'/').is_some() => Atom::Folders,
            '*' => Atom::Deep,
            '?' => Atom::One,
            '\\' => Atom::Char(chars.next().unwrap_or('\\')),
            c => Atom::Char(c),
        };
        atoms.push(atom);
    }
    atoms
}

/// A pattern with stars.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    /// What every match begins with; not among the atoms.
    head: Box<str>,
    /// What every match ends in.
    tail: Box<str>,
    /// The longest text that every match has behind its head.
    middle: Box<str>,
    atoms: Vec<Atom>,
}

impl Glob {
    fn of(mut atoms: Vec<Atom>) -> Self {
        // Stars in a row are one: that of them which takes most.
        atoms.dedup_by(|next, before| match (&before, &next) {
            (Atom::Star | Atom::Deep, Atom::Star | Atom::Deep) => {
                *before = if *next == Atom::Deep {
                    Atom::Deep
                } else {
                    *before
                };
                true
            }
            (Atom::Folders, Atom::Folders) => true,
            _ => false,
        });
        let text = |atoms: &[Atom]| -> String { atoms.iter().map_while(fixed).collect() };
        let head = text(&atoms);
        atoms.drain(..head.chars().count());
        let end = atoms.iter().rposition(|atom| fixed(atom).is_none());
        let tail = text(&atoms[end.map_or(0, |end| end + 1)..]);
        let runs = atoms.split(|atom| fixed(atom).is_none()).map(text);
        let middle = runs.max_by_key(String::len).unwrap_or_default();
        Self {
            head: head.into(),
            tail: tail.into(),
            middle: middle.into(),
            atoms,
        }
    }

    /// Tells whether a text fits, and in how many steps that was found.
    pub(super) fn run(&self, text: &str) -> (bool, usize) {
        let Some(rest) = text.strip_prefix(&*self.head) else {
            return (false, 0);
        };
        if !rest.ends_with(&*self.tail) || !rest.contains(&*self.middle) {
            return (false, 0);
        }
        let mut steps = 0;
        let mut now = Places::none(self.atoms.len());
        let mut next = Places::none(self.atoms.len());
        now.enter(&self.atoms, 0);
        for c in rest.chars() {
            next.clear();
            for at in now.iter() {
                steps += 1;
                match self.atoms.get(at) {
                    Some(Atom::Char(fixed)) if *fixed == c => next.enter(&self.atoms, at + 1),
                    Some(Atom::One) if c != '/' => next.enter(&self.atoms, at + 1),
                    Some(Atom::AnyOne) => next.enter(&self.atoms, at + 1),
                    Some(Atom::Star) if c != '/' => next.enter(&self.atoms, at),
                    Some(Atom::Deep) => next.enter(&self.atoms, at),
                    Some(Atom::Folders) => {
                        next.add(at);
                        if c == '/' {
                            next.enter(&self.atoms, at + 1);
                        }
                    }
                    Some(Atom::Char(_) | Atom::One | Atom::Star) | None => {}
                }
            }
            std::mem::swap(&mut now, &mut next);
            if now.is_empty() {
                return (false, steps);
            }
        }
        (now.has(self.atoms.len()), steps)
    }
}

/// Returns the letter that a piece stands for, if it is one.
pub(super) fn fixed(atom: &Atom) -> Option<char> {
    match atom {
        Atom::Char(c) => Some(*c),
        Atom::One | Atom::AnyOne | Atom::Star | Atom::Deep | Atom::Folders => None,
    }
}

/// The places in a pattern that a text may have reached.
struct Places(Vec<u64>);

impl Places {
    fn none(atoms: usize) -> Self {
        Self(vec![0; atoms / 64 + 1])
    }

    fn clear(&mut self) {
        self.0.fill(0);
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn add(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    /// Adds a place, and those behind it that need no letter to be reached.
    fn enter(&mut self, atoms: &[Atom], mut at: usize) {
        self.add(at);
        while let Some(Atom::Star | Atom::Deep | Atom::Folders) = atoms.get(at) {
            at += 1;
            self.add(at);
        }
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(index * 64 + bit)
            })
        })
    }
}

/// Counts the bytes of text that a pattern begins with; what is escaped is text.
pub(super) fn literal(pattern: &[u8]) -> usize {
    let (mut count, mut rest) = (0, pattern);
    while let [first, ..] = rest {
        let width = match first {
            b'*' | b'?' => break,
            b'\\' => 2,
            _ => 1,
        };
        count += 1;
        rest = rest.get(width..).unwrap_or_default();
    }
    count
}

/// Returns the pattern of everything in a folder.
pub(super) fn inside(folder: &str) -> String {
    format!("{}/**", glob_escape(folder.trim_end_matches('/')))
}

/// Returns a folder without the slashes at its end; `/` stays.
pub(super) fn bare(folder: &str) -> &str {
    match folder.trim_end_matches('/') {
        "" => "/",
        bare => bare,
    }
}

/// Returns the pattern of exactly this text.
pub(super) fn glob_escape(literal: &str) -> String {
    let mut escaped = String::with_capacity(literal.len());
    for c in literal.chars() {
        if matches!(c, '*' | '?' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests;

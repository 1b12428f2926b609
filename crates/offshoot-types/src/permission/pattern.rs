//! Patterns of text: what they match, and how specific they are.
//!
//! Only text: whether a path exists, and what it links to, is nobody's business
//! here. A pattern is taken apart once and then only looked at: first its fixed
//! beginning, end and middle, and the rest only where those fit, piece by piece: all
//! places of a text that a piece may begin at are followed at once, so that no
//! pattern costs more than the number of its pieces times the length of the text.

use super::argv::Fit;

/// Most letters that are looked at for one pattern, each once for every piece: a list may have
/// thousands of patterns.
const MOST_STEPS: usize = 64 * 1024;

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
        match glob.pieces.as_slice() {
            [] => Self::Exact(glob.head),
            [Piece::Wild(Atom::Deep)] => Self::Begins(glob.head),
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

    /// The same, but a text that is too long for stars only may fit, if it has what stands between them.
    pub(super) fn fit(&self, text: &str) -> Option<Fit> {
        match self {
            Self::Glob(glob) if text.len() * glob.pieces.len() > MOST_STEPS => {
                glob.rest(text).map(|_| Fit::Maybe)
            }
            Self::Any | Self::Exact(_) | Self::Begins(_) | Self::Glob(_) => {
                self.fits(text).then_some(Fit::Surely)
            }
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
        let head = self.head();
        head.starts_with(folder) || folder.starts_with(head)
    }

    /// Returns the text that whatever fits begins with.
    pub(super) fn head(&self) -> &str {
        match self {
            Self::Any => "",
            Self::Exact(head) | Self::Begins(head) => head,
            Self::Glob(glob) => &glob.head,
        }
    }

    /// Tells whether it says nothing but how a text begins, as `docs/**` and `docs/**/*` do.
    pub(super) fn is_beginning(&self) -> bool {
        let is_star = |piece: &Piece| match piece {
            Piece::Wild(atom) => matches!(atom, Atom::Star | Atom::Deep | Atom::Folders),
            Piece::Text(_) => false,
        };
        match self {
            Self::Any | Self::Begins(_) => true,
            Self::Exact(_) => false,
            Self::Glob(glob) => glob.pieces.iter().all(is_star),
        }
    }

    /// Tells whether something that fits may begin with a text.
    pub(super) fn may_begin(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(exact) => exact.starts_with(text),
            Self::Begins(head) => head.starts_with(text) || text.starts_with(&**head),
            Self::Glob(glob) => glob.may_begin(text),
        }
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
    /// What every match begins with; not among the pieces.
    head: Box<str>,
    /// What every match ends in.
    tail: Box<str>,
    /// The longest text that every match has behind its head.
    middle: Box<str>,
    pieces: Vec<Piece>,
}

/// A piece of a pattern: all the text between two stars, or something that stands for text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Box<str>),
    Wild(Atom),
}

impl Piece {
    /// Returns the places behind it, wherever it fits at one of some places.
    fn behind(&self, text: &str, places: Vec<bool>) -> Vec<bool> {
        match self {
            Self::Text(piece) => behind_text(piece, text, &places),
            Self::Wild(atom) => behind_wild(*atom, text, places),
        }
    }
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
            pieces: pieces(&atoms),
        }
    }

    /// Tells whether something that fits may begin with a text.
    fn may_begin(&self, text: &str) -> bool {
        let Some(rest) = text.strip_prefix(&*self.head) else {
            return self.head.starts_with(text);
        };
        let mut places = vec![false; rest.len() + 1];
        places[0] = true;
        self.pieces.iter().any(|piece| {
            let ends_within = match piece {
                Piece::Text(text) => {
                    let at = |(at, is_place): (usize, &bool)| is_place.then(|| rest.get(at..));
                    let mut left = places.iter().enumerate().filter_map(at).flatten();
                    left.any(|left| text.starts_with(left))
                }
                Piece::Wild(_) => places.last() == Some(&true),
            };
            places = piece.behind(rest, std::mem::take(&mut places));
            ends_within || places.last() == Some(&true)
        })
    }

    /// Returns what a text has behind the head; `None` if it lacks something that every match has.
    fn rest<'t>(&self, text: &'t str) -> Option<&'t str> {
        let rest = text.strip_prefix(&*self.head)?;
        (rest.ends_with(&*self.tail) && rest.contains(&*self.middle)).then_some(rest)
    }

    /// Tells whether a text fits, and in how many steps that was found.
    pub(super) fn run(&self, text: &str) -> (bool, usize) {
        let Some(rest) = self.rest(text) else {
            return (false, 0);
        };
        let mut steps = 0;
        // Whether what is left of the pattern may begin at a byte, or at the end.
        let mut places = vec![false; rest.len() + 1];
        places[0] = true;
        for piece in &self.pieces {
            steps += places.len();
            places = piece.behind(rest, places);
            if !places.contains(&true) {
                return (false, steps);
            }
        }
        (places.last() == Some(&true), steps)
    }
}

/// Takes letters that stand side by side together.
fn pieces(atoms: &[Atom]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    for atom in atoms {
        match fixed(atom) {
            Some(c) => text.push(c),
            None => {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text).into()));
                }
                pieces.push(Piece::Wild(*atom));
            }
        }
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text.into()));
    }
    pieces
}

/// Returns the places behind a piece of text, wherever it stands at one of some places.
///
/// Each byte of the text is looked at once, as Knuth, Morris and Pratt do it: where a piece stops to
/// fit, how much of its beginning stands there already is known from the piece alone.
fn behind_text(piece: &str, text: &str, places: &[bool]) -> Vec<bool> {
    let piece = piece.as_bytes();
    let goes_on = |begun: &[usize], mut length: usize, byte: u8| {
        while length > 0 && piece.get(length) != Some(&byte) {
            length = begun[length - 1];
        }
        length + usize::from(piece.get(length) == Some(&byte))
    };
    let mut begun = vec![0];
    for byte in &piece[1..] {
        let length = goes_on(&begun, begun[begun.len() - 1], *byte);
        begun.push(length);
    }
    let mut behind = vec![false; places.len()];
    let mut length = 0;
    for (at, byte) in text.bytes().enumerate() {
        length = goes_on(&begun, length, byte);
        if length == piece.len() {
            behind[at + 1] = places[at + 1 - length];
        }
    }
    behind
}

/// Returns the places behind something that stands for text.
fn behind_wild(atom: Atom, text: &str, mut places: Vec<bool>) -> Vec<bool> {
    match atom {
        Atom::Char(_) | Atom::One | Atom::AnyOne => {
            let mut behind = vec![false; places.len()];
            for (at, c) in text.char_indices() {
                let fits = match atom {
                    Atom::One => c != '/',
                    Atom::Char(fixed) => c == fixed,
                    Atom::AnyOne | Atom::Star | Atom::Deep | Atom::Folders => true,
                };
                behind[at + c.len_utf8()] = fits && places[at];
            }
            behind
        }
        Atom::Star | Atom::Deep | Atom::Folders => {
            let mut begun = false;
            for (at, c) in text.char_indices() {
                begun |= places[at];
                let end = at + c.len_utf8();
                match atom {
                    Atom::Star => {
                        begun &= c != '/';
                        places[end] |= begun;
                    }
                    Atom::Folders => places[end] |= begun && c == '/',
                    Atom::Deep | Atom::Char(_) | Atom::One | Atom::AnyOne => places[end] |= begun,
                }
            }
            places
        }
    }
}

/// Returns the letter that a piece stands for, if it is one.
pub(super) fn fixed(atom: &Atom) -> Option<char> {
    match atom {
        Atom::Char(c) => Some(*c),
        Atom::One | Atom::AnyOne | Atom::Star | Atom::Deep | Atom::Folders => None,
    }
}

/// Counts what stands for text in a pattern; stars in a row are one.
pub(super) fn wildcards(pattern: &str) -> usize {
    let mut count = 0;
    let mut after_star = false;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
        }
        count += usize::from(c == '?' || (c == '*' && !after_star));
        after_star = c == '*';
    }
    count
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

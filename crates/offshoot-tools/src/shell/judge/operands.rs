//! Words that name files, from wherever a command stands.
//!
//! A rule means its paths from the workspace. So behind a `cd`, a relative path is
//! what it is from there: who allows `rm -rf target` means that of the workspace.
//! And who forbids `cat secrets/*` means it by its absolute path, and with `..`, too.

use offshoot_types::permission::argv::Word;

use super::programs;
use super::{Act, Judge};

impl Judge<'_> {
    /// Returns a command as it would be written in the workspace: one for each folder that it may
    /// stand in. Where nobody knows which that is, its relative paths may be anything.
    pub(super) fn in_workspace(&self, words: &[Word]) -> Vec<Vec<Word>> {
        let open = |_, text: &str| Word::Open(text.to_owned());
        let Some(folders) = self.folders.all() else {
            return vec![with_relative(words, open)];
        };
        let placed = |folder: &String| {
            if self.below(folder) == Some("") {
                return words.to_vec();
            }
            with_relative(words, |index, text| {
                // If the folder is a link, the way back is from where that leads.
                if text.split('/').any(|step| step == "..") {
                    return open(index, text);
                }
                Word::Fixed(self.spelled(&self.folders.from(folder, text), index))
            })
        };
        folders.iter().map(placed).collect()
    }

    /// Returns a command with its files by their absolute paths, and by those from the workspace.
    pub(super) fn with_paths(&self, words: &[Word]) -> Vec<Act> {
        let has_files = (1..words.len()).any(|index| is_file(words, index));
        let Some(folders) = self.folders.all().filter(|_| has_files) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for folder in folders {
            let path = |text: &str| self.folders.from(folder, text);
            found.push(with_files(words, |index, text| {
                // A program is found by what it is called, too.
                Word::Fixed(match index {
                    0 => self.spelled(&path(text), 0),
                    _ => path(text),
                })
            }));
            found.push(with_files(words, |_, text| {
                Word::Fixed(self.spelled(&path(text), 0))
            }));
        }
        let marked = marked(words);
        found.retain(|other| other != words && *other != marked);
        found.into_iter().map(Act::Paths).collect()
    }

    /// Returns a command as it was written behind a `cd`: who forbids `rm x` means it there too.
    pub(super) fn as_written(&self, words: Vec<Word>) -> Act {
        if is_file(&words, 0) {
            return Act::Wrap(words);
        }
        Act::Paths(marked(&words))
    }

    /// Tells whether a word of a program that goes by its project leads out of the workspace, or may.
    pub(super) fn leads_out(&self, words: &[Word]) -> bool {
        programs::goes_by_project(words) && words.iter().skip(1).any(|word| self.is_outside(word))
    }

    fn is_outside(&self, word: &Word) -> bool {
        let text = match word {
            Word::Fixed(text) => text.as_str(),
            // What begins with a variable may begin anywhere.
            Word::Open(text) => {
                let text = text.trim_matches('"');
                if text == "$(nproc)" {
                    return false;
                }
                let is_back = text.split('/').any(|step| step == "..");
                return is_back || text.starts_with(['/', '~', '$', '`']) || text.contains("=$");
            }
        };
        // An option may have its value in the same word.
        let value = match text.strip_prefix('-') {
            Some(rest) => match (rest.split_once('='), rest.find(['/', '.'])) {
                (Some((_, value)), _) => value,
                (None, Some(at)) if !rest.starts_with('-') => &rest[at..],
                (None, _) => return false,
            },
            None => text,
        };
        if value.contains("://") {
            return false;
        }
        let is_path = value.starts_with('/') || value.split('/').any(|step| step == "..");
        let places = self.folders.of_program(value);
        is_path
            && !places.is_some_and(|places| places.iter().all(|path| self.below(path).is_some()))
    }

    /// Returns an absolute path as it is written in the workspace; that of a program (`0`) has a slash.
    fn spelled(&self, path: &str, index: usize) -> String {
        match self.below(path) {
            Some("") => ".".to_owned(),
            Some(rest) if index == 0 => format!("./{rest}"),
            Some(rest) => rest.to_owned(),
            None => path.to_owned(),
        }
    }

    /// Returns what a path has behind the workspace.
    fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        let root = self.ground.workspace.trim_end_matches('/');
        match path.strip_prefix(root)? {
            "" => Some(""),
            rest => rest.strip_prefix('/'),
        }
    }
}

/// Returns a command with its relative paths marked as such.
fn marked(words: &[Word]) -> Vec<Word> {
    with_relative(words, |_, text| {
        Word::Fixed(if text.starts_with('.') {
            text.to_owned()
        } else {
            format!("./{text}")
        })
    })
}

/// Returns a command with other words for its relative paths.
fn with_relative(words: &[Word], name: impl Fn(usize, &str) -> Word) -> Vec<Word> {
    with_files(words, |index, text| {
        if text.starts_with('/') {
            Word::Fixed(text.to_owned())
        } else {
            name(index, text)
        }
    })
}

/// Returns a command with other words for its files.
fn with_files(words: &[Word], name: impl Fn(usize, &str) -> Word) -> Vec<Word> {
    let other = |(index, word): (usize, &Word)| match word {
        Word::Fixed(text) if is_file(words, index) => name(index, text),
        Word::Fixed(_) | Word::Open(_) => word.clone(),
    };
    words.iter().enumerate().map(other).collect()
}

/// Tells whether a word is a path, as far as that can be seen: it has a slash, or stands where the
/// program takes files.
fn is_file(words: &[Word], index: usize) -> bool {
    let (Some(Word::Fixed(program)), Some(Word::Fixed(word))) = (words.first(), words.get(index))
    else {
        return false;
    };
    let host = word.split('/').next().unwrap_or_default();
    let is_number = word.chars().all(|c| c.is_ascii_digit());
    if index == 0 {
        return word.contains('/');
    }
    if word.is_empty() || word.starts_with(['-', '+', '@']) || is_number || host.contains(':') {
        return false;
    }
    let is_path = word.contains('/') || word == "." || word == "..";
    // Elsewhere what has blanks is text, as what a commit says.
    let is_path = is_path && !word.contains(char::is_whitespace);
    is_path || programs::takes_files(program) || (index == 1 && programs::runs_file(program))
}

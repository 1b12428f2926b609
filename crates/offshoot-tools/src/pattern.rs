//! Which files a search is about, by their names.
//!
//! `*` and `?` stay within one part of a path, `**` crosses parts, `{a,b}` and
//! `[ab]` are choices. A hidden name fits only where the pattern writes its dot;
//! folders that cannot hold a match are not entered.

use std::ffi::OsStr;
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Longest pattern that is taken, in bytes.
const MOST_BYTES: usize = 4096;

/// Which files a search is about.
pub(crate) struct Pattern {
    /// `None` takes every file.
    whole: Option<GlobSet>,
    /// Whether it is about names rather than paths.
    names_only: bool,
    /// What folders must be called, from the top down, as far as that is known.
    folders: Vec<GlobSet>,
    /// Whether matches may lie deeper than `folders` says.
    is_deep: bool,
    /// Hidden names that it asks for; more than these may begin so.
    hidden: GlobSet,
}

impl Pattern {
    /// Takes every file that is not hidden.
    pub(crate) fn every() -> Self {
        Self {
            whole: None,
            names_only: false,
            folders: Vec::new(),
            is_deep: true,
            hidden: GlobSet::empty(),
        }
    }

    /// Takes the paths that a text stands for, or says what is wrong with it.
    pub(crate) fn of_paths(text: &str) -> Result<Self, String> {
        check(text)?;
        let parts: Vec<&str> = text
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
            .collect();
        if parts.is_empty() {
            return Err("it names no file; `**` is every file".to_owned());
        }
        if parts.contains(&"..") {
            return Err("it goes through `..`; search in another `path` instead".to_owned());
        }
        let text = parts.join("/");
        // A part that does not stand alone, such as one half of `{a/b,c}`, leaves the rest open.
        let known = parts.iter().take_while(|part| **part != "**");
        let mut folders: Vec<GlobSet> = known.map_while(|part| compile([*part]).ok()).collect();
        let is_deep = folders.len() < parts.len();
        if !is_deep {
            folders.pop();
        }
        Ok(Self {
            whole: Some(compile([text.as_str()])?),
            names_only: false,
            folders,
            is_deep,
            hidden: hidden(&text)?,
        })
    }

    /// Like `of_paths`, where a text without a slash is about names, however deep.
    pub(crate) fn of_names(text: &str) -> Result<Self, String> {
        if text.contains('/') {
            return Self::of_paths(text);
        }
        check(text)?;
        Ok(Self {
            whole: Some(compile([text])?),
            names_only: true,
            hidden: hidden(text)?,
            ..Self::every()
        })
    }

    /// Tells whether a file fits; the path is from where the search starts.
    pub(crate) fn fits(&self, path: &Path) -> bool {
        let Some(whole) = &self.whole else {
            return true;
        };
        match path.file_name() {
            Some(name) if self.names_only => whole.is_match(name),
            Some(_) | None => whole.is_match(path),
        }
    }

    /// Tells whether a folder may hold a match; `depth` is how many folders it lies in.
    pub(crate) fn enters(&self, depth: usize, name: &OsStr) -> bool {
        match self.folders.get(depth) {
            Some(folder) => folder.is_match(name),
            None => self.is_deep,
        }
    }

    /// Tells whether it asks for a hidden name.
    pub(crate) fn names_hidden(&self, name: &OsStr) -> bool {
        self.hidden.is_match(name)
    }
}

fn check(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("it is empty; `**` is every file".to_owned());
    }
    if text.ends_with('/') {
        return Err("it ends in a slash and files do not; `folder/**` is all in it".to_owned());
    }
    if text.len() > MOST_BYTES {
        return Err(format!("it is longer than {MOST_BYTES} bytes"));
    }
    Ok(())
}

/// Compiles globs; unlike a matcher, a set of them is refused where it is too large.
fn compile<'a>(globs: impl IntoIterator<Item = &'a str>) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let glob = GlobBuilder::new(glob).literal_separator(true).build();
        set.add(glob.map_err(|error| error.kind().to_string())?);
    }
    set.build().map_err(|error| error.kind().to_string())
}

/// Finds the names whose leading dot is written in a pattern.
///
/// Whatever begins like them is looked at; the whole pattern then decides.
fn hidden(text: &str) -> Result<GlobSet, String> {
    let mut names = Vec::new();
    let mut before = '/';
    for (start, character) in text.char_indices() {
        if character == '.' && ['/', '{', ','].contains(&before) {
            let rest = &text[start..];
            let end = rest.find(['/', '{', '}', ',', '[', '\\', '*', '?']);
            names.push(format!("{}*", &rest[..end.unwrap_or(rest.len())]));
        }
        before = character;
    }
    compile(names.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_fits(pattern: &Pattern, path: &str, expected: bool) {
        let path = Path::new(path);
        let folders: Vec<_> = path.parent().unwrap().iter().collect();
        let entered = folders
            .iter()
            .enumerate()
            .all(|(depth, folder)| pattern.enters(depth, folder));
        let hidden = |name: &&OsStr| name.to_str().unwrap().starts_with('.');
        let seen = path
            .iter()
            .filter(hidden)
            .all(|name| pattern.names_hidden(name));
        let found = entered && seen && pattern.fits(path);
        assert_eq!(found, expected, "{}", path.display());
    }

    #[track_caller]
    fn check(text: &str, fit: &[&str], do_not: &[&str]) {
        let pattern = Pattern::of_paths(text).unwrap();
        fit.iter().for_each(|path| check_fits(&pattern, path, true));
        do_not
            .iter()
            .for_each(|path| check_fits(&pattern, path, false));
    }

    #[test]
    fn a_star_stays_within_a_part() {
        check("*.rs", &["a.rs"], &["a.md", "src/a.rs", ".a.rs"]);
        check("./src//*.rs", &["src/a.rs"], &["a.rs", "src/b/a.rs"]);
        check("*/?.rs", &["x/a.rs"], &["x/ab.rs", "a.rs"]);
        check("**/*.rs", &["a.rs", "x/y/a.rs"], &["x/.y/a.rs", "a.rs/b"]);
        check("src/**", &["src/a", "src/b/c"], &["a", "x/src/a"]);
        check("{src,x/y}/*.rs", &["src/a.rs", "x/y/b.rs"], &["x/b.rs"]);
        check("[ab]/c", &["a/c", "b/c"], &["c/c"]);
    }

    #[test]
    fn a_hidden_name_fits_where_its_dot_is_written() {
        check(".env*", &[".env", ".env.local"], &["x/.env", ".git"]);
        check("**/.env", &["x/.env", ".env"], &[".x/.env"]);
        check(".github/**/*.yml", &[".github/a/b.yml"], &["a/b.yml"]);
        check("{src,.config}/*", &["src/a", ".config/a"], &["src/.a"]);
        check("**", &["a/b"], &["a/.b", ".a/b"]);
    }

    #[test]
    fn a_text_without_a_slash_may_be_about_names() {
        let pattern = Pattern::of_names("*.{rs,md}").unwrap();
        check_fits(&pattern, "a/b/c.rs", true);
        check_fits(&pattern, "c.md", true);
        check_fits(&pattern, "a.rs/c.txt", false);
        let pattern = Pattern::of_names("a/*.rs").unwrap();
        check_fits(&pattern, "a/c.rs", true);
        check_fits(&pattern, "b/a/c.rs", false);
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let refused = |text: &str| Pattern::of_paths(text).err().unwrap();
        assert_eq!(refused(""), "it is empty; `**` is every file");
        assert_eq!(refused("."), "it names no file; `**` is every file");
        assert!(refused("a/../b").starts_with("it goes through `..`"));
        assert!(refused("src/").starts_with("it ends in a slash"));
        assert!(refused("[a").contains("unclosed character class"));
        assert!(refused("{a").contains("unclosed alternate group"));
        assert!(refused(&"a".repeat(5000)).starts_with("it is longer than"));
    }
}

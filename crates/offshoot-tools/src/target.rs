//! The file a call is about, by name.
//!
//! Only text: a target may name what does not exist, and says nothing of links.
//! Its relative path has neither `.` nor `..` nor empty parts, so the absolute
//! one that permissions are asked about is the only spelling of that file.

use offshoot_types::tool::Place;

/// A path inside the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Absolute, without a final slash; empty for `/`.
    root: String,
    /// Below the root; empty for the root itself.
    relative: String,
}

impl Target {
    /// Takes a path as a model gave it, or tells the model what is wrong with it.
    pub(crate) fn new(path: &str, place: &Place) -> Result<Self, String> {
        if path.is_empty() {
            return Err("`path` is empty; give a path inside the workspace".to_owned());
        }
        if path.contains('\0') {
            return Err("`path` contains a NUL byte, which no file name can".to_owned());
        }
        let root = parts(&place.workspace);
        let given = parts(path);
        if given.contains(&"..") {
            let shown = shown(path);
            return Err(format!(
                "{shown} goes through `..`; give the path from the workspace"
            ));
        }
        let relative = if path.starts_with('/') {
            given.strip_prefix(root.as_slice()).ok_or_else(|| {
                let workspace = &place.workspace;
                format!("{} is outside the workspace {workspace}", shown(path))
            })?
        } else {
            &given
        };
        Ok(Self {
            root: root.iter().map(|part| format!("/{part}")).collect(),
            relative: relative.join("/"),
        })
    }

    /// Returns the workspace.
    pub(crate) fn root(&self) -> &str {
        if self.root.is_empty() {
            "/"
        } else {
            &self.root
        }
    }

    /// Returns the path below the workspace; `.` for the workspace itself.
    pub(crate) fn relative(&self) -> &str {
        if self.relative.is_empty() {
            "."
        } else {
            &self.relative
        }
    }

    /// Returns the absolute path.
    pub(crate) fn absolute(&self) -> String {
        let Self { root, relative } = self;
        if relative.is_empty() {
            self.root().to_owned()
        } else {
            format!("{root}/{relative}")
        }
    }

    /// Returns the folders on the way, then the file's name; `None` for the workspace itself.
    pub(crate) fn folders_and_name(&self) -> Option<(impl Iterator<Item = &str>, &str)> {
        if self.relative.is_empty() {
            return None;
        }
        let (folders, name) = self
            .relative
            .rsplit_once('/')
            .unwrap_or(("", &self.relative));
        Some((folders.split_terminator('/'), name))
    }

    /// Returns the path as it is shown to models and people.
    pub(crate) fn shown(&self) -> String {
        shown(self.relative())
    }
}

fn parts(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect()
}

/// Quotes a path; a name with a newline in it stays on one line.
fn shown(path: &str) -> String {
    if path.chars().any(char::is_control) {
        format!("{path:?}")
    } else {
        format!("`{path}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(workspace: &str, path: &str, expected: Result<&str, &str>) {
        let place = Place::new(workspace.to_owned());
        let found = Target::new(path, &place).map(|target| target.absolute());
        let found = found.as_deref().map_err(String::as_str);
        assert_eq!(found, expected, "{workspace} {path}");
    }

    #[test]
    fn a_path_has_one_spelling() {
        for path in [
            "src/a.rs",
            "./src//a.rs",
            "src/./a.rs",
            "/w/x/src/a.rs",
            "/w//x/src/a.rs",
        ] {
            check("/w/x", path, Ok("/w/x/src/a.rs"));
            check("/w/x/", path, Ok("/w/x/src/a.rs"));
        }
        check("/", "/etc/x", Ok("/etc/x"));
        check("/", "etc/x", Ok("/etc/x"));
        check("/w", ".", Ok("/w"));
        check("/w", "/w/", Ok("/w"));
        check("/w", "a\nb", Ok("/w/a\nb"));
        check("/w", "a..b/...", Ok("/w/a..b/..."));
    }

    #[test]
    fn a_path_outside_is_refused() {
        check(
            "/w",
            "",
            Err("`path` is empty; give a path inside the workspace"),
        );
        check(
            "/w",
            "/etc/passwd",
            Err("`/etc/passwd` is outside the workspace /w"),
        );
        check("/w", "/wx/a", Err("`/wx/a` is outside the workspace /w"));
        check("/w", "/", Err("`/` is outside the workspace /w"));
        for path in ["../a", "a/../b", "/w/../w/a", ".."] {
            let expected = format!("`{path}` goes through `..`; give the path from the workspace");
            check("/w", path, Err(&expected));
        }
        let nul = "`path` contains a NUL byte, which no file name can";
        check("/w", "a\0b", Err(nul));
    }

    #[test]
    fn folders_come_before_the_name() {
        let place = Place::new("/w".to_owned());
        let split = |path: &str| {
            let target = Target::new(path, &place).unwrap();
            target
                .folders_and_name()
                .map(|(folders, name)| (folders.collect::<Vec<_>>().join(","), name.to_owned()))
        };
        assert_eq!(split("a/b/c"), Some(("a,b".to_owned(), "c".to_owned())));
        assert_eq!(split("c"), Some((String::new(), "c".to_owned())));
        assert_eq!(split("."), None);
    }
}

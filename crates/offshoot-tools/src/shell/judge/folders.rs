//! Where relative paths begin.
//!
//! A `cd` may fail, or not be reached, so a command may find itself in one of
//! several folders; what is written to a relative path is then written to any of
//! them. Only behind `&&` is it known that a `cd` went well. Text only: `..` goes
//! back as bash itself does it.

/// In how many folders a command may be before that is as good as anywhere.
const MOST: usize = 4;

/// The folders a command may be in.
#[derive(Clone, Debug)]
pub(super) struct Folders {
    /// Wherever it may be; `None` for anywhere.
    any: Option<Vec<String>>,
    /// Where it is if what was last run went well.
    well: Option<Vec<String>>,
}

impl Folders {
    pub(super) fn at(folder: &str) -> Self {
        let only = Some(vec![normal(folder)]);
        Self {
            any: only.clone(),
            well: only,
        }
    }

    /// Forgets what was known of the last command.
    pub(super) fn ran(&mut self) {
        self.well = self.any.clone();
    }

    /// Takes a `cd`; without a path, one to somewhere unknown.
    pub(super) fn change(&mut self, to: Option<&str>) {
        self.well = match (to, &self.any) {
            (Some(to), _) if to.starts_with('/') => Some(vec![normal(to)]),
            (Some(to), Some(any)) => Some(any.iter().map(|from| join(from, to)).collect()),
            (_, _) => None,
        };
        self.any = union(self.any.take(), &self.well);
    }

    /// Returns all folders that a command may be in; `None` for anywhere.
    pub(super) fn all(&self) -> Option<&[String]> {
        self.any.as_deref()
    }

    /// Goes where a program is told to work, in a process of its own.
    pub(super) fn enter(&mut self, to: &str) {
        let enter = |any: &Vec<String>| any.iter().map(|from| join(from, to)).collect();
        self.any = self.any.as_ref().map(enter);
        self.ran();
    }

    /// Returns the absolute path that a path means in a folder, as its text says.
    pub(super) fn from(&self, folder: &str, path: &str) -> String {
        if path.starts_with('/') {
            normal(path)
        } else {
            join(folder, path)
        }
    }

    /// Returns the folders behind `&&`; `self` keeps those where the left side failed.
    pub(super) fn when_well(&self) -> Self {
        Self {
            any: self.well.clone(),
            well: self.well.clone(),
        }
    }

    /// Takes together with what else may have been.
    pub(super) fn or(&mut self, other: &Self) {
        self.any = union(self.any.take(), &other.any);
    }

    /// Returns the absolute paths that a path may mean; `None` if that cannot be said.
    ///
    /// Through `..` a path may lead anywhere if a link is on the way: the kernel goes back from
    /// where the link points, other than `cd`.
    pub(super) fn resolve(&self, path: &str) -> Option<Vec<String>> {
        if path.is_empty() || path.split('/').any(|part| part == "..") {
            return None;
        }
        if path.starts_with('/') {
            return Some(vec![normal(path)]);
        }
        let any = self.any.as_ref()?;
        Some(any.iter().map(|from| join(from, path)).collect())
    }

    /// Tells whether a command is surely in a project, and not among what git keeps of it.
    pub(super) fn are_in(&self, project: &str) -> bool {
        let root = normal(project);
        let root = root.trim_end_matches('/');
        let is_in = |folder: &String| {
            let below = folder.strip_prefix(root);
            let below = below.filter(|rest| rest.is_empty() || rest.starts_with('/'));
            below.is_some_and(|rest| rest.split('/').all(|step| step != ".git"))
        };
        self.any.as_ref().is_some_and(|any| any.iter().all(is_in))
    }

    /// Returns the absolute paths of a program that is called by a path; `None` if that cannot be said.
    /// Through `..` they are what the text says: links are nobody's business here.
    pub(super) fn of_program(&self, path: &str) -> Option<Vec<String>> {
        if path.starts_with('/') {
            return Some(vec![normal(path)]);
        }
        let any = self.any.as_ref()?;
        Some(any.iter().map(|from| join(from, path)).collect())
    }
}

fn union(one: Option<Vec<String>>, other: &Option<Vec<String>>) -> Option<Vec<String>> {
    let (mut one, other) = (one?, other.as_ref()?);
    for folder in other {
        if !one.contains(folder) {
            one.push(folder.clone());
        }
    }
    (one.len() <= MOST).then_some(one)
}

fn join(from: &str, path: &str) -> String {
    normal(&format!("{from}/{path}"))
}

/// Returns the one spelling of an absolute path, as targets of the file tools have it.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

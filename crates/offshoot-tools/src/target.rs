//! The file or folder a call is about, by name.
//!
//! Only text: a target may name what does not exist, and says nothing of links.
//! It lies beneath one of two roots, the workspace or the scratch folder, and
//! only an absolute path means the latter. Its relative path has neither `.` nor
//! `..` nor empty parts, so the absolute one that permissions are asked about is
//! the only spelling of that file. What the host keeps for itself is no target,
//! also where it lies in the workspace.

use std::path::Path;

use offshoot_types::tool::Place;

/// A folder that tools work beneath.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Root {
    /// Absolute, without a final slash; empty for `/`.
    path: String,
    kind: RootKind,
    /// What lies below it and is off limits; empty for all of it.
    hidden: Option<String>,
}

/// Which of the roots it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RootKind {
    /// The user's; always there.
    Workspace,
    /// The agent's own; made on first use.
    Scratch,
}

/// A path beneath a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    root: Root,
    /// Below the root; empty for the root itself.
    relative: String,
}

impl Root {
    /// Returns the workspace of a place.
    pub(crate) fn workspace(place: &Place) -> Self {
        let mut root = Self::new(&place.workspace, RootKind::Workspace);
        let off_limits = place.off_limits.as_deref().map(parts);
        root.hidden = off_limits.and_then(|off_limits| {
            let own = parts(&root.path);
            match off_limits.strip_prefix(own.as_slice()) {
                Some(below) => Some(below.join("/")),
                None => own.starts_with(&off_limits).then(String::new),
            }
        });
        root
    }

    /// Returns the scratch folder of a place, if it has one.
    pub(crate) fn scratch(place: &Place) -> Option<Self> {
        let path = place.scratch.as_deref()?;
        Some(Self::new(path, RootKind::Scratch))
    }

    fn new(path: &str, kind: RootKind) -> Self {
        let path = parts(path).iter().map(|part| format!("/{part}")).collect();
        Self {
            path,
            kind,
            hidden: None,
        }
    }

    /// Tells whether what lies at `relative` below it is off limits, or in what is.
    pub(crate) fn hides(&self, relative: &Path) -> bool {
        let hidden = self.hidden.as_deref();
        hidden.is_some_and(|hidden| relative.starts_with(hidden))
    }

    /// Returns the absolute path.
    pub(crate) fn path(&self) -> &str {
        if self.path.is_empty() {
            "/"
        } else {
            &self.path
        }
    }

    /// Tells which of the roots it is.
    pub(crate) fn kind(&self) -> RootKind {
        self.kind
    }

    /// Returns the absolute path of what lies at `relative` below it.
    pub(crate) fn join(&self, relative: &str) -> String {
        if relative.is_empty() {
            self.path().to_owned()
        } else {
            format!("{}/{relative}", self.path)
        }
    }

    /// Returns how something below it is named to models: from the workspace, or absolute.
    pub(crate) fn name(&self, relative: &str) -> String {
        match self.kind {
            RootKind::Workspace if relative.is_empty() => ".".to_owned(),
            RootKind::Workspace => relative.to_owned(),
            RootKind::Scratch => self.join(relative),
        }
    }
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
        let given = parts(path);
        if given.contains(&"..") {
            let shown = quoted(path);
            return Err(format!(
                "{shown} goes through `..`; give the path from the workspace"
            ));
        }
        let target = if path.starts_with('/') {
            beneath(&given, place).ok_or_else(|| outside(path, place))?
        } else {
            Self {
                root: Root::workspace(place),
                relative: given.join("/"),
            }
        };
        if target.root.hides(Path::new(&target.relative)) {
            Err(off_limits(path, place))
        } else {
            Ok(target)
        }
    }

    /// Returns the root that it lies beneath.
    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// Returns the path below the root; `.` for the root itself.
    pub(crate) fn relative(&self) -> &str {
        if self.relative.is_empty() {
            "."
        } else {
            &self.relative
        }
    }

    /// Returns the path below the root; empty for the root itself.
    pub(crate) fn below_root(&self) -> &str {
        &self.relative
    }

    /// Returns the absolute path.
    pub(crate) fn absolute(&self) -> String {
        self.root.join(&self.relative)
    }

    /// Returns the absolute path with a slash at its end: all that is in a folder, as far as
    /// permissions go. A rule for `docs/**` is about that, and not about the folder's own name.
    pub(crate) fn inside(&self) -> String {
        let mut path = self.absolute();
        if !path.ends_with('/') {
            path.push('/');
        }
        path
    }

    /// Returns the folder's path below the root, `.` for the root, and the name in it.
    ///
    /// `None` for the root itself.
    pub(crate) fn folder_and_name(&self) -> Option<(&str, &str)> {
        if self.relative.is_empty() {
            return None;
        }
        Some(
            self.relative
                .rsplit_once('/')
                .unwrap_or((".", &self.relative)),
        )
    }

    /// Returns the path as it is shown to models and people.
    pub(crate) fn shown(&self) -> String {
        quoted(&self.root.name(&self.relative))
    }
}

/// Finds the root that an absolute path lies beneath; the deeper one where both would do.
fn beneath(given: &[&str], place: &Place) -> Option<Target> {
    let roots = [Some(Root::workspace(place)), Root::scratch(place)];
    roots
        .into_iter()
        .flatten()
        .filter_map(|root| {
            let relative = given.strip_prefix(parts(&root.path).as_slice())?;
            let relative = relative.join("/");
            Some(Target { root, relative })
        })
        .min_by_key(|target| target.relative.len())
}

fn outside(path: &str, place: &Place) -> String {
    let workspace = &place.workspace;
    let scratch = place.scratch.as_ref().map_or(String::new(), |scratch| {
        format!(" and the scratch folder {scratch}")
    });
    let shown = quoted(path);
    format!("{shown} is outside the workspace {workspace}{scratch}")
}

fn off_limits(path: &str, place: &Place) -> String {
    let folder = place.off_limits.as_deref().unwrap_or_default();
    let scratch = place.scratch.as_ref().map_or(String::new(), |scratch| {
        format!("; in it there is only your scratch folder {scratch} for you")
    });
    let shown = quoted(path);
    format!("{shown} is in the data folder {folder}, which is off limits{scratch}")
}

fn parts(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect()
}

/// Quotes a path; a name with a newline in it stays on one line.
pub(crate) fn quoted(path: &str) -> String {
    if path.chars().any(char::is_control) {
        format!("{path:?}")
    } else {
        format!("`{path}`")
    }
}

#[cfg(test)]
mod tests;

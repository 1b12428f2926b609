//! Where a session keeps what is not the user's.
//!
//! One folder per session in the host's data folder, a child's inside its
//! parent's, so that a parent reads down and a child cannot read up. All else in
//! the data folder is off limits. Only names: nothing is made here. Different
//! sessions never share a folder, whatever their ids are.

use std::fmt::Write;

use offshoot_types::id::{AgentId, TreeId};

/// Most bytes of one folder's name.
const MOST: usize = 200;

/// What an agent may know of the host's data folder.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    /// The host's folder: off limits.
    pub(crate) data: String,
    /// The agent's own folder in it; its children's lie below.
    pub(crate) folder: String,
}

impl Scratch {
    /// That of a session's root.
    pub(crate) fn of_root(data: &str, tree: &TreeId) -> Self {
        Self {
            data: data.to_owned(),
            folder: of_session(&base(data), tree),
        }
    }

    /// That of a child.
    pub(crate) fn of_child(&self, id: &AgentId) -> Self {
        Self {
            data: self.data.clone(),
            folder: format!("{}/{id}", self.folder),
        }
    }
}

/// Returns the folder of all sessions in the host's data folder.
pub fn base(data: &str) -> String {
    format!("{}/scratch", data.trim_end_matches('/'))
}

/// Returns the folder of a session's blobs, in the session's own, so that they are removed with it.
pub fn blobs(data: &str, tree: &TreeId) -> String {
    format!("{}/blobs", of_session(&base(data), tree))
}

/// Returns the folder of a session below that of all.
pub fn of_session(base: &str, tree: &TreeId) -> String {
    let mut name = String::new();
    for byte in tree.root().as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            // Names that a client made up may hold anything.
            _ => drop(write!(name, "%{byte:02x}")),
        }
    }
    let mut path = base.trim_end_matches('/').to_owned();
    while name.len() > MOST {
        let rest = name.split_off(MOST);
        // Nothing else ends in a plus: no other session's folder is on the way.
        path.push_str(&format!("/{name}+"));
        name = rest;
    }
    format!("{path}/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_sessions_share_a_folder() {
        let of = |id: &str| of_session("/s/", &TreeId::of(AgentId::new(id)));
        assert_eq!(of("a-B_9"), "/s/a-B_9");
        assert_eq!(of("../x"), "/s/%2e%2e%2fx");
        assert_eq!(of("."), "/s/%2e");
        let long = "x".repeat(260);
        assert_eq!(
            of(&long),
            format!("/s/{}+/{}", "x".repeat(200), "x".repeat(60))
        );
        assert_ne!(of(&long[..200]), of(&format!("{}+", &long[..199])));
    }

    #[test]
    fn x_23_a_childs_folder_lies_in_its_parents() {
        let root = Scratch::of_root("/d/", &TreeId::of(AgentId::new("s")));
        assert_eq!(root.folder, "/d/scratch/s");
        let grandchild = root
            .of_child(&AgentId::new("a"))
            .of_child(&AgentId::new("b"));
        assert_eq!(grandchild.folder, "/d/scratch/s/a/b");
        assert_eq!(grandchild.data, "/d/");
    }
}

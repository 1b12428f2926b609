//! Where a session keeps what is not the user's.
//!
//! One folder per session below the host's, a child's inside its parent's, so
//! that a parent reads down and a child cannot read up. Only names: nothing is
//! made here. Different sessions never share a folder, whatever their ids are.

use std::fmt::Write;

use offshoot_types::id::{AgentId, TreeId};
use offshoot_types::tree::Tree;

/// Most bytes of one folder's name.
const MOST: usize = 200;

/// Returns the folder of a session.
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

/// Returns the folder of an agent: inside its parent's.
pub(crate) fn of_agent(session: &str, tree: &Tree, id: &AgentId) -> Option<String> {
    let mut folders = Vec::new();
    let mut at = id;
    while let Some(parent) = tree.agent(at)?.parent() {
        folders.push(at.as_str());
        at = &parent.agent;
    }
    folders.push(session);
    folders.reverse();
    Some(folders.join("/"))
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
}

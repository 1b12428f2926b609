//! What is said of a workspace before any agent has a say.
//!
//! The port through which rules of the host, the project and the user reach a
//! chain. It is asked whenever a session is taken up, so that what holds is what
//! they say now and not what they said when it was opened.

use super::{Layer, Permissions, Rule};

/// What the host, the project and the user say of a workspace.
pub trait Charter: Send + Sync {
    /// Returns the layers above the grant of a session that works in a folder, the outermost first.
    ///
    /// What cannot be read is a layer that denies. Called when a session is opened or taken up, and
    /// must not block for long.
    fn layers(&self, workspace: &str) -> Vec<Layer>;

    /// Returns what of the personal children may have: see [`Permissions::of_host`].
    fn delegable(&self) -> Vec<Rule> {
        Vec::new()
    }

    /// Returns what `{home}` stands for in rules of agents.
    fn home(&self) -> Option<&str> {
        None
    }
}

/// Nobody says anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCharter;

impl Charter for NoCharter {
    fn layers(&self, _workspace: &str) -> Vec<Layer> {
        Vec::new()
    }
}

/// Returns the chain that a session's root begins with: what is said of its folder, and its grant.
pub fn begin(charter: &dyn Charter, workspace: &str, scratch: Option<&str>) -> Permissions {
    let mut chain = Permissions::of_host(charter.delegable());
    for layer in charter.layers(workspace) {
        chain = chain.narrow(layer);
    }
    chain.narrow(Layer::root_grant(workspace, scratch))
}

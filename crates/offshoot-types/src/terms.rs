//! On what terms an agent works: what it asked for, and what it got.
//!
//! Written with its birth and pinned for its life, so that nobody has to guess
//! later which model, tools or limits a run had (peers ask for that most). A
//! record, not an authority: what an agent may do is the chain's business, and
//! its tools are looked up anew each turn.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::caps::Caps;
use crate::manifest::{Context, Effort};
use crate::permission::{Action, Need, Permissions};

/// On what terms an agent works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// How hard its model is to think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// What it sees of its parent's conversation.
    #[serde(skip_serializing_if = "is_fresh")]
    pub context: Context,
    /// Whether its calls, and those of all below it, are held to reading.
    #[serde(skip_serializing_if = "is_false")]
    pub read_only: bool,
    /// What it may call, as of its birth.
    pub tools: Vec<String>,
    /// What its manifest names and is not there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_tools: Vec<String>,
    /// What it would have been offered and its permissions never allow, whatever the inputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub barred_tools: Vec<String>,
    /// What its runs may use.
    #[serde(skip_serializing_if = "is_unlimited")]
    pub caps: Caps,
    /// Those of `caps` that its definition sets; the others are the host's.
    #[serde(skip_serializing_if = "is_unlimited")]
    pub own_caps: Caps,
    /// What its chain says, by capability, of some file of the workspace or some command.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub permissions: BTreeMap<String, Action>,
}

impl Terms {
    /// Tells whether nothing is known of them: a log that is older than they are.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Lets its runs use no more than the host says, whatever its definition sets.
    pub fn narrow(&mut self, caps: Caps) {
        self.caps = self.caps.narrow(caps);
        self.own_caps = self.own_caps.only_where_equal(self.caps);
    }
}

fn is_fresh(context: &Context) -> bool {
    *context == Context::Fresh
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_unlimited(caps: &Caps) -> bool {
    *caps == Caps::default()
}

/// Returns what a chain says of each capability, where nothing more is known of the target than
/// that it is a file of the workspace, a command, an address.
pub fn summary(chain: &Permissions, workspace: &str) -> BTreeMap<String, Action> {
    let file = format!("{}/some-file", workspace.trim_end_matches('/'));
    let probes = [
        (Need::FS_READ, file.as_str()),
        (Need::FS_WRITE, file.as_str()),
        (Need::SHELL_RUN, "some command"),
        ("net.fetch", "some.host"),
    ];
    let say = |(capability, target): (&str, &str)| {
        let need = Need {
            capability: capability.to_owned(),
            target: target.to_owned(),
        };
        (capability.to_owned(), chain.decide("", &need).action)
    };
    probes.map(say).into()
}

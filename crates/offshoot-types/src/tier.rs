//! Model tiers: what an agent names in the place of a model (SA-43).
//!
//! A tier is mapped to a model by the host, so a manifest can ask for a cheap model
//! without knowing what its user has. Which model an agent gets is decided at its
//! birth and written down there: a mapping that changes later concerns later agents.

use std::collections::BTreeMap;
use std::fmt;

use crate::manifest::Manifest;

/// How capable a model is to be, and how expensive it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Cheap and quick: titles, summaries, searches.
    Small,
    /// What sessions use.
    Standard,
    /// The best there is.
    Large,
}

impl Tier {
    /// All tiers, the cheapest first.
    pub const ALL: [Self; 3] = [Self::Small, Self::Standard, Self::Large];

    /// Returns the name that manifests and settings use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Standard => "standard",
            Self::Large => "large",
        }
    }

    /// Finds a tier by its name. Models have other names: `PROVIDER/NAME`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.name() == name)
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which models agents get that name none themselves, by `PROVIDER/NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelChoices {
    /// What the tiers are mapped to.
    pub tiers: BTreeMap<Tier, String>,
    /// What children get whose manifests name neither a model nor a tier (PD-27); without it, their
    /// parent's.
    pub child: Option<String>,
}

impl ModelChoices {
    /// Returns the model that a tier is mapped to.
    pub fn tier(&self, tier: Tier) -> Option<&str> {
        self.tiers.get(&tier).map(String::as_str)
    }

    /// Returns the model that a manifest names, by itself or by a tier, in a session with a model.
    ///
    /// `standard` without a mapping is the session's model. Another tier without one counts as not
    /// named.
    pub fn named<'a>(&'a self, manifest: &'a Manifest, session: &'a str) -> Option<&'a str> {
        let name = manifest.model.as_deref()?;
        match Tier::named(name) {
            None => Some(name),
            Some(Tier::Standard) => self.tier(Tier::Standard).or(Some(session)),
            Some(tier) => self.tier(tier),
        }
    }
}

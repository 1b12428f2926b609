//! Digests of what a request is made of, to tell later whether that has changed.
//!
//! FNV-1a with 128 bits: it detects changes and is no proof against forgery.

use offshoot_types::manifest::Manifest;
use offshoot_types::tool::ToolSpec;

const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// The digests of everything of a request that is the same for all steps of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Digests {
    /// Of the system prompt.
    pub(crate) system: String,
    /// Of the system prompt, the tools, the temperature and the effort.
    pub(crate) all: String,
}

impl Digests {
    pub(crate) fn of(system: &str, tools: &[ToolSpec], manifest: &Manifest) -> Self {
        let of_system = fed(BASIS, system);
        let mut all = of_system;
        for tool in tools {
            for text in [&tool.id, &tool.description, tool.parameters.as_str()] {
                all = fed(all, text);
            }
        }
        let settings = format!("{:?} {:?}", manifest.temperature, manifest.effort);
        Self {
            system: format!("{of_system:032x}"),
            all: format!("{:032x}", fed(all, &settings)),
        }
    }
}

/// Feeds a text, and that it ends.
fn fed(digest: u128, text: &str) -> u128 {
    let bytes = text.bytes().chain([0xff]);
    bytes.fold(digest, |digest, byte| {
        (digest ^ u128::from(byte)).wrapping_mul(PRIME)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_cut_elsewhere_have_other_digests() {
        let two = |one: &str, other: &str| fed(fed(BASIS, one), other);
        assert_ne!(two("ab", "c"), two("a", "bc"));
        assert_ne!(two("", "a"), two("a", ""));
        assert_eq!(fed(BASIS, "a"), fed(BASIS, "a"));
    }
}

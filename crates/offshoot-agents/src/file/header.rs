//! The header of an agent file, read into a manifest.
//!
//! The manifest says which keys there are; here only two are seen to: `name`,
//! which may come from outside, and `prompt`, which stands below the header and
//! not in it. What a header may make of itself by anchors is bounded.

use std::fmt;

use offshoot_types::manifest::Manifest;
use offshoot_types::permission::written::Part;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde_saphyr::{Error, Options, Spanned};

use super::Lines;

/// Why `prompt` is not taken.
const PROMPT: &str = "`prompt` is not a key here: the prompt is the text below the header";

/// Why `skills` is not taken.
const SKILLS: &str = "`skills` is not supported yet; remove the key";

/// Reads a header; `name` and `prompt` are put in where they belong. Notes where its keys stand.
pub(super) fn read(
    header: &str,
    name: &str,
    prompt: &str,
    lines: &mut Lines,
) -> Result<Manifest, Error> {
    serde_saphyr::with_deserializer_from_str_with_options(header, options(), |yaml| {
        yaml.deserialize_map(Header {
            name,
            prompt,
            lines,
        })
    })
}

/// Returns the name that a header gives, whatever else is wrong with it.
pub(super) fn name(header: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: Option<String>,
    }
    let named: Result<Named, Error> = serde_saphyr::from_str_with_options(header, options());
    named.ok()?.name
}

/// Where the rules of a header stand.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct RulePlaces {
    #[serde(default)]
    permissions: Vec<PlacedRule>,
}

#[derive(Clone, Debug, Deserialize)]
struct PlacedRule {
    permission: Spanned<String>,
    pattern: Option<Spanned<String>>,
}

impl RulePlaces {
    /// Returns the line and the column of a part of a rule.
    pub(super) fn find(&self, index: usize, part: Part) -> Option<(usize, usize)> {
        let rule = self.permissions.get(index)?;
        let of = match part {
            Part::Permission => None,
            Part::Pattern => rule.pattern.as_ref(),
        };
        let place = of.unwrap_or(&rule.permission).referenced;
        let line = usize::try_from(place.line()).ok()?;
        Some((line, usize::try_from(place.column()).ok()?))
    }
}

/// Finds out where the rules of a header stand; nothing is known of one that cannot be read.
pub(super) fn rules(header: &str) -> RulePlaces {
    serde_saphyr::from_str_with_options(header, options()).unwrap_or_default()
}

/// Bounds what a few lines can become: the default budget lets an alias bomb run for a second.
fn options() -> Options {
    serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
        budget: serde_saphyr::budget! {
            max_events: 20_000,
            max_nodes: 10_000,
            max_aliases: 100,
            max_anchors: 100,
            max_depth: 48,
            max_recorded_anchor_events: 2_000,
            max_recorded_anchor_bytes: 1024 * 1024,
            max_total_scalar_bytes: 1024 * 1024,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 2_000,
            max_replay_stack_depth: 8,
        },
    }
}

struct Header<'a> {
    name: &'a str,
    prompt: &'a str,
    lines: &'a mut Lines,
}

impl<'de> Visitor<'de> for Header<'_> {
    type Value = Manifest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("keys and values")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Manifest, A::Error> {
        let entries = Entries {
            map: Some(map),
            name: Some(self.name),
            prompt: Some(self.prompt),
            added: None,
            lines: self.lines,
        };
        Manifest::deserialize(MapAccessDeserializer::new(entries))
    }
}

/// The entries of a header, and after them those that do not stand in it.
struct Entries<'a, A> {
    /// `None` after its last entry.
    map: Option<A>,
    name: Option<&'a str>,
    prompt: Option<&'a str>,
    /// The value of the key that was just added.
    added: Option<&'a str>,
    lines: &'a mut Lines,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let mut seed = Some(seed);
        if let Some(map) = &mut self.map {
            let key = Key {
                seed: &mut seed,
                lines: self.lines,
            };
            if let Some(value) = map.next_key_seed(key)? {
                return Ok(Some(value));
            }
            self.map = None;
            if self.lines.contains_key("name") {
                self.name = None;
            }
        }
        let (key, added) = match (self.name.take(), &mut self.prompt) {
            (Some(name), _) => ("name", name),
            (None, prompt) => match prompt.take() {
                Some(prompt) => ("prompt", prompt),
                None => return Ok(None),
            },
        };
        self.added = Some(added);
        match seed {
            Some(seed) => seed.deserialize(key.into_deserializer()).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match (self.added.take(), &mut self.map) {
            (Some(added), _) => seed.deserialize(added.into_deserializer()),
            (None, Some(map)) => map.next_value_seed(seed),
            (None, None) => Err(de::Error::custom("a value without a key")),
        }
    }
}

/// A key of the header, which is noted on its way. Leaves the seed where there is no key.
struct Key<'a, K> {
    seed: &'a mut Option<K>,
    lines: &'a mut Lines,
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for Key<'_, K> {
    type Value = K::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<K::Value, D::Error> {
        let key = Spanned::<String>::deserialize(deserializer)?;
        let line = usize::try_from(key.referenced.line()).unwrap_or(1);
        self.lines.insert(key.value.clone(), line);
        match self.seed.take() {
            Some(_) if key.value == "prompt" => Err(de::Error::custom(PROMPT)),
            Some(_) if key.value == "skills" => Err(de::Error::custom(SKILLS)),
            Some(seed) => seed.deserialize(key.value.into_deserializer()),
            None => Err(de::Error::custom("a key was asked for twice")),
        }
    }
}

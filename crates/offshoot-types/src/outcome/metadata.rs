//! How a call went, in one flat object: our keys, and whatever a tool adds.
//!
//! What a tool adds can neither repeat nor retype a key of ours, or the entry it
//! is stored in could be written and never be read again. Its values are carried
//! as they are. Whatever can be put here is read back the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::RawJson;

const DURATION_MS: &str = "duration_ms";
const TRUNCATED: &str = "truncated";
const OUTPUT_PATH: &str = "output_path";

/// How a call went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// From start to end.
    pub duration_ms: u64,
    /// Set when `data` holds only the head.
    pub truncated: Option<bool>,
    /// Where the whole lies, when truncated.
    pub output_path: Option<String>,
    /// Everything else, kept.
    pub extra: Extra,
}

/// What tools add to how a call went.
///
/// No key is one of ours: one that would be stands behind an underscore, and to
/// keep the two apart so does one that looks like that already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extra(BTreeMap<String, RawJson>);

impl Extra {
    /// Adds a fact; a later one of the same key takes its place.
    pub fn insert(&mut self, key: &str, value: &impl Serialize) {
        self.0.insert(moved_aside(key), RawJson::of(value));
    }

    /// Returns what was added under a key.
    pub fn get(&self, key: &str) -> Option<&RawJson> {
        self.0.get(&moved_aside(key))
    }

    /// Returns the facts, to be changed where they stand.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut RawJson> {
        self.0.values_mut()
    }

    /// Returns the facts as they are stored, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }
}

fn moved_aside(key: &str) -> String {
    match key.trim_start_matches('_') {
        DURATION_MS | TRUNCATED | OUTPUT_PATH => format!("_{key}"),
        _ => key.to_owned(),
    }
}

// By hand: a derive with `flatten` cannot carry JSON as it is.
impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            duration_ms,
            truncated,
            output_path,
            extra,
        } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(DURATION_MS, duration_ms)?;
        if let Some(truncated) = truncated {
            map.serialize_entry(TRUNCATED, truncated)?;
        }
        if let Some(output_path) = output_path {
            map.serialize_entry(OUTPUT_PATH, output_path)?;
        }
        for (key, value) in extra.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Metadata;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the metadata of an outcome")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
        let mut duration_ms = None;
        let mut metadata = Metadata::default();
        let mut seen = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if !seen.insert(key.clone()) {
                return Err(A::Error::custom(format!("key {key:?} is there twice")));
            }
            match key.as_str() {
                DURATION_MS => duration_ms = Some(map.next_value()?),
                TRUNCATED => metadata.truncated = map.next_value()?,
                OUTPUT_PATH => metadata.output_path = map.next_value()?,
                _ => {
                    metadata.extra.0.insert(key, map.next_value()?);
                }
            }
        }
        metadata.duration_ms = duration_ms.ok_or_else(|| A::Error::missing_field(DURATION_MS))?;
        Ok(metadata)
    }
}

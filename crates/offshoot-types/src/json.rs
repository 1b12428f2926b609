//! JSON that is carried and never interpreted.
//!
//! Provider blocks, call arguments, outcome data and `task` metadata pass
//! through Offshoot byte for byte: a model gets back exactly what it sent.
//! Cloning shares the text. The engine never branches on what is inside.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// One JSON value, kept as the text it arrived in.
#[derive(Clone)]
pub struct RawJson(Arc<RawValue>);

impl RawJson {
    /// Checks that `text` is one JSON value and keeps it.
    pub fn parse(text: String) -> Result<Self, serde_json::Error> {
        Ok(Self(Arc::from(RawValue::from_string(text)?)))
    }

    /// Renders a value of ours.
    ///
    /// A value that JSON cannot hold (a map with keys that are not text) becomes
    /// `null`; our own types have none.
    pub fn of(value: &impl Serialize) -> Self {
        match serde_json::value::to_raw_value(value) {
            Ok(raw) => Self(Arc::from(raw)),
            Err(_) => Self::null(),
        }
    }

    /// Returns `null`.
    pub fn null() -> Self {
        Self(Arc::from(RawValue::NULL.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Reads the value as a type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(Arc::from(raw)))
    }
}

//! What the environment says.
//!
//! A variable of ours that is empty or no text is a mistake and said to be one.
//! Those that other programs share (`NO_COLOR`, `OPENAI_…`) mean nothing when
//! they are empty, as everywhere. Keys are taken from here and from nowhere else.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use offshoot_types::tier::Tier;

use super::layer::{Color, Layer};
use super::providers::{OPENAI_CHAT, ProviderLayer};
use super::source::{Source, Sourced};
use super::word::{Word, words};
use crate::error::HostError;
use crate::surroundings::Surroundings;

/// A provider's key; printed as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Returns the key, for the wire only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Returns the models of tiers.
fn tiers(surroundings: &Surroundings) -> Result<BTreeMap<Tier, Sourced<String>>, HostError> {
    let variables = [
        (Tier::Small, "OFFSHOOT_SMALL_MODEL"),
        (Tier::Standard, "OFFSHOOT_STANDARD_MODEL"),
        (Tier::Large, "OFFSHOOT_LARGE_MODEL"),
    ];
    let mut tiers = BTreeMap::new();
    for (tier, variable) in variables {
        if let Some(model) = text(surroundings, variable)? {
            tiers.insert(tier, model);
        }
    }
    Ok(tiers)
}

/// Returns the address of the provider that needs no configuration.
fn providers(surroundings: &Surroundings) -> Result<BTreeMap<String, ProviderLayer>, HostError> {
    if surroundings.filled("OPENAI_BASE_URL").is_none() {
        return Ok(BTreeMap::new());
    }
    let provider = ProviderLayer {
        base_url: text(surroundings, "OPENAI_BASE_URL")?,
        ..ProviderLayer::default()
    };
    Ok(BTreeMap::from([(OPENAI_CHAT.to_owned(), provider)]))
}

/// Returns what the environment says.
pub(super) fn layer(surroundings: &Surroundings) -> Result<Layer, HostError> {
    let color = match word(surroundings, "OFFSHOOT_COLOR")? {
        Some(color) => Some(color),
        None => {
            let never = |_| Sourced::new(Color::Never, Source::Variable("NO_COLOR".to_owned()));
            surroundings.filled("NO_COLOR").map(never)
        }
    };
    Ok(Layer {
        model: text(surroundings, "OFFSHOOT_MODEL")?,
        child_model: text(surroundings, "OFFSHOOT_CHILD_MODEL")?,
        tiers: tiers(surroundings)?,
        agent: text(surroundings, "OFFSHOOT_AGENT")?,
        data_dir: path(surroundings, "OFFSHOOT_DATA_DIR")?,
        color,
        log_level: word(surroundings, "OFFSHOOT_LOG")?,
        log_file: path(surroundings, "OFFSHOOT_LOG_FILE")?,
        providers: providers(surroundings)?,
        // Limits, and where a key is, are not for a variable to say.
        ..Layer::default()
    })
}

/// Returns the key that a variable holds; `None` if it is not set, or empty.
pub(super) fn key(surroundings: &Surroundings, name: &str) -> Result<Option<Key>, HostError> {
    let Some(value) = surroundings.filled(name) else {
        return Ok(None);
    };
    // What it holds is not shown, whatever is wrong with it.
    match value.to_str().map(str::trim) {
        Some("") => Ok(None),
        Some(key) => Ok(Some(Key(key.to_owned()))),
        None => Err(HostError::invalid(format!(
            "the variable {name} is not UTF-8 text"
        ))),
    }
}

fn text(surroundings: &Surroundings, name: &str) -> Result<Option<Sourced<String>>, HostError> {
    let Some(value) = surroundings.variable(name) else {
        return Ok(None);
    };
    let fault = |what: &str| HostError::invalid(format!("the variable {name} {what}"));
    let text = value.to_str().ok_or_else(|| fault("is not UTF-8 text"))?;
    if text.trim().is_empty() {
        return Err(fault("is empty; unset it, or give it a value"));
    }
    let source = Source::Variable(name.to_owned());
    Ok(Some(Sourced::new(text.to_owned(), source)))
}

fn path(surroundings: &Surroundings, name: &str) -> Result<Option<Sourced<PathBuf>>, HostError> {
    match surroundings.variable(name) {
        Some(value) if value.is_empty() => Err(HostError::invalid(format!(
            "the variable {name} is empty; unset it, or give it a path"
        ))),
        // A path need not be text.
        Some(value) => {
            let source = Source::Variable(name.to_owned());
            Ok(Some(Sourced::new(PathBuf::from(value), source)))
        }
        None => Ok(None),
    }
}

fn word<T: Word>(surroundings: &Surroundings, name: &str) -> Result<Option<Sourced<T>>, HostError> {
    let Some(Sourced { value, source }) = text(surroundings, name)? else {
        return Ok(None);
    };
    match T::named(&value) {
        Some(word) => Ok(Some(Sourced::new(word, source))),
        None => Err(HostError::invalid(format!(
            "the variable {name} is `{}`, and none of {}",
            value.escape_debug(),
            words::<T>()
        ))),
    }
}

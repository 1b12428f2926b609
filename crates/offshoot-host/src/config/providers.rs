//! The servers that models are asked at, by the name that begins the names of their models.
//!
//! `[providers.NAME]` of the user's own file makes them; `openai-chat` is there
//! without one, and `OPENAI_BASE_URL` moves it. Keys and secret headers come from
//! the environment and are in no file. Whether an address or a key can be right is
//! judged where a model is looked up.

use std::collections::BTreeMap;

use offshoot_types::caps::Price;

use super::source::{Source, Sourced};
use super::variables::{self, Key};
use super::word::Word;
use crate::error::HostError;
use crate::surroundings::Surroundings;

/// The provider that needs no configuration.
pub(super) const OPENAI_CHAT: &str = "openai-chat";

/// Where the models of that provider are asked by default.
const OPENAI: &str = "https://api.openai.com/v1";

/// The variable that holds its key by default.
const OPENAI_KEY: &str = "OPENAI_API_KEY";

/// What a provider's server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    OpenaiChat,
}

impl Word for Dialect {
    const ALL: &'static [Self] = &[Self::OpenaiChat];

    fn word(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
        }
    }
}

/// What one source says of a provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderLayer {
    pub kind: Option<Sourced<Dialect>>,
    pub base_url: Option<Sourced<String>>,
    pub api_key_env: Option<Sourced<String>>,
    /// By their names in lower case.
    pub headers: BTreeMap<String, Sourced<HeaderSetting>>,
    /// By their names within the provider.
    pub models: BTreeMap<String, ModelSetting>,
}

/// The text of a header, as a file says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderSetting {
    /// It stands in the file.
    Text(String),
    /// A variable of this name holds it, and it is secret.
    Variable(String),
}

/// What a file says of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSetting {
    /// How many tokens a conversation may have, its answer included.
    pub context_window: Option<Sourced<u64>>,
    pub price: Option<Sourced<Price>>,
    /// Whether it takes images.
    pub images: Option<Sourced<bool>>,
}

/// A server that models are asked at.
#[derive(Clone, Debug)]
pub struct Provider {
    pub base_url: Sourced<String>,
    /// The variable that holds the key; `None` if the server takes no key.
    pub api_key_env: Option<Sourced<String>>,
    /// The key; `None` if that variable is not set.
    pub key: Option<Key>,
    pub headers: BTreeMap<String, Sourced<HeaderSetting>>,
    /// What the variables of headers hold, as far as they are set.
    pub header_keys: BTreeMap<String, Key>,
    pub models: BTreeMap<String, ModelSetting>,
}

/// All providers, by name; `openai-chat` is among them.
pub type Providers = BTreeMap<String, Provider>;

impl ProviderLayer {
    /// Puts this layer over another.
    pub fn over(self, below: Self) -> Self {
        let (mut headers, mut models) = (below.headers, below.models);
        headers.extend(self.headers);
        models.extend(self.models);
        Self {
            kind: self.kind.or(below.kind),
            base_url: self.base_url.or(below.base_url),
            api_key_env: self.api_key_env.or(below.api_key_env),
            headers,
            models,
        }
    }
}

/// Completes what layers say, with keys from the environment.
pub(super) fn providers(
    mut layers: BTreeMap<String, ProviderLayer>,
    surroundings: &Surroundings,
) -> Result<Providers, HostError> {
    let usual = layers.entry(OPENAI_CHAT.to_owned()).or_default();
    let or = |text: &str| Sourced::default(text.to_owned());
    usual.base_url.get_or_insert_with(|| or(OPENAI));
    usual.api_key_env.get_or_insert_with(|| or(OPENAI_KEY));
    let mut providers = Providers::new();
    for (name, layer) in layers {
        // A file has been refused that leaves it out.
        let Some(base_url) = layer.base_url else {
            continue;
        };
        let key = match &layer.api_key_env {
            Some(variable) => variables::key(surroundings, &variable.value)?,
            None => None,
        };
        let mut header_keys = BTreeMap::new();
        for Sourced { value, .. } in layer.headers.values() {
            if let HeaderSetting::Variable(variable) = value
                && let Some(key) = variables::key(surroundings, variable)?
            {
                header_keys.insert(variable.clone(), key);
            }
        }
        let provider = Provider {
            base_url,
            api_key_env: layer.api_key_env,
            key,
            headers: layer.headers,
            header_keys,
            models: layer.models,
        };
        providers.insert(name, provider);
    }
    Ok(providers)
}

impl Provider {
    /// Returns the variables whose values are secret.
    pub fn secret_variables(&self) -> impl Iterator<Item = &str> {
        let headers = self
            .headers
            .values()
            .filter_map(|header| match &header.value {
                HeaderSetting::Variable(name) => Some(name.as_str()),
                HeaderSetting::Text(_) => None,
            });
        let key = self.api_key_env.iter().map(|name| name.value.as_str());
        key.chain(headers)
    }

    /// Lists the settings of the provider: their names, values and sources, without what is secret.
    pub(super) fn made(&self, name: &str) -> Vec<(String, String, Source)> {
        let mut made = Vec::new();
        let mut add = |key: String, value: String, source: &Source| {
            made.push((format!("providers.{name}.{key}"), value, source.clone()));
        };
        // As far as it may be shown: a password or a key may be in the rest.
        let address = offshoot_models::public_address(&self.base_url.value);
        add("base_url".to_owned(), address, &self.base_url.source);
        if let Some(Sourced { value, source }) = &self.api_key_env {
            add("api_key_env".to_owned(), value.clone(), source);
        }
        for (header, Sourced { value, source }) in &self.headers {
            let shown = match value {
                HeaderSetting::Text(text) => text.clone(),
                HeaderSetting::Variable(variable) => format!("${variable}"),
            };
            add(format!("headers.{header}"), shown, source);
        }
        for (model, setting) in &self.models {
            if let Some(Sourced { value, source }) = &setting.context_window {
                let key = format!("models.\"{model}\".context_window");
                add(key, value.to_string(), source);
            }
            if let Some(Sourced { value, source }) = &setting.images {
                add(
                    format!("models.\"{model}\".images"),
                    value.to_string(),
                    source,
                );
            }
            if let Some(Sourced { value, source }) = &setting.price {
                let Price { input, output, .. } = value;
                let price = format!("${input} in, ${output} out, a million tokens");
                add(format!("models.\"{model}\".price"), price, source);
            }
        }
        made
    }
}

//! The models there are, by name.
//!
//! A fixed table that the binary fills at assembly: single models, and providers
//! that make a model of any name. It makes none itself and reads no
//! configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use offshoot_types::model::{Model, ModelError, ModelErrorKind, Models};

use crate::Offline;

/// Names of the model that needs no configuration.
const OFFLINE: [&str; 2] = ["offline", "offline/survey"];

/// Models by `PROVIDER/NAME`.
#[derive(Clone, Default)]
pub struct ModelSet {
    models: BTreeMap<String, Arc<dyn Model>>,
    providers: BTreeMap<String, Arc<dyn Models>>,
}

impl ModelSet {
    /// Adds a provider, which is asked for what follows `PROVIDER/` in a name.
    ///
    /// A single model of the same name goes first.
    #[must_use]
    pub fn with_provider(mut self, provider: &str, models: Arc<dyn Models>) -> Self {
        self.providers.insert(provider.to_owned(), models);
        self
    }

    /// Adds the rule-based model, as `offline` and `offline/survey`.
    #[must_use]
    pub fn with_offline(mut self) -> Self {
        let model: Arc<dyn Model> = Arc::new(Offline);
        let names = OFFLINE.map(|name| (name.to_owned(), Arc::clone(&model)));
        self.models.extend(names);
        self
    }
}

impl FromIterator<(String, Arc<dyn Model>)> for ModelSet {
    fn from_iter<T: IntoIterator<Item = (String, Arc<dyn Model>)>>(models: T) -> Self {
        Self {
            models: models.into_iter().collect(),
            providers: BTreeMap::new(),
        }
    }
}

impl Models for ModelSet {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        if let Some(model) = self.models.get(name) {
            return Ok(model.clone());
        }
        if let Some((provider, rest)) = name.split_once('/')
            && let Some(models) = self.providers.get(provider)
        {
            return models.find(rest);
        }
        let models = self.models.keys().cloned();
        let providers = self.providers.keys().map(|name| format!("{name}/NAME"));
        let known: Vec<String> = models.chain(providers).collect();
        let known = if known.is_empty() {
            "none is configured".to_owned()
        } else {
            format!("known are {}", known.join(", "))
        };
        Err(ModelError::new(
            ModelErrorKind::Config,
            format!("find model `{name}`: there is none of that name; {known}"),
        ))
    }
}

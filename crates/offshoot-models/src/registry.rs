//! The models there are, by name.
//!
//! A fixed table that the binary fills at assembly. It makes no model and reads
//! no configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use offshoot_types::model::{Model, ModelError, ModelErrorKind, Models};

/// Models by `PROVIDER/NAME`.
#[derive(Clone, Default)]
pub struct ModelSet(BTreeMap<String, Arc<dyn Model>>);

impl FromIterator<(String, Arc<dyn Model>)> for ModelSet {
    fn from_iter<T: IntoIterator<Item = (String, Arc<dyn Model>)>>(models: T) -> Self {
        Self(models.into_iter().collect())
    }
}

impl Models for ModelSet {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        self.0.get(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
            let known = if known.is_empty() {
                "none is configured".to_owned()
            } else {
                format!("known are {}", known.join(", "))
            };
            ModelError::new(
                ModelErrorKind::Config,
                format!("find model `{name}`: there is none of that name; {known}"),
            )
        })
    }
}

//! Checks arguments against the schema of their tool, before anything runs (TLS-02).
//!
//! The one place that knows the validator. A schema is compiled when a call is
//! first held against it; one that cannot be compiled refuses every call, since nothing
//! says what the tool would take. Remote references are never fetched.

use std::sync::OnceLock;

use jsonschema::Validator;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::tool::ToolSpec;
use serde_json::Value;

/// Most complaints that a model is told of at once.
const MOST: usize = 5;

/// A schema, which tools may share.
#[derive(Default)]
pub(crate) struct Schema(OnceLock<Result<Validator, String>>);

impl Schema {
    /// Checks the arguments of a call, or says what is wrong with them.
    pub(crate) fn check(&self, spec: &ToolSpec, arguments: &RawJson) -> Result<(), Outcome> {
        let invalid = |text: String| Outcome::error(ErrorKind::InvalidInput, text);
        let validator = self.0.get_or_init(|| compile(&spec.parameters)).as_ref();
        let validator = validator.map_err(|why| {
            let id = &spec.id;
            invalid(format!(
                "{id} cannot be called: its schema is broken: {why}"
            ))
        })?;
        let value: Value = arguments
            .read()
            .map_err(|error| invalid(format!("the arguments of {}: {error}", spec.id)))?;
        if validator.is_valid(&value) {
            return Ok(());
        }
        let complaints: Vec<String> = validator
            .iter_errors(&value)
            .take(MOST)
            .map(|error| match error.instance_path().as_str() {
                "" => error.to_string(),
                place => format!("{place}: {error}"),
            })
            .collect();
        Err(invalid(format!(
            "the arguments of {} do not fit its schema: {}",
            spec.id,
            complaints.join("; ")
        )))
    }
}

fn compile(parameters: &RawJson) -> Result<Validator, String> {
    let schema: Value = parameters.read().map_err(|error| error.to_string())?;
    jsonschema::validator_for(&schema).map_err(|error| error.to_string())
}

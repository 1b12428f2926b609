//! Checks values against schemas: arguments before anything runs (TLS-02), answers before they count.
//!
//! The one place that knows the validator. A schema is compiled when a call is
//! first held against it; one that cannot be compiled refuses every call, since nothing
//! says what the tool would take. Remote references are never fetched.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jsonschema::Validator;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::tool::ToolSpec;
use serde_json::Value;

/// Most complaints that a model is told of at once.
const MOST: usize = 5;

/// Schemas that are kept at most.
const MOST_SCHEMAS: usize = 1024;

/// The schemas of a runtime by their text: compiling one takes longer than all else that a session
/// needs to begin.
#[derive(Default)]
pub(crate) struct Schemas(Mutex<BTreeMap<String, Arc<Schema>>>);

impl Schemas {
    /// Returns the schema of a tool; the same text gives the same one.
    pub(crate) fn of(&self, spec: &ToolSpec) -> Arc<Schema> {
        let mut schemas = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Clients come and go, each with tools of their own.
        if schemas.len() >= MOST_SCHEMAS {
            schemas.clear();
        }
        let text = spec.parameters.as_str().to_owned();
        schemas.entry(text).or_default().clone()
    }
}

/// A schema, which tools may share.
#[derive(Default)]
pub(crate) struct Schema(OnceLock<Result<Shape, String>>);

impl Schema {
    /// Checks the arguments of a call, or says what is wrong with them.
    pub(crate) fn check(&self, spec: &ToolSpec, arguments: &RawJson) -> Result<(), Outcome> {
        let invalid = |text: String| Outcome::error(ErrorKind::InvalidInput, text);
        let id = &spec.id;
        let shape = self.0.get_or_init(|| Shape::compile(&spec.parameters));
        let shape = shape.as_ref().map_err(|why| {
            invalid(format!(
                "{id} cannot be called: its schema is broken: {why}"
            ))
        })?;
        let value: Value = arguments
            .read()
            .map_err(|error| invalid(format!("the arguments of {id}: {error}")))?;
        shape.check(&value).map_err(|why| {
            invalid(format!(
                "the arguments of {id} do not fit its schema: {why}"
            ))
        })
    }
}

/// Says why a value is no JSON Schema, if it is none.
pub fn check_json_schema(schema: &RawJson) -> Result<(), String> {
    Shape::compile(schema).map(drop)
}

/// A schema that has been compiled.
pub(crate) struct Shape(Validator);

impl Shape {
    /// Compiles a schema, or says why it is none.
    pub(crate) fn compile(schema: &RawJson) -> Result<Self, String> {
        let schema: Value = schema.read().map_err(|error| error.to_string())?;
        let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
        Ok(Self(validator))
    }

    /// Checks a value, or says what is wrong with it.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        if self.0.is_valid(value) {
            return Ok(());
        }
        let complaints: Vec<String> = self
            .0
            .iter_errors(value)
            .take(MOST)
            .map(|error| match error.instance_path().as_str() {
                "" => error.to_string(),
                place => format!("{place}: {error}"),
            })
            .collect();
        Err(complaints.join("; "))
    }
}

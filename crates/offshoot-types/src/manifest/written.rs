//! A manifest as its author writes it: flat keys, most of them left out.
//!
//! What cannot be meant is refused here, with one sentence, so that a manifest
//! that exists can be used: a name that is one, a temperature that is one, a
//! schema that is an object. Whether a schema compiles, a model exists or a tool
//! is there is for those who have them.

use std::fmt;

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Caller, Context, Effort, Manifest, Mode, Toolset};
use crate::caps::{Caps, Money, Span};
use crate::json::RawJson;
use crate::permission::Rule;

/// Why `own_permissions` is refused. It begins with the key, by which its line is found.
const OWN_PERMISSIONS_REMOVED: &str = "own_permissions is not a key any more: an agent that is denied \
    something could start one that does it. Write `tools` to keep tools from this agent only, or \
    `permissions` to deny something to it and to all agents below it";

/// Longest name of an agent, in bytes.
const MAX_NAME_BYTES: usize = 64;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    name: String,
    mode: Mode,
    #[serde(default)]
    description: String,
    #[serde(default)]
    prompt: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    effort: Option<Effort>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "is_all")]
    tools: Toolset,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permissions: Option<Vec<Rule>>,
    #[serde(default, skip_serializing)]
    own_permissions: Removed,
    #[serde(default)]
    inspectable: bool,
    #[serde(default)]
    caller: Caller,
    #[serde(default)]
    read_only: bool,
    #[serde(default)]
    context: Context,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spawns: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_turns: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_total_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_cost_usd: Option<Money>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_time: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_stall: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_descendants: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project_instructions: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    git_status: Option<bool>,
}

/// A key that older versions had. Its absence is its only value.
#[derive(Default)]
struct Removed;

impl<'de> Deserialize<'de> for Removed {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::custom(OWN_PERMISSIONS_REMOVED))
    }
}

fn is_all(tools: &Toolset) -> bool {
    *tools == Toolset::default()
}

impl TryFrom<Written> for Manifest {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Removed = written.own_permissions;
        let name = written.name;
        check_name(&name)?;
        if let Some(temperature) = written.temperature
            && !(0.0..=2.0).contains(&temperature)
        {
            return Err(format!("temperature is {temperature}; it goes from 0 to 2"));
        }
        if written.max_output_tokens == Some(0) {
            return Err("max_output_tokens is 0: a model that may not answer is no use".to_owned());
        }
        let is_schema = |schema: &Value| matches!(schema, Value::Object(_) | Value::Bool(_));
        if written
            .output_schema
            .as_ref()
            .is_some_and(|schema| !is_schema(schema))
        {
            return Err("output_schema is not a JSON Schema: it has to be a map".to_owned());
        }
        Ok(Self {
            name,
            mode: written.mode,
            description: written.description,
            prompt: written.prompt,
            model: written.model,
            effort: written.effort,
            temperature: written.temperature,
            max_output_tokens: written.max_output_tokens,
            tools: written.tools,
            permissions: written.permissions,
            inspectable: written.inspectable,
            caller: written.caller,
            read_only: written.read_only,
            context: written.context,
            spawns: written.spawns,
            limits: Caps {
                steps: written.max_turns,
                tokens: written.max_total_tokens,
                cost: written.max_cost_usd,
                time: written.max_time,
                stall: written.max_stall,
                descendants: written.max_descendants,
            },
            output_schema: written.output_schema.as_ref().map(RawJson::of),
            project_instructions: written.project_instructions,
            git_status: written.git_status,
        })
    }
}

/// Refuses what could not be typed, or would be read as something else where names are listed.
fn check_name(name: &str) -> Result<(), String> {
    let first = name.chars().next();
    let starts = first.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
    if starts && name.chars().all(fits) && name.len() <= MAX_NAME_BYTES {
        return Ok(());
    }
    Err(format!(
        "name is {name:?}, and that is not a name: letters, digits, - _ . : and /, at most \
         {MAX_NAME_BYTES} bytes, a letter or a digit first"
    ))
}

impl From<Manifest> for Written {
    fn from(manifest: Manifest) -> Self {
        let Manifest {
            name,
            mode,
            description,
            prompt,
            model,
            effort,
            temperature,
            max_output_tokens,
            tools,
            permissions,
            inspectable,
            caller,
            read_only,
            context,
            spawns,
            limits,
            output_schema,
            project_instructions,
            git_status,
        } = manifest;
        Self {
            name,
            mode,
            description,
            prompt,
            model,
            effort,
            temperature,
            max_output_tokens,
            tools,
            permissions,
            own_permissions: Removed,
            inspectable,
            caller,
            read_only,
            context,
            spawns,
            max_turns: limits.steps,
            max_total_tokens: limits.tokens,
            max_cost_usd: limits.cost,
            max_time: limits.time,
            max_stall: limits.stall,
            max_descendants: limits.descendants,
            output_schema: output_schema.and_then(|schema| schema.read().ok()),
            project_instructions,
            git_status,
        }
    }
}

// By hand: a list, names with commas between them, or a map with allow and deny, and an error that
// says so.
impl<'de> Deserialize<'de> for Toolset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Toolset;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tools, or a map with `allow` and `deny`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Toolset, E> {
        let names = text.split(',').map(str::trim);
        let allow = names.filter(|name| !name.is_empty()).map(str::to_owned);
        Ok(Toolset {
            allow: Some(allow.collect()),
            deny: Vec::new(),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Toolset, A::Error> {
        let mut allow = Vec::new();
        while let Some(name) = names.next_element()? {
            allow.push(name);
        }
        Ok(Toolset {
            allow: Some(allow),
            deny: Vec::new(),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Toolset, A::Error> {
        let mut tools = Toolset::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "allow" => tools.allow = Some(map.next_value()?),
                "deny" => tools.deny = map.next_value()?,
                other => return Err(de::Error::unknown_field(other, &["allow", "deny"])),
            }
        }
        Ok(tools)
    }
}

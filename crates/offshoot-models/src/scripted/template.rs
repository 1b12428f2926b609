//! `{prompt}` and its like, in what a script says.
//!
//! One pass: what is put in is not looked at again, so a prompt that contains
//! `{step}` stays as it is. A name that is not known stays as it is too, because
//! scripts say JSON.

use offshoot_types::model::CallOutcome;
use serde_json::Value;

use super::situation::Situation;

/// What the names stand for in one reply.
pub(super) struct Values<'a> {
    situation: &'a Situation<'a>,
    /// Which call of a counted one this is, from 1; `None` outside calls.
    i: Option<u32>,
}

impl<'a> Values<'a> {
    pub(super) fn of(situation: &'a Situation<'a>) -> Self {
        Self { situation, i: None }
    }

    pub(super) fn with_i(&self, i: u32) -> Self {
        Self {
            situation: self.situation,
            i: Some(i),
        }
    }

    /// Fills a text.
    pub(super) fn fill(&self, template: &str) -> String {
        let mut filled = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let named = after
                .split_once('}')
                .and_then(|(name, after)| Some((self.value(name)?, after)));
            rest = match named {
                Some((value, after)) => {
                    filled.push_str(&value);
                    after
                }
                None => {
                    filled.push('{');
                    after
                }
            };
        }
        filled.push_str(rest);
        filled
    }

    /// Fills every text inside a JSON value; keys stay as they are.
    pub(super) fn fill_json(&self, template: &Value) -> Value {
        match template {
            Value::String(text) => Value::String(self.fill(text)),
            Value::Array(items) => items.iter().map(|item| self.fill_json(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(key, value)| (key.clone(), self.fill_json(value)))
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
        }
    }

    fn value(&self, name: &str) -> Option<String> {
        let Situation {
            from,
            prompt,
            outcomes,
            ..
        } = self.situation;
        let outcomes = outcomes.unwrap_or_default();
        Some(match name {
            "prompt" => (*prompt).to_owned(),
            "result" | "results" => joined(outcomes, |outcome| Some(outcome.text.to_string())),
            "output" => joined(outcomes, output),
            "agent" => from.definition.clone(),
            "step" => from.step.to_string(),
            "depth" => from.depth.to_string(),
            "i" => self.i?.to_string(),
            _ => return None,
        })
    }
}

fn joined(outcomes: &[CallOutcome], text: impl Fn(&CallOutcome) -> Option<String>) -> String {
    outcomes
        .iter()
        .filter_map(text)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns a child's own words where the outcome is that of a `task`, else the whole text.
///
/// A child in the background has said nothing yet.
fn output(outcome: &CallOutcome) -> Option<String> {
    let whole = || Some(outcome.text.to_string());
    if outcome.tool != "task" || outcome.failed {
        return whole();
    }
    match serde_json::from_str(&outcome.text) {
        Ok(Value::Object(mut fields)) => match fields.remove("output") {
            Some(Value::String(output)) => Some(output),
            Some(_) => whole(),
            None => None,
        },
        Ok(_) | Err(_) => whole(),
    }
}

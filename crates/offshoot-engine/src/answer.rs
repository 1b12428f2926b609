//! Answers that have to fit a schema.
//!
//! An agent with an `output_schema` answers with a value. Models wrap values in
//! words and fences, so what is looked for is one JSON value in the text; what it
//! has to be like is the schema's business. An answer that does not fit is sent
//! back once with what is wrong with it.

use offshoot_types::json::RawJson;
use serde_json::Value;

use crate::schema::Shape;

/// Returns what an agent with a schema is told, as the last lines of its prompt.
pub(crate) fn instruction(schema: &RawJson) -> String {
    let schema = schema.as_str();
    format!(
        "Your last message has to be one JSON value and nothing else. It has to fit this JSON \
         Schema:\n{schema}"
    )
}

/// Returns what is said to an agent whose answer does not fit.
pub(crate) fn complaint(why: &str) -> String {
    format!(
        "Your answer does not fit the schema: {why}. Answer again, with one JSON value that fits it \
         and nothing else."
    )
}

/// Returns the value of an answer that fits, or says what is wrong with it.
pub(crate) fn fit(schema: &Shape, text: &str) -> Result<RawJson, String> {
    let value = find(text).ok_or_else(|| "there is no JSON value in it".to_owned())?;
    schema.check(&value)?;
    Ok(RawJson::of(&value))
}

/// Finds the JSON value of a text: all of it, what is fenced, or the first thing in brackets.
fn find(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let fenced = text.split("```").nth(1).map(|block| {
        let first = block.lines().next().unwrap_or_default();
        block.strip_prefix(first).unwrap_or(block)
    });
    if let Some(value) = fenced.and_then(|block| serde_json::from_str(block.trim()).ok()) {
        return Some(value);
    }
    text.match_indices(['{', '['])
        .take(MOST_TRIES)
        .find_map(|(at, _)| {
            let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
            values.next()?.ok()
        })
}

/// Most brackets that are tried: a long text full of them is not an answer.
const MOST_TRIES: usize = 64;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_found_alone_fenced_or_among_words() {
        let value = json!({ "a": [1, 2] });
        for text in [
            "{\"a\":[1,2]}",
            "Here it is:\n```json\n{\"a\": [1, 2]}\n```\nDone.",
            "```\n{\"a\":[1,2]}\n```",
            "I found {\"a\":[1,2]} in it.",
        ] {
            assert_eq!(find(text), Some(value.clone()), "{text}");
        }
        assert_eq!(find("no value"), None);
        assert_eq!(find(&"[".repeat(10_000)), None);
    }

    #[test]
    fn what_does_not_fit_says_where() {
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
        let shape = Shape::compile(&RawJson::of(&schema)).unwrap();
        assert!(fit(&shape, "{\"n\": 1}").is_ok());
        let why = fit(&shape, "{\"n\": \"one\"}").unwrap_err();
        assert!(why.contains("/n"), "{why}");
    }
}

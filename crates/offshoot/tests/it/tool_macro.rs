//! Tools that the attribute `offshoot::tool` makes of functions.

use offshoot::types::model::RequestMessage;
use offshoot::types::tool::Effect;
use offshoot::{Reply, Request, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::stage;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Case {
    Upper,
    Lower,
}

#[derive(Debug, Serialize, PartialEq)]
struct Written {
    text: String,
    times: u32,
}

/// Writes a text in another case.
///
/// Does not translate.
#[offshoot::tool(reads, needs("text.write", text))]
async fn recase(
    /// The text to write.
    text: String,
    case: Case,
    /// How often; once if it is left out.
    times: Option<u32>,
) -> Result<Written, String> {
    if text.is_empty() {
        return Err("the text is empty".to_owned());
    }
    let text = match case {
        Case::Upper => text.to_uppercase(),
        Case::Lower => text.to_lowercase(),
    };
    let times = times.unwrap_or(1);
    Ok(Written { text, times })
}

#[test]
fn the_spec_of_a_function_says_what_its_comments_and_types_say() {
    let spec = recase.spec();
    assert_eq!(spec.id, "recase");
    assert_eq!(
        spec.description,
        "Writes a text in another case.\n\nDoes not translate."
    );
    assert_eq!(spec.effect, Effect::Read);
    let schema: Value = spec.parameters.read().unwrap();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["text", "case"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(
        schema["properties"]["text"]["description"],
        "The text to write."
    );
    assert_eq!(
        schema["properties"]["case"]["enum"],
        json!(["upper", "lower"])
    );
    // Some providers resolve no references, and a type's name says nothing to a model.
    for key in ["$schema", "$defs", "title"] {
        assert_eq!(schema.get(key), None, "{key}");
    }
}

#[tokio::test]
async fn the_function_stays_callable() {
    let written = recase::call("a".to_owned(), Case::Upper, Some(2)).await;
    let expected = Written {
        text: "A".to_owned(),
        times: 2,
    };
    assert_eq!(written, Ok(expected));
}

async fn said(arguments: Value, allowed: bool) -> String {
    let runtime = stage(move |request: &Request| match request.messages.last() {
        Some(RequestMessage::Outcomes(outcomes)) => Reply::text(&outcomes[0].text),
        _ => Reply::call("recase", &arguments),
    });
    let runtime = if allowed {
        runtime.asks(offshoot::Asks::YES)
    } else {
        runtime
    };
    let runtime = runtime.tool(recase).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    session.prompt("go").await.unwrap().output.unwrap()
}

#[tokio::test]
async fn a_model_calls_the_function_with_typed_arguments() {
    let output = said(json!({ "text": "Abc", "case": "lower" }), true).await;
    assert_eq!(output, r#"{"text":"abc","times":1}"#);
    let output = said(json!({ "text": "", "case": "lower" }), true).await;
    assert_eq!(output, "error: the text is empty");
    let output = said(json!({ "text": "x", "case": "title" }), true).await;
    assert!(output.starts_with("error:"), "{output}");
}

#[tokio::test]
async fn a_call_without_the_permission_that_the_function_needs_does_not_run() {
    let output = said(json!({ "text": "Abc", "case": "lower" }), false).await;
    assert!(output.starts_with("error:"), "{output}");
}

#[tokio::test]
async fn an_attribute_inside_a_function_works_and_takes_another_name() {
    /// Nothing.
    #[offshoot::tool(name = "say-hello", description = "Greets.")]
    async fn greet() -> Result<&'static str, std::convert::Infallible> {
        Ok("hello")
    }
    assert_eq!(greet.spec().id, "say-hello");
    assert_eq!(greet.spec().description, "Greets.");
    assert_eq!(greet.spec().effect, Effect::Write);
    assert_eq!(greet::call().await, Ok("hello"));
}

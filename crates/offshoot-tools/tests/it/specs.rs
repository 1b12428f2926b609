//! What models are told of the tools (TLS-01, TDS-01).

use offshoot_types::tool::Effect;
use serde_json::{Value, json};

use crate::bench::{Bench, find};

#[test]
fn tools_come_in_the_order_that_models_see_them() {
    let tools = offshoot_tools::builtin();
    let ids: Vec<&str> = tools.iter().map(|tool| tool.spec().id.as_str()).collect();
    assert!(
        ids.starts_with(&["read", "write", "edit", "glob", "grep"]),
        "{ids:?}"
    );
}

#[test]
fn tls_04_the_arguments_are_these_and_no_others() {
    let check = |id: &str, effect: Effect, expected: &[&str], required: &[&str]| {
        let tool = find(id);
        let spec = tool.spec();
        assert_eq!(spec.effect, effect, "{id}");
        let schema: Value = spec.parameters.read().unwrap();
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false, "{id}");
        assert_eq!(schema["required"], json!(required), "{id}");
        let mut names: Vec<&str> = expected.to_vec();
        names.sort_unstable();
        let properties = schema["properties"].as_object().unwrap();
        let mut found: Vec<&str> = properties.keys().map(String::as_str).collect();
        found.sort_unstable();
        assert_eq!(found, names, "{id}");
        for (name, property) in properties {
            assert!(property["type"].is_string(), "{id} {name}");
            assert!(property["description"].is_string(), "{id} {name}");
        }
    };
    use Effect::{Read, Write};
    check("read", Read, &["path", "offset", "limit"], &["path"]);
    check("write", Write, &["path", "content"], &["path", "content"]);
    let edit = ["path", "old_string", "new_string", "replace_all"];
    check("edit", Write, &edit, &edit[..3]);
    check("glob", Read, &["pattern", "path"], &["pattern"]);
    check("grep", Read, &["pattern", "path", "glob"], &["pattern"]);
}

#[test]
fn tds_01_a_description_says_what_it_does_not_and_what_else_there_is() {
    for (id, others) in [
        ("read", ["glob", "grep"]),
        ("write", ["edit", "append"]),
        ("edit", ["write", "exactly once"]),
        ("glob", ["grep", "1000"]),
        ("grep", ["read", "200"]),
    ] {
        let tool = find(id);
        let description = &tool.spec().description;
        assert!(description.to_lowercase().contains("not"), "{id}");
        for other in others {
            assert!(description.contains(other), "{id}: {other}");
        }
    }
}

#[test]
fn tls_02_wrong_arguments_never_reach_the_tool() {
    let bench = Bench::new();
    for id in ["read", "write", "edit", "glob", "grep"] {
        for arguments in [
            json!({}),
            json!([]),
            json!("x"),
            json!({"surprise": 1}),
            json!(null),
        ] {
            let error = bench.needs(id, &arguments).unwrap_err();
            let expected = format!("take the arguments of {id}: ");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}

//! Which scripts load, and what is said of those that do not.

use offshoot_models::Scripted;
use offshoot_types::manifest::Mode;
use offshoot_types::model::Model;

/// Checks what is said of a script that does not load.
#[track_caller]
fn check(text: &str, expected: &str) {
    let error = Scripted::load(text, "demo.yaml").unwrap_err();
    assert_eq!(error.to_string(), expected, "{text}");
}

#[test]
fn agents_are_returned_in_the_scripts_order() {
    let text = "
agents:
  - {name: lead, mode: primary, prompt: You lead., tools: [task]}
  - {name: helper, mode: subagent, permissions: [{permission: fs.read, action: allow}]}
replies: [{say: hi}]
";
    let model = Scripted::load(text, "demo.yaml").unwrap();
    let agents = model.agents();
    assert_eq!(agents[0].name, "lead");
    assert_eq!(agents[0].mode, Mode::Primary);
    assert_eq!(agents[1].name, "helper");
    assert_eq!(agents[1].permissions.as_ref().unwrap()[0].pattern, "*");
}

#[test]
fn json_is_read_as_well() {
    let text =
        r#"{"replies": [{"say": "hi", "call": [{"tool": "read", "arguments": {"a": null}}]}]}"#;
    Scripted::load(text, "demo.json").unwrap();
}

#[test]
fn a_price_is_taken_as_it_is_written_and_must_be_made_of_amounts() {
    let load = |price: &str| {
        let text = format!("price: {price}\nreplies: [{{say: hi}}]");
        Scripted::load(&text, "demo.yaml").unwrap().price()
    };
    let price = load("{input: 2, output: 10.5, cache_read: 0.2}").unwrap();
    assert_eq!((price.input, price.output), (2.0, 10.5));
    assert_eq!((price.cache_read, price.cache_write), (Some(0.2), None));
    let none = Scripted::load("replies: [{say: hi}]", "demo.yaml").unwrap();
    assert_eq!(none.price(), None);
    let rest = "\nreplies: [{say: hi}]";
    check(
        &format!("price: {{input: -1, output: 2}}{rest}"),
        "load script demo.yaml:1:8: `price` is not made of amounts of dollars",
    );
    check(
        &format!("price: {{input: 1}}{rest}"),
        "load script demo.yaml:1:9: key `output` is missing",
    );
    check(
        &format!("price: {{input: 1, output: 2, cache_reed: 1}}{rest}"),
        "load script demo.yaml:1:30: unknown key `cache_reed`, did you mean `cache_read`?",
    );
}

#[test]
fn a_script_needs_a_rule() {
    let what =
        "load script demo.yaml: `replies` is missing or empty; a script needs at least one rule";
    check("agents: []", what);
    check("replies: []", what);
}

#[test]
fn a_mistyped_key_is_answered_with_the_right_one() {
    check(
        "replies:\n  - agent: build\n    promt: go\n    say: hi",
        "load script demo.yaml:3:5: unknown key `promt`, did you mean `prompt`?",
    );
    check(
        "replys: []",
        "load script demo.yaml:1:1: unknown key `replys`, did you mean `replies`?",
    );
    check(
        "replies:\n  - call:\n      - tool: read\n        argument: {}",
        "load script demo.yaml:4:9: unknown key `argument`, did you mean `arguments`?",
    );
    check(
        "agents: [{name: a, mode: all, tool: []}]\nreplies: [{say: hi}]",
        "load script demo.yaml:1:31: unknown key `tool`, did you mean `tools`?",
    );
}

#[test]
fn a_key_like_no_other_is_answered_with_all() {
    check(
        "replies: [{say: hi, results: [{whatever: 1}]}]",
        "load script demo.yaml:1:32: unknown key `whatever`, known are tool, contains, failed",
    );
}

#[test]
fn a_missing_key_is_named() {
    check(
        "agents: [{name: a}]\nreplies: [{say: hi}]",
        "load script demo.yaml:1:11: key `mode` is missing",
    );
    check(
        "replies: [{call: [{arguments: {}}]}]",
        "load script demo.yaml:1:20: key `tool` is missing",
    );
}

#[test]
fn a_wrong_value_is_answered_with_the_right_ones() {
    check(
        "replies: [{fault: cutt}]",
        "load script demo.yaml:1:12: unknown value `cutt`, did you mean `cut`?",
    );
    check(
        "replies: [{fault: explode}]",
        "load script demo.yaml:1:12: unknown value `explode`, known are cut, rate_limited, \
         server_error, too_long, malformed, hang",
    );
    check(
        "replies: [{say: hi, stop: sometime}]",
        "load script demo.yaml:1:27: unknown value `sometime`, known are length, refusal",
    );
    check(
        "replies: [{fault: {hang: {}}}]",
        "load script demo.yaml:1:19: `hang` takes no settings, write `fault: hang`",
    );
}

#[test]
fn a_value_of_the_wrong_type_is_told_with_its_place() {
    check(
        "replies:\n  - say: {a: b}",
        "load script demo.yaml:2:10: invalid type: map, expected a text or a list of texts \
         (quote it if it looks like a number)",
    );
    check(
        "replies: [{step: first, say: hi}]",
        "load script demo.yaml:1:18: a whole number, not less than 0 and not too large, was \
         expected here",
    );
    check(
        "window: -3\nreplies: [{say: hi}]",
        "load script demo.yaml:1:9: a whole number, not less than 0 and not too large, was \
         expected here",
    );
    check(
        "price: {input: much, output: 1}\nreplies: [{say: hi}]",
        "load script demo.yaml:1:16: a number was expected here",
    );
}

#[test]
fn text_that_is_not_yaml_is_told_with_its_place() {
    check(
        "replies:\n  - say: [a, b\n",
        "load script demo.yaml:2:10: unclosed bracket '['",
    );
}

#[test]
fn a_rule_that_cannot_work_is_refused() {
    check(
        "replies:\n  - say: hi\n    agent: a\n  - agent: b",
        "load script demo.yaml:4:5: rule 2 answers nothing; give it `say`, `call` or `fault`",
    );
    check(
        "replies: [{say: hi, fault: server_error}]",
        "load script demo.yaml:1:11: rule 1 fails before it says anything; leave out `say`, \
         `think`, `attach` and `call`",
    );
    check(
        "replies: [{say: one}, {say: two}]",
        "load script demo.yaml:1:11: rule 1 matches everything, so no rule after it is ever \
         reached; move it to the end",
    );
    check(
        "replies: [{say: hi, results: [{}]}]",
        "load script demo.yaml:1:11: rule 1 has an empty entry in `results`; give it `tool`, \
         `contains` or `failed`",
    );
    check(
        "replies: [{call: [{tool: task, count: 10001}]}]",
        "load script demo.yaml:1:11: rule 1 makes too many calls; `count` is at most 10000",
    );
    check(
        "replies: [{say: hi, usage: {cache_read: 18446744073709551615}}]",
        "load script demo.yaml:1:11: rule 1 reports too many tokens; a count in `usage` is at \
         most 1000000000000",
    );
}

#[test]
fn an_agent_is_defined_once() {
    check(
        "agents:\n  - {name: a, mode: all}\n  - {name: a, mode: primary}\nreplies: [{say: hi}]",
        "load script demo.yaml:3:5: agent `a` is defined twice",
    );
}

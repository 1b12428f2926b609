//! Which rule answers.

use offshoot_types::model::{Request, RequestMessage, ToolChoice};

use crate::stage::{after, ask, from, reply, script};

/// Checks whether a rule with these keys is the one that answers.
#[track_caller]
fn check(keys: &str, request: Request, expected: bool) {
    let text = format!("replies: [{{{keys}, say: 'yes'}}, {{say: 'no'}}]");
    let model = script(&text);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let answer = runtime.block_on(reply(&model, request));
    let expected = if expected { "yes | End" } else { "no | End" };
    assert_eq!(answer, expected, "{keys}");
}

#[test]
fn an_agent_is_matched_by_its_definition() {
    check("agent: build", ask("x"), true);
    check("agent: buil", ask("x"), false);
    check("agent: reader", from(ask("x"), "a2", "reader", 1), true);
}

#[test]
fn depth_and_step_are_matched_exactly() {
    check("depth: 0", ask("x"), true);
    check("depth: 1", ask("x"), false);
    check("depth: 1", from(ask("x"), "a2", "reader", 1), true);
    check("step: 1", ask("x"), true);
    check("step: 2", ask("x"), false);
    check("step: 2", after("x", &[]), true);
}

#[test]
fn a_prompt_is_matched_in_part_or_whole() {
    check("prompt: count", ask("please count them"), true);
    check("prompt: count", ask("please Count them"), false);
    check("prompt_is: count", ask("please count them"), false);
    check("prompt_is: count", ask("count"), true);
}

#[test]
fn the_last_user_side_message_is_the_prompt() {
    let mut request = ask("first");
    request.messages.push(RequestMessage::Assistant(Vec::new()));
    let completion = "<task_completion id=\"a2\">done</task_completion>";
    request
        .messages
        .push(RequestMessage::User(completion.into()));
    check("prompt: first", request.clone(), false);
    check("prompt: <task_completion", request, true);
    check(
        "prompt: first",
        after("first", &[("read", "text", false)]),
        true,
    );
}

#[test]
fn what_was_seen_may_lie_further_back() {
    let mut request = after("first", &[("read", "forty-two", false)]);
    request.messages.push(RequestMessage::User("second".into()));
    check("seen: first", request.clone(), true);
    check("seen: [first, forty-two, second]", request.clone(), true);
    check("seen: [first, third]", request, false);
}

#[test]
fn outcomes_are_matched_when_they_came_last() {
    let outcomes = [("read", "3 lines", false), ("task", "no such agent", true)];
    let request = || after("x", &outcomes);
    check("after_tools: true", request(), true);
    check("after_tools: false", request(), false);
    check("after_tools: false", ask("x"), true);
    check("results: [{tool: task}]", request(), true);
    check("results: [{tool: write}]", request(), false);
    check("results: [{contains: 3 lines}]", request(), true);
    check("results: [{tool: read}, {tool: task}]", request(), true);
    check("results: [{tool: read}, {tool: write}]", request(), false);
    check("results: [{failed: true}]", request(), true);
    check("results: [{tool: read, failed: true}]", request(), false);
    check("results: [{tool: read}]", ask("x"), false);
}

#[test]
fn a_step_without_a_choice_can_be_told_apart() {
    let mut last_words = ask("x");
    last_words.choice = ToolChoice::None;
    check("may_call: false", last_words, true);
    check("may_call: false", ask("x"), false);
    check("may_call: true", ask("x"), true);
}

#[test]
fn every_key_of_a_rule_counts() {
    check("agent: build, step: 1, prompt: x", ask("x"), true);
    check("agent: build, step: 1, prompt: y", ask("x"), false);
}

#[tokio::test]
async fn the_first_rule_that_matches_answers() {
    let model = script("replies: [{prompt: b, say: one}, {prompt: a, say: two}, {say: three}]");
    assert_eq!(reply(&model, ask("ab")).await, "one | End");
    assert_eq!(reply(&model, ask("a")).await, "two | End");
    assert_eq!(reply(&model, ask("c")).await, "three | End");
}

#[tokio::test]
async fn times_counts_for_each_agent_alone() {
    let model = script("replies: [{times: 2, say: early}, {say: late}]");
    let first = || ask("x");
    let second = || from(ask("x"), "a2", "build", 0);
    assert_eq!(reply(&model, first()).await, "early | End");
    assert_eq!(reply(&model, second()).await, "early | End");
    assert_eq!(reply(&model, first()).await, "early | End");
    assert_eq!(reply(&model, first()).await, "late | End");
    assert_eq!(reply(&model, second()).await, "early | End");
}

#[tokio::test]
async fn a_request_that_no_rule_matches_is_told_who_asked_what() {
    let model = script("replies: [{agent: other, say: hi}]");
    assert_eq!(
        reply(&model, ask(&format!("two\nlines {}", "x".repeat(100)))).await,
        format!(
            "Invalid: answer agent `build` (depth 0) at step 1, prompt \"two\\nlines {}…\" \
             from script test.yaml: no rule matches; add one to `replies`",
            "x".repeat(50)
        )
    );
    assert_eq!(
        reply(
            &model,
            after("go", &[("read", "", false), ("task", "", false)])
        )
        .await,
        "Invalid: answer agent `build` (depth 0) at step 2, prompt \"go\", after the outcomes of \
         read, task from script test.yaml: no rule matches; add one to `replies`"
    );
}

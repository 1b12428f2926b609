//! What is taken from a request, and what is left as history.

use std::sync::Arc;

use offshoot_types::id::{AgentId, CallId};
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, AssistantPart, Call};
use offshoot_types::model::{Asker, CallOutcome, Request, RequestMessage, ToolChoice};
use offshoot_types::tool::{Effect, ToolSpec};

use super::super::wanted;
use super::{Child, Conversation, Outcome};

fn user(text: &str) -> RequestMessage {
    RequestMessage::User(text.into())
}

fn made(id: &str, wanted: &wanted::Wanted) -> RequestMessage {
    RequestMessage::Assistant(vec![AssistantPart::Call(Call {
        id: CallId::new(id),
        tool: wanted.tool.to_owned(),
        arguments: Arguments::Json(RawJson::of(&wanted.arguments)),
    })])
}

fn told(id: &str, text: &str, failed: bool) -> RequestMessage {
    RequestMessage::Outcomes(vec![CallOutcome {
        call: CallId::new(id),
        tool: "read".to_owned(),
        text: text.into(),
        failed,
    }])
}

fn request(messages: Vec<RequestMessage>) -> Request {
    let tools = ["read", "task"].map(|id| ToolSpec {
        id: id.to_owned(),
        description: String::new(),
        parameters: RawJson::null(),
        effect: Effect::Read,
    });
    Request {
        from: Asker {
            agent: AgentId::new("a"),
            definition: "build".to_owned(),
            depth: 0,
            step: 1,
        },
        model: "offline".to_owned(),
        system: Arc::from(""),
        tools: Arc::from(tools),
        choice: ToolChoice::Auto,
        messages,
        images: offshoot_types::model::Images::default(),
        temperature: None,
        effort: None,
        max_output_tokens: None,
    }
}

#[test]
fn only_calls_since_the_last_prompt_count() {
    let (one, two) = (wanted::read("one"), wanted::read("two"));
    let request = request(vec![
        user("first"),
        made("c1", &one),
        told("c1", "old", false),
        user("second"),
        made("c2", &two),
        told("c2", "error: no", true),
    ]);
    let talk = Conversation::of(&request);
    assert_eq!(talk.prompt, "second");
    assert_eq!(talk.outcome(&one), Outcome::Open);
    assert_eq!(talk.outcome(&two), Outcome::Failed("error: no"));
}

#[test]
fn a_call_is_made_once_and_only_if_it_is_offered() {
    let (one, two) = (wanted::read("one"), wanted::read("two"));
    let request = request(vec![user("x"), made("c1", &one), told("c1", "text", false)]);
    let talk = Conversation::of(&request);
    let all = vec![one.clone(), wanted::glob("*"), two.clone(), two.clone()];
    assert_eq!(talk.ask(all, "").map(|reply| reply.calls), Some(vec![two]));
    assert_eq!(talk.ask(vec![one], ""), None);
}

#[test]
fn nothing_is_called_where_calling_is_not_allowed() {
    let mut request = request(vec![user("x")]);
    request.choice = ToolChoice::None;
    let talk = Conversation::of(&request);
    assert_eq!(talk.ask(vec![wanted::read("a")], ""), None);
}

#[test]
fn rounds_are_bounded_whatever_the_rules_want() {
    let mut messages = vec![user("x")];
    for round in 0..8 {
        let id = format!("c{round}");
        messages.push(made(&id, &wanted::read(&id)));
        messages.push(told(&id, "", false));
    }
    let request = request(messages);
    let talk = Conversation::of(&request);
    assert_eq!(talk.ask(vec![wanted::read("new")], ""), None);
}

/// Checks what is known of a child after an outcome of its call and, maybe, its end.
#[track_caller]
fn check(text: &str, failed: bool, end: Option<&str>, expected: Child) {
    let task = wanted::task("explore", "p");
    let mut messages = vec![user("x"), made("c1", &task), told("c1", text, failed)];
    messages.extend(end.map(user));
    let request = request(messages);
    assert_eq!(Conversation::of(&request).child(&task), expected, "{text}");
}

#[test]
fn a_child_answers_fails_or_goes_on() {
    let says = |text: &str| Child::Answered(text.to_owned());
    let fails = |text: &str| Child::Failed(text.to_owned());
    check(
        r#"{"output": "a", "session_id": "s"}"#,
        false,
        None,
        says("a"),
    );
    check("plain", false, None, says("plain"));
    check("error: no", true, None, fails("error: no"));
    check(r#"{"session_id": "s"}"#, false, None, Child::Running);
    let end = |status: &str| {
        format!(
            "<task_completion agent=\"e\" session_id=\"s\" status=\"{status}\">\nb\n</task_completion>"
        )
    };
    check(
        r#"{"session_id": "s"}"#,
        false,
        Some(&end("completed")),
        says("b"),
    );
    check(
        r#"{"session_id": "s"}"#,
        false,
        Some(&end("lost")),
        fails("it ended lost: b"),
    );
    check(
        r#"{"session_id": "other"}"#,
        false,
        Some(&end("completed")),
        Child::Running,
    );
}

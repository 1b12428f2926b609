//! The documentation's scripts load, and its worked example does what it says.

use offshoot_models::Scripted;

use crate::stage::{after, ask, from, reply};

const DOC: &str = include_str!("../../../../docs/scripted.md");

/// Returns the scripts of the document, in its order.
fn scripts() -> Vec<Scripted> {
    DOC.split("```yaml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .map(|text| Scripted::load(text, "docs/scripted.md").unwrap())
        .collect()
}

#[test]
fn every_script_of_the_document_loads() {
    assert_eq!(scripts().len(), DOC.matches("```yaml").count());
    assert!(scripts().len() >= 5);
}

#[tokio::test]
async fn the_worked_example_delegates_as_it_says() {
    let model = &scripts()[0];
    let names: Vec<&str> = model.agents().iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["lead", "reader"]);
    let lead = |request| from(request, "root", "lead", 0);
    let reader = |prompt| from(ask(prompt), "child", "reader", 1);

    assert_eq!(
        reply(model, lead(ask("summarise the book"))).await,
        "(Two parts I need now. The appendix can take its time.) | I will ask three readers. | \
         task#call_1_1 {\"prompt\":\"chapter 1\",\"subagent_type\":\"reader\"} | \
         task#call_1_2 {\"prompt\":\"chapter 2\",\"subagent_type\":\"reader\"} | \
         task#call_1_3 {\"background\":true,\"prompt\":\"the appendix\",\"subagent_type\":\"reader\"} | \
         Calls"
    );
    assert_eq!(
        reply(model, reader("chapter 1")).await,
        "chapter 1 is about subagents. | End"
    );
    assert_eq!(
        reply(model, reader("the appendix")).await,
        "The appendix |  lists sources. | End"
    );
    let outcomes = [
        (
            "task",
            r#"{"output": "chapter 1 is about subagents."}"#,
            false,
        ),
        (
            "task",
            r#"{"output": "chapter 2 is about subagents."}"#,
            false,
        ),
        ("task", r#"{"session_id": "child"}"#, false),
    ];
    assert_eq!(
        reply(model, lead(after("summarise the book", &outcomes))).await,
        "So far:\nchapter 1 is about subagents.\nchapter 2 is about subagents.\n | End"
    );
    assert_eq!(
        reply(model, lead(ask("<task_completion …"))).await,
        "The appendix has come in as well. | End"
    );
}

#[test]
fn every_key_and_fault_is_in_the_document() {
    let error = Scripted::load("replies: [{zzzzzzzz: 1}]", "x").unwrap_err();
    let text = error.to_string();
    let (_, keys) = text.split_once("known are ").unwrap();
    let error = Scripted::load("replies: [{fault: zzzzzzzz}]", "x").unwrap_err();
    let text = error.to_string();
    let (_, faults) = text.split_once("known are ").unwrap();
    for name in keys.split(", ") {
        assert!(
            DOC.contains(&format!("| `{name}:")),
            "{name} is not documented"
        );
    }
    for name in faults.split(", ") {
        assert!(
            DOC.contains(&format!("| `{name}` |")),
            "{name} is not documented"
        );
    }
}

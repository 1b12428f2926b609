//! Titles, summaries and shorter conversations, by the rules of the offline model.

use std::sync::Arc;

use offshoot_types::id::AgentId;
use offshoot_types::message::AssistantPart;
use offshoot_types::model::{Asker, Request, RequestMessage, ToolChoice};

use crate::offline_world::step;

/// What a helper answers to a conversation.
#[track_caller]
fn ask(helper: &str, text: &str) -> String {
    let request = Request {
        from: Asker {
            agent: AgentId::new("h"),
            definition: helper.to_owned(),
            depth: 0,
            step: 1,
        },
        model: "offline".to_owned(),
        system: Arc::from("You help."),
        tools: Arc::from([]),
        choice: ToolChoice::Auto,
        messages: vec![RequestMessage::User(
            format!("<conversation>\n{text}\n</conversation>").into(),
        )],
        images: offshoot_types::model::Images::default(),
        temperature: None,
        effort: None,
        max_output_tokens: None,
    };
    let (parts, calls) = step(request);
    assert!(calls.is_empty());
    let texts = parts.iter().map(|part| match part {
        AssistantPart::Text(text) => text.as_str(),
        _ => "",
    });
    texts.collect()
}

const TALK: &str = "\
## asked
Fix the parser of dates.
Do not touch the tests.

## called read
{\"path\":\"/w/src/date.rs\"}

## outcome of read
# Dates

## Not a heading of ours

pub fn date() {}

## called task
{\"subagent_type\":\"explore\",\"prompt\":\"look\",\"background\":true}

## called task
{\"subagent_type\":\"explore\",\"prompt\":\"look there\",\"background\":true}

## outcome of task
{\"session_id\":\"id-1\"}

## outcome of task
{\"session_id\":\"id-2\"}

## called todo
{\"items\":[{\"content\":\"fix it\",\"status\":\"completed\"},{\"content\":\"say so\",\"status\":\"pending\"}]}

## outcome of todo
noted: 1 completed, 1 pending

## called edit
{\"path\":\"/w/src/date.rs\",\"old_string\":\"a\",\"new_string\":\"b\"}

## outcome of edit
error: nobody allowed it

## told by explore id-1
All is well.

## said
# Not yet
I could not write the file.

## asked
And now?
";

#[test]
fn a_title_is_what_was_asked_without_how() {
    for (asked, expected) in [
        ("Please, can you fix the parser?", "Fix the parser"),
        ("hello\nworld", "Hello"),
        (
            "\n\n## add *dates* to the README.\nmore",
            "Add *dates* to the README",
        ),
        (
            "one two three four five six seven eight nine",
            "One two three four five six seven eight",
        ),
        ("Hi! would you please: do", "Please: do"),
        ("히어로 고치기", "히어로 고치기"),
        ("", "Untitled"),
    ] {
        assert_eq!(ask("title", asked), expected, "{asked}");
    }
}

#[test]
fn a_summary_says_what_was_asked_done_and_is_open() {
    let expected = "\
## What was asked
- Fix the parser of dates.
- And now?

## What was done
- calls: edit 1, read 1, task 2, todo 1
- agents: explore 2
> Not yet
> I could not write the file.

## What is open
- edit: error: nobody allowed it
- say so
- explore id-2 has not ended

Written by rules, without a language model.
";
    assert_eq!(ask("summary", TALK), expected);
    let quiet = ask("summary", "## asked\nhello\n\n## said\nHello.");
    assert!(quiet.contains("## What is open\nnothing\n"), "{quiet}");
}

#[test]
fn a_shorter_conversation_has_the_goal_files_tasks_and_ids_letter_by_letter() {
    let expected = "\
Goal:
- Fix the parser of dates.
Do not touch the tests.
- And now?

Decisions:
- Not yet
- edit: error: nobody allowed it, which failed

Files:
- /w/src/date.rs (read, edit)

Tasks:
- completed: fix it
- pending: say so

Running:
- explore, session_id id-2

Written by rules, without a language model.
";
    assert_eq!(ask("compaction", TALK), expected);
}

#[test]
fn what_an_earlier_summary_said_stays_under_its_heading() {
    let first = ask("compaction", TALK);
    let talk = format!(
        "## in short\n{first}\n\nWhat is being worked on, word for word:\nAnd now?\n\n## told by \
         explore id-2\ndone\n\n## asked\nGo on.\n"
    );
    let second = ask("compaction", &talk);
    let goal = "Goal:\n- Fix the parser of dates.\nDo not touch the tests.\n- And now?\nAnd now?\n- Go on.\n";
    assert!(second.starts_with(goal), "{second}");
    assert!(
        second.contains("Files:\n- /w/src/date.rs (read, edit)\n"),
        "{second}"
    );
    assert!(second.contains("Running:\nnone\n"), "{second}");
    assert_eq!(second.matches("Written by rules").count(), 1, "{second}");
    let summary = ask("summary", &talk);
    let expected = "\
## What was asked
- Fix the parser of dates.
Do not touch the tests.
- And now?
And now?
- Go on.

## What was done
- Not yet
- edit: error: nobody allowed it, which failed
- /w/src/date.rs (read, edit)

## What is open
- pending: say so

Written by rules, without a language model.
";
    assert_eq!(summary, expected);
}

#[test]
fn a_long_conversation_becomes_a_short_one() {
    let talk: String = (0..500)
        .map(|at| format!("## asked\nquestion {at}\n\n## said\nanswer {at}\n\n"))
        .collect();
    let short = ask("compaction", &talk);
    assert!(short.len() < talk.len() / 5, "{}", short.len());
    assert!(short.contains("- question 0\n") && short.contains("- question 499\n"));
    assert!(short.contains("[460 lines left out]"), "{short}");
}

#[test]
fn an_agent_that_is_no_helper_is_answered_as_ever() {
    assert!(ask("build", "hello").contains("no language model"));
}

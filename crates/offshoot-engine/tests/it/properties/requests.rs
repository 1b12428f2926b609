//! What models are sent: siblings alike, children beyond their parents, and never less than before.
//!
//! A request is compared as bytes, in the order in which a provider's cache
//! reads it.

use std::collections::BTreeMap;

use offshoot_types::id::AgentId;
use offshoot_types::manifest::{Context, Manifest, Mode, Toolset};
use offshoot_types::model::{Request, RequestMessage};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::{few, play};
use crate::stage::{Gate, Line, Script, Stage, call, say, task_arguments};

/// Renders a request: what is fixed, then message by message.
fn lines(request: &Request) -> Vec<String> {
    let mut lines = vec![request.model.clone(), request.system.to_string()];
    for tool in request.tools.iter() {
        let shown = json!([tool.id, tool.description, tool.parameters.as_str()]);
        lines.push(shown.to_string());
    }
    lines.extend(request.messages.iter().map(|message| {
        let message = match message {
            RequestMessage::User(text) => json!({ "user": text }),
            RequestMessage::Assistant(parts) => json!({ "assistant": parts }),
            RequestMessage::Outcomes(outcomes) => {
                let outcome = outcomes.iter().map(|outcome| {
                    json!([outcome.call, outcome.tool, outcome.text, outcome.failed])
                });
                json!({ "outcomes": outcome.collect::<Vec<_>>() })
            }
        };
        message.to_string()
    }));
    lines
}

/// Something that was done before.
#[derive(Clone, Debug)]
enum Act {
    Say(String),
    Read(String),
    Child(String),
    Background(String),
}

fn act() -> impl Strategy<Value = Act> {
    let text = "[ -~ä\n]{0,12}";
    prop_oneof![
        text.prop_map(Act::Say),
        text.prop_map(Act::Read),
        text.prop_map(Act::Child),
        text.prop_map(Act::Background),
    ]
}

impl Act {
    fn line(&self) -> Line {
        match self {
            Self::Say(text) => say(text),
            Self::Read(path) => call(&[("read", json!({ "path": path }))]),
            Self::Child(prompt) => call(&[("task", task_arguments("worker", prompt))]),
            Self::Background(prompt) => {
                let mut arguments = task_arguments("worker", prompt);
                arguments["background"] = json!(true);
                call(&[("task", arguments)]).saying("meanwhile")
            }
        }
    }
}

/// A message that makes siblings, after some history.
#[derive(Clone, Debug)]
struct Fork {
    context: Context,
    /// What the parent of the siblings sees of its own; it is the root if there is nothing to see.
    middle: Option<Context>,
    /// Whether the siblings have fewer tools than their parent.
    narrow: bool,
    past: Vec<Act>,
    text: Option<String>,
    directives: Vec<String>,
    prompts: Vec<String>,
}

fn any_context() -> impl Strategy<Value = Context> {
    prop_oneof![
        Just(Context::Fresh),
        Just(Context::Fork),
        Just(Context::Inherit)
    ]
}

fn fork(context: impl Strategy<Value = Context>) -> impl Strategy<Value = Fork> {
    let text = "[ -~ä\n]{0,20}";
    (
        context,
        proptest::option::of(any_context()),
        any::<bool>(),
        vec(act(), 0..5),
        proptest::option::of(text),
        vec(text, 2..5),
        vec(text, 1..4),
    )
        .prop_map(
            |(context, middle, narrow, past, text, directives, prompts)| Fork {
                context,
                middle,
                narrow,
                past,
                text,
                directives,
                prompts,
            },
        )
}

async fn forked(fork: &Fork) -> Stage {
    let seeing = |name: &str, context| Manifest {
        context,
        ..Manifest::new(name, Mode::All, "Be a child.")
    };
    let mut calls = vec![("read", json!({ "path": "b" }))];
    for directive in &fork.directives {
        calls.push(("task", task_arguments("twin", directive)));
    }
    let mut split = call(&calls);
    if let Some(text) = &fork.text {
        split = split.saying(text);
    }
    let mut twin = seeing("twin", fork.context);
    if fork.narrow {
        twin.tools = Toolset::only(["read", "todo"]);
    }
    let mut cast = vec![twin];
    // Only what makes the model go on may stand before the message that splits the work.
    let past = fork.past.iter().filter(|act| !matches!(act, Act::Say(_)));
    let history = past.map(Act::line).chain([split, say("done")]);
    let script = match fork.middle {
        None => Script::default().part("lead", history),
        Some(context) => {
            cast.push(seeing("middle", context));
            let down = call(&[("task", task_arguments("middle", "go down"))]);
            let lead = [Act::Read("c".to_owned()).line(), down, say("done")];
            Script::default().part("lead", lead).part("middle", history)
        }
    };
    let stage = Stage::with_agents(script, cast).await;
    for prompt in &fork.prompts {
        stage.ask(prompt).await;
    }
    stage
}

/// Returns the first requests of the siblings.
fn twins(stage: &Stage) -> Vec<Request> {
    let sent = stage.script.sent("twin").into_iter();
    sent.filter(|request| request.from.step == 1).collect()
}

async fn are_alike(fork: &Fork) -> Result<(), TestCaseError> {
    let stage = forked(fork).await;
    let twins = twins(&stage);
    prop_assert_eq!(twins.len(), fork.directives.len());
    let mut first = lines(&twins[0]);
    first.pop();
    for twin in &twins {
        let mut bytes = lines(twin);
        let last = bytes.pop().unwrap();
        prop_assert_eq!(&bytes, &first, "up to the directive");
        let said = fork.directives.iter().any(|text| {
            let text = json!(text).to_string();
            last.contains(text.trim_matches('"'))
        });
        prop_assert!(said, "and then the directive: {}", last);
    }
    Ok(())
}

async fn extends_its_parent(fork: &Fork) -> Result<(), TestCaseError> {
    let stage = forked(fork).await;
    let parent = fork.middle.map_or("lead", |_| "middle");
    let parents: Vec<_> = stage.script.sent(parent).iter().map(lines).collect();
    for twin in twins(&stage) {
        let bytes = lines(&twin);
        // The last of the parent's requests that it begins with is the one whose answer made it.
        let of_parent = parents.iter().filter(|sent| bytes.starts_with(sent));
        let sent = of_parent.max_by_key(|sent| sent.len());
        prop_assert!(sent.is_some(), "it extends a request that was sent");
        let beyond = &twin.messages[twin.messages.len() - (bytes.len() - sent.unwrap().len())..];
        let [
            RequestMessage::Assistant(said),
            RequestMessage::Outcomes(outcomes),
            RequestMessage::User(_),
        ] = beyond
        else {
            return Err(TestCaseError::fail(format!("{beyond:?}")));
        };
        prop_assert!(said.len() >= outcomes.len());
        prop_assert_eq!(outcomes.len(), fork.directives.len() + 1);
    }
    Ok(())
}

/// What happens to a parent with children in the background.
#[derive(Clone, Debug)]
enum Turn {
    Prompt(String),
    /// Lets the next child come to its end.
    Release,
}

async fn only_appends(past: &[Act], turns: &[Turn]) -> Result<(), TestCaseError> {
    let gates: Vec<Gate> = past.iter().map(|_| Gate::shut()).collect();
    let mut script = Script::default().part("lead", past.iter().map(Act::line));
    let mut shut = gates.iter();
    for act in past {
        script = match act {
            Act::Child(_) => script.part("worker", [say("blocking")]),
            Act::Background(_) => {
                let line = say("in the background").behind(shut.next().unwrap());
                script.part("worker", [line])
            }
            Act::Say(_) | Act::Read(_) => script,
        };
    }
    let stage = Stage::new(script).await;
    let mut shut = gates.iter();
    for turn in turns {
        match turn {
            Turn::Prompt(text) => stage.prompt(stage.root(), text).await,
            Turn::Release => shut.next().into_iter().for_each(Gate::open),
        }
    }
    gates.iter().for_each(Gate::open);
    stage.ask("and now?").await;

    let mut by_agent: BTreeMap<AgentId, Vec<Vec<String>>> = BTreeMap::new();
    for request in stage.script.sent_to_all() {
        let of = by_agent.entry(request.from.agent.clone()).or_default();
        of.push(lines(&request));
    }
    for requests in by_agent.values() {
        for pair in requests.windows(2) {
            prop_assert!(pair[1].len() > pair[0].len());
            prop_assert!(pair[1].starts_with(&pair[0]));
        }
    }
    // Every child is told once, in the last request of all.
    let last = stage.script.sent("lead").pop().unwrap();
    let told = crate::stage::user_texts(&last);
    let told = told
        .iter()
        .filter(|text| text.starts_with("<task_completion "));
    prop_assert_eq!(told.count(), stage.completions().await.len());
    Ok(())
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof!["[ -~]{0,8}".prop_map(Turn::Prompt), Just(Turn::Release)]
}

proptest! {
    #![proptest_config(few(160))]

    #[test]
    fn any_siblings_are_the_same_bytes_up_to_their_directive(
        fork in fork(any_context()),
    ) {
        play(are_alike(&fork))?;
    }

    #[test]
    fn any_inheriting_child_strictly_extends_its_parents_request_as_it_was_sent(
        fork in fork(Just(Context::Inherit)),
    ) {
        play(extends_its_parent(&fork))?;
    }

    #[test]
    fn cst_01_whatever_is_told_only_appends_to_what_was_sent(
        past in vec(act(), 1..8),
        turns in vec(turn(), 1..8),
    ) {
        play(only_appends(&past, &turns))?;
    }
}

//! Finding models by name.

use std::sync::Arc;

use offshoot_models::{Http, ModelSet, OpenAiChat, OpenAiChatSettings, Scripted};
use offshoot_types::model::{Model, ModelErrorKind, Models};

fn set(names: &[&str]) -> ModelSet {
    let model = |name: &str| -> Arc<dyn Model> {
        Arc::new(Scripted::load("replies: [{say: hi}]", name).unwrap())
    };
    names
        .iter()
        .map(|name| ((*name).to_owned(), model(name)))
        .collect()
}

#[track_caller]
fn check(names: &[&str], expected: &str) {
    let Err(error) = set(names).find("openai/gpt") else {
        panic!("found a model that is not there");
    };
    assert_eq!(error.kind, ModelErrorKind::Config);
    assert_eq!(error.message, expected);
}

#[test]
fn the_same_name_gives_the_same_model() {
    let set = set(&["scripted/a", "scripted/b"]);
    let (one, two) = (
        set.find("scripted/a").unwrap(),
        set.find("scripted/a").unwrap(),
    );
    assert!(Arc::ptr_eq(&one, &two));
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    check(
        &["scripted/b", "scripted/a"],
        "find model `openai/gpt`: there is none of that name; known are scripted/a, scripted/b",
    );
    check(
        &[],
        "find model `openai/gpt`: there is none of that name; none is configured",
    );
}

fn with_openai(base_url: &str) -> ModelSet {
    let settings = OpenAiChatSettings {
        base_url: base_url.to_owned(),
        ..OpenAiChatSettings::default()
    };
    let provider = OpenAiChat::new(settings, Arc::new(Http::new()));
    set(&["scripted/a"]).with_provider(OpenAiChat::PROVIDER, Arc::new(provider))
}

#[test]
fn a_provider_has_a_model_of_any_name() {
    let set = with_openai("http://localhost:11434/v1");
    let one = set.find("openai-chat/org/qwen3:8b").unwrap();
    let two = set.find("openai-chat/org/qwen3:8b").unwrap();
    assert!(Arc::ptr_eq(&one, &two));
    let other = set.find("openai-chat/gpt").unwrap();
    assert!(!Arc::ptr_eq(&one, &other));
    assert!(set.find("scripted/a").is_ok());
}

#[track_caller]
fn check_openai(base_url: &str, name: &str, expected: &str) {
    let Err(error) = with_openai(base_url).find(name) else {
        panic!("found {name}");
    };
    assert_eq!(error.kind, ModelErrorKind::Config);
    assert_eq!(error.message, expected);
}

#[test]
fn a_provider_says_what_is_missing() {
    let local = "http://localhost:11434/v1";
    check_openai(
        local,
        "openai-chat/",
        "find model `openai-chat/`: give a name, openai-chat/NAME",
    );
    check_openai(
        local,
        "gpt",
        "find model `gpt`: there is none of that name; known are scripted/a, openai-chat/NAME",
    );
    check_openai(
        "https://api.openai.com/v1",
        "openai-chat/gpt",
        "ask a model at https://api.openai.com/v1: it needs a key; set OPENAI_API_KEY \
         (to any text, if the server wants none)",
    );
}

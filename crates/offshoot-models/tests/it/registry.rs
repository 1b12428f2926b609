//! Finding models by name.

use std::sync::Arc;

use offshoot_models::{ModelSet, Scripted};
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

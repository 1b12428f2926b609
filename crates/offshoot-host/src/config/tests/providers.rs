//! `[providers.NAME]`: servers, their keys, and what is known of their models.

use offshoot_types::caps::Price;

use super::super::file::Owner;
use super::super::layer::Layer;
use super::super::providers::HeaderSetting;
use super::{Home, USER, parse};

/// A server of the user's own, as a file has it.
const LOCAL: &str = "[providers.local]\nkind = 'openai-chat'\nbase_url = 'http://localhost:1/v1'\n";

#[track_caller]
fn refused(text: &str, expected: &str) {
    let said = parse(text, Owner::User).unwrap_err();
    assert!(said.contains(expected), "{text}: {said}");
}

#[test]
fn a_price_is_made_of_amounts() {
    let table =
        "[providers.openai-chat.models.'m/1'.price]\ninput = 2\noutput = 10.5\ncache_read = 0.2";
    let layer = parse(table, Owner::User).unwrap();
    let price = Price {
        input: 2.0,
        output: 10.5,
        cache_read: Some(0.2),
        cache_write: None,
    };
    let read = layer.providers["openai-chat"].models["m/1"].price.as_ref();
    assert_eq!(read.unwrap().value, price);
    for (price, what) in [
        ("{input = 1}", "needs `input` and `output`"),
        (
            "{input = 1, output = -2}",
            "`providers.openai-chat.models.\"m\".price` is not made of amounts of dollars",
        ),
        (
            "{input = 1, output = nan}",
            "is not made of amounts of dollars",
        ),
        (
            "{input = 1, output = 2, cached = 1}",
            "unknown key `providers.openai-chat.models.\"m\".price.cached`",
        ),
        ("2", "has to be a table"),
    ] {
        refused(
            &format!("providers.openai-chat.models.m.price = {price}"),
            what,
        );
    }
}

#[test]
fn a_provider_needs_a_name_a_kind_and_an_address() {
    assert!(parse(LOCAL, Owner::User).is_ok());
    for (text, what) in [
        ("[providers.x]\nkind = 'openai-chat'", "add base_url"),
        (
            "[providers.x]\nbase_url = 'http://h'",
            "add kind = \"openai-chat\"",
        ),
        (
            "[providers.x]\nkind = 'smtp'\nbase_url = 'http://h'",
            "`providers.x.kind` is none of openai-chat",
        ),
        (
            "[providers.'a/b']\nkind = 'openai-chat'",
            "cannot name a provider",
        ),
        (
            "[providers.offline]\nkind = 'openai-chat'",
            "cannot name a provider",
        ),
        (
            "[providers.scripted]\nkind = 'openai-chat'",
            "cannot name a provider",
        ),
        ("providers.x = 'http://h'", "has to be a table"),
        ("providers = 1", "has to be a table"),
    ] {
        refused(text, what);
    }
}

#[test]
fn the_settings_before_providers_are_refused_with_the_new_form() {
    for (text, way) in [
        (
            "[openai_chat]\nbase_url = 'http://h'",
            "[providers.openai-chat]",
        ),
        (
            "[prices.'openai-chat/m']\ninput = 1\noutput = 2",
            "price = { input = 1.25, output = 10 }",
        ),
        ("[windows]\n'openai-chat/m' = 9", "context_window = 400_000"),
    ] {
        refused(text, "is replaced by `providers`");
        refused(text, way);
    }
}

#[test]
fn headers_are_texts_or_variables() {
    let text = format!("{LOCAL}headers = {{ X-Team = 'blue', api-key = '$GATEWAY_KEY' }}");
    let layer = parse(&text, Owner::User).unwrap();
    let headers = &layer.providers["local"].headers;
    let text = HeaderSetting::Text("blue".to_owned());
    assert_eq!(headers["x-team"].value, text);
    let variable = HeaderSetting::Variable("GATEWAY_KEY".to_owned());
    assert_eq!(headers["api-key"].value, variable);
    for (header, what) in [
        ("host = 'h'", "cannot be set"),
        ("Content-Type = 'x'", "cannot be set"),
        ("'a b' = 'x'", "is not the name of a header"),
        ("x-api-key = 'k'", "no file may hold one"),
        ("x-api-key = '$'", "is not the name of a variable"),
        ("x-goog-api-key = 'k'", "no file may hold one"),
        ("x-auth-token = 'k'", "no file may hold one"),
        (
            "x = 'Bearer $KEY'",
            "has a variable in the middle of its text",
        ),
        ("x-team = 'a', X-Team = 'b'", "has a header twice"),
        ("x = 1", "has to be text in quotes"),
    ] {
        refused(&format!("{LOCAL}headers = {{ {header} }}"), what);
    }
}

#[test]
fn a_key_in_the_place_of_its_variable_is_refused_and_not_shown() {
    for key in ["sk-live-1234", "sk 1234", "1234=5"] {
        let said = parse(&format!("{LOCAL}api_key_env = '{key}'"), Owner::User).unwrap_err();
        assert!(said.contains("is not the name of a variable"), "{said}");
        assert!(!said.contains("1234"), "{said}");
    }
}

#[test]
fn a_key_comes_from_the_variable_that_was_named_and_is_never_printed() {
    let home = Home::new();
    let file = "[providers.openai-chat]\napi_key_env = 'MY_KEY'\nbase_url = 'http://localhost'\n\
                headers = { x-key = '$X_KEY' }\n";
    home.write(USER, &format!("{file}{LOCAL}"));
    let variables = [
        ("MY_KEY", "sk-mine\n"),
        ("X_KEY", "sk-header"),
        ("OPENAI_API_KEY", "sk-other"),
    ];
    let settings = home.load(Layer::default(), &variables).unwrap();
    let provider = &settings.providers["openai-chat"];
    assert_eq!(provider.key.as_ref().unwrap().expose(), "sk-mine");
    assert_eq!(provider.header_keys["X_KEY"].expose(), "sk-header");
    let secret: Vec<&str> = provider.secret_variables().collect();
    assert_eq!(secret, ["MY_KEY", "X_KEY"]);
    // A provider that names no variable is sent no key, least of all another one's.
    assert!(settings.providers["local"].key.is_none());
    let printed = format!("{settings:?} {:?}", settings.made());
    assert!(!printed.contains("sk-"), "{printed}");
    // The environment has the last word on where it is sent; both are the user's.
    let variables = [("OPENAI_BASE_URL", "http://other")];
    let settings = home.load(Layer::default(), &variables).unwrap();
    let base_url = |name: &str| settings.providers[name].base_url.value.clone();
    assert_eq!(base_url("openai-chat"), "http://other");
    assert_eq!(base_url("local"), "http://localhost:1/v1");
}

#[test]
fn a_model_takes_images_if_its_table_says_so() {
    let table = "[providers.openai-chat.models.m]\nimages = true";
    let layer = parse(table, Owner::User).unwrap();
    let images = layer.providers["openai-chat"].models["m"].images.as_ref();
    assert!(images.unwrap().value);
    let key = "providers.openai-chat.models.m.images";
    refused(&format!("{key} = 'yes'"), "images");
}

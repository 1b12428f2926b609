//! What must be known of a server, and whether that can be right.
//!
//! Everything is checked before the first request, so that a missing key is told
//! when a session begins and not in the middle of it. No error and no debug text
//! holds the key, or the address as it was given: a password may be in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use offshoot_types::caps::Price;
use offshoot_types::model::{ModelError, ModelErrorKind};
use tokio::sync::Semaphore;
use url::{Host, Url};

use crate::secret::Secret;
use crate::transport::{HeaderText, public};

use super::OpenAiChat;

const OPENAI_HOST: &str = "api.openai.com";
const OPENAI_URL: &str = "https://api.openai.com/v1";
const DEFAULT_SLOTS: usize = 64;

/// How to reach a server. The default is OpenAI's own, without a key.
#[derive(Clone)]
pub struct OpenAiChatSettings {
    /// The name of the provider in names of models, as errors name it.
    pub provider: String,
    /// The address that `chat/completions` is appended to.
    pub base_url: String,
    /// Where the address comes from, as errors name it.
    pub base_url_source: String,
    /// The key. Servers on loopback may do without.
    pub api_key: Option<Secret>,
    /// The variable that users put the key into, as errors name it; `None` if the server takes no key.
    pub key_variable: Option<String>,
    /// Headers that are sent with every request.
    pub headers: Vec<Header>,
    /// What the server calls the cap of the output; `None` decides by the address.
    pub cap_field: Option<CapField>,
    /// How many requests may be under way at a time; the others wait.
    pub slots: usize,
    /// What tokens cost, by the model's name within the provider.
    pub prices: BTreeMap<String, Price>,
    /// How many tokens a conversation may have, by the same names.
    pub windows: BTreeMap<String, u64>,
    /// Which models take images, by the same names.
    pub images: BTreeSet<String>,
}

/// A header that is sent with every request.
#[derive(Clone, Debug)]
pub struct Header {
    /// In lower case.
    pub name: String,
    /// Its text.
    pub text: HeaderText,
    /// Where the text comes from, as errors name it.
    pub source: String,
}

/// What a server calls the cap of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapField {
    /// `max_tokens`, which all servers know.
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's newer models insist on.
    MaxCompletionTokens,
}

/// Settings that can be right.
pub(super) struct Checked {
    /// Has a host, no user, and a scheme that is http or https.
    pub(super) base_url: Url,
    /// Made of characters that a header may have.
    pub(super) key: Option<Secret>,
    pub(super) key_variable: Option<String>,
    /// Each with a text that a header may have.
    pub(super) headers: Vec<Header>,
    pub(super) cap_field: CapField,
    /// At least one.
    pub(super) slots: usize,
    pub(super) prices: BTreeMap<String, Price>,
    pub(super) windows: BTreeMap<String, u64>,
    pub(super) images: BTreeSet<String>,
}

impl Default for OpenAiChatSettings {
    fn default() -> Self {
        Self {
            provider: OpenAiChat::PROVIDER.to_owned(),
            base_url: OPENAI_URL.to_owned(),
            base_url_source: OpenAiChat::BASE_URL_VARIABLE.to_owned(),
            api_key: None,
            key_variable: Some(OpenAiChat::KEY_VARIABLE.to_owned()),
            headers: Vec::new(),
            cap_field: None,
            slots: DEFAULT_SLOTS,
            prices: BTreeMap::new(),
            windows: BTreeMap::new(),
            images: BTreeSet::new(),
        }
    }
}

impl fmt::Debug for OpenAiChatSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base_url = Url::parse(&self.base_url).map(|url| public(&url)).ok();
        f.debug_struct("OpenAiChatSettings")
            .field("provider", &self.provider)
            .field("base_url", &base_url)
            .field("base_url_source", &self.base_url_source)
            .field("api_key", &self.api_key)
            .field("key_variable", &self.key_variable)
            .field("headers", &self.headers)
            .field("cap_field", &self.cap_field)
            .field("slots", &self.slots)
            .field("prices", &self.prices)
            .field("windows", &self.windows)
            .field("images", &self.images)
            .finish()
    }
}

impl OpenAiChatSettings {
    pub(super) fn check(self) -> Result<Checked, ModelError> {
        let variable = self.key_variable.as_deref();
        let base_url = address(&self.base_url, &self.base_url_source, variable)?;
        let source = variable.unwrap_or("the settings");
        let key = self.api_key.map(|secret| key(secret, source));
        let key = key.transpose()?.flatten();
        for header in &self.headers {
            header.check(&base_url)?;
        }
        let is_secret = |header: &Header| matches!(header.text, HeaderText::Secret(_));
        if let (None, Some(variable)) = (&key, variable)
            && !is_loopback(&base_url)
            && !self.headers.iter().any(is_secret)
        {
            return Err(config(format!(
                "ask a model at {}: it needs a key; set {variable} (to any text, if the server \
                 wants none)",
                public(&base_url),
            )));
        }
        let default_cap = match base_url.host_str() {
            Some(OPENAI_HOST) => CapField::MaxCompletionTokens,
            Some(_) | None => CapField::MaxTokens,
        };
        Ok(Checked {
            base_url,
            key,
            key_variable: self.key_variable,
            headers: self.headers,
            cap_field: self.cap_field.unwrap_or(default_cap),
            slots: self.slots.clamp(1, Semaphore::MAX_PERMITS),
            prices: self.prices,
            windows: self.windows,
            images: self.images,
        })
    }
}

impl Header {
    /// Refuses a text that is empty or that no header may have, without repeating it.
    fn check(&self, base_url: &Url) -> Result<(), ModelError> {
        let text = match &self.text {
            HeaderText::Plain(text) => text,
            HeaderText::Secret(secret) => secret.expose(),
        };
        let is_shown = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
        let wrong = match text.trim() {
            "" => "is empty",
            text if text.bytes().all(is_shown) => return Ok(()),
            _ => "holds a character that no header may have",
        };
        let (place, Self { name, source, .. }) = (public(base_url), self);
        Err(config(format!(
            "ask a model at {place}: the header `{name}` {wrong}; set {source}"
        )))
    }
}

impl Checked {
    /// Returns where completions are made; a query of the base address stays.
    pub(super) fn endpoint(&self) -> Url {
        let mut endpoint = self.base_url.clone();
        let path = endpoint.path().trim_end_matches('/');
        // Whoever pasted the whole address meant it.
        if !path.ends_with("/chat/completions") {
            let path = format!("{path}/chat/completions");
            endpoint.set_path(&path);
        }
        endpoint
    }
}

fn address(text: &str, source: &str, key_variable: Option<&str>) -> Result<Url, ModelError> {
    let like = "give an address like http://localhost:11434/v1";
    let without_scheme = || {
        config(format!(
            "read the address in {source}: it does not begin with http:// or https://; {like}"
        ))
    };
    let url = Url::parse(text.trim()).map_err(|error| {
        if error == url::ParseError::RelativeUrlWithoutBase {
            without_scheme()
        } else {
            config(format!("read the address in {source}: {error}; {like}"))
        }
    })?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(without_scheme());
    }
    // Addresses are shown, logged and handed to commands: what is secret has a place of its own.
    if !url.username().is_empty() || url.password().is_some() {
        let place = key_variable.unwrap_or("the variable that `api_key_env` names");
        return Err(config(format!(
            "read the address in {source}: it has a user or a password in it, which are not sent; \
             take them out and put the key into {place}"
        )));
    }
    Ok(url)
}

/// Takes the space off a key; what is left must be able to stand in a header.
fn key(secret: Secret, variable: &str) -> Result<Option<Secret>, ModelError> {
    let text = secret.expose().trim();
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(config(format!(
            "read the key in {variable}: it has a space or another character no key has"
        )));
    }
    Ok((!text.is_empty()).then(|| Secret::new(text)))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        // Whoever asks what is bound to no address asks this machine.
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
        None => false,
    }
}

fn config(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::Config, message)
}

#[cfg(test)]
mod tests {
    use super::{CapField, Header, HeaderText, OpenAiChatSettings, Secret};

    fn settings(base_url: &str, key: Option<&str>) -> OpenAiChatSettings {
        OpenAiChatSettings {
            base_url: base_url.to_owned(),
            api_key: key.map(Secret::new),
            ..OpenAiChatSettings::default()
        }
    }

    fn secret_header(text: &str) -> Header {
        Header {
            name: "x-key".to_owned(),
            text: HeaderText::Secret(Secret::new(text)),
            source: "X_KEY".to_owned(),
        }
    }

    #[track_caller]
    fn check(base_url: &str, expected: &str) {
        let checked = settings(base_url, Some("k")).check().unwrap();
        assert_eq!(checked.endpoint().as_str(), expected);
    }

    #[track_caller]
    fn check_error(settings: OpenAiChatSettings, expected: &str) {
        let Err(error) = settings.check() else {
            panic!("was taken");
        };
        assert_eq!(error.message, expected);
    }

    #[test]
    fn the_endpoint_is_below_the_base_address() {
        let expected = "http://localhost:11434/v1/chat/completions";
        check("http://localhost:11434/v1", expected);
        check("http://localhost:11434/v1/", expected);
        check(" http://localhost:11434/v1/chat/completions\n", expected);
        check("http://h", "http://h/chat/completions");
        check(
            "https://h/deploy/x?api-version=1",
            "https://h/deploy/x/chat/completions?api-version=1",
        );
    }

    #[test]
    fn a_key_is_needed_beyond_loopback() {
        for address in [
            "http://localhost:1/v1",
            "http://127.0.0.2",
            "http://0.0.0.0:8080/v1",
            "http://[::1]:8080/v1",
            "http://box.localhost",
        ] {
            assert!(settings(address, None).check().is_ok(), "{address}");
            assert!(settings(address, Some(" ")).check().is_ok(), "{address}");
        }
        check_error(
            OpenAiChatSettings::default(),
            "ask a model at https://api.openai.com/v1: it needs a key; set OPENAI_API_KEY \
             (to any text, if the server wants none)",
        );
        assert!(settings("http://10.0.0.1", Some("\n")).check().is_err());
        assert!(
            settings("http://localhost.example.org", None)
                .check()
                .is_err()
        );
    }

    #[test]
    fn what_cannot_be_right_is_told_without_repeating_it() {
        let like = "give an address like http://localhost:11434/v1";
        check_error(
            settings("localhost:11434/v1", None),
            &format!(
                "read the address in OPENAI_BASE_URL: it does not begin with http:// or https://; \
                 {like}"
            ),
        );
        check_error(
            settings("127.0.0.1:8080/v1", None),
            &format!(
                "read the address in OPENAI_BASE_URL: it does not begin with http:// or https://; \
                 {like}"
            ),
        );
        check_error(
            settings("me:secret", None),
            &format!(
                "read the address in OPENAI_BASE_URL: it does not begin with http:// or https://; \
                 {like}"
            ),
        );
        check_error(
            settings("http://me:secret@:99999", None),
            &format!("read the address in OPENAI_BASE_URL: empty host; {like}"),
        );
        check_error(
            settings("http://h", Some("sk-1\nsk-2")),
            "read the key in OPENAI_API_KEY: it has a space or another character no key has",
        );
        for key in [None, Some("k")] {
            check_error(
                settings("https://me:secret@example.org", key),
                "read the address in OPENAI_BASE_URL: it has a user or a password in it, which \
                 are not sent; take them out and put the key into OPENAI_API_KEY",
            );
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_where_it_was_said() {
        let elsewhere = |base_url: &str, key: Option<&str>| OpenAiChatSettings {
            base_url_source: "mine.toml line 3".to_owned(),
            key_variable: Some("MY_KEY".to_owned()),
            ..settings(base_url, key)
        };
        for (base_url, key, told) in [
            ("ftp://h", None, "read the address in mine.toml line 3: "),
            ("http://:1", None, "read the address in mine.toml line 3: "),
            ("http://me@h", None, "put the key into MY_KEY"),
            ("http://h", None, "it needs a key; set MY_KEY "),
            ("http://h", Some("a b"), "read the key in MY_KEY: "),
        ] {
            let Err(error) = elsewhere(base_url, key).check() else {
                panic!("{base_url} was taken");
            };
            assert!(error.message.contains(told), "{}", error.message);
            assert!(!error.message.contains("OPENAI"), "{}", error.message);
        }
    }

    #[test]
    fn neither_the_key_nor_a_password_is_printed() {
        let settings = OpenAiChatSettings {
            headers: vec![secret_header("sk-2")],
            ..settings("https://me:pass@h:1/v1?key=abc", Some("sk-1"))
        };
        assert_eq!(
            format!("{settings:?}"),
            "OpenAiChatSettings { provider: \"openai-chat\", base_url: Some(\"https://h:1/v1\"), \
             base_url_source: \"OPENAI_BASE_URL\", api_key: Some(***), key_variable: \
             Some(\"OPENAI_API_KEY\"), headers: [Header { name: \"x-key\", text: ***, source: \
             \"X_KEY\" }], cap_field: None, slots: 64, prices: {}, \
             windows: {}, images: {} }"
        );
    }

    #[test]
    fn a_secret_header_stands_for_a_key() {
        let with_header = OpenAiChatSettings {
            headers: vec![secret_header("Bearer sk-2")],
            ..settings("https://h", None)
        };
        assert!(with_header.check().is_ok());
    }

    #[test]
    fn a_server_without_a_key_variable_needs_no_key() {
        let keyless = OpenAiChatSettings {
            key_variable: None,
            ..settings("http://10.0.0.1/v1", None)
        };
        assert!(keyless.check().is_ok());
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_refused_without_repeating_it() {
        for (text, wrong) in [
            ("", "is empty"),
            (" ", "is empty"),
            ("sk\n1", "holds a character that no header may have"),
        ] {
            let wrongly = OpenAiChatSettings {
                headers: vec![secret_header(text)],
                ..settings("http://h", Some("k"))
            };
            check_error(
                wrongly,
                &format!("ask a model at http://h: the header `x-key` {wrong}; set X_KEY"),
            );
        }
    }

    #[test]
    fn the_cap_is_named_as_the_server_knows_it() {
        let of = |base_url: &str| settings(base_url, Some("k")).check().unwrap().cap_field;
        assert_eq!(
            of("https://api.openai.com/v1"),
            CapField::MaxCompletionTokens
        );
        assert_eq!(of("http://localhost:8000/v1"), CapField::MaxTokens);
        let asked = OpenAiChatSettings {
            cap_field: Some(CapField::MaxTokens),
            ..settings("https://api.openai.com/v1", Some("k"))
        };
        assert_eq!(asked.check().unwrap().cap_field, CapField::MaxTokens);
    }
}

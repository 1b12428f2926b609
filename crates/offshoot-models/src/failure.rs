//! From what went wrong on the wire to an error that says what can be done.
//!
//! One sentence each: what was asked, where, and what came back in the
//! provider's own words, cut and made harmless. The key is taken out of it, even
//! where a provider repeats it. Kinds are decided here, for all dialects alike.

mod date;

use std::time::Duration;

use offshoot_types::model::{ModelError, ModelErrorKind};
use serde_json::Value;
use url::Url;

use crate::secret::Secret;
use crate::transport::{HttpResponse, TransportError, public};

/// Most characters of a provider's words that are shown.
const MAX_SHOWN: usize = 500;

/// What was asked, and where, as errors name it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) model: String,
    /// Address without user, password and query.
    pub(crate) place: String,
    pub(crate) has_key: bool,
    /// Every secret that is sent, the key among them.
    pub(crate) secrets: Vec<Secret>,
    /// The variable that users put the key into; `None` if the server takes no key.
    pub(crate) key_variable: Option<String>,
}

/// What a provider says of a failure, in the middle of a stream or in place of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    message: Option<String>,
    /// A status code, where it names one.
    status: Option<u16>,
    /// Its own names for the failure.
    names: Vec<String>,
}

/// The head of a response that is not a success.
pub(crate) struct Refusal {
    status: u16,
    retry_after: Option<Duration>,
    location: Option<String>,
    no_retry: bool,
}

impl Asked {
    /// An error about this request.
    pub(crate) fn error(&self, kind: ModelErrorKind, what: &str) -> ModelError {
        let what = self.presentable(what);
        self.sentence(kind, &what)
    }

    pub(crate) fn not_sent(&self, error: &TransportError) -> ModelError {
        let kind = match error {
            TransportError::Unsendable(_) => ModelErrorKind::Config,
            TransportError::Unreachable(_) | TransportError::Cut(_) => ModelErrorKind::Unavailable,
        };
        self.error(kind, &error.to_string())
    }

    /// The error for a status that is not a success, with what the body said.
    pub(crate) fn refused(&self, refusal: &Refusal, body: &[u8]) -> ModelError {
        let told = Told::in_body(body);
        let kind = refusal.kind(&told);
        let words = match (&told.message, &refusal.location) {
            (Some(message), _) => format!(": {}", self.presentable(message)),
            (None, Some(location)) => {
                format!(": it has moved to {}", self.presentable(location))
            }
            (None, None) => String::new(),
        };
        let status = refusal.status;
        let advice = match (status, &self.key_variable) {
            (401 | 403, Some(variable)) if self.has_key => format!("; check {variable}"),
            (401 | 403, Some(variable)) => format!("; set {variable}"),
            (401 | 403, None) if self.secrets.is_empty() => {
                "; name the variable of its key in `api_key_env`".to_owned()
            }
            (401 | 403, None) => "; check the variables of its headers".to_owned(),
            (300..=399 | 404 | 405, _) => "; check the model's name and the base URL".to_owned(),
            _ => String::new(),
        };
        self.sentence(kind, &format!("status {status}{words}{advice}"))
    }

    /// The error for a failure that was told within a stream.
    pub(crate) fn told(&self, told: &Told) -> ModelError {
        let words = told.message.as_deref().unwrap_or("it gives no reason");
        let words = self.presentable(words);
        self.sentence(told.kind(), &format!("the provider failed: {words}"))
    }

    fn sentence(&self, kind: ModelErrorKind, what: &str) -> ModelError {
        let Self { model, place, .. } = self;
        ModelError::new(kind, format!("ask {model} at {place}: {what}"))
    }

    /// Makes words of others fit for a sentence: one line, no key, not too long.
    fn presentable(&self, words: &str) -> String {
        let secrets = self.secrets.iter();
        let line = secrets.fold(one_line(words), |line, secret| secret.hide_in(&line));
        // Hidden first: a key that is cut off could not be found any more.
        match line.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line.trim_end_matches('.').to_owned(),
        }
    }
}

impl Refusal {
    pub(crate) fn of(response: &HttpResponse) -> Self {
        Self {
            status: response.status,
            retry_after: retry_after(response),
            location: response.header("location").map(place),
            no_retry: response.header("x-should-retry") == Some("false"),
        }
    }

    fn kind(&self, told: &Told) -> ModelErrorKind {
        let kind = match (of_status(self.status), told.named()) {
            // Whoever has run out of money is not helped by waiting.
            (ModelErrorKind::RateLimited { .. }, Some(ModelErrorKind::Config)) => {
                return ModelErrorKind::Config;
            }
            (ModelErrorKind::RateLimited { .. }, _) => ModelErrorKind::RateLimited {
                retry_after: self.retry_after,
            },
            (ModelErrorKind::Invalid, _) if told.is_too_long() => ModelErrorKind::TooLong,
            // Whoever says when to come back is not there for anybody before that.
            (ModelErrorKind::Unavailable, _) if self.retry_after.is_some() => {
                ModelErrorKind::RateLimited {
                    retry_after: self.retry_after,
                }
            }
            (kind, _) => kind,
        };
        match kind {
            ModelErrorKind::RateLimited { .. } | ModelErrorKind::Unavailable if self.no_retry => {
                ModelErrorKind::Invalid
            }
            ModelErrorKind::RateLimited { .. }
            | ModelErrorKind::Unavailable
            | ModelErrorKind::TooLong
            | ModelErrorKind::Invalid
            | ModelErrorKind::Config => kind,
        }
    }
}

impl Told {
    /// A failure with words of ours.
    pub(crate) fn new(message: &str) -> Self {
        Self {
            message: Some(message.to_owned()),
            ..Self::default()
        }
    }

    /// Reads the forms that servers have for `{"error": …}`, with or without the envelope.
    pub(crate) fn read(value: &Value) -> Self {
        // Some put a list around it.
        let value = value.get(0).unwrap_or(value);
        let error = match value.get("error") {
            None | Some(Value::Null) => value,
            Some(error) => error,
        };
        let text = |key: &str| Some(error.get(key)?.as_str()?.to_owned());
        let message = words(Some(error).filter(|error| error.is_string()))
            .or_else(|| words(error.get("message")))
            .or_else(|| words(value.get("message")))
            .or_else(|| words(value.get("detail")));
        // A relay says only that somebody else failed; what that one said stands elsewhere.
        let message = match words(error.pointer("/metadata/raw")) {
            Some(raw) => Some(format!("{}: {raw}", message.unwrap_or_default())),
            None => message,
        };
        // Relays write the number as text.
        let number = |code: &Value| match code.as_u64() {
            Some(number) => u16::try_from(number).ok(),
            None => code.as_str()?.parse().ok(),
        };
        Self {
            message,
            status: error.get("code").and_then(number),
            names: ["code", "type", "status"]
                .into_iter()
                .filter_map(text)
                .collect(),
        }
    }

    fn in_body(body: &[u8]) -> Self {
        if let Ok(value) = serde_json::from_slice(body) {
            return Self::read(&value);
        }
        let text = String::from_utf8_lossy(body);
        if text.trim().is_empty() {
            return Self::default();
        }
        // Of a proxy's page only the title is worth reading.
        if text.trim_start().starts_with('<') {
            let title = title(&text).filter(|title| !title.trim().is_empty());
            return title.map_or_else(Self::default, Self::new);
        }
        Self::new(&text)
    }

    /// What can be done, where there is no status of the response to go by.
    ///
    /// Words are believed last: who has to wait is also told of "too many tokens".
    fn kind(&self) -> ModelErrorKind {
        match (self.named(), self.status) {
            (Some(ModelErrorKind::Invalid) | None, Some(429)) => of_status(429),
            (Some(ModelErrorKind::Invalid) | None, _) if self.is_too_long() => {
                ModelErrorKind::TooLong
            }
            (Some(kind), _) => kind,
            (None, Some(status)) if status >= 400 => of_status(status),
            (None, Some(_) | None) => ModelErrorKind::Unavailable,
        }
    }

    /// Tells whether the conversation is what it has too much of. Some have only words for that, or
    /// a name that says no more than that the request is wrong.
    fn is_too_long(&self) -> bool {
        match self.named() {
            Some(ModelErrorKind::TooLong) => true,
            Some(ModelErrorKind::Invalid) | None => {
                says_too_long(self.message.as_deref().unwrap_or_default())
            }
            Some(
                ModelErrorKind::RateLimited { .. }
                | ModelErrorKind::Unavailable
                | ModelErrorKind::Config,
            ) => false,
        }
    }

    /// What the names for it say, the first that is known.
    fn named(&self) -> Option<ModelErrorKind> {
        self.names.iter().find_map(|name| match name.as_str() {
            "insufficient_quota"
            | "invalid_api_key"
            | "authentication_error"
            | "permission_error"
            | "model_not_found" => Some(ModelErrorKind::Config),
            "rate_limit_exceeded" | "rate_limit_error" | "too_many_requests" => {
                Some(ModelErrorKind::RateLimited { retry_after: None })
            }
            "context_length_exceeded" | "exceed_context_size_error" => {
                Some(ModelErrorKind::TooLong)
            }
            "invalid_request_error" => Some(ModelErrorKind::Invalid),
            _ => None,
        })
    }
}

/// Tells whether words say that a conversation is longer than the model takes.
fn says_too_long(words: &str) -> bool {
    const SAYINGS: &[&str] = &[
        "context length",
        "maximum context",
        "context window",
        "context size",
        "too many tokens",
        "prompt is too long",
        "input is too long",
        "reduce the length of the messages",
    ];
    let words = words.to_ascii_lowercase();
    // Nobody is helped by waiting when the conversation is too long.
    !words.contains("please wait") && SAYINGS.iter().any(|saying| words.contains(saying))
}

/// Returns what is said; what is no text, as it is written.
fn words(value: Option<&Value>) -> Option<String> {
    let words = match value? {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            other.to_string()
        }
    };
    (!words.trim().is_empty()).then_some(words)
}

/// Returns the title of a web page.
fn title(page: &str) -> Option<&str> {
    // Only ASCII changes its case, so places stay where they are.
    let lower = page.to_ascii_lowercase();
    let from = lower.find("<title>")? + "<title>".len();
    let length = lower.get(from..)?.find("</title>")?;
    page.get(from..from + length)
}

fn of_status(status: u16) -> ModelErrorKind {
    match status {
        429 => ModelErrorKind::RateLimited { retry_after: None },
        413 => ModelErrorKind::TooLong,
        408 | 409 | 500.. => ModelErrorKind::Unavailable,
        // Not paid, not allowed, not there, or somewhere else: somebody has to look at the settings.
        300..=399 | 401..=405 => ModelErrorKind::Config,
        _ => ModelErrorKind::Invalid,
    }
}

/// Returns what may be shown of where a redirect leads; a key may be in the rest of it.
fn place(location: &str) -> String {
    let without_query = || {
        location
            .split(['?', '#'])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    Url::parse(location).map_or_else(|_| without_query(), |url| public(&url))
}

/// Reads how long to wait. A date is held against the one that the response itself has.
fn retry_after(response: &HttpResponse) -> Option<Duration> {
    let number = |name| response.header(name)?.trim().parse::<f64>().ok();
    let until = || {
        let at = date::seconds(response.header("retry-after")?)?;
        let now = date::seconds(response.header("date")?)?;
        Some(at.saturating_sub(now) as f64)
    };
    let seconds = match number("retry-after-ms") {
        Some(milliseconds) => milliseconds / 1000.0,
        None => number("retry-after").or_else(until)?,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

/// Keeps what can be printed on one line.
fn one_line(text: &str) -> String {
    let shown = |c: &char| !c.is_control() && !is_invisible(*c);
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.chars().filter(shown).collect())
        .collect();
    words.join(" ")
}

/// Characters that change how others are shown: marks of direction, and joiners of no width.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

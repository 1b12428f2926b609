//! The seam to HTTP: a request goes out, a head and a stream of bytes come back.
//!
//! Dialects know this trait and nothing of the client behind it, so that a test
//! or a recording can stand in its place. Whoever drops the future or the body
//! ends the exchange and its connection. Nothing here retries, follows redirects
//! or reads the environment, and no secret is printed.

mod http;

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use url::Url;

use crate::secret::Secret;

pub use http::Http;

/// Sends requests.
pub trait Transport: Send + Sync {
    /// Sends a request and resolves when the head of the response is there, whatever its status.
    ///
    /// There is no limit of time on the response: a model may think for long. Dropping the
    /// future, or later the body, closes the connection.
    fn send(
        &self,
        request: HttpRequest,
    ) -> BoxFuture<'static, Result<HttpResponse, TransportError>>;
}

/// A request.
#[derive(Clone)]
pub struct HttpRequest {
    /// What to do there.
    pub method: Method,
    /// Where; may hold secrets in its user and query.
    pub url: Url,
    /// Names in lower case.
    pub headers: Vec<(Cow<'static, str>, HeaderText)>,
    /// The body.
    pub body: Bytes,
}

/// The methods that dialects use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Asks for what is there.
    Get,
    /// Asks for something to be made.
    Post,
}

/// What a header says.
#[derive(Clone, PartialEq, Eq)]
pub enum HeaderText {
    /// Anyone may read it.
    Plain(String),
    /// Sent, never shown.
    Secret(Secret),
}

/// A response as it begins.
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// Names in lower case; values that are not text are left out.
    pub headers: Vec<(String, String)>,
    /// The body as it comes; ends after an error.
    pub body: BoxStream<'static, Result<Bytes, TransportError>>,
}

/// An exchange that failed. The text says why, and holds no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The request cannot be sent from here; trying again is no use.
    #[error("{0}")]
    Unsendable(String),
    /// Nobody answered.
    #[error("{0}")]
    Unreachable(String),
    /// The connection broke before the end.
    #[error("{0}")]
    Cut(String),
}

impl HttpResponse {
    /// Returns what a header says; the first one if it is there more than once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(known, _)| known == name)?;
        Some(value)
    }
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &public(&self.url))
            .field("headers", &self.headers)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpResponse")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for HeaderText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => text.fmt(f),
            Self::Secret(secret) => secret.fmt(f),
        }
    }
}

/// Returns what may be shown of an address as it was given: no user, no password, no query.
///
/// What cannot be read as an address loses whatever could be one of these.
pub fn public_address(text: &str) -> String {
    let text = text.trim();
    if let Ok(url) = Url::parse(text)
        && url.has_host()
    {
        return public(&url);
    }
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let rest = rest.rsplit('@').next().unwrap_or_default();
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}{rest}")
}

/// Returns scheme, host, port and path of an address: what may be shown of it.
pub(crate) fn public(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}"));
    let path = url.path().trim_end_matches('/');
    format!(
        "{}://{host}{}{path}",
        url.scheme(),
        port.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::public_address;

    #[test]
    fn no_secret_of_an_address_is_shown_whether_it_is_one_or_not() {
        for (given, shown) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1"),
            ("http://localhost:11434/v1/", "http://localhost:11434/v1"),
            ("https://me:pass@h:1/v1?key=abc#d", "https://h:1/v1"),
            ("https://token@h/@scope/v1", "https://h/@scope/v1"),
            ("http://me:pass@:99999", "http://:99999"),
            ("http://me:pa/ss@h/v1?key=abc", "http://h/v1"),
            ("http://me:pa?ss@h/v1", "http://h/v1"),
            ("me:pass@h/v1", "h/v1"),
            ("localhost:8080", "localhost:8080"),
            ("", ""),
        ] {
            assert_eq!(public_address(given), shown, "{given}");
        }
    }
}

//! The seam to HTTP: a request goes out, a head and a stream of bytes come back.
//!
//! Dialects know this trait and nothing of the client behind it, so that a test
//! or a recording can stand in its place. Whoever drops the future or the body
//! ends the exchange and its connection. Nothing here retries, follows redirects
//! or reads the environment, and no secret is printed.

mod http;

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
    pub headers: Vec<(&'static str, HeaderText)>,
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

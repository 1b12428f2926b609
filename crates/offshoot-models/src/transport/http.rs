//! The transport over reqwest.
//!
//! One client for plain and one for encrypted addresses, each made on first use:
//! a machine without root certificates can still talk to a server on loopback.
//! Connections are kept and reused. Proxies of the environment are not used.

use std::error::Error;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_util::{StreamExt, stream};
use reqwest::header::{HeaderName, HeaderValue};

use super::{HeaderText, HttpRequest, HttpResponse, Method, Transport, TransportError};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const USER_AGENT: &str = concat!("offshoot/", env!("CARGO_PKG_VERSION"));

/// Speaks HTTP/1.1, over TLS where the address says so.
#[derive(Debug, Default)]
pub struct Http {
    plain: OnceLock<Result<reqwest::Client, TransportError>>,
    encrypted: OnceLock<Result<reqwest::Client, TransportError>>,
}

/// Which roots a client trusts.
enum Trust {
    /// None: it never meets a certificate.
    Nobody,
    /// Those of the machine.
    System,
}

impl Http {
    /// A transport without connections yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn client(&self, scheme: &str) -> Result<reqwest::Client, TransportError> {
        let made = match scheme {
            "https" => self.encrypted.get_or_init(|| client(Trust::System)),
            _ => self.plain.get_or_init(|| client(Trust::Nobody)),
        };
        made.clone()
    }
}

impl Transport for Http {
    fn send(
        &self,
        request: HttpRequest,
    ) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let client = self.client(request.url.scheme());
        Box::pin(async move {
            let request = wire(request)?;
            let sent = client?.execute(request).await;
            sent.map(response).map_err(|error| unreachable(&error))
        })
    }
}

/// Chooses the cryptography of this process, unless it was chosen before.
///
/// The only place that names it. Must be called before a client is made, which panics otherwise.
fn install_crypto() {
    // An error says that somebody else was first, which serves as well.
    drop(rustls::crypto::ring::default_provider().install_default());
}

fn client(trust: Trust) -> Result<reqwest::Client, TransportError> {
    install_crypto();
    let builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy();
    let builder = match trust {
        Trust::Nobody => builder.tls_certs_only([]),
        Trust::System => builder,
    };
    builder.build().map_err(|error| {
        TransportError::Unsendable(format!("make an HTTP client: {}", innermost(&error)))
    })
}

fn wire(request: HttpRequest) -> Result<reqwest::Request, TransportError> {
    let method = match request.method {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
    };
    let mut wire = reqwest::Request::new(method, request.url);
    for (name, text) in request.headers {
        let (text, is_sensitive) = match &text {
            HeaderText::Plain(text) => (text.as_str(), false),
            HeaderText::Secret(secret) => (secret.expose(), true),
        };
        let mut value = HeaderValue::from_str(text).map_err(|_| {
            TransportError::Unsendable(format!("header {name} has a character it may not have"))
        })?;
        value.set_sensitive(is_sensitive);
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| TransportError::Unsendable(format!("`{name}` is no name of a header")))?;
        wire.headers_mut().append(name, value);
    }
    *wire.body_mut() = Some(request.body.into());
    Ok(wire)
}

fn response(response: reqwest::Response) -> HttpResponse {
    let headers = response.headers().iter();
    let headers = headers
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect();
    let status = response.status().as_u16();
    let body = stream::unfold(Some(response), |response| async {
        let mut response = response?;
        match response.chunk().await {
            Ok(bytes) => Some((Ok(bytes?), Some(response))),
            Err(error) => Some((Err(cut(&error)), None)),
        }
    });
    HttpResponse {
        status,
        headers,
        body: body.boxed(),
    }
}

fn unreachable(error: &reqwest::Error) -> TransportError {
    let text = match io_kind(error) {
        Some(io::ErrorKind::ConnectionRefused) => {
            "connection refused; is the server running?".to_owned()
        }
        _ if error.is_timeout() => {
            let seconds = CONNECT_TIMEOUT.as_secs();
            format!("no connection within {seconds} seconds")
        }
        _ if error.is_connect() => format!("connect: {}", innermost(error)),
        _ => format!("no answer: {}", innermost(error)),
    };
    TransportError::Unreachable(text)
}

fn cut(error: &reqwest::Error) -> TransportError {
    TransportError::Cut(format!("the connection broke: {}", innermost(error)))
}

/// Returns the kind of the system's error at the bottom, if there is one.
fn io_kind(error: &reqwest::Error) -> Option<io::ErrorKind> {
    let errors = std::iter::successors(error.source(), |error| (*error).source());
    errors
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .map(io::Error::kind)
        .last()
}

/// Returns what the innermost error says. The outer ones repeat it, or name the address in full.
fn innermost(error: &reqwest::Error) -> String {
    match std::iter::successors(error.source(), |error| (*error).source()).last() {
        Some(error) => error.to_string(),
        None if error.is_builder() => "it cannot be built".to_owned(),
        None => "the client gives no reason".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Http, install_crypto};

    #[test]
    fn clients_are_made_without_a_panic_however_often() {
        install_crypto();
        install_crypto();
        for _ in 0..2 {
            let http = Http::new();
            assert!(http.client("http").is_ok());
            // Without root certificates it is an error, never a panic.
            if let Err(error) = http.client("https") {
                assert!(error.to_string().contains("certificates"), "{error}");
            }
        }
    }
}

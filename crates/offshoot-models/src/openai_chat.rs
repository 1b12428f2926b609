//! The dialect `openai-chat`: OpenAI's Chat Completions, as many servers speak it.
//!
//! Here are the settings, their check, and the models of one server; what goes
//! over the wire is `encode` and `decode`, both pure. Nothing is read from the
//! environment and no connection is made before a model is asked. Users'
//! documentation: docs/models.md.

mod calls;
mod decode;
mod encode;
mod settings;
mod wire;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use futures_core::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use offshoot_types::cancel::Cancel;
use offshoot_types::caps::Price;
use offshoot_types::model::{Chunk, Model, ModelError, ModelErrorKind, Models, Request};
use tokio::sync::Semaphore;
use url::Url;

use crate::exchange::Exchange;
use crate::failure::Asked;
use crate::secret::Secret;
use crate::transport::{HeaderText, HttpRequest, Method, Transport, public};

pub use settings::{CapField, Header, OpenAiChatSettings};

use decode::Decoder;

/// The models of one server that speaks Chat Completions.
///
/// Finds them by their name within the provider, and knows none beforehand: whether there is a
/// model of that name, the server says when it is asked.
pub struct OpenAiChat {
    /// The name of the provider in names of models.
    provider: String,
    /// Settings that cannot be right are an error of each `find`.
    server: Result<Arc<Server>, ModelError>,
    /// Those that were asked for, so that the same name gives the same model.
    models: Mutex<BTreeMap<String, Arc<ChatModel>>>,
}

/// What all models of a server share.
struct Server {
    transport: Arc<dyn Transport>,
    /// Where completions are made.
    endpoint: Url,
    /// The base address, as errors show it.
    place: String,
    key: Option<Secret>,
    /// The variable that users put the key into; `None` if the server takes no key.
    key_variable: Option<String>,
    headers: Vec<Header>,
    cap_field: CapField,
    slots: Arc<Semaphore>,
    /// By the name of a model.
    prices: BTreeMap<String, Price>,
    windows: BTreeMap<String, u64>,
    images: BTreeSet<String>,
}

/// One model of a server.
struct ChatModel {
    server: Arc<Server>,
    name: String,
}

impl OpenAiChat {
    /// The name of the provider that needs no configuration, and of this dialect.
    pub const PROVIDER: &str = "openai-chat";
    /// The variable that users put their key into, unless they say otherwise.
    pub const KEY_VARIABLE: &str = "OPENAI_API_KEY";
    /// The variable that users put another address into.
    pub const BASE_URL_VARIABLE: &str = "OPENAI_BASE_URL";

    /// A provider with these settings; `find` says what is wrong with them.
    pub fn new(settings: OpenAiChatSettings, transport: Arc<dyn Transport>) -> Self {
        let provider = settings.provider.clone();
        let server = settings.check().map(|checked| {
            Arc::new(Server {
                transport,
                place: public(&checked.base_url),
                endpoint: checked.endpoint(),
                key: checked.key,
                key_variable: checked.key_variable,
                headers: checked.headers,
                cap_field: checked.cap_field,
                slots: Arc::new(Semaphore::new(checked.slots)),
                prices: checked.prices,
                windows: checked.windows,
                images: checked.images,
            })
        });
        Self {
            provider,
            server,
            models: Mutex::default(),
        }
    }
}

impl Models for OpenAiChat {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        if name.trim().is_empty() {
            let provider = &self.provider;
            let message = format!("find model `{provider}/{name}`: give a name, {provider}/NAME");
            return Err(ModelError::new(ModelErrorKind::Config, message));
        }
        let server = self.server.clone()?;
        // The table is whole at any moment, so a panic elsewhere cannot have spoilt it.
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let model = models.entry(name.to_owned());
        let name = name.to_owned();
        let model = model.or_insert_with(|| Arc::new(ChatModel { server, name }));
        Ok(model.clone())
    }
}

impl fmt::Debug for OpenAiChat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.server.as_ref().map(|server| &server.place);
        f.debug_tuple("OpenAiChat").field(&place).finish()
    }
}

impl Model for ChatModel {
    fn stream(
        &self,
        request: Request,
        cancel: Cancel,
    ) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let server = &self.server;
        let asked = Asked {
            model: self.name.clone(),
            place: server.place.clone(),
            has_key: server.key.is_some(),
            secrets: server.secrets(),
            key_variable: server.key_variable.clone(),
        };
        let body = match encode::body(&request, &self.name, server.cap_field) {
            Ok(body) => body,
            Err(error) => {
                let what = format!("the request cannot be written: {error}");
                let error = asked.error(ModelErrorKind::Invalid, &what);
                return std::future::ready(Err(error)).into_stream().boxed();
            }
        };
        let exchange = Exchange {
            asked,
            transport: server.transport.clone(),
            slots: server.slots.clone(),
            request: HttpRequest {
                method: Method::Post,
                url: server.endpoint.clone(),
                headers: server.headers(),
                body: body.into(),
            },
            decoder: Decoder::default(),
        };
        exchange.run(cancel)
    }

    fn price(&self) -> Option<Price> {
        self.server.prices.get(&self.name).copied()
    }

    fn window(&self) -> Option<u64> {
        self.server.windows.get(&self.name).copied()
    }

    fn takes_images(&self) -> bool {
        self.server.images.contains(&self.name)
    }

    fn account(&self) -> u64 {
        self.server.account()
    }
}

impl Server {
    /// Returns a digest of the server and of the credentials by which it counts requests.
    fn account(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.endpoint.as_str().hash(&mut hasher);
        for secret in self.secrets() {
            secret.expose().hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Returns what is secret of a request. Of a header, each word by itself too: a server repeats the key
    /// behind `Bearer`, not the header.
    fn secrets(&self) -> Vec<Secret> {
        let mut secrets: Vec<Secret> = self.key.iter().cloned().collect();
        for header in &self.headers {
            if let HeaderText::Secret(secret) = &header.text {
                secrets.push(secret.clone());
                let words = secret.expose().split_whitespace();
                let keys = words.filter(|word| word.len() >= Secret::SHORTEST);
                secrets.extend(keys.map(Secret::new));
            }
        }
        secrets
    }

    fn headers(&self) -> Vec<(Cow<'static, str>, HeaderText)> {
        let plain = |text: &str| HeaderText::Plain(text.to_owned());
        let mut headers = vec![
            (Cow::from("content-type"), plain("application/json")),
            (Cow::from("accept"), plain("text/event-stream")),
        ];
        let own = |name: &str| self.headers.iter().any(|header| header.name == name);
        if let Some(key) = self.key.as_ref().filter(|_| !own("authorization")) {
            let bearer = Secret::new(format!("Bearer {}", key.expose()));
            headers.push((Cow::from("authorization"), HeaderText::Secret(bearer)));
        }
        let own = self.headers.iter();
        headers.extend(own.map(|header| (Cow::from(header.name.clone()), header.text.clone())));
        headers
    }
}

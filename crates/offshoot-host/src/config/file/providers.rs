//! The tables `[providers.NAME]` of a file: servers, and what is known of their models.
//!
//! A provider that the file makes needs a kind and an address; `openai-chat` has
//! both. No key stands in a file: headers that carry one name the variable that
//! holds it, as `"$NAME"`.

use offshoot_types::caps::Price;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Entry, OWN_FILE, Owner, Reading, entries};
use crate::config::providers::{Dialect, HeaderSetting, ModelSetting, OPENAI_CHAT, ProviderLayer};
use crate::config::source::Sourced;
use crate::error::HostError;

/// What a price is made of; the first two have to be there.
const PRICE: [&str; 4] = ["input", "output", "cache_read", "cache_write"];

/// How many tokens a model may be said to take.
const WINDOW: (u64, u64) = (1, 1_000_000_000);

/// Names that other models have.
const TAKEN: [&str; 2] = ["offline", "scripted"];

/// What the names of headers contain that carry a key.
const SECRET_WORDS: [&str; 5] = ["auth", "key", "token", "secret", "cookie"];

/// Headers that the program sets itself.
const OWN_HEADERS: [&str; 6] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
];

/// Settings that `[providers]` replaces, and what to write instead.
pub(super) const REPLACED: [(&str, &str); 3] = [
    (
        "openai_chat",
        "write base_url and api_key_env into [providers.openai-chat]",
    ),
    (
        "prices",
        "write price = { input = 1.25, output = 10 } into [providers.openai-chat.models.\"NAME\"]",
    ),
    (
        "windows",
        "write context_window = 400_000 into [providers.openai-chat.models.\"NAME\"]",
    ),
];

impl Reading<'_> {
    /// Reads all providers.
    pub(super) fn providers(&mut self, table: &DeTable<'_>) -> Result<(), HostError> {
        for (key, value) in entries(table) {
            let name = key.get_ref().as_ref();
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            if name.is_empty() || !name.bytes().all(is_plain) || TAKEN.contains(&name) {
                let what = format!("`{}` cannot name a provider", name.escape_debug());
                let way = format!(
                    "use letters, digits, `-`, `_` and `.`, and neither {}",
                    TAKEN.join(" nor ")
                );
                return Err(self.page.fault(&what, &key.span(), Some(&way)));
            }
            let path = format!("providers.{name}");
            let provider = self.provider(&path, self.table(&path, value)?)?;
            let missing = match (&provider.kind, &provider.base_url) {
                _ if name == OPENAI_CHAT => None,
                (None, _) => Some("kind = \"openai-chat\""),
                (_, None) => Some("base_url = \"http://localhost:11434/v1\""),
                (Some(_), Some(_)) => None,
            };
            if let Some(missing) = missing {
                let what = format!("`{path}` is not complete");
                let way = format!("add {missing}");
                return Err(self.page.fault(&what, &key.span(), Some(&way)));
            }
            self.layer.providers.insert(name.to_owned(), provider);
        }
        Ok(())
    }

    fn provider(&self, path: &str, table: &DeTable<'_>) -> Result<ProviderLayer, HostError> {
        let mut provider = ProviderLayer::default();
        for (key, value) in entries(table) {
            let name = format!("{path}.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "kind" => provider.kind = Some(self.word::<Dialect>(&name, value)?),
                "base_url" => provider.base_url = Some(self.text(&name, value)?),
                "api_key_env" => {
                    let variable = self.text(&name, value)?;
                    self.check_variable(&name, &variable.value, value)?;
                    provider.api_key_env = Some(variable);
                }
                "headers" => {
                    for entry in entries(self.table(&name, value)?) {
                        let (header, text) = self.header(&name, entry)?;
                        if provider.headers.insert(header, text).is_some() {
                            let what = format!("`{name}` has a header twice");
                            let way = "upper and lower case are the same there";
                            return Err(self.page.fault(&what, &entry.0.span(), Some(way)));
                        }
                    }
                }
                "models" => {
                    for (model, value) in entries(self.table(&name, value)?) {
                        let path = format!("{name}.\"{}\"", model.get_ref().escape_debug());
                        let setting = self.model(&path, self.table(&path, value)?)?;
                        provider.models.insert(model.get_ref().to_string(), setting);
                    }
                }
                _ => return Err(self.unknown_of(path, "providers.NAME.", key)),
            }
        }
        Ok(provider)
    }

    fn header(
        &self,
        path: &str,
        (key, value): Entry<'_, '_>,
    ) -> Result<(String, Sourced<HeaderSetting>), HostError> {
        let header = key.get_ref().to_ascii_lowercase();
        let name = format!("{path}.{}", header.escape_debug());
        let fault = |what: String, way: &str| Err(self.page.fault(&what, &key.span(), Some(way)));
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if header.is_empty() || !header.bytes().all(is_plain) {
            let what = format!("`{name}` is not the name of a header");
            return fault(what, "use letters, digits and `-`");
        }
        if OWN_HEADERS.contains(&header.as_str()) {
            return fault(format!("`{name}` cannot be set"), "leave it out");
        }
        let Sourced {
            value: text,
            source,
        } = self.text(&name, value)?;
        let setting = match text.strip_prefix('$') {
            Some(variable) => {
                self.check_variable(&name, variable, value)?;
                HeaderSetting::Variable(variable.to_owned())
            }
            None if text.contains('$') => {
                let what = format!("`{name}` has a variable in the middle of its text");
                let way = "write \"$NAME\" alone, and put the whole text into the variable";
                return fault(what, way);
            }
            None if SECRET_WORDS.iter().any(|word| header.contains(word)) => {
                // The line is not shown: it holds the key.
                let place = self.page.place(&key.span());
                return Err(HostError::invalid(format!(
                    "`{name}` in {} line {} carries a key, and no file may hold one; \
                     write \"$NAME\", with the name of the variable that holds it",
                    self.page.path.display(),
                    place.line
                )));
            }
            None => HeaderSetting::Text(text),
        };
        Ok((header, Sourced::new(setting, source)))
    }

    fn check_variable(
        &self,
        name: &str,
        variable: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), HostError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if variable.bytes().all(is_plain) && !variable.is_empty() {
            return Ok(());
        }
        // The line is not shown: it may hold the key itself.
        let line = self.page.place(&value.span()).line;
        Err(HostError::invalid(format!(
            "`{name}` in {} line {line} is not the name of a variable; no file may hold a key, so name \
             the variable that does",
            self.page.path.display(),
        )))
    }

    fn model(&self, path: &str, table: &DeTable<'_>) -> Result<ModelSetting, HostError> {
        let mut model = ModelSetting::default();
        for (key, value) in entries(table) {
            let name = format!("{path}.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "context_window" => model.context_window = Some(self.count(&name, WINDOW, value)?),
                "images" => {
                    let Sourced { value, source } = self.switch(&name, value)?;
                    let value = value != 0;
                    model.images = Some(Sourced { value, source });
                }
                "price" => {
                    let price = self.price(&name, self.table(&name, value)?, value)?;
                    model.price = Some(self.sourced(price, value));
                }
                _ => return Err(self.unknown_of(path, "providers.NAME.models.NAME.", key)),
            }
        }
        Ok(model)
    }

    fn price(
        &self,
        name: &str,
        table: &DeTable<'_>,
        at: &Spanned<DeValue<'_>>,
    ) -> Result<Price, HostError> {
        let mut amounts = [None; 4];
        for (key, value) in entries(table) {
            let found = PRICE.iter().position(|known| known == key.get_ref());
            let Some(place) = found else {
                let what = format!("unknown key `{name}.{}`", key.get_ref().escape_debug());
                let way = format!("there are: {}", PRICE.join(", "));
                return Err(self.page.fault(&what, &key.span(), Some(&way)));
            };
            let amount = self.amount(&format!("{name}.{}", PRICE[place]), value)?;
            amounts[place] = Some(amount);
        }
        let [input, output, cache_read, cache_write] = amounts;
        let (Some(input), Some(output)) = (input, output) else {
            let what = format!("`{name}` needs `input` and `output`");
            return Err(self.page.fault(&what, &at.span(), None));
        };
        let price = Price {
            input,
            output,
            cache_read,
            cache_write,
        };
        if !price.is_sound() {
            let what = format!("`{name}` is not made of amounts of dollars");
            return Err(self.page.fault(&what, &at.span(), None));
        }
        Ok(price)
    }

    /// Refuses a setting that `[providers]` replaces, and shows the new form.
    pub(super) fn replaced(&self, entry: Entry<'_, '_>) -> Option<HostError> {
        let (key, _) = entry;
        let (old, way) = REPLACED.iter().find(|(old, _)| old == key.get_ref())?;
        let what = format!("`{old}` is replaced by `providers`");
        let way = match self.owner {
            Owner::User => (*way).to_owned(),
            Owner::Project => format!("{way}; {OWN_FILE}"),
        };
        Some(self.page.fault(&what, &key.span(), Some(&way)))
    }
}

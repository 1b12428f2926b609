//! One `offshoot.toml`, read into a layer.
//!
//! Every complaint names the file, the line and the column, and shows the line.
//! A project's file comes with a repository that somebody else may have written:
//! it may choose an agent and narrow limits and permissions, but it may not say which model is
//! asked, which may cost money or be a script of its own that runs commands, nor
//! where data, logs or keys go. No file may hold a key.

mod providers;
mod rules;

use std::fs;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::folder::read_beneath;
use offshoot_types::caps::{Money, Span};
use offshoot_types::suggest;
use offshoot_types::tier::Tier;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::compaction::Rule;
use super::find;
use super::layer::Layer;
use super::limit::{Kind, Limit};
use super::page::Page;
use super::source::{Source, Sourced};
use super::word::{Word, words};
use crate::error::HostError;

/// The most that is read of a file. Ours is a few hundred bytes.
const MOST_BYTES: usize = 1024 * 1024;

/// What a project could do by naming models.
const MODEL_DANGER: &str = "choose who reads what you talk about";

/// Every key there is.
const KEYS: [&str; 41] = [
    "model",
    "child_model",
    "agent",
    "data_dir",
    "color",
    "trusted_projects",
    "tiers.small",
    "tiers.standard",
    "tiers.large",
    "log.level",
    "log.file",
    "limits.depth",
    "limits.descendants",
    "limits.slots",
    "limits.steps",
    "limits.wakes",
    "limits.time",
    "limits.stall",
    "limits.tokens",
    "limits.cost_usd",
    "limits.session.steps",
    "limits.session.time",
    "limits.session.tokens",
    "limits.session.cost_usd",
    "providers.NAME.kind",
    "providers.NAME.base_url",
    "providers.NAME.api_key_env",
    "providers.NAME.headers",
    "providers.NAME.models.NAME.context_window",
    "providers.NAME.models.NAME.images",
    "providers.NAME.models.NAME.price",
    "permissions",
    "hooks",
    "compaction.auto",
    "compaction.reserve_tokens",
    "compaction.tail_turns",
    "compaction.tail_budget_pct",
    "compaction.retry_on_transient",
    "compaction.smart_recovery.prune_tool_outputs",
    "compaction.smart_recovery.chunked_summarize",
    "compaction.smart_recovery.drop_middle",
];

/// The tables they are in.
const TABLES: [&str; 7] = [
    "log",
    "limits",
    "limits.session",
    "providers",
    "providers.NAME.models",
    "compaction",
    "compaction.smart_recovery",
];

/// How much of a name tells which one was begun.
const LEAST_BEGINNING: usize = 3;

/// Where else to set what a project cannot.
const OWN_FILE: &str = "set it in your own config file";

/// Who wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The person who runs this.
    User,
    /// Whoever wrote the repository.
    Project,
}

/// Reads a file that is there.
pub(super) fn read(path: &Path, owner: Owner, home: Option<&Path>) -> Result<Layer, HostError> {
    let failed = |why: &dyn std::fmt::Display| {
        HostError::invalid(format!("read config file {}: {why}", path.display()))
    };
    let bytes = match owner {
        Owner::User => own(path),
        Owner::Project => beneath(path),
    };
    let bytes = bytes.map_err(|why| failed(&why))?;
    if bytes.len() > MOST_BYTES {
        return Err(failed(&format!("it has more than {MOST_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| failed(&"it is not UTF-8 text"))?;
    parse(&text, path, owner, home)
}

/// Returns what the user's file holds, up to one byte more than is taken.
fn own(path: &Path) -> Result<Vec<u8>, String> {
    let explain = |error: io::Error| error.to_string();
    // A pipe or a device would never end.
    if !fs::metadata(path).map_err(explain)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(explain)?;
    let read = file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(explain)?;
    Ok(bytes)
}

/// Returns the same of a project's file. Somebody else wrote the folder, and may change it while we look:
/// what was looked at is what is read, and no link leads out.
fn beneath(path: &Path) -> Result<Vec<u8>, String> {
    let nowhere = "it leads nowhere";
    let (folder, name) = find::place(path).ok_or(nowhere)?;
    let bytes = read_beneath(folder, name, MOST_BYTES)?;
    bytes.ok_or_else(|| nowhere.to_owned())
}

/// Reads the text of a file.
pub(super) fn parse(
    text: &str,
    path: &Path,
    owner: Owner,
    home: Option<&Path>,
) -> Result<Layer, HostError> {
    let page = Page { text, path };
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().unwrap_or(text.len()..text.len());
        page.fault(error.message(), &at, None)
    })?;
    let mut reading = Reading {
        page,
        owner,
        home,
        layer: Layer::default(),
    };
    reading.document(document.get_ref())?;
    Ok(reading.layer)
}

/// A file that is being read.
pub(super) struct Reading<'a> {
    pub(super) page: Page<'a>,
    pub(super) owner: Owner,
    home: Option<&'a Path>,
    pub(super) layer: Layer,
}

/// A key with its value.
pub(super) type Entry<'a, 'i> = (
    &'a Spanned<std::borrow::Cow<'i, str>>,
    &'a Spanned<DeValue<'i>>,
);

impl Reading<'_> {
    fn document(&mut self, table: &DeTable<'_>) -> Result<(), HostError> {
        for entry in entries(table) {
            let (key, value) = entry;
            match key.get_ref().as_ref() {
                "model" => {
                    let way = "put it into your own config file, or use --model or OFFSHOOT_MODEL";
                    self.for_users_only("model", "choose who answers you", way, key)?;
                    self.layer.model = Some(self.text("model", value)?);
                }
                "child_model" => {
                    let way = "put it into your own config file, or use OFFSHOOT_CHILD_MODEL";
                    self.for_users_only("child_model", MODEL_DANGER, way, key)?;
                    self.layer.child_model = Some(self.text("child_model", value)?);
                }
                "tiers" => {
                    self.for_users_only("tiers", MODEL_DANGER, OWN_FILE, key)?;
                    self.tiers(self.table("tiers", value)?)?;
                }
                // What it was called before there were tiers.
                "small_model" => {
                    let what = "`small_model` is now `tiers.small`";
                    return Err(self.page.fault(what, &key.span(), None));
                }
                "agent" => self.layer.agent = Some(self.text("agent", value)?),
                "data_dir" => {
                    self.for_users_only("data_dir", "move your data", OWN_FILE, key)?;
                    self.layer.data_dir = Some(self.path("data_dir", value)?);
                }
                "color" => self.layer.color = Some(self.word("color", value)?),
                "trusted_projects" => {
                    let danger = "trust itself";
                    self.for_users_only("trusted_projects", danger, OWN_FILE, key)?;
                    self.layer.trusted_projects = self.paths("trusted_projects", value)?;
                }
                "log" => self.log(self.table("log", value)?)?,
                "limits" => self.limits("limits.", self.table("limits", value)?)?,
                "providers" => {
                    let danger = "choose where your key goes, or what your money buys";
                    self.for_users_only("providers", danger, OWN_FILE, key)?;
                    self.providers(self.table("providers", value)?)?;
                }
                "permissions" => self.permissions(value)?,
                "compaction" => {
                    let danger = "have you pay for summaries";
                    self.for_users_only("compaction", danger, OWN_FILE, key)?;
                    self.compaction("compaction.", self.table("compaction", value)?)?;
                }
                // A project's are read too, and told apart: whether they are used is not said here.
                "hooks" => self.hooks(value)?,
                _ => {
                    let replaced = self.replaced(entry);
                    return Err(replaced.unwrap_or_else(|| self.unknown("", key)));
                }
            }
        }
        Ok(())
    }

    fn tiers(&mut self, table: &DeTable<'_>) -> Result<(), HostError> {
        for (key, value) in entries(table) {
            let Some(tier) = Tier::named(key.get_ref()) else {
                return Err(self.unknown("tiers.", key));
            };
            let model = self.text(&format!("tiers.{tier}"), value)?;
            self.layer.tiers.insert(tier, model);
        }
        Ok(())
    }

    fn log(&mut self, table: &DeTable<'_>) -> Result<(), HostError> {
        for (key, value) in entries(table) {
            match key.get_ref().as_ref() {
                "level" => self.layer.log_level = Some(self.word("log.level", value)?),
                "file" => {
                    let danger = "write to files of yours";
                    self.for_users_only("log.file", danger, OWN_FILE, key)?;
                    self.layer.log_file = Some(self.path("log.file", value)?);
                }
                _ => return Err(self.unknown("log.", key)),
            }
        }
        Ok(())
    }

    fn limits(&mut self, above: &str, table: &DeTable<'_>) -> Result<(), HostError> {
        for (key, value) in entries(table) {
            let name = format!("{above}{}", key.get_ref());
            if name == "limits.session" {
                self.limits("limits.session.", self.table(&name, value)?)?;
                continue;
            }
            let mut all = Limit::ALL.into_iter();
            let Some(limit) = all.find(|limit| format!("limits.{}", limit.name()) == name) else {
                return Err(self.unknown(above, key));
            };
            let number = self.limit(&name, limit, value)?;
            self.layer.limits.insert(limit, number);
        }
        Ok(())
    }

    fn compaction(&mut self, above: &str, table: &DeTable<'_>) -> Result<(), HostError> {
        for (key, value) in entries(table) {
            let name = format!("{above}{}", key.get_ref());
            if name == "compaction.smart_recovery" {
                self.compaction("compaction.smart_recovery.", self.table(&name, value)?)?;
                continue;
            }
            let mut all = Rule::ALL.into_iter();
            let Some(rule) = all.find(|rule| format!("compaction.{}", rule.name()) == name) else {
                return Err(self.unknown(above, key));
            };
            let set = match rule.range() {
                Some(range) => self.count(&name, range, value)?,
                None => self.switch(&name, value)?,
            };
            self.layer.compaction.insert(rule, set);
        }
        Ok(())
    }

    /// Refuses, in a project's file, what only its user may decide.
    fn for_users_only(
        &self,
        name: &str,
        danger: &str,
        way: &str,
        key: &Spanned<std::borrow::Cow<'_, str>>,
    ) -> Result<(), HostError> {
        match self.owner {
            Owner::User => Ok(()),
            Owner::Project => {
                let what = format!("`{name}` cannot be set by a project");
                let why = format!("a repository must not {danger}; {way}");
                Err(self.page.fault(&what, &key.span(), Some(&why)))
            }
        }
    }

    pub(super) fn text(
        &self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Sourced<String>, HostError> {
        let DeValue::String(text) = value.get_ref() else {
            return Err(self.mistyped(name, "text in quotes", value));
        };
        if text.trim().is_empty() {
            let what = format!("`{name}` is empty");
            return Err(self.page.fault(&what, &value.span(), None));
        }
        Ok(self.sourced(text.clone().into_owned(), value))
    }

    /// Reads a path: from the home folder after `~/`, else as seen from the folder of the file.
    fn path(
        &self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Sourced<PathBuf>, HostError> {
        let Sourced {
            value: text,
            source,
        } = self.text(name, value)?;
        let path = match (text.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) => {
                let what = format!("`{name}` begins with ~ and there is no home folder");
                return Err(self.page.fault(&what, &value.span(), None));
            }
            (None, _) => self.page.folder().join(text),
        };
        Ok(Sourced::new(path, source))
    }

    /// Reads a list of paths.
    fn paths(
        &self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Vec<Sourced<PathBuf>>, HostError> {
        let DeValue::Array(paths) = value.get_ref() else {
            return Err(self.mistyped(name, "a list of paths in quotes", value));
        };
        paths.iter().map(|path| self.path(name, path)).collect()
    }

    pub(super) fn word<T: Word>(
        &self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Sourced<T>, HostError> {
        let Sourced {
            value: text,
            source,
        } = self.text(name, value)?;
        match T::named(&text) {
            Some(word) => Ok(Sourced::new(word, source)),
            None => {
                let what = format!("`{name}` is none of {}", words::<T>());
                Err(self.page.fault(&what, &value.span(), None))
            }
        }
    }

    /// Reads `true` or `false`, as 1 or 0.
    pub(super) fn switch(
        &self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Sourced<u64>, HostError> {
        let DeValue::Boolean(on) = value.get_ref() else {
            return Err(self.mistyped(name, "true or false", value));
        };
        Ok(self.sourced(u64::from(*on), value))
    }

    /// Reads a whole number.
    pub(super) fn count(
        &self,
        name: &str,
        (least, most): (u64, u64),
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Sourced<u64>, HostError> {
        let DeValue::Integer(digits) = value.get_ref() else {
            return Err(self.mistyped(name, "a whole number", value));
        };
        let number = u64::from_str_radix(digits.as_str(), digits.radix()).ok();
        match number.filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(self.sourced(number, value)),
            None => {
                let what = format!("`{name}` is not between {least} and {most}");
                Err(self.page.fault(&what, &value.span(), None))
            }
        }
    }

    fn limit(
        &self,
        name: &str,
        limit: Limit,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Sourced<u64>, HostError> {
        let number = match (limit.kind(), value.get_ref()) {
            (Kind::Count, DeValue::Integer(digits)) => {
                u64::from_str_radix(digits.as_str(), digits.radix()).ok()
            }
            (Kind::Count, _) => return Err(self.mistyped(name, "a whole number", value)),
            (Kind::Time, DeValue::String(text)) => match text.parse::<Span>() {
                Ok(span) => Some(span.as_millis()),
                Err(why) => {
                    let what = format!("`{name}` cannot be read: {why}");
                    return Err(self.page.fault(&what, &value.span(), None));
                }
            },
            (Kind::Time, _) => {
                let wanted = "text with a unit, such as \"10m\"";
                return Err(self.mistyped(name, wanted, value));
            }
            (Kind::Money, _) => self
                .amount(name, value)
                .map(|dollars| Money::dollars(dollars).map(Money::as_micros))?,
        };
        let (least, most) = limit.range();
        match number.filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(self.sourced(number, value)),
            None => {
                let [least, most] = [least, most].map(|end| limit.shown(end));
                let what = format!("`{name}` is not between {least} and {most}");
                Err(self.page.fault(&what, &value.span(), None))
            }
        }
    }

    /// Reads an amount of dollars, with a point or without.
    pub(super) fn amount(
        &self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<f64, HostError> {
        let number = value.get_ref();
        let whole = number.as_integer().filter(|digits| digits.radix() == 10);
        let digits = match (whole, number.as_float()) {
            (Some(digits), _) => Some(digits.as_str()),
            (None, digits) => digits.map(|digits| digits.as_str()),
        };
        digits
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| self.mistyped(name, "a number of dollars", value))
    }

    pub(super) fn table<'a, 'i>(
        &self,
        name: &str,
        value: &'a Spanned<DeValue<'i>>,
    ) -> Result<&'a DeTable<'i>, HostError> {
        match value.get_ref().as_table() {
            Some(table) => Ok(table),
            None => {
                let wanted = format!("a table, [{name}]");
                Err(self.mistyped(name, &wanted, value))
            }
        }
    }

    pub(super) fn mistyped(
        &self,
        name: &str,
        wanted: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> HostError {
        let found = value.get_ref().type_str();
        let what = format!("`{name}` has to be {wanted}, and is of type {found}");
        self.page.fault(&what, &value.span(), None)
    }

    fn unknown(&self, table: &str, key: &Spanned<std::borrow::Cow<'_, str>>) -> HostError {
        self.unknown_of(table.trim_end_matches('.'), table, key)
    }

    /// Refuses a key of the table at `path`; `table` is how `KEYS` writes that table.
    fn unknown_of(
        &self,
        path: &str,
        table: &str,
        key: &Spanned<std::borrow::Cow<'_, str>>,
    ) -> HostError {
        let name = format!("{table}{}", key.get_ref());
        let dot = if path.is_empty() { "" } else { "." };
        let shown = format!("{path}{dot}{}", key.get_ref().escape_debug());
        let (what, way) = match name.as_str() {
            "yes" => (
                "`yes` cannot be set in a file".to_owned(),
                "consent is given for one run, with --yes".to_owned(),
            ),
            "api_key" | "providers.NAME.api_key" => (
                format!("`{shown}` cannot be set in a file"),
                "keep the key in the environment: in OPENAI_API_KEY, or in the variable that \
                 `providers.NAME.api_key_env` names"
                    .to_owned(),
            ),
            name => (format!("unknown key `{shown}`"), meant(name, self.owner)),
        };
        self.page.fault(&what, &key.span(), Some(&way))
    }

    pub(super) fn sourced<T>(&self, value: T, at: &Spanned<DeValue<'_>>) -> Sourced<T> {
        let line = self.page.place(&at.span()).line;
        Sourced::new(value, Source::File(self.page.path.to_owned(), line))
    }
}

/// Returns what a table holds, in the order it is written.
pub(super) fn entries<'a, 'i>(table: &'a DeTable<'i>) -> Vec<Entry<'a, 'i>> {
    let mut entries: Vec<Entry<'a, 'i>> = table.iter().collect();
    let begin = |span: Range<usize>| span.start;
    entries.sort_by_key(|(key, _)| begin(key.span()));
    entries
}

/// Says which key may have been meant, or which there are; never one that would be refused next.
fn meant(name: &str, owner: Owner) -> String {
    let (table, last) = name.rsplit_once('.').unwrap_or(("", name));
    let same = |key: &&&str| key.rsplit('.').next() == Some(last);
    let found = sibling(table, last).or_else(|| KEYS.iter().find(same).copied());
    // In a table the names differ in their end only, so all of them look alike.
    let found = found.or_else(|| match table {
        "" => suggest::nearest(name, KEYS.into_iter().chain(TABLES)),
        _ => None,
    });
    match found {
        Some(key) if owner == Owner::Project && is_users(key) => format!(
            "did you mean `{key}`? a project cannot set it; put it into your own config file"
        ),
        Some(key) => format!("did you mean `{key}`?"),
        None => {
            let open = |key: &&str| owner == Owner::User || !is_users(key);
            let near = |key: &&str| table.is_empty() || siblings(table).any(|(own, _)| own == *key);
            let keys: Vec<&str> = KEYS.into_iter().filter(open).filter(near).collect();
            format!("there are: {}", keys.join(", "))
        }
    }
}

/// Returns the keys and tables of a table, each with its own last part.
fn siblings(table: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = KEYS.into_iter().chain(TABLES);
    all.filter_map(move |key| match key.rsplit_once('.') {
        Some((above, own)) => (above == table).then_some((key, own)),
        None => table.is_empty().then_some((key, key)),
    })
}

/// Returns the key of a table that is nearest to a name, or that begins with it.
fn sibling(table: &str, name: &str) -> Option<&'static str> {
    let near = suggest::nearest(name, siblings(table).map(|(_, own)| own));
    let begun = |own: &str| name.len() >= LEAST_BEGINNING && own.starts_with(name);
    let mut siblings = siblings(table);
    let found = siblings.find(|(_, own)| match near {
        Some(near) => *own == near,
        None => begun(own),
    });
    found.map(|(key, _)| key)
}

/// Tells whether a key, or all of a table, is for a user's file only.
fn is_users(key: &str) -> bool {
    let tables = ["providers", "compaction", "tiers"];
    let keys = [
        "model",
        "child_model",
        "data_dir",
        "log.file",
        "trusted_projects",
    ];
    keys.contains(&key) || tables.iter().any(|table| key.starts_with(table))
}

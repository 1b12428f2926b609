//! `[[hooks]]`: commands that are called at points of a session.
//!
//! Those of a user's own file are used. Those of a project's file come with a
//! repository that somebody else may have written: they are read and listed, and
//! kept apart, so that whoever decides about trust finds them with their place.

use std::path::Path;
use std::time::Duration;

use offshoot_tools::hook::Matcher;
use offshoot_types::caps::Span;
use offshoot_types::hook::{Point, USUAL_LIMIT};
use offshoot_types::suggest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::file::{Owner, Reading, entries};
use super::find;
use super::source::Source;
use crate::error::HostError;

/// The keys of one.
const KEYS: [&str; 5] = ["event", "matcher", "command", "timeout", "name"];

/// The longest that one may be given.
const MOST_TIME: Duration = Duration::from_secs(60 * 60);

/// Most characters of a command that stand for a name.
const MOST_OF_NAME: usize = 40;

/// A hook, as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    pub name: String,
    /// Whether somebody gave it that name; otherwise it goes by its command.
    pub named: bool,
    pub event: Point,
    /// As it was written; it can be read.
    pub matcher: String,
    pub command: String,
    pub limit: Duration,
    /// Who wrote the file.
    pub owner: Owner,
    pub source: Source,
}

impl Hook {
    /// Returns the folder of a project's hook; the user's own belongs to none.
    pub fn folder(&self) -> Option<String> {
        let (folder, _) = self.place()?;
        let real = folder.canonicalize().ok()?;
        real.into_os_string().into_string().ok()
    }

    /// Returns the file of a project's hook, as seen from its folder.
    pub fn file(&self) -> Option<&str> {
        self.place()?.1.to_str()
    }

    /// Returns the folder of a project's hook and where the file is in it: a project has two places.
    fn place(&self) -> Option<(&Path, &Path)> {
        let Source::File(path, _) = &self.source else {
            return None;
        };
        find::place(path).filter(|_| self.owner == Owner::Project)
    }

    /// Renders it for people, in one line.
    pub fn shown(&self) -> String {
        let about = match self.matcher.as_str() {
            "" => String::new(),
            matcher => format!(" ({matcher})"),
        };
        format!("{}{about}: {}", self.event, self.command)
    }
}

impl Reading<'_> {
    /// Reads hooks.
    pub(super) fn hooks(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), HostError> {
        let Some(all) = value.get_ref().as_array() else {
            return Err(self.mistyped("hooks", "a list of tables, [[hooks]]", value));
        };
        for one in all.iter() {
            let table = self.table("hooks", one)?;
            let hook = self.hook(table, one)?;
            self.layer.hooks.push(hook);
        }
        Ok(())
    }

    fn hook(&self, table: &DeTable<'_>, at: &Spanned<DeValue<'_>>) -> Result<Hook, HostError> {
        let (mut event, mut command, mut name) = (None, None, None);
        let mut matcher = String::new();
        let mut limit = USUAL_LIMIT;
        for (key, value) in entries(table) {
            match key.get_ref().as_ref() {
                "event" => event = Some(self.event(value)?),
                "command" => command = Some(self.text("hooks.command", value)?.value),
                "name" => name = Some(self.text("hooks.name", value)?.value),
                "matcher" => matcher = self.matcher(value)?,
                "timeout" => limit = self.time(value)?,
                other => {
                    let what = format!("unknown key `hooks.{}`", other.escape_debug());
                    let way = match suggest::nearest(other, KEYS) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("there are: {}", KEYS.join(", ")),
                    };
                    return Err(self.page.fault(&what, &key.span(), Some(&way)));
                }
            }
        }
        let (Some(event), Some(command)) = (event, command) else {
            let what = "a hook needs `event` and `command`";
            return Err(self.page.fault(what, &at.span(), None));
        };
        let usual = || {
            let word = command.split_whitespace().next().unwrap_or_default();
            word.chars().take(MOST_OF_NAME).collect()
        };
        Ok(Hook {
            named: name.is_some(),
            name: name.unwrap_or_else(usual),
            event,
            matcher,
            limit,
            owner: self.owner,
            source: self.sourced((), at).source,
            command,
        })
    }

    fn event(&self, value: &Spanned<DeValue<'_>>) -> Result<Point, HostError> {
        let written = self.text("hooks.event", value)?.value;
        if let Some(point) = Point::named(&written) {
            return Ok(point);
        }
        let names = Point::ALL.map(|point| (point.name().to_lowercase(), point.name()));
        let near = suggest::nearest(&written, names.iter().map(|(lower, _)| lower.as_str()));
        let near = near.and_then(|near| names.iter().find(|(lower, _)| lower == near));
        let what = format!("`{}` is no event of hooks", written.escape_debug());
        let way = match near {
            Some((_, name)) => format!("did you mean `{name}`?"),
            None => format!("there are: {}", Point::ALL.map(Point::name).join(", ")),
        };
        Err(self.page.fault(&what, &value.span(), Some(&way)))
    }

    fn matcher(&self, value: &Spanned<DeValue<'_>>) -> Result<String, HostError> {
        let DeValue::String(text) = value.get_ref() else {
            return Err(self.mistyped("hooks.matcher", "text in quotes", value));
        };
        if let Err(why) = Matcher::parse(text) {
            let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
            let what = format!("`hooks.matcher` cannot be read: {why}");
            return Err(self.page.fault(&what, &value.span(), None));
        }
        Ok(text.trim().to_owned())
    }

    /// Reads a time: a number of seconds, or text with a unit.
    fn time(&self, value: &Spanned<DeValue<'_>>) -> Result<Duration, HostError> {
        let name = "hooks.timeout";
        let time = match value.get_ref() {
            DeValue::Integer(digits) => {
                let seconds = u64::from_str_radix(digits.as_str(), digits.radix()).ok();
                seconds.map(Duration::from_secs)
            }
            DeValue::String(text) => match text.parse::<Span>() {
                Ok(span) => Some(Duration::from(span)),
                Err(why) => {
                    let what = format!("`{name}` cannot be read: {why}");
                    return Err(self.page.fault(&what, &value.span(), None));
                }
            },
            DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => {
                let wanted = "seconds, or text with a unit, such as \"10s\"";
                return Err(self.mistyped(name, wanted, value));
            }
        };
        match time.filter(|time| !time.is_zero() && *time <= MOST_TIME) {
            Some(time) => Ok(time),
            None => {
                let what = format!("`{name}` is not between 1ms and 1h");
                Err(self.page.fault(&what, &value.span(), None))
            }
        }
    }
}

#[cfg(test)]
mod tests;

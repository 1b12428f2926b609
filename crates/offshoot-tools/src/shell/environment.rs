//! The environment that commands see.
//!
//! Chosen by whoever assembles the program; here only what makes commands behave
//! without a terminal is added. Keys of our own model providers are named by the
//! assembly and never reach a command. The keeper is given the same environment,
//! so what was removed is not in its `/proc` entry either.

use std::ffi::{OsStr, OsString};

use tokio::process::Command;

/// What commands are told by default: nobody is there to look, page or answer.
const ALWAYS: [(&str, &str); 5] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("NO_COLOR", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Names the scratch folder to commands.
const SCRATCH: &str = "OFFSHOOT_SCRATCH";

/// Variables of providers' keys, which no command is given.
const KEYS: [&str; 6] = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
];

/// What commands see of the environment.
#[derive(Clone, Debug)]
pub struct Environment {
    /// What they start from.
    pub base: Base,
    /// Names that are taken out, such as the keys of our own providers.
    pub remove: Vec<OsString>,
}

/// What the environment of commands starts from.
#[derive(Clone, Debug)]
pub enum Base {
    /// All that this process has.
    Inherited,
    /// These, and nothing else.
    Given(Vec<(OsString, OsString)>),
}

impl Environment {
    /// All that this process has, without the keys of known providers and without these variables.
    pub fn without_keys<'a>(secret: impl IntoIterator<Item = &'a String>) -> Self {
        let mut remove: Vec<OsString> = KEYS.iter().map(OsString::from).collect();
        remove.extend(secret.into_iter().map(OsString::from));
        let base = Base::Inherited;
        Self { base, remove }
    }

    /// Returns the name of the locale that decides which bytes are a letter.
    fn locale(&self) -> OsString {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        let mut values = names.iter().filter_map(|name| self.value(name));
        values.find(|value| !value.is_empty()).unwrap_or_default()
    }

    /// Returns what a variable says before anything is added.
    fn value(&self, name: &str) -> Option<OsString> {
        if self.remove.iter().any(|removed| removed == name) {
            return None;
        }
        match &self.base {
            #[expect(
                clippy::disallowed_methods,
                reason = "what is inherited is what is there"
            )]
            Base::Inherited => std::env::var_os(name),
            Base::Given(variables) => {
                let mut given = variables.iter().rev();
                let found = given.find(|(given, _)| given == name);
                found.map(|(_, value)| value.clone())
            }
        }
    }

    /// Tells git to take no folder for a repository that only looks like one: what an agent has
    /// written there would be settings and hooks. Behind what else is set in this way.
    fn guard_git(&self, command: &mut Command) {
        let count = self.value("GIT_CONFIG_COUNT");
        let count = count.and_then(|count| count.to_str()?.parse::<usize>().ok());
        let index = count.unwrap_or_default();
        command.env(format!("GIT_CONFIG_KEY_{index}"), "safe.bareRepository");
        command.env(format!("GIT_CONFIG_VALUE_{index}"), "explicit");
        command.env("GIT_CONFIG_COUNT", index.saturating_add(1).to_string());
    }

    /// Returns the variables that a client adds to its own environment for a command; `None` where
    /// commands see nothing that is not given, because a client takes nothing away.
    ///
    /// For the same reason, what is taken out is empty here.
    pub(super) fn for_client(&self, scratch: Option<&str>) -> Option<Vec<(String, String)>> {
        if matches!(self.base, Base::Given(_)) {
            return None;
        }
        let mut command = Command::new("bash");
        self.apply(scratch, &mut command);
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        let variables = command.as_std().get_envs();
        Some(
            variables
                .map(|(name, value)| (text(name), value.map(text).unwrap_or_default()))
                .collect(),
        )
    }

    pub(super) fn apply(&self, scratch: Option<&str>, command: &mut Command) {
        let Self { base, remove } = self;
        match base {
            Base::Inherited => {}
            Base::Given(variables) => {
                let variables = variables.iter().map(|(name, value)| (name, value));
                command.env_clear().envs(variables);
            }
        }
        for name in remove {
            command.env_remove(name);
        }
        // With them `cd a` or `cd ..` leads elsewhere than it says, and what is redirected there as well:
        // bash keeps a path to its folder that goes through a link.
        for name in ["CDPATH", "PWD", "OLDPWD"] {
            command.env_remove(name);
        }
        command.envs(ALWAYS);
        self.guard_git(command);
        if !reads_bytes_alike(&self.locale()) {
            command.env("LC_ALL", "C.UTF-8");
        }
        match scratch {
            Some(scratch) => command.env(SCRATCH, scratch),
            // One of an outer offshoot is not ours to hand on.
            None => command.env_remove(SCRATCH),
        };
    }
}

/// Tells whether bash in a locale takes no byte of ASCII for a part of another letter. In GBK or Big5 a
/// `\\` may be one, and commands are judged as if it were not.
fn reads_bytes_alike(locale: &OsStr) -> bool {
    let Some(locale) = locale.to_str() else {
        return false;
    };
    let name = locale.split('@').next().unwrap_or_default();
    let (language, charset) = match name.split_once('.') {
        Some((language, charset)) => (language, charset.to_ascii_lowercase()),
        None => (name, String::new()),
    };
    let charset = charset.replace('-', "");
    if !charset.is_empty() {
        let known = ["utf8", "iso8859", "ascii", "usascii", "koi8", "ansi_x3.4"];
        return known.iter().any(|known| charset.starts_with(known));
    }
    // Without a name, those of three languages have such letters.
    let language = language.split('_').next().unwrap_or_default();
    let has_other = ["zh", "ja", "ko"].contains(&language);
    matches!(language, "" | "C" | "POSIX") || (language.len() == 2 && !has_other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a variable becomes where these are given.
    fn becomes(variables: &[(&str, &str)], name: &str) -> Option<String> {
        let given = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        let environment = Environment {
            base: Base::Given(given.collect()),
            remove: Vec::new(),
        };
        let mut command = Command::new("bash");
        environment.apply(None, &mut command);
        let mut variables = command.as_std().get_envs();
        let set = variables.find(|(given, _)| *given == name);
        set.and_then(|(_, value)| value?.to_str().map(str::to_owned))
    }

    #[test]
    fn no_folder_that_was_there_before_says_where_a_cd_leads() {
        for name in ["CDPATH", "PWD", "OLDPWD"] {
            assert_eq!(becomes(&[(name, "/link/to/here")], name), None);
        }
    }

    #[test]
    fn git_is_told_behind_what_else_it_is_told() {
        let key = |variables: &[(&str, &str)], name| becomes(variables, name).unwrap();
        let count = ("GIT_CONFIG_COUNT", "2");
        let own = ("GIT_CONFIG_KEY_0", "user.name");
        assert_eq!(key(&[], "GIT_CONFIG_COUNT"), "1");
        assert_eq!(key(&[], "GIT_CONFIG_KEY_0"), "safe.bareRepository");
        assert_eq!(key(&[count, own], "GIT_CONFIG_COUNT"), "3");
        assert_eq!(key(&[count, own], "GIT_CONFIG_KEY_0"), "user.name");
        assert_eq!(key(&[count, own], "GIT_CONFIG_VALUE_2"), "explicit");
        assert_eq!(key(&[("GIT_CONFIG_COUNT", "x")], "GIT_CONFIG_COUNT"), "1");
    }

    #[test]
    fn bash_is_started_in_a_locale_in_which_a_backslash_is_one() {
        let locale = |variables: &[(&str, &str)]| becomes(variables, "LC_ALL");
        let other = Some("C.UTF-8".to_owned());
        for name in [
            "zh_CN.GBK",
            "zh_TW.BIG5",
            "zh_TW",
            "ja_JP.SJIS",
            "ja_JP",
            "japanese",
            "de_DE.x",
        ] {
            assert_eq!(locale(&[("LANG", name)]), other, "{name}");
            assert_eq!(
                locale(&[("LC_ALL", ""), ("LC_CTYPE", name), ("LANG", "C")]),
                other,
                "{name}"
            );
            assert_eq!(locale(&[("LC_ALL", name)]), other, "{name}");
        }
        for name in [
            "C",
            "POSIX",
            "",
            "C.UTF-8",
            "zh_CN.utf8",
            "de_DE",
            "de_DE.ISO-8859-15@euro",
        ] {
            assert_eq!(locale(&[("LANG", name)]), None, "{name}");
        }
        assert_eq!(locale(&[]), None);
    }
}

//! The settings of this call, with what the terminal of this process can show.
//!
//! Settings are read in `offshoot-host`; how a terminal is written to is decided here, and nowhere else.
//! The rest of the program reads both through one `Settings`.

use std::ops::Deref;
use std::path::Path;

pub(crate) use offshoot_host::config::{
    Color, Files, HeaderSetting, Layer, Level, Provider, Source, Sourced, Word, workspace,
};

use crate::console::Style;
use crate::env::Surroundings;
use crate::exit::Stop;
use crate::terminal;

/// What holds for this call.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    host: offshoot_host::config::Settings,
    /// How a terminal on stdout is written to.
    pub(crate) style: Style,
    /// Whether it can do nothing but take line after line.
    pub(crate) dumb: bool,
}

impl Settings {
    /// Loads settings; `cwd` is the folder to work in if it is not the current one.
    pub(crate) fn load(
        flags: Layer,
        cwd: Option<&Path>,
        surroundings: &Surroundings,
        files: Files,
    ) -> Result<Self, Stop> {
        let host = offshoot_host::config::Settings::load(flags, cwd, surroundings, files)?;
        let style = Style {
            colour: terminal::has_colors(host.color.value, &std::io::stdout(), surroundings),
            unicode: terminal::has_unicode(surroundings),
        };
        Ok(Self {
            host,
            style,
            dumb: terminal::is_dumb(surroundings),
        })
    }

    /// Returns where the user's config file is, whether it is there or not; `None` without a home.
    pub(crate) fn user_file(surroundings: &Surroundings) -> Option<std::path::PathBuf> {
        offshoot_host::config::Settings::user_file(surroundings)
    }
}

impl Deref for Settings {
    type Target = offshoot_host::config::Settings;

    fn deref(&self) -> &Self::Target {
        &self.host
    }
}

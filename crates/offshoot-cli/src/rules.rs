//! Shows what is odd about permission rules. The rules are read in `offshoot-host`.
//!
//! Before a run no more warnings are shown than a user reads; `permissions list` shows all.

use offshoot_agents::Catalogue;

pub(crate) use offshoot_host::rules::{Rules, few, shown, word};

use crate::config::Settings;
use crate::output;

/// Says on stderr what is odd about the rules, as far as a user reads it before a run.
pub(crate) fn warn(settings: &Settings) {
    tell(few(&settings.warnings));
}

/// Says all of it.
pub(crate) fn warn_of_all(settings: &Settings) {
    tell(settings.warnings.clone());
}

/// Says on stderr which rules name an agent that is not there.
pub(crate) fn warn_of_strangers(settings: &Settings, workspace: &str, agents: &Catalogue) {
    let strangers = offshoot_host::rules::strangers(settings, workspace, agents);
    tell(few(&strangers));
}

fn tell(warnings: Vec<String>) {
    for warning in warnings {
        output::note(&format!("warning: {warning}"));
    }
}

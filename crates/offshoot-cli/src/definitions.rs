//! Shows what is wrong with agent files. The files are read in `offshoot-host`.
//!
//! A file that is wrong costs a warning and its agent, and keeps no other agent from working.

use offshoot_agents::{Catalogue, Diagnostic};

pub(crate) use offshoot_host::definitions::{
    Brought, ForeignFolder, brought, foreign_folders, helps, load, refuse, refuse_broken,
    startable, unknown, without_tier_model,
};

use crate::{output, render};

/// Most warnings that are shown before a run; `doctor` shows all.
const MOST_WARNINGS: usize = 10;

/// Says on stderr what is wrong with definitions.
pub(crate) fn warn(catalogue: &Catalogue) {
    let diagnostics = catalogue.diagnostics();
    for diagnostic in diagnostics.iter().take(MOST_WARNINGS) {
        tell(diagnostic);
    }
    let more = diagnostics.len().saturating_sub(MOST_WARNINGS);
    if more > 0 {
        output::note(&format!("warning: {more} more; see \"offshoot doctor\""));
    }
    if let Some(text) = offshoot_host::definitions::untrusted(catalogue) {
        output::note(&text);
    }
}

/// Says on stderr what is wrong with one file.
pub(crate) fn warn_of(catalogue: &Catalogue, path: &str) {
    let diagnostics = catalogue.diagnostics().iter();
    diagnostics
        .filter(|found| found.path == path)
        .for_each(tell);
}

/// Says on stderr one thing that is wrong.
pub(crate) fn tell(diagnostic: &Diagnostic) {
    let text = render::harmless(&diagnostic.to_string());
    output::note(&format!("warning: {text}"));
}

//! Mentions the MCP servers that a folder names. They are read in `offshoot-host`, and not started yet.

pub(crate) use offshoot_host::servers::brought;

use crate::config::Settings;
use crate::output;

/// Says that a folder names servers, which are not started yet.
pub(crate) fn warn(settings: &Settings, workspace: &str) {
    if let Some(notice) = offshoot_host::servers::notice(settings, workspace) {
        output::note(&notice);
    }
}

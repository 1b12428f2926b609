//! Shows which hooks are not used or never called. The hooks are read in `offshoot-host`.
//!
//! A notice about a hook that guards calls is shown also where the user wants no notices.

use offshoot_agents::Catalogue;

pub(crate) use offshoot_host::hooks::{at_end, oddities, unused, used};

use crate::config::Settings;
use crate::output;

/// Says which hooks of a folder are not used, and which are never called.
pub(crate) fn warn(settings: &Settings, workspace: &str, agents: &Catalogue) {
    for notice in offshoot_host::hooks::notices(settings, workspace, agents) {
        if notice.is_guard {
            output::complain(&notice.text);
        } else {
            output::note(&notice.text);
        }
    }
}

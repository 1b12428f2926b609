//! Tools behind the `Tool` port.
//!
//! Those for files are confined to the workspace and the scratch folder by the
//! kernel rather than by looking at paths. A tool knows no agent, no session and
//! no model; whether it may run is decided before, from what `needs` returns.

mod blob;
mod blocking;
mod change;
mod client_text;
mod confined;
mod edit;
mod glob;
mod grep;
pub mod hook;
mod listing;
mod patience;
mod pattern;
mod read;
mod refusal;
pub mod shell;
mod sidecar;
mod target;
mod walk;
mod whole;
mod write;

use std::sync::Arc;

use offshoot_types::tool::{Place, Tool};

pub use change::{MOST_BYTES, Standing, look, make_again, put_back, remove};
pub use sidecar::Sidecars;

/// Says why the tools for files refuse a path in a place, whatever the rules say; `None` if they do
/// not, as far as its text tells.
pub fn refuses(path: &str, place: &Place) -> Option<String> {
    target::Target::new(path, place).err()
}

/// Returns the built-in tools, in the order models see them.
pub fn builtin() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read::Read::new()),
        Arc::new(write::Write::new()),
        Arc::new(edit::Edit::new()),
        Arc::new(glob::Glob::new()),
        Arc::new(grep::Grep::new()),
    ]
}

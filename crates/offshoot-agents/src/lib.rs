//! Agent definitions.
//!
//! The agents that every workspace has, the files in which people write their
//! own, and which of several of one name counts. Bytes come in, manifests and
//! diagnostics go out: finding files is not done here, since nothing here touches
//! the file system. What an agent may do is not decided here either: a manifest
//! only narrows.

mod builtin;
mod catalogue;
mod diagnostic;
mod file;
mod tool_names;

pub use builtin::{HELPERS, builtin};
pub use catalogue::{Catalogue, Definition, Doubt, Origin, Scope, no_helper};
pub use diagnostic::{Diagnostic, Severity};
pub use file::{MAX_FILE_BYTES, Reading, read};
pub use tool_names::unknown_tools;

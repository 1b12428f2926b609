//! Agent definitions.
//!
//! The agents that every workspace has, as manifests. Reading the definition
//! files of others comes here too; finding those files does not, since nothing
//! here touches the file system. What an agent may do is not decided here: a
//! manifest only narrows.

mod builtin;

pub use builtin::builtin;

//! That a file is damaged, known to every connection of a handle once one has met it.
//!
//! SQLite says so again and again and goes on writing wherever it meets no damage. We do
//! not: from the first time on nothing is written, not even what the log beside the file
//! holds, so that whoever rescues the file finds it as it was. A row that this version
//! cannot read is no damage, and neither is a disk that fails.

use std::sync::{Arc, OnceLock};

use offshoot_types::store::StoreError;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::failure::Failure;

/// Whether a file is damaged, as far as anybody has noticed. Clones know the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damage(Arc<OnceLock<StoreError>>);

impl Damage {
    /// Returns what everybody is told since damage was met.
    pub(crate) fn met(&self) -> Option<&StoreError> {
        self.0.get()
    }

    /// Says what was attempted, where, and what came back, and remembers if that is damage.
    pub(crate) fn explain(
        &self,
        failure: impl Into<Failure>,
        place: &str,
        what: &str,
    ) -> StoreError {
        let failure = failure.into();
        let damaged = failure.is_damage();
        let error = failure.explain(place, what);
        if !damaged {
            return error;
        }
        let told = self.0.get_or_init(|| StoreError {
            message: format!("{}; nothing more is written to it", error.message),
            ..error
        });
        told.clone()
    }

    /// Keeps a connection from writing when it is closed: the last one to close would copy the log
    /// into the file and remove it.
    pub(crate) fn spare(&self, connection: &Connection) {
        if self.met().is_some() {
            let spared = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
            // Fails only for a connection that could not be closed either.
            drop(spared);
        }
    }
}

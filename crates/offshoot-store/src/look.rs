//! A data folder, looked at without touching it.
//!
//! For commands that ask what is there before anything is: makes no folder, no file,
//! no lock and no log beside the database. Says less than a `Store` and never
//! waits for another process.

use std::path::Path;

use offshoot_types::id::{Pos, TreeId};
use offshoot_types::store::{SessionSummary, StoreError, StoreErrorKind};
use offshoot_types::tree::Tree;

use crate::backend::Backend;
use crate::handle::{database, is_held};
use crate::sqlite::{Existing, Sqlite};

/// A database in a data folder.
#[derive(Clone, Debug)]
pub enum Look {
    /// The process that used the folder last was killed in the middle of a start; the next process that
    /// opens the database repairs it.
    Interrupted,
    /// The database can be used.
    Usable {
        /// The version of the tables.
        schema: i64,
        /// The roots, the one that changed last first.
        sessions: Vec<SessionSummary>,
    },
}

/// Looks at a data folder; `None` if there is no database in it, or an empty one.
///
/// Fails with `Unusable` if it is damaged, of another version, or not ours.
pub fn look(data_dir: &Path) -> Result<Option<Look>, StoreError> {
    let (mut sqlite, schema) = match Sqlite::open_untouched(&database(data_dir))? {
        None => return Ok(None),
        Some(Existing::Interrupted) => return Ok(Some(Look::Interrupted)),
        Some(Existing::Tables(sqlite, schema)) => (sqlite, schema),
    };
    let mut sessions = sqlite.sessions()?;
    for session in &mut sessions {
        // The row says which process took the tree; only the lock says whether that process lives.
        session.owned = session.owned && is_held(data_dir, &session.tree);
    }
    Ok(Some(Look::Usable { schema, sessions }))
}

/// Returns the sessions that dead processes left at work and that cannot be recovered, and why.
///
/// Reads the whole log of each session that was left at work.
pub fn unrecoverable(
    data_dir: &Path,
    sessions: &[SessionSummary],
) -> Result<Vec<(TreeId, String)>, StoreError> {
    let Some(Existing::Tables(mut sqlite, _)) = Sqlite::open_untouched(&database(data_dir))? else {
        return Ok(Vec::new());
    };
    let mut unrecoverable = Vec::new();
    let left = |session: &&SessionSummary| session.open_runs > 0 && !session.owned;
    for session in sessions.iter().filter(left) {
        if let Some(why) = violation(&mut sqlite, &session.tree)? {
            unrecoverable.push((session.tree.clone(), why));
        }
    }
    Ok(unrecoverable)
}

/// Returns why the log of a session cannot be folded, if so.
fn violation(sqlite: &mut Sqlite, tree: &TreeId) -> Result<Option<String>, StoreError> {
    match sqlite.entries(tree, Pos::ZERO, usize::MAX) {
        Ok(entries) => Ok(Tree::fold(&entries).err().map(|it| it.to_string())),
        Err(error) if error.kind == StoreErrorKind::Unusable => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}

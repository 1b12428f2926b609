//! A data folder, looked at without touching it.
//!
//! For those who ask what is there before anything is: makes no folder, no file,
//! no lock and no log beside the database. Says less than a `Store` and never
//! waits for anybody.

use std::path::Path;

use offshoot_types::id::{Pos, TreeId};
use offshoot_types::store::{SessionSummary, StoreError, StoreErrorKind};
use offshoot_types::tree::Tree;

use crate::backend::Backend;
use crate::handle::{database, is_held};
use crate::sqlite::Sqlite;

/// What is in a data folder.
#[derive(Clone, Debug)]
pub struct Look {
    /// The version of the tables.
    pub schema: i64,
    /// The roots, the one that changed last first.
    pub sessions: Vec<SessionSummary>,
    /// Of the sessions that dead processes left at work, those that cannot be recovered, and why.
    pub unrecoverable: Vec<(TreeId, String)>,
}

/// Looks at a data folder; `None` if there is no database in it, or an empty one.
///
/// Fails with `Unusable` if it is damaged, of another version, or not ours.
pub fn look(data_dir: &Path) -> Result<Option<Look>, StoreError> {
    let Some((mut sqlite, schema)) = Sqlite::open_untouched(&database(data_dir))? else {
        return Ok(None);
    };
    let mut sessions = sqlite.sessions()?;
    for session in &mut sessions {
        // The rows say who took it; only the lock says whether they live.
        session.owned = session.owned && is_held(data_dir, &session.tree);
    }
    let left = |session: &&SessionSummary| session.open_runs > 0 && !session.owned;
    let mut unrecoverable = Vec::new();
    for session in sessions.iter().filter(left) {
        if let Some(why) = violation(&mut sqlite, &session.tree)? {
            unrecoverable.push((session.tree.clone(), why));
        }
    }
    Ok(Some(Look {
        schema,
        sessions,
        unrecoverable,
    }))
}

/// Returns why the log of a session cannot be folded, if so.
fn violation(sqlite: &mut Sqlite, tree: &TreeId) -> Result<Option<String>, StoreError> {
    match sqlite.entries(tree, Pos::ZERO, usize::MAX) {
        Ok(entries) => Ok(Tree::fold(&entries).err().map(|it| it.to_string())),
        Err(error) if error.kind == StoreErrorKind::Unusable => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}

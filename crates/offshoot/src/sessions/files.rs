//! `sessions diff` and `revert`: what agents changed in files, shown or put back.
//!
//! Works from the journal, for a session or for one agent and those below it. A
//! file that somebody edited later is kept as it is, and said to be. What a shell
//! did is not in the journal.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use offshoot_types::event::Origin;
use offshoot_types::id::AgentId;
use offshoot_types::journal::Recorded;

use crate::changes::{self, FileChange};
use crate::config::Settings;
use crate::exit::{Code, Stop};
use crate::lookup::{self, Found};
use crate::output::{self, Stdout};
use crate::{assemble, render};

/// What some agents did, and where.
struct Done {
    changes: Vec<FileChange>,
    workspace: String,
}

/// Shows what an agent and those below it changed.
pub(super) async fn diff(settings: &Settings, id: &str) -> Result<(), Stop> {
    let done = done(settings, id).await?;
    let mut stdout = Stdout::default();
    for change in &done.changes {
        let text = changes::diff(change, done.shown(&change.path));
        stdout.line(text.trim_end_matches('\n'))?;
    }
    if done.changes.is_empty() {
        output::note("no file was changed by read, write and edit of these agents");
    }
    Ok(())
}

/// Puts back what an agent and those below it changed.
pub(super) async fn revert(settings: &Settings, id: &str, dry_run: bool) -> Result<Code, Stop> {
    let done = done(settings, id).await?;
    let mut stdout = Stdout::default();
    let mut kept = 0;
    for change in &done.changes {
        let shown = render::harmless(done.shown(&change.path));
        let result = match &change.kept {
            Some(why) => Err(why.clone()),
            None if dry_run => Ok(()),
            None => put_back(change).map_err(|error| error.to_string()),
        };
        match result {
            Ok(()) => {
                let word = if dry_run { "would revert" } else { "reverted" };
                stdout.line(&format!("{word} {shown}"))?;
            }
            Err(why) => {
                kept += 1;
                stdout.line(&format!("kept {shown}: {why}"))?;
            }
        }
    }
    if done.changes.is_empty() {
        output::note("there is nothing to put back");
    }
    Ok(match kept {
        0 => Code::Completed,
        kept if kept == done.changes.len() => Code::Failed,
        _ => Code::Partial,
    })
}

async fn done(settings: &Settings, id: &str) -> Result<Done, Stop> {
    let store = assemble::store(&settings.data_dir.value)?;
    let Found { agent, session } = lookup::find(store.as_ref(), id).await?;
    let records: Vec<Recorded> = store.changes(&session.id).await?;
    let below = session.tree.below(&agent).into_iter();
    let agents: BTreeSet<AgentId> = below.cloned().collect();
    let root = session.tree.agent(session.id.root());
    let workspace = match root.map(|root| &root.spawned.origin) {
        Some(Origin::Session { workspace, .. }) => workspace.clone(),
        Some(Origin::Task(_)) | None => String::new(),
    };
    let changes = changes::collect(&records, &agents, |path| now(Path::new(path)));
    Ok(Done { changes, workspace })
}

impl Done {
    /// Returns a path as people see it: from the workspace where it lies there.
    fn shown<'a>(&self, path: &'a str) -> &'a str {
        let inside = path.strip_prefix(self.workspace.trim_end_matches('/'));
        inside
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(path)
    }
}

/// Returns what stands there now; `None` where there is no file.
fn now(path: &Path) -> Option<Vec<u8>> {
    // A link that somebody put there is not the file that was changed.
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    is_file.then(|| fs::read(path).ok()).flatten()
}

/// Puts a file back, at once or not at all.
fn put_back(change: &FileChange) -> io::Result<()> {
    let path = Path::new(&change.path);
    let Some(before) = &change.before else {
        return fs::remove_file(path);
    };
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut draft = tempfile::NamedTempFile::new_in(folder)?;
    draft.write_all(before)?;
    if let Ok(found) = fs::metadata(path) {
        draft.as_file().set_permissions(found.permissions())?;
    }
    draft.as_file().sync_data()?;
    // Looked at once more, as late as can be: an editor may have been quicker.
    if now(path) != change.after {
        return Err(io::Error::other("it was edited just now"));
    }
    draft.persist(path).map(drop).map_err(|error| error.error)
}

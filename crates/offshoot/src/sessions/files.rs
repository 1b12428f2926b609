//! `sessions diff` and `revert`: what agents changed in files, shown or put back.
//!
//! Works from the journal, for a session or for one agent and those below it. A
//! file that somebody edited later is kept as it is, and said to be; it is looked
//! at once more right before it is touched. While a session is put back nobody
//! runs it. What a shell did is not in the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use offshoot_tools::MOST_BYTES;
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::journal::Recorded;
use offshoot_types::outcome::Outcome;
use offshoot_types::store::{Store, StoreErrorKind};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::is_owned;
use crate::changes::{self, Fate, FileChange, Now};
use crate::config::Settings;
use crate::exit::{Code, Stop};
use crate::lookup::{self, Found, Session};
use crate::output::{self, Stdout};
use crate::{assemble, render};

/// What some agents did, and where.
struct Done {
    changes: Vec<FileChange>,
    workspace: String,
}

/// Shows what an agent and those below it changed.
pub(super) async fn diff(settings: &Settings, id: &str) -> Result<(), Stop> {
    let store = assemble::kept_store(&settings.data_dir.value)?;
    let found = lookup::find(store.as_ref(), id).await?;
    let done = done(store.as_ref(), &found).await?;
    let mut stdout = Stdout::default();
    for change in &done.changes {
        let text = changes::diff(change, done.shown(&change.path));
        stdout.line(text.trim_end_matches('\n'))?;
    }
    if done.changes.is_empty() {
        output::note("no file was changed by write and edit of these agents");
    }
    Ok(())
}

/// Puts back what an agent and those below it changed, unless the session is run.
pub(super) async fn revert(settings: &Settings, id: &str, dry_run: bool) -> Result<Code, Stop> {
    let store = assemble::store(&settings.data_dir.value)?;
    let Found { agent, session } = lookup::find(store.as_ref(), id).await?;
    let held = || {
        Stop::usage(format!(
            "session {} is run by another process, which may write these files; end that first",
            session.id
        ))
    };
    if dry_run {
        if is_owned(store.as_ref(), &session.id).await? {
            return Err(held());
        }
        return put_all_back(
            &done(store.as_ref(), &Found { agent, session }).await?,
            dry_run,
        );
    }
    let claimed = store.claim(&session.id).await;
    let lease = claimed.map_err(|error| {
        if error.kind == StoreErrorKind::Held {
            return held();
        }
        error.into()
    })?;
    // What was done until it was ours counts, too.
    let Some(session) = lookup::session(store.as_ref(), &session.id).await? else {
        return Err(Stop::usage(format!("session {} is gone", session.id)));
    };
    let done = done(store.as_ref(), &Found { agent, session }).await?;
    let code = put_all_back(&done, dry_run);
    if let Err(error) = store.release(lease).await {
        // Given up with this process, as after a crash.
        tracing::warn!(%error, "release");
    }
    code
}

fn put_all_back(done: &Done, dry_run: bool) -> Result<Code, Stop> {
    let mut stdout = Stdout::default();
    let mut kept = 0;
    for change in &done.changes {
        let shown = render::harmless(done.shown(&change.path));
        let result = match &change.kept {
            Some(why) => Err(why.clone()),
            None if dry_run => Ok(()),
            None => put_back(change),
        };
        match result {
            Ok(()) => {
                // What was not there before is gone afterwards: nobody should read that as kept.
                let word = match (&change.before, dry_run) {
                    (Some(_), true) => "would revert",
                    (Some(_), false) => "reverted",
                    (None, true) => "would remove",
                    (None, false) => "removed",
                };
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

async fn done(store: &dyn Store, found: &Found) -> Result<Done, Stop> {
    let Found { agent, session } = found;
    let records: Vec<Recorded> = store.changes(&session.id).await?;
    let below = session.tree.below(agent).into_iter();
    let agents: BTreeSet<AgentId> = below.cloned().collect();
    let workspace = session.workspace().unwrap_or_default().to_owned();
    let outcomes = outcomes(session);
    let fate = |record: &Recorded| {
        let call = (&record.writer.agent, &record.call);
        Fate::of(outcomes.get(&call).copied())
    };
    let changes = changes::collect(&records, &agents, fate, |path| look(Path::new(path)).0);
    Ok(Done { changes, workspace })
}

/// Returns what the calls of a session came to. An agent never has two calls of one id.
fn outcomes(session: &Session) -> BTreeMap<(&AgentId, &CallId), &Outcome> {
    let mut outcomes = BTreeMap::new();
    for entry in &session.log {
        if let Event::CallFinished { call, outcome, .. } = &entry.event {
            outcomes.insert((&entry.agent, call), outcome);
        }
    }
    outcomes
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

/// Returns what stands at a path, and who may read it.
///
/// A link that somebody put there is not followed, and of what is bigger than any file that agents
/// write nothing is read.
fn look(path: &Path) -> (Now, Option<Permissions>) {
    let other = |what: &str| (Now::Other(what.to_owned()), None);
    // A pipe must not keep us waiting.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::NOTDIR) => return (Now::Absent, None),
        Err(Errno::LOOP) => return other("a link stands there now"),
        Err(errno) => return other(&format!("it cannot be read: {errno}")),
    };
    match read(file) {
        Ok(Some((content, permissions))) => (Now::File(content), Some(permissions)),
        Ok(None) => other("it was edited since"),
        Err(error) => other(&format!("it cannot be read: {error}")),
    }
}

/// Reads a file; `None` for what no agent can have written.
fn read(file: File) -> io::Result<Option<(Vec<u8>, Permissions)>> {
    let about = file.metadata()?;
    let most = MOST_BYTES as u64;
    if !about.is_file() || about.len() > most {
        return Ok(None);
    }
    let mut content = Vec::new();
    // It may grow while it is read.
    file.take(most + 1).read_to_end(&mut content)?;
    Ok((content.len() <= MOST_BYTES).then(|| (content, about.permissions())))
}

/// Puts a file back, at once or not at all; or says why not.
fn put_back(change: &FileChange) -> Result<(), String> {
    let path = Path::new(&change.path);
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut draft = None;
    if let Some(before) = &change.before {
        draft = Some(drafted(folder, before).map_err(|error| error.to_string())?);
    }
    let _lock = lock(folder)?;
    // Looked at once more, as late as can be: an editor may have been quicker.
    let (now, permissions) = look(path);
    if !now.is(change.after.as_ref()) {
        return Err("it was edited just now".to_owned());
    }
    let replaced = match (draft, permissions) {
        (None, _) => fs::remove_file(path),
        (Some(draft), Some(permissions)) => draft
            .as_file()
            .set_permissions(permissions)
            .and_then(|()| draft.persist(path).map(drop).map_err(|error| error.error)),
        (Some(draft), None) => draft
            .persist_noclobber(path)
            .map(drop)
            .map_err(|error| error.error),
    };
    replaced.map_err(|error| error.to_string())
}

/// Writes what comes to a file beside it, down to the disk.
fn drafted(folder: &Path, content: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut draft = tempfile::NamedTempFile::new_in(folder)?;
    draft.write_all(content)?;
    draft.as_file().sync_data()?;
    Ok(draft)
}

/// Locks a folder as agents of other sessions do while they replace a file in it.
fn lock(folder: &Path) -> Result<OwnedFd, String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty());
    let folder = opened.map_err(|errno| errno.to_string())?;
    match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        // A file system without locks: what is left is the look before the change.
        Ok(()) | Err(Errno::NOTSUP | Errno::NOSYS) => Ok(folder),
        Err(Errno::WOULDBLOCK) => Err("another program holds a lock on its folder".to_owned()),
        Err(errno) => Err(errno.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_edited_in_the_last_moment_is_neither_removed_nor_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        for before in [None, Some(b"old".to_vec())] {
            fs::write(&path, "theirs").unwrap();
            let change = FileChange {
                path: path.to_str().unwrap().to_owned(),
                before: before.clone(),
                after: Some(b"ours".to_vec()),
                kept: None,
            };
            assert_eq!(put_back(&change), Err("it was edited just now".to_owned()));
            assert_eq!(fs::read(&path).unwrap(), b"theirs");
            fs::write(&path, "ours").unwrap();
            assert_eq!(put_back(&change), Ok(()));
            assert_eq!(fs::read(&path).ok(), before);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_a_pipe_and_a_huge_file_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert_eq!(look(&at("none")).0, Now::Absent);
        fs::write(at("file"), "text").unwrap();
        assert_eq!(look(&at("file")).0, Now::File(b"text".to_vec()));
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        let link = Now::Other("a link stands there now".to_owned());
        assert_eq!(look(&at("link")).0, link);
        let edited = Now::Other("it was edited since".to_owned());
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), mode).unwrap();
        assert_eq!(look(&at("pipe")).0, edited);
        let huge = File::create(at("huge")).unwrap();
        huge.set_len(1 << 36).unwrap();
        assert_eq!(look(&at("huge")).0, edited);
        assert_eq!(look(folder.path()).0, edited);
    }
}

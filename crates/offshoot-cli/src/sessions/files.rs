//! `sessions diff` and `revert`: what agents changed in files, shown or put back.
//!
//! Works from the journal, for a session or for one agent and those below it, one
//! file at a time. A file that somebody edited later is kept as it is, and said to
//! be; it is looked at once more right before it is touched, on the terms that it
//! was changed on: no link is followed. While a session is put back nobody runs it.
//! What a shell did is not in the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use offshoot_engine::{Runtime, query, scratch};
use offshoot_tools::Standing;
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, CallId, TreeId};
use offshoot_types::journal::{ContentId, Traced};
use offshoot_types::outcome::Outcome;
use offshoot_types::store::StoreErrorKind;
use offshoot_types::tool::Place;

use crate::changes::{self, Fate, FileChange, Kept, Now};
use crate::config::Settings;
use crate::exit::{Code, Stop};
use crate::lookup::{self, Found, Session};
use crate::output::{self, Stdout};
use crate::{assemble, render};

/// What some agents did, and where.
struct Done<'a> {
    runtime: &'a Runtime,
    session: TreeId,
    changes: Vec<FileChange>,
    place: Place,
}

/// Shows what an agent and those below it changed.
pub(super) async fn diff(settings: &Settings, id: &str) -> Result<(), Stop> {
    let folder = assemble::kept_data_folder(settings)?;
    let found = lookup::find(&folder.runtime, id).await?;
    let done = done(&folder.runtime, &found, &settings.data_dir.value).await?;
    let mut stdout = Stdout::default();
    for change in &done.changes {
        let shown = done.shown(&change.path);
        if change.kept == Some(Kept::Unknown) {
            let why = Kept::Unknown.why();
            output::note(&format!("a change of {}: {why}", render::harmless(shown)));
            continue;
        }
        let before = done.content(change.before).await?;
        let after = done.content(change.after).await?;
        let text = changes::diff(before, after, shown);
        stdout.line(text.trim_end_matches('\n'))?;
    }
    if done.changes.is_empty() {
        output::note("no file was changed by write and edit of these agents");
    }
    Ok(())
}

/// Puts back what an agent and those below it changed, unless the session is run.
pub(super) async fn revert(settings: &Settings, id: &str, dry_run: bool) -> Result<Code, Stop> {
    let data_dir = &settings.data_dir.value;
    let runtime = assemble::data_folder(settings)?.runtime;
    let Found { agent, session } = lookup::find(&runtime, id).await?;
    let held = || {
        Stop::usage(format!(
            "session {} is run by another process, which may write these files; end that first",
            session.id
        ))
    };
    if dry_run {
        if runtime.query(query::IsOwned(session.id.clone())).await? {
            return Err(held());
        }
        let found = Found { agent, session };
        let done = done(&runtime, &found, data_dir).await?;
        return put_all_back(&done, dry_run).await;
    }
    let hold = runtime.hold(&session.id).await.map_err(|error| {
        if error.kind == StoreErrorKind::Held {
            return held();
        }
        error.into()
    })?;
    // What was done until it was ours counts, too.
    let Some(session) = lookup::session(&runtime, &session.id).await? else {
        return Err(Stop::usage(format!("session {} is gone", session.id)));
    };
    let done = done(&runtime, &Found { agent, session }, data_dir).await?;
    let code = put_all_back(&done, dry_run).await;
    if let Err(error) = hold.release().await {
        // Given up with this process, as after a crash.
        tracing::warn!(%error, "release");
    }
    code
}

async fn put_all_back(done: &Done<'_>, dry_run: bool) -> Result<Code, Stop> {
    let mut stdout = Stdout::default();
    let mut kept = 0;
    for change in &done.changes {
        let shown = render::harmless(done.shown(&change.path));
        let result = match &change.kept {
            Some(kept) => Err(kept.why().to_owned()),
            None if dry_run => Ok(()),
            None => done.put_back(change).await?,
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

async fn done<'a>(runtime: &'a Runtime, found: &Found, data_dir: &Path) -> Result<Done<'a>, Stop> {
    let Found { agent, session } = found;
    let mut done = Done {
        runtime,
        session: session.id.clone(),
        changes: Vec::new(),
        place: place(session, data_dir),
    };
    let records: Vec<Traced> = runtime
        .query(query::FileChanges(session.id.clone()))
        .await?;
    let below = session.tree.below(agent).into_iter();
    let agents: BTreeSet<AgentId> = below.cloned().collect();
    let outcomes = outcomes(session);
    let fate = |record: &Traced| {
        let call = (&record.writer.agent, &record.call);
        Fate::of(outcomes.get(&call).copied())
    };
    for (path, history) in changes::histories(&records, fate) {
        let now = done.now(path).await?;
        let changes = changes::of_file(&history, &agents, &now);
        done.changes.extend(changes);
    }
    Ok(done)
}

/// Returns where the agents of a session worked: in its folder, and in what they kept for themselves.
fn place(session: &Session, data_dir: &Path) -> Place {
    let data = assemble::data(data_dir);
    let scratch = data.as_deref().map(scratch::base);
    Place {
        scratch: scratch.map(|base| scratch::of_session(&base, &session.id)),
        off_limits: data,
        ..Place::new(session.workspace().unwrap_or_default())
    }
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

impl Done<'_> {
    /// Returns a path as people see it: from the workspace where it lies there.
    fn shown<'a>(&self, path: &'a str) -> &'a str {
        let inside = path.strip_prefix(self.place.workspace.trim_end_matches('/'));
        inside
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(path)
    }

    /// Returns what stands at a path.
    async fn now(&self, path: &str) -> Result<Now, Stop> {
        Ok(match offshoot_tools::look(path, &self.place) {
            Standing::Nothing => Now::Absent,
            Standing::Other(why) => Now::Other(why),
            Standing::File(bytes) => {
                let known = query::FindContent(self.session.clone(), bytes);
                let known = self.runtime.query(known).await?;
                known.map_or(Now::Unknown, Now::Known)
            }
        })
    }

    /// Reads what a file contained; `None` where there was no file.
    async fn content(&self, id: Option<ContentId>) -> Result<Option<Vec<u8>>, Stop> {
        match id {
            None => Ok(None),
            Some(id) => match self
                .runtime
                .query(query::FileContent(self.session.clone(), id))
                .await?
            {
                Some(content) => Ok(Some(content)),
                None => Err(Stop::usage(format!("session {} is gone", self.session))),
            },
        }
    }

    /// Puts a file back, at once or not at all; or says why not.
    async fn put_back(&self, change: &FileChange) -> Result<Result<(), String>, Stop> {
        let (path, place) = (change.path.as_str(), &self.place);
        let before = self.content(change.before).await?;
        let after = self.content(change.after).await?;
        Ok(match (before, after) {
            (Some(before), Some(after)) => offshoot_tools::put_back(path, place, &after, &before),
            (Some(before), None) => offshoot_tools::make_again(path, place, &before),
            (None, Some(after)) => offshoot_tools::remove(path, place, &after, change.since),
            (None, None) => Ok(()),
        })
    }
}

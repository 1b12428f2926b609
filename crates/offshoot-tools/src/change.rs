//! Changing one file: look, record, replace.
//!
//! Whoever changes a file holds its lock from the look to the replacement, so
//! agents of this process take turns on one path and never on two (TLS-07). The
//! journal has the change before the file does. What other programs did to the
//! file in between is found right before the replacement and is a conflict. Where the
//! session has a client with text files, the text comes from the client and goes to it;
//! what it keeps of the change on disk is looked at afterwards, for the journal.

mod back;
mod belonging;
mod draft;
mod file;
mod lock;

use offshoot_types::client_ports::Files;
use offshoot_types::journal::{Change, Writer};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::tool::Work;

pub use self::back::{Standing, look, make_again, put_back, remove};
pub use self::file::MOST_BYTES;
use crate::blocking;
use crate::client_text::{self, ClientText};
use crate::refusal::Refusal;
use crate::target::Target;

/// What a file is to contain, and what the tool wants to say of it.
pub(crate) struct Plan<T> {
    pub(crate) after: Vec<u8>,
    pub(crate) report: T,
}

/// A change that was made.
pub(crate) struct Changed<T> {
    /// Whether there was no file before.
    pub(crate) created: bool,
    /// Names whoever wrote the file before, if that was another agent; empty otherwise.
    pub(crate) note: String,
    pub(crate) report: T,
}

/// Replaces what `target` contains by what `plan` makes of it; `None` is no file.
///
/// Cancelling is heard until the change is recorded; from there it is carried
/// through, since a short write is quicker than explaining half of one.
pub(crate) async fn change<T: Send + 'static>(
    work: &Work,
    target: &Target,
    plan: impl FnOnce(Option<&[u8]>) -> Result<Plan<T>, Refusal> + Send + 'static,
) -> Result<Changed<T>, Refusal> {
    let path = target.absolute();
    let lock = tokio::select! {
        biased;
        () = work.cancel.cancelled() => return Err(Refusal::cancelled()),
        lock = lock::acquire(&path) => lock,
    };
    let note = note(work, &path).await;
    let at = target.clone();
    let on_disk = blocking::attempt(move || content(&at)).await??;
    let (client, before) = match client_text::ask(work, target, on_disk.as_deref()).await? {
        Some(ClientText { files, content }) => (Some(files), content),
        None => (None, on_disk.clone()),
    };
    let planned = blocking::attempt(move || {
        let plan = plan(before.as_deref())?;
        file::check_size(plan.after.len(), "it would have")?;
        Ok((before, plan))
    });
    let (before, Plan { after, report }) = match planned.await? {
        Ok(planned) => planned,
        Err(refusal) if is_conflict(&refusal) => return Err(refusal.and(&note)),
        Err(refusal) => return Err(refusal),
    };
    if work.cancel.is_cancelled() {
        return Err(Refusal::cancelled());
    }
    let change = Change {
        path: path.clone(),
        before: before.clone(),
        after: Some(after.clone()),
    };
    work.journal
        .record(change)
        .await
        .map_err(|why| format!("record the change: {why}; the file was not changed"))?;

    let created = before.is_none();
    let at = target.clone();
    let replaced = match client {
        Some(files) => through_client(work, target, files.as_ref(), on_disk, after).await,
        None => {
            let replaced = blocking::attempt(move || {
                let replaced = file::replace(&at, before.as_deref(), &after);
                // Here and not in the future, which may be dropped while this thread still works.
                drop(lock);
                replaced
            });
            replaced.await?
        }
    };
    match replaced {
        Ok(()) => Ok(Changed {
            created,
            note,
            report,
        }),
        Err(refusal) if is_conflict(&refusal) => Err(refusal.and(&self::note(work, &path).await)),
        Err(refusal) => Err(refusal),
    }
}

/// Returns what a file contains on disk; `None` where there is none.
pub(crate) fn content(target: &Target) -> Result<Option<Vec<u8>>, Refusal> {
    Ok(file::find(target)?.map(|found| found.content))
}

/// Has the client replace the text of a file that has `on_disk` on the disk.
async fn through_client(
    work: &Work,
    target: &Target,
    files: &dyn Files,
    on_disk: Option<Vec<u8>>,
    after: Vec<u8>,
) -> Result<(), Refusal> {
    let Ok(text) = std::str::from_utf8(&after) else {
        return Err("it would not be text any more".into());
    };
    let path = target.absolute();
    let (at, expected) = (target.clone(), on_disk.clone());
    let way = blocking::attempt(move || file::prepare(&at, expected.as_deref())).await??;
    if let Err(why) = files.write_text(&path, text).await {
        blocking::attempt(|| way.undo()).await?;
        return Err(format!("the client did not write it: {why}").into());
    }
    let at = target.clone();
    let stands = blocking::attempt(move || content(&at)).await?;
    // An editor may format what it saves. Without this record that would be another program's edit,
    // and the change could not be put back. One that has not saved it yet leaves the disk as it was.
    if let Ok(Some(saved)) = stands
        && saved != after
        && on_disk.as_ref() != Some(&saved)
    {
        let change = Change {
            path,
            before: Some(after),
            after: Some(saved),
        };
        // The change itself is recorded and made.
        work.journal.record(change).await.ok();
    }
    Ok(())
}

fn is_conflict(refusal: &Refusal) -> bool {
    refusal.kind() == ErrorKind::Conflict
}

/// Says who wrote a file last, if it was another agent.
async fn note(work: &Work, path: &str) -> String {
    match work.journal.last_writer(path).await {
        Some(writer) if writer.agent.as_str() != work.place.owner => {
            format!("; it was last written by {}", shown(&writer))
        }
        Some(_) | None => String::new(),
    }
}

/// Names an agent by its definition and the end of its id, which is what tells agents apart.
fn shown(writer: &Writer) -> String {
    let Writer {
        agent, definition, ..
    } = writer;
    let skip = agent.as_str().chars().count().saturating_sub(8);
    let short: String = agent.as_str().chars().skip(skip).collect();
    format!("{} {}", definition.escape_debug(), short.escape_debug())
}

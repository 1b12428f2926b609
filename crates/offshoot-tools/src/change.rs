//! Changing one file: look, record, replace.
//!
//! Whoever changes a file holds its lock from the look to the replacement, so
//! agents of this process take turns on one path and never on two (TLS-07). The
//! journal has the change before the file does. What other programs did to the
//! file in between is found right before the replacement and is a conflict.

mod back;
mod belonging;
mod draft;
mod file;
mod lock;

use offshoot_types::journal::{Change, Writer};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::tool::Work;

pub use self::back::{Standing, look, make_again, put_back, remove};
pub use self::file::MOST_BYTES;
use crate::blocking;
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
    let looked = blocking::attempt(move || plan_over(&at, plan)).await?;
    let (before, Plan { after, report }) = match looked {
        Ok(planned) => planned,
        Err(refusal) if refusal.kind() == ErrorKind::Conflict => return Err(refusal.and(&note)),
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
    let replaced = blocking::attempt(move || {
        let replaced = file::replace(&at, before.as_deref(), &after);
        // Here and not in the future, which may be dropped while this thread still works.
        drop(lock);
        replaced
    });
    match replaced.await? {
        Ok(()) => Ok(Changed {
            created,
            note,
            report,
        }),
        Err(refusal) if refusal.kind() == ErrorKind::Conflict => {
            Err(refusal.and(&self::note(work, &path).await))
        }
        Err(refusal) => Err(refusal),
    }
}

/// Finds what is there and plans what comes.
fn plan_over<T>(
    target: &Target,
    plan: impl FnOnce(Option<&[u8]>) -> Result<Plan<T>, Refusal>,
) -> Result<(Option<Vec<u8>>, Plan<T>), Refusal> {
    let before = file::find(target)?.map(|found| found.content);
    let plan = plan(before.as_deref())?;
    file::check_size(plan.after.len(), "it would have")?;
    Ok((before, plan))
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

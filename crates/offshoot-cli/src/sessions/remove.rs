//! `sessions rm`: removes whole sessions, for good (R8).
//!
//! Only what nobody runs: whoever holds a session is named by the refusal. What
//! agents changed in the workspace stays as it is; what can put it back goes.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use offshoot_engine::scratch;
use offshoot_store::Handle;
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{Pos, TreeId};
use offshoot_types::store::{Lease, Store, StoreErrorKind};

use super::claim;
use crate::assemble;
use crate::cli::Consent;
use crate::config::Settings;
use crate::exit::{Code, Stop};
use crate::inside_agent;
use crate::lookup::{self, Found, Session};
use crate::output::{self, Stdout};
use crate::{render, terminal};

/// How many characters of a session's first prompt are shown.
const MOST_OF_PROMPT: usize = 48;

/// What people are told who think that nothing is left.
const STILL_THERE: &str = "what was removed can still be found in `offshoot.db-wal`, in the data folder, \
                           because another process reads there; it goes when the last process that uses \
                           this data folder ends";

/// Removes sessions.
pub(super) async fn remove(
    settings: &Settings,
    ids: &[String],
    consent: Consent,
) -> Result<Code, Stop> {
    let store = Handle::open(&settings.data_dir.value)?;
    let mut sessions = Vec::new();
    for id in ids {
        let Found { agent, session } = lookup::find(&store, id).await?;
        if agent != *session.id.root() {
            return Err(Stop::usage(format!(
                "{agent} is an agent of session {}; only whole sessions are removed",
                session.id
            )));
        }
        if sessions
            .iter()
            .all(|known: &Session| known.id != session.id)
        {
            sessions.push(session);
        }
    }
    if !consent.yes && !agreed(&sessions)? {
        output::note("nothing was removed");
        return Ok(Code::Completed);
    }
    let mut stdout = Stdout::default();
    let mut code = Code::Completed;
    let mut removed = 0;
    for session in sessions {
        let session = session.id;
        match remove_one(&store, &session, &settings.data_dir.value).await {
            Ok(()) => {
                removed += 1;
                stdout.line(&format!("removed {session}"))?;
            }
            Err(stop) => {
                output::complain(&stop.to_string());
                code = worse(code, stop.code());
            }
        }
    }
    if removed > 0 && !store.swept().await {
        output::complain(STILL_THERE);
        code = worse(code, Code::Partial);
    }
    Ok(code)
}

/// Returns the code that says more: something that failed goes before what was refused.
fn worse(one: Code, other: Code) -> Code {
    match (one, other) {
        (Code::Failed, _) | (_, Code::Completed) => one,
        (Code::Completed | Code::Usage | Code::Partial | Code::TimeUp | Code::Interrupted, _) => {
            other
        }
    }
}

async fn remove_one(store: &dyn Store, session: &TreeId, data_dir: &Path) -> Result<(), Stop> {
    let lease = claim(store, session).await.map_err(|error| {
        if error.kind == StoreErrorKind::Held {
            let text = format!("session {session} is run by another process; stop that first");
            return Stop::usage(text);
        }
        error.into()
    })?;
    delete(store, lease, data_dir).await
}

/// Removes a session that this process opened and in which nothing was said; returns whether it did. Leaves
/// one alone that another process has used meanwhile.
pub(crate) async fn remove_unprompted(session: &TreeId, data_dir: &Path) -> Result<bool, Stop> {
    let store = assemble::store(data_dir)?;
    let store = store.as_ref();
    let lease = claim(store, session).await?;
    let log = lookup::log(store, session, Pos::ZERO).await?;
    let is_unused = |entry: &Entry| matches!(entry.event, Event::Spawned(_) | Event::Hooked(_));
    if log.iter().all(is_unused) && store.pending(session).await?.is_empty() {
        delete(store, lease, data_dir).await?;
        return Ok(true);
    }
    store.release(lease).await?;
    Ok(false)
}

/// Deletes the log of a session and its scratch folder.
async fn delete(store: &dyn Store, lease: Lease, data_dir: &Path) -> Result<(), Stop> {
    let session = lease.tree.clone();
    store.delete(lease).await?;
    if let Some(base) = data_dir.join("scratch").to_str() {
        match std::fs::remove_dir_all(scratch::of_session(base, &session)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Names a session as people know it: `ID  'first words', in FOLDER, 3 agents`.
fn named(session: &Session) -> String {
    let words = session.first_words(MOST_OF_PROMPT);
    let folder = session.workspace().unwrap_or_default();
    let agents = match session.tree.walk().len() {
        1 => "1 agent".to_owned(),
        many => format!("{many} agents"),
    };
    let text = format!("{}  '{words}', in {folder}, {agents}", session.id);
    render::harmless(&text)
}

/// Asks whether that is meant.
fn agreed(sessions: &[Session]) -> Result<bool, Stop> {
    inside_agent::refuse("`sessions rm`")?;
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let text = "removing cannot be undone; give --yes where nobody can be asked";
        return Err(Stop::usage(text));
    }
    let count = sessions.len();
    let what = if count == 1 { "session" } else { "sessions" };
    let mut stderr = io::stderr().lock();
    // Of a shortened id nobody can be sure.
    for session in sessions {
        writeln!(stderr, "  {}", named(session))?;
    }
    terminal::forget_typed()?;
    write!(stderr, "remove {count} {what} for good? [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

//! `sessions rm`: removes whole sessions, for good (R8).
//!
//! A session that another process runs is refused. What agents changed in the workspace stays as it is;
//! what can put it back goes.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use offshoot_engine::{CommandError, Limits, Runtime};
use offshoot_types::command::{Command, Deletion, Order, Receipt};
use offshoot_types::env::Env as _;
use offshoot_types::id::{CommandId, TreeId};
use offshoot_types::store::StoreErrorKind;

use crate::assemble::{self, DataFolder};
use crate::cli::Consent;
use crate::config::Settings;
use crate::env::System;
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
    let DataFolder { runtime, .. } = assemble::data_folder(settings)?;
    let mut sessions = Vec::new();
    for id in ids {
        let Found { agent, session } = lookup::find(&runtime, id).await?;
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
    let mut is_wiped = true;
    for session in sessions {
        let session = session.id;
        match remove_one(&runtime, &session).await {
            // The last deletion wipes what earlier ones had to leave.
            Ok(is_all_wiped) => {
                is_wiped = is_all_wiped;
                stdout.line(&format!("removed {session}"))?;
            }
            Err(stop) => {
                output::complain(&stop.to_string());
                code = worse(code, stop.code());
            }
        }
    }
    if !is_wiped {
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

/// Removes a session; returns whether nothing of what was removed is left in the files of the store.
async fn remove_one(runtime: &Runtime, session: &TreeId) -> Result<bool, Stop> {
    match runtime.command(delete(session, Deletion::Always)).await {
        Ok(receipt) => Ok(receipt == Receipt::Deleted { is_wiped: true }),
        Err(CommandError::Store(error)) if error.kind == StoreErrorKind::Held => {
            let text = format!("session {session} is run by another process; stop that first");
            Err(Stop::usage(text))
        }
        Err(error) => Err(error.into()),
    }
}

/// Removes a session that this process opened and in which nothing was said; returns whether it did. Leaves
/// one alone that another process has used meanwhile.
pub(crate) async fn remove_unprompted(session: &TreeId, data_dir: &Path) -> Result<bool, Stop> {
    let DataFolder { runtime, .. } = assemble::data_folder_at(data_dir, Limits::default())?;
    let receipt = runtime.command(delete(session, Deletion::IfUnprompted));
    Ok(matches!(receipt.await?, Receipt::Deleted { .. }))
}

fn delete(session: &TreeId, which: Deletion) -> Command {
    Command {
        id: CommandId::new(System.new_id()),
        tree: session.clone(),
        agent: session.root().clone(),
        order: Order::Delete(which),
    }
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

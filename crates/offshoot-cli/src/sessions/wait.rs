//! `sessions wait`: waits until agents have ended what they do, and says how.
//!
//! Only reads, as `attach` does (R16): starts nothing and claims nothing, so what
//! nobody runs any more is told and not waited for. Whoever rests has ended. When the
//! time is up nothing is cancelled, and the exit code is one that no run has.

use std::sync::Arc;
use std::time::Duration;

use offshoot_types::caps::Span;
use offshoot_types::id::{AgentId, Pos};
use offshoot_types::settlement::Settlement;
use offshoot_types::store::{Store, StoreError, StoreErrorKind};
use offshoot_types::tree::Unfinished;
use serde_json::json;
use tokio::time::Instant;

use super::is_owned;
use crate::config::Settings;
use crate::exit::{Code, Stop};
use crate::lookup::{self, Found};
use crate::output::{self, Stdout};
use crate::render::Length;
use crate::signals::Signals;
use crate::{assemble, inbox, render};

/// How often the logs are read: as often as whoever follows another process does.
const LOOK: Duration = Duration::from_millis(100);

/// When waiting is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// All have ended.
    All,
    /// One of them has.
    Any,
}

/// How it stands with an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stand {
    /// It works, or is about to.
    Works,
    /// Its last run ended so.
    Ended(Arc<Settlement>),
    /// Nobody has asked it anything.
    New,
    /// It would work, and nobody runs its session.
    Abandoned,
    /// Nobody runs its session, and it waits for an answer, which this command gives.
    Asks(String),
}

/// Waits for agents.
pub(super) async fn wait(
    settings: &Settings,
    ids: &[String],
    until: Until,
    timeout: Option<Span>,
    json: bool,
) -> Result<Code, Stop> {
    let mut signals = Signals::listen()?;
    let store = assemble::store(&settings.data_dir.value)?;
    let mut waiting: Vec<Found> = Vec::new();
    for id in ids {
        let found = lookup::find(store.as_ref(), id).await?;
        if waiting.iter().all(|known| known.agent != found.agent) {
            waiting.push(found);
        }
    }
    let end = timeout.map(|timeout| Instant::now() + timeout.into());
    let mut stdout = Stdout::default();
    let mut code = Code::Completed;
    loop {
        let before = waiting.len();
        let mut still = Vec::new();
        for mut found in waiting {
            let stand = stand(store.as_ref(), &mut found).await?;
            if stand == Stand::Works {
                still.push(found);
                continue;
            }
            stdout.line(&line(&found, &stand, json))?;
            if let Stand::Asks(answer) = &stand {
                output::note(&way(&found, answer));
            }
            let unfinished = unfinished(store.as_ref(), &found).await?;
            code = worse(code, stand.code().with(&unfinished, &found.session.id));
        }
        waiting = still;
        let enough = until == Until::Any && waiting.len() < before;
        if waiting.is_empty() || enough || stdout.is_closed() {
            return Ok(code);
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            for found in &waiting {
                stdout.line(&line(found, &Stand::Works, json))?;
            }
            output::complain("the time is up; what still runs was left alone");
            return Ok(Code::TimeUp);
        }
        tokio::select! {
            biased;
            _ = signals.next() => return Ok(Code::Interrupted),
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// Reads what happened since, and says how it stands.
async fn stand(store: &dyn Store, found: &mut Found) -> Result<Stand, StoreError> {
    let Found { agent, session } = found;
    // Before the log is read: whoever let go in between has written all of it by then.
    let owned = is_owned(store, &session.id).await?;
    for entry in lookup::log(store, &session.id, session.tree.pos()).await? {
        session.tree.apply(&entry).map_err(|violation| {
            let text = format!("follow session {}: {violation}", session.id);
            StoreError::new(StoreErrorKind::Unusable, text)
        })?;
    }
    let id = &*agent;
    let Some(agent) = session.tree.agent(id) else {
        return Ok(Stand::New);
    };
    let works = agent.open_run().is_some() || (!agent.queue.is_empty() && !agent.paused);
    // What a child asked dies with its process; what a root asked waits for an answer (R16).
    let calls = agent.open_calls().into_iter();
    let mut asking = calls.filter(|call| call.asks.is_some() && agent.parent().is_none());
    let asks = asking.next().and_then(|call| {
        let name = inbox::name(id, &call.call);
        Some(inbox::command(&name, call.asks.as_ref()?))
    });
    Ok(match (works, owned, agent.settlement()) {
        (true, true, _) => Stand::Works,
        (true, false, _) => asks.map_or(Stand::Abandoned, Stand::Asks),
        (false, _, Some(settlement)) => Stand::Ended(settlement.clone()),
        (false, _, None) => Stand::New,
    })
}

/// Returns what the last run of an agent left undone, with everything below it.
async fn unfinished(store: &dyn Store, found: &Found) -> Result<Unfinished, StoreError> {
    let log = lookup::log(store, &found.session.id, Pos::ZERO).await?;
    lookup::unfinished(&found.session.id, &found.agent, &log)
}

impl Stand {
    fn code(&self) -> Code {
        match self {
            Self::Ended(settlement) => Code::of(&settlement.status),
            Self::New => Code::Completed,
            Self::Works => Code::TimeUp,
            Self::Abandoned => Code::Failed,
            Self::Asks(_) => Code::Partial,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Ended(settlement) => settlement.status.word(),
            Self::New => "new",
            Self::Works => "running",
            Self::Abandoned => "interrupted",
            Self::Asks(_) => "waits for an answer",
        }
    }
}

fn line(found: &Found, stand: &Stand, json: bool) -> String {
    let id: &AgentId = &found.agent;
    let settlement = match stand {
        Stand::Ended(settlement) => Some(settlement),
        Stand::New | Stand::Works | Stand::Abandoned | Stand::Asks(_) => None,
    };
    if json {
        let reason = settlement.and_then(|settlement| settlement.status.reason());
        let line = json!({
            "agentId": id,
            "sessionId": found.session.id,
            "status": stand.word(),
            "reason": reason,
            "output": settlement.and_then(|settlement| settlement.output.as_ref()),
            "totalTokens": settlement.map(|settlement| settlement.usage.total()),
            "costUsd": settlement.and_then(|settlement| settlement.cost),
            "durationMs": settlement.map(|settlement| settlement.duration_ms),
            "settlement": settlement,
        });
        return line.to_string();
    }
    let how = settlement.map_or_else(
        || stand.word().to_owned(),
        |settlement| render::end(settlement, Length::Cut),
    );
    format!("{}  {how}", render::harmless(id.as_str()))
}

/// Says how to answer what a session asks that nobody runs.
fn way(found: &Found, answer: &str) -> String {
    let session = render::short(&found.agent);
    render::harmless(&format!(
        "see \"offshoot inbox list\", answer with \"{answer}\", and go on with \
         \"offshoot run --session {session} --wait-for-answers\""
    ))
}

/// Returns the code that says more: what failed, then what was stopped, then what is partial.
fn worse(one: Code, other: Code) -> Code {
    let order = [
        Code::Failed,
        Code::Usage,
        Code::Interrupted,
        Code::TimeUp,
        Code::Partial,
    ];
    let worst = order.into_iter().find(|code| [one, other].contains(code));
    worst.unwrap_or(Code::Completed)
}

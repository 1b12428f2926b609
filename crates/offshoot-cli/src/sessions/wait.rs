//! `sessions wait`: waits until agents have ended what they do, and says how.
//!
//! Only reads, as `attach` does (R16): starts nothing and claims nothing, so what
//! nobody runs any more is told and not waited for. Whoever rests has ended. When the
//! time is up nothing is cancelled, and the exit code is one that no run has.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use offshoot_engine::{Runtime, Update, query};
use offshoot_types::caps::Span;
use offshoot_types::id::{AgentId, TreeId};
use offshoot_types::settlement::Settlement;
use offshoot_types::store::{StoreError, StoreErrorKind};
use serde_json::json;

use crate::config::Settings;
use crate::exit::{Code, Stop};
use crate::lookup::{self, Found, Session};
use crate::output::{self, Stdout};
use crate::render::Length;
use crate::signals::Signals;
use crate::{assemble, inbox, render};

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
    let runtime = assemble::data_folder(settings)?.runtime;
    let mut waiting: Vec<Found> = Vec::new();
    for id in ids {
        let found = lookup::find(&runtime, id).await?;
        if waiting.iter().all(|known| known.agent != found.agent) {
            waiting.push(found);
        }
    }
    let mut stdout = Stdout::default();
    let mut code = Code::Completed;
    let mut still: Vec<Found> = Vec::new();
    let before = waiting.len();
    for found in waiting {
        let is_owned = query::IsOwned(found.session.id.clone());
        let owned = runtime.query(is_owned).await?;
        match stand(&found, owned) {
            Stand::Works => still.push(found),
            stand => {
                code = worse(
                    code,
                    told(&runtime, &mut stdout, &found, &stand, json).await?,
                )
            }
        }
    }
    if still.is_empty() || (until == Until::Any && still.len() < before) {
        return Ok(code);
    }
    let mut running: Vec<(AgentId, TreeId)> = still.iter().map(names).collect();
    let mut ending: FuturesUnordered<_> = still
        .into_iter()
        .map(|found| until_ended(&runtime, found))
        .collect();
    let mut time_up = std::pin::pin!(async {
        match timeout {
            Some(timeout) => tokio::time::sleep(timeout.into()).await,
            None => std::future::pending().await,
        }
    });
    loop {
        tokio::select! {
            biased;
            _ = signals.next() => return Ok(Code::Interrupted),
            ended = ending.next() => {
                let Some(ended) = ended else {
                    return Ok(code);
                };
                let (found, stand) = ended?;
                running.retain(|(agent, _)| *agent != found.agent);
                code = worse(code, told(&runtime, &mut stdout, &found, &stand, json).await?);
                if until == Until::Any || stdout.is_closed() {
                    return Ok(code);
                }
            }
            () = &mut time_up => {
                for names in &running {
                    stdout.line(&line(names, &Stand::Works, json))?;
                }
                output::complain("the time is up; what still runs was left alone");
                return Ok(Code::TimeUp);
            }
        }
    }
}

fn names(found: &Found) -> (AgentId, TreeId) {
    (found.agent.clone(), found.session.id.clone())
}

/// Prints how an agent ended, and returns the exit code that this stands for.
async fn told(
    runtime: &Runtime,
    stdout: &mut Stdout,
    found: &Found,
    stand: &Stand,
    json: bool,
) -> Result<Code, Stop> {
    stdout.line(&line(&names(found), stand, json))?;
    if let Stand::Asks(answer) = stand {
        output::note(&way(found, answer));
    }
    let log = runtime
        .query(query::Log::of(found.session.id.clone()))
        .await?;
    let unfinished = lookup::unfinished(&found.session.id, &found.agent, &log)?;
    Ok(stand.code().with(&unfinished, &found.session.id))
}

/// Follows a session until an agent of it works no more.
async fn until_ended(runtime: &Runtime, mut found: Found) -> Result<(Found, Stand), StoreError> {
    let Session { id, tree, .. } = &found.session;
    let mut news = runtime.subscribe(id, tree.pos()).await.news_only();
    let mut owned = true;
    loop {
        let stand = stand(&found, owned);
        // Between two entries that were committed together an agent may look at rest.
        if stand != Stand::Works && news.is_caught_up().await? {
            return Ok((found, stand));
        }
        match news.next().await? {
            Update::Entry(entry) => {
                owned = true;
                let Session { id, tree, .. } = &mut found.session;
                tree.apply(&entry).map_err(|violation| {
                    let text = format!("follow session {id}: {violation}");
                    StoreError::new(StoreErrorKind::Unusable, text)
                })?;
            }
            Update::Orphaned => owned = false,
            _ => {}
        }
    }
}

/// Says how it stands with an agent, whose session a living process owns or not.
fn stand(found: &Found, owned: bool) -> Stand {
    let id = &found.agent;
    let Some(agent) = found.session.tree.agent(id) else {
        return Stand::New;
    };
    let works = agent.open_run().is_some() || (!agent.queue.is_empty() && !agent.paused);
    // What a child asked dies with its process; what a root asked waits for an answer (R16).
    let calls = agent.open_calls().into_iter();
    let mut asking = calls.filter(|call| call.asks.is_some() && agent.parent().is_none());
    let asks = asking.next().and_then(|call| {
        let name = inbox::name(id, &call.call);
        Some(inbox::command(&name, call.asks.as_ref()?))
    });
    match (works, owned, agent.settlement()) {
        (true, true, _) => Stand::Works,
        (true, false, _) => asks.map_or(Stand::Abandoned, Stand::Asks),
        (false, _, Some(settlement)) => Stand::Ended(settlement.clone()),
        (false, _, None) => Stand::New,
    }
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

fn line((id, session): &(AgentId, TreeId), stand: &Stand, json: bool) -> String {
    let settlement = match stand {
        Stand::Ended(settlement) => Some(settlement),
        Stand::New | Stand::Works | Stand::Abandoned | Stand::Asks(_) => None,
    };
    if json {
        let reason = settlement.and_then(|settlement| settlement.status.reason());
        let line = json!({
            "agentId": id,
            "sessionId": session,
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

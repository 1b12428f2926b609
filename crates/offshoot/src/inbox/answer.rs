//! `inbox answer`: one answer to one ask, and what became of it.

use offshoot_types::command::{Answer, Order, Receipt, Verdict};
use offshoot_types::store::{OpenAsk, Store};
use serde_json::json;

use super::{list, words};
use crate::cli::Words;
use crate::config::Settings;
use crate::exit::{Code, Stop};
use crate::kept;
use crate::lookup::{self, Among};
use crate::output::{self, Stdout};
use crate::render;
use crate::sessions::send;

/// The least of an agent's id that stands for it.
const LEAST: usize = 8;

/// Answers what an agent asks.
pub(super) async fn answer(
    settings: &Settings,
    name: &str,
    words: Words,
    json: bool,
) -> Result<Code, Stop> {
    kept::refuse()?;
    let store = super::store(settings)?;
    let asks = super::open(store.as_ref()).await?;
    let ask = match find(&asks, name) {
        Ok(ask) => ask,
        Err(stop) => return too_late(store.as_ref(), name, json, stop).await,
    };
    let verdict = verdict(ask, words)?;
    let denies = matches!(verdict, Verdict::Deny { .. });
    // By the time of a yes the agent may ask for something that nobody has seen.
    if !denies && !name.contains(':') {
        return Err(Stop::usage(format!("say which call: {}", list::name(ask))));
    }
    let order = Order::Answer(Answer::new(ask.call.clone(), verdict));
    let found = lookup::find(store.as_ref(), ask.agent.as_str()).await?;
    let receipt = send(settings, store, found, order).await?;
    let (word, why, code) = match &receipt {
        Receipt::Answered => ("answered", None, Code::Completed),
        Receipt::Queued => ("kept", Some(kept(ask)), Code::Completed),
        Receipt::NoEffect { why } => ("not answered", Some(why.clone()), Code::Failed),
        Receipt::Opened
        | Receipt::Prompted
        | Receipt::Settled(_)
        | Receipt::TurnCancelled
        | Receipt::Promoted
        | Receipt::Resumed
        | Receipt::Renamed
        | Receipt::Summarised { .. }
        | Receipt::Compacted { .. }
        | Receipt::Rewound { .. } => ("not answered", None, Code::Failed),
    };
    let mut stdout = Stdout::default();
    if json {
        stdout.line(&json!({ "status": word, "receipt": receipt }).to_string())?;
        return Ok(code);
    }
    stdout.line(word)?;
    if let Some(why) = why {
        output::note(&why);
    }
    Ok(code)
}

/// Tells whoever answers an agent that asks nothing any more that it is too late; whoever names nobody
/// is told that.
async fn too_late(store: &dyn Store, name: &str, json: bool, stop: Stop) -> Result<Code, Stop> {
    let agent = name.split(':').next().unwrap_or(name);
    if lookup::search(store, agent, Among::Agents).await?.is_none() {
        return Err(stop);
    }
    let mut stdout = Stdout::default();
    if json {
        stdout.line(&json!({ "status": "not answered", "receipt": null }).to_string())?;
        return Ok(Code::Failed);
    }
    stdout.line("not answered")?;
    output::note(&stop.to_string());
    Ok(Code::Failed)
}

/// Says who will hear of an answer that nobody has heard yet.
fn kept(ask: &OpenAsk) -> String {
    match ask.owned {
        true => "the process that runs the session has not heard of it yet; it will".to_owned(),
        false => format!(
            "nobody runs the session; \"offshoot run --session {}\" goes on with it",
            render::short(ask.tree.root())
        ),
    }
}

/// Finds what is meant: by its agent, and its call where that is not enough.
fn find<'a>(asks: &'a [OpenAsk], name: &str) -> Result<&'a OpenAsk, Stop> {
    let (agent, call) = match name.split_once(':') {
        Some((agent, call)) => (agent, Some(call)),
        None => (name, None),
    };
    let is_agent = |id: &str| {
        id == agent || (agent.len() >= LEAST && (id.starts_with(agent) || id.ends_with(agent)))
    };
    let mut meant = asks.iter().filter(|ask| {
        is_agent(ask.agent.as_str()) && call.is_none_or(|call| ask.call.as_str() == call)
    });
    match (meant.next(), meant.next()) {
        (Some(ask), None) => Ok(ask),
        (None, _) => Err(Stop::usage(format!(
            "nobody asks {name}; see \"offshoot inbox list\""
        ))),
        (Some(_), Some(_)) => Err(Stop::usage(format!(
            "{name} asks several things; name one as \"offshoot inbox list\" does"
        ))),
    }
}

/// Makes an answer of words, or says why they are none.
fn verdict(ask: &OpenAsk, given: Words) -> Result<Verdict, Stop> {
    let questions = &ask.ask.questions;
    let verdict = match given {
        Words {
            deny: Some(reason), ..
        } => return Ok(Verdict::Deny { reason }),
        Words { once: true, .. } => Verdict::Once,
        Words { agent: true, .. } => Verdict::Agent,
        Words { session: true, .. } => Verdict::Session,
        Words { say, .. } => return said(ask, &say),
    };
    match questions.is_empty() {
        true => Ok(verdict),
        false => Err(Stop::usage(
            "it is a question; answer it with --say, or --deny",
        )),
    }
}

fn said(ask: &OpenAsk, say: &[String]) -> Result<Verdict, Stop> {
    let questions = &ask.ask.questions;
    if questions.is_empty() {
        let text = "it asks for permission; answer with --once, --agent, --session or --deny";
        return Err(Stop::usage(text));
    }
    if questions.len() != say.len() {
        return Err(Stop::usage(format!(
            "it has {} questions; give --say once for each",
            questions.len()
        )));
    }
    let answers = questions.iter().zip(say);
    let answers = answers.map(|(question, said)| words::read(question, said).map_err(Stop::usage));
    Ok(Verdict::Said {
        answers: answers.collect::<Result<_, _>>()?,
    })
}

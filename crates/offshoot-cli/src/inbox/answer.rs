//! `inbox answer`: one answer to one ask, and what became of it.

use offshoot_engine::{Runtime, query};
use offshoot_types::client_tool::ToolResult;
use offshoot_types::command::{Answer, Order, Receipt, Verdict};
use offshoot_types::env::Env as _;
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, CommandId};
use offshoot_types::listing::{Among, is_part};
use offshoot_types::permission::Need;
use offshoot_types::permission::argv::{self, Word};
use offshoot_types::store::OpenAsk;
use serde_json::json;

use super::words;
use crate::assemble;
use crate::cli::Words;
use crate::config::Settings;
use crate::env::System;
use crate::exit::{Code, Stop};
use crate::inside_agent;
use crate::lookup;
use crate::output::{self, Stdout};
use crate::render;
use crate::sessions::send_as;

/// Said to who was not the first.
const ANSWERED: &str = "it has been answered";

/// Answers what an agent asks.
pub(super) async fn answer(
    settings: &Settings,
    name: &str,
    words: Words,
    json: bool,
) -> Result<Code, Stop> {
    inside_agent::refuse("`inbox answer`")?;
    let folder = assemble::data_folder(settings)?;
    let runtime = &folder.runtime;
    let asks = super::open(runtime).await?;
    let Meant { ask, part, call } = match find(&asks, name) {
        Ok(found) => found,
        Err(stop) => return too_late(runtime, name, json, stop).await,
    };
    let verdict = verdict(ask, words)?;
    let denies = matches!(verdict, Verdict::Deny { .. });
    // By the time of a yes the agent may ask for something that nobody has seen.
    if !denies && call == Named::No {
        let name = super::name(&ask.agent, &ask.call);
        return Err(Stop::usage(format!("say which call: {name}")));
    }
    // And another, of which the list had the same part, may ask by then in its place.
    if let Some(part) = part.filter(|_| !denies) {
        refuse_several(runtime, part, &ask.agent).await?;
    }
    // The first has won, although whoever runs the session may not have heard it yet.
    if super::first_answer(runtime, ask).await?.is_some() {
        return not_answered(ANSWERED, json);
    }
    let widened = matches!(verdict, Verdict::Session | Verdict::Agent);
    let narrowed = widened && ask.ask.needs.iter().any(Need::is_of_hook);
    let order = Order::Answer(Answer::new(ask.call.clone(), verdict));
    let found = lookup::find(runtime, ask.agent.as_str()).await?;
    let id = CommandId::new(System.new_id());
    let mut receipt = send_as(settings, &folder, found, (id.clone(), order)).await?;
    if receipt == Receipt::Queued {
        // Of several that looked before any was there, one came first.
        match super::first_answer(runtime, ask).await? {
            Some(first) if first == id => {}
            Some(_) => return not_answered(ANSWERED, json),
            None => {
                let done = runtime.query(query::ReceiptOf(id)).await?;
                receipt = done.unwrap_or(receipt);
            }
        }
    }
    let (word, why, code) = match &receipt {
        Receipt::Answered => {
            let only = "a hook asked, of this call only; the next one is asked about again";
            let why = narrowed.then(|| only.to_owned());
            ("answered", why, Code::Completed)
        }
        Receipt::Queued => ("kept", Some(kept(ask)), Code::Completed),
        Receipt::NoEffect { why } => ("not answered", Some(why.clone()), Code::Failed),
        Receipt::Opened
        | Receipt::Spawned { .. }
        | Receipt::Refused { .. }
        | Receipt::Prompted
        | Receipt::Settled(_)
        | Receipt::TurnCancelled
        | Receipt::Promoted
        | Receipt::Resumed
        | Receipt::Renamed
        | Receipt::ClientToolsSet
        | Receipt::RoleSet
        | Receipt::Deleted { .. }
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
async fn too_late(runtime: &Runtime, name: &str, json: bool, stop: Stop) -> Result<Code, Stop> {
    let mut known = false;
    // Ids may have colons of their own, so whatever stands before one may be the agent.
    let ends = name.match_indices(':').map(|(end, _)| end);
    for end in ends.chain([name.len()]).filter(|end| *end > 0) {
        let Some(found) = lookup::search(runtime, &name[..end], Among::Agents).await? else {
            continue;
        };
        known = true;
        let log = runtime.query(query::AgentLog(found.agent)).await?;
        let call = CallId::new(name.get(end + 1..).unwrap_or_default());
        if let Some(became) = what_became(&log, &call) {
            return not_answered(&became, json);
        }
    }
    if !known {
        return Err(stop);
    }
    not_answered(&stop.to_string(), json)
}

/// Says what became of what a call asked.
fn what_became(log: &[Entry], call: &CallId) -> Option<String> {
    let mut became = None;
    for entry in log {
        if let Event::Asked {
            call: asked,
            waits_for_client,
            ..
        } = &entry.event
            && asked == call
        {
            let withdrawn = "its call is over, and what it asked was withdrawn";
            let over = "its call is over: it has a result or was cancelled";
            let text = if *waits_for_client { over } else { withdrawn };
            became = Some(text.to_owned());
        }
        if let Event::Decided {
            call: decided,
            decision,
            ..
        } = &entry.event
            && decided == call
            && became.is_some()
        {
            let decided = render::decided(call, decision);
            became = Some(format!("it is decided: {decided}"));
        }
    }
    became
}

/// Says that an answer was not sent, and why.
fn not_answered(why: &str, json: bool) -> Result<Code, Stop> {
    let mut stdout = Stdout::default();
    if json {
        stdout.line(&json!({ "status": "not answered", "receipt": null }).to_string())?;
        return Ok(Code::Failed);
    }
    stdout.line("not answered")?;
    output::note(why);
    Ok(Code::Failed)
}

/// Says who will hear of an answer that nobody has heard yet.
fn kept(ask: &OpenAsk) -> String {
    if ask.owned {
        "the process that runs the session has not heard of it yet; if that leaves \
                 before, the answer may be too late"
            .to_owned()
    } else {
        format!(
            "nobody runs the session; \"offshoot run --session {} --wait-for-answers\" goes on with it",
            argv::render(&[Word::Fixed(super::handle(ask.tree.root()))])
        )
    }
}

/// What a name names.
#[derive(Clone, Copy)]
struct Meant<'a> {
    ask: &'a OpenAsk,
    /// The part that stood for the id of the agent, if it was cut.
    part: Option<&'a str>,
    call: Named,
}

/// Whether the call was named, or only its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Yes,
    No,
}

/// Refuses a part of an id that another session or agent that asks has as well.
async fn refuse_several(runtime: &Runtime, part: &str, agent: &AgentId) -> Result<(), Stop> {
    let find = query::Find {
        part: part.to_owned(),
        among: Among::Sessions,
        // One of them may be the agent itself.
        limit: 2,
    };
    let asks = runtime.query(query::Inbox).await?.into_iter();
    let asking = asks.map(|ask| ask.agent).filter(|id| is_part(part, id));
    let mut all = asking.chain(runtime.query(find).await?);
    match all.find(|other| other != agent) {
        None => Ok(()),
        Some(other) => Err(Stop::usage(format!(
            "{part} could be {agent} or {other}; a yes needs the whole id"
        ))),
    }
}

/// Finds what is meant: by its agent, and its call where that is not enough.
fn find<'a>(asks: &'a [OpenAsk], name: &'a str) -> Result<Meant<'a>, Stop> {
    let is_whole = |ask: &OpenAsk, agent: &str| ask.agent.as_str() == agent;
    let is_part =
        |ask: &OpenAsk, part: &str| !lookup::is_too_short(part) && is_part(part, &ask.agent);
    // Ids may have colons of their own, and what is written out goes before what is cut.
    let mut found: Vec<Meant<'_>> = Vec::new();
    for is_agent in [&is_whole as &dyn Fn(&OpenAsk, &str) -> bool, &is_part] {
        for ask in asks {
            let meant = |agent, call| Meant {
                ask,
                part: (ask.agent.as_str() != agent).then_some(agent),
                call,
            };
            let agent = name.strip_suffix(ask.call.as_str());
            let agent = agent.and_then(|agent| agent.strip_suffix(':'));
            if let Some(agent) = agent.filter(|agent| is_agent(ask, agent)) {
                found.push(meant(agent, Named::Yes));
            } else if is_agent(ask, name) {
                found.push(meant(name, Named::No));
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(Stop::usage(format!(
            "nobody asks {name}; see \"offshoot inbox list\""
        ))),
        [_, _, ..] => Err(Stop::usage(format!(
            "{name} asks several things; name one as \"offshoot inbox list\" does"
        ))),
    }
}

/// Makes an answer of words, or says why they are none.
fn verdict(ask: &OpenAsk, given: Words) -> Result<Verdict, Stop> {
    let questions = &ask.ask.questions;
    let (given, result) = match given {
        Words {
            result: Some(text), ..
        } => (None, Some(ToolResult::Text(text))),
        Words {
            error: Some(text), ..
        } => (None, Some(ToolResult::Error(text))),
        given => (Some(given), None),
    };
    let given = match (given, result, ask.ask.waits_for_client) {
        (_, Some(result), true) => return Ok(Verdict::Returned(result)),
        (Some(given), None, false) => given,
        (_, _, true) => {
            return Err(Stop::usage(
                "it waits for the result of a client tool; answer it with --result or --error",
            ));
        }
        (_, _, false) => {
            return Err(Stop::usage(
                "no client tool waits for a result there; --result and --error are for those",
            ));
        }
    };
    let verdict = match given {
        Words {
            deny: Some(reason), ..
        } => return Ok(Verdict::Deny { reason }),
        Words { once: true, .. } => Verdict::Once,
        Words { agent: true, .. } => Verdict::Agent,
        Words { session: true, .. } => Verdict::Session,
        Words { say, .. } => return said(ask, &say),
    };
    if questions.is_empty() {
        Ok(verdict)
    } else {
        Err(Stop::usage(
            "it is a question; answer it with --say, or --deny",
        ))
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

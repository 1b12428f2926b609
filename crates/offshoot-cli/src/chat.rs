//! `offshoot chat`: a conversation at a terminal.
//!
//! Opens a session, or continues one, and stays until the person leaves. Another
//! agent may take over with any message; the session stays the one it is. What was
//! talked about is written down at the end, where a model for chores is there.

use offshoot_agents::Catalogue;
use offshoot_types::env::Env;
use offshoot_types::id::{AgentId, TreeId};

use crate::answers::Answers;
use crate::assemble::{Answered as _, Host};
use crate::cli::Chat;
use crate::config::Settings;
use crate::console::{Console, Offered, Talk};
use crate::drive::{self, Elsewhere, Inquiry};
use crate::env::System;
use crate::exit::{Code, Stop};
use crate::lookup::Session;
use crate::run::{self, Opened, Untrusted, Wanted};
use crate::sessions::remove::remove_unprompted;
use crate::signals::Signals;
use crate::view::View;
use crate::{clock, definitions, hooks, output, render, rules, terminal};

/// How many characters of a session's first prompt are shown.
const MOST_OF_PROMPT: usize = 48;

/// Carries out `offshoot chat`.
pub(crate) async fn chat(args: Chat, settings: &Settings) -> Result<Code, Stop> {
    if !terminal::is_interactive() {
        return Err(Stop::usage(
            "chat needs a terminal on stdin and stdout; to ask once, use: offshoot run PROMPT",
        ));
    }
    if settings.dumb {
        return Err(Stop::usage(
            "chat needs a terminal that can be painted, and TERM is dumb; to ask once, use: \
             offshoot run PROMPT",
        ));
    }
    let mut signals = Signals::listen()?;
    let wanted = Wanted {
        choice: &args.choice,
        session: args.session.as_deref(),
        goes_on: args.goes_on,
        cwd: args.cwd.as_deref(),
        most: args.most,
        untrusted: Untrusted::AskedAbout,
    };
    let host = Host::of(settings).asking(args.consent, true);
    let Opened {
        runtime,
        session,
        workspace,
        known,
        helped,
        agents,
        swap,
        barred,
        unmapped,
    } = run::open(&wanted, settings, host).await?;
    definitions::warn(&agents);
    rules::warn_of_strangers(settings, &workspace, &agents);
    hooks::warn(settings, &workspace, &agents);
    let ends = hooks::at_end(settings, &workspace);
    if known {
        greet(&goes_on_with(&session));
    }
    greet("type a message; /help says what else; Ctrl-D leaves");
    let shown = render::short(session.id.root());
    let agent = session.id.root().clone();
    let id = session.id.clone();
    let view = console(settings, agent.clone(), &agents, (swap, barred))?;
    let view = view.telling_of_tiers(unmapped);
    let inquiry = Inquiry {
        last: session.last_exchange(),
        session,
        agent,
        prompt: None,
        attachments: Vec::new(),
        swap: None,
        elsewhere: Elsewhere::Follow,
        talk: if helped {
            drive::Talk::SummedUp
        } else {
            drive::Talk::Chat
        },
        waits_for_clients: true,
        ends,
    };
    let code = drive::drive(runtime, inquiry, view, &mut signals).await?;
    if !known && is_removed(&id, settings).await {
        return Ok(code);
    }
    output::note(&format!(
        "session {shown} is kept; go on with: offshoot chat --session {shown}"
    ));
    Ok(code)
}

/// Removes a session of a chat in which nothing was said, so that `--continue` finds the one before.
async fn is_removed(session: &TreeId, settings: &Settings) -> bool {
    let removed = remove_unprompted(session, &settings.data_dir.value).await;
    removed.unwrap_or_else(|error| {
        tracing::warn!(%error, "remove the session, in which nothing was said");
        false
    })
}

/// Says something before the conversation begins, with lines that end where words do.
fn greet(text: &str) {
    let width = terminal::width(&std::io::stderr()).unwrap_or(usize::MAX);
    for line in terminal::wrapped(text, width) {
        output::note(&line);
    }
}

/// Says which session goes on: its name or what it began with, how much there is, how old it is.
fn goes_on_with(session: &Session) -> String {
    let prompts = session.prompts(session.id.root());
    let messages = match prompts.count() {
        1 => "1 message".to_owned(),
        many => format!("{many} messages"),
    };
    let last = session.log.last();
    let age = last.map_or_else(String::new, |entry| {
        format!(
            ", the last change {} ago",
            clock::age(entry.at, System.now())
        )
    });
    let agent = session.definition().unwrap_or_default();
    let words = match session.title() {
        Some(title) => render::first_words(title, MOST_OF_PROMPT),
        None => session.first_words(MOST_OF_PROMPT),
    };
    render::harmless(&format!(
        "session {} with {agent} goes on: '{words}', {messages}{age}",
        session.id
    ))
}

fn console(
    settings: &Settings,
    agent: AgentId,
    agents: &Catalogue,
    (swap, mut barred): (Option<String>, Vec<(String, String)>),
) -> Result<View, Stop> {
    let untrusted = agents.all_untrusted().map(|(agent, doubt)| {
        let name = agent.manifest.name.clone();
        let why = format!("agent {name} is {doubt}");
        (name, why)
    });
    barred.extend(untrusted.filter(|(name, _)| agents.get(name).is_none()));
    let console = Console::open(Answers::of(agent), Talk::Chat, settings.style)?;
    let registry = agents.registry();
    let all = agents.all().map(|agent| &agent.manifest);
    let others = all.filter(|manifest| !manifest.mode.user_may_start());
    let names = others.map(|manifest| manifest.name.clone());
    let (helpers, others) = names.partition(|name| registry.is_hidden(name));
    let offered = Offered {
        startable: registry
            .for_users()
            .map(|manifest| manifest.name.clone())
            .collect(),
        others,
        helpers,
        barred,
    };
    Ok(View::console(console.offering(offered, swap)))
}

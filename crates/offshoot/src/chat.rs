//! `offshoot chat`: a conversation at a terminal.
//!
//! Opens a session, or continues one, and stays until the person leaves. Going on
//! with another agent is another session, with the model and the folder of the one
//! that is left: a session keeps its agent.

use std::path::PathBuf;

use offshoot_agents::Catalogue;
use offshoot_types::env::Env;
use offshoot_types::id::AgentId;

use crate::answers::Answers;
use crate::assemble::Host;
use crate::cli::{Chat, Choice};
use crate::config::{Settings, Source, Sourced};
use crate::console::{Console, Talk};
use crate::drive::{self, Elsewhere, Errand, Outcome};
use crate::env::System;
use crate::exit::{Code, Stop};
use crate::lookup::Session;
use crate::run::{self, Ask, Opened};
use crate::signals::Signals;
use crate::view::View;
use crate::{clock, definitions, output, render, terminal};

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
    let mut settings = settings.clone();
    let mut warned = false;
    let Chat {
        mut choice,
        consent,
        mut session,
        mut goes_on,
        mut cwd,
        most,
    } = args;
    loop {
        let ask = Ask {
            choice: &choice,
            session: session.as_deref(),
            goes_on,
            cwd: cwd.as_deref(),
            most,
        };
        let host = Host::of(&settings).asking(consent, true);
        let Opened {
            runtime,
            session: opened,
            known,
            model,
            agents,
        } = run::open(&ask, &settings, host, false).await?;
        let agent = opened.id.root().clone();
        if !warned {
            definitions::warn(&agents);
            warned = true;
        }
        if known {
            output::note(&goes_on_with(&opened));
        }
        output::note("type a message; /help says what else; Ctrl-D leaves");
        let id = opened.id.clone();
        let view = console(&settings, agent.clone(), &agents)?;
        let workspace = opened.workspace().map(PathBuf::from);
        let errand = Errand {
            session: opened,
            agent,
            prompt: None,
            elsewhere: Elsewhere::Follow,
            chat: true,
        };
        match drive::drive(runtime, errand, view, &mut signals).await? {
            Outcome::Over(code) => {
                let shown = render::short(id.root());
                output::note(&format!(
                    "session {shown} is kept; go on with: offshoot chat --session {shown}"
                ));
                return Ok(code);
            }
            Outcome::Switched(name) => {
                output::note(&format!("agent {name}, in a session of its own"));
                // What was talked about stays: the same model, in the same folder.
                let source = Source::Flag("/agent");
                settings.agent = Sourced::new(name, source.clone());
                settings.model = Sourced::new(model, source);
                choice = Choice::default();
                cwd = workspace.or(cwd);
                (session, goes_on) = (None, false);
            }
        }
    }
}

/// Says which session goes on: what it began with, how much there is, how old it is.
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
    let words = session.first_words(MOST_OF_PROMPT);
    render::harmless(&format!(
        "session {} with {agent} goes on: '{words}', {messages}{age}",
        session.id
    ))
}

fn console(settings: &Settings, agent: AgentId, agents: &Catalogue) -> Result<View, Stop> {
    let console = Console::open(Answers::of(agent), Talk::Chat, settings.style)?;
    let registry = agents.registry();
    let names = registry.for_users().map(|manifest| manifest.name.clone());
    Ok(View::console(console.offering(names.collect())))
}

//! `offshoot chat`: a conversation at a terminal.
//!
//! Opens a session, or continues one, and stays until the person leaves. Going on
//! with another agent is another session, with the model and the folder of the one
//! that is left: a session keeps its agent.

use std::path::PathBuf;

use offshoot_agents::Catalogue;
use offshoot_types::id::AgentId;

use crate::answers::Answers;
use crate::assemble::Host;
use crate::cli::{Chat, Choice};
use crate::config::{Settings, Source, Sourced};
use crate::console::{Console, Talk};
use crate::drive::{self, Elsewhere, Errand, Outcome};
use crate::exit::{Code, Stop};
use crate::run::{self, Ask, Opened};
use crate::signals::Signals;
use crate::view::View;
use crate::{definitions, output, terminal};

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
            model,
            agents,
            ..
        } = run::open(&ask, &settings, host, false).await?;
        let agent = opened.id.root().clone();
        if !warned {
            definitions::warn(&agents);
            warned = true;
        }
        output::note("type a message; /help says what else; Ctrl-D leaves");
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
            Outcome::Over(code) => return Ok(code),
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

fn console(settings: &Settings, agent: AgentId, agents: &Catalogue) -> Result<View, Stop> {
    let console = Console::open(Answers::of(agent), Talk::Chat, settings.style)?;
    let registry = agents.registry();
    let names = registry.for_users().map(|manifest| manifest.name.clone());
    Ok(View::console(console.offering(names.collect())))
}

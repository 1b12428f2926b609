//! `offshoot chat`: a conversation at a terminal.
//!
//! Opens a session, or continues one, and stays until the person leaves. Going on
//! with another agent is another session: a session keeps its agent.

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
use crate::{output, terminal};

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
    let Chat {
        mut choice,
        consent,
        mut session,
        mut goes_on,
        cwd,
    } = args;
    loop {
        let ask = Ask {
            choice: &choice,
            session: session.as_deref(),
            goes_on,
            cwd: cwd.as_deref(),
        };
        let host = Host::of(&settings).asking(consent, true);
        let Opened {
            runtime,
            session: opened,
            ..
        } = run::open(&ask, &settings, host, false).await?;
        let agent = opened.id.root().clone();
        output::note("type a message; /help says what else; Ctrl-D leaves");
        let view = console(&settings, agent.clone())?;
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
                settings.agent = Sourced::new(name, Source::Flag("/agent"));
                choice = Choice {
                    agent: None,
                    ..choice
                };
                (session, goes_on) = (None, false);
            }
        }
    }
}

fn console(settings: &Settings, agent: AgentId) -> Result<View, Stop> {
    let console = Console::open(Answers::of(agent), Talk::Chat, settings.style)?;
    Ok(View::console(console))
}

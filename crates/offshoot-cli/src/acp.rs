//! `offshoot acp`: an agent for editors, over stdin and stdout.
//!
//! The face is `offshoot-server`'s; here it gets a runtime and what the sessions of a folder begin with.
//! Stdout carries messages of the protocol and nothing else. Permissions are asked through the client.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use offshoot_engine::{Asks, Ending};
use offshoot_host::projects::{SessionDefaults, Workspaces};
use offshoot_host::{HostError, assemble as host};
use offshoot_server::acp::{
    AgentSummary, ModelSummary, SessionStart, Setup, StartError, Workspaces as Starts, serve,
};
use offshoot_types::env::Env;

use crate::assemble;
use crate::config::Settings;
use crate::env::System;
use crate::exit::{Code, Stop};
use crate::signals::Signals;
use crate::{clock, drive, output};

/// Serves a client until it hangs up, or a signal ends the process.
pub(crate) async fn acp(settings: &Settings) -> Result<Code, Stop> {
    let mut signals = Signals::listen()?;
    let folder = assemble::data_folder(settings)?;
    let mut host = assemble::Host::of(settings);
    host.asks = Asks::SOMEBODY;
    let workspaces = assemble::served_workspaces(settings, host.clone());
    folder.use_projects(workspaces.clone());
    let runtime = Arc::new(folder.runtime);
    let setup = Setup {
        runtime: runtime.clone(),
        env: Arc::new(System),
        workspaces: Arc::new(Folders { workspaces, host }),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let served = serve(setup, tokio::io::stdin(), tokio::io::stdout());
    tokio::select! {
        biased;
        ended = served => match ended {
            Ok(()) => Ok(Code::Completed),
            Err(error) => {
                output::complain(&format!("serve the client: {}", error.message));
                Ok(Code::Failed)
            }
        },
        _ = signals.next() => {
            drive::leave(runtime.shutdown(Ending::Now), &mut signals).await;
            Ok(Code::Interrupted)
        }
    }
}

/// What the sessions of any folder begin with, as its files and the user's say.
struct Folders {
    workspaces: Workspaces,
    host: assemble::Host,
}

impl Starts for Folders {
    fn resolve(&self, folder: &Path) -> PathBuf {
        let resolved = folder.canonicalize();
        resolved.unwrap_or_else(|_| folder.to_owned())
    }

    fn session_start<'a>(
        &'a self,
        folder: &'a Path,
    ) -> BoxFuture<'a, Result<SessionStart, StartError>> {
        Box::pin(async move {
            let defaults = self.workspaces.session_defaults(folder).await;
            let defaults = defaults.map_err(|error| match error {
                HostError::Invalid(_) => StartError::Invalid(error.to_string()),
                HostError::Failed { .. } => StartError::Failed(error.to_string()),
            })?;
            host::check(&defaults.model, &self.host)
                .map_err(|error| StartError::Unauthenticated(error.to_string()))?;
            Ok(start(defaults))
        })
    }
}

fn start(defaults: SessionDefaults) -> SessionStart {
    let agents = |agents: Vec<offshoot_host::projects::AgentSummary>| {
        let summary = |agent: offshoot_host::projects::AgentSummary| AgentSummary {
            name: agent.name,
            description: agent.description,
        };
        agents.into_iter().map(summary).collect()
    };
    let models = defaults.models.into_iter().map(|model| ModelSummary {
        name: model.name,
        context_window: model.context_window,
    });
    SessionStart {
        workspace: defaults.workspace,
        date: clock::date(System.now()),
        agent: defaults.agent,
        model: defaults.model,
        project: Some(Box::new(defaults.context)),
        primaries: agents(defaults.primary_agents),
        subagents: agents(defaults.subagents),
        models: models.collect(),
        notices: defaults.notices.into_iter().map(|it| it.text).collect(),
    }
}

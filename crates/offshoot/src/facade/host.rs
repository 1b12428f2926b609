//! A session whose root is the program itself, and which starts agents for it.
//!
//! Only an agent can have a child, and it makes one by calling `task`. So the program gets an agent to
//! stand for it: a root whose model is this file. Every prompt to it is the arguments of a `task` call,
//! and it calls `task` with them; to whatever it is told it says that it has noted it. It keeps no
//! state and asks nobody. What it starts are children like any others: in one tree, under one cap, and
//! stopped together.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{self, BoxStream, StreamExt};
use offshoot_models::ModelSet;
use offshoot_types::cancel::Cancel;
use offshoot_types::caps::{Caps, Price};
use offshoot_types::event::{Event, TurnEnd};
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::manifest::{Manifest, Mode, Toolset};
use offshoot_types::model::{
    Chunk, Model, ModelError, Models, Request, RequestMessage, ToolChoice,
};
use offshoot_types::outcome::Body;
use serde::{Deserialize, Serialize};

use super::agent::Agent;
use super::error::Error;
use super::fn_model::Reply;
use super::follow::{Asked, Orphan};
use super::session::Session;

/// The name of the agent that stands for the program.
pub(super) const HOST: &str = "host";

const TASK: &str = "task";

/// A session whose root is this program. Cloning gives another handle on the same.
#[derive(Clone, Debug)]
pub struct Host(pub(super) Session);

impl Host {
    /// Starts an agent below this program, and returns as soon as it is there.
    ///
    /// The rules are those of `task`: its mode is `subagent` or `all`; depth, descendants and caps
    /// have room for it, else it is [`Error::Refused`]. It sees only the prompt. Once it is there it
    /// is an agent like any other, and goes on whether or not somebody waits for it. While all slots
    /// of the session are busy, starting waits for one.
    pub async fn spawn_child(
        &self,
        definition: &str,
        prompt: impl Into<String>,
    ) -> Result<Agent, Error> {
        let task = Task {
            subagent_type: definition.to_owned(),
            prompt: prompt.into(),
            background: true,
        };
        let text = serde_json::to_string(&task).map_err(Error::Misfit)?;
        let root = self.0.root();
        let mut follower = root.follow().await?;
        let mut birth = Birth {
            asked: Asked::new(root.send(text).await?),
            call: None,
        };
        loop {
            let entry = follower.next(root.id(), Orphan::TakeUp).await?;
            match birth.take(&entry.event) {
                None => {}
                Some(Ok(child)) => return Ok(self.0.agent(&child)),
                Some(Err(why)) => {
                    let definition = definition.to_owned();
                    return Err(Error::Refused { definition, why });
                }
            }
        }
    }

    /// Returns the session, to follow it, to stop all of it, to reach agents further below.
    pub fn session(&self) -> &Session {
        &self.0
    }
}

/// The arguments of `task`, as this program gives them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    subagent_type: String,
    prompt: String,
    background: bool,
}

/// A child on its way into the world.
struct Birth {
    asked: Asked,
    /// The call that makes it.
    call: Option<CallId>,
}

impl Birth {
    /// Takes the root's next event; returns the child, or why there is none.
    fn take(&mut self, event: &Event) -> Option<Result<AgentId, String>> {
        if let Some(settlement) = self.asked.take(event) {
            let reason = settlement.status.reason().unwrap_or_default();
            return Some(Err(format!("the session did not come to it: {reason}")));
        }
        if !self.asked.is_taken() {
            return None;
        }
        match event {
            Event::Replied(message) => {
                let call = message.calls().find(|call| call.tool == TASK);
                self.call = call.map(|call| call.id.clone());
                None
            }
            Event::CallStarted {
                call,
                child: Some(child),
            } if self.call.as_ref() == Some(call) => Some(Ok(child.clone())),
            Event::CallFinished { call, outcome, .. } if self.call.as_ref() == Some(call) => {
                match &outcome.body {
                    Body::Error { text, .. } => Some(Err(text.clone())),
                    Body::Output(_) => None,
                }
            }
            Event::TurnEnded { end, .. } => Some(Err(why_not(end))),
            Event::Spawned(_)
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::Hooked(_)
            | Event::Compacted(_)
            | Event::Rewound { .. }
            | Event::Became(_)
            | Event::Prompted(_)
            | Event::Completion { .. }
            | Event::TurnStarted { .. }
            | Event::Steered { .. }
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::CallFinished { .. }
            | Event::Settled { .. } => None,
        }
    }
}

/// Says why a turn that was to start a child is over without one.
fn why_not(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Finished => "the session did not call task".to_owned(),
        TurnEnd::HandedBack(cap) | TurnEnd::Exhausted(cap) => {
            format!("the session has nothing left of a cap: {}", cap.word())
        }
        TurnEnd::Aborted(_) => "the session was cancelled".to_owned(),
        TurnEnd::Failed { message, .. } => message.clone(),
        TurnEnd::Denied { reason } => format!("the session was stopped by {reason}"),
        TurnEnd::Lost => "the process that ran the session died".to_owned(),
    }
}

/// Returns the agent that stands for the program.
pub(super) fn manifest() -> Manifest {
    Manifest {
        description: "Stands for the program that runs this, and starts agents for it.".to_owned(),
        tools: Toolset::only([TASK]),
        // A limit on what a root's model may ask is not meant for one that asks nobody.
        limits: Caps {
            steps: Some(u32::MAX),
            ..Caps::default()
        },
        project_instructions: Some(false),
        git_status: Some(false),
        ..Manifest::new(HOST, Mode::Primary, "")
    }
}

/// All models, except that the agent that stands for the program asks none of them.
pub(super) struct Hosted {
    models: ModelSet,
    /// Those that were asked for, so that the same name gives the same model.
    found: Mutex<BTreeMap<String, Arc<dyn Model>>>,
}

impl Hosted {
    pub(super) fn new(models: ModelSet) -> Self {
        Self {
            models,
            found: Mutex::default(),
        }
    }
}

impl Models for Hosted {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        // The table is whole at any moment, so a panic elsewhere cannot have spoilt it.
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = found.get(name) {
            return Ok(model.clone());
        }
        let model: Arc<dyn Model> = Arc::new(HostedModel(self.models.find(name)?));
        found.insert(name.to_owned(), model.clone());
        Ok(model)
    }
}

struct HostedModel(Arc<dyn Model>);

impl Model for HostedModel {
    fn stream(
        &self,
        request: Request,
        cancel: Cancel,
    ) -> BoxStream<'static, Result<Chunk, ModelError>> {
        if request.from.definition != HOST {
            return self.0.stream(request, cancel);
        }
        // The log says who has spoken.
        let started = Chunk::Started {
            model: HOST.to_owned(),
        };
        let chunks: Vec<_> = [started].into_iter().chain(obey(&request)).collect();
        stream::iter(chunks.into_iter().map(Ok)).boxed()
    }

    fn price(&self) -> Option<Price> {
        self.0.price()
    }

    fn is_metered(&self, definition: &str) -> bool {
        definition != HOST && self.0.is_metered(definition)
    }

    fn window(&self) -> Option<u64> {
        self.0.window()
    }
}

/// Does what the program said, if it was the last to speak.
fn obey(request: &Request) -> impl Iterator<Item = Chunk> + use<> {
    let task = match (request.choice, request.messages.last()) {
        (ToolChoice::Auto, Some(RequestMessage::User(text))) => {
            serde_json::from_str::<Task>(text).ok()
        }
        (ToolChoice::Auto | ToolChoice::None, _) => None,
    };
    let reply = match task {
        Some(task) => Reply::call(TASK, &task),
        None => Reply::text("Noted."),
    };
    reply.into_chunks()
}

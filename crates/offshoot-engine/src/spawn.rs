//! The birth of an agent that works for another.
//!
//! One way for all of them: a model that calls `task`, and the runtime that needs
//! something done (SA-44). They differ in where the agent comes from, and in
//! nothing that is written here. Nothing exists before the batch is committed.

use offshoot_types::caps::Caps;
use offshoot_types::event::{Event, Origin, Profile, Spawned};
use offshoot_types::hook::About;
use offshoot_types::id::AgentId;
use offshoot_types::json::RawJson;
use offshoot_types::manifest::Manifest;
use offshoot_types::message::UserMessage;
use offshoot_types::permission::written::Variables;

use crate::agent::{Agent, first_turn};

/// An agent that is about to exist.
pub(crate) struct Birth<'a> {
    pub(crate) id: &'a AgentId,
    pub(crate) manifest: &'a Manifest,
    pub(crate) origin: Origin,
    pub(crate) depth: u32,
    /// The model it gets if its manifest names none.
    pub(crate) model: &'a str,
    /// What its runs may use where its manifest says nothing.
    pub(crate) caps: Caps,
    pub(crate) metadata: Option<RawJson>,
    pub(crate) asked: UserMessage,
}

impl Agent {
    /// Returns the model that the session was started with.
    pub(crate) fn session_model(&self) -> String {
        let state = self.board.state();
        let root = state.tree.root().and_then(|root| state.tree.agent(root));
        root.map_or(&self.model, |root| &root.spawned.model).clone()
    }

    /// Returns the model of a child whose manifest names none (PD-27).
    pub(crate) fn usual_child_model(&self) -> &str {
        let child = self.kit.helpers.models.child.as_deref();
        child.unwrap_or(&self.model)
    }

    /// Returns the first entries of an agent that works for this one, its first turn included; or
    /// what a hook has against it.
    pub(crate) fn birth(&self, birth: Birth<'_>) -> Result<Vec<Event>, String> {
        let Birth {
            id,
            manifest,
            origin,
            depth,
            model,
            caps,
            metadata,
            mut asked,
        } = birth;
        let about = About {
            session: self.board.tree.root(),
            agent: id,
            definition: &manifest.name,
            depth,
        };
        let hooks = &self.kit.hooks;
        let session = self.session_model();
        let named = self.kit.helpers.models.named(manifest, &session);
        let model = named.unwrap_or(model);
        let model = hooks
            .resolve_model(about, model)
            .unwrap_or_else(|| model.to_owned());
        let helps = matches!(origin, Origin::Helper(_));
        let terms = self.terms_of_child(manifest, &model, caps, helps);
        // What the runtime asks is nobody's message.
        if !asked.from.is_host() {
            hooks.user_message(about, &mut asked)?;
        }
        let scratch = self.scratch.as_ref();
        let scratch = scratch.map(|scratch| scratch.of_child(id).folder);
        let variables = Variables {
            scratch: scratch.as_deref(),
            ..self.variables()
        };
        let spawned = Spawned {
            definition: manifest.name.clone(),
            origin,
            depth,
            model,
            layer: manifest.layer(&variables),
            inspectable: manifest.inspectable,
            terms,
            profile: Profile::of(manifest),
            metadata,
        };
        let mut events = vec![Event::Spawned(Box::new(spawned))];
        events.extend(first_turn(asked));
        Ok(events)
    }
}

//! A child that the program starts below an agent, without asking the agent's model.
//!
//! The child is an agent like any other once it is there. Its id is chosen here, so that an order that
//! is sent again makes no second child.

use std::future::IntoFuture;

use futures_util::future::BoxFuture;
use offshoot_types::caps::Caps;
use offshoot_types::command::{Order, Receipt, Spawn};
use offshoot_types::content::Content;
use offshoot_types::id::AgentId;
use offshoot_types::json::RawJson;
use offshoot_types::manifest::Context;
use offshoot_types::settlement::Settlement;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::agent::{Agent, missing};
use super::error::Error;
use super::fn_tool::schema_of;

/// A child that is to be started.
#[must_use = "nothing is started before `start`, `settled`, `result`, `ask` or `.await`"]
pub struct NewChild {
    parent: Agent,
    spawn: Spawn,
}

impl Agent {
    /// Begins to start a child of this agent.
    ///
    /// The rules are those of `task`: its mode is `subagent` or `all`; permissions, depth, descendants
    /// and caps allow it, else it is [`Error::Refused`]. This agent begins no turn while the child
    /// works, and the result starts none: it stands in front of the next one. See
    /// [`NewChild::background`] for the other form.
    pub fn spawn(&self, definition: &str) -> NewChild {
        NewChild {
            parent: self.clone(),
            spawn: Spawn::new(definition, ""),
        }
    }
}

impl NewChild {
    /// Says what the child is to do: a text, or content with attachments
    /// ([`Session::store_blob`](super::Session::store_blob)).
    pub fn prompt(mut self, content: impl Into<Content>) -> Self {
        self.spawn.prompt = content.into();
        self
    }

    /// Gives the child an id of your own: at most 128 bytes. Starting it twice makes one child.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.spawn.agent = Some(AgentId::new(id.into()));
        self
    }

    /// Has the child ask this model, whatever its manifest names.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.spawn.model = Some(name.into());
        self
    }

    /// Caps what its runs may use, whatever its manifest says.
    pub fn caps(mut self, caps: Caps) -> Self {
        self.spawn.caps = caps;
        self
    }

    /// Says what the child sees of its parent's conversation, whatever its manifest says.
    pub fn context(mut self, context: Context) -> Self {
        self.spawn.context = Some(context);
        self
    }

    /// Attaches an object to the child; at most 16 KiB.
    pub fn metadata(mut self, metadata: RawJson) -> Self {
        self.spawn.metadata = Some(metadata);
        self
    }

    /// Says which JSON Schema the answer has to fit, whatever the child's manifest says; at most 64 KiB.
    pub fn output_schema(mut self, schema: RawJson) -> Self {
        self.spawn.output_schema = Some(schema);
        self
    }

    /// Lets the parent go on meanwhile, and wakes the parent with the result.
    pub fn background(mut self) -> Self {
        self.spawn.background = true;
        self
    }

    /// Starts the child and returns a handle on it as soon as it is there.
    pub async fn start(mut self) -> Result<Agent, Error> {
        let parent = self.parent;
        let new_id = || AgentId::new(parent.shared.env().new_id());
        self.spawn.agent.get_or_insert_with(new_id);
        let definition = self.spawn.definition.clone();
        let order = Order::Spawn(Box::new(self.spawn));
        match parent.order(order).await? {
            Receipt::Spawned { agent } => Ok(Agent {
                id: agent,
                ..parent
            }),
            Receipt::Refused { kind, why } => Err(Error::Refused {
                definition,
                kind,
                why,
            }),
            other => Err(missing(other)),
        }
    }

    /// Starts the child and waits until it rests; see [`Agent::settled`].
    pub async fn settled(self) -> Result<Settlement, Error> {
        self.start().await?.settled().await
    }

    /// Starts the child and returns its answer as a value; see [`Agent::result`].
    pub async fn result<T: DeserializeOwned>(self) -> Result<T, Error> {
        self.start().await?.result().await
    }

    /// Starts the child and returns its answer as a value of a type, whose schema the model is shown.
    ///
    /// An answer that does not fit is sent back once; if the next does not fit either, it is
    /// [`Error::Unfinished`] with the settlement.
    pub async fn ask<T: JsonSchema + DeserializeOwned>(self) -> Result<T, Error> {
        let schema = RawJson::of(&schema_of::<T>());
        self.output_schema(schema).result().await
    }
}

impl IntoFuture for NewChild {
    type Output = Result<Agent, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    /// Starts the child; see [`NewChild::start`].
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.start())
    }
}

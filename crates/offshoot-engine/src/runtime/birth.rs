//! How a session comes to be: its root's birth and the prompt that it begins with.
//!
//! Hooks are asked about the prompt before anything is written, so one that is refused leaves nothing
//! behind. What is written is one transaction, the command included: there is no half a session.

use std::collections::BTreeMap;
use std::sync::Arc;

use offshoot_types::command::{Command, Opening, Receipt};
use offshoot_types::event::{Event, Hooked, Origin, Profile, Spawned};
use offshoot_types::hook::{About, Who};
use offshoot_types::id::{AgentId, RunNo, Seq, TreeId};
use offshoot_types::message::UserMessage;
use offshoot_types::permission::Layer;
use offshoot_types::permission::written::Variables;
use offshoot_types::store::{Append, NewEntry};
use offshoot_types::terms::Terms;
use offshoot_types::tree::Tree;
use tokio::sync::Notify;

use super::{CommandError, Inner};
use crate::agent;
use crate::board::Board;
use crate::ground;
use crate::hooks;
use crate::hooks::Caller;
use crate::hooks::prompts::{self, Start, SwitchRules};
use crate::kit::{Kit, SessionKit};
use crate::scope;
use crate::scratch::Scratch;

impl Inner {
    /// Returns the first entries of a session: its root's birth and its first prompt.
    pub(super) async fn opening(
        &self,
        kit: &Kit,
        command: &Command,
        opening: &Opening,
    ) -> Result<Vec<Event>, CommandError> {
        let about = About {
            session: &command.agent,
            agent: &command.agent,
            definition: &opening.definition,
            depth: 0,
        };
        let mut root = self.root(kit, &command.tree, opening);
        if let Some(model) = kit.hooks.resolve_model(about, &root.model) {
            root.model = model;
        }
        let mut events = vec![Event::Spawned(Box::new(root))];
        if !opening.client_tools.is_empty() {
            let tools = opening.client_tools.clone();
            events.push(Event::ClientTools { tools });
        }
        if let Some(prompt) = opening.prompt.clone() {
            let mut message = agent::user_message(prompt);
            let heard = kit.hooks.user_message(about, &mut message);
            heard.map_err(CommandError::Invalid)?;
            let hooked = self.receive(kit, about, opening, &mut message).await?;
            match &message.agent {
                // Its turn begins once it is there: as whom is then written down first.
                Some(name) if *name != opening.definition => events.push(Event::Prompted(message)),
                Some(_) | None if message.model.is_some() => {
                    events.push(Event::Prompted(message));
                }
                Some(_) | None => events.extend(agent::first_turn(message)),
            }
            let hooked = hooked.into_iter().map(Box::new);
            events.extend(hooked.map(Event::Hooked));
        }
        Ok(events)
    }

    /// Has hooks asked about the message that a session begins with.
    async fn receive(
        &self,
        kit: &Kit,
        about: About<'_>,
        opening: &Opening,
        message: &mut UserMessage,
    ) -> Result<Vec<Hooked>, CommandError> {
        let hooks = &kit.hooks;
        if !message.from.is_human() || !prompts::is_watched(kit, Start::New) {
            return Ok(Vec::new());
        }
        let who = Who {
            session: about.session.clone(),
            agent: about.agent.clone(),
            definition: opening.definition.clone(),
            parent: None,
            depth: 0,
            run: Some(RunNo::ZERO.next()),
            workspace: opening.workspace.clone(),
        };
        let caller = Caller {
            hooks,
            gate: None,
            grace: self.parts.limits.grace,
        };
        let (text, leaving) = (&mut message.text, &self.departure.now);
        let unsaid = Vec::new();
        let mut said =
            prompts::receive((kit, caller), who, Start::New, unsaid, text, leaving).await;
        if let Some((hook, switch)) = said.switch.take() {
            let limits = &self.parts.limits;
            let manifest = kit.registry.get(&opening.definition);
            let caps = manifest.map(|manifest| scope::root_caps(limits, manifest, opening));
            let charter = kit.charter.as_ref();
            let rules = SwitchRules {
                kit,
                above: &ground::chain_of([], &opening.workspace, charter, None),
                model: &opening.model,
                counts_money: caps.is_some_and(|caps| caps.cost.is_some()),
            };
            let came_of = rules.apply(&switch, message);
            said.hooked.push(hooks::switched(hook, came_of));
        }
        match said.refused {
            None => Ok(said.hooked),
            Some(why) => Err(CommandError::Invalid(format!("the prompt: {why}"))),
        }
    }

    /// Creates a session: the first entries of its agents and the command, in one transaction.
    /// `None` if it is there already.
    pub(super) async fn create(
        &self,
        kit: Arc<SessionKit>,
        command: &Command,
        events: Vec<(AgentId, Event)>,
    ) -> Result<Option<(Arc<Board>, Arc<Notify>)>, CommandError> {
        let tree = &command.tree;
        let mut last: BTreeMap<AgentId, Seq> = BTreeMap::new();
        let mut entries = Vec::with_capacity(events.len());
        for (agent, event) in events {
            let seq = last.entry(agent.clone()).or_insert(Seq::ZERO);
            *seq = seq.next();
            let seq = *seq;
            entries.push(NewEntry { agent, seq, event });
        }
        let append = Append {
            at: self.parts.env.now(),
            entries,
            applied: vec![(command.clone(), Receipt::Opened)],
        };
        let Some((lease, entries)) = self.parts.store.create(tree, append).await? else {
            return Ok(None);
        };
        let (board, nudged) = self.boards.add(lease, &self.parts, kit, Tree::default());
        // The board could not be there before its lease was, so it has not heard of them.
        board.committed(&entries);
        Ok(Some((board, nudged)))
    }

    fn root(&self, kit: &Kit, tree: &TreeId, opening: &Opening) -> Spawned {
        let data = self.parts.data.as_deref();
        let scratch = data.map(|data| Scratch::of_root(data, tree).folder);
        let variables = Variables {
            workspace: &opening.workspace,
            scratch: scratch.as_deref(),
            home: kit.charter.home(),
        };
        let manifest = kit.registry.get(&opening.definition);
        let choices = &kit.helpers.models;
        let named = manifest.and_then(|manifest| choices.named(manifest, &opening.model));
        Spawned {
            definition: opening.definition.clone(),
            origin: Origin::Session {
                workspace: opening.workspace.clone(),
                date: opening.date.clone(),
                project: opening.project.clone().map(|mut project| {
                    project.fit();
                    project
                }),
                copy: None,
            },
            depth: 0,
            model: named.unwrap_or(&opening.model).to_owned(),
            layer: match manifest {
                Some(manifest) => manifest.layer(&variables),
                None => Layer::of_agent(&opening.definition, None),
            },
            inspectable: true,
            terms: manifest.map_or_else(Terms::default, |manifest| {
                scope::terms_of_root(kit, &self.parts.limits, manifest, opening)
            }),
            profile: manifest.map(|of| Profile::of(of)).unwrap_or_default(),
            metadata: opening.metadata.clone(),
        }
    }
}

//! Hooks about what people say, before it is in the log.
//!
//! A message that is refused never lands, so no model ever sees it. What hooks
//! add to one stands behind its words, marked: it goes where the message goes,
//! also when that is copied, taken back or summed up.

use offshoot_types::content::Content;
use offshoot_types::event::Hooked;
use offshoot_types::hook::{Occasion, Point, Switch, What, Who, Word};
use offshoot_types::manifest::{Manifest, names};
use offshoot_types::message::UserMessage;
use offshoot_types::permission::{Action, Layer, Need, Permissions};
use offshoot_types::tier::Tier;
use tokio_util::sync::CancellationToken;

use super::host::{self, PromptHeard};
use super::{Caller, Heard, call};
use crate::kit::Kit;

/// What whoever sent a message is told if its agent was stopped meanwhile.
pub(crate) const STOPPED: &str = "it was stopped before its hooks had answered";

/// What hooks have said to a message.
#[derive(Debug, Default)]
pub(crate) struct Reception {
    /// What each did.
    pub(crate) hooked: Vec<Hooked>,
    /// Why it is not taken.
    pub(crate) refused: Option<String>,
    /// Who is to answer, and which hook says so.
    pub(crate) switch: Option<(String, Switch)>,
    /// What hooks said of the start of the session: for the next message, if this one is not taken.
    pub(crate) unsaid: Vec<String>,
}

/// Whether the session is taken up with this message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// It was before.
    Under,
    /// For the first time ever.
    New,
    /// It has been at work before, in this process or another.
    Again,
}

/// Tells whether hooks want to hear of messages, or of sessions that begin with them.
pub(crate) fn is_watched(kit: &Kit, start: Start) -> bool {
    let begins = start != Start::Under && kit.hooks.is_watched(Point::SessionStart);
    begins || kit.hooks.is_watched(Point::UserPromptSubmit) || kit.host_hooks.is_some()
}

/// Shows the host and then hooks what a person says. The host may rewrite it. What hooks add is put
/// behind it, and what they said of the start of the session and is `unsaid` before it.
pub(crate) async fn receive(
    (kit, caller): (&Kit, Caller<'_>),
    who: Who,
    start: Start,
    mut unsaid: Vec<String>,
    content: &mut Content,
    cancel: &CancellationToken,
) -> Reception {
    let mut heard = Heard::default();
    if start != Start::Under {
        let resumes = start == Start::Again;
        let occasion = Occasion {
            who: who.clone(),
            what: What::SessionStart { resumes },
        };
        heard = call(caller, &occasion, cancel).await;
        // That a session begins cannot be refused; that it goes no further can.
        if matches!(heard.word, Word::Deny { .. }) {
            heard.word = Word::Nothing;
        }
        unsaid.append(&mut heard.contexts);
    }
    let PromptHeard { hooked, refused } = match &kit.host_hooks {
        Some(hooks) => host::receive(hooks, caller.grace, &who, content, cancel).await,
        None => PromptHeard::default(),
    };
    heard.hooked.extend(hooked);
    if refused.is_none() {
        let prompt = content.described().into_owned();
        let what = What::UserPromptSubmit { prompt };
        heard.add(call(caller, &Occasion { who, what }, cancel).await);
    }
    let refused = refused.or_else(|| match &heard.word {
        _ if heard.cancelled || cancel.is_cancelled() => Some(STOPPED.to_owned()),
        Word::Nothing | Word::Ask { .. } => None,
        Word::Deny { .. } | Word::Stop { .. } => {
            Some(format!("it was refused by {}", heard.reason()))
        }
    });
    for context in unsaid.iter().chain(&heard.contexts) {
        // On a line of its own, behind an empty one.
        content.push_text(&format!("\n{context}"));
    }
    Reception {
        hooked: heard.hooked,
        refused,
        switch: heard.switch,
        unsaid,
    }
}

/// What a switch is held against.
pub(crate) struct SwitchRules<'a> {
    pub(crate) kit: &'a Kit,
    /// What the host, the project and the user say of permissions.
    pub(crate) above: &'a Permissions,
    /// The model of the session.
    pub(crate) model: &'a str,
    /// Whether money is capped, so that the price of a model has to be known.
    pub(crate) counts_money: bool,
}

impl SwitchRules<'_> {
    /// Has a message taken up by another agent or model; returns what that is, for people, or why it
    /// stays as it is.
    pub(crate) fn apply(
        &self,
        switch: &Switch,
        message: &mut UserMessage,
    ) -> Result<String, String> {
        let manifest = match &switch.agent {
            Some(name) => Some(self.agent(name)?),
            None => None,
        };
        let model = match &switch.model {
            Some(name) => Some(self.model(name)?),
            None => None,
        };
        let choices = &self.kit.helpers.models;
        let own = manifest.and_then(|manifest| choices.named(manifest, self.model));
        let asked = model.as_deref().or(own).unwrap_or(self.model);
        let found = self.kit.models.find(asked);
        let found = found.map_err(|error| error.message)?;
        let capped = manifest.is_some_and(|manifest| manifest.limits.cost.is_some());
        if (capped || self.counts_money) && found.price().is_none() {
            return Err(format!(
                "the cost is capped and the price of {asked} is not known"
            ));
        }
        let agent = manifest.map(|manifest| manifest.name.clone());
        let shown = [("agent", &agent), ("model", &model)];
        let shown = shown.into_iter().filter_map(|(what, name)| {
            let name = name.as_ref()?;
            Some(format!("{what} {name}"))
        });
        let shown: Vec<String> = shown.collect();
        message.agent = agent.or(message.agent.take());
        message.model = model.or(message.model.take());
        Ok(format!("switches to {}", shown.join(", ")))
    }

    fn agent(&self, name: &str) -> Result<&Manifest, String> {
        let registry = &self.kit.registry;
        let found = registry.get(name);
        let found = found.filter(|manifest| manifest.mode.user_may_start());
        let Some(manifest) = found else {
            let choices = names(registry.for_users());
            return Err(format!(
                "there is no agent {name} that a person may start; there are: {choices}"
            ));
        };
        self.permitted(&manifest.name)?;
        Ok(manifest)
    }

    fn model(&self, name: &str) -> Result<String, String> {
        let model = match Tier::named(name) {
            Some(tier) => {
                let mapped = self.kit.helpers.models.tier(tier);
                mapped.ok_or_else(|| format!("the tier {tier} is not set"))?
            }
            None => name,
        };
        self.permitted(model)?;
        Ok(model.to_owned())
    }

    /// Refuses what a rule denies. A hook of the user's own needs no other consent.
    fn permitted(&self, target: &str) -> Result<(), String> {
        let need = Need {
            capability: Layer::SWITCH.to_owned(),
            target: target.to_owned(),
        };
        let decision = self.above.decide(Layer::SWITCH, &need);
        match decision.action {
            Action::Deny => Err(format!(
                "{} denies {} {target}",
                decision.layer,
                Layer::SWITCH
            )),
            Action::Allow | Action::Ask => Ok(()),
        }
    }
}

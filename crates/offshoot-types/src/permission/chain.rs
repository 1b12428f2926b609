//! The chain of one agent, from the host down to itself: who decides, and why.
//!
//! One function judges; `decide` keeps its verdict and `explain` also what every
//! layer said on the way, so the two cannot differ. A chain grows by `narrow`
//! only. What is personal (credentials, endpoints, a person's presence) does not
//! pass to a child: `hand_on` bars it, and only the host that begins a chain can
//! except something from that.

use std::sync::Arc;

use serde::Serialize;

use super::capability::Capability;
use super::compiled::{Compiled, Wanted, Word};
use super::{Action, Decision, Layer, Need, Rule, Standing};

/// The layer that is named where a child needs what is not handed on.
const PERSONAL: &str = "what is never handed on to children";

/// The chain of one agent, from the host down to itself.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    tip: Option<Arc<Link>>,
    /// Whether it is that of a child.
    handed_on: bool,
    /// What of the personal the host lets children have.
    delegable: Option<Arc<Link>>,
}

#[derive(Debug)]
struct Link {
    layer: Layer,
    rules: Compiled,
    above: Option<Arc<Link>>,
}

impl Link {
    fn new(layer: Layer, above: Option<Arc<Self>>) -> Arc<Self> {
        let rules = Compiled::of(&layer.rules);
        Arc::new(Self {
            layer,
            rules,
            above,
        })
    }
}

impl Permissions {
    /// The chain without any layer: everything asks.
    pub fn empty() -> Self {
        Self::default()
    }

    /// The same, of a host that lets children have some of what is personal: what a rule of these
    /// allows. It gives nothing by itself; layers still have to.
    pub fn of_host(delegable: Vec<Rule>) -> Self {
        let marks = Layer {
            name: "the host's marks".to_owned(),
            rules: delegable,
            closed: true,
            standing: Standing::Grants,
            ..Layer::default()
        };
        Self {
            delegable: Some(Link::new(marks, None)),
            ..Self::default()
        }
    }

    /// Tells whether two are the same chain, and not merely alike.
    pub fn is_same(&self, other: &Self) -> bool {
        let same_tip = match (&self.tip, &other.tip) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        same_tip && self.handed_on == other.handed_on
    }

    /// Returns this chain with one layer more. The only way to make a chain longer.
    #[must_use]
    pub fn narrow(&self, mut layer: Layer) -> Self {
        let former_own = layer.take_former_own();
        let tip = Link::new(layer, self.tip.clone());
        Self {
            tip: Some(match former_own {
                Some(own) => Link::new(own, Some(tip)),
                None => tip,
            }),
            ..self.clone()
        }
    }

    /// Returns this chain as a child has it: without what is personal.
    #[must_use]
    pub fn hand_on(&self) -> Self {
        Self {
            handed_on: true,
            ..self.clone()
        }
    }

    /// Returns the layers, the outermost first.
    pub fn layers(&self) -> Vec<&Layer> {
        let mut layers: Vec<&Layer> = self.links().map(|link| &link.layer).collect();
        layers.reverse();
        layers
    }

    /// Decides one need: the strictest word of all layers that have one.
    ///
    /// On a tie the outermost layer is named: it is the one to change.
    pub fn decide(&self, tool: &str, need: &Need) -> Decision {
        self.judge(&Wanted::new(tool, need), |_, _| {}).decision()
    }

    /// Decides a call of the engine's own, which needs nothing: allowed, unless a rule names it, or asks
    /// about everything. `about` are the names that patterns are held against: one that fits any of them
    /// fits. `None` if nobody has a say.
    pub fn decide_call(&self, call: &str, about: &[&str]) -> Option<Decision> {
        let verdict = self.judge(&Wanted::of_call(call, about), |_, _| {});
        match verdict.by {
            By::Nothing => None,
            By::Layer(..) | By::Default | By::Personal => Some(verdict.decision()),
        }
    }

    /// Decides one need, and tells what every layer said of it.
    pub fn explain(&self, tool: &str, need: &Need) -> Explanation {
        self.explained(&Wanted::new(tool, need))
    }

    /// Decides a call of the engine's own, and tells what every layer said of it.
    pub fn explain_call(&self, call: &str, about: &[&str]) -> Explanation {
        self.explained(&Wanted::of_call(call, about))
    }

    fn explained(&self, wanted: &Wanted<'_>) -> Explanation {
        let mut said = Vec::new();
        let verdict = self.judge(wanted, |layer, word| said.push((layer, word)));
        let decides = |layer: &Layer| match verdict.by {
            By::Layer(by, _) => std::ptr::eq(by, layer),
            By::Default | By::Nothing | By::Personal => false,
        };
        let said = said.into_iter().rev().map(|(layer, word)| Said {
            layer: layer.name.clone(),
            standing: layer.standing,
            word: word.map(|word| word.action),
            rule: word.and_then(|word| word.rule.cloned()),
            in_doubt: word.is_some_and(|word| word.in_doubt),
            decides: decides(layer),
        });
        Explanation {
            layers: said.collect(),
            decision: verdict.decision(),
        }
    }

    /// Says what rules have to say of a file in a folder that a tool may search: `Allow` also where
    /// nobody has a rule for it, because the folder was allowed.
    pub fn sight(&self, tool: &str, need: &Need) -> Action {
        let verdict = self.judge(&Wanted::new(tool, need), |_, _| {});
        match verdict.by {
            By::Default | By::Nothing => Action::Allow,
            By::Layer(..) | By::Personal => verdict.action,
        }
    }

    /// Tells whether `sight` could say anything but `Allow` of a file below a folder.
    pub fn narrows_sight(&self, tool: &str, capability: &str, folder: &str) -> bool {
        let mut links = self.links();
        links.any(|link| {
            link.rules
                .withholds_below(&link.layer, tool, capability, folder)
        })
    }

    /// Returns who denies a tool all that it could need, whatever the targets: the layer's name.
    ///
    /// Every call of it needs at least one of `capabilities`; of a tool that names none, only a rule
    /// for the tool itself says that it is never to be used.
    pub fn bars(&self, tool: &str, capabilities: &[&str]) -> Option<&str> {
        if capabilities.is_empty() {
            let by_name = self
                .links()
                .filter(|link| link.rules.denies_by_name(tool))
                .last();
            return by_name.map(|link| link.layer.name.as_str());
        }
        let mut first = None;
        for capability in capabilities {
            let barred = if self.is_personal(tool, capability) {
                Some(PERSONAL)
            } else {
                self.links()
                    .filter(|link| link.rules.bars(&link.layer, tool, capability))
                    .map(|link| link.layer.name.as_str())
                    .last()
            };
            first = first.or(Some(barred?));
        }
        first
    }

    fn links(&self) -> impl Iterator<Item = &Link> {
        std::iter::successors(self.tip.as_deref(), |link| link.above.as_deref())
    }

    /// Tells whether a child could not have a capability for any target.
    fn is_personal(&self, tool: &str, capability: &str) -> bool {
        let personal = Capability::of(capability).is_some_and(Capability::is_personal);
        let marks = self.delegable.as_deref();
        let none = || marks.is_none_or(|marks| marks.rules.bars(&marks.layer, tool, capability));
        self.handed_on && personal && none()
    }

    fn judge<'a>(
        &'a self,
        wanted: &Wanted<'_>,
        mut each: impl FnMut(&'a Layer, Option<Word<'a>>),
    ) -> Verdict<'a> {
        let mut granted: Option<Verdict<'a>> = None;
        let mut narrowed: Option<Verdict<'a>> = None;
        for Link { layer, rules, .. } in self.links() {
            let word = rules.word(layer, wanted);
            each(layer, word);
            let so_far = match layer.standing {
                Standing::Grants => &mut granted,
                Standing::Narrows => &mut narrowed,
            };
            if let Some(Word { action, rule, .. }) = word
                && so_far
                    .as_ref()
                    .is_none_or(|stricter| action <= stricter.action)
            {
                let by = By::Layer(layer, rule);
                *so_far = Some(Verdict { action, by });
            }
        }
        let granted = granted.unwrap_or(Verdict {
            action: wanted.default(),
            by: if wanted.is_call() {
                By::Nothing
            } else {
                By::Default
            },
        });
        let verdict = match narrowed {
            // Of two that ask alike the rule is the reason: nobody has said anything against a default.
            Some(narrowed) if narrowed.action < granted.action || narrowed.asks_as(&granted) => {
                narrowed
            }
            Some(_) | None => granted,
        };
        let bars = self.handed_on && wanted.is_personal() && verdict.action != Action::Deny;
        if bars && !self.is_marked(wanted) {
            Verdict {
                action: Action::Deny,
                by: By::Personal,
            }
        } else {
            verdict
        }
    }

    /// Tells whether the host lets children have this.
    fn is_marked(&self, wanted: &Wanted<'_>) -> bool {
        let marks = self.delegable.as_deref();
        let word = marks.and_then(|marks| marks.rules.word(&marks.layer, wanted));
        word.is_some_and(|word| word.action == Action::Allow)
    }
}

/// What was decided, and by whom.
#[derive(Clone, Copy)]
struct Verdict<'a> {
    action: Action,
    by: By<'a>,
}

#[derive(Clone, Copy)]
enum By<'a> {
    Layer(&'a Layer, Option<&'a Rule>),
    Default,
    Nothing,
    Personal,
}

impl Verdict<'_> {
    /// Tells whether it asks where nobody else has a reason to.
    fn asks_as(&self, other: &Self) -> bool {
        self.action == Action::Ask && other.action == Action::Ask && matches!(other.by, By::Default)
    }

    fn decision(&self) -> Decision {
        let (layer, rule) = match self.by {
            By::Layer(layer, rule) => (layer.name.as_str(), rule),
            By::Default => (Decision::DEFAULT, None),
            By::Nothing => (Decision::NEEDS_NOTHING, None),
            By::Personal => (PERSONAL, None),
        };
        Decision {
            action: self.action,
            layer: layer.to_owned(),
            rule: rule.cloned(),
        }
    }
}

/// What a chain says of a need, layer by layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// What every layer said, the outermost first.
    pub layers: Vec<Said>,
    /// What was decided.
    pub decision: Decision,
}

/// What one layer said of a need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Said {
    /// Its name.
    pub layer: String,
    /// Whether its allow counts for anything.
    pub standing: Standing,
    /// Its word; `None` if it abstains.
    pub word: Option<Action>,
    /// The rule that had it; `None` also for the implicit deny of a closed layer.
    pub rule: Option<Rule>,
    /// Whether the rule fits only if what is open turns out so.
    pub in_doubt: bool,
    /// Whether this layer decided.
    pub decides: bool,
}

#[cfg(test)]
mod tests;

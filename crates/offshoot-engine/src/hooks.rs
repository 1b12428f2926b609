//! Hooks that may take their time, as the engine calls them.
//!
//! All that want to hear of something are called side by side, without a slot
//! (R27), each within its own limit: asked to stop when the time is up or the
//! agent is stopped, dropped when it does not. What they say together is the
//! strictest word of them; none of them can allow anything. One that fails harms
//! nobody else, and is written down. `calls` is about tools, `ends` about runs,
//! `announce` about those that are over, `prompts` about what people say, `notices`
//! about what else has happened already. `host` is the one that rewrites.

pub(crate) mod announce;
pub(crate) mod calls;
pub(crate) mod ends;
pub(crate) mod host;
pub(crate) mod notices;
pub(crate) mod prompts;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_util::future::{FutureExt, join_all};
use offshoot_types::cancel::Cancel;
use offshoot_types::event::{Did, Event, Hooked};
use offshoot_types::hook::{Hooks, Occasion, Point, Say, Switch, Trouble, Watch, What, Who, Word};
use offshoot_types::id::MessageId;
use offshoot_types::message::{Author, UserMessage};
use offshoot_types::store::StoreError;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::board::State;
use crate::context;
use crate::reply::Token;
use crate::settle;
use crate::update::Activity;

/// Most hooks of a tree that run at one time, and most that are told of something meanwhile.
pub(crate) const AT_A_TIME: usize = 16;

/// Most bytes of what one hook tells an agent.
const MOST_OF_CONTEXT: usize = 64 * 1024;

/// Most bytes of a reason, and of what people are told.
const MOST_OF_REASON: usize = 8 * 1024;

/// What an agent reads of a hook stands in this.
pub(crate) const MARK: &str = "hook_context";

/// What the hooks of a tree run with.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) hooks: &'a Hooks,
    /// How many may run at a time; before a tree exists there is nothing to share.
    pub(crate) gate: Option<&'a Semaphore>,
    /// How long one that was asked to stop may take.
    pub(crate) grace: Duration,
}

/// What all hooks that were called have said together.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// What each did, where that is worth an entry.
    pub(crate) hooked: Vec<Hooked>,
    /// What each did that heard of a call that is over, and all that it tells the agent.
    after_call: Vec<Hooked>,
    /// The strictest word.
    pub(crate) word: Word,
    /// Whose it is.
    pub(crate) by: String,
    /// All that want a person to be asked, and why: whoever answers answers each of them.
    pub(crate) asks: Vec<(String, String)>,
    /// What the agent is told, marked with where it comes from.
    pub(crate) contexts: Vec<String>,
    /// Who is to answer, and which hook says so: the first that does.
    pub(crate) switch: Option<(String, Switch)>,
    /// Whether somebody stopped the agent before they were done.
    pub(crate) cancelled: bool,
}

impl Heard {
    /// Returns who said the strictest word and why, for whoever has to live with it.
    pub(crate) fn reason(&self) -> String {
        let (Word::Ask { reason } | Word::Deny { reason } | Word::Stop { reason }) = &self.word
        else {
            return String::new();
        };
        match reason.trim() {
            "" => format!("hook {}", self.by),
            reason => format!("hook {}: {reason}", self.by),
        }
    }

    /// Returns the entries that say what they did.
    pub(crate) fn events(&mut self) -> Vec<Event> {
        let hooked = std::mem::take(&mut self.hooked);
        let event = |hooked| Event::Hooked(Box::new(hooked));
        hooked.into_iter().map(event).collect()
    }

    /// Returns the entries that say that hooks have heard of a call that is over, and what they tell the
    /// agent: other calls of its message are not, and the process may die before they are.
    pub(crate) fn events_between_groups(self) -> impl Iterator<Item = Event> {
        let hooked = self.after_call.into_iter();
        hooked.map(|hooked| Event::Hooked(Box::new(hooked)))
    }

    fn take(&mut self, watch: &dyn Watch, occasion: &Occasion, said: Result<Say, Trouble>) {
        let point = occasion.point();
        let (did, note, word, told) = match said {
            Err(trouble) => {
                let why = context::capped(trouble.why().to_owned(), MOST_OF_REASON);
                // Nobody knows what a guard would have said that broke down: a person has to.
                let word = match trouble {
                    Trouble::BrokeDown(_) if point.guards() => Word::Ask {
                        reason: format!("it broke down ({why})"),
                    },
                    Trouble::BrokeDown(_) | Trouble::Failed(_) => Word::Nothing,
                };
                (Did::Failed { why }, None, word, None)
            }
            Ok(mut say) => {
                if let Some(switch) = say.switch.take() {
                    self.take_switch(watch, point, switch);
                }
                let told = say.context.filter(|text| !text.trim().is_empty());
                if let Some(text) = &told {
                    self.contexts.push(marked(watch.name(), point, text));
                }
                let word = bounded(say.word);
                let did = match (&word, &told) {
                    (Word::Nothing, None) => Did::Passed,
                    (Word::Nothing, Some(_)) => Did::Told,
                    (Word::Ask { reason }, _) => Did::Asked {
                        reason: reason.clone(),
                    },
                    (Word::Deny { reason }, _) => Did::Refused {
                        reason: reason.clone(),
                    },
                    (Word::Stop { reason }, _) => Did::Stopped {
                        reason: reason.clone(),
                    },
                };
                let note = say.note.map(|note| context::capped(note, MOST_OF_REASON));
                (did, note, word, told)
            }
        };
        let hooked = Hooked {
            hook: watch.name().to_owned(),
            point,
            call: occasion.call().cloned(),
            did,
            note,
            context: told.map(|text| context::capped(text, MOST_OF_CONTEXT)),
            arguments: None,
            by_host: false,
        };
        if point.is_after_call() {
            self.after_call.push(hooked.clone());
        }
        // That hooks heard of the end of a run is remembered, so that it is told once.
        if hooked.did != Did::Passed || hooked.note.is_some() || point.is_end_of_run() {
            let context = hooked.context.filter(|_| point.guards());
            self.hooked.push(Hooked { context, ..hooked });
        }
        if let Word::Ask { reason } = &word {
            self.asks.push((watch.name().to_owned(), reason.clone()));
        }
        // The first of the strictest is named.
        if word.is_stricter_than(&self.word) {
            self.word = word;
            self.by = watch.name().to_owned();
        }
    }

    /// Notes the agent or model that a hook chooses. A hook of a project may not: that is recorded.
    fn take_switch(&mut self, watch: &dyn Watch, point: Point, switch: Switch) {
        if point != Point::UserPromptSubmit {
            return;
        }
        let hook = watch.name().to_owned();
        if watch.may_switch() {
            self.switch.get_or_insert((hook, switch));
        } else {
            let why = "only a hook of the user may switch agent or model".to_owned();
            self.hooked.push(switched(hook, Err(why)));
        }
    }

    /// Takes what was heard at another point about the same thing.
    pub(crate) fn add(&mut self, other: Self) {
        self.hooked.extend(other.hooked);
        self.contexts.extend(other.contexts);
        self.asks.extend(other.asks);
        self.cancelled |= other.cancelled;
        self.switch = self.switch.take().or(other.switch);
        if other.word.is_stricter_than(&self.word) {
            self.word = other.word;
            self.by = other.by;
        }
    }
}

/// Returns what is written down of a hook that says who is to answer: what that is, or why it is not.
pub(crate) fn switched(hook: String, came_of: Result<String, String>) -> Hooked {
    let (did, note) = match came_of {
        Ok(note) => (Did::Passed, Some(note)),
        Err(why) => (Did::Failed { why }, None),
    };
    Hooked {
        hook,
        point: Point::UserPromptSubmit,
        call: None,
        did,
        note,
        context: None,
        arguments: None,
        by_host: false,
    }
}

fn bounded(word: Word) -> Word {
    let cut = |reason| context::capped(reason, MOST_OF_REASON);
    match word {
        Word::Nothing => Word::Nothing,
        Word::Ask { reason } => Word::Ask {
            reason: cut(reason),
        },
        Word::Deny { reason } => Word::Deny {
            reason: cut(reason),
        },
        Word::Stop { reason } => Word::Stop {
            reason: cut(reason),
        },
    }
}

/// Marks what an agent is told with where it comes from; it cannot close the mark (R24).
pub(crate) fn marked(hook: &str, point: Point, text: &str) -> String {
    let text = context::capped(text.trim_end().to_owned(), MOST_OF_CONTEXT);
    let text = settle::without_mark(&text, MARK);
    let hook = hook.replace(['"', '<', '>'], "'");
    format!("<{MARK} hook=\"{hook}\" event=\"{point}\">\n{text}\n</{MARK}>")
}

/// Calls all hooks that want to hear of something, and waits for them.
pub(crate) async fn call(
    caller: Caller<'_>,
    occasion: &Occasion,
    cancel: &CancellationToken,
) -> Heard {
    let watching = caller.hooks.watching(occasion.point(), occasion.subject());
    let calls = watching
        .iter()
        .map(|watch| one(caller, watch, occasion, cancel));
    let said = join_all(calls).await;
    let mut heard = Heard::default();
    for (watch, said) in watching.iter().zip(said) {
        match said {
            Some(said) => heard.take(watch.as_ref(), occasion, said),
            None => heard.cancelled = true,
        }
    }
    heard
}

/// Calls one hook; `None` if somebody stopped the agent first.
async fn one(
    caller: Caller<'_>,
    watch: &Arc<dyn Watch>,
    occasion: &Occasion,
    cancel: &CancellationToken,
) -> Option<Result<Say, Trouble>> {
    let _place = match caller.gate {
        None => None,
        Some(gate) => tokio::select! {
            biased;
            () = cancel.cancelled() => return None,
            place = gate.acquire() => place.ok(),
        },
    };
    let call = |signal| watch.call(occasion.clone(), signal);
    let ended = bounded_call(watch.limit(), caller.grace, cancel, call).await?;
    Some(ended.unwrap_or_else(|why| Err(Trouble::BrokeDown(why))))
}

/// Waits for one call of a hook, within its limit: the hook is asked to stop when the time is up or the
/// agent is stopped, and dropped when it does not. Returns `None` if the agent was stopped first, and an
/// error if the hook broke down.
async fn bounded_call<T>(
    limit: Duration,
    grace: Duration,
    cancel: &CancellationToken,
    call: impl FnOnce(Cancel) -> BoxFuture<'static, T>,
) -> Option<Result<T, String>> {
    let stop = cancel.child_token();
    let call = async {
        let signal = Cancel::new(Token(stop.clone()));
        call(signal).await
    };
    let mut call = Box::pin(AssertUnwindSafe(call).catch_unwind());
    let panicked = || "it panicked; this is a bug of the hook".to_owned();
    let late = tokio::select! {
        biased;
        said = &mut call => return Some(said.map_err(|_| panicked())),
        () = cancel.cancelled() => false,
        () = tokio::time::sleep(limit) => true,
    };
    stop.cancel();
    // What it says now is too late; dropping it ends it.
    drop(tokio::time::timeout(grace, call).await);
    late.then(|| {
        let seconds = limit.as_secs_f64();
        Err(format!("it did not end within {seconds} s, and was ended"))
    })
}

/// Returns a message of the runtime's own, which hands an agent what hooks have said.
pub(crate) fn message(id: MessageId, texts: &[String]) -> UserMessage {
    UserMessage {
        id,
        text: texts.join("\n").into(),
        from: Author::Host,
        agent: None,
        model: None,
        metadata: None,
        output_schema: None,
        delegation: None,
        immediate: false,
    }
}

/// Returns whom hooks are told of; `None` for who is not there, and for helpers, which work for the
/// runtime and are nobody's business.
pub(crate) fn who(state: &State, id: &offshoot_types::id::AgentId) -> Option<Who> {
    let root = state.tree.root()?;
    let workspace = state.tree.agent(root)?.spawned.workspace()?;
    let agent = state.tree.agent(id)?;
    if agent.spawned.helper().is_some() {
        return None;
    }
    Some(Who {
        session: root.clone(),
        agent: id.clone(),
        definition: agent.definition().to_owned(),
        parent: agent.parent().map(|parent| parent.agent.clone()),
        depth: agent.spawned.depth,
        run: Some(agent.last_run()).filter(|run| run.get() > 0),
        workspace: workspace.to_owned(),
    })
}

impl Agent {
    /// Tells whether hooks want to hear of something of this agent. If not, nothing is done for them.
    pub(crate) fn is_watched(&self, point: Point) -> bool {
        self.helps.is_none() && self.kit.hooks.is_watched(point)
    }

    /// Calls the hooks that want to hear of something of this agent.
    pub(crate) async fn call_hooks(&self, what: What, cancel: &CancellationToken) -> Heard {
        let Some(who) = who(&self.board.state(), &self.id) else {
            return Heard::default();
        };
        let occasion = Occasion { who, what };
        let (point, subject) = (occasion.point(), occasion.subject());
        if self.kit.hooks.watching(point, subject).is_empty() {
            return Heard::default();
        }
        self.set_activity(Activity::Hooks(point));
        call(self.board.caller(&self.kit.hooks), &occasion, cancel).await
    }

    /// Writes down what hooks did, and hands the agent what they say, between two steps.
    pub(crate) async fn pass_on(
        &self,
        mut events: Vec<Event>,
        texts: &[String],
        transcript: &mut offshoot_types::transcript::Transcript,
    ) -> Result<(), StoreError> {
        if !texts.is_empty() {
            let message = message(MessageId::new(self.parts.env.new_id()), texts);
            let prompt = message.id.clone();
            events.push(Event::Prompted(message));
            events.push(Event::Steered { prompt });
        }
        if events.is_empty() {
            return Ok(());
        }
        crate::turn::follow(transcript, self.log.append(events).await?)
    }
}

//! The person of a history, and bad luck.
//!
//! Sends commands to either process, again where no answer came, some of them
//! twice at once and some together with others; steals locks, fills the disk,
//! ends processes in good order. What is sent has to be answered in the end.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use offshoot_types::command::{
    Answer, Command, Order, Prompt, Receipt, Rename, Rewind, Scope, Verdict,
};
use offshoot_types::id::{AgentId, CallId, CommandId, MessageId};
use offshoot_types::store::StoreErrorKind;
use offshoot_types::tree::{Agent, Ask, Tree};

use super::copies::is_no_time_to_copy;
use super::world::{PATIENCE, World};
use crate::runtime::CommandError;

/// A call that waits for an answer, and what it asks.
type Asked = (AgentId, CallId, Ask);

/// Returns the calls that wait for an answer.
pub(super) fn asked(tree: &Tree) -> Vec<Asked> {
    let mut asked = Vec::new();
    for id in tree.walk() {
        let calls = tree.agent(id).map(Agent::open_calls).unwrap_or_default();
        asked.extend(calls.into_iter().filter_map(|open| {
            let ask = open.asks.clone()?;
            Some((id.clone(), open.call.clone(), ask))
        }));
    }
    asked
}

/// Returns words for so many questions.
fn said(questions: usize) -> Verdict {
    let answers = vec![vec!["this".to_owned()]; questions];
    Verdict::Said { answers }
}

impl World {
    /// Does one thing a person, another process or bad luck might do.
    pub(super) async fn act(&mut self) -> Result<(), String> {
        match self.chance.below(28) {
            0..=11 => {
                let first = self.wish();
                let wishes = match self.chance.below(3) {
                    0 => vec![first, self.wish()],
                    _ => vec![first],
                };
                self.send(wishes).await
            }
            // The locks of real handles cannot be stolen.
            12 if self.is_simulated() => {
                self.witness.stolen.store(true, Ordering::Relaxed);
                self.disk.steal(&self.tree);
                Ok(())
            }
            13 => {
                let process = &self.processes[self.chance.below(self.processes.len())];
                let times = 1 + self.chance.below(2);
                process.power.full.store(times, Ordering::Relaxed);
                Ok(())
            }
            14 => self.leave(self.chance.below(self.processes.len())).await,
            15 => self.remove_a_copy().await,
            16 | 17 => self.prompt_behind_a_rewind().await,
            18 | 19 => self.prompt_a_settled_child().await,
            20 | 21 => self.rewind_above_a_late_run().await,
            22 => self.prompt_behind_a_spawn().await,
            23 | 24 if self.has_client_tools() => self.answer_twice().await,
            _ => {
                let ms = self.chance.draw() % 4_000;
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Ok(())
            }
        }
    }

    /// Returns something a person might want.
    fn wish(&mut self) -> (AgentId, Order) {
        let root = self.tree.root().clone();
        match self.chance.below(34) {
            0..=3 => (root, self.prompt("go")),
            4..=6 => (root, self.some_special_prompt()),
            7 => (self.some_agent(), self.prompt("more")),
            8 | 9 => (self.some_agent(), Order::Cancel(Scope::Run)),
            10 => (self.some_agent(), Order::Cancel(Scope::Turn)),
            11 | 12 => (self.some_agent(), Order::Promote),
            13..=18 => self.some_answer(),
            19..=22 => self.some_rewind(),
            23 => self.some_copy(),
            24 => self.some_use_of_a_copy(),
            25 => (self.some_agent(), Order::Compact),
            26 => (root, Order::Compact),
            27 => (root, Order::Summarise),
            28 => {
                let title = "a name".to_owned();
                let by = offshoot_types::message::Author::Human;
                (root, Order::Rename(Rename { title, by }))
            }
            29 => (root, Order::Resume),
            _ => self.some_spawn(),
        }
    }

    /// Returns a prompt of its own.
    pub(super) fn prompt(&mut self, text: &str) -> Order {
        Order::Prompt(self.words(text))
    }

    /// Returns words of its own.
    pub(super) fn words(&mut self, text: &str) -> Prompt {
        self.commands += 1;
        Prompt {
            message: MessageId::new(format!("prompt-{}", self.commands)),
            text: text.into(),
            from: offshoot_types::message::Author::Human,
            agent: None,
            model: None,
            metadata: None,
            output_schema: None,
            delegation: None,
            immediate: false,
        }
    }

    /// Returns a rewind to something that was said, or to nothing, or to what nobody said.
    fn some_rewind(&self) -> (AgentId, Order) {
        let agent = if self.chance.one_in(4) {
            self.some_agent()
        } else {
            self.some_agent_between_turns()
        };
        let to = match self.chance.below(8) {
            0 => None,
            1 => Some(MessageId::new("nobody's")),
            _ => {
                let said = self.said_by(&agent);
                said.get(self.chance.below(said.len())).cloned()
            }
        };
        (agent, Order::Rewind(Rewind { to }))
    }

    /// Returns an answer to something that is asked, or that nobody asks.
    fn some_answer(&mut self) -> (AgentId, Order) {
        let asked = asked(&self.tree_on_disk());
        let (agent, call, ask) = match asked.get(self.chance.below(asked.len().max(1))) {
            Some(asked) if !self.chance.one_in(8) => asked.clone(),
            Some(_) | None => {
                let ask = Ask::default();
                (self.some_agent(), CallId::new("nobody's"), ask)
            }
        };
        if ask.waits_for_client && !self.chance.one_in(8) {
            return (agent, Order::Answer(Answer::new(call, self.result())));
        }
        let verdict = match self.chance.below(6) {
            0 => Verdict::Session,
            1 => Verdict::Agent,
            4 => said(ask.questions.len()),
            2 | 3 => Verdict::Deny {
                reason: "no".to_owned(),
            },
            _ => Verdict::Once,
        };
        (agent, Order::Answer(Answer::new(call, verdict)))
    }

    /// Answers everything that is asked.
    pub(super) async fn answer_all(&mut self, tree: &Tree) -> Result<(), String> {
        let answer = |(agent, call, ask): Asked| {
            let verdict = match ask.questions.len() {
                _ if ask.waits_for_client => self.result(),
                0 => Verdict::Once,
                many => said(many),
            };
            (agent, Order::Answer(Answer::new(call, verdict)))
        };
        let answers: Vec<_> = asked(tree).into_iter().map(answer).collect();
        if answers.is_empty() {
            return Ok(());
        }
        self.send(answers).await?;
        // Who asked may have died: an answer settles what is left of it and starts nothing (R16).
        let root = self.tree.root().clone();
        self.send(vec![(root, Order::Resume)]).await
    }

    pub(super) fn some_agent(&self) -> AgentId {
        let tree = self.tree_on_disk();
        let agents = tree.walk();
        let some = agents.get(self.chance.below(agents.len()));
        some.map_or_else(|| self.tree.root().clone(), |id| (*id).clone())
    }

    /// Returns somebody who has something to take back, with children at work where there is one.
    pub(super) fn some_agent_between_turns(&self) -> AgentId {
        let tree = self.tree_on_disk();
        let waits = |id: &&&AgentId| {
            let agent = tree.agent(id);
            agent.is_some_and(|agent| agent.turn.is_none() && !agent.open_children.is_empty())
        };
        let agents = tree.walk();
        let waiting: Vec<&&AgentId> = agents.iter().filter(waits).collect();
        let some = waiting.get(self.chance.below(waiting.len()));
        some.map_or_else(|| self.tree.root().clone(), |id| (**id).clone())
    }

    /// Sends commands until all are answered, to whichever process lives, now and then one twice.
    pub(super) async fn send(&mut self, wishes: Vec<(AgentId, Order)>) -> Result<(), String> {
        let commands = wishes
            .into_iter()
            .map(|(agent, order)| self.make_command(agent, order))
            .collect();
        self.send_all(commands).await
    }

    /// Returns a command of its own.
    pub(super) fn make_command(&mut self, agent: AgentId, order: Order) -> Command {
        self.commands += 1;
        let id = CommandId::new(format!("command-{}", self.commands));
        let tree = self.home(&agent, &order);
        Command {
            id,
            tree,
            agent,
            order,
        }
    }

    /// Sends commands that may have been sent before, until all are answered.
    pub(super) async fn send_all(&mut self, commands: Vec<Command>) -> Result<(), String> {
        let by_id = |command: Command| (command.id.clone(), command);
        let mut open: BTreeMap<_, _> = commands.into_iter().map(by_id).collect();
        let until = tokio::time::Instant::now() + PATIENCE;
        while !open.is_empty() {
            self.revive().await;
            if let Some(broken) = self.witness.verdict.get() {
                return Err(broken);
            }
            if tokio::time::Instant::now() > until {
                return Err(format!("{open:?} is not answered"));
            }
            for (command, receipt) in self.try_once(&open).await? {
                open.remove(&command.id);
                if let Some(receipt) = receipt {
                    self.witness.acknowledged(command, receipt);
                }
            }
        }
        Ok(())
    }

    /// Sends commands once; returns those that were answered, or refused for good, before something
    /// died.
    async fn try_once(
        &self,
        open: &BTreeMap<CommandId, Command>,
    ) -> Result<Vec<(Command, Option<Receipt>)>, String> {
        let mut sent = FuturesUnordered::new();
        for command in open.values() {
            for _ in 0..=usize::from(self.chance.one_in(4)) {
                let process = &self.processes[self.chance.below(self.processes.len())];
                sent.push(async move {
                    let answer = Box::pin(process.runtime.command(command.clone())).await;
                    let full = process.power.was_full.load(Ordering::Relaxed);
                    (command, answer, full)
                });
            }
        }
        let mut answered = Vec::new();
        let deaths = self.processes.iter();
        let mut died = futures_util::future::select_all(
            deaths.map(|process| Box::pin(process.power.died.notified())),
        );
        // A cancelled run may wait for something that only a later command brings about.
        let mut patience = Box::pin(tokio::time::sleep(Duration::from_secs(300)));
        loop {
            tokio::select! {
                biased;
                _ = &mut died => return Ok(answered),
                some = sent.next() => match some {
                    Some((command, Ok(receipt), _)) => {
                        answered.push((command.clone(), Some(receipt)));
                    }
                    Some((command, Err(error), _)) if is_no_time_to_copy(command, &error) => {
                        answered.push((command.clone(), None));
                    }
                    Some((command, Err(error), full)) => {
                        self.forgive(command, &error, full)?;
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                    None => return Ok(answered),
                },
                () = &mut patience => return Ok(answered),
            }
        }
    }

    /// Tells which errors a client has to live with.
    fn forgive(&self, command: &Command, error: &CommandError, full: bool) -> Result<(), String> {
        let CommandError::Store(store) = error else {
            return Err(format!("{command:?}: {error}"));
        };
        let was_taken_over = self.witness.stolen.load(Ordering::Relaxed) || self.has_died();
        match store.kind {
            StoreErrorKind::Held | StoreErrorKind::Unknown => Ok(()),
            StoreErrorKind::Fenced if was_taken_over => Ok(()),
            // What was sent behind an append that failed is told as a gap.
            StoreErrorKind::Full | StoreErrorKind::Conflict if full => Ok(()),
            StoreErrorKind::Fenced
            | StoreErrorKind::Full
            | StoreErrorKind::Conflict
            | StoreErrorKind::Refused
            | StoreErrorKind::Unusable
            | StoreErrorKind::Io => Err(format!("{command:?}: {error}")),
        }
    }
}

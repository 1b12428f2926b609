//! The operations that are cut off, and how a folder is brought to rest afterwards.
//!
//! An operation prepares its folder with processes that are left alone, runs the
//! one that is cut off, and says nothing about how that ends: any exit is fine.
//! What follows is done by clean processes only, and each of them has to succeed.

use std::time::Duration;

use serde_json::Value;

use crate::cut::Cut;
use crate::plan::{Call, Plan};
use crate::world::{Done, MODEL, PATIENCE, Running, World};

/// What is cut off. "Owner" runs a session while "sender" sends it something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Start,
    Prompt,
    Recovery,
    Rewind,
    Fork,
    Compact,
    Remove,
    MessageSender,
    MessageOwner,
    CancelSender,
    CancelOwner,
    TwoProcesses,
    Answer,
    Resume,
}

impl Operation {
    pub(crate) const ALL: [Self; 14] = [
        Self::Start,
        Self::Prompt,
        Self::Recovery,
        Self::Rewind,
        Self::Fork,
        Self::Compact,
        Self::Remove,
        Self::MessageSender,
        Self::MessageOwner,
        Self::CancelSender,
        Self::CancelOwner,
        Self::TwoProcesses,
        Self::Answer,
        Self::Resume,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Prompt => "prompt",
            Self::Recovery => "recovery",
            Self::Rewind => "rewind",
            Self::Fork => "fork",
            Self::Compact => "compact",
            Self::Remove => "remove",
            Self::MessageSender => "message-sender",
            Self::MessageOwner => "message-owner",
            Self::CancelSender => "cancel-sender",
            Self::CancelOwner => "cancel-owner",
            Self::TwoProcesses => "two-processes",
            Self::Answer => "answer",
            Self::Resume => "resume",
        }
    }

    /// Tells whether no other process uses the folder meanwhile, so that it can be moved to a full disk.
    pub(crate) fn may_fill(self) -> bool {
        let is_shared = matches!(
            self,
            Self::MessageSender
                | Self::MessageOwner
                | Self::CancelSender
                | Self::CancelOwner
                | Self::TwoProcesses
        );
        !is_shared
    }

    /// Prepares the folder and runs the process that is cut off.
    pub(crate) fn perform(self, world: &mut World<'_>, cut: &Cut) -> Result<(), String> {
        let session = world.session("s");
        let on_session =
            |command: &str| vec!["sessions".to_owned(), command.to_owned(), session.clone()];
        let done = match self {
            Self::Start => world.cut_prompt(&session, cut)?,
            Self::Prompt => {
                world.prompted(&session)?;
                world.cut_prompt(&session, cut)?
            }
            Self::Recovery => {
                world.interrupted(&session)?;
                world.cut_prompt(&session, cut)?
            }
            Self::Rewind => {
                world.prompted(&session)?;
                // Some rewinds find children whose results no agent has read.
                if world.dice.percent(50) {
                    world.interrupted(&session)?;
                } else {
                    world.prompted(&session)?;
                }
                world.cut_command(on_session("rewind"), cut)?
            }
            Self::Fork => {
                world.prompted(&session)?;
                world.cut_command(on_session("fork"), cut)?
            }
            Self::Compact => {
                world.prompted(&session)?;
                world.cut_command(on_session("compact"), cut)?
            }
            Self::Remove => {
                world.prompted(&session)?;
                let mut arguments = on_session("rm");
                arguments.push("--yes".to_owned());
                world.removing = Some(session.clone());
                let done = world.cut_command(arguments, cut)?;
                if done.code == Some(0) {
                    world.removed.push(session);
                }
                done
            }
            Self::MessageSender | Self::MessageOwner | Self::CancelSender | Self::CancelOwner => {
                self.two_on_one_session(world, &session, cut)?
            }
            Self::TwoProcesses => two_sessions(world, &session, cut)?,
            Self::Answer | Self::Resume => {
                let answer = answer(&asleep(world, &session)?);
                if self == Self::Answer {
                    world.cut_command(answer, cut)?
                } else {
                    let words: Vec<&str> = answer.iter().map(String::as_str).collect();
                    world.succeed(&words)?;
                    let resume = ["run", "--json", "--session", &session, "--wait-for-answers"];
                    world.cut_command(resume.map(str::to_owned).to_vec(), cut)?
                }
            }
        };
        world.cut_process = Some(done);
        world.none_left()
    }

    /// Has a second process message or cancel a session, or a child of it, that the first one runs.
    fn two_on_one_session(
        self,
        world: &mut World<'_>,
        session: &str,
        cut: &Cut,
    ) -> Result<Done, String> {
        let owner_is_cut = matches!(self, Self::MessageOwner | Self::CancelOwner);
        let sends = matches!(self, Self::MessageSender | Self::MessageOwner);
        let (of_owner, of_sender) = if owner_is_cut {
            (cut, &Cut::None)
        } else {
            (&Cut::None, cut)
        };
        let before = world.server.requests(&world.round);
        let owner = world.start_prompt(session, of_owner)?;
        world
            .server
            .wait_for_request(&world.round, before, Duration::from_secs(5));
        let mut target = session.to_owned();
        let mut name = session.to_owned();
        if world.dice.percent(50)
            && let Some((id, agent)) = first_child(world, session)?
        {
            (target, name) = (id, agent);
        }
        let sender = if sends {
            let key = world.key(&name);
            let text = format!("plan({key})");
            let arguments = ["sessions", "message", &target, &text, "--json", "--yes"];
            world.start(&arguments.map(str::to_owned), of_sender, Some((name, key)))?
        } else {
            let arguments = ["sessions", "cancel", &target];
            world.start(&arguments.map(str::to_owned), of_sender, None)?
        };
        let [first, second] = if owner_is_cut {
            [owner, sender]
        } else {
            [sender, owner]
        };
        let done = world.wait(first);
        // The other one is waited for in any case: it writes into the same folder.
        let other = world.wait(second);
        other?;
        done
    }
}

impl World<'_> {
    fn start_prompt(&mut self, session: &str, cut: &Cut) -> Result<Running, String> {
        let (arguments, key) = self.tree_prompt(session);
        self.start(&arguments, cut, Some((session.to_owned(), key)))
    }

    fn cut_prompt(&mut self, session: &str, cut: &Cut) -> Result<Done, String> {
        let running = self.start_prompt(session, cut)?;
        self.wait(running)
    }

    fn cut_command(&mut self, arguments: Vec<String>, cut: &Cut) -> Result<Done, String> {
        let running = self.start(&arguments, cut, None)?;
        self.wait(running)
    }

    /// Leaves a session whose process was killed while its agents worked.
    fn interrupted(&mut self, session: &str) -> Result<(), String> {
        let before = self.server.requests(&self.round);
        let delay = Duration::from_millis(self.dice.below(120));
        let (arguments, key) = self.tree_prompt(session);
        let prompt = Some((session.to_owned(), key));
        let running = self.start(&arguments, &Cut::None, prompt)?;
        self.server
            .wait_for_request(&self.round, before, Duration::from_secs(20));
        self.kill_after(running, delay)?;
        self.none_left()
    }

    /// Brings every session to rest with clean processes; returns the sessions there are.
    pub(crate) fn come_to_rest(&mut self, operation: Operation) -> Result<Vec<String>, String> {
        // A removed session is not begun anew: another one shows that the folder can be used.
        let first = if operation == Operation::Remove {
            "t"
        } else {
            "s"
        };
        let first = self.session(first);
        if matches!(operation, Operation::Answer | Operation::Resume)
            && let Some(asked) = self.asked()?
        {
            let answer = answer(&asked);
            let words: Vec<&str> = answer.iter().map(String::as_str).collect();
            self.succeed(&words)?;
        }
        self.finish(&first)?;
        let mut sessions = self.sessions()?;
        for session in sessions.clone().iter().filter(|id| **id != first) {
            self.finish(session)?;
        }
        sessions.sort();
        for removed in &self.removed {
            if sessions.contains(removed) {
                return Err(format!("{removed} was removed and is listed"));
            }
        }
        self.succeed(&["doctor", "--model", MODEL])?;
        self.none_left()?;
        Ok(sessions)
    }

    fn sessions(&mut self) -> Result<Vec<String>, String> {
        let listed = self.succeed(&["sessions", "list", "--json"])?;
        let ids = lines(&listed).into_iter();
        Ok(ids
            .filter_map(|row| row["sessionId"].as_str().map(str::to_owned))
            .collect())
    }

    /// Prompts a session once more, answers what it asks, and waits until it has answered.
    fn finish(&mut self, session: &str) -> Result<(), String> {
        let (arguments, key) = self.plan_prompt(session, Plan::default());
        let wanted = format!("answer({key})");
        let running = self.start(&arguments, &Cut::None, Some((session.to_owned(), key)))?;
        let done = self.wait(running)?;
        if done.code != Some(0) || !done.stdout.contains(&wanted) {
            return Err(format!(
                "a clean process could not finish {session}: {done:?}"
            ));
        }
        Ok(())
    }

    /// Returns the requests in the inbox that have no answer yet.
    fn asked(&mut self) -> Result<Option<Value>, String> {
        // There may be no data folder yet: then the list is an error, and empty.
        let listed = self.run(&["inbox", "list", "--json"])?;
        let mut asks = lines(&listed).into_iter();
        Ok(asks.find(|ask| ask["answered"] != true))
    }
}

/// Returns the command that answers what the inbox has.
fn answer(asked: &Value) -> Vec<String> {
    let [agent, call] =
        ["agentId", "toolCallId"].map(|key| asked[key].as_str().unwrap_or_default());
    let name = format!("{agent}:{call}");
    let words: &[&str] = if asked["kind"] == "permission" {
        &["--once"]
    } else {
        &["--say", "1"]
    };
    let answer = ["inbox", "answer", &name];
    answer
        .iter()
        .chain(words)
        .map(|&word| word.to_owned())
        .collect()
}

/// Leaves a session that asks something and whose process was killed; returns what it asks.
fn asleep(world: &mut World<'_>, session: &str) -> Result<Value, String> {
    let call = if world.dice.percent(50) {
        Call::Bash
    } else {
        Call::Question
    };
    let plan = Plan {
        steps: vec![vec![call]],
        delay: Duration::ZERO,
    };
    let (arguments, key) = world.plan_prompt(session, plan);
    let prompt = Some((session.to_owned(), key));
    let running = world.start(&arguments, &Cut::None, prompt)?;
    let began = std::time::Instant::now();
    let asked = loop {
        if let Some(asked) = world.asked()? {
            break asked;
        }
        if began.elapsed() > PATIENCE {
            return Err(format!("{session} asks nothing"));
        }
    };
    world.kill_after(running, Duration::ZERO)?;
    Ok(asked)
}

/// Runs two sessions of one folder at once; one is cut off, the other sometimes killed.
fn two_sessions(world: &mut World<'_>, session: &str, cut: &Cut) -> Result<Done, String> {
    let first = world.start_prompt(session, cut)?;
    let other = world.session("t");
    let second = world.start_prompt(&other, &Cut::None)?;
    let kill = world.dice.percent(50).then(|| world.dice.below(150));
    let second = match kill {
        Some(delay) => world.kill_after(second, Duration::from_millis(delay)),
        None => world.wait(second),
    };
    let done = world.wait(first);
    second?;
    done
}

/// Returns the id and the name of the first agent below a session.
fn first_child(world: &mut World<'_>, session: &str) -> Result<Option<(String, String)>, String> {
    let tree = world.run(&["sessions", "tree", session, "--json"])?;
    let rows = lines(&tree);
    let child = rows.iter().find(|row| row["parentAgentId"].is_string());
    Ok(child.and_then(|row| {
        let key = row["prompt"].as_str().and_then(crate::plan::key_of_line)?;
        Some((
            row["agentId"].as_str()?.to_owned(),
            crate::plan::agent_of(key).to_owned(),
        ))
    }))
}

fn lines(done: &Done) -> Vec<Value> {
    let lines = done.stdout.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

//! What agents do in a round: drawn from a seed, and carried out by the model server.
//!
//! A prompt is the line `plan(KEY)`. The server looks the plan up by its key and
//! makes its calls, step by step; the last text of the agent is `answer(KEY)`. No
//! prompt, call or tool contains that word, so an agent's requests show exactly
//! which answers it was sent. A key is the name of an agent, a dot, and the number
//! of the prompt; a child's name is made from the key and the place of its call.

use std::collections::BTreeMap;
use std::time::Duration;

/// Most agents that one prompt starts.
const MOST_AGENTS: usize = 8;

/// Numbers that look random and are the same for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Returns true in so many of a hundred cases.
    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// A call that an agent makes.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    /// Starts a child with the prompt of this key.
    Task {
        key: String,
        background: bool,
    },
    Children,
    Wait,
    /// Says something to the first child that was started in the background.
    Message,
    /// Cancels that child.
    Cancel,
    /// Writes a file of this name.
    Write {
        name: String,
    },
    /// Runs a command that leaves a process behind, which has to end with its agent.
    Bash,
    /// Asks the user a question.
    Question,
}

/// The steps of one prompt, and how long each takes to be answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Vec<Call>>,
    pub(crate) delay: Duration,
}

/// Plans by the key of their prompt. A key without a plan has no steps.
pub(crate) type Plans = BTreeMap<String, Plan>;

/// Draws the plan of a prompt and those of all agents that it starts.
pub(crate) fn tree(key: &str, dice: &mut Dice, plans: &mut Plans) {
    let mut agents = 1;
    draw(key, 0, dice, &mut agents, plans);
    // A tree without a child has nothing to lose.
    if agents == 1 {
        let key_of_child = format!("{key}/0/9.1");
        let task = Call::Task {
            key: key_of_child,
            background: dice.percent(50),
        };
        let root = plans.entry(key.to_owned()).or_default();
        root.steps.insert(0, vec![task]);
    }
}

fn draw(key: &str, depth: u32, dice: &mut Dice, agents: &mut usize, plans: &mut Plans) {
    let steps = if depth == 0 {
        1 + dice.below(3)
    } else {
        dice.below(3)
    };
    let mut plan = Plan {
        steps: Vec::new(),
        delay: Duration::from_millis(dice.below(15)),
    };
    for step in 0..steps {
        let mut calls = Vec::new();
        for place in 0..1 + dice.below(3) {
            let call = match dice.below(20) {
                0..12 if depth < 3 && *agents < MOST_AGENTS => {
                    let child = format!("{key}/{step}/{place}.1");
                    *agents += 1;
                    draw(&child, depth + 1, dice, agents, plans);
                    Call::Task {
                        key: child,
                        background: dice.percent(50),
                    }
                }
                12 => Call::Children,
                13 => Call::Wait,
                14 => Call::Message,
                15 => Call::Cancel,
                16 => Call::Bash,
                _ => Call::Write {
                    name: format!("{}-{step}-{place}.txt", key.replace(['/', '.'], "-")),
                },
            };
            calls.push(call);
        }
        plan.steps.push(calls);
    }
    plans.insert(key.to_owned(), plan);
}

/// Returns the agent that a key is a prompt of.
pub(crate) fn agent_of(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(agent, _)| agent)
}

/// Returns the key of a line that is a prompt of ours.
pub(crate) fn key_of_line(line: &str) -> Option<&str> {
    line.trim().strip_prefix("plan(")?.strip_suffix(')')
}

/// Returns every `answer(KEY)` of a text.
pub(crate) fn answers(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("answer(").filter_map(|(at, _)| {
        let rest = &text[at..];
        Some(&rest[..=rest.find(')')?])
    })
}

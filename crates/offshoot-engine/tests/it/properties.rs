//! What holds for every tree: usage adds up, caps hold, and requests only ever grow.
//!
//! Trees, histories and directives are drawn; what is asserted is computed from
//! the log and from what the models were sent, not from the folds under test.

mod requests;

use std::collections::BTreeMap;
use std::future::Future;

use offshoot_engine::{Asks, Limits};
use offshoot_types::caps::{Caps, Money};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::AgentId;
use offshoot_types::manifest::{Manifest, Mode};
use offshoot_types::message::Usage;
use offshoot_types::tree::Tree;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use crate::stage::{Line, Script, Stage, call, say, task_arguments};

/// Plays a scene to its end, on one thread.
fn play<T>(scene: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(Box::pin(scene))
}

fn few(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        // Of a log in memory nothing is left; the case itself is printed.
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    }
}

/// An agent that is going to be: what its steps use, and whom each of them spawns.
#[derive(Clone, Debug)]
struct Plan {
    steps: Vec<(Usage, Vec<(bool, Plan)>)>,
    last: Usage,
    cap: Option<u64>,
}

fn usage() -> impl Strategy<Value = Usage> {
    vec(0..3_000_u64, 5).prop_map(|kinds| Usage {
        input: kinds[0],
        output: kinds[1],
        reasoning: kinds[2],
        cache_read: kinds[3],
        cache_write: kinds[4],
    })
}

/// Draws an agent that spawns somebody in its first step.
fn tree() -> impl Strategy<Value = Plan> {
    let first = (usage(), vec((any::<bool>(), plan()), 1..5));
    let step = (usage(), vec((any::<bool>(), plan()), 0..3));
    (first, vec(step, 0..3), usage(), cap()).prop_map(|(first, mut steps, last, cap)| {
        steps.insert(0, first);
        Plan { steps, last, cap }
    })
}

fn cap() -> impl Strategy<Value = Option<u64>> {
    proptest::option::of(1_000..60_000_u64)
}

fn plan() -> impl Strategy<Value = Plan> {
    let leaf = (usage(), cap()).prop_map(|(last, cap)| Plan {
        steps: Vec::new(),
        last,
        cap,
    });
    leaf.prop_recursive(3, 16, 4, move |below| {
        let step = (usage(), vec((any::<bool>(), below), 0..4));
        (vec(step, 0..3), usage(), cap()).prop_map(|(steps, last, cap)| Plan { steps, last, cap })
    })
}

/// Gives every agent of a plan a definition and lines of its own; returns the name of the first.
fn cast(plan: &Plan, greedy: bool, cast: &mut Vec<Manifest>, script: &mut Script) -> String {
    let name = match cast.len() {
        0 => "lead".to_owned(),
        others => format!("agent{others}"),
    };
    cast.push(Manifest {
        inspectable: true,
        limits: Caps {
            tokens: plan.cap.filter(|_| greedy),
            ..Caps::default()
        },
        ..Manifest::new(&name, Mode::All, "Work.")
    });
    let mut lines: Vec<Line> = Vec::new();
    let finish = |line: Line, used: Usage| {
        if greedy {
            line.greedily()
        } else {
            line.having_used(used)
        }
    };
    for (used, children) in &plan.steps {
        let mut calls = vec![("read", json!({ "path": "a" }))];
        for (background, child) in children {
            let child = self::cast(child, greedy, cast, script);
            let mut arguments = task_arguments(&child, "go");
            arguments["background"] = json!(background);
            calls.push(("task", arguments));
        }
        lines.push(finish(call(&calls), *used));
    }
    lines.push(finish(say("done"), plan.last));
    *script = script.clone().part(&name, lines);
    name
}

/// What agents used, by who is above them; read from the log and from nothing else.
struct Books<'a> {
    log: &'a [Entry],
    above: BTreeMap<AgentId, AgentId>,
}

impl<'a> Books<'a> {
    fn of(log: &'a [Entry]) -> Self {
        let births = log.iter().filter_map(|entry| match &entry.event {
            Event::Spawned(spawned) => Some((entry.agent.clone(), spawned.parent()?.agent.clone())),
            _ => None,
        });
        let above = births.collect();
        Self { log, above }
    }

    fn is_below(&self, agent: &AgentId, top: &AgentId) -> bool {
        agent == top
            || self
                .above
                .get(agent)
                .is_some_and(|above| self.is_below(above, top))
    }

    /// Adds up what an agent said in its last run, and with it everybody below it if wanted.
    fn sum(&self, top: &AgentId, with_those_below: bool) -> (Usage, u64, Money, u32) {
        let opened = self
            .log
            .iter()
            .rposition(|entry| entry.agent == *top && matches!(entry.event, Event::Settled { .. }));
        let before = self.log[..opened.unwrap_or(0)]
            .iter()
            .rposition(|entry| entry.agent == *top && matches!(entry.event, Event::Settled { .. }));
        let mut sum = (Usage::default(), 0, Money::default(), 0);
        for entry in &self.log[before.map_or(0, |at| at + 1)..] {
            let counts = if with_those_below {
                self.is_below(&entry.agent, top)
            } else {
                entry.agent == *top
            };
            if let (true, Event::Replied(message)) = (counts, &entry.event) {
                let Usage {
                    input,
                    output,
                    reasoning,
                    cache_read,
                    cache_write,
                } = message.usage;
                sum.0.input += input;
                sum.0.output += output;
                sum.0.reasoning += reasoning;
                sum.0.cache_read += cache_read;
                sum.0.cache_write += cache_write;
                sum.1 += input + output + reasoning + cache_read + cache_write;
                sum.2 = sum.2.plus(message.cost.unwrap());
                sum.3 += 1;
            }
        }
        sum
    }
}

async fn adds_up(plan: &Plan, asks: usize) -> Result<(), TestCaseError> {
    let (mut agents, mut script) = (Vec::new(), Script::default().priced(3.0, 15.0));
    cast(plan, false, &mut agents, &mut script);
    let stage = Stage::with_agents(script, agents).await;
    for _ in 0..asks {
        stage.ask("go").await;
    }
    let (log, told) = (stage.log().await, stage.tree().await);
    let (books, folded) = (Books::of(&log), Tree::fold(&log).unwrap());
    prop_assert_eq!(told.walk().len(), books.above.len() + 1);
    for id in told.walk() {
        let (own, _, cost, steps) = books.sum(id, false);
        let (_, tokens, cost_of_all, _) = books.sum(id, true);
        for tree in [&told, &folded] {
            let agent = tree.agent(id).unwrap();
            prop_assert_eq!(agent.spent.tokens, tokens);
            prop_assert_eq!(agent.spent.cost, cost_of_all);
            let settlement = agent.settlement().unwrap();
            prop_assert_eq!(settlement.usage, own);
            prop_assert_eq!((settlement.steps, settlement.cost), (steps, Some(cost)));
        }
    }
    rows_add_up(&stage, &log).await?;
    // What a call tells of a child is what that child used itself.
    for entry in &log {
        if let Event::CallFinished {
            outcome, delivers, ..
        } = &entry.event
            && let [run] = delivers.as_slice()
        {
            let told: Usage = outcome.metadata.extra.get("usage").unwrap().read().unwrap();
            prop_assert_eq!(told, books.sum(&run.agent, false).0);
        }
    }
    Ok(())
}

/// The rows of a session have what it used itself, over all its runs, and nothing of its children.
async fn rows_add_up(stage: &Stage, log: &[Entry]) -> Result<(), TestCaseError> {
    let mut used: BTreeMap<&AgentId, [u64; 6]> = BTreeMap::new();
    for entry in log {
        if let Event::Replied(message) = &entry.event {
            let Usage {
                input,
                output,
                reasoning,
                cache_read,
                cache_write,
            } = message.usage;
            let all = input + output + reasoning + cache_read + cache_write;
            let kinds = [input, output, reasoning, cache_read, cache_write, all];
            let sums = used.entry(&entry.agent).or_default();
            for (sum, tokens) in sums.iter_mut().zip(kinds) {
                *sum += tokens;
            }
        }
    }
    for (agent, sums) in used {
        let rows = stage.chat_of(agent).await.unwrap();
        let columns = [
            "prompt_tokens",
            "completion_tokens",
            "reasoning_tokens",
            "cache_read",
            "cache_write",
            "total_tokens",
        ];
        let rolled_up = columns.map(|column| rows["session"][column].as_u64().unwrap());
        prop_assert_eq!(rolled_up, sums);
    }
    Ok(())
}

async fn keeps_to_caps(plan: &Plan, slots: usize) -> Result<(), TestCaseError> {
    let (mut agents, mut script) = (Vec::new(), Script::default());
    cast(plan, true, &mut agents, &mut script);
    let caps: BTreeMap<String, u64> = agents
        .iter()
        .filter_map(|manifest| Some((manifest.name.clone(), manifest.limits.tokens?)))
        .collect();
    let limits = Limits {
        slots,
        ..Limits::default()
    };
    let stage = Stage::cast(script, limits, Asks::YES, agents).await;
    stage.ask("go").await;
    let (log, tree) = (stage.log().await, stage.tree().await);
    let books = Books::of(&log);
    for id in tree.walk() {
        if let Some(cap) = caps.get(&tree.agent(id).unwrap().spawned.definition) {
            let spent: u64 = log
                .iter()
                .filter(|entry| books.is_below(&entry.agent, id))
                .filter_map(|entry| match &entry.event {
                    Event::Replied(message) => Some(message.usage.total()),
                    _ => None,
                })
                .sum();
            prop_assert!(spent <= *cap, "{} of {}", spent, cap);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(few(128))]

    #[test]
    fn x_17_usage_of_any_tree_is_the_sum_of_its_parts(plan in tree(), asks in 1..3_usize) {
        play(adds_up(&plan, asks))?;
    }

    /// However many steps are under way at once: each uses all that it was let have.
    #[test]
    fn r25_a_cap_holds_for_all_below_it_whoever_spends_at_the_same_time(
        plan in tree(),
        slots in 1..9_usize,
    ) {
        play(keeps_to_caps(&plan, slots))?;
    }
}

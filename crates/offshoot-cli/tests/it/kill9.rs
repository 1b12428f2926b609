//! Killed at any moment, and continued: nothing is lost, nothing is told twice.
//!
//! Each round starts a family of agents, kills the process with SIGKILL after a
//! pseudo-random while, continues the session and then reads its log. The while
//! is the thing under test, so this is the one place where a test sleeps; the
//! seed decides how long, the machine decides what that hits. Rounds share one
//! data folder, so the killed, the living and those who recover are neighbours.

use std::collections::BTreeSet;
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use offshoot_store::{Backend, Sqlite};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, Pos, TreeId};
use offshoot_types::settlement::Status;
use offshoot_types::transcript::Transcript;
use offshoot_types::tree::Tree;

use crate::stage::{Stage, wait};

/// How often a process is killed.
const ROUNDS: u64 = 240;

/// Rounds at one time.
const SIDE_BY_SIDE: usize = 4;

/// Blocking, background and nested children, of both kinds, each with a little work.
const FAMILY: &str = r#"
replies:
  - {depth: 0, prompt: again, say: answered again}
  - depth: 0
    after_tools: false
    prompt: go
    delay_ms: 5
    say: asking
    call:
      - {tool: task, arguments: {subagent_type: general, prompt: blocking}}
      - {tool: task, arguments: {subagent_type: general, prompt: nested blocking}}
      - {tool: task, arguments: {subagent_type: general, prompt: background, background: true}}
      - {tool: task, arguments: {subagent_type: general, prompt: nested later, background: true}}
  - {depth: 0, after_tools: true, delay_ms: 5, say: "first: {output}"}
  - {depth: 0, delay_ms: 5, say: "later: {prompt}"}
  - depth: 1
    prompt: nested blocking
    after_tools: false
    call: [{tool: task, arguments: {subagent_type: general, prompt: below}}]
  - depth: 1
    prompt: nested later
    after_tools: false
    delay_ms: 10
    call: [{tool: task, arguments: {subagent_type: general, prompt: below later, background: true}}]
  - {depth: 1, prompt: background, delay_ms: 25, say: [in, " the", " background"], chunk_delay_ms: 3}
  - {depth: 2, delay_ms: 10, say: deep}
  - {delay_ms: 5, say: "{prompt}: ok"}
"#;

/// How often a process is killed whose hooks note what they are told: each costs a process.
const HOOKED_ROUNDS: u64 = 60;

/// Notes what they are told, each in one write.
const HOOKS: &str = r#"
[[hooks]]
event = "SubagentStart"
command = "told=$(cat); printf '%s\\n' \"$told\" >> told.jsonl"

[[hooks]]
event = "SubagentStop"
command = "told=$(cat); printf '%s\\n' \"$told\" >> told.jsonl"
"#;

#[test]
fn a_session_survives_being_killed_at_any_moment() {
    let stage = Stage::new(FAMILY);
    let (cut, longest) = killed(&stage, ROUNDS);
    let amid = cut.iter().filter(|moment| moment.open_runs > 1).count();
    let lengths: BTreeSet<usize> = cut.iter().map(|moment| moment.entries).collect();
    println!(
        "{amid} of {ROUNDS} killed amid children, at {} lengths, within {longest:?}",
        lengths.len()
    );
    // Otherwise it was always the same moment, or one at which there was nothing to lose.
    assert!(lengths.len() >= 10, "killed at {lengths:?} entries only");
    assert!(
        amid as u64 >= ROUNDS / 10,
        "only {amid} were killed while a child ran"
    );
}

#[test]
fn every_start_of_a_child_has_its_stop_at_whatever_moment_the_process_is_killed() {
    let stage = Stage::new(FAMILY);
    stage.write(".config/offshoot/offshoot.toml", HOOKS);
    killed(&stage, HOOKED_ROUNDS);
    let told = std::fs::read_to_string(stage.path().join("told.jsonl")).unwrap();
    let mut starts = BTreeSet::new();
    let mut stops = BTreeSet::new();
    for line in told.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect(line);
        let run = (
            line["agent_id"].as_str().unwrap().to_owned(),
            line["run"].as_u64().unwrap(),
        );
        match line["hook_event_name"].as_str().unwrap() {
            "SubagentStart" => starts.insert(run),
            _stop => stops.insert(run),
        };
    }
    println!("{} starts, {} stops", starts.len(), stops.len());
    assert!(starts.len() as u64 > HOOKED_ROUNDS, "children began");
    let without: Vec<_> = starts.difference(&stops).collect();
    assert!(without.is_empty(), "without a stop: {without:?}");
}

/// Kills processes, each at another moment, and continues their sessions; returns what there was when
/// they were killed, and how long they live at most.
fn killed(stage: &Stage, rounds: u64) -> (Vec<Moment>, Duration) {
    let longest = undisturbed(stage);
    let next = AtomicU64::new(0);
    let cut = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let round = next.fetch_add(1, Ordering::Relaxed);
                    if round >= rounds {
                        return;
                    }
                    let moment = kill_and_continue(stage, round, longest);
                    cut.lock().unwrap().push(moment);
                }
            });
        }
    });
    (cut.into_inner().unwrap(), longest)
}

/// What there was when a process was killed.
struct Moment {
    entries: usize,
    open_runs: usize,
}

/// Returns how long a family takes here, with neighbours: the longest a process lives.
#[expect(
    clippy::disallowed_methods,
    reason = "how long it really takes is the question"
)]
fn undisturbed(stage: &Stage) -> Duration {
    let once = |time: usize| {
        let began = Instant::now();
        let sessions = (0..SIDE_BY_SIDE).map(|number| format!("undisturbed-{time}-{number}"));
        let families: Vec<Child> = sessions
            .map(|session| stage.command(args(&session, "go")).spawn().unwrap())
            .collect();
        for family in families {
            assert_eq!(wait(family).code, Some(0));
        }
        began.elapsed()
    };
    (0..3).map(once).min().unwrap()
}

fn args(session: &str, prompt: &str) -> [String; 6] {
    let model = "scripted/script.yaml";
    ["run", "--model", model, "--session", session, prompt].map(str::to_owned)
}

/// Runs one round and returns what there was when the process was killed.
fn kill_and_continue(stage: &Stage, round: u64, longest: Duration) -> Moment {
    let session = format!("round-{round}");
    let mut child: Child = stage.command(args(&session, "go")).spawn().unwrap();
    thread::sleep(longest.mul_f64((chance(round) % 1000) as f64 / 1000.0));
    child.kill().unwrap();
    child.wait().unwrap();
    let before = log(stage, &session);
    let killed = Tree::fold(&before).unwrap_or_else(|violation| panic!("{session}: {violation}"));

    let done = wait(stage.command(args(&session, "again")).spawn().unwrap());
    assert_eq!(done.code, Some(0), "{session}: {done:#?}");
    let after = log(stage, &session);
    assert_ne!(
        done.stdout.trim(),
        "",
        "{session}: {done:#?}, first {before:#?}, then {after:#?}"
    );
    assert_eq!(
        after[..before.len()],
        before[..],
        "{session}: the log was rewritten"
    );
    check(&session, &after);
    Moment {
        entries: before.len(),
        open_runs: killed.open_runs(),
    }
}

/// Checks what must hold of a quiet tree, beyond what the fold refuses.
#[track_caller]
fn check(session: &str, log: &[Entry]) {
    let tree = Tree::fold(log).unwrap_or_else(|violation| panic!("{session}: {violation}"));
    assert_eq!(tree.open_runs(), 0, "{session}");
    for id in tree.walk() {
        let agent = tree.agent(id).unwrap();
        let who = format!("{session}: {id} ({})", agent.spawned.definition);
        assert!(agent.open_calls().is_empty(), "{who} has an open call");
        assert!(agent.turn.is_none(), "{who} has an open turn");
        assert!(agent.queue.is_empty(), "{who} has a prompt nobody answered");
        assert!(
            agent.runs.iter().all(|run| run.settled.is_some()),
            "{who} has an open run"
        );
        let own = log.iter().filter(|entry| entry.agent == *id);
        Transcript::fold(own.map(|entry| &entry.event)).expect(&who);
        if let Some(parent) = agent.parent() {
            // Mail to an agent whose run was lost stays for its next run, if it has one.
            let may_wait = parent.agent.as_str() != session && was_lost(&tree, &parent.agent);
            let told = agent.runs.iter().all(|run| run.delivered);
            assert!(told || may_wait, "{who} was not told of");
        }
    }
    let answered = log.iter().any(|entry| {
        let Event::Replied(message) = &entry.event else {
            return false;
        };
        message.text().as_deref() == Some("answered again")
    });
    assert!(answered, "{session}: the root did not answer");
}

fn was_lost(tree: &Tree, id: &AgentId) -> bool {
    let settlement = tree.agent(id).and_then(|agent| agent.settlement());
    settlement.is_some_and(|settlement| matches!(settlement.status, Status::Lost { .. }))
}

fn log(stage: &Stage, session: &str) -> Vec<Entry> {
    let database = stage.data().join("offshoot.db");
    if !database.exists() {
        return Vec::new();
    }
    let mut store = Sqlite::open(&database).unwrap();
    let tree = TreeId::of(AgentId::new(session));
    store.entries(&tree, Pos::ZERO, usize::MAX).unwrap()
}

/// A number that looks random and is the same for the same seed.
fn chance(seed: u64) -> u64 {
    let mut number = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

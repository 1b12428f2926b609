//! What Offshoot costs over HTTP, beside a loop that does nothing else.
//!
//! The real program, as users run it, against a server of our own that answers
//! at once; everything is committed to disk. Beside it, in the same run and turn
//! about, a bare reqwest loop that keeps nothing and checks nothing: the least
//! that such work can cost on this machine. Medians; times are taken by the
//! server, so that both are measured from outside. `cargo xtask bench` reads the
//! lines that this prints.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark fails by panicking, prints what it found and reads the real clock"
)]

mod bare;
mod server;
mod subject;

use server::{Moment, Server};
use subject::{Subject, Who};

/// Runs of each program for one figure.
const ROUNDS: usize = 15;

/// What the figure of a first start is called.
const FRESH: &str = "first start, with a new data folder";

/// What a root is asked to do, and what of its run counts.
struct Figure {
    name: &'static str,
    prompt: &'static str,
    read: fn(&Run) -> f64,
    /// What the figure is divided by: children, or levels.
    each: f64,
    unit: &'static str,
    aim: Option<f64>,
}

/// One run of a program, as the server saw it.
struct Run {
    /// From the start of the process to its first request.
    first_request_ms: f64,
    /// When the first request of the root came.
    begun: Moment,
    /// When its second came; the first, if there was none.
    back: Moment,
}

impl Run {
    fn wall_ms(&self) -> f64 {
        (self.back.at - self.begun.answered).as_secs_f64() * 1e3
    }

    fn cpu_ms(&self) -> f64 {
        self.back.cpu_ms - self.begun.cpu_ms
    }
}

const FIGURES: [Figure; 7] = [
    Figure {
        name: "start to first request",
        prompt: "root done",
        read: |run| run.first_request_ms,
        each: 1.0,
        unit: "ms",
        aim: Some(25.0),
    },
    Figure {
        name: "idle memory",
        prompt: "root hold",
        read: |run| run.begun.resident_mb,
        each: 1.0,
        unit: "MB",
        aim: Some(20.0),
    },
    Figure {
        name: "fan-out of 50, wall a child",
        prompt: "root fan:50",
        read: Run::wall_ms,
        each: 50.0,
        unit: "ms",
        aim: Some(1.0),
    },
    Figure {
        name: "fan-out of 50, CPU a child",
        prompt: "root fan:50",
        read: Run::cpu_ms,
        each: 50.0,
        unit: "ms",
        aim: Some(1.0),
    },
    Figure {
        name: "one child alone",
        prompt: "root fan:1",
        read: Run::wall_ms,
        each: 1.0,
        unit: "ms",
        aim: Some(2.0),
    },
    Figure {
        name: "one level of nesting",
        prompt: "root nest:4",
        read: Run::wall_ms,
        each: 4.0,
        unit: "ms",
        aim: Some(2.0),
    },
    Figure {
        name: "1 MB of deltas",
        prompt: "root text:1048576",
        read: Run::wall_ms,
        each: 1.0,
        unit: "ms",
        aim: None,
    },
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, address, prompt] = arguments.as_slice()
        && role == bare::ROLE
    {
        return bare::run(address, prompt);
    }
    if !arguments.iter().any(|argument| argument == "--bench") {
        // `cargo test --benches` only asks whether it starts.
        return;
    }
    let server = Server::start();
    let subject = Subject::new(&server);
    // Named figures alone, if any are named.
    let named: Vec<&String> = arguments
        .iter()
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let wanted = |name: &str| named.is_empty() || named.iter().any(|part| name.contains(*part));
    let mut told: Vec<&str> = Vec::new();
    for figure in FIGURES.iter().filter(|figure| wanted(figure.name)) {
        if told.contains(&figure.prompt) {
            continue;
        }
        told.push(figure.prompt);
        let (ours, bare) = alternate(&subject, &server, figure.prompt);
        for figure in FIGURES.iter().filter(|one| one.prompt == figure.prompt) {
            print(figure, &ours, &bare);
        }
    }
    if !wanted(FRESH) {
        return;
    }
    let fresh: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            subject
                .run(Who::OffshootAnew, &server, "root done")
                .first_request_ms
        })
        .collect();
    println!("http\t{FRESH}\tms\t{:.3}\t\t", median(fresh));
}

/// Runs both programs turn about, so that a machine that is busy for a while is so for both.
fn alternate(subject: &Subject, server: &Server, prompt: &str) -> (Vec<Run>, Vec<Run>) {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    // The first of each finds cold caches.
    subject.run(Who::Offshoot, server, prompt);
    subject.run(Who::Bare, server, prompt);
    for _ in 0..ROUNDS {
        ours.push(subject.run(Who::Offshoot, server, prompt));
        bare.push(subject.run(Who::Bare, server, prompt));
    }
    (ours, bare)
}

fn print(figure: &Figure, ours: &[Run], bare: &[Run]) {
    let of = |runs: &[Run]| median(runs.iter().map(figure.read).collect()) / figure.each;
    let aim = figure.aim.map(|aim| aim.to_string()).unwrap_or_default();
    println!(
        "http\t{}\t{}\t{:.3}\t{:.3}\t{aim}",
        figure.name,
        figure.unit,
        of(ours),
        of(bare)
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

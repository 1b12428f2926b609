//! What a model reads of a command that has ended.
//!
//! A command that fails is an answer: its output with the exit code below. Only
//! what we ended ourselves, or could not run, is an error, and that too carries
//! the output so far.

use std::time::Duration;

use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};

use super::call::Stop;
use super::capture::Capture;
use super::wire::{End, Report};

/// How many of the processes that still run are named.
const MOST_NAMED: usize = 8;

/// The outcome of a command whose keeper told how it ended.
pub(super) fn reported(report: Report, stop: Option<Stop>) -> Outcome {
    let mut outcome = match why(&report, stop) {
        None => Outcome::output(RawJson::of(&text(&report))),
        Some((kind, what)) => {
            let left = left(&report).map(|line| format!("\n{line}"));
            let text = so_far(what, &report.text) + &left.unwrap_or_default();
            Outcome::error(kind, text)
        }
    };
    let metadata = &mut outcome.metadata;
    match report.end {
        Some(End::Exit(code)) => metadata.extra.insert("exit_code", &code),
        Some(End::Signal(signal)) => metadata.extra.insert("signal", &signal),
        None => {}
    }
    if report.truncated {
        metadata.extra.insert("output_bytes", &report.bytes);
    }
    metadata.truncated = report.truncated.then_some(true);
    metadata.output_path = report.output_path;
    outcome
}

/// The outcome of a command whose keeper was killed or fell silent.
pub(super) fn lost(seen: &Capture, stop: Option<Stop>) -> Outcome {
    let (kind, what) = stop.map_or_else(
        || {
            let what =
                "the process that keeps the command was killed, so what was found of the command was ended";
            (ErrorKind::Failed, what.to_owned())
        },
        stopped,
    );
    let excerpt = seen.excerpt();
    let text = match excerpt.left_out {
        0 => excerpt.head,
        count => format!(
            "{}\n[{count} bytes are left out here]\n{}",
            excerpt.head, excerpt.tail
        ),
    };
    Outcome::error(kind, so_far(what, &text))
}

/// Says why a command did not end by itself.
fn why(report: &Report, stop: Option<Stop>) -> Option<(ErrorKind, String)> {
    match stop {
        // It may have been quicker than our order.
        Some(_) if !report.ordered => None,
        Some(stop) => Some(stopped(stop)),
        None if report.ordered => {
            let what = "the command was ended with its agent".to_owned();
            Some((ErrorKind::Cancelled, what))
        }
        None => None,
    }
}

pub(super) fn stopped(stop: Stop) -> (ErrorKind, String) {
    match stop {
        Stop::Cancelled => {
            let what = "the command was cancelled and ended".to_owned();
            (ErrorKind::Cancelled, what)
        }
        Stop::TimedOut(timeout) => {
            let what = format!(
                "the command timed out after {} and was ended",
                span(timeout)
            );
            (ErrorKind::Failed, what)
        }
    }
}

pub(super) fn so_far(what: String, output: &str) -> String {
    match output {
        "" => what + "; it had no output",
        output => format!("{what}; output so far:\n{output}"),
    }
}

fn text(report: &Report) -> String {
    let mut notes = Vec::new();
    match report.end {
        Some(End::Exit(0)) => {}
        Some(End::Exit(code)) => notes.push(format!("[exit code {code}]")),
        Some(End::Signal(signal)) => notes.push(format!("[killed by signal {signal}]")),
        None => notes.push("[it cannot be killed]".to_owned()),
    }
    notes.extend(left(report));
    if report.text.is_empty() && notes.is_empty() {
        return "[no output]".to_owned();
    }
    let mut text = report.text.clone();
    if !text.is_empty() && !text.ends_with('\n') && !notes.is_empty() {
        text.push('\n');
    }
    text + &notes.join("\n")
}

/// Says what still runs, and where its output goes.
fn left(report: &Report) -> Option<String> {
    let count = report.left.len();
    let what = match count {
        0 => return None,
        1 => "1 process still runs; it ends".to_owned(),
        count => format!("{count} processes still run; they end"),
    };
    let mut names = report.left[..count.min(MOST_NAMED)].join(", ");
    if count > MOST_NAMED {
        names += &format!(" and {} more", count - MOST_NAMED);
    }
    let line = format!("[{what} with this agent: {names}]");
    Some(match &report.output_path {
        Some(path) if report.output_open => format!("[further output goes to {path}]\n{line}"),
        Some(_) | None => line,
    })
}

fn span(duration: Duration) -> String {
    match duration.as_millis() {
        whole if whole.is_multiple_of(1000) => format!("{} s", whole / 1000),
        odd => format!("{odd} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            end: Some(End::Exit(0)),
            ordered: false,
            text: String::new(),
            complaints: String::new(),
            bytes: 0,
            truncated: false,
            output_path: None,
            output_open: false,
            left: Vec::new(),
        }
    }

    #[track_caller]
    fn check(report: Report, stop: Option<Stop>, expected: &str) {
        assert_eq!(reported(report, stop).for_model(), expected);
    }

    #[test]
    fn an_answer_is_the_output_with_what_else_there_is_below() {
        check(report(), None, "[no output]");
        let said = |text: &str| Report {
            text: text.to_owned(),
            ..report()
        };
        check(said("a\n"), None, "a\n");
        let failed = |text| Report {
            end: Some(End::Exit(2)),
            ..said(text)
        };
        check(failed(""), None, "[exit code 2]");
        check(failed("a"), None, "a\n[exit code 2]");
        check(failed("a\n"), None, "a\n[exit code 2]");
    }

    #[test]
    fn an_order_that_came_too_late_is_not_mentioned() {
        let said = Report {
            text: "done\n".to_owned(),
            ..report()
        };
        check(said, Some(Stop::Cancelled), "done\n");
    }

    #[test]
    fn what_still_runs_is_named_with_measure() {
        let left = |count: usize| Report {
            left: (1..=count).map(|n| format!("sleep {n}")).collect(),
            ..report()
        };
        check(
            left(1),
            None,
            "[1 process still runs; it ends with this agent: sleep 1]",
        );
        check(
            left(2),
            None,
            "[2 processes still run; they end with this agent: sleep 1, sleep 2]",
        );
        let many = reported(left(10), None).for_model();
        assert!(many.ends_with("sleep 7, sleep 8 and 2 more]"), "{many}");
        let printing = Report {
            output_path: Some("/s/outputs/1-bash.txt".to_owned()),
            output_open: true,
            ..left(1)
        };
        check(
            printing,
            None,
            "[further output goes to /s/outputs/1-bash.txt]\n\
             [1 process still runs; it ends with this agent: sleep 1]",
        );
    }

    #[test]
    fn a_span_is_told_in_the_unit_it_was_meant_in() {
        assert_eq!(span(Duration::from_secs(120)), "120 s");
        assert_eq!(span(Duration::from_millis(1500)), "1500 ms");
    }
}

//! A command in a terminal of the session's client, where its user sees it.
//!
//! The client starts it and ends it, and keeps its output, so what a keeper promises cannot be
//! promised here. Two things stand in for it: below the client a keeper of ours runs the command and
//! ends what the command leaves (`keep/terminal`), and whatever bears the command's mark when the
//! call is over is ended. A command that starts something in the background is never run here: its
//! processes are to go on after the call, and only a keeper of ours ends them with their agent.

use std::ffi::OsString;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use offshoot_types::client_ports::{ClientCommand, Process, ProcessEnd, ProcessOutput};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::tool::Work;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::answer;
use super::arguments::Arguments;
use super::call::{MOST_SILENCE, Stop};
use super::capture::{Capture, Excerpt, SHOWN};
use super::keepers::{Keeper, Keepers};
use super::orphans::{Ended, Mark, VARIABLE};
use super::wire::{End, Report};
use crate::target::Root;
use crate::{blocking, confined};

/// How often the client is asked what the command has printed: for those who watch, and so that a
/// command that prints is not taken for one that hangs.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Runs the command of a call in a terminal of the client; `None` where it has to run under a keeper.
pub(super) async fn run(keepers: &Arc<Keepers>, work: &Work) -> Option<Outcome> {
    let processes = work.processes.as_ref()?;
    let Arguments { command, timeout } = Arguments::parse(&work.arguments).ok()?;
    let mark = Mark::new()?;
    let command = prepare(keepers, work, command, &mark)?;
    if work.cancel.is_cancelled() {
        return None;
    }
    let marked = Marked {
        keepers: Arc::clone(keepers),
        mark: Some(mark),
    };
    let started = tokio::select! {
        biased;
        // Dropping it ends a command that the client starts meanwhile.
        () = work.cancel.cancelled() => {
            marked.end().await;
            let text = "bash: cancelled while the client started the command";
            return Some(Outcome::error(ErrorKind::Cancelled, text));
        }
        started = processes.start(command) => started,
    };
    let outcome = match started {
        Ok(process) => attend(process.as_ref(), work, timeout).await,
        Err(why) => {
            let text = format!("bash: the client did not start the command: {why}");
            Outcome::error(ErrorKind::Failed, text)
        }
    };
    marked.end().await;
    Some(outcome)
}

/// Returns what the client is to start; `None` where it cannot be started there.
fn prepare(keepers: &Keepers, work: &Work, command: String, mark: &Mark) -> Option<ClientCommand> {
    if may_leave_processes(&command) {
        return None;
    }
    let place = &work.place;
    let Keeper { program, arguments } = keepers.keeper();
    // A link such as `/proc/self/exe` means something else to the client.
    let program = fs::canonicalize(program).ok()?;
    let text = |text: OsString| text.into_string().ok();
    let mut words = Vec::new();
    for argument in arguments {
        words.push(text(argument.clone())?);
    }
    words.push(command);
    let mut environment = keepers.environment().for_client(place.scratch.as_deref())?;
    environment.push((VARIABLE.to_owned(), mark.value().to_owned()));
    if let Some(scratch) = Root::scratch(place) {
        confined::made_root(&scratch).ok()?;
    }
    Some(ClientCommand {
        program: text(program.into_os_string())?,
        arguments: words,
        folder: place.workspace.clone(),
        environment,
        most_output: SHOWN as u64,
    })
}

/// Tells whether a command may leave processes that are to go on: it has a `&` that is neither a part of `&&` nor
/// of a redirection. One in quotes counts too, which costs nothing but the terminal.
fn may_leave_processes(command: &str) -> bool {
    let bytes = command.as_bytes();
    let at = |index: Option<usize>| index.and_then(|index| bytes.get(index).copied());
    let is_alone = |index: usize| {
        let before = at(index.checked_sub(1));
        let after = at(index.checked_add(1));
        !matches!(before, Some(b'&' | b'>' | b'<')) && !matches!(after, Some(b'&' | b'>'))
    };
    (0..bytes.len()).any(|index| bytes[index] == b'&' && is_alone(index))
        || command.contains("coproc")
}

/// Waits for a command that the client has started, and ends it where it has to be.
async fn attend(process: &dyn Process, work: &Work, most: Duration) -> Outcome {
    let mut stop = None;
    let mut deadline = Instant::now() + most;
    let mut seen = String::new();
    let mut ended = process.ended();
    let mut looked = Box::pin(look(process));
    let ended = loop {
        tokio::select! {
            biased;
            () = work.cancel.cancelled(), if stop.is_none() => {
                stop = Some(Stop::Cancelled);
                deadline = Instant::now() + MOST_SILENCE;
                kill(process).await;
            }
            () = sleep_until(deadline) => {
                if stop.is_some() {
                    break Err("it did not end the command".to_owned());
                }
                stop = Some(Stop::TimedOut(most));
                deadline = Instant::now() + MOST_SILENCE;
                kill(process).await;
            }
            ended = &mut ended => break ended,
            output = &mut looked, if stop.is_none() => {
                if let Ok(output) = output {
                    say_what_is_new(work, &mut seen, output.text);
                }
                looked.set(look(process));
            }
        }
    };
    let output = timeout(MOST_SILENCE, process.output()).await;
    let output = output.unwrap_or_else(|_| Err("it did not answer in time".to_owned()));
    match (ended, output) {
        (Ok(end), Ok(output)) => {
            say_what_is_new(work, &mut seen, output.text.clone());
            answered(&end, &output, stop)
        }
        (Err(why), _) | (Ok(_), Err(why)) => {
            let (kind, what) = stop.map_or_else(
                || {
                    let what = format!("the client failed while the command ran: {why}");
                    (ErrorKind::Failed, what)
                },
                answer::stopped,
            );
            let (text, _) = excerpt(&seen);
            Outcome::error(kind, answer::so_far(what, &text))
        }
    }
}

/// Returns what the command has printed after a while.
async fn look(process: &dyn Process) -> Result<ProcessOutput, String> {
    sleep(LOOK_EVERY).await;
    process.output().await
}

/// Has the client end a command. What it does not end is ended by its mark.
async fn kill(process: &dyn Process) {
    drop(timeout(MOST_SILENCE, process.kill()).await);
}

/// Says what the client has not returned before. Where it dropped the beginning, that is all of it.
fn say_what_is_new(work: &Work, seen: &mut String, text: String) {
    let new = text.strip_prefix(seen.as_str()).unwrap_or(&text);
    if !new.is_empty() {
        work.output.say(new);
    }
    *seen = text;
}

/// Returns the outcome of a command that has ended.
fn answered(end: &ProcessEnd, output: &ProcessOutput, stop: Option<Stop>) -> Outcome {
    let (mut text, is_cut) = excerpt(&output.text);
    if output.truncated {
        text = format!("[the beginning is left out]\n{text}");
    }
    let truncated = output.truncated || is_cut;
    let (kind, what) = match (end, stop) {
        // It may have been quicker than our order.
        (ProcessEnd::Exit(code), stop) if *code == 0 || stop.is_none() => {
            return answer::reported(report(*code, text, output, truncated), None);
        }
        (_, Some(stop)) => answer::stopped(stop),
        (ProcessEnd::Signal(name), None) => {
            let what = format!("the command was ended from outside ({name})");
            (ErrorKind::Failed, what)
        }
        (ProcessEnd::Exit(_) | ProcessEnd::Unknown, None) => {
            let what = "the client does not say how the command ended".to_owned();
            (ErrorKind::Failed, what)
        }
    };
    let mut outcome = Outcome::error(kind, answer::so_far(what, &text));
    outcome.metadata.truncated = truncated.then_some(true);
    outcome
}

/// Returns as much of an output as fits into an answer, and whether that is less than all.
fn excerpt(output: &str) -> (String, bool) {
    let mut capture = Capture::default();
    capture.take(output.as_bytes());
    let Excerpt {
        head,
        left_out,
        tail,
    } = capture.excerpt();
    match left_out {
        0 => (head, false),
        count => (
            format!("{head}\n[{count} bytes are left out here]\n{tail}"),
            true,
        ),
    }
}

/// Returns how a command ended by itself, as a keeper would tell it.
fn report(code: i32, text: String, output: &ProcessOutput, truncated: bool) -> Report {
    Report {
        end: Some(End::Exit(code)),
        ordered: false,
        text,
        complaints: String::new(),
        bytes: output.text.len() as u64,
        truncated,
        output_path: None,
        output_open: false,
        left: Vec::new(),
    }
}

/// A mark whose bearers are ended when the call is over, also when it is dropped.
struct Marked {
    keepers: Arc<Keepers>,
    mark: Option<Mark>,
}

impl Marked {
    async fn end(mut self) {
        if let Some(mark) = self.mark.take() {
            end_bearers(mark).await;
        }
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        if let Some(mark) = self.mark.take() {
            self.keepers.look_after(end_bearers(mark));
        }
    }
}

async fn end_bearers(mark: Mark) {
    // What was not found in time stays.
    drop(blocking::attempt(move || mark.end_bearers(Ended::new())).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: bool) {
        assert_eq!(may_leave_processes(command), expected, "{command}");
    }

    #[test]
    fn only_a_command_without_a_background_operator_leaves_nothing() {
        for command in ["server &", "a & b", "a; (b&)", "&", "coproc cat", "'a & b'"] {
            check(command, true);
        }
        for command in ["a && b", "a 2>&1", "a &> log", "a >& log", "a <&3", "a", ""] {
            check(command, false);
        }
    }
}

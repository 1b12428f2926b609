//! Asking a person about what a folder brings.
//!
//! On stderr and line by line, before anything paints the terminal. Only a clear yes
//! accepts: an empty line and the end of input are a no, and after anything else it is
//! asked again. What was typed before a question was there is no answer to it. What is
//! accepted is what was read before it was shown, and nothing is accepted that was not.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use offshoot_agents::Doubt;

use super::{Kind, Standing, Thing, accept};
use crate::config::Settings;
use crate::console::line::{Line, Style, Tone};
use crate::exit::Stop;
use crate::signals::Signals;
use crate::{definitions, output, render, terminal};

/// Most things that are named before a conversation.
const MOST_NAMED: usize = 10;

/// Most lines of a file that are shown.
const MOST_LINES: usize = 400;

/// What is said to an answer that is none; then it is asked again.
const UNCLEAR: &str = "that is none of the answers there are";

/// What is said wherever servers are shown.
pub(super) const NO_SERVERS_YET: &str = "MCP servers are not started yet: accepting one records your \
     decision for a version that starts them";

/// How far an entry is set in, what belongs to it, and what goes on in another row.
const ENTRY: &str = "  ";
const INDENT: &str = "    ";
const FURTHER: &str = "      ";

/// Most characters of a name, and of a path.
const MOST_OF_NAME: usize = 60;
const MOST_OF_PATH: usize = 200;

/// How a line becomes text here.
const PLAIN: Style = Style {
    colour: false,
    unicode: true,
};

/// Asks, before a conversation, whether what the folder brings may be used, if anything is new.
pub(crate) async fn offer(settings: &Settings, workspace: &str) -> Result<(), Stop> {
    if output::is_quiet() || !can_ask() {
        return Ok(());
    }
    let brought = definitions::brought(settings, workspace).things;
    let doubted = brought.iter().filter(|it| !it.is_accepted()).cloned();
    let mut doubted: Vec<Thing> = doubted.collect();
    // What runs by itself before what is started.
    doubted.sort_by_key(|thing| thing.kind == Kind::Agent);
    if doubted.is_empty() {
        return Ok(());
    }
    let (count, them) = counted(&doubted);
    say(&format!(
        "this folder brings {count} that you have not accepted:"
    ))?;
    for thing in doubted.iter().take(MOST_NAMED) {
        show_line(thing)?;
    }
    if let Some(more @ 1..) = doubted.len().checked_sub(MOST_NAMED) {
        // A yes would be one to what nobody has seen.
        say(&format!(
            "  and {more} more; nothing of it is used: look and accept with: offshoot trust"
        ))?;
        return Ok(());
    }
    if doubted.iter().any(|thing| thing.kind == Kind::Server) {
        say(NO_SERVERS_YET)?;
    }
    let question = format!("use {them} from now on? y, n, or s to see the files [n] ");
    loop {
        match later_answer(&question).await?.as_str() {
            "y" | "yes" => return Ok(accept(settings, workspace, &brought, &doubted)?),
            "s" | "show" => doubted.iter().try_for_each(show_text)?,
            reply if is_no(reply) => return Ok(()),
            _ => say(UNCLEAR)?,
        }
    }
}

/// Asks which of these may be used; returns them.
pub(super) fn which(doubted: &[Thing]) -> Result<Vec<&Thing>, Stop> {
    let count = doubted.len();
    let question = match count {
        1 => "accept it? y, n, or s to see the file [n] ".to_owned(),
        _ => format!("accept all {count}? y, n, e for each by itself, or s to see the files [n] "),
    };
    loop {
        match answer(&question)?.as_str() {
            "y" | "yes" | "a" | "all" => return Ok(doubted.iter().collect()),
            "e" | "each" => return each(doubted),
            "s" | "show" => doubted.iter().try_for_each(show_text)?,
            reply if is_no(reply) => return Ok(Vec::new()),
            _ => say(UNCLEAR)?,
        }
    }
}

/// Tells whether an answer is a no, as the end of input is.
fn is_no(reply: &str) -> bool {
    matches!(reply, "" | "n" | "no")
}

/// Tells whether somebody is there to be asked.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Says how many there are, and what to call them.
pub(super) fn counted(things: &[Thing]) -> (String, &'static str) {
    let count = |kind: Kind| {
        let count = things.iter().filter(|thing| thing.kind == kind).count();
        match (count, kind.word()) {
            (0, _) => None,
            (1, word) => Some(format!("1 {word}")),
            (many, word) => Some(format!("{many} {word}s")),
        }
    };
    let counts: Vec<String> = Kind::ALL.into_iter().filter_map(count).collect();
    let them = if things.len() == 1 { "it" } else { "them" };
    let counts = match counts.split_last() {
        Some((last, before @ [_, ..])) => format!("{} and {last}", before.join(", ")),
        _ => counts.concat(),
    };
    (counts, them)
}

/// Returns the lines that say what a thing is, how it stands with it and what it may do.
fn lines(thing: &Thing) -> [String; 2] {
    let standing = match &thing.standing {
        Standing::Accepted(_) => "accepted",
        Standing::Doubted(Doubt::New) => "not accepted",
        Standing::Doubted(Doubt::Changed) => "changed since you accepted it",
    };
    // Ours goes first, and theirs is quoted: a name could go on as if it were another entry.
    let kind = thing.kind.word();
    let [name, path] = [(&thing.name, MOST_OF_NAME), (&thing.path, MOST_OF_PATH)]
        .map(|(text, most)| render::first_words(text, most));
    [
        format!("{standing}: {kind} {name:?}, {path:?}"),
        thing.may.clone(),
    ]
    .map(|line| render::harmless(&line))
}

/// Returns the lines of a thing as they are shown, in so many columns if that is known.
pub(super) fn rows(thing: &Thing, width: Option<usize>) -> Vec<String> {
    let [what, may] = lines(thing);
    let mut rows = set(&format!("{ENTRY}{what}"), width);
    rows.extend(set(&format!("{INDENT}{may}"), width));
    rows
}

/// Sets a line in so many columns. It goes on further in than any begins, or what somebody else wrote
/// could look like a line of ours.
fn set(text: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width else {
        return vec![text.to_owned()];
    };
    let rows = Line::of(Tone::Plain, text).wrap(width, FURTHER).into_iter();
    rows.map(|row| row.render(PLAIN)).collect()
}

fn each(doubted: &[Thing]) -> Result<Vec<&Thing>, Stop> {
    let mut accepted = Vec::new();
    for thing in doubted {
        show_line(thing)?;
        loop {
            match answer("accept it? y, n, or s to see the file [n] ")?.as_str() {
                "y" | "yes" => {
                    accepted.push(thing);
                    break;
                }
                "s" | "show" => show_text(thing)?,
                reply if is_no(reply) => break,
                _ => say(UNCLEAR)?,
            }
        }
    }
    Ok(accepted)
}

/// Asks, and hears Ctrl-C although somebody listens for it.
async fn later_answer(question: &str) -> Result<String, Stop> {
    let mut signals = Signals::listen()?;
    ask(question)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "awaited below; after a signal the process ends, which waits for no thread"
    )]
    let line = tokio::task::spawn_blocking(read_line);
    tokio::select! {
        biased;
        _ = signals.next() => {
            writeln!(io::stderr())?;
            Err(Stop::Interrupted)
        }
        line = line => line.map_err(io::Error::from)?.map_err(Stop::from),
    }
}

fn answer(question: &str) -> Result<String, Stop> {
    ask(question)?;
    Ok(read_line()?)
}

fn ask(question: &str) -> io::Result<()> {
    terminal::forget_typed()?;
    let mut stderr = io::stderr().lock();
    stderr.write_all(question.as_bytes())?;
    stderr.flush()
}

fn read_line() -> io::Result<String> {
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        // Nobody pressed Enter, so the next words would stand behind the question.
        writeln!(io::stderr())?;
    }
    Ok(line.trim().to_lowercase())
}

fn show_line(thing: &Thing) -> io::Result<()> {
    let width = terminal::width(&io::stderr());
    let mut stderr = io::stderr().lock();
    let mut rows = rows(thing, width).into_iter();
    rows.try_for_each(|row| writeln!(stderr, "{row}"))
}

/// Shows what would be accepted, and nothing that could do something to the terminal.
fn show_text(thing: &Thing) -> io::Result<()> {
    say("")?;
    say(&format!("--- {}", render::harmless(&thing.path)))?;
    let mut lines = thing.text.lines();
    for line in lines.by_ref().take(MOST_LINES) {
        writeln!(io::stderr(), "| {}", render::harmless_lines(line))?;
    }
    match lines.count() {
        0 => say(""),
        more => say(&format!("[{more} more lines are in the file]")),
    }
}

/// Says a line on stderr, as far as it fits and then on the next.
fn say(text: &str) -> io::Result<()> {
    let mut rows = set(text, terminal::width(&io::stderr())).into_iter();
    let mut stderr = io::stderr().lock();
    rows.try_for_each(|row| writeln!(stderr, "{row}"))
}

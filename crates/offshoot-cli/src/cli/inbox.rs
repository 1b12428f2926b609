//! The arguments of `offshoot inbox`, and of waiting for answers.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use offshoot_types::caps::Span;

use super::most;
use crate::exit::Stop;

#[derive(Debug, Args)]
pub(crate) struct Inbox {
    #[command(subcommand)]
    pub(crate) command: InboxCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InboxCommand {
    /// List the open requests of all sessions, the oldest first
    List {
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Answer a request of an agent
    ///
    /// The first answer counts, wherever it is given. A session that nobody runs keeps the answer
    /// until it is opened. The exit code is 0 if the answer was taken or kept, and 1 if nobody waits
    /// for it any more.
    #[command(after_help = "\
Examples:
  offshoot inbox answer 9a8b7c6d:call_2 --once
  offshoot inbox answer 9a8b7c6d:call_2 --session     and the like in this session
  offshoot inbox answer 9a8b7c6d --deny \"use the other file\"
  offshoot inbox answer 9a8b7c6d:call_2 --say 2       the second choice
  offshoot inbox answer 9a8b7c6d:call_2 --say \"1, 3\" --say \"as before\"   two questions
  offshoot inbox answer 9a8b7c6d:call_2 --result open  what a client tool returns")]
    Answer {
        /// What is asked, as `inbox list` names it: an agent's id, which may be cut, and the call; a no
        /// needs no call where there is one only
        #[arg(value_name = "AGENT[:CALL]")]
        ask: String,
        #[command(flatten)]
        words: Words,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// What can be said.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Words {
    /// Allow it this time
    #[arg(long)]
    pub(crate) once: bool,
    /// Allow it, and the like whenever this agent or one below it needs it
    #[arg(long)]
    pub(crate) agent: bool,
    /// Allow it, and the like whenever an agent of the session needs it
    #[arg(long)]
    pub(crate) session: bool,
    /// Deny it, with a reason if there is one; a question is left without an answer
    #[arg(long, value_name = "REASON", num_args = 0..=1, default_missing_value = "")]
    pub(crate) deny: Option<String>,
    /// Answer a question with words, or with the number of a choice; once for each question
    #[arg(long, value_name = "ANSWER", allow_hyphen_values = true)]
    pub(crate) say: Vec<String>,
    /// Return this text as the result of a client tool
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) result: Option<String>,
    /// Return this text as the error of a client tool
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) error: Option<String>,
}

/// Refuses what may be a time that stands apart from the flag it is meant for: it would be taken for the
/// prompt, and the answers waited for for ever.
pub(crate) fn refuse_time_apart(args: impl Iterator<Item = OsString>) -> Result<(), Stop> {
    let mut args = args.take_while(|arg| arg != "--").peekable();
    while let Some(arg) = args.next() {
        let Some(time) = args.peek().and_then(|next| next.to_str()) else {
            continue;
        };
        let begins = time.starts_with(|first: char| first.is_ascii_digit());
        if arg != "--wait-for-answers" || !begins || time.contains(char::is_whitespace) {
            continue;
        }
        let text = if time.parse::<Span>().is_ok() {
            format!("a time is given with an equals sign: --wait-for-answers={time}")
        } else {
            let time = time.escape_debug();
            format!(
                "{time} may be a time, which is given with an equals sign and its unit, as in \
                 --wait-for-answers=30m; a prompt goes before the flag, or behind --"
            )
        };
        return Err(Stop::usage(text));
    }
    Ok(())
}

/// Whether somebody answers later, where nobody sits there.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Waiting {
    /// Wait for answers from elsewhere (`offshoot inbox`) where there is no terminal to ask at, for ever
    /// or for so long, such as 30m; without it, what would be asked is denied
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true)]
    #[arg(value_parser = most::time)]
    pub(crate) wait_for_answers: Option<Option<Span>>,
}

//! What is said of a prompt that no rule knows: what the rules can do, and how to get a real model.

use super::conversation::Completion;
use super::markdown;
use super::reply::Reply;

const CAPABILITIES: &str = "\
I cannot do what you asked: I am `offline`, a rule-based model and no language model. I can

- survey this repository or a folder: `Survey this repository`, `survey src`
- find text and files: `find NAME`
- show and list files: `read PATH`, `list`, `list FOLDER`
- write a file: `write PATH: TEXT`
- run a command that stands between backquotes or behind a dollar sign: ``run `cargo test` ``, `$ cargo test`
- hand one of these to another agent: `ask explore: find NAME`

For a real model, set `OPENAI_BASE_URL` and `OPENAI_API_KEY` and start with \
`--model openai-chat/NAME`; see docs/models.md.
";

/// Most lines of a late answer that are shown.
const MOST_LINES: usize = 40;

/// Says what the rules can do.
pub(super) fn answer() -> Reply {
    Reply::unable(CAPABILITIES)
}

/// Passes on what a child of an earlier prompt has answered.
pub(super) fn late(end: &Completion<'_>) -> Reply {
    let head: Vec<&str> = end.body.lines().take(MOST_LINES).collect();
    let session = markdown::code(end.session);
    let status = markdown::line(end.status, 40);
    Reply::answer(format!(
        "I am `offline`, rule-based and no language model, so I only pass this on. Agent \
         {session} of an earlier prompt ended {status} and said:\n\n{}\n",
        markdown::block(&head.join("\n"))
    ))
}

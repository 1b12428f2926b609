//! What is said when the rules have nothing to do: what they can, and how to get more.

use super::conversation::Completion;
use super::markdown;
use super::reply::Reply;

const CAPABILITIES: &str = "\
I am `offline`: a rule-based model and no language model, so I cannot do what you asked. I can \
survey this repository (`Survey this repository`), find text and files (`find NAME`), outline a \
file (`read PATH`), run a command where `bash` is offered (`run CMD`, `test`) and keep a list \
(`todo A; B`).

For a real model, set `OPENAI_BASE_URL` and `OPENAI_API_KEY` and start with \
`--model openai-chat/NAME`; see docs/models.md.
";

/// Most lines of a late answer that are shown.
const MOST_LINES: usize = 40;

/// Says what the rules can do.
pub(super) fn answer() -> Reply {
    Reply::answer(CAPABILITIES)
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

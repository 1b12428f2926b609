//! Git: which of its commands run programs or write where no rule looks.

use offshoot_types::permission::argv::Word;

use super::programs::has_option;

/// Run what they are told to, or what the repository's settings say.
const RUNNERS: &[&str] = &[
    "bisect",
    "difftool",
    "filter-branch",
    "mergetool",
    "submodule",
];

/// Options that run a program or write to a file, of whatever command.
const OPTIONS: &[&str] = &[
    "--exec",
    "--ext-diff",
    "--extcmd",
    "--open-files-in-pager",
    "--output",
    "--receive-pack",
    "--upload-pack",
    "--config",
];

/// Tells whether a git command is what its first word says.
///
/// Options before that word choose settings, among them aliases and pagers that run anything, or
/// another repository with settings of its own.
pub(super) fn is_plain(arguments: &[Word]) -> bool {
    let mut arguments = arguments;
    while let [Word::Fixed(flag), rest @ ..] = arguments
        && (flag == "--no-pager" || flag == "--no-optional-locks")
    {
        arguments = rest;
    }
    let [Word::Fixed(command), rest @ ..] = arguments else {
        return arguments.is_empty();
    };
    let opens = |word: &Word| matches!(word, Word::Fixed(word) if word.starts_with("-O"));
    let is_flag = command.starts_with('-') && command != "--version" && command != "--help";
    let runs = RUNNERS.contains(&command.as_str())
        || (command == "rebase" && rest.iter().any(|word| starts(word, "-x")));
    !is_flag && !runs && !has_option(rest, OPTIONS) && !rest.iter().any(opens)
}

fn starts(word: &Word, with: &str) -> bool {
    matches!(word, Word::Fixed(word) if word.starts_with(with))
}

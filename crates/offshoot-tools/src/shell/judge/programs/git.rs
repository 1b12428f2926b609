//! Git: which of its commands run programs or write where no rule looks.
//!
//! What git does not know itself is an alias, which may be any command, or a program.
//! So commands are listed, with the options that make another thing of each.

use offshoot_types::permission::argv::Word;

use super::options::{before_end, has_option, has_short, is, is_operand, listed, quoted};

/// Commands that do what they say, with hooks and settings of the repository.
const KNOWN: &str = "--help --version add am apply archive blame branch cat-file check-attr check-ignore \
     check-ref-format checkout cherry cherry-pick clean clone commit commit-tree config \
     count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch \
     fsck gc grep hash-object help init log ls-files ls-remote ls-tree merge merge-base merge-tree \
     mv name-rev notes pack-refs prune pull push range-diff read-tree rebase reflog remote repack \
     rerere reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref \
     sparse-checkout stash status switch symbolic-ref tag update-index update-ref var \
     verify-commit verify-tag version whatchanged worktree write-tree";

/// Options that run a program or write to a file, of whatever command.
const OPTIONS: &[&str] = &[
    "--config*",
    "--exec*",
    "--ext-diff",
    "--extcmd",
    "--open-files-in-pager",
    "--output*",
    "--receive-pack",
    "--upload-pack",
];

/// What git itself merges with. Any other strategy is a program that it looks for, also where it stands.
const STRATEGIES: &str = "octopus ort ours recursive resolve subtree";

/// Returns how many options stand before the command that change nothing of what it does.
pub(super) fn flags(arguments: &[Word]) -> usize {
    let flags = "--no-pager -P --no-optional-locks";
    let is_flag = |word: &&Word| matches!(word, Word::Fixed(word) if listed(flags, word));
    arguments.iter().take_while(is_flag).count()
}

/// Tells whether a git command is what its first word says.
///
/// Options before that word choose settings, among them aliases and pagers that run anything, or
/// another repository with settings of its own.
pub(super) fn is_plain(arguments: &[Word]) -> bool {
    let [Word::Fixed(command), rest @ ..] = arguments else {
        return arguments.is_empty();
    };
    // Of what else runs programs, the parts that tell.
    let tells = |what: &str| matches!(rest, [first, ..] if is(first, what));
    if (command == "bisect" && tells("log")) || (command == "submodule" && tells("status")) {
        return rest.iter().all(|word| matches!(word, Word::Fixed(_)));
    }
    let rest = &without_message(command, rest);
    let own = before_files(command, rest);
    let runs_or_writes = match command.as_str() {
        "read-tree" => has_option(rest, &["--index-output"]),
        "gc" | "repack" => has_option(rest, &["--expire-to", "--filter-to"]),
        "apply" | "am" => has_option(rest, &["--unsafe-paths", "--build-fake-ancestor"]),
        "archive" => has_short(rest, &['o']) || has_option(rest, &["--remote"]),
        "format-patch" => has_short(rest, &['o']),
        "cherry-pick" | "merge" | "pull" | "rebase" | "revert"
            if has_foreign_strategy(command, rest) =>
        {
            true
        }
        "clone" => {
            has_short(rest, &['c', 'u'])
                || has_option(rest, &CLONE_FOREIGN)
                || !is_of_a_host(rest)
                || rest.iter().any(is_of_git)
        }
        "config" => !only_tells(rest),
        "grep" => has_short(own, &['O']),
        // A folder that is taken for the repository has settings and hooks of its own.
        "init" => {
            has_option(rest, &["--template", "--separate-git-dir"]) || rest.iter().any(is_of_git)
        }
        // Settings and hooks are files like others to these.
        "mv" | "worktree" => rest.iter().any(is_of_git),
        "fetch" | "ls-remote" | "pull" | "push" if names_a_folder(rest) => true,
        "remote" => remembers_a_folder(rest),
        "rebase" => has_short(rest, &['x']),
        _ => false,
    };
    // An address whose protocol is a command.
    let ext = |word: &Word| matches!(word, Word::Fixed(word) if word.contains("ext::"));
    listed(KNOWN, command) && !runs_or_writes && !has_option(own, OPTIONS) && !rest.iter().any(ext)
}

/// Commands to which what stands behind `--` is files, and nothing else.
const FILES: &str = "add blame checkout commit diff grep log ls-files reset restore rev-list rm shortlog show status";

/// Their options that take no value.
const FILES_FLAGS: &str = "-f -p -q -r -u --all --cached --follow --force --name-only --name-status --numstat \
                           --oneline --patch --quiet --shortstat --staged --stat";

/// Returns the words that may be options.
fn before_files<'a>(command: &str, words: &'a [Word]) -> &'a [Word] {
    match words {
        _ if !listed(FILES, command) => words,
        [end, ..] if is(end, "--") => &[],
        words => before_end(words, FILES_FLAGS),
    }
}

/// Tells whether a merge may be made by a program that is no part of git.
fn has_foreign_strategy(command: &str, words: &[Word]) -> bool {
    // Of the two others it signs.
    let short = ["merge", "pull", "rebase"].contains(&command);
    words.iter().enumerate().any(|(index, word)| {
        let Word::Fixed(word) = word else {
            return false;
        };
        let behind = || match words.get(index + 1) {
            Some(Word::Fixed(name)) => listed(STRATEGIES, name),
            Some(Word::Open(_)) | None => false,
        };
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            let is_strategy = name.len() > 1 && "strategy".starts_with(name);
            let known = || value.map_or_else(behind, |value| listed(STRATEGIES, value));
            return is_strategy && !known();
        }
        // What stands behind these letters is a value of theirs.
        let bundle = word.strip_prefix('-').unwrap_or_default();
        let end = bundle.find(['F', 'S', 'X', 'm']).unwrap_or(bundle.len());
        match bundle[..end].split_once('s') {
            Some(("", "")) if short && end == bundle.len() => !behind(),
            Some(("", name)) if short && end == bundle.len() => !listed(STRATEGIES, name),
            Some(_) => short,
            None => false,
        }
    })
}

/// Tells whether a word leads into what git keeps for itself, or may.
fn is_of_git(word: &Word) -> bool {
    match word {
        Word::Fixed(path) => path
            .split(['/', '='])
            .any(|step| step.eq_ignore_ascii_case(".git")),
        // What is cloned may have a name that is not known yet, and a host; a star is no first dot.
        Word::Open(text) => {
            let dots = text.contains(['$', '`', '{', '(', '"', '\'', '\\', '~'])
                || text.split('/').any(|step| step.starts_with('.'));
            dots && !quoted(text).is_some_and(is_address)
        }
    }
}

/// Options of `clone` that name another folder, which has settings of its own, or files of git.
const CLONE_FOREIGN: [&str; 4] = [
    "--bundle-uri",
    "--reference*",
    "--separate-git-dir",
    "--template",
];

/// Options of `clone` whose value is the next word; letters of them may end a bundle.
const CLONE_VALUED: &str = "--branch --depth --filter --jobs --origin --server-option --shallow-exclude \
                            --shallow-since";

/// Options of `clone` that take no value.
const CLONE_FLAGS: &str = "--also-filter-submodules --bare --dissociate --ipv4 --ipv6 --mirror --no-checkout \
                           --no-single-branch --no-tags --progress --quiet --recurse-submodules --recursive \
                           --reject-shallow --remote-submodules --shallow-submodules --single-branch --sparse \
                           --verbose";

/// Tells whether a repository is cloned from another machine: one that is a folder has settings and
/// hooks that git obeys.
fn is_of_a_host(words: &[Word]) -> bool {
    // A pattern may be several words, and any of them the one that is cloned.
    let is_one = |word: &Word| match word {
        Word::Fixed(_) => true,
        Word::Open(text) => quoted(text).is_some(),
    };
    if !words.iter().all(is_one) {
        return false;
    }
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = text(word);
        if let Some(bundle) = text.strip_prefix('-') {
            let is_short = !bundle.starts_with('-');
            if (is_short && bundle.ends_with(['b', 'j', 'o'])) || listed(CLONE_VALUED, text) {
                words.next();
            } else if !is_short && !text.contains('=') && !listed(CLONE_FLAGS, text) {
                // The next word may be its value, or what is cloned.
                return false;
            }
            continue;
        }
        return is_address(text);
    }
    false
}

/// Tells whether a repository is on another machine: `host:path`, with nothing before that would make
/// a path of it.
fn is_address(text: &str) -> bool {
    let (host, _) = text.split_once(':').unwrap_or_default();
    !host.is_empty() && host != "file" && !host.contains('/')
}

/// Tells whether a folder is given a name, by which it is a repository from then on.
fn remembers_a_folder(words: &[Word]) -> bool {
    let adds = matches!(words.first(), Some(Word::Fixed(what)) if listed("add set-url", what));
    let last = words.last().map(text).unwrap_or_default();
    (adds && !is_address(last)) || names_a_folder(words)
}

/// Tells whether a repository is named by its folder. A name without a slash may be one too, if the
/// repository knows no other by that name.
fn names_a_folder(words: &[Word]) -> bool {
    let is_path = |text: &str| {
        let begins = ["/", "./", "../", "~", "file:"];
        text == "." || text == ".." || begins.iter().any(|begin| text.starts_with(begin))
    };
    let is_folder = |text: &str| {
        let host = text.split('/').next().unwrap_or_default();
        text.contains('/') && !host.contains(':')
    };
    let mut operands = words.iter().map(text).filter(|text| !text.starts_with('-'));
    let first = operands.clone().next().unwrap_or_default();
    // What a branch is called may have a slash.
    let named = words
        .iter()
        .map(text)
        .filter_map(|text| text.split_once('='));
    let mut named = named.filter(|(option, _)| option.starts_with("--r"));
    is_folder(first)
        || operands.any(is_path)
        || named.any(|(_, value)| is_path(value) || is_folder(value))
}

/// Returns the text of a word; of an open one what its text begins with.
fn text(word: &Word) -> &str {
    match word {
        Word::Fixed(text) => text,
        Word::Open(text) => text.strip_prefix('"').unwrap_or(text),
    }
}

/// Options of `commit`, `merge` and `tag` that take no value.
const FLAGS: &str = "--all --allow-empty --amend --annotate --ff --ff-only --force --no-commit --no-edit --no-ff \
                     --no-verify --quiet --sign --signoff --squash --verbose";

/// Returns the words of a command but for the one behind `-m`, which is no option whatever it says.
fn without_message(command: &str, words: &[Word]) -> Vec<Word> {
    // Letters that may stand before `m` and take no value; of `merge`, `s` takes one.
    let letters = match command {
        "commit" | "tag" => "aenqsv",
        "merge" => "enqv",
        _ => return words.to_vec(),
    };
    let is_option = |word: &Word| match word {
        Word::Fixed(word) => {
            let bundle = word
                .strip_prefix('-')
                .and_then(|rest| rest.strip_suffix('m'));
            bundle.is_some_and(|bundle| bundle.chars().all(|c| letters.contains(c)))
        }
        Word::Open(_) => false,
    };
    // Behind another option `-m` may be the value of that.
    let takes_none = |word: &Word| match word {
        Word::Fixed(word) => {
            let bundle = word.strip_prefix('-').unwrap_or_default();
            let known = bundle.chars().all(|c| letters.contains(c));
            known || word.contains('=') || listed(FLAGS, word)
        }
        Word::Open(_) => false,
    };
    let mut kept: Vec<Word> = Vec::new();
    let (mut is_free, mut is_next) = (true, false);
    for word in words {
        let is_one = match word {
            Word::Open(text) => quoted(text).is_some(),
            Word::Fixed(_) => true,
        };
        if is_next && is_one {
            (is_free, is_next) = (true, false);
            continue;
        }
        is_next = is_free && is_option(word);
        is_free = is_operand(word) || takes_none(word);
        kept.push(word.clone());
    }
    kept
}

/// Tells whether `git config` sets nothing: a setting may be a command.
fn only_tells(arguments: &[Word]) -> bool {
    let flags = "--global --local --system --worktree --null -z --name-only --show-origin \
                 --show-scope --bool --int --path";
    let is_flag = |word: &&Word| matches!(word, Word::Fixed(word) if listed(flags, word));
    let rest = &arguments[arguments.iter().take_while(is_flag).count()..];
    let tells = "--get --get-all --get-regexp --list -l get list";
    match rest {
        [key] if is_operand(key) => true,
        [Word::Fixed(first), rest @ ..] => {
            listed(tells, first) && rest.iter().all(|word| is_operand(word) || is_flag(&word))
        }
        _ => false,
    }
}

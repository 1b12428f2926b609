//! Which programs run others, or code.
//!
//! A few only run what their arguments say, and are seen through. The rest of those
//! that are known to run what they are handed is opaque, in the forms that do.
//! What is not listed here is a program like any other: a rule that allows it
//! allows what it does.

use offshoot_types::permission::argv::Word;

use super::{assign, git};

/// What can be seen of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// It is what it says.
    Plain,
    /// It only runs what begins at this word.
    Through(usize),
    /// It runs what is not seen.
    Opaque,
}

/// Changes what the shell itself does from then on, or runs its arguments as text, or runs them
/// elsewhere or later.
const ALWAYS: &[&str] = &[
    ".",
    "alias",
    "at",
    "batch",
    "bind",
    "builtin",
    "bwrap",
    "chroot",
    "compgen",
    "complete",
    "coproc",
    "crontab",
    "declare",
    "doas",
    "ed",
    "emacs",
    "enable",
    "entr",
    "eval",
    "ex",
    "expect",
    "export",
    "fakeroot",
    "firejail",
    "flock",
    "function",
    "gdb",
    "getopts",
    "hash",
    "let",
    "lldb",
    "local",
    "ltrace",
    "mapfile",
    "nsenter",
    "nvim",
    "parallel",
    "pkexec",
    "proot",
    "read",
    "readarray",
    "readonly",
    "rsync",
    "runuser",
    "screen",
    "script",
    "select",
    "set",
    "setpriv",
    "shopt",
    "source",
    "ssh",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "tmux",
    "trap",
    "typeset",
    "unalias",
    "unset",
    "unshare",
    "vi",
    "view",
    "vim",
    "vimdiff",
    "watch",
    "xargs",
];

/// Words of the grammar: where one is a program's name, the parse is wrong.
const RESERVED: &[&str] = &[
    "!", "[[", "]]", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "then",
    "until", "while", "{", "}",
];

/// Run a file if that is the first thing they are given, and else code.
const INTERPRETERS: &[&str] = &[
    "ash",
    "bash",
    "bun",
    "busybox",
    "csh",
    "dash",
    "deno",
    "fish",
    "guile",
    "irb",
    "julia",
    "ksh",
    "lua",
    "luajit",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "pwsh",
    "python",
    "rscript",
    "ruby",
    "sh",
    "tclsh",
    "tcsh",
    "toybox",
    "wish",
    "zsh",
];

/// Looks at a command, quotes removed.
pub(super) fn look(words: &[Word]) -> Sight {
    let [Word::Fixed(program), arguments @ ..] = words else {
        // Nothing but redirections, or a name that is made when it runs.
        return match words {
            [] => Sight::Plain,
            _ => Sight::Opaque,
        };
    };
    let name = program.rsplit('/').next().unwrap_or_default();
    let family = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let family = if family.is_empty() { name } else { family };
    if ALWAYS.contains(&name) || RESERVED.contains(&name) {
        return Sight::Opaque;
    }
    if INTERPRETERS.contains(&family.to_ascii_lowercase().as_str()) {
        return opaque_unless(arguments.first().is_some_and(is_operand));
    }
    match name {
        "nohup" | "exec" | "setsid" | "time" | "command" | "nice" | "ionice" | "stdbuf" => {
            wrapper(name, arguments)
        }
        "timeout" => timeout(arguments),
        "env" => env(arguments),
        "git" => opaque_unless(git::is_plain(arguments)),
        "find" | "fd" | "fdfind" => opaque_unless(arguments.iter().all(only_finds)),
        "awk" | "gawk" | "mawk" | "nawk" => opaque_unless(arguments.iter().all(only_prints)),
        "sed" => opaque_unless(sed(arguments)),
        "printf" => opaque_unless(arguments.first().is_none_or(is_operand)),
        "test" | "[" => opaque_unless(!arguments.iter().any(|word| is(word, "-v"))),
        "cargo" => opaque_unless(!has_option(arguments, &["--config"])),
        "rg" => opaque_unless(!has_option(arguments, &["--pre", "--hostname-bin"])),
        "sort" => opaque_unless(!has_option(arguments, &["--compress-program"])),
        "tar" => opaque_unless(tar(arguments)),
        _ => Sight::Plain,
    }
}

fn opaque_unless(plain: bool) -> Sight {
    match plain {
        true => Sight::Plain,
        false => Sight::Opaque,
    }
}

fn is(word: &Word, text: &str) -> bool {
    matches!(word, Word::Fixed(word) if word == text)
}

/// Tells whether a word is known and no option.
fn is_operand(word: &Word) -> bool {
    matches!(word, Word::Fixed(word) if !word.starts_with('-') && !word.is_empty())
}

/// Tells whether an option is among the words, also shortened or with a value, or may be.
pub(super) fn has_option(words: &[Word], options: &[&str]) -> bool {
    words.iter().any(|word| match word {
        Word::Open(text) => may_be_option(text),
        Word::Fixed(word) => {
            let given = word.split('=').next().unwrap_or_default();
            let fits = |option: &&str| option.starts_with(given) && given.len() > 3;
            options.iter().any(fits)
        }
    })
}

/// Tells whether an open word may become an option: only names of files that begin like a path
/// do not.
fn may_be_option(text: &str) -> bool {
    let path = |c: char| c.is_ascii_alphanumeric() || "_./".contains(c);
    !text.starts_with(path) || text.contains(['$', '`', '{', '(', '"', '\''])
}

/// Looks behind a program that runs another; its options are known or it is opaque.
fn wrapper(name: &str, arguments: &[Word]) -> Sight {
    match (name, arguments) {
        // Without a command it is about the shell's own files, which are judged.
        (_, []) => Sight::Plain,
        ("command", [flag, ..]) if is(flag, "-v") || is(flag, "-V") => Sight::Plain,
        ("time", [flag, operand, ..]) if is(flag, "-p") && is_operand(operand) => Sight::Through(2),
        ("nice", [flag, Word::Fixed(_), operand, ..]) if is(flag, "-n") && is_operand(operand) => {
            Sight::Through(3)
        }
        (_, [operand, ..]) if is_operand(operand) => Sight::Through(1),
        _ => Sight::Opaque,
    }
}

fn timeout(arguments: &[Word]) -> Sight {
    let is_time = |word: &Word| match word {
        Word::Fixed(word) => {
            let number = word.trim_end_matches(['s', 'm', 'h', 'd']);
            !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.')
        }
        Word::Open(_) => false,
    };
    match arguments {
        [time, operand, ..] if is_time(time) && is_operand(operand) => Sight::Through(2),
        _ => Sight::Opaque,
    }
}

/// Looks behind `env`, if what it sets changes nothing that runs.
fn env(arguments: &[Word]) -> Sight {
    let sets = |word: &&Word| match word {
        Word::Fixed(word) => word
            .split_once('=')
            .is_some_and(|(name, _)| assign::is_harmless(name)),
        Word::Open(_) => false,
    };
    let set = arguments.iter().take_while(sets).count();
    match arguments.get(set) {
        None => Sight::Plain,
        Some(Word::Fixed(word)) if word.contains('=') => Sight::Opaque,
        Some(operand) if is_operand(operand) => Sight::Through(set + 1),
        Some(_) => Sight::Opaque,
    }
}

/// Tells whether a word of `find` does nothing but find; an open one might.
fn only_finds(word: &Word) -> bool {
    match word {
        Word::Open(_) => false,
        Word::Fixed(word) => {
            let acts = [
                "-exec", "-ok", "-delete", "-fprint", "-fls", "-x", "-X", "--exec",
            ];
            let acts = acts.iter().any(|act| word.starts_with(act));
            // These only begin like one.
            !acts || word == "-xdev" || word == "-xtype"
        }
    }
}

/// Tells whether a word of `awk` runs and writes nothing.
fn only_prints(word: &Word) -> bool {
    match word {
        Word::Open(_) => false,
        Word::Fixed(word) if word.starts_with('-') => {
            word.starts_with("-F") || word.starts_with("-v")
        }
        Word::Fixed(word) => !["system", "|", ">", "getline", "@"]
            .iter()
            .any(|code| word.contains(code)),
    }
}

/// Tells whether `sed` only prints lines or replaces text: its other commands run and write.
fn sed(arguments: &[Word]) -> bool {
    let mut words = arguments
        .iter()
        .skip_while(|word| ["-n", "-E", "-r", "-i"].iter().any(|flag| is(word, flag)));
    let Some(Word::Fixed(script)) = words.next() else {
        return false;
    };
    let prints = script
        .chars()
        .all(|c| c.is_ascii_digit() || "$,p;d ".contains(c));
    let mut chars = script.chars();
    let replaces = chars.next() == Some('s')
        && chars.next().is_some_and(|mark| {
            let parts: Vec<&str> = script[1..].split(mark).collect();
            let flags = parts.last().copied().unwrap_or_default();
            let clean = flags
                .chars()
                .all(|c| c.is_ascii_digit() || "gpI".contains(c));
            parts.len() == 4 && clean && !script.contains(['\\', '\n']) && mark != ';'
        });
    (prints || replaces) && words.all(is_operand)
}

fn tar(arguments: &[Word]) -> bool {
    let runs = [
        "--to-command",
        "--checkpoint-action",
        "--use-compress-program",
        "--rsh-command",
        "--info-script",
        "--new-volume-script",
        "--rmt-command",
    ];
    let short = |word: &Word| matches!(word, Word::Fixed(word) if word.starts_with('-') && !word.starts_with("--") && word.contains(['I', 'F']));
    !has_option(arguments, &runs) && !arguments.iter().any(short)
}

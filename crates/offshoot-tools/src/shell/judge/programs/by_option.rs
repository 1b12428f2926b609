//! Programs that run others, or write, by one of a few options, and else do what they say.

use offshoot_types::permission::argv::Word;

use super::options::{
    begins, has_option, has_short, has_short_of, is, is_operand, listed, may_be_option,
};
use super::runners::names_python;

/// Names of a program, its options, and those that are one letter.
type Entry = (&'static str, &'static [&'static str], &'static [char]);

const PROGRAMS: &[Entry] = &[
    ("ack ag bat batcat delta", &["--pager*"], &[]),
    ("apt apt-get", &["--option", "--config-file"], &['o', 'c']),
    ("dpkg-architecture", &["--command"], &['c']),
    ("fd fdfind", &["--exec*"], &['x', 'X']),
    ("fzf", &["--bind", "--preview*", "--listen*"], &[]),
    ("groff nroff troff", &["--unsafe*"], &['U']),
    ("install", &["--strip-program"], &[]),
    ("jobs", &[], &['x']),
    (
        "man",
        &["--pager", "--html", "--config-file"],
        &['P', 'H', 'C'],
    ),
    (
        "nc ncat netcat nc.openbsd nc.traditional",
        &["--exec", "--sh-exec", "--lua-exec"],
        &['e', 'c'],
    ),
    (
        "prove",
        &[
            "--exec",
            "--formatter",
            "--harness",
            "--plugin",
            "--source*",
        ],
        &['e', 'I', 'P'],
    ),
    (
        "pylint",
        &["--init-hook", "--load-plugins", "--rcfile"],
        &[],
    ),
    ("rg", &["--pre", "--hostname-bin"], &[]),
    (
        "rpm rpmbuild rpmspec",
        &[
            "--define", "--eval", "--load", "--macros", "--pipe", "--rcfile",
        ],
        &['D', 'E'],
    ),
    ("sdiff diff3", &["--diff-program"], &[]),
    ("mypy dmypy", &["--python-executable"], &[]),
    ("sort shuf", &["--compress-program", "--output"], &['o']),
    ("split", &["--filter"], &[]),
    ("ssh-add", &[], &['s', 'S']),
    ("ssh-keygen", &[], &['D', 'w']),
    (
        "svn",
        &["--config-*", "--diff-cmd", "--diff3-cmd", "--editor-cmd"],
        &[],
    ),
    ("tcpdump", &[], &['z']),
    // It writes a file into every folder.
    ("tree", &["--output"], &['o', 'R']),
    ("wait", &[], &['p']),
];

/// Tells whether a program that is listed here is used without the options that run others or write.
pub(super) fn is_plain(name: &str, arguments: &[Word]) -> Option<bool> {
    let entry = PROGRAMS.iter().find(|(names, _, _)| listed(names, name));
    entry.map(|(_, long, short)| !has_option(arguments, long) && !has_short(arguments, short))
}

/// Tells whether `pandoc` is told of no program and no code: a format may be a script.
pub(super) fn pandoc(arguments: &[Word]) -> bool {
    let lua = |word: &Word| matches!(word, Word::Fixed(word) if word.contains(".lua"));
    let runs = ["--defaults", "--filter", "--lua-filter", "--pdf-engine*"];
    let formats = "-f -r -t -w --from --read --to --write";
    let is_format = |word: &Word| matches!(word, Word::Fixed(word) if listed(formats, word));
    let is_unknown = |pair: &[Word]| is_format(&pair[0]) && matches!(pair[1], Word::Open(_));
    let commands = "lua server";
    !has_option(arguments, &runs)
        && !has_short(arguments, &['F', 'L', 'd'])
        && !arguments.iter().any(lua)
        && !arguments.windows(2).any(is_unknown)
        && !matches!(arguments.first(), Some(Word::Fixed(first)) if listed(commands, first))
}

/// Tells whether `yq` only prints.
pub(super) fn yq(arguments: &[Word]) -> bool {
    let writes = ["--inplace", "--in-place", "--split-exp*"];
    !has_option(arguments, &writes) && !has_short_of(arguments, "is", "Iop")
}

/// Tells whether `pip` works with the interpreter that is there, and is told nothing for later.
pub(super) fn pip(arguments: &[Word]) -> bool {
    let mut operands = arguments.iter().filter(|word| is_operand(word));
    let sets = match (operands.next(), operands.next()) {
        (Some(config), does) if is(config, "config") => {
            !matches!(does, Some(Word::Fixed(does)) if listed("debug get list", does))
        }
        _ => false,
    };
    !sets && !has_option(arguments, &["--editor", "--log*"]) && !names_python(arguments)
}

/// Tells whether `openssl` loads no code and takes no other settings.
pub(super) fn openssl(arguments: &[Word]) -> bool {
    let loads = ["engine", "config", "provider"];
    let does =
        matches!(arguments.first(), Some(Word::Fixed(first)) if !listed("engine s_server", first));
    let foreign = |word: &Word| match word {
        Word::Open(text) => may_be_option(text),
        Word::Fixed(word) => {
            let name = word
                .strip_prefix('-')
                .map(|rest| rest.trim_start_matches('-'));
            name.is_some_and(|name| loads.iter().any(|load| name.starts_with(load)))
        }
    };
    does && !arguments.iter().any(foreign)
}

/// Tells whether a tool of clang loads no code and hands nothing on.
pub(super) fn clang_tool(arguments: &[Word]) -> bool {
    let loads = [
        "-load",
        "--load",
        "-extra-arg",
        "--extra-arg",
        "-plugin",
        "--plugin",
        "@",
    ];
    // What stands behind is for the compiler.
    let hands_on = |word: &Word| is(word, "--");
    !arguments
        .iter()
        .any(|word| begins(word, &loads) || hands_on(word))
}

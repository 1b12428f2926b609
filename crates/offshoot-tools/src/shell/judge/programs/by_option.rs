//! Programs that run others, or write, by one of a few options, and else do what they say.

use offshoot_types::permission::argv::Word;

use super::options::{has_option, has_short, listed};

/// Names of a program, its options, and those that are one letter.
type Entry = (&'static str, &'static [&'static str], &'static [char]);

const PROGRAMS: &[Entry] = &[
    ("ack ag bat batcat delta", &["--pager*"], &[]),
    ("apt apt-get", &["--option", "--config-file"], &['o', 'c']),
    ("dpkg-architecture", &["--command"], &['c']),
    ("fd fdfind", &["--exec*"], &['x', 'X']),
    ("fzf", &["--bind", "--preview*", "--listen*"], &[]),
    ("groff nroff troff", &["--unsafe*"], &['U']),
    ("hg chg", &["--config*", "--cwd", "--repository"], &['R']),
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
    (
        "sort shuf tree",
        &["--compress-program", "--output"],
        &['o'],
    ),
    ("split", &["--filter"], &[]),
    (
        "svn",
        &["--config-*", "--diff-cmd", "--diff3-cmd", "--editor-cmd"],
        &[],
    ),
    ("tcpdump", &[], &['z']),
    ("wait", &[], &['p']),
    (
        "yq",
        &["--inplace", "--in-place", "--split-exp*"],
        &['i', 's'],
    ),
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
    !has_option(arguments, &runs)
        && !has_short(arguments, &['F', 'L', 'd'])
        && !arguments.iter().any(lua)
}

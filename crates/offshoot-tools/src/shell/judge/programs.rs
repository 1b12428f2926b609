//! Which programs run others, or code.
//!
//! A few only run what their arguments say, and are seen through. The rest of those
//! that are known to run what they are handed is opaque, in the forms that do.
//! What is not listed here is a program like any other: a rule that allows it
//! allows what it does.
//!
//! `names` lists who is opaque whatever follows, `options` finds options among
//! words that may be anything, and the others know one kind of program each.

mod builders;
mod cmake;
mod compare;
mod compilers;
mod filters;
mod git;
mod names;
mod options;
mod runners;
mod sed;
mod typesetters;

use offshoot_types::permission::argv::Word;

use self::options::{has_option, has_short, has_short_of, is, is_operand};
use super::assign;

/// What can be seen of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// It is what it says.
    Plain,
    /// It only runs what begins at this word.
    Through(usize),
    /// It is the same without so many words behind the first.
    Without(usize),
    /// It runs what is not seen.
    Opaque,
}

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
    if program == "set" && stops_early(arguments) {
        return Sight::Plain;
    }
    // Behind `time` the grammar takes an assignment for a name.
    if names::is_opaque(name) || program.contains('=') {
        return Sight::Opaque;
    }
    if runners::is_foreign_toolchain(name, arguments) {
        return Sight::Opaque;
    }
    if names::is_interpreter(name) {
        let runs_file = arguments.first().is_some_and(is_script);
        return opaque_unless(runs_file || only_tells(name, arguments));
    }
    match name {
        "nohup" | "exec" | "setsid" | "time" | "command" | "nice" | "ionice" | "stdbuf"
        | "busybox" | "toybox" => wrapper(name, arguments),
        "timeout" => timeout(arguments),
        "env" => env(arguments),
        "rustup" => runners::rustup(arguments),
        "git" => match git::flags(arguments) {
            0 => opaque_unless(git::is_plain(arguments)),
            flags => Sight::Without(flags),
        },
        _ => opaque_unless(is_plain(name, arguments)),
    }
}

/// Do what files of the folder they stand in say: build, test, hooks and settings.
const BY_FOLDER: &str = "ant bazel brew bun bundle bunx cargo cmake composer ctest deno dune eslint git gmake go \
     gradle gradlew grunt gulp hg jest just lake lein make mage meson mix mocha mvn mvnw ninja nox npm npx \
     pnpm pnpx poetry pre-commit pytest rake sbt scons stack swift task tox tsc turbo uv vagrant vite vitest \
     webpack yarn zig docker docker-compose";

/// Tells whether a program does what the folder says that it is started in.
pub(super) fn goes_by_folder(words: &[Word]) -> bool {
    let Some(Word::Fixed(program)) = words.first() else {
        return false;
    };
    let name = program.rsplit('/').next().unwrap_or_default();
    options::listed(BY_FOLDER, name) || name.starts_with("cargo-") || name.starts_with("git-")
}

/// Tells whether a command is, or may be, one of the shell itself.
pub(super) fn is_of_shell(words: &[Word]) -> bool {
    match words.first() {
        Some(Word::Fixed(program)) => program.contains('=') || names::is_built_in(program),
        Some(Word::Open(_)) | None => true,
    }
}

/// Returns the file that a command runs by its path, also one that an interpreter is given, and what
/// it is handed.
pub(super) fn file(words: &[Word]) -> Option<(String, &[Word])> {
    let [Word::Fixed(program), arguments @ ..] = words else {
        return None;
    };
    let name = program.rsplit('/').next().unwrap_or_default();
    match arguments {
        [Word::Fixed(script), rest @ ..] if names::is_interpreter(name) => {
            let path = if script.contains('/') {
                script.clone()
            } else {
                format!("./{script}")
            };
            Some((path, rest))
        }
        _ => program.contains('/').then(|| (program.clone(), arguments)),
    }
}

/// Tells whether a program with options that run others is used without those.
fn is_plain(name: &str, arguments: &[Word]) -> bool {
    match name {
        "find" => arguments.iter().all(filters::only_finds),
        "fd" | "fdfind" => {
            !has_option(arguments, &["--exec*"]) && !has_short(arguments, &['x', 'X'])
        }
        "awk" | "gawk" | "mawk" | "nawk" => arguments.iter().all(filters::only_prints),
        "sed" => sed::is_plain(arguments),
        "printf" => filters::printf(arguments),
        "sort" | "shuf" | "tree" => {
            !has_option(arguments, &["--compress-program", "--output"])
                && !has_short(arguments, &['o'])
        }
        "uniq" => filters::uniq(arguments),
        "less" | "more" => filters::less(arguments),
        "wget" => filters::wget(arguments),
        "curl" => filters::curl(arguments),
        "xxd" => filters::xxd(arguments),
        "iconv" => !has_option(arguments, &["--output"]) && !has_short_of(arguments, "o", "ft"),
        "yq" => {
            !has_option(arguments, &["--inplace", "--in-place", "--split-exp*"])
                && !has_short(arguments, &['i', 's'])
        }
        "tar" => filters::tar(arguments),
        "split" => !has_option(arguments, &["--filter"]),
        "zip" => filters::zip(arguments),
        "sdiff" | "diff3" => !has_option(arguments, &["--diff-program"]),
        "rg" => !has_option(arguments, &["--pre", "--hostname-bin"]),
        "ack" | "ag" | "bat" | "batcat" | "delta" => !has_option(arguments, &["--pager*"]),
        "fzf" => !has_option(arguments, &["--bind", "--preview*", "--listen*"]),
        "apt" | "apt-get" => {
            !has_option(arguments, &["--option", "--config-file"])
                && !has_short(arguments, &['o', 'c'])
        }
        "man" => {
            !has_option(arguments, &["--pager", "--html", "--config-file"])
                && !has_short(arguments, &['P', 'H', 'C'])
        }
        "nc" | "ncat" => {
            !has_option(arguments, &["--exec", "--sh-exec", "--lua-exec"])
                && !has_short(arguments, &['e', 'c'])
        }
        "test" => compare::is_plain(arguments),
        "[" => match arguments {
            [inner @ .., last] if is(last, "]") => compare::is_plain(inner),
            _ => false,
        },
        "jobs" => !has_short(arguments, &['x']),
        "wait" => !has_short(arguments, &['p']),
        "make" | "gmake" => builders::make(arguments),
        "npm" | "pnpm" => builders::npm(arguments),
        "yarn" => builders::yarn(arguments),
        "npx" | "bunx" | "pnpx" => builders::npx(arguments),
        "cargo" => builders::cargo(arguments),
        "gradle" | "gradlew" => builders::gradle(arguments),
        "mvn" | "mvnw" => builders::mvn(arguments),
        "rake" => builders::rake(arguments),
        "mix" => builders::mix(arguments),
        "latexmk" => typesetters::latexmk(arguments),
        _ if typesetters::is_tex(name) => typesetters::tex(arguments),
        "rustc" | "rustdoc" => compilers::rustc(arguments),
        "cmake" => cmake::cmake(arguments),
        "ctest" => cmake::ctest(arguments),
        "go" => builders::go(arguments),
        "kubectl" => runners::kubectl(arguments),
        "just" => runners::just(arguments),
        "ip" => runners::ip(arguments),
        "tcc" => !arguments
            .iter()
            .any(|word| options::begins(word, &["-run", "@"])),
        "pylint" => !has_option(arguments, &["--init-hook", "--load-plugins", "--rcfile"]),
        "hg" | "chg" => {
            !has_option(arguments, &["--config*", "--cwd", "--repository"])
                && !has_short(arguments, &['R'])
        }
        "rpm" | "rpmbuild" | "rpmspec" => {
            !has_option(
                arguments,
                &[
                    "--define", "--eval", "--load", "--macros", "--pipe", "--rcfile",
                ],
            ) && !has_short(arguments, &['D', 'E'])
        }
        "dpkg-architecture" => {
            !has_option(arguments, &["--command"]) && !has_short(arguments, &['c'])
        }
        _ if name.starts_with("git-") => {
            let command = Word::Fixed(name.trim_start_matches("git-").to_owned());
            git::is_plain(&[&[command], arguments].concat())
        }
        _ if runners::has_command_that_runs(name) => runners::runs_nothing(name, arguments),
        "deno" => builders::deno(arguments),
        "bun" => builders::bun(arguments),
        _ if name.starts_with("cargo-") => builders::cargo_program(name, arguments),
        _ if compilers::is_linker(name) => compilers::only_links(arguments),
        _ if compilers::is_compiler(name) => compilers::only_compiles(arguments),
        _ => true,
    }
}

fn opaque_unless(plain: bool) -> Sight {
    if plain { Sight::Plain } else { Sight::Opaque }
}

/// Tells whether an interpreter is given a file, and neither code nor its input to run.
fn is_script(word: &Word) -> bool {
    let Word::Fixed(path) = word else {
        return false;
    };
    let mut parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let is_device = |part: &str| part == "dev" || part == "proc";
    let device = if path.starts_with('/') && !path.contains("..") {
        parts.next().is_some_and(is_device)
    } else {
        path.contains("..") && parts.any(is_device)
    };
    let last = path.rsplit('/').next().unwrap_or_default();
    let handed = last == "stdin" || last.chars().all(|c| c.is_ascii_digit());
    is_operand(word) && !path.starts_with('+') && !device && !handed
}

/// Tells whether an interpreter says its version, or looks whether a file is well written.
fn only_tells(name: &str, arguments: &[Word]) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (versions, checks) = match name {
        "bash" => ("--version", "-n"),
        "node" | "nodejs" => ("--version -v", "--check -c"),
        "perl" => ("--version -v", ""),
        "php" => ("--version -v", "-l"),
        "python" => ("--version -V", ""),
        "ruby" => ("--version", ""),
        _ => return false,
    };
    match arguments {
        [Word::Fixed(flag)] => options::listed(versions, flag),
        [Word::Fixed(flag), script] => options::listed(checks, flag) && is_script(script),
        _ => false,
    }
}

/// Tells whether `set` is told nothing but to end where something fails.
fn stops_early(arguments: &[Word]) -> bool {
    let named = "errexit nounset pipefail";
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Word::Fixed(flag) = word else {
            return false;
        };
        let letters = flag.strip_prefix(['-', '+']).unwrap_or_default();
        let (letters, takes) = match letters.strip_suffix('o') {
            Some(letters) => (letters, true),
            None => (letters, false),
        };
        let mut behind =
            || matches!(words.next(), Some(Word::Fixed(name)) if options::listed(named, name));
        let known = letters.chars().all(|c| c == 'e' || c == 'u');
        if !known || (letters.is_empty() && !takes) || (takes && !behind()) {
            return false;
        }
    }
    !arguments.is_empty()
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
        [flag, kill, time, operand, ..]
            if is(flag, "-k") && is_time(kill) && is_time(time) && is_operand(operand) =>
        {
            Sight::Through(4)
        }
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

//! Which programs run others, or code.
//!
//! A few only run what their arguments say, and are seen through. The rest of those
//! that are known to run what they are handed is opaque, in the forms that do.
//! What is not listed here is a program like any other: a rule that allows it
//! allows what it does.
//!
//! `names` lists who is opaque whatever follows, `by_option` who is by one of some
//! options, `options` finds those among words that may be anything, `alike` knows
//! other ways to write a command, and the others know one kind of program each.

mod alike;
mod awk;
mod builders;
mod by_option;
mod cmake;
mod compare;
mod compilers;
mod filters;
mod git;
mod interpreters;
mod names;
mod options;
mod runners;
mod sed;
mod typesetters;

use offshoot_types::permission::argv::Word;

use self::options::{has_option, has_short_of, is, is_operand};
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
    let name = names::called(program);
    if program == "set" && stops_early(arguments) {
        return Sight::Plain;
    }
    // Behind `time` the grammar takes an assignment for a name.
    if names::is_opaque(program) || program.contains('=') {
        return Sight::Opaque;
    }
    if runners::is_foreign_toolchain(name, arguments) {
        return Sight::Opaque;
    }
    if names::is_interpreter(name) {
        return opaque_unless(interpreters::is_plain(name, arguments));
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
        _ if !is_plain(name, arguments) => Sight::Opaque,
        _ => match leading_options(name, arguments) {
            0 => Sight::Plain,
            options => Sight::Without(options),
        },
    }
}

/// Counts the options before a command that change nothing of what it does, and so hide it from no
/// rule. Without a command they are all there is.
fn leading_options(name: &str, arguments: &[Word]) -> usize {
    let options = match name {
        "cargo" => builders::cargo_options(arguments),
        "npm" | "pnpm" => builders::npm_options(arguments),
        "yarn" => builders::yarn_options(arguments),
        "kubectl" => runners::kubectl_options(arguments),
        _ => 0,
    };
    match arguments.get(options) {
        Some(Word::Fixed(_)) => options,
        Some(Word::Open(_)) | None => 0,
    }
}

/// Do the same in whatever folder they stand: no file there says what they do, or is code to them.
const ANYWHERE: &str = ": [ ag awk b2sum base32 base64 basename bat batcat bg break bzip2 cal caller cat cd chgrp chmod chown \
     cksum clear cmp comm command continue cp curl cut date dd df diff diff3 dir dircolors dirname dirs disown du echo \
     egrep env exec exit expand expr false fd fdfind fg fgrep file find fmt fold free gawk getconf getent grep groups gunzip \
     gzip head help hexdump hostname hostid iconv id jobs join jq kill killall less link ln locale locate logname ls lsof \
     man mawk md5sum mkdir mkfifo mktemp more mv nawk nice nl nohup nproc numfmt od paste pathchk pgrep pidof ping \
     popd printenv printf ps pushd pwd readlink realpath return rev rg rm rmdir sed seq setsid sha1sum sha224sum sha256sum \
     sha384sum sha512sum shasum shift shred shuf sleep sort split stat strings sum sync tac tail tar tee test time \
     timeout times top touch tr tree true truncate tsort tty type ulimit umask uname unexpand uniq unlink unxz unzip uptime \
     vdir vmstat wait wc wget whereis which who whoami xxd xz yes yq zcat zip zstd";

/// Of these, to which a word without a slash is a file, or is not told from one.
const TAKE_FILES: &str = "ag awk b2sum base32 base64 bat batcat bzip2 cat cd chgrp chmod chown cksum cmp comm cp cut dd diff \
     diff3 dir du egrep expand fd fdfind fgrep file find fmt fold gawk grep gunzip gzip head hexdump iconv join jq \
     less link ln ls mawk md5sum mkdir mkfifo mktemp more mv nawk nl od paste pushd readlink realpath rev rg rm rmdir \
     sed sha1sum sha224sum sha256sum sha384sum sha512sum shasum shred shuf sort split stat strings sum tac tail tar \
     tee touch tree truncate uniq unexpand unlink unxz unzip vdir wc xxd xz yq zcat zip zstd";

/// Run the code of a project, or of the settings that they are told of.
const BY_PROJECT: &str = "alembic ansible ansible-playbook astro ava babel bazel bazelisk behave buck2 bun bundle cucumber \
     cypress dotnet doit eslint fab flake8 gatsby grunt gulp invoke jasmine jest karma lein lerna meson mix \
     mkdocs mocha msbuild mypy next ng ninja nose2 nox nuxt nx nyc pdm phpstan phpunit pip pip3 pipenv pipx playwright \
     pnpm poetry pre-commit prettier prove psalm pulumi py.test pylint pytest pyright remix rollup rspec rubocop \
     samu sbt scons snakemake sphinx-build standard stylelint svelte-kit tap terraform tofu tox ts-jest tsc turbo \
     unittest uv vite vitest vue webpack xo yarn zig";

/// Tells whether a program does the same in whatever folder it is started.
pub(super) fn works_anywhere(words: &[Word]) -> bool {
    match words.first() {
        // One that is called from the folder itself is whatever lies there.
        Some(Word::Fixed(program)) => {
            let is_installed = !program.contains('/') || program.starts_with('/');
            is_installed && options::listed(ANYWHERE, names::called(program))
        }
        Some(Word::Open(_)) | None => true,
    }
}

/// Tells whether a command is, or may be, one of the shell itself.
pub(super) fn is_of_shell(words: &[Word]) -> bool {
    match words.first() {
        Some(Word::Fixed(program)) => program.contains('=') || names::is_built_in(program),
        Some(Word::Open(_)) | None => true,
    }
}

/// Returns the files that a command may run by its path, also one that an interpreter is given, and
/// what they are handed.
pub(super) fn files(words: &[Word]) -> Option<(Vec<String>, &[Word])> {
    interpreters::files(words)
}

/// Returns the same command by another program: a part of git or cargo that is called by its own name,
/// a tool that an interpreter is told to run.
pub(super) fn other_programs(words: &[Word]) -> Vec<Vec<Word>> {
    alike::other_programs(words)
}

/// Returns the same command of a program by the other names that it has.
pub(super) fn other_names(words: &[Word]) -> Vec<Vec<Word>> {
    alike::other_names(words)
}

/// Returns where a program is told to work, if that is before anything else, and how many words say so.
pub(super) fn folder(words: &[Word]) -> Option<(&str, usize)> {
    alike::folder(words)
}

/// Tells whether a program does what files of a project say, or what files it is given hold as code.
pub(super) fn goes_by_project(words: &[Word]) -> bool {
    let Some(Word::Fixed(program)) = words.first() else {
        return false;
    };
    let name = names::called(program);
    let tool = interpreters::tool(name, &words[1..]);
    options::listed(BY_PROJECT, tool.map_or(name, |(tool, _)| tool))
}

/// Tells whether a word without a slash is a file to a program.
pub(super) fn takes_files(name: &str) -> bool {
    options::listed(TAKE_FILES, names::called(name))
}

/// Tells whether a program runs the file that it is given first.
pub(super) fn runs_file(name: &str) -> bool {
    names::is_interpreter(names::called(name))
}

/// Tells whether a program with options that run others is used without those.
fn is_plain(name: &str, arguments: &[Word]) -> bool {
    if let Some(plain) = by_option::is_plain(name, arguments) {
        return plain;
    }
    match name {
        "find" => arguments.iter().all(filters::only_finds),
        "awk" | "gawk" | "mawk" | "nawk" => awk::is_plain(arguments),
        "sed" => sed::is_plain(arguments),
        "printf" => filters::printf(arguments),
        "uniq" => filters::uniq(arguments),
        "less" | "more" => filters::less(arguments),
        "wget" => filters::wget(arguments),
        "curl" => filters::curl(arguments),
        "xxd" => filters::xxd(arguments),
        "iconv" => !has_option(arguments, &["--output"]) && !has_short_of(arguments, "o", "ft"),
        "tar" => filters::tar(arguments),
        "zip" => filters::zip(arguments),
        "ghc" => {
            let runs = [
                "-e",
                "--interactive",
                "--run",
                "-pgm",
                "-fplugin",
                "-F",
                "@",
            ];
            !arguments.iter().any(|word| options::begins(word, &runs))
        }
        "pandoc" => by_option::pandoc(arguments),
        "yq" => by_option::yq(arguments),
        "pip" | "pip3" => by_option::pip(arguments),
        "openssl" => by_option::openssl(arguments),
        "clang-tidy" | "clang-check" | "clang-query" => by_option::clang_tool(arguments),
        "hg" | "chg" => runners::hg(arguments),
        "test" => compare::is_plain(arguments),
        "[" => match arguments {
            [inner @ .., last] if is(last, "]") => compare::is_plain(inner),
            _ => false,
        },
        "make" | "gmake" => builders::make(arguments),
        "npm" | "pnpm" => builders::npm(name, arguments),
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
    let is_time = |word: &str| {
        let number = word.trim_end_matches(['s', 'm', 'h', 'd']);
        !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let is_signal = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric());
    let flags = "-f -p -v --foreground --preserve-status --verbose";
    let mut at = 0;
    // The text of the word at hand; what is not known is no option, time or signal.
    let text = |at: usize| match arguments.get(at) {
        Some(Word::Fixed(word)) => word.as_str(),
        Some(Word::Open(_)) | None => "-",
    };
    loop {
        let (option, value) = text(at).split_once('=').unwrap_or((text(at), ""));
        at += match option {
            "-k" if is_time(text(at + 1)) => 2,
            "-s" if is_signal(text(at + 1)) => 2,
            "--kill-after" if is_time(value) => 1,
            "--signal" if !value.is_empty() && is_signal(value) => 1,
            flag if options::listed(flags, flag) && value.is_empty() => 1,
            _ => break,
        };
    }
    let operand = arguments.get(at + 1).is_some_and(is_operand);
    if is_time(text(at)) && operand {
        Sight::Through(at + 2)
    } else {
        Sight::Opaque
    }
}

/// Tells whether a program is asked about although what it runs is seen, and may be denied: `env` changes
/// what its command finds around it.
pub(super) fn always_asks(words: &[Word]) -> bool {
    let name = words.first();
    matches!(name, Some(Word::Fixed(program)) if names::called(program) == "env")
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

//! Programs that build and test: what they run is the project's.
//!
//! Whoever allows `make test` allows what the project does then. Options that take
//! another project, another shell or a piece of code instead are opaque.

use offshoot_types::permission::argv::Word;

use super::super::assign;
use super::compilers;
use super::options::{before_end, has_option, has_short, is, is_operand, listed, may_be_option};

/// Options of `make` that change how much is done or said, and take no value.
const MAKE: &str = "-B -k -n -s -w --always-make --dry-run --jobs --keep-going --no-print-directory \
                    --quiet --silent --trace --version --help";

/// Tells whether `make` is given nothing but targets, known options and numbers.
///
/// Any variable may hold a command, `SHELL` for one.
pub(super) fn make(arguments: &[Word]) -> bool {
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    arguments.iter().all(|word| match word {
        // As many jobs as there are cores.
        Word::Open(text) => matches!(
            text.as_str(),
            "-j$(nproc)" | "-j\"$(nproc)\"" | "$(nproc)" | "\"$(nproc)\""
        ),
        Word::Fixed(word) => match word.split_once('=') {
            Some((name, value)) if !word.starts_with('-') => assign::is_name(name) && digits(value),
            _ if word.starts_with('-') => {
                let jobs = word
                    .strip_prefix("-j")
                    .or_else(|| word.strip_prefix("--jobs="));
                jobs.is_some_and(digits) || listed(MAKE, word)
            }
            _ => true,
        },
    })
}

/// What `npm` does by itself or by the project's scripts.
const NPM: &str = "add audit bin build ci dedupe doctor explain fund help i info install \
                   list ll ls outdated pack ping prefix prune publish rebuild remove restart rm \
                   root run run-script search start stop t test tst un uninstall up update \
                   version view why whoami";

/// Options of `npm` that change how much is done or said, and take no value.
const NPM_OPTIONS: &str = "-D -E -S -a -d -f -g -h -s -v -y --all --dry-run --force --global --help --if-present \
     --ignore-scripts --json --legacy-peer-deps --long --no-audit --no-color --no-fund --no-progress --no-save \
     --offline --package-lock-only --parseable --prefer-offline --production --frozen-lockfile --quiet --save \
     --save-dev --save-exact --silent --verbose --version --workspaces --yes";

/// Those with their value in the same word.
const NPM_VALUED: [&str; 4] = ["--omit=", "--include=", "--depth=", "--loglevel="];

/// Scripts that projects have, and no program is called by: what `pnpm` does not know is the one or
/// the other.
const SCRIPTS: &str = "build build-storybook check-types clean compile dev docs e2e fmt format format-check lint \
                       lint-fix prepare preview serve storybook type-check typecheck unit validate";

/// Tells whether `npm` does what its first word says: all of its settings, among them the shell
/// that it uses, can be options, in whatever place before `--`.
pub(super) fn npm(name: &str, arguments: &[Word]) -> bool {
    let own = before_end(arguments, NPM_OPTIONS);
    let known = |word: &Word| match word {
        Word::Open(text) => !may_be_option(text),
        Word::Fixed(word) if word.starts_with('-') => {
            let own = word.strip_prefix("--workspace=").is_some_and(is_own);
            // Behind the first of these stands a number, and behind the others a word.
            own || is_npm_option(word) || listed("--depth --loglevel --omit --include", word)
        }
        // A folder of another place has scripts of its own.
        Word::Fixed(word) => is_own(word) && !word.starts_with("file:"),
    };
    let first = |word: &&Word| !matches!(word, Word::Fixed(word) if word.starts_with('-'));
    let tells = match own {
        [Word::Fixed(what), does, ..] => listed("config pkg", what) && is(does, "get"),
        _ => false,
    };
    let does = match own.iter().find(first) {
        _ if tells => true,
        Some(Word::Fixed(command)) if name == "pnpm" => {
            let plain = |c: char| c.is_ascii_alphanumeric() || ":_-".contains(c);
            let is_script = command.contains(':') && command.chars().all(plain);
            is_script || listed(NPM, command) || listed(SCRIPTS, command)
        }
        Some(Word::Fixed(command)) => listed(NPM, command),
        Some(Word::Open(_)) => false,
        None => true,
    };
    does && own.iter().all(known)
}

fn is_npm_option(word: &str) -> bool {
    listed(NPM_OPTIONS, word) || NPM_VALUED.iter().any(|option| word.starts_with(option))
}

/// Those of them that change only how much is said.
const NPM_SAYS: &str = "-s -d --silent --quiet --verbose --json --no-color --no-progress";

/// Counts the options of `npm` before its command that change nothing of what it does.
pub(super) fn npm_options(arguments: &[Word]) -> usize {
    let is_option = |word: &&Word| match word {
        Word::Fixed(word) => listed(NPM_SAYS, word) || word.starts_with("--loglevel="),
        Word::Open(_) => false,
    };
    arguments.iter().take_while(is_option).count()
}

/// Tells whether `npx` runs the package that it names.
pub(super) fn npx(arguments: &[Word]) -> bool {
    let flags = ["-y", "--yes", "--no", "--no-install"];
    let says_yes = |word: &&Word| flags.iter().any(|flag| is(word, flag));
    let mut words = arguments.iter().skip_while(says_yes);
    words.next().is_none_or(is_operand)
}

/// Options of `yarn` that may stand before its command and take no value.
const YARN_OPTIONS: &str = "-s --silent --verbose --offline --prefer-offline --json --non-interactive \
                            --no-progress --frozen-lockfile --immutable --ignore-scripts --version -v --help -h";

/// What `yarn` is told to run that is no script of the project, or how to run it from then on.
const YARN_RUNS: &str = "config create dlx exec global init node npm plugin policies set x";

/// Tells whether `yarn` runs a script of the project or does something of its own.
pub(super) fn yarn(arguments: &[Word]) -> bool {
    let options = [
        "--cwd",
        "--require",
        "--script-shell",
        "--scripts-prepend-node-path",
        "--use-yarnrc",
    ];
    let rest = &arguments[yarn_options(arguments)..];
    let does = match rest {
        [] => true,
        [first, name, rest @ ..] if is(first, "workspace") => is_operand(name) && yarn(rest),
        [first, rest @ ..] if is(first, "workspaces") => {
            matches!(rest.first(), Some(Word::Fixed(what)) if listed("focus info list", what))
        }
        [Word::Fixed(first), ..] => is_operand(&rest[0]) && !listed(YARN_RUNS, first),
        [Word::Open(_), ..] => false,
    };
    does && !has_option(before_end(arguments, YARN_OPTIONS), &options)
}

/// Counts the options of `yarn` before its command.
pub(super) fn yarn_options(arguments: &[Word]) -> usize {
    let is_flag = |word: &&Word| matches!(word, Word::Fixed(word) if listed(YARN_OPTIONS, word));
    arguments.iter().take_while(is_flag).count()
}

/// What is no part of `cargo` and runs its arguments, and what hands its own on to the compiler.
const CARGO_RUNS: &str = "bisect-rustc eval flamegraph instruments make rustc rustdoc samply script valgrind watch with \
                          workspaces ws";

/// Options of `cargo` that may stand before its command and take no value.
const CARGO_OPTIONS: &str = "-h -q -v -vv -V --frozen --help --list --locked --offline --quiet --verbose --version \
                             --color=always --color=auto --color=never";

/// Options of its commands that take no value either.
const CARGO_FLAGS: &str = "-q -r -v --all --all-features --all-targets --allow-dirty --allow-staged --benches --bins --doc \
                           --document-private-items --examples --fix --frozen --keep-going --lib --locked --no-default-features \
                           --no-deps --no-fail-fast --no-run --offline --open --quiet --release --tests --verbose --workspace";

/// Tells whether `cargo` takes its settings and the project from where it stands.
pub(super) fn cargo(arguments: &[Word]) -> bool {
    let own = before_end(arguments, CARGO_FLAGS);
    let options = [
        "--config",
        "--config-file",
        "--manifest-path",
        "--tool-config-file",
    ];
    // Behind an option that takes a value the next word is no command.
    let does = match own.get(cargo_options(own)) {
        // Whatever stands behind the first `--` may be for the compiler.
        Some(Word::Fixed(command)) if command == "clippy" => {
            let ends = arguments.iter().position(|word| is(word, "--"));
            compilers::rustc_checks(&arguments[ends.unwrap_or(arguments.len())..])
        }
        Some(Word::Fixed(command)) if command == "install" => {
            !has_option(own, &["--git", "--index", "--registry"]) && has_own_path(own)
        }
        Some(command @ Word::Fixed(name)) => is_operand(command) && !listed(CARGO_RUNS, name),
        Some(Word::Open(_)) => false,
        None => true,
    };
    let rest = without_own_manifest(own);
    does && !has_option(&rest, &options) && !has_short(&rest, &['C'])
}

/// Returns the words of `cargo` but for a manifest of the project that stands behind the command: that
/// is as if it was started there.
fn without_own_manifest(words: &[Word]) -> Vec<Word> {
    let is_one = |word: &Word| match word {
        Word::Fixed(path) => {
            let is_git = path
                .split('/')
                .any(|step| step.eq_ignore_ascii_case(".git"));
            is_own(path) && !is_git && (path == "Cargo.toml" || path.ends_with("/Cargo.toml"))
        }
        Word::Open(_) => false,
    };
    let mut kept = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let is_option = is(word, "--manifest-path") && !kept.is_empty();
        if !(is_option && words.next_if(|next| is_one(next)).is_some()) {
            kept.push(word.clone());
        }
    }
    kept
}

/// Counts the options of `cargo` before its command.
pub(super) fn cargo_options(arguments: &[Word]) -> usize {
    let is_flag = |word: &&Word| match word {
        Word::Fixed(word) => word.starts_with('+') || listed(CARGO_OPTIONS, word),
        Word::Open(_) => false,
    };
    arguments.iter().take_while(is_flag).count()
}

/// Tells whether a folder lies below this one.
pub(super) fn is_own(folder: &str) -> bool {
    !folder.starts_with(['/', '~']) && folder.split('/').all(|step| step != "..")
}

/// Tells whether `--path`, if it is there, is a folder of the project.
fn has_own_path(words: &[Word]) -> bool {
    let elsewhere = |(index, word): (usize, &Word)| match word {
        Word::Fixed(word) if word == "--path" => {
            !matches!(words.get(index + 1), Some(Word::Fixed(path)) if is_own(path))
        }
        Word::Fixed(word) => word
            .strip_prefix("--path=")
            .is_some_and(|path| !is_own(path)),
        Word::Open(_) => false,
    };
    !words.iter().enumerate().any(elsewhere)
}

/// Looks at what `cargo` starts for a command that is no part of it, started by its own name.
pub(super) fn cargo_program(name: &str, arguments: &[Word]) -> bool {
    let command = name.trim_start_matches("cargo-");
    !listed(CARGO_RUNS, command) && cargo(arguments)
}

/// Tells whether `go` runs what it builds, and neither another program on it nor another compiler or
/// linker.
pub(super) fn go(arguments: &[Word]) -> bool {
    let tools = "cover nm objdump";
    let tool = match arguments {
        [first, rest @ ..] if is(first, "tool") => {
            matches!(rest.first(), Some(Word::Fixed(tool)) if listed(tools, tool))
        }
        _ => true,
    };
    let runs = |word: &Word| match word {
        Word::Open(text) => may_be_option(text),
        Word::Fixed(word) => {
            let name = word.trim_start_matches('-').split('=').next();
            let name = name.unwrap_or_default();
            let runs = "exec toolexec vettool overlay modfile C w compiler gccgoflags ldflags";
            if word.starts_with('-') {
                listed(runs, name)
            } else {
                // A package of another place.
                !is_own(word)
            }
        }
    };
    tool && !without_stripping(arguments).into_iter().any(runs)
}

/// Returns the words of `go` but for flags of the linker that leave things out or set a text.
fn without_stripping(arguments: &[Word]) -> Vec<&Word> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./=+-".contains(c);
    let harmless = |flags: &str| {
        let mut flags = flags.split(' ');
        while let Some(flag) = flags.next() {
            let known = match flag {
                "-X" => flags.next().is_some_and(|text| text.chars().all(plain)),
                flag => listed("-s -w", flag),
            };
            if !known {
                return false;
            }
        }
        true
    };
    let is_harmless = |word: &Word| match word {
        Word::Fixed(word) => word
            .trim_start_matches('-')
            .strip_prefix("ldflags=")
            .is_some_and(harmless),
        Word::Open(_) => false,
    };
    arguments.iter().filter(|word| !is_harmless(word)).collect()
}

/// Tells whether `deno` is told to work on files.
pub(super) fn deno(arguments: &[Word]) -> bool {
    let works = "bench cache check compile doc fmt info lint run task test types --version --help";
    match arguments {
        [Word::Fixed(first), rest @ ..] => {
            let options = [
                "--config",
                "--cwd",
                "--env-file",
                "--eval",
                "--import*",
                "--preload",
                "--require",
            ];
            listed(works, first)
                && !rest.iter().any(is_code)
                && !has_option(rest, &options)
                && !has_short(of_deno(first, rest), &['c'])
        }
        _ => false,
    }
}

/// Returns the words that are for `deno`, and not for the script that it runs: those up to the script,
/// if no word before that takes a value.
fn of_deno<'a>(command: &str, words: &'a [Word]) -> &'a [Word] {
    let flags = flags_of_deno(words);
    let runs = listed("compile run task", command);
    if runs && words.get(flags).is_some_and(is_operand) {
        &words[..flags]
    } else {
        words
    }
}

/// Counts the options that stand first and take no value.
fn flags_of_deno(words: &[Word]) -> usize {
    let flag = |word: &&Word| match word {
        Word::Fixed(word) => {
            let known = ["--allow-", "--deny-", "--no-", "--unstable"];
            listed("-A -q --quiet --watch --cached-only", word)
                || known.iter().any(|flag| word.starts_with(flag))
        }
        Word::Open(_) => false,
    };
    words.iter().take_while(flag).count()
}

/// Returns the script that `deno` runs and what that is handed, or nothing.
pub(super) fn script_of_deno(arguments: &[Word]) -> &[Word] {
    match arguments {
        [run, rest @ ..] if is(run, "run") => &rest[flags_of_deno(rest)..],
        _ => &[],
    }
}

/// Returns the script that `bun` runs and what that is handed, or nothing.
pub(super) fn script_of_bun(arguments: &[Word]) -> &[Word] {
    let own = "a add build c create i init install link outdated patch pm publish remove rm test unlink update upgrade x";
    let flag = |word: &&Word| !is_operand(word);
    match arguments {
        [run, rest @ ..] if is(run, "run") => &rest[rest.iter().take_while(flag).count()..],
        [Word::Fixed(command), ..] if listed(own, command) => &[],
        _ => arguments,
    }
}

/// Tells whether `bun` is told to work on files.
pub(super) fn bun(arguments: &[Word]) -> bool {
    let options = [
        "--config",
        "--cwd",
        "--env-file",
        "--eval",
        "--import",
        "--preload",
        "--print",
        "--require",
        "--shell",
    ];
    let first = arguments.first();
    first.is_some_and(|word| is_operand(word) && !is(word, "exec") && !is(word, "repl"))
        && !arguments.iter().any(is_code)
        && !has_option(arguments, &options)
        && !has_short(arguments, &['c', 'e', 'p', 'r'])
}

/// Options of `gradle` that change how much is done or said; behind the last two stands a value.
const GRADLE: &str = "-S -a -d -h -i -m -q -s -t -v -w --build-cache --configuration-cache --configure-on-demand --continue \
                      --continuous --daemon --debug --dry-run --full-stacktrace --help --info --no-build-cache \
                      --no-configuration-cache --no-continue --no-daemon --no-parallel --no-rebuild --no-scan --offline \
                      --parallel --profile --quiet --refresh-dependencies --rerun-tasks --stacktrace --status --stop \
                      --version --warn -x --exclude-task --tests";

/// Tells whether `gradle` builds the project that is there, with no script and no settings besides:
/// what is known is listed, because a setting may be what the machine is started with.
pub(super) fn gradle(arguments: &[Word]) -> bool {
    let valued = [
        "--console=",
        "--exclude-task=",
        "--max-workers=",
        "--tests=",
        "--warning-mode=",
    ];
    arguments.iter().all(|word| match word {
        Word::Open(text) => !may_be_option(text),
        Word::Fixed(word) => is_known(word, GRADLE, &valued),
    })
}

/// Options of `mvn` that change how much is done or said; behind the last three stands a value.
const MVN: &str = "-B -C -N -U -V -X -am -amd -c -e -fae -ff -fn -h -ntp -o -q -v --also-make --also-make-dependents \
                   --batch-mode --debug --errors --fail-at-end --fail-fast --fail-never --help \
                   --no-transfer-progress --non-recursive --offline --quiet --show-version --update-snapshots --version \
                   -DskipTests -DskipITs -DskipTests=true -Dmaven.test.skip=true -Dmaven.test.skip -pl -rf -T";

/// Tells whether `mvn` builds the project that is there and runs nothing else.
pub(super) fn mvn(arguments: &[Word]) -> bool {
    // A plugin by its whole name is one that the project need not know.
    let foreign = |word: &str| word.contains("exec") || word.matches(':').count() > 1;
    let valued = ["-Dtest=", "-Dit.test=", "-P", "-T"];
    arguments.iter().all(|word| match word {
        Word::Open(_) => false,
        Word::Fixed(word) => is_known(word, MVN, &valued) && !foreign(word),
    })
}

/// Options of `rake` that change how much is done or said.
const RAKE: &str = "-A -D -H -N -P -T -V -W -h -m -n -q -s -t -v --all --backtrace --describe --dry-run --help --multitask \
                    --no-search --nosearch --prereqs --quiet --rules --silent --tasks --trace --verbose --version --where";

/// Tells whether `rake` runs tasks of the project and no code that it is handed: as with `make`, a
/// variable may name a file to run.
pub(super) fn rake(arguments: &[Word]) -> bool {
    arguments.iter().all(|word| match word {
        Word::Open(_) => false,
        Word::Fixed(word) => match word.split_once('=') {
            Some((name, value)) if assign::is_name(name) => {
                value.chars().all(|c| c.is_ascii_digit())
            }
            Some(_) | None => is_known(word, RAKE, &[]),
        },
    })
}

/// Tells whether a word is no option, or one of a list, or one with its value in the same word.
fn is_known(word: &str, flags: &str, valued: &[&str]) -> bool {
    let is_valued = || valued.iter().any(|option| word.starts_with(option));
    !word.starts_with('-') || listed(flags, word) || is_valued()
}

/// Tells whether `mix` runs tasks of the project and no code that it is handed.
pub(super) fn mix(arguments: &[Word]) -> bool {
    let runs = "cmd do eval rpc";
    let first = matches!(arguments.first(), Some(Word::Fixed(first)) if !listed(runs, first));
    let options = ["--eval", "--require", "--rpc-eval"];
    (first || arguments.is_empty())
        && !has_option(arguments, &options)
        && !has_short(arguments, &['e', 'r'])
}

/// Tells whether a word is code, or says that the input is.
fn is_code(word: &Word) -> bool {
    matches!(word, Word::Fixed(word) if word == "-" || word.starts_with("data:"))
}

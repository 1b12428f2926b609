//! Programs of which one command runs others: clusters, containers, tool chains, task runners.
//!
//! What their other commands do is what they say. Options before the command choose
//! another place or other settings, with programs of their own.

use offshoot_types::permission::argv::Word;

use super::Sight;
use super::builders::is_own;
use super::options::{has_option, has_short, has_short_of, is, is_operand, listed, quoted};

/// What `kubectl` does to a cluster, and in no container and with no editor.
const KUBECTL: &str = "annotate api-resources api-versions apply auth autoscale cluster-info cordon create delete \
     describe diff drain events explain expose get help label logs options patch replace rollout \
     scale set taint top uncordon version wait --help --version";

/// Options of `kubectl` that name a cluster and programs to reach it, or a file that is written.
const KUBECTL_OPTIONS: &str = "--cache-dir --enable-alpha-plugins --enable-exec --enable-helm --helm-command \
     --kubeconfig --kuberc --output-directory --profile --profile-output --server";

/// Tells whether `kubectl` works on the cluster that is chosen, with what is known there.
pub(super) fn kubectl(arguments: &[Word]) -> bool {
    let foreign = |word: &Word| match word {
        Word::Open(text) => super::options::may_be_option(text),
        Word::Fixed(word) => listed(KUBECTL_OPTIONS, word.split('=').next().unwrap_or_default()),
    };
    let tells = "current-context get-clusters get-contexts get-users view";
    let known = match &arguments[kubectl_options(arguments)..] {
        [config, Word::Fixed(what), ..] if is(config, "config") => listed(tells, what),
        [Word::Fixed(command), ..] => listed(KUBECTL, command),
        [Word::Open(_), ..] => false,
        [] => true,
    };
    known && !arguments.iter().any(foreign) && !has_short_of(arguments, "s", "cfklLnov")
}

/// Counts the words before the command of `kubectl` that say where and as whom, with their values.
pub(super) fn kubectl_options(arguments: &[Word]) -> usize {
    let valued = "-n --namespace --context --cluster --user --request-timeout -v";
    let mut count = 0;
    while let Some(Word::Fixed(option)) = arguments.get(count) {
        let name = option.split('=').next().unwrap_or_default();
        count += if listed(valued, option) && count + 1 < arguments.len() {
            2
        } else if option.contains('=') && listed(valued, name) {
            1
        } else {
            break;
        };
    }
    count
}

/// What rustup stands in front of: a word with a plus before all others chooses who does the work.
const RUST: &str = "cargo cargo-clippy cargo-fmt cargo-miri clippy-driver rls rust-analyzer rust-gdb rust-gdbgui \
                    rust-lldb rustc rustdoc rustfmt";

/// Tells whether a tool chain is chosen that has no name: a folder, with programs of its own.
pub(super) fn is_foreign_toolchain(name: &str, arguments: &[Word]) -> bool {
    let chosen = match arguments {
        [Word::Fixed(first), ..] => first.strip_prefix('+'),
        _ => None,
    };
    listed(RUST, name) && chosen.is_some_and(|chosen| !is_toolchain(chosen))
}

fn is_toolchain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain)
}

/// Looks at `rustup`, which runs a program of a tool chain, and else keeps tool chains.
pub(super) fn rustup(arguments: &[Word]) -> Sight {
    let tells = "--help --version -V check completions help show update which";
    let keeps = "add install list remove uninstall";
    let named = |words: &[Word]| {
        let plain = |word: &Word| matches!(word, Word::Fixed(word) if !word.contains('/'));
        words.iter().all(plain)
    };
    match arguments {
        [] => Sight::Plain,
        [run, Word::Fixed(toolchain), program, ..] if is(run, "run") => {
            if is_toolchain(toolchain) && is_operand(program) {
                Sight::Through(3)
            } else {
                Sight::Opaque
            }
        }
        [Word::Fixed(what), ..] if listed(tells, what) => Sight::Plain,
        [Word::Fixed(what), Word::Fixed(does), rest @ ..]
            if listed("component target toolchain", what) && listed(keeps, does) && named(rest) =>
        {
            Sight::Plain
        }
        _ => Sight::Opaque,
    }
}

/// Programs by name, and those of their commands that run others, or code.
const RUNNING: [(&str, &str); 34] = [
    ("asdf", "exec env"),
    ("aws-vault", "exec login"),
    ("bundle", "config console e ex exe exec open plugin"),
    (
        "cabal",
        "exec new-exec new-repl new-run repl run v1-exec v1-repl v1-run v2-exec v2-repl v2-run",
    ),
    ("composer", "config exec global"),
    ("conda", "run"),
    ("docker", "buildx context create debug exec plugin run"),
    ("docker-compose", "exec run"),
    ("fnm", "exec"),
    ("gh", "alias codespace config cs ext extension extensions"),
    ("goenv", "exec"),
    ("hatch", "run shell"),
    ("jenv", "exec"),
    (
        "mise",
        "en env exec generate hook-env r run shell tasks watch x",
    ),
    ("mamba", "run"),
    ("micromamba", "run"),
    ("nerdctl", "create exec run"),
    ("nix", "develop eval fmt print-dev-env repl run shell"),
    ("nodenv", "exec"),
    ("op", "plugin run"),
    ("pdm", "config plugin run"),
    ("pipenv", "run shell"),
    ("pipx", "run runpip"),
    ("pixi", "exec global r run s shell shell-hook x"),
    ("podman", "create exec kube machine play run unshare"),
    ("poetry", "config run self shell"),
    ("pyenv", "exec"),
    ("rails", "c console db dbconsole r runner"),
    ("rbenv", "exec"),
    ("rye", "config r run shell tools"),
    ("stack", "eval exec ghci repl run runghc runhaskell script"),
    ("uv", "run tool x"),
    ("vagrant", "provision ssh winrm"),
    ("volta", "run"),
];

pub(super) fn has_command_that_runs(name: &str) -> bool {
    RUNNING.iter().any(|(known, _)| *known == name)
}

/// Tells whether such a program is given another of its commands. Options before it may be about
/// another project, and the word behind them may be a value.
pub(super) fn runs_nothing(name: &str, arguments: &[Word]) -> bool {
    let runs = RUNNING.iter().find(|(known, _)| *known == name);
    let runs = runs.map_or("", |(_, runs)| runs);
    if name == "docker-compose" {
        return composes(arguments);
    }
    if let [first, rest @ ..] = arguments
        && is(first, "compose")
    {
        return composes(rest);
    }
    // What is made here is no container, and runs nothing.
    let makes = "builder config image manifest network secret system volume";
    if let [Word::Fixed(what), create, ..] = arguments
        && listed(makes, what)
        && is(create, "create")
    {
        return true;
    }
    // `docker container run`.
    let first = arguments.iter().take(2);
    let mut first = first.enumerate().map(|(index, word)| match word {
        Word::Fixed(word) if listed("--help --version -V -h version help", word) => true,
        Word::Fixed(word) => !listed(runs, word) && (index > 0 || !word.starts_with('-')),
        Word::Open(_) => index > 0,
    });
    first.all(|plain| plain) && !runs_by_option(name, arguments)
}

/// Tells whether one of some programs is told by an option to run something.
fn runs_by_option(name: &str, arguments: &[Word]) -> bool {
    match name {
        "cabal" | "stack" => {
            has_option(arguments, &["--exec", "--with-*"]) || has_short(arguments, &['w'])
        }
        "uv" => names_python(arguments),
        _ => false,
    }
}

/// Tells whether another Python is named by its path, or may be.
pub(super) fn names_python(arguments: &[Word]) -> bool {
    let is_option = |word: &Word| matches!(word, Word::Fixed(word) if listed("-p --python", word));
    let is_path = |word: &Word| match word {
        Word::Fixed(word) => word.contains('/'),
        Word::Open(_) => true,
    };
    let glued = |word: &Word| match word {
        Word::Fixed(word) => word.starts_with("--py") && word.contains('/'),
        Word::Open(_) => false,
    };
    let mut pairs = arguments.windows(2);
    arguments.iter().any(glued) || pairs.any(|pair| is_option(&pair[0]) && is_path(&pair[1]))
}

/// Tells whether `hg` runs nothing: options choose tools, settings and what is run for each revision.
pub(super) fn hg(arguments: &[Word]) -> bool {
    let options = ["--command", "--config*", "--cwd", "--repository", "--tool"];
    let does = |command: &str| arguments.iter().any(|word| is(word, command));
    let letters: &[char] = if does("bisect") {
        &['R', 't', 'c']
    } else {
        &['R', 't']
    };
    !has_option(arguments, &options) && !has_short(arguments, letters) && !does("debugshell")
}

/// Options of `docker compose` before its command: the first take no value.
const COMPOSE: &str = "--all-resources --compatibility --dry-run --verbose --help --version -v -h";

/// Those with a value behind them, or in the same word.
const COMPOSE_VALUED: &str =
    "-f --file -p --project-name --profile --ansi --progress --parallel --env-file";

/// Tells whether containers are put together and started as their file says, and nothing else is run
/// in one of them.
fn composes(arguments: &[Word]) -> bool {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Word::Fixed(word) = word else {
            return false;
        };
        match word.split_once('=') {
            Some((name, value)) if listed(COMPOSE_VALUED, name) && is_own(value) => {}
            _ if listed(COMPOSE_VALUED, word) => match words.next() {
                Some(Word::Fixed(value)) if is_own(value) => {}
                Some(Word::Fixed(_)) => return false,
                // It may be several words, a command among them, or a file of another place.
                Some(Word::Open(text)) => match quoted(text) {
                    Some(text) if !text.starts_with(['$', '`']) && is_own(text) => {}
                    Some(_) | None => return false,
                },
                None => {}
            },
            _ if listed(COMPOSE, word) => {}
            _ => return !word.starts_with('-') && !listed("alpha bridge exec publish run", word),
        }
    }
    true
}

/// Tells whether `just` runs recipes of the project: a path is that of another.
pub(super) fn just(arguments: &[Word]) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_:-".contains(c);
    let tells = "--list --summary --version --help -l -h -V -n --dry-run";
    arguments.iter().all(|word| match word {
        Word::Open(_) => false,
        Word::Fixed(word) if word.starts_with('-') => listed(tells, word),
        Word::Fixed(word) => word.chars().all(plain),
    })
}

/// Tells whether `ip` runs nothing in a network of its own. All of its words may be shortened, and a
/// file may hold more of them.
pub(super) fn ip(arguments: &[Word]) -> bool {
    arguments.iter().all(|word| match word {
        Word::Open(_) => false,
        Word::Fixed(word) => {
            let runs = !word.is_empty() && "exec".starts_with(word.as_str());
            !runs && !word.starts_with("-b") && !word.starts_with("--b")
        }
    })
}

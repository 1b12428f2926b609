//! Names that are opaque whatever follows, and names of interpreters.
//!
//! Of what is built into bash the harmless is known elsewhere and the rest is here;
//! a test holds the two against the bash that is there.

use super::options::listed;

/// Built into bash: changes what the shell does from then on, sets variables, or runs its
/// arguments as text.
const BUILTINS: &str = ". alias bind builtin compgen complete compopt declare enable eval export \
                        fc getopts hash history let local logout mapfile read readarray readonly \
                        set shopt source suspend trap typeset unalias unset";

/// The rest of what is built into bash.
const HARMLESS: &str = ": [ bg break caller cd command continue dirs disown echo exec exit false fg help jobs kill \
                        popd printf pushd pwd return shift test times true type ulimit umask wait";

/// Run their arguments with other rights, in other places, at other times or under watch.
const RUNNERS: &str = "apptainer at autossh batch bear bwrap capsh catchsegv ccache choom chpst chroot chrt chronic corepack coreutils cpulimit crontab daemon \
     daemonize dbus-launch dbus-run-session debconf direnv doas distcc dtach dumb-init eatmydata entr envdir envuidgid expect faketime fakeroot \
     firejail flock gdb gdbserver gosu gpg-agent gdbtui heaptrack hyperfine i386 ifne lckdo libtool linux32 linux64 lldb logsave ltrace memusage mispipe mosh msgexec msgfilter newgrp nix-shell nodemon not \
     nsenter numactl offshoot parallel pdb pdb3 pee perf pg_virtualenv pkexec prlimit proot proxychains proxychains4 qemu-x86_64 rlwrap \
     rr rsh rsync run0 run-parts runcon runuser scp sccache screen script scriptlive scriptreplay sem setarch setpriv setuidgid sftp sg singularity slogin socat softlimit sops sotruss ssh \
     ssh-agent sshpass start-stop-daemon strace su su-exec sudo systemd-cat systemd-inhibit systemd-nspawn systemd-run \
     taskset tini tini-static tmux torify torsocks trickle tsocks uclampset uname26 unbuffer unshare uvx valgrind \
     watch watchexec x86_64 xargs xvfb-run zrun";

/// Read a language in which commands can be run.
const LANGUAGES: &str = "dc duckdb ed editor emacs emacsclient erl evim ex exiftool file-rename ftp ghci gprolog gs gview gvim gvimdiff iex \
     jshell lftp m4 mariadb mongo mongosh mysql nano nvim prename psql pico r rename rnano rview rvim sbcl sensible-editor sqlite sqlite3 \
     swipl telnet vi view vim vimdiff vipw visudo vigr";

/// What only begins like one of these and does what it says.
const ALIKE: &str = "ssh-add ssh-keygen ssh-keyscan";

/// What may stand behind a dot in the name of a program that has variants.
const VARIANTS: &str =
    "athena basic bin curses gnome gtk gtk2 gtk3 lucid motif nox openbsd pgtk tiny traditional x11";

/// Words of the grammar: where one is a program's name, the parse is wrong.
const RESERVED: &str = "! [[ ]] case coproc do done elif else esac fi for function if in select \
                        then until while { }";

/// Run a file if that is the first thing they are given, and else code.
const INTERPRETERS: &str = "ash bash bb clisp clojure coffee csh dash elixir elvish es fish gnuplot groovy guile hush hy ipython irb janet jruby jython \
     julia kotlin ksh lua luajit micropython mksh node nodejs nu ocaml octave osascript osh perl perl6 php powershell pwsh pypy python qjs racket \
     raku rakudo rbash rc rscript ruby runghc runhaskell scala sh swift tclsh tcsh texlua ts-node tsx wish xonsh yash ysh zsh";

/// Tells whether a program is opaque whatever follows, by what it is called by.
pub(super) fn is_opaque(program: &str) -> bool {
    let name = called(program);
    // The program that loads programs.
    let loads = name.starts_with("ld") && (name.contains(".so") || name.starts_with("ld-linux"));
    let lists = [BUILTINS, RUNNERS, LANGUAGES, RESERVED];
    loads || lists.iter().any(|list| listed(list, name)) || is_variant_of_opaque(program, name)
}

/// What GNU programs are called where others have the plain names, without the `g` they begin with.
const GNU: &str = "awk cat chmod chown cp cut date dd echo egrep env expr fgrep find grep head id kill ln ls make mkdir mv nice \
                   nohup printf readlink realpath rm rmdir sed seq shred shuf sleep sort split stat stdbuf tac tail tar tee \
                   test timeout touch tr truncate uniq wc xargs";

/// Returns what a program is called without its folder and the end that one of Windows has, and by
/// which others do the same.
pub(super) fn called(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or_default();
    let name = name.strip_suffix(".exe").unwrap_or(name);
    match name {
        "bsdtar" => "tar",
        "goawk" | "original-awk" => "awk",
        name => match name.strip_prefix('g') {
            Some(gnu) if listed(GNU, gnu) => gnu,
            Some(_) | None => name,
        },
    }
}

/// Tells whether a name begins with that of an opaque program, and goes on with a version or the name
/// of a variant: `fakeroot-tcp`, `vim.tiny`, `not-14`. A program of the project is its own.
fn is_variant_of_opaque(program: &str, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_variant = |rest: &str| {
        let digit = |c: char| c.is_ascii_digit();
        match (rest.strip_prefix('-'), rest.strip_prefix('.')) {
            (Some(word), _) => !word.is_empty() && (!word.contains('.') || word.starts_with(digit)),
            (_, Some(word)) => listed(VARIANTS, word) || word.starts_with(digit),
            (None, None) => rest.is_empty() || rest.chars().all(|c| digit(c) || c == '.'),
        }
    };
    let known = [RUNNERS, LANGUAGES].into_iter();
    let known = known.flat_map(str::split_whitespace);
    // Names of machines begin those of compilers.
    let mut known = known.filter(|known| !known.ends_with(|c: char| c.is_ascii_digit()));
    let is_own = program.contains('/') && !program.starts_with('/');
    !is_own
        && !listed(ALIKE, &name)
        && known.any(|known| name.strip_prefix(known).is_some_and(is_variant))
}

/// Tells whether a name is one of bash's own.
pub(super) fn is_built_in(name: &str) -> bool {
    [BUILTINS, HARMLESS, RESERVED]
        .iter()
        .any(|list| listed(list, name))
}

/// Tells whether a program is an interpreter, of whatever version and for whatever machine.
pub(super) fn is_interpreter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_version = |rest: &str| {
        let number = rest.trim_start_matches(['-', '.']);
        let is_variant = listed("-cli -dbg -debug -qt -static", rest);
        rest.is_empty() || number.starts_with(|c: char| c.is_ascii_digit()) || is_variant
    };
    INTERPRETERS
        .split_whitespace()
        .any(|known| name.strip_prefix(known).is_some_and(is_version))
}

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
const RUNNERS: &str = "apptainer at autossh batch bwrap capsh catchsegv choom chroot chrt chronic coreutils cpulimit crontab daemon \
     daemonize dbus-launch dbus-run-session debconf direnv doas dtach eatmydata entr expect faketime fakeroot \
     firejail flock gdb gdbserver gdbtui heaptrack hyperfine i386 ifne linux32 linux64 lldb logsave ltrace memusage mispipe mosh msgexec msgfilter newgrp nix-shell nodemon not \
     nsenter numactl offshoot parallel pee perf pg_virtualenv pkexec prlimit proot proxychains proxychains4 qemu-x86_64 rlwrap \
     rr rsh rsync run-parts runuser scp screen script scriptreplay setarch setpriv sftp sg singularity slogin socat sotruss ssh \
     ssh-agent sshpass start-stop-daemon strace su sudo systemd-cat systemd-inhibit systemd-nspawn systemd-run \
     taskset tmux torify torsocks trickle tsocks uclampset uname26 unbuffer unshare valgrind \
     watch watchexec x86_64 xargs xvfb-run";

/// Read a language in which commands can be run.
const LANGUAGES: &str = "dc ed editor emacs emacsclient erl evim ex exiftool file-rename ftp ghci gprolog gs gview gvim gvimdiff iex \
     jshell lftp m4 mariadb mysql nano nvim prename psql pico r rename rnano rview rvim sbcl sensible-editor sqlite sqlite3 \
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
const INTERPRETERS: &str = "ash bash clisp csh dash elixir elvish es fish gnuplot groovy guile hush ipython irb \
     julia ksh lua luajit mksh node nodejs nu ocaml octave osascript osh perl perl6 php powershell pwsh pypy python racket \
     raku rakudo rbash rc rscript ruby runghc runhaskell scala sh tclsh tcsh texlua ts-node tsx wish xonsh yash ysh zsh";

/// Tells whether a program is opaque whatever follows, by what it is called by.
pub(super) fn is_opaque(program: &str) -> bool {
    let name = called(program);
    // The program that loads programs.
    let loads = name.starts_with("ld") && (name.contains(".so") || name.starts_with("ld-linux"));
    let lists = [BUILTINS, RUNNERS, LANGUAGES, RESERVED];
    loads || lists.iter().any(|list| listed(list, name)) || is_variant_of_opaque(program, name)
}

/// Returns what a program is called without its folder and the end that one of Windows has.
pub(super) fn called(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name)
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

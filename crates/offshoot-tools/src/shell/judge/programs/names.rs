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
const RUNNERS: &str = "at autossh batch bwrap capsh catchsegv choom chroot chrt chronic coreutils cpulimit crontab daemon \
     daemonize dbus-launch dbus-run-session debconf direnv doas dtach eatmydata entr expect faketime fakeroot \
     firejail flock gdb gdbserver hyperfine i386 ifne linux32 linux64 lldb logsave ltrace mispipe mosh newgrp nix-shell nodemon \
     nsenter numactl offshoot parallel pee perf pkexec prlimit proot proxychains proxychains4 qemu-x86_64 rlwrap \
     rr rsh rsync run-parts runuser scp screen script scriptreplay setarch setpriv sftp sg socat ssh \
     ssh-agent sshpass start-stop-daemon strace su sudo systemd-cat systemd-inhibit systemd-nspawn systemd-run \
     taskset tmux torify torsocks trickle tsocks uclampset uname26 unbuffer unshare valgrind \
     watch watchexec x86_64 xargs xvfb-run";

/// Read a language in which commands can be run.
const LANGUAGES: &str = "dc ed emacs ex exiftool ftp gs m4 mysql nano nvim psql rnano rview rvim sqlite sqlite3 telnet vi view \
     vim vim.basic vim.gtk3 vim.nox vim.tiny vimdiff vipw visudo vigr";

/// Words of the grammar: where one is a program's name, the parse is wrong.
const RESERVED: &str = "! [[ ]] case coproc do done elif else esac fi for function if in select \
                        then until while { }";

/// Run a file if that is the first thing they are given, and else code.
const INTERPRETERS: &str = "ash bash clisp csh dash elixir elvish erl es fish ghci gnuplot groovy guile hush iex ipython irb jshell \
     julia ksh lua luajit mksh node nodejs nu ocaml octave osascript osh perl php pwsh pypy python r racket \
     rbash rc rscript ruby runghc runhaskell sbcl scala sh tclsh tcsh texlua ts-node tsx wish xonsh yash ysh zsh";

pub(super) fn is_opaque(name: &str) -> bool {
    // The program that loads programs.
    let loads = name.starts_with("ld") && (name.contains(".so") || name.starts_with("ld-linux"));
    let lists = [BUILTINS, RUNNERS, LANGUAGES, RESERVED];
    loads || lists.iter().any(|list| listed(list, name))
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
        rest.is_empty() || number.starts_with(|c: char| c.is_ascii_digit()) || rest == "-static"
    };
    INTERPRETERS
        .split_whitespace()
        .any(|known| name.strip_prefix(known).is_some_and(is_version))
}

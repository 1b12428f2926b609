//! What nobody can see through, by kind of program, and beside it what everybody can.

use std::process::Command;

use super::{check_opaque, check_seen_through, is_opaque};

const SHELLS: &[&str] = &[
    "sh -c 'git status'",
    "bash -c ls",
    "bash",
    "bash +x -c ls",
    "echo ls | sh",
    "zsh -ic ls",
    "/bin/sh -c ls",
    "rbash -c ls",
    "python -c 'print(1)'",
    "python3.12 -c 'print(1)'",
    "perl -e 1",
    "perl5.36-x86_64-linux-gnu -e 1",
    "node -e 1",
    "ruby -e 1",
    "deno eval 1",
    "deno run - <<< 1",
    "bun exec ls",
    "bash /dev/stdin <<< ls",
    "bash //dev/./stdin <<< ls",
    "bash ../../../dev/stdin <<< ls",
    "echo ls | sh /dev/fd/0",
    "bash /proc/self/fd/0 <<< ls",
    "cd /dev/fd; bash 0 <<< ls",
    "cd /dev; python3 stdin <<< 1",
    "python3 /dev/stdin <<< 1",
    "bash <(echo ls)",
    "sqlite3 a.db '.shell ls'",
    "m4 <<< 'syscmd(ls)'",
    "vim.tiny -c '!ls'",
    // These go on with what they are handed when the file is done.
    "jshell empty.jsh",
    "ghci f",
    "iex f",
    "erl x",
    "sbcl x",
    "R x",
    "node inspect w.js",
    "python -m code",
    "python3 -m timeit x",
    "python3 -m pdb x.py",
];

const RUN_SHELLS: &[&str] = &[
    "bash build.sh",
    "sh ./dev/setup.sh -c",
    "python3 tools/x.py --stdin",
    "node /srv/dev/x.js",
    "deno test",
    "bun test",
    "./script.sh a",
    "./watch-all x",
    "watch.sh",
    "sha256sum a",
    "node-gyp rebuild",
    "ssh-keygen -lf f",
    "x86_64-linux-gnu-gcc -c a.c",
    "python -m pytest -q",
    "python3.12 -m unittest discover",
    "python -m json.tool f",
];

#[test]
fn an_interpreter_is_seen_through_if_it_is_given_a_file() {
    check_opaque(SHELLS);
    check_seen_through(RUN_SHELLS);
}

const WRAPPERS: &[&str] = &[
    "sudo ls",
    "doas ls",
    "su -c ls",
    "ls | xargs cat",
    "ssh host ls",
    "ssh-agent ls",
    "prlimit --nofile=9 ls",
    "chrt -b 0 ls",
    "setarch x86_64 ls",
    "linux64 ls",
    "choom -n 0 -- ls",
    "sg root ls",
    "valgrind -q ls",
    "run-parts /x",
    "capsh -- -c ls",
    "/lib64/ld-linux-x86-64.so.2 /bin/ls",
    "/lib/ld-musl-x86_64.so.1 /bin/ls",
    "start-stop-daemon --start --exec /bin/ls",
    "env ls",
    "env RUST_LOG=debug cargo test",
    "nice /usr/bin/env ls",
    "env -S 'ls'",
    "env PATH=/x ls",
    "env -i ls",
    "timeout -s \"$x\" 5 ls",
    "timeout --unknown 5 ls",
    "timeout -s 5 ls",
    "fakeroot-sysv ls",
    "fakeroot-tcp ls",
    "valgrind.bin ls",
    "not-14 ls",
    "not ls",
    "slogin host ls",
    "ssh-copy-id -o ProxyCommand=ls host",
    "sotruss ls",
    "memusage ls",
    "heaptrack ls",
    "pg_virtualenv ls",
    "msgexec ls",
    "msgfilter ls",
    "editor f",
    "gdbtui -ex '!ls'",
    "emacs-nox --eval x",
    "gvim -c '!ls'",
    "octave-cli --eval x",
    "raku -e x",
    "mariadb -e '\\! ls'",
    "lftp -c '!ls'",
    "rename 's/a/b/e' f",
    "powershell.exe -c ls",
    "bash.exe -c ls",
    "exec -a x ls",
    "time x=1 rm x",
    "time -p x=1 rm x",
    "time LD_PRELOAD=x ls",
    "time x+=1 ls",
    "time x[0]=1 ls",
    "nice x=1 ls",
    "! time x=1 rm x",
];

#[test]
fn what_runs_its_arguments_is_opaque() {
    check_opaque(WRAPPERS);
}

const BUILT_IN: &[&str] = &[
    "eval ls",
    "source ./env.sh",
    ". ./env.sh",
    "trap ls EXIT",
    "alias git=ls",
    "alias ls=rm; ls",
    "builtin ls",
    "set -x; ls",
    "shopt -s expand_aliases; ls",
    "hash -p /tmp/x ls; ls",
    "enable -f x ls; ls",
    "read x; ls",
    "export PATH=/x; ls",
    "declare x=1; ls",
    "unset PATH; ls",
    "let 1; ls",
    "mapfile a; ls",
    "printf -v PATH /x; ls",
    "printf '%n' PATH; ls",
    "printf 'a %5n' PATH; ls",
    "printf '%%%n' PATH; ls",
    "printf -- '%n' PATH",
    "printf \"$x\" PATH; ls",
    "jobs -x rm x",
    "jobs -lx rm x",
    "jobs $x rm x",
    "history -s 'rm x'; fc -s",
    "fc -e 'rm x;'",
    "history -w f",
    "wait -p PATH; ls",
    "wait -n -p 'a[$(rm x)]'",
    "wait -np 'a[$(rm x)]'",
    "ls() { :; }; ls",
    "function git { :; }; git status",
    "coproc ls",
    "select x in a; do ls; done",
];

/// All that is built into bash and does nothing but what it says, with its plain arguments.
const HARMLESS: &[&str] = &[
    ":", "[", "bg", "break", "caller", "cd", "command", "continue", "dirs", "disown", "echo",
    "exec", "exit", "false", "fg", "help", "jobs", "kill", "popd", "printf", "pushd", "pwd",
    "return", "shift", "test", "times", "true", "type", "ulimit", "umask", "wait",
];

#[test]
fn what_changes_the_shell_is_opaque() {
    check_opaque(BUILT_IN);
    check_seen_through(&[
        "printf '%s\\n' x",
        "printf '%-5s|%03d %%\\n' \"$x\" 1",
        "printf 'done\\n'",
        "printf \"%s\" $x",
        "jobs -l",
        "sleep 1 & wait",
        "sleep 1 & wait $!",
        "kill $pid",
        "true && false || :",
    ]);
}

#[test]
fn of_what_bash_has_built_in_all_but_the_harmless_is_opaque() {
    let asked = Command::new("/bin/bash")
        .args(["-c", "compgen -b"])
        .output();
    let names = String::from_utf8(asked.expect("bash is there").stdout).unwrap();
    assert!(names.lines().count() > 50, "{names}");
    let forgotten: Vec<&str> = names
        .lines()
        .filter(|name| !HARMLESS.contains(name) && !is_opaque(name))
        .collect();
    assert_eq!(forgotten, [""; 0]);
}

const VARIABLES: &[&str] = &[
    "PATH=/x ls",
    "PATH=/x; ls",
    "LD_PRELOAD=/x ls",
    "LD_LIBRARY_PATH=/x ls",
    "BASH_ENV=/x ls",
    "ENV=/x ls",
    "IFS=x ls",
    "IFS=x; ls",
    "GIT_EXTERNAL_DIFF=/x git diff",
    "GIT_PAGER=/x git diff",
    "PAGER=/x git diff",
    "EDITOR=/x git status",
    "RUSTC_WRAPPER=/x cargo test",
    "foo=bar cargo test",
    "x[0]=1; ls",
    "x=(a b); ls",
    "x+=1; ls",
    "for PATH in /x; do ls; done",
    "echo {PATH}>/dev/null; ls",
    "ls {PATH}</dev/null; ls",
    "exec {PATH}>/dev/null; ls",
    "exec {a}>&1",
    "{IFS}>/dev/null echo",
    "cat {PATH}<<< a; ls",
    "cat {PATH}<<EOF\na\nEOF",
    "echo {a[$(rm x)]}>/dev/null",
    "echo {a[${x}]}>/dev/null",
    "echo {OFFSHOOT_SCRATCH}>/dev/null; echo a > $OFFSHOOT_SCRATCH/x",
    "printf '%n' OFFSHOOT_SCRATCH; echo a > $OFFSHOOT_SCRATCH/x",
    "LC_ALL=zh_CN.GBK\necho \"\u{20ac}\\\" ; rm victim #\"",
    "LANG=zh_TW.BIG5; ls",
    "npm_config_script_shell=/x; npm test",
    "npm_config_script_shell=/x npm test",
    "for npm_config_prefix in /x; do npm test; done",
    "LC_CTYPE=x; ls",
    "LANGUAGE=x; ls",
];

#[test]
fn a_variable_that_changes_what_runs_is_opaque() {
    check_opaque(VARIABLES);
    check_seen_through(&[
        "{ ls; }>/dev/null",
        "echo ${x}>/dev/null",
        "echo {a} >/dev/null",
        "LC_ALL=C sort f",
        "LANG=de_DE.UTF-8 LC_CTYPE=C ls",
        "TZ=UTC; date",
    ]);
}

/// `-v` evaluates an index, and what is not known may be `-v`.
const TESTS: &[&str] = &[
    "test -v x",
    "[ -v x ]",
    "[ '-v' 'a[$(rm x)]' ]",
    "[ -'v' 'a[$(rm x)]' ]",
    "x=-v; test $x 'a[$(rm x)]'",
    "x=-v; test \"$x\" 'a[$(rm x)]'",
    "x=-v; [ $x 'a[$(rm x)]' ]",
    "x='-v a[$(rm${IFS}x)]'; [ $x ]",
    "x='a -o -v a[$(rm${IFS}x)]'; [ -n $x ]",
    "[ \"$@\" a ]",
    "[ -n \"$x\" -a \"$y\" 'a[$(rm x)]' ]",
    "[ -f *.rs ]",
    "[[ -v x ]]",
    "[[ -R x ]]",
    "[[ a -eq b ]]",
    "[[ 1 -lt 'a[$(rm x)]' ]]",
];

#[test]
fn a_test_that_may_evaluate_is_opaque() {
    check_opaque(TESTS);
    check_seen_through(&[
        "test -f x",
        "test ! -e \"$x\"",
        "test \"$a\" = \"$b\" && ls",
        "[ -n a -a -f b ]",
        "[ a -o b ]",
        "[ \"$x\" ]",
        "[ \"$a\" -nt \"$b\" ]",
        "[ ! \"$a\" -lt 3 ]",
    ]);
}

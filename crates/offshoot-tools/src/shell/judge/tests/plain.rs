//! What people write every day.

use offshoot_types::permission::Action;

use super::{check, check_seen_through, shown};

/// What every part of is allowed.
const ALLOWED: &[&str] = &[
    "git status",
    "  git   status  ",
    "git status\n",
    "git status # that is all",
    "# first\ngit status",
    "git\tstatus",
    "git \\\n  status",
    "\"git\" 'status'",
    "gi\"t\" sta'tu's",
    "git diff",
    "git diff HEAD~1 -- src/a.rs",
    "git diff src/*.rs",
    "cargo test",
    "cargo test -p a -- --nocapture",
    "RUST_BACKTRACE=1 cargo test",
    "timeout 60 cargo test",
    "time cargo test",
    "nice -n 5 cargo test",
    "nohup cargo test",
    "env RUST_LOG=debug cargo test",
    "command ls",
    "ls -la | grep x",
    "ls |& grep x",
    "ls && cat a || echo no",
    "ls; ls &",
    "ls & cat a",
    "ls\ncat a",
    "echo $HOME",
    "echo \"$HOME and more\"",
    "echo ${x:-default}",
    "echo ${#x} ${x%.rs} ${x/a/b}",
    "echo $((1 + 2))",
    "echo $(git status)",
    "echo \"in $(git status) text\"",
    "echo `git status`",
    "echo '$(rm x)' '`rm x`' '; rm x'",
    "echo \"\\$(rm x)\"",
    "echo \\; rm x",
    "echo \\$\\(rm x\\)",
    "echo # rm x",
    "echo a#b",
    "echo {a,b} *.rs ~/x {1..3}",
    "echo rm x",
    "cat <(git status)",
    "cat <<< hello",
    "cat <<< \"$(git status)\"",
    "cat <<EOF\nrm x\nEOF",
    "cat <<'EOF'\n$(rm x) `rm x`\nEOF",
    "cat <<-EOF\n\trm x\n\tEOF",
    "cat <<EOF\n$(git status) $HOME\nEOF",
    "cat <<EOF | grep x\na\nEOF",
    "cat <<EOF\na\nEOF\ngit status",
    "{ ls; cat a; }",
    "( ls; cat a )",
    "! grep x a",
    "if ls; then echo a; elif cat b; then echo c; else echo d; fi",
    "for f in a b *.rs; do cat $f; done",
    "while grep x a; do ls; done",
    "until grep x a; do ls; done",
    "case $x in a|b*) ls;; *) echo no;; esac",
    "x=1; echo $x",
    "out=$(git status); echo \"$out\"",
    "ls > /dev/null",
    "ls 2>&1",
    "ls 2>/dev/null",
    "ls &> /dev/null",
    "ls >/dev/stderr",
    "echo a >&2",
    "ls 2>&-",
    "cat < a.txt",
    "cat < /w/src/a.txt",
    "ls > $OFFSHOOT_SCRATCH/a",
    "ls > \"$OFFSHOOT_SCRATCH/a\"",
    "ls > \"${OFFSHOOT_SCRATCH}\"/b/c.txt 2>&1",
    "ls > /s/a",
    "ls 2>/dev/null a b",
    "2>/dev/null ls",
];

#[test]
fn what_every_part_of_is_allowed_is_allowed() {
    check(ALLOWED, Action::Allow);
}

/// What is written every day and says all it does, whether it is allowed or not.
const SEEN_THROUGH: &[&str] = &[
    "[ -f x ]",
    "[ ! -d src ] || ls",
    "if [ \"$x\" = y ]; then ls; fi",
    "[ -n \"$(git status --porcelain)\" ] && echo dirty",
    "[ -z \"$x\" ] || [ -e \"$d/f\" ]",
    "[ \"$x\" != b ]",
    "[ \"x$x\" == xy ]",
    "[ \"$n\" -gt 5 ]",
    "[ $? -eq 0 ]",
    "[ $# -gt 1 ]",
    "[ -d ~/x ]",
    "[ a \\\n = b ]",
    "[[ -f a && -n $b ]]",
    "[[ $x == *.rs ]]",
    "[[ $x =~ ^[0-9]+$ ]]",
    "[[ ! -e x || $a != \"$b\" ]]",
    "echo ${x:-a b} \"${x:-a b}\" ${x/ /_}",
    "echo ${x%/*} ${x##*/} ${x%.rs} \"${f%.*}.o\"",
    "echo ${x//[^a-z]/_} ${x^^} ${x,,} ${#x}",
    "echo ${x:-$y} \"${x:-$(git status)}\" ${x:+\"$y\"} ${x:-'a b'}",
    "echo `git rev-parse HEAD` \"`date +%s`\"",
    "ls \\\n  -l \\\n  src # all",
    "ls | \\\n cat",
    "python3 --version",
    "python3.12 -V",
    "node --version; node -v",
    "bash --version",
    "perl -v",
    "node --check a.js",
    "bash -n x.sh",
    "php -l x.php",
    "awk '$3 > 5' f",
    "awk '$1 == \"a\" || $2 == 3 { print $1 }' f",
    "sed -n '$=' f",
    "sed -E 's/\\s+/ /g; /^a/d' f",
    "sed -n -e 1,5p -e '/x/,+3p' f",
    "sed -ne '/a/I!p' f",
    "sed '10q' f",
    "sed 's|/a/|/b/|2' f",
    "make --jobs 4 all",
    "make -j$(nproc)",
    "make -j \"$(nproc)\" test",
    "set -e; ls",
    "set -euo pipefail\nls",
    "set -u -o pipefail +e; ls",
    "timeout -k 5 60 cargo test",
    "echo ${x:0:3} \"${x:2}\"",
    "git submodule status",
    "git bisect log",
    "NODE_ENV=test CARGO_INCREMENTAL=0 CI=1 npm test",
];

/// What looks like it and does more.
const NEARLY_SEEN_THROUGH: &[&str] = &[
    "python3 --version -c x",
    "erl --version",
    "bash -n /dev/stdin <<< ls",
    "bash -n -c ls",
    "sh -v",
    "awk '{ print $1 > \"f\" }' f",
    "awk '$1 ||| \"ls\"' f",
    "awk '{ x = \"ls\" | getline }' f",
    "sed 's/a/b/w f' f",
    "sed 's/a/b/ge' f",
    "sed 's/a/b/;w f' f",
    "sed '1e ls' f",
    "sed 'r f' f",
    "sed -n '/a\\/w f' f",
    "sed 's/[/]/w f/' f",
    "sed '1!{w f\n}' f",
    "sed 's/a/b/\nw f' f",
    "sed -e p -i f",
    "sed -nie p f",
    "sed -e p -f x f",
    "make -j$(nproc)$x",
    "make $(nproc; ls)",
    "set",
    "set -x",
    "set -o posix",
    "set -eo posix",
    "set -- a",
    "set -e$x",
    "timeout -k $x 60 ls",
    "echo ${x:y}",
    "echo ${x:0:y}",
    "echo ${x[0]:1}",
    "git submodule status $x",
    "git submodule update",
    "git bisect run ls",
];

#[test]
fn what_only_looks_like_it_is_opaque() {
    super::check_opaque(NEARLY_SEEN_THROUGH);
}

#[test]
fn what_says_all_it_does_is_seen_through() {
    check_seen_through(SEEN_THROUGH);
}

/// What holds a command that is denied.
const DENIED: &[&str] = &[
    "rm x",
    "rm",
    "/bin/rm x",
    "git status; rm x",
    "git status && rm x",
    "git status || rm x",
    "git status | rm x",
    "git status |& rm x",
    "git status & rm x",
    "git status\nrm x",
    "git status $(rm x)",
    "git status \"$(rm x)\"",
    "git status `rm x`",
    "echo \"a`rm x`b\"",
    "echo $(echo $(rm x))",
    "echo ${x:-$(rm x)}",
    "echo \"${x:-$(rm x)}\"",
    "echo $((1 + $(rm x)))",
    "cat <(rm x)",
    "cat > >(rm x)",
    "cat <<< $(rm x)",
    "cat <<EOF\n$(rm x)\nEOF",
    "cat <<EOF\na\nEOF\nrm x",
    "cat <<EOF | rm x\na\nEOF",
    "{ rm x; }",
    "(rm x)",
    "! rm x",
    "if rm x; then ls; fi",
    "if ls; then rm x; fi",
    "if ls; then ls; else rm x; fi",
    "for f in *; do rm $f; done",
    "for f in $(rm x); do ls; done",
    "while ls; do rm x; done",
    "until rm x; do ls; done",
    "case a in a) rm x;; esac",
    "case $(rm x) in a) ls;; esac",
    "f() { rm x; }; f",
    "function f { rm x; }",
    "select x in a; do rm x; done",
    "x=$(rm x)",
    "x=1 rm x",
    "PATH=/evil rm x",
    "[[ -n $(rm x) ]]",
    "[ -n \"$(rm x)\" ]",
    "timeout 5 rm x",
    "time rm x",
    "nohup nice rm x",
    "command rm x",
    "exec rm x",
    "env rm x",
    "LANG=C env TZ=UTC rm x",
    "git status > f; rm x",
    "> f rm x",
    "rm > f x",
    "export x=$(rm x)",
    "echo a=(rm x) $(rm x",
    "echo $(rm x) )",
    "\"rm\" x",
    "'rm' x",
    "r\\m x",
    "r''m x",
    "r\"\"m x",
    "$'rm' x",
    "\\rm x",
];

#[test]
fn what_holds_one_denied_command_is_denied() {
    check(DENIED, Action::Deny);
}

#[test]
fn commands_are_seen_word_by_word() {
    let check = |command: &str, expected: &[&str]| assert_eq!(shown(command), expected);
    check("git status", &["shell.run git status"]);
    check("git commit -m 'a  b'", &["shell.run git commit -m 'a  b'"]);
    check(
        "mkdir \"$x\" && ls>f",
        &["shell.run mkdir \"$x\"", "fs.write /w/f", "shell.run ls"],
    );
    check(
        "timeout 5 make -j2",
        &["shell.run make -j2", "shell.wrapper timeout 5 make -j2"],
    );
    check(
        "sudo make install",
        &[
            "shell.opaque sudo make install",
            "shell.run sudo make install",
        ],
    );
    check("ls; ls; ls", &["shell.run ls"]);
    check("x=1", &["shell.run \"x=1\""]);
    check("echo 2>f x", &["fs.write /w/f", "shell.run echo x"]);
    check("cat <>f", &["shell.unread cat <>f", "shell.run cat"]);
}

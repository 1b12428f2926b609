//! Programs that run others or write with some of their options only.

use super::{check_opaque, check_seen_through, decide, shown};
use offshoot_types::permission::Action;

const GIT: &[&str] = &[
    "git -c alias.status=!ls status",
    "git -c core.pager=x diff",
    "git --no-pager -c core.pager=x diff",
    "git --exec-path=/x status",
    "git -C /x diff",
    "git diff --output=f",
    "git diff --outp=f",
    "git diff --ext-diff",
    "git diff $x",
    "git diff \"$x\"",
    "x=--output=f; git diff $x",
    "git grep -O'rm x;' a",
    "git grep -nO'rm x;' a",
    "git grep --open-files='rm x' a",
    "git rebase -x 'rm x' a",
    "git rebase -qx 'rm x' a",
    "git rebase -ix 'rm x' a",
    "git rebase --exe 'rm x' a",
    "git clone -c core.sshCommand='rm x' ssh://x/y",
    "git clone -qc core.sshCommand='rm x' ssh://x/y",
    "git clone --config=core.sshCommand=x ssh://x/y",
    "git clone -u 'rm x;' a b",
    "git clone --u 'rm x;' a b",
    "git clone --template=/x a b",
    "git init --template=/x",
    "git clone 'ext::rm x' a",
    "git commit -m a \"$x\"",
    "git commit -m $x",
    "git commit -Cm \"$x\"",
    "git rebase -m \"$x\"",
    "git fetch --upload-pack='rm x' .",
    "git push --receive-pack='rm x' .",
    "git config alias.p '!rm x'",
    "git config core.fsmonitor 'rm x;'",
    "git config --global user.name x",
    "git config set alias.p '!rm x'",
    "git config --file f a.b",
    "git config --edit",
    "git p",
    "git archive -o f HEAD",
    "git archive -vof HEAD",
    "git archive --output=f HEAD",
    "git format-patch -o /x HEAD",
    "git format-patch --output-directory=/x HEAD",
    "git format-patch --output-dir /x HEAD",
    "git bisect run ls",
    "git submodule foreach ls",
    "git submodule--helper foreach ls",
    "git difftool -x ls",
    "git filter-branch --tree-filter ls",
    "git send-email --sendmail-cmd=ls -1",
];

const PLAIN_GIT: &[&str] = &[
    "git log --oneline -5",
    "git log -O src -- a",
    "git --no-pager log --stat",
    "git show HEAD:src/a.rs",
    "git commit -m 'a b' -a",
    "git commit -m \"fix $x\"",
    "git commit -am \"$(date)\"",
    "git commit -m \"$(cat <<'EOF'\na\n\nb\nEOF\n)\"",
    "git checkout -b new",
    "git push -u origin HEAD",
    "git rebase main",
    "git rebase -i --autosquash main",
    "git clone --depth 1 https://x/y",
    "git grep -n -e foo src",
    "git config user.name",
    "git config --get remote.origin.url",
    "git config --global --list",
    "git stash push -m x",
    "git worktree add ../x",
    "git --version",
    "git",
];

#[test]
fn git_is_what_its_command_says_or_opaque() {
    check_opaque(GIT);
    check_seen_through(PLAIN_GIT);
}

#[test]
fn options_that_change_nothing_hide_no_command_of_git() {
    let push = "git --no-pager push -f";
    let expected = [
        "shell.run git push -f",
        "shell.wrapper git --no-pager push -f",
    ];
    assert_eq!(shown(push), expected);
    let both = "git --no-optional-locks --no-pager status";
    assert_eq!(shown(both)[0], "shell.run git status");
    assert_eq!(decide(both), Action::Allow);
}

const FILTERS: &[&str] = &[
    "find . -name a -exec cat {} \\;",
    "find . -delete",
    "find . -ok cat {} \\;",
    "find . -fprintf f a",
    "fd -x rm",
    "fd -Hx rm",
    "fd --exec rm",
    "awk 'BEGIN { system(\"ls\") }'",
    "awk '{ print > \"f\" }' a",
    "sed 's/a/b/e' a",
    "sed 1w/etc/x a",
    "sed '/a/w f' a",
    "sed -n '/[/]w f/p' a",
    "sed -e s/a/b/ -e 1w/etc/x f",
    "sed -i s/a/b/ f",
    "sed -n -i s/a/b/ f",
    "sed -i.bak s/a/b/ f",
    "sed s/a/b/ f -i",
    "sed --in-place s/a/b/ f",
    "sort -o /x/s f",
    "sort f -uo f",
    "sort --output=f f",
    "sort --compress-program=rm f",
    "tar cfI /dev/null 'sh -c ls' f",
    "tar cIf ls /dev/null f",
    "tar -cI ls -f x f",
    "tar xf a --to-command=ls",
    "tar xf a --to=ls",
    "tar cf a --checkpoint-action=exec=ls f",
    "split --filter=ls f",
    "zip -q z.zip f -T -TT 'rm x'",
    "zip -qTT ls z.zip f",
    "rg --pre ls a",
    "man -P ls a",
    "nc -le sh",
];

const PLAIN_FILTERS: &[&str] = &[
    "find . -name '*.rs' -type f",
    "find . -xdev -newer a",
    "fd -H -e rs foo",
    "awk '{ print $1 }' a",
    "awk -F: '{ print $2 }' a",
    "sed -n 1,5p f",
    "sed -n '/foo/,/[0-9]/p' f",
    "sed '/^#/d' f",
    "sed 's/a/b/g' f",
    "sed -e s/a/b/ f",
    "sort f",
    "sort -u -k2,2n f",
    "ls | sort | uniq -c",
    "tar czf a.tgz src",
    "tar -xzf a.tgz -C Foo",
    "split -l 5 f",
    "zip -r z.zip src",
    "rg -n --pretty foo",
    "head -5 f | tail -n +2 | wc -l",
];

#[test]
fn what_finds_and_prints_is_opaque_where_it_runs_or_writes() {
    check_opaque(FILTERS);
    check_seen_through(PLAIN_FILTERS);
}

const BUILDERS: &[&str] = &[
    "make test --eval='$(shell rm x)'",
    "make test SHELL=/x",
    "make test 'x!=rm x'",
    "make -f /x test",
    "make test -C /x",
    "make -I /x test",
    "make $x",
    "npm test --script-shell=/x",
    "npm test --script-shell /x",
    "npm --prefix /x test",
    "npm test --prefix=/x",
    "npm exec -c 'rm x'",
    "npm x -c 'rm x'",
    "npm exec rm x",
    "npm config set script-shell /x",
    "npm set script-shell=/x",
    "npm test $x",
    "npx -c 'rm x'",
    "npx --call='rm x'",
    "yarn exec rm x",
    "cargo test --config 'build.rustc-wrapper=\"./x\"'",
    "cargo test --conf x",
    "cargo test -j -- --config x",
    "cargo test --manifest-path /x/Cargo.toml",
    "cargo -C /x test",
    "gcc -wrapper ls,-l a.c",
    "cc @x a.c",
    "cmake -E env ls",
    "cmake -Px.cmake",
    "go test -exec ls ./...",
    "go build -toolexec=ls",
    "go env -w CC=/x",
    "npm init x",
];

const PLAIN_BUILDERS: &[&str] = &[
    "make",
    "make test",
    "make -j4 -k test V=1",
    "make -j 4 all",
    "npm test",
    "npm ci --no-audit",
    "npm run build -- --watch --prefix x",
    "npm install -D typescript",
    "npx tsc --noEmit -p .",
    "npx -y prettier --check .",
    "yarn test",
    "pnpm install --frozen-lockfile",
    "cargo test -- --nocapture",
    "cargo test -p a --features b -- --config \"$x\"",
    "cargo clippy --all-targets -- -D warnings",
    "cargo build --release",
    "gcc -Wall -o a a.c",
    "cmake -S . -B build -DENABLE=1",
    "cmake --build build",
    "go test ./... -run X -count=1",
    "pytest -q tests",
];

#[test]
fn what_builds_is_opaque_where_it_is_told_another_project_or_shell() {
    check_opaque(BUILDERS);
    check_seen_through(PLAIN_BUILDERS);
}

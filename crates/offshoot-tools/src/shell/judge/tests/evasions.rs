//! What is meant to look like something that is allowed.

use offshoot_types::permission::Action;
use proptest::prelude::*;

use super::{check, decide, decide_with, shown};

/// What only looks like something that is allowed.
const ALIKE: &[&str] = &[
    "git status -s",
    "git statusx",
    "'git status'",
    "git 'status -s'",
    "./git status",
    "/tmp/git status",
    "gіt status",
    "ｇit status",
    "git\u{a0}status",
    "git status\r",
    "git status\r\nls",
    "ls\u{2028}cat",
    "$x",
    "$x status",
    "${x:-rm} x",
    "$(echo rm) x",
    "`echo rm` x",
    "r$x x",
    "r${x}m x",
    "r$@m x",
    "{rm,x}",
    "{r,}m x",
    "r? x",
    "/bin/r* x",
    "~/bin/x",
    "$'r\\x6d' x",
    "$\"rm\" x",
    "r\\\nm x",
    "git st\\\natus",
    "git status $x",
    "git status *",
    "git $x",
    "git status \"\"",
    "''",
    "echo ${x@P}",
    "echo ${!x}",
    "echo ${x:=1}",
    "echo ${x[$y]}",
    "echo ${x:$y}",
    "echo $((x))",
    "echo $((a[0]))",
    "echo $[x]",
    "(( x++ ))",
    "for ((i=0; i<3; i++)); do ls; done",
    "[[ a -eq b ]]",
    "[[ -v x ]]",
    "[ -f x ]",
    "test -v x",
    "echo `echo \\`ls\\``",
    "echo \"$x `echo \\`rm x\\``\"",
    "echo \" `echo \\`rm x\\``\"",
    "echo \"$x ${y:$z}\"",
    "echo \"$x ${!y}\"",
    "echo \"$x $((y[0]))\"",
    "cat <<A <<B\na\nA\nb\nB",
    "cat <<EOF\na\\\nEOF\nls\nEOF",
    "cat <<E\"O\"F\na\nEOF",
    "cat <<EOF\n`rm x`\nEOF",
    "cat <<EOF; rm x\na\nEOF",
    "cat <<EOF\nno end",
    "cat <<'E F'\na\nE F",
    "ls )",
    "ls (",
    "echo 'open",
    "echo \"open",
    "echo $(ls",
    "if ls; then",
    "}",
    "then ls",
    "cd src",
    "mkdir x",
    "curl x",
    "x",
    "# nothing",
    ":",
];

#[test]
fn what_looks_like_an_allowed_command_and_is_another_asks() {
    check(ALIKE, Action::Ask);
}

/// What runs nothing but allowed commands, and touches files.
const REDIRECTED: &[&str] = &[
    "git status > f",
    "git status >> f",
    "git status >| f",
    "git status &> f",
    "git status &>> f",
    "git status >& f",
    "git status 2> f",
    "git status <> f",
    "git status {fd}> f",
    "echo {}2>f",
    "> f",
    "exec > f",
    "{ ls; } > f",
    "(ls) > f",
    "if ls; then ls; fi > f",
    "ls > $x",
    "ls > $(echo f)",
    "ls > *.txt",
    "ls > ~/f",
    "ls > ../f",
    "ls > src/../../f",
    "ls > /etc/passwd",
    "ls > /dev/tcp/host/80",
    "ls > /dev/sda",
    "ls > /proc/self/x",
    "cat < /etc/passwd",
    "cat < ../x",
    "cat < $x",
    "ls >&$x",
    "ls > $OFFSHOOT_SCRATCH/../x",
    "ls > $OFFSHOOT_SCRATCHx/f",
    "OFFSHOOT_SCRATCH=/etc; ls > $OFFSHOOT_SCRATCH/f",
    "ls > \"$OFFSHOOT_SCRATCH/$x\"",
    "echo a2>f",
    "cat <<EOF > f\na\nEOF",
    "cat <<EOF && ls > f\na\nEOF",
];

#[test]
fn redirections_are_writes_and_reads_of_their_files() {
    check(REDIRECTED, Action::Ask);
}

#[test]
fn a_nul_is_opaque() {
    check(&["git status\0; rm x"], Action::Ask);
}

fn allowed() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "git status",
        "git diff HEAD",
        "cargo test -p x",
        "ls > /dev/null",
        "cat <<EOF\nx\nEOF",
        "echo \"a $(git status) b\"",
        "for f in a; do cat $f; done",
        "if ls; then cat a; fi",
        "{ ls; }",
        "(ls)",
        "echo 'it''s'",
        "echo a \\\n b",
        "x=1",
        "grep x a | cat # end",
    ])
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "rm x",
        "ls",
        "git status",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "\n",
        "$(",
        ")",
        "`",
        "'",
        "\"",
        "\\",
        " ",
        "{",
        "}",
        "(",
        "<<EOF\n",
        "EOF\n",
        "EOF",
        "#",
        "$x",
        "${x:-",
        ">",
        "<",
        "f",
        "$((",
        "))",
        "case x in x)",
        ";;",
        "esac",
        "if",
        "then",
        "fi",
        "[[",
        "]]",
        "!",
        "=",
        "x=",
        "<(",
        "\t",
        "\r",
        "é",
        "$'",
        "<<<",
        "do",
        "done",
        "for f in",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_is_allowed_that_goes_on_with_a_denied_command(
        first in allowed(),
        joint in prop::sample::select(vec![";", "&&", "||", "|", "|&", "&", "\n", " ; ", "\n\n"]),
        denied in prop::sample::select(vec!["rm x", "rm -rf .", "'rm' x", "$(rm x)", "{ rm x; }", "if rm x; then ls; fi"]),
    ) {
        let command = format!("{first}\n:{joint} {denied}");
        prop_assert_ne!(decide(&command), Action::Allow, "{}", command);
        if !first.contains('\n') && !first.contains('#') {
            let command = format!("{first}{joint} {denied}");
            prop_assert_eq!(decide(&command), Action::Deny, "{}", command);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in hostile()) {
        decide(&text);
    }
}

#[test]
fn who_allows_a_folder_has_not_allowed_what_lies_outside_of_it() {
    for (allowed, command) in [
        ("./scripts/*", "./scripts/../../../usr/bin/touch x"),
        ("bin/*", "bin/../evil"),
        ("python scripts/*", "python scripts/../x.py"),
        ("cat docs/*", "cat docs/../../x"),
    ] {
        let said = decide_with(&[("shell.run", allowed)], &[], command);
        assert_eq!(said, Action::Ask, "{allowed}: {command}");
    }
}

#[test]
fn who_forbids_a_program_by_its_path_forbids_it_however_that_is_written() {
    let all = &[("shell.run", "*")];
    for (denied, command) in [
        ("./deploy.sh *", ".//deploy.sh"),
        ("./deploy.sh *", "././deploy.sh x"),
        ("./deploy.sh *", "/w/deploy.sh"),
        ("./deploy.sh *", "scripts/../deploy.sh"),
        ("./deploy.sh *", "cd scripts && ../deploy.sh"),
        ("./deploy.sh", "cd scripts; ../deploy.sh x"),
        ("./deploy.sh *", "bash deploy.sh"),
        ("./deploy.sh *", "timeout 5 bash ./deploy.sh x"),
        ("deploy.sh *", "bash deploy.sh"),
        ("/w/deploy.sh *", "./deploy.sh"),
        ("/bin/rm *", "/bin//rm x"),
        ("/bin/rm *", "../bin/rm x"),
        ("./deploy.js *", "node deploy"),
        ("./deploy.js *", "node ./deploy x"),
        ("./deploy.mjs *", "node deploy"),
        ("./deploy.js *", "bun deploy.js"),
        ("./deploy.js *", "bun run deploy"),
        ("./deploy.ts *", "deno run -A deploy.ts"),
        ("./deploy.ts", "deno run ./deploy.ts x"),
    ] {
        let said = decide_with(all, &[("shell.run", denied)], command);
        assert_eq!(
            said,
            Action::Deny,
            "{denied}: {command} {:?}",
            shown(command)
        );
    }
    let denied = &[("shell.run", "./install *")];
    assert_eq!(decide_with(all, denied, "bun install"), Action::Allow);
    let denied = &[("shell.run", "./deploy.sh *")];
    assert_eq!(decide_with(all, denied, "cd $x && ../a.sh"), Action::Ask);
    assert_eq!(decide_with(all, denied, "./a.sh deploy.sh"), Action::Allow);
    assert_eq!(
        decide_with(all, denied, "cd x && ./deploy.sh"),
        Action::Deny
    );
}

#[test]
fn who_forbids_what_is_opaque_forbids_it_however_it_is_written() {
    let all = &[("shell.run", "*"), ("shell.opaque", "*")];
    for (denied, command) in [
        ("sh -c *", "sh -c ls"),
        ("sh -c *", "sh\t-c ls"),
        ("sh -c *", "sh  -c ls"),
        ("sh -c *", "/bin/sh -c ls"),
        ("sh -c *", "timeout 5 sh -c ls"),
        ("sh -c *", "\\sh -c ls"),
        ("sh -c *", "s'h' -c \"$x\""),
        ("sh -c *", "ls && sh -c ls"),
        ("sudo *", "env sudo id"),
        ("sudo *", "LANG=C sudo id"),
        ("sudo", "sudo id"),
        ("sudo", "nohup /usr/bin/sudo id"),
        ("timeout *", "timeout 5 sh -c ls"),
    ] {
        let said = decide_with(all, &[("shell.opaque", denied)], command);
        assert_eq!(
            said,
            Action::Deny,
            "{denied}: {command} {:?}",
            shown(command)
        );
    }
    let opaque = |allow, deny, command| {
        let allow = &[("shell.run", "*"), ("shell.opaque", allow)];
        decide_with(allow, &[("shell.opaque", deny)], command)
    };
    assert_eq!(opaque("*", "git *", "git status"), Action::Allow);
    assert_eq!(opaque("*", "sudo *", "eval sudo"), Action::Allow);
    assert_eq!(opaque("sh -c ls", "sh *", "sh -c ls"), Action::Allow);
    assert_eq!(opaque("sh -c *", "sh *", "sh -c 'ls'"), Action::Allow);
    assert_eq!(opaque("*", "sh -c rm", "sh -c \"$x\""), Action::Ask);
}

#[test]
fn who_allows_the_shell_has_not_allowed_to_write_what_is_forbidden() {
    let denied = &[("fs.write", "*")];
    assert_eq!(
        decide_with(&[("bash", "*")], denied, "ls > f"),
        Action::Deny
    );
    assert_eq!(decide_with(&[("bash", "*")], denied, "ls"), Action::Allow);
    assert_eq!(decide_with(&[("bash", "*")], &[], "ls > f"), Action::Allow);
    assert_eq!(
        decide_with(&[("fs.write", "*")], &[("bash", "*")], "> f"),
        Action::Deny
    );
}

#[test]
fn a_rule_that_names_what_is_opaque_has_the_word_about_it() {
    let both = |named| [("bash", "*"), ("*", "*"), ("shell.opaque", named)];
    assert_eq!(decide_with(&both("*"), &[], "sh -c ls"), Action::Allow);
    assert_eq!(
        decide_with(&both("sh -c *"), &[], "sh -c ls"),
        Action::Allow
    );
    assert_eq!(decide_with(&both("sh -x *"), &[], "sh -c ls"), Action::Ask);
    assert_eq!(
        decide_with(&both("*"), &[("bash", "sh *")], "sh -c ls"),
        Action::Deny
    );
    assert_eq!(
        decide_with(&[("bash", "*")], &[("*", "*")], "sh -c ls"),
        Action::Ask
    );
}

#[test]
fn a_rule_is_no_more_specific_for_how_it_is_written() {
    for (allowed, denied, command) in [
        ("git   push *", "git push *", "git push x"),
        ("'git' push *", "git push *", "git push x"),
        ("rm *", "rm", "rm x"),
        ("git  *", "git push *", "git push x"),
    ] {
        let said = decide_with(&[("shell.run", allowed)], &[("shell.run", denied)], command);
        assert_eq!(said, Action::Deny, "{allowed} and {denied}: {command}");
    }
    let excepted = [("shell.run", "rm x *")];
    assert_eq!(
        decide_with(&excepted, &[("shell.run", "rm")], "rm x y"),
        Action::Allow
    );
}

#[test]
fn who_forbids_what_is_seen_through_forbids_it() {
    let all = &[("shell.run", "*")];
    for (denied, command) in [
        ("nohup *", "nohup sleep 100 &"),
        ("nohup", "exec nohup sleep 100"),
        ("exec", "exec nohup sleep 100"),
        ("busybox", "busybox rm x"),
        ("busybox rm *", "/bin/busybox rm x"),
        ("setsid *", "setsid sleep 1"),
        ("env", "env RUST_BACKTRACE=1 ls"),
        ("timeout", "timeout 5 ls"),
        ("nice *", "nice -n 5 ls"),
        ("command", "command ls"),
        ("time", "time ls"),
        ("git --no-pager *", "git --no-pager log"),
        ("nohup *", "nohup sh -c ls"),
    ] {
        let said = decide_with(all, &[("shell.run", denied)], command);
        assert_eq!(
            said,
            Action::Deny,
            "{denied}: {command} {:?}",
            shown(command)
        );
    }
    // None of them needs to be allowed, and a deny of all else is none of them.
    for command in ["timeout 5 ls -l", "nohup nice -n 5 ls", "time ls"] {
        let said = decide_with(&[("shell.run", "ls *")], &[("shell.run", "*")], command);
        assert_eq!(said, Action::Allow, "{command}");
    }
}

#[test]
fn options_and_other_names_hide_no_command_that_is_forbidden() {
    let all = &[("shell.run", "*")];
    for (denied, command) in [
        ("cargo publish *", "cargo +stable publish"),
        ("cargo publish *", "cargo -q publish"),
        ("cargo publish *", "cargo --locked publish -p a"),
        ("npm publish *", "npm --silent publish"),
        ("npm publish *", "npm -s publish"),
        ("npm publish *", "npm --loglevel=error publish"),
        ("pnpm publish *", "pnpm --silent publish"),
        ("yarn publish *", "yarn --silent publish"),
        ("kubectl delete *", "kubectl -n prod delete pod x"),
        ("kubectl delete *", "kubectl --context=x delete pod x"),
        ("git push *", "/usr/lib/git-core/git-push origin main"),
        ("git push *", "git-push origin main"),
        ("git push *", "nohup git-push origin main"),
        ("cargo nextest *", "cargo-nextest nextest run"),
        ("cargo nextest run *", "cargo-nextest nextest run"),
        ("cargo deny *", "cargo-deny check"),
        ("pytest *", "python -m pytest -q"),
        ("cargo +stable *", "cargo +stable publish"),
        ("kubectl -n prod *", "kubectl -n prod delete pod x"),
    ] {
        let said = decide_with(all, &[("shell.run", denied)], command);
        assert_eq!(
            said,
            Action::Deny,
            "{denied}: {command} {:?}",
            shown(command)
        );
    }
    // A program that is only called so is none of git.
    let push = &[("shell.run", "git push *")];
    assert_eq!(decide_with(push, &[], "./git-push origin"), Action::Ask);
    let test = &[("shell.run", "cargo test *")];
    assert_eq!(decide_with(test, &[], "cargo -q test"), Action::Allow);
    let version = &[("shell.run", "cargo --version")];
    assert_eq!(decide_with(version, &[], "cargo --version"), Action::Allow);
}

#[test]
fn a_rule_that_names_a_module_of_python_allows_it() {
    let named = &[("shell.run", "python -m pytest *")];
    let said = |command| decide_with(named, &[], command);
    assert_eq!(said("python -m pytest -q tests"), Action::Allow);
    assert_eq!(said("python -m code"), Action::Ask);
}

#[test]
fn what_is_allowed_up_to_a_star_in_an_argument_ends_there() {
    for (allowed, command) in [
        ("rm build/*", "rm build/x -rf /home/me"),
        ("cat docs/*", "cat docs/a /etc/shadow"),
        ("cat docs/*", "cat docs/a $x"),
    ] {
        let said = decide_with(&[("shell.run", allowed)], &[], command);
        assert_eq!(said, Action::Ask, "{allowed}: {command}");
    }
    let scripts = &[("shell.run", "./scripts/*")];
    assert_eq!(decide_with(scripts, &[], "./scripts/a b c"), Action::Allow);
}

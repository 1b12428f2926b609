//! What is wrong with rules, and what they become.

use super::*;
use crate::permission::{Layer, Need, Permissions, Standing};

const TOOLS: [&str; 8] = [
    "read", "write", "edit", "glob", "grep", "bash", "task", "wait",
];

#[track_caller]
fn wrong(permission: &str, pattern: &str, expected: &str) {
    let rule = Rule::new(permission, pattern, Action::Allow);
    let fault = check(&rule, &TOOLS).unwrap_err();
    assert_eq!(fault.to_string(), expected, "{permission} {pattern}");
}

#[test]
fn a_rule_that_means_something_is_right() {
    for (permission, pattern) in [
        ("*", "*"),
        ("fs.read", "*"),
        ("fs.read", "**/secrets/**"),
        ("fs.write", "docs/**"),
        ("fs.write", "./docs/*.md"),
        ("fs.write", "{workspace}/docs/**"),
        ("fs.write", "{scratch}/**"),
        ("fs.read", "~/notes/*"),
        ("fs.read", r"/w/\{x\}/[id].ts"),
        ("shell.run", "cargo test *"),
        ("shell.run", "find . -name {} 'a | b'"),
        ("shell.run", "awk '{print}' *"),
        ("shell.run", "{workspace}/run.sh *"),
        ("shell.opaque", "sh -c 'x; y'"),
        ("net.fetch", "*.example.com"),
        ("agent.switch", "build"),
        ("credential.use", "github"),
        ("bash", "git *"),
        ("task", "explore"),
        ("wait", "*"),
        ("mcp:github:create_issue", "*"),
    ] {
        let rule = Rule::new(permission, pattern, Action::Deny);
        assert_eq!(check(&rule, &TOOLS), Ok(()), "{permission} {pattern}");
    }
}

#[test]
fn tls_12_an_unknown_capability_or_tool_is_a_fault_with_what_was_meant() {
    wrong(
        "fs.wirte",
        "*",
        "unknown capability `fs.wirte`; did you mean `fs.write`?",
    );
    wrong(
        "raed",
        "*",
        "unknown capability or tool `raed`; did you mean `read`?",
    );
    wrong(
        "mcp:x",
        "*",
        "`mcp:x` is no tool of a server; write `mcp:SERVER:TOOL`, or `mcp:SERVER:*` for all its tools",
    );
    let rule = Rule::new("launch.missiles", "*", Action::Allow);
    let said = check(&rule, &TOOLS).unwrap_err().to_string();
    assert!(
        said.contains("there are: fs.read, fs.write, shell.run"),
        "{said}"
    );
}

#[test]
fn tls_12_an_unknown_variable_is_a_fault_and_says_where() {
    let rule = Rule::new("fs.read", "{workspce}/docs/**", Action::Allow);
    let fault = check(&rule, &TOOLS).unwrap_err();
    assert_eq!((fault.part, fault.at), (Part::Pattern, 0));
    wrong(
        "fs.read",
        "{workspce}/docs/**",
        "unknown variable `{workspce}`; did you mean `{workspace}`?",
    );
    wrong(
        "fs.read",
        "/w/{a,b}",
        "unknown variable `{a,b}`; there are {workspace}, {scratch} and {home}; `\\{` is a brace",
    );
    wrong(
        "shell.run",
        "ls {hmoe}",
        "unknown variable `{hmoe}`; did you mean `{home}`?",
    );
    let rule = Rule::new("bash", "ls {nothing}", Action::Allow);
    assert_eq!(check(&rule, &TOOLS).unwrap_err().at, 3);
}

#[test]
fn a_pattern_that_fits_nothing_or_something_else_is_a_fault() {
    wrong(
        "fs.read",
        " ",
        "the pattern is empty; leave it out to mean all",
    );
    wrong(
        "fs.read",
        "*.rs",
        "paths begin with `/`, which this star does not stand for; write `**/*.rs`",
    );
    wrong(
        "fs.read",
        "docs/",
        "a path ends in `/`; write `docs/**` for what is in it",
    );
    wrong(
        "fs.read",
        "../x",
        "no path that is asked for has `.` or `..` in it, so this fits none",
    );
    wrong(
        "fs.write",
        "/a//b///**",
        "no path that is asked for has `//` in it, so this fits none; write `/a/b/**`",
    );
    wrong(
        "fs.read",
        "~you/x",
        "only your own home folder is `~`, with a `/` or nothing behind it; write the folder out, or \
         `./~you/x` for a name in the workspace",
    );
    wrong(
        "fs.read",
        "/a/{workspace}/b",
        "a variable is a whole path, so nothing stands before it; begin with `{workspace}`",
    );
    wrong(
        "fs.read",
        "a\\",
        "nothing follows the last `\\`; write `\\\\` to mean a backslash",
    );
    wrong("fs.read", "a\nb", "the pattern has a control character");
    wrong(
        "net.fetch",
        "https://example.com",
        "a host is expected here, not an address: leave out what stands around it",
    );
    wrong(
        "wait",
        "explore",
        "`wait` is about no agent, so only `*` fits; leave the pattern out",
    );
    let long = "a".repeat(MOST_PATTERN + 1);
    wrong("fs.read", &long, "the pattern is longer than 4096 bytes");
}

#[test]
fn a_pattern_of_commands_that_fits_none_is_a_fault() {
    wrong(
        "shell.run",
        "echo 'a",
        "a quote is not closed; close it, or write `\\'`",
    );
    for (pattern, said) in [
        (
            "git push \"--force\"",
            "a double quote is a letter here, and no word of a command has it; write single quotes, \
             or none; `\\\"` is that letter",
        ),
        (
            "ls;rm",
            "a rule is about one simple command, and this is more; write one rule for each, or single \
             quotes around what is text",
        ),
        (
            "ls x >y",
            "a rule is about one simple command, and this is more; write one rule for each, or single \
             quotes around what is text",
        ),
        (
            "~/bin/x *",
            "no command is called by `~`, which the shell makes a folder of; write `{home}/bin/x *`",
        ),
        (
            "cat ~/.ssh/*",
            "no word of a command begins with `~`, which the shell makes a folder of; write \
             `cat {home}/.ssh/*`",
        ),
        (
            "ls ~you",
            "no word of a command begins with `~`, which the shell makes a folder of; write the folder \
             out, or `\\~` for that letter",
        ),
        (
            "FOO=1 ls",
            "what is set before a command is no word of it, so this fits none; begin with the program",
        ),
    ] {
        wrong("shell.run", pattern, said);
    }
    for pattern in [
        "curl 'https://x?a=1&b=2'",
        r#"echo \; \""#,
        "env FOO=1 ls",
        "make V=1",
        "cat '~/x'",
        r"cat \~",
        "git show HEAD~1",
    ] {
        let rule = Rule::new("shell.run", pattern, Action::Allow);
        assert_eq!(check(&rule, &TOOLS), Ok(()), "{pattern}");
    }
    for permission in ["bash", "*"] {
        wrong(
            permission,
            "cat ~/.ssh/*",
            "no word of a command begins with `~`, which the shell makes a folder of; write \
             `cat {home}/.ssh/*`",
        );
    }
    let many = "*a".repeat(33);
    wrong(
        "shell.run",
        &many,
        "the pattern has more than 32 stars and question marks; write several rules",
    );
    wrong(
        "shell.run",
        "git diff | cat",
        "a rule is about one simple command, and this is more; write one rule for each",
    );
}

#[test]
fn a_path_that_fits_nothing_is_a_fault_under_a_tool_or_all_as_well() {
    let faulty = |permission: &str, pattern: &str, action| {
        check(&Rule::new(permission, pattern, action), &TOOLS).is_err()
    };
    for tool in ["read", "write", "edit", "glob", "grep"] {
        for pattern in [
            "*.env", "secret/", "a//b", "../x/**", "~root/**", "/w/{a,b}",
        ] {
            for action in [Action::Allow, Action::Ask, Action::Deny] {
                assert!(faulty(tool, pattern, action), "{tool} {pattern}");
            }
        }
        assert!(!faulty(tool, "src/**", Action::Deny));
    }
    wrong(
        "write",
        "*.env",
        "paths begin with `/`, which this star does not stand for; write `**/*.env`",
    );
    for permission in ["*", "bash"] {
        for pattern in ["secret/", "a//b", "../x/**", "~root/**", "~root"] {
            assert!(faulty(permission, pattern, Action::Deny), "{pattern}");
            assert!(faulty(permission, pattern, Action::Ask), "{pattern}");
        }
        for pattern in [
            "*.env",
            "~/.ssh/**",
            "./run.sh",
            "docs/**",
            "curl https://x/*",
            "https://x/y",
            "ls //x ../y/",
        ] {
            assert!(!faulty(permission, pattern, Action::Deny), "{pattern}");
        }
        // An allow is of commands.
        assert!(!faulty(permission, "../x/run.sh", Action::Allow));
    }
}

const PLACES: Variables<'static> = Variables {
    workspace: "/w/a*b",
    scratch: None,
    home: Some("/home/me/"),
};

#[track_caller]
fn becomes(permission: &str, pattern: &str, action: Action, expected: Option<&str>) {
    let rules = expand(&[Rule::new(permission, pattern, action)], &PLACES);
    let found = rules.first().map(|rule| rule.pattern.as_str());
    assert_eq!(found, expected, "{permission} {pattern}");
}

#[test]
fn variables_become_folders_and_relative_paths_lie_in_the_workspace() {
    let allow = Action::Allow;
    becomes(
        "fs.read",
        "{workspace}/docs/**",
        allow,
        Some(r"/w/a\*b/docs/**"),
    );
    becomes("fs.read", "docs/**", allow, Some(r"/w/a\*b/docs/**"));
    becomes("fs.read", "./docs/x", allow, Some(r"/w/a\*b/docs/x"));
    becomes("fs.read", "~/x", allow, Some("/home/me/x"));
    becomes("fs.read", "~", allow, Some("/home/me"));
    becomes("fs.read", "./~you", allow, Some(r"/w/a\*b/~you"));
    becomes("fs.read", "{home}/x", allow, Some("/home/me/x"));
    becomes("fs.read", "**/x", allow, Some("**/x"));
    becomes("fs.read", "*", allow, Some("*"));
    becomes("fs.read", "/etc/*", allow, Some("/etc/*"));
    becomes("shell.run", "docs/run.sh", allow, Some("docs/run.sh"));
    becomes("shell.run", "ls {home}/x", allow, Some("ls /home/me/x"));
    becomes("shell.run", "awk '{home}'", allow, Some("awk '{home}'"));
    becomes("read", "{workspace}", allow, Some(r"/w/a\*b"));
}

#[test]
fn a_folder_with_blanks_is_one_word_of_a_command() {
    let places = Variables {
        workspace: "/my work's",
        ..PLACES
    };
    let rule = Rule::new("shell.run", "{workspace}/run *", Action::Allow);
    let rules = expand(&[rule], &places);
    assert_eq!(rules[0].pattern, r"/my\ work\'s/run *");
}

#[test]
fn the_root_folder_is_no_name_with_two_slashes() {
    let places = Variables {
        workspace: "/",
        ..PLACES
    };
    let rule = Rule::new("fs.read", "docs/**", Action::Allow);
    assert_eq!(expand(&[rule], &places)[0].pattern, "/docs/**");
}

#[test]
fn tls_12_an_empty_expansion_is_an_empty_scope_and_an_unknown_one_fails_closed() {
    for action in [Action::Allow, Action::Ask, Action::Deny] {
        becomes("fs.write", "{scratch}/**", action, None);
    }
    becomes("fs.write", "{scrtch}/**", Action::Allow, None);
    becomes("fs.write", "{scrtch}/**", Action::Deny, Some("*"));
    becomes("fs.write", "{scrtch}/**", Action::Ask, Some("*"));
}

#[test]
fn tls_12_a_deny_about_a_home_that_nobody_knows_forbids_all() {
    let homeless = Variables {
        home: None,
        ..PLACES
    };
    for (action, expected) in [(Action::Allow, None), (Action::Deny, Some("*"))] {
        let rules = expand(&[Rule::new("fs.read", "~/.ssh/**", action)], &homeless);
        assert_eq!(rules.first().map(|rule| rule.pattern.as_str()), expected);
    }
}

#[test]
fn rules_that_contradict_each_other_are_found() {
    let rules = [
        Rule::new("fs.read", "a", Action::Allow),
        Rule::new("fs.read", "a", Action::Allow),
        Rule::new("fs.read", "b", Action::Deny),
        Rule::new("fs.write", "a", Action::Deny),
        Rule::new("fs.read", "a", Action::Deny),
    ];
    assert_eq!(contradictions(&rules), [(0, 4)]);
    let rules = [
        Rule::new("shell.run", "git  push *", Action::Allow),
        Rule::new("shell.run", "git 'push' *", Action::Deny),
        Rule::new("shell.run", "git push", Action::Deny),
    ];
    assert_eq!(contradictions(&rules), [(0, 1)]);
    // However a path is written.
    let write = |pattern, action| Rule::new("fs.write", pattern, action);
    for (one, other) in [
        ("docs/**", "{workspace}/docs/**"),
        ("./docs/**", "docs/**"),
        ("~/x", "{home}/x"),
    ] {
        let rules = [write(one, Action::Allow), write(other, Action::Deny)];
        assert_eq!(contradictions(&rules), [(0, 1)], "{one} and {other}");
    }
    let rules = [
        Rule::new("bash", "docs/x", Action::Deny),
        Rule::new("bash", "./docs/x", Action::Ask),
    ];
    assert_eq!(contradictions(&rules), [(0, 1)]);
}

#[test]
fn a_deny_that_loses_to_a_narrower_allow_is_told_what_to_be_instead() {
    let check = |allow: (&str, &str), deny: (&str, &str), why: &str, instead: Option<&str>| {
        let allow = Rule::new(allow.0, allow.1, Action::Allow);
        let deny = Rule::new(deny.0, deny.1, Action::Deny);
        let found = overshadowed(&[deny.clone(), allow.clone()]);
        let told: Vec<_> = found
            .iter()
            .map(|found| (found.rule, found.by, found.why, found.instead.as_deref()))
            .collect();
        assert_eq!(told, [(0, 1, why, instead)], "{deny:?} and {allow:?}");
    };
    let more = "which begins with more text";
    let at_end = "which has its only star at its end";
    let tool = "which names the tool";
    check(
        ("fs.write", "{workspace}/src/**"),
        ("fs.write", "{workspace}/**/.env"),
        more,
        Some("{workspace}/src/**/.env"),
    );
    check(
        ("fs.write", "src/**"),
        ("fs.write", "{workspace}/**/.env"),
        more,
        Some("{workspace}/src/**/.env"),
    );
    check(
        ("fs.read", "/a/b/*"),
        ("fs.read", "/a/**/x"),
        more,
        Some("/a/b/**/x"),
    );
    check(("fs.read", "/a/*"), ("fs.read", "/a/**/x"), at_end, None);
    check(
        ("shell.run", "git *"),
        ("shell.run", "git push * --force"),
        at_end,
        None,
    );
    check(
        ("bash", "git push *"),
        ("shell.run", "git push *"),
        tool,
        None,
    );
    check(
        ("bash", "git  push *"),
        ("shell.run", "git push *"),
        tool,
        None,
    );
    check(
        ("write", "{workspace}/x"),
        ("fs.write", "{workspace}/x"),
        tool,
        None,
    );
    check(("edit", "x"), ("fs.write", "{workspace}/x"), tool, None);
    check(("bash", "git push *"), ("*", "git push *"), tool, None);
    check(
        ("shell.run", "git push *"),
        ("*", "git push *"),
        "which names what is needed",
        None,
    );
    check(("mcp:s:t", "/x"), ("fs.read", "/x"), tool, None);
}

#[test]
fn an_allow_that_is_an_exception_is_none_that_a_deny_loses_to() {
    for (allow, deny) in [
        (("fs.write", "docs/**"), ("fs.write", "{workspace}/**")),
        (("fs.write", "docs/**"), ("fs.write", "**")),
        (("fs.write", "src/**"), ("fs.write", "{workspace}/*.env")),
        (
            ("fs.write", "src/**"),
            ("fs.write", "{workspace}/docs/**/x"),
        ),
        (("fs.write", "src/a"), ("fs.write", "{workspace}/**/a")),
        (
            ("shell.run", "git push origin *"),
            ("shell.run", "git push *"),
        ),
        (("shell.run", "npm *"), ("shell.run", "git * --force")),
        (("read", "x"), ("fs.write", "x")),
        (("bash", "git *"), ("shell.run", "git push *")),
        (("shell.run", "git push *"), ("bash", "git push *")),
        (("fs.read", "x"), ("*", "x")),
        (("fs.write", "{workspace}/*"), ("fs.write", "docs/**")),
        (("fs.write", "{workspace}/*"), ("fs.write", "docs/**/*")),
        (("fs.write", "docs/a/*"), ("fs.write", "docs/**")),
    ] {
        let rules = [
            Rule::new(allow.0, allow.1, Action::Allow),
            Rule::new(deny.0, deny.1, Action::Deny),
        ];
        assert_eq!(overshadowed(&rules), [], "{rules:?}");
    }
}

#[test]
fn what_a_rule_is_told_to_lose_it_loses() {
    // Held against those who decide: of each pair, a target that both are about.
    let home = Variables {
        workspace: "/w",
        ..Variables::default()
    };
    let said = |allow: (&str, &str), deny: (&str, &str), tool: &str, need: (&str, &str)| {
        let written = [
            Rule::new(allow.0, allow.1, Action::Allow),
            Rule::new(deny.0, deny.1, Action::Deny),
        ];
        let layer = Layer {
            rules: expand(&written, &home),
            standing: Standing::Grants,
            ..Layer::default()
        };
        let permissions = Permissions::empty().narrow(layer);
        permissions.decide(tool, &Need::new(need.0, need.1)).action
    };
    let env = ("fs.write", "{workspace}/**/.env");
    let write = |file| ("fs.write", file);
    let at = ("fs.write", "/w/src/.env");
    assert_eq!(said(write("src/**"), env, "write", at), Action::Allow);
    let instead = write("{workspace}/src/**/.env");
    assert_eq!(said(write("src/**"), instead, "write", at), Action::Deny);
    let push = ("shell.run", "git push *");
    let need = ("shell.run", "git push x");
    assert_eq!(
        said(("bash", "git push *"), push, "bash", need),
        Action::Allow
    );
    let force = ("shell.run", "git push * --force");
    let need = ("shell.run", "git push x --force");
    assert_eq!(
        said(("shell.run", "git *"), force, "bash", need),
        Action::Allow
    );
}

#[test]
fn a_list_of_thousands_is_looked_through_once() {
    let rule = |index: usize| match index % 2 {
        0 => Rule::new("fs.read", format!("/a/{index}/**"), Action::Allow),
        _ => Rule::new("fs.read", format!("/b/**/{index}"), Action::Deny),
    };
    let rules: Vec<Rule> = (0..50_000).map(rule).collect();
    assert_eq!(overshadowed(&rules), []);
    assert_eq!(contradictions(&rules), []);
    assert_eq!(idle_allows(&rules), [0; 0]);
}

#[test]
fn a_deny_that_begins_with_a_star_is_told_to_lose_to_a_longer_allow() {
    let deny = |pattern| Rule::new("fs.read", pattern, Action::Deny);
    let allow = |pattern| Rule::new("fs.read", pattern, Action::Allow);
    let found = overshadowed(&[allow("{workspace}/**"), deny("**/.env")]);
    let instead = Some("{workspace}/**/.env".to_owned());
    assert_eq!(
        found,
        [Overshadowed {
            rule: 1,
            by: 0,
            why: "which begins with more text",
            instead
        }]
    );
    assert_eq!(overshadowed(&[allow("docs/*"), deny("**/.env")]).len(), 1);
    let command = |pattern, action| Rule::new("shell.run", pattern, action);
    let commands = [
        command("git *", Action::Allow),
        command("* --force", Action::Ask),
    ];
    assert_eq!(overshadowed(&commands).len(), 1);
    for fine in [
        [allow("*"), deny("**/.env")],
        [allow("**/docs/**"), deny("**/.env")],
        [allow("docs/.env"), deny("**/.env")],
        [allow("{workspace}/**"), deny("{workspace}/**/.env")],
        [
            Rule::new("fs.write", "docs/**", Action::Allow),
            deny("**/.env"),
        ],
    ] {
        assert_eq!(overshadowed(&fine), [], "{fine:?}");
    }
}

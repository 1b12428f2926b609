//! What is read of an agent file, and what is said of one that is wrong.

use offshoot_agents::{MAX_FILE_BYTES, Reading, Severity, read};
use offshoot_types::manifest::{Context, Effort, Manifest, Mode};
use proptest::prelude::*;

fn file(text: &str) -> Reading {
    read(text.as_bytes(), "agents/critic.md", "critic")
}

#[track_caller]
fn agent(text: &str) -> Manifest {
    file(text).manifest.unwrap()
}

/// Checks what is said of a file with these lines in its header, after a `mode` in line 2.
#[track_caller]
fn check(lines: &str, expected: &str) {
    check_all(&format!("---\nmode: all\n{lines}\n---\nGo.\n"), expected);
}

#[track_caller]
fn check_all(text: &str, expected: &str) {
    let diagnostic = file(text).manifest.unwrap_err();
    assert_eq!(diagnostic.severity, Severity::Error);
    assert_eq!(
        diagnostic.to_string(),
        format!("agents/critic.md:{expected}")
    );
}

#[test]
fn a_file_is_an_agent_called_like_it() {
    let manifest = agent("---\nmode: subagent\n---\n\nYou judge.\n\nBe brief.\n");
    assert_eq!(
        manifest,
        Manifest::new("critic", Mode::Subagent, "You judge.\n\nBe brief.")
    );
}

#[test]
fn a_name_in_the_header_is_the_name() {
    let reading = file("---\nname: team/judge\nmode: all\n---\nx");
    assert_eq!(reading.name, "team/judge");
    assert_eq!(reading.manifest.unwrap().name, "team/judge");
    // Also of a file that is wrong, wherever the name stands in it.
    let reading = file("---\nmood: all\nname: team/judge\n---\nx");
    assert_eq!(reading.name, "team/judge");
    assert!(reading.manifest.is_err());
    assert_eq!(file("---\n'").name, "critic");
}

#[test]
fn everything_that_a_manifest_can_say_can_be_written() {
    let manifest = agent(
        "---
mode: subagent
description: >-
  Judges
  a change.
model: openai-chat/large
effort: high
temperature: 0.2
max_output_tokens: 900
tools: {allow: [read, 'mcp_*'], deny: [mcp_shell]}
permissions:
  - {permission: fs.read, action: allow}
  - {permission: fs.read, pattern: '**/secrets/**', action: deny}
inspectable: true
caller: agent
read_only: true
context: fork
spawns: [explore]
max_turns: 3
max_total_tokens: 50000
max_cost_usd: 0.25
max_time: 10m
max_stall: 90s
max_descendants: 4
output_schema:
  type: object
  properties: {verdict: {enum: [yes, 'no']}}
project_instructions: false
git_status: true
---
Judge.
",
    );
    assert_eq!(manifest.description, "Judges a change.");
    assert_eq!(manifest.effort, Some(Effort::High));
    assert_eq!(manifest.context, Context::Fork);
    assert_eq!(
        manifest.permissions.as_ref().unwrap()[1].pattern,
        "**/secrets/**"
    );
    assert_eq!(manifest.limits.stall.unwrap().to_string(), "90s");
    let schema = manifest.output_schema.clone().unwrap();
    assert!(schema.as_str().contains(r#"["yes","no"]"#), "{schema:?}");
    assert!(manifest.read_only && manifest.shows_git_status());
    assert!(!manifest.shows_project_instructions());
}

#[test]
fn sa_02_a_file_without_a_mode_or_with_another_is_no_agent() {
    let missing = "key `mode` is missing; it says who may start the agent: `primary` people, \
                   `subagent` other agents, `all` both";
    check_all("---\ndescription: x\n---\nx", &format!("2: {missing}"));
    check_all("---\n---\nx", &format!("1: {missing}"));
    check_all("---\n# mode: all\n---\nx", &format!("1: {missing}"));
    check_all(
        "---\nmode: primry\n---\nx",
        "2: unknown value `primry`, did you mean `primary`?",
    );
}

#[test]
fn windows_and_byte_order_marks_change_nothing() {
    let plain = agent("---\nmode: all\ndescription: d\n---\nOne.\n\nTwo.\n");
    for text in [
        "\u{feff}---\nmode: all\ndescription: d\n---\nOne.\n\nTwo.\n",
        "---\r\nmode: all\r\ndescription: d\r\n---\r\nOne.\r\n\r\nTwo.\r\n",
        "--- \nmode: all\ndescription: d\n---\t\n\n\nOne.\n\nTwo.",
    ] {
        assert_eq!(agent(text), plain, "{text:?}");
    }
    check_all(
        "---\r\nmode: all\r\nnam: x\r\n---\r\n",
        "3: unknown key `nam`, did you mean `name`?",
    );
}

#[test]
fn a_line_of_dashes_in_the_prompt_is_part_of_it() {
    let manifest = agent("---\nmode: all\n---\nOne.\n\n---\n\nTwo.\n");
    assert_eq!(manifest.prompt, "One.\n\n---\n\nTwo.");
}

#[test]
fn a_file_without_a_whole_header_is_told_what_is_missing() {
    let none = "1: there is no header: the first line has to be `---`";
    for text in [
        "",
        "\n",
        "You judge.\n",
        "\n---\nmode: all\n---\n",
        "----\n",
    ] {
        check_all(text, none);
    }
    for text in ["---", "---\n", "---\nmode: all\n", "---\nmode: all\n ---\n"] {
        check_all(
            text,
            "1: the header is not closed: another line `---` has to end it",
        );
    }
}

#[test]
fn an_empty_prompt_is_worth_a_word_and_no_more() {
    let reading = file("---\nmode: all\n---\n \n");
    assert_eq!(reading.manifest.unwrap().prompt, "");
    let [warning] = &reading.warnings[..] else {
        panic!("{:?}", reading.warnings)
    };
    assert_eq!(warning.severity, Severity::Warning);
    assert_eq!(
        warning.to_string(),
        "agents/critic.md:3: there is no text below the header, so the agent has no instructions \
         of its own"
    );
}

#[test]
fn a_prompt_in_the_header_is_told_where_it_belongs() {
    check(
        "prompt: You judge.",
        "3: `prompt` is not a key here: the prompt is the text below the header",
    );
    check(
        "promt: You judge.",
        "3: unknown key `promt`; the prompt is the text below the header",
    );
}

#[test]
fn an_unknown_key_is_answered_with_the_one_that_was_meant() {
    check("tols: []", "3: unknown key `tols`, did you mean `tools`?");
    check(
        "\nmaxTurns: 3",
        "4: unknown key `maxTurns`, did you mean `max_turns`?",
    );
    check(
        "permissions:\n  - permission: fs.read\n    acton: allow",
        "5: unknown key `acton`, did you mean `action`?",
    );
    let diagnostic = file("---\nmode: all\ncolour_of_hat: red\n---\n").manifest;
    let text = diagnostic.unwrap_err().to_string();
    assert!(
        text.contains("known are name, mode, description, model"),
        "{text}"
    );
    assert!(!text.contains("prompt"), "{text}");
}

#[test]
fn a_wrong_value_is_told_with_its_line() {
    check(
        "max_turns: many",
        "3: a whole number, not less than 0 and not too large, was expected here",
    );
    check(
        "max_turns: -1",
        "3: a whole number, not less than 0 and not too large, was expected here",
    );
    check("temperature: warm", "3: a number was expected here");
    check("read_only: yes", "3: `true` or `false` was expected here");
    check("name:", "3: the value is missing");
    check(
        "permissions: [fs.read]",
        "3: keys and values were expected here, such as `mode: all`",
    );
    check(
        "max_time: soon",
        "3: \"soon\" is not a time; write a whole number and its unit: 500ms, 30s, 10m, 1h",
    );
    // Found only when all is read, and still told where it stands.
    check(
        "name: x\ntemperature: 3",
        "4: temperature is 3; it goes from 0 to 2",
    );
    check(
        "output_schema: text",
        "3: output_schema is not a JSON Schema: it has to be a map",
    );
}

#[test]
fn a_name_that_is_none_is_told_where_it_comes_from() {
    let rule = "and that is not a name: letters, digits, - _ . : and /, at most 64 bytes, a letter \
                or a digit first";
    check("name: a b", &format!("3: name is \"a b\", {rule}"));
    let reading = read(b"---\nmode: all\n---\nx", "my agent.md", "my agent");
    let text = reading.manifest.unwrap_err().to_string();
    let ends = format!(
        "name is \"my agent\", {rule}; it is that of the file: rename it, or write a `name`"
    );
    assert!(text.ends_with(&ends), "{text}");
}

#[test]
fn what_is_no_yaml_is_told_with_its_line() {
    check("mode: all", "3: key `mode` is there more than once");
    check(
        "tools: {allow: [], allow: []}",
        "3: key `allow` is there more than once",
    );
    check("tools: [read", "3: unclosed bracket '['");
    check("...\nmore", "4: nothing may follow `...` in the header");
    check(
        "description: *nowhere",
        "3: alias references unknown anchor",
    );
    check_all(
        "---\njust words\n---\n",
        "2: keys and values were expected here, such as `mode: all`",
    );
}

#[test]
fn what_grows_by_itself_is_refused_at_once() {
    let mut bomb = String::from("output_schema:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]");
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("\n  a{level}: &a{level} [{below}]"));
    }
    let text = format!("---\nmode: all\n{bomb}\n---\nx");
    let said = file(&text).manifest.unwrap_err().message;
    let too_much = "the header has too many values, or they are nested too deeply";
    assert_eq!(said, too_much);
    for nested in ["[", "{a: "] {
        let text = format!(
            "---\nmode: all\noutput_schema: {}\n---\nx",
            nested.repeat(5000)
        );
        assert!(file(&text).manifest.is_err());
    }
    let many = vec!["x"; 20_000].join(",");
    let text = format!("---\nmode: all\ntools: [{many}]\n---\nx");
    assert_eq!(file(&text).manifest.unwrap_err().message, too_much);
    // An anchor that saves typing is fine.
    let text = "---\nmode: all\ndescription: &d Judges.\nspawns: [*d]\n---\nx";
    assert_eq!(agent(text).spawns.unwrap(), ["Judges."]);
}

#[test]
fn what_is_too_large_or_no_text_is_refused() {
    let long = "x".repeat(MAX_FILE_BYTES);
    let text = format!("---\nmode: all\n---\n{long}");
    let reading = file(&text);
    let said = reading.manifest.unwrap_err().to_string();
    assert_eq!(
        said,
        "agents/critic.md: it is too large: an agent file has at most 262144 bytes"
    );
    assert!(file(&text[..MAX_FILE_BYTES]).manifest.is_ok());
    let comment = "x".repeat(64 * 1024);
    check(
        &format!("# {comment}"),
        "1: the header is too long: it has at most 65536 bytes",
    );
    let reading = read(b"---\nmode: all\n---\nOne.\n\xff\n", "a.md", "a");
    let said = reading.manifest.unwrap_err().to_string();
    assert_eq!(said, "a.md:5: it is not UTF-8 text");
}

#[test]
fn no_more_of_a_file_is_repeated_than_a_person_reads() {
    let long = "z".repeat(1000);
    for lines in [
        format!("{long}: 1"),
        format!("max_time: {long}"),
        format!("name: {long}"),
    ] {
        let reading = file(&format!("---\nmode: all\n{lines}\n---\nx"));
        let message = reading.manifest.unwrap_err().message;
        assert!(message.chars().count() <= 401, "{message}");
    }
}

/// Pieces that headers are made of, right and wrong.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("---\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("mode: all\n".to_owned()),
        Just("name: ".to_owned()),
        Just("tools: [".to_owned()),
        Just("permissions:\n  - ".to_owned()),
        Just("output_schema: {".to_owned()),
        Just("&a *a <<: ".to_owned()),
        Just("? !!binary |\n".to_owned()),
        Just("\u{feff}".to_owned()),
        "[ -~\n\t\u{e4}\u{2028}]{0,12}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_that_is_read_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let reading = read(&bytes, "a.md", "a");
        prop_assert!(reading.manifest.is_err() || bytes.starts_with(b"---"));
    }

    #[test]
    fn nothing_like_a_header_panics(text in pieces()) {
        for text in [text.clone(), format!("---\n{text}\n---\nx")] {
            let reading = file(&text);
            let last = text.lines().count().max(1);
            if let Err(diagnostic) = reading.manifest {
                prop_assert!(diagnostic.line.is_some_and(|line| (1..=last).contains(&line)), "{diagnostic}");
                prop_assert!(!diagnostic.message.contains('\n'), "{diagnostic}");
            }
        }
    }
}

/// Checks what is said of a file with these tools; "" if the agent can be used.
#[track_caller]
fn check_tools(tools: &str, expected: &str) {
    let text = format!("---\nmode: all\ntools: {tools}\n---\nYou.");
    let mut reading = read(text.as_bytes(), "a.md", "a");
    reading.check_tools(&["bash", "grep", "question", "read", "task"]);
    let said = reading.manifest.err().map(|error| error.to_string());
    let expected = (!expected.is_empty()).then(|| format!("a.md:3: {expected}"));
    assert_eq!(said, expected, "{tools}");
}

#[test]
fn a_tool_that_there_is_not_gives_the_agent_up_with_a_suggestion() {
    for fine in [
        "[read]",
        "['*']",
        "['*', question]",
        "['re*']",
        "{deny: [bash, 'gr*']}",
        "[]",
    ] {
        check_tools(fine, "");
    }
    check_tools(
        "[raed, grep]",
        "there is no tool `raed`, did you mean `read`?",
    );
    let list =
        "there are: bash, grep, question, read, task; tools of MCP servers cannot be used yet";
    check_tools(
        "{deny: [launch]}",
        &format!("there is no tool `launch`; {list}"),
    );
    check_tools("['web*']", &format!("there is no tool `web*`; {list}"));
    // Names of other programs.
    check_tools(
        "Read, Bash(git *), Agent, Shell",
        "there is no tool `Read`, did you mean `read`?; there is no tool `Bash(git *)`, did you \
         mean `bash`? What it may do is said in `permissions`; there is no tool `Agent`, did you \
         mean `task`?; there is no tool `Shell`, did you mean `bash`?",
    );
    for mcp in ["mcp:files:read", "mcp__files__read", "mcp_*"] {
        check_tools(
            &format!("['{mcp}']"),
            &format!("there is no tool `{mcp}`: tools of MCP servers cannot be used yet"),
        );
    }
    check_tools(
        "[a1, b1, c1, d1, e1, f1]",
        &format!(
            "there is no tool `a1`; there is no tool `b1`; there is no tool `c1`; there is no tool \
             `d1`; 2 more names are unknown; {list}"
        ),
    );
}

const TOOLS: [&str; 3] = ["read", "write", "bash"];

/// Checks what is said of a file with these rules, which begin in line 4.
#[track_caller]
fn check_rules(rules: &str, expected: &str) {
    let mut reading = file(&format!(
        "---\nmode: all\npermissions:\n{rules}\n---\nGo.\n"
    ));
    assert!(reading.manifest.is_ok(), "{reading:?}");
    reading.check_rules(&TOOLS);
    let said = reading.manifest.unwrap_err().to_string();
    assert_eq!(said, format!("agents/critic.md:{expected}"));
}

#[test]
fn tls_12_a_rule_that_means_nothing_gives_the_agent_up_with_its_line_and_column() {
    check_rules(
        "  - {permission: fs.read, action: allow}\n  - {permission: fs.wirte, action: allow}",
        "5:18: unknown capability `fs.wirte`; did you mean `fs.write`?",
    );
    check_rules(
        "  - permission: fs.read\n    pattern: \"{wrkspace}/x\"\n    action: allow",
        "5:14: unknown variable `{wrkspace}`; did you mean `{workspace}`?",
    );
    check_rules(
        "  - {permission: net.fetch, pattern: \"https://a.org\", action: allow}",
        "4:38: a host is expected here, not an address: leave out what stands around it",
    );
}

#[test]
fn sa_33_own_permissions_give_the_agent_up_with_the_line_and_what_to_write_instead() {
    for value in [
        "[{permission: fs.write, action: deny}]",
        "[]",
        "{a: [b]}",
        "",
    ] {
        let reading = file(&format!(
            "---\nmode: all\nown_permissions: {value}\n---\nGo."
        ));
        let said = reading.manifest.unwrap_err().to_string();
        let begins = "agents/critic.md:3: own_permissions is not a key any more";
        assert!(said.starts_with(begins), "{value}: {said}");
        assert!(
            said.contains("`tools`") && said.contains("`permissions`"),
            "{said}"
        );
    }
    // A key that is not taken is not suggested either.
    let reading = file("---\nmode: all\nown_permission: []\n---\nGo.");
    let said = reading.manifest.unwrap_err().to_string();
    assert!(said.contains("unknown key `own_permission`"), "{said}");
    assert!(!said.contains("own_permissions"), "{said}");
}

#[test]
fn pd_18_a_key_that_would_do_nothing_gives_the_agent_up() {
    for key in ["skills: [a]", "skills:", "colour: blue"] {
        let reading = file(&format!("---\nmode: all\n{key}\n---\nGo."));
        let said = reading.manifest.unwrap_err().to_string();
        assert!(said.starts_with("agents/critic.md:3: "), "{key}: {said}");
    }
}

#[test]
fn rules_of_a_file_that_contradict_each_other_are_a_warning() {
    let rules = "permissions:
  - {permission: fs.read, pattern: a, action: allow}
  - {permission: fs.read, pattern: a, action: deny}";
    let mut reading = file(&format!("---\nmode: all\n{rules}\n---\nGo.\n"));
    reading.check_rules(&TOOLS);
    assert!(reading.manifest.is_ok());
    assert_eq!(
        reading.warnings[0].to_string(),
        "agents/critic.md:5: this rule and that of line 4 say different things of fs.read a; the \
         stricter holds"
    );
}

#[test]
fn variables_and_names_of_tools_are_read_in_rules() {
    let mut reading = file(
        "---
mode: all
permissions:
  - {permission: fs.write, pattern: \"{workspace}/docs/**\", action: allow}
  - {permission: mcp:github:create_issue, action: ask}
  - {permission: bash, action: allow}
---
Go.
",
    );
    reading.check_rules(&TOOLS);
    let manifest = reading.manifest.unwrap();
    assert_eq!(manifest.permissions.unwrap().len(), 3);
}

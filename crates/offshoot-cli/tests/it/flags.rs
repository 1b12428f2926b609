//! Flags that hold everywhere, and what a reader who leaves or a narrow screen gets.

use crate::stage::{Stage, wait};

const PLAIN: &str = "replies: [{prompt: broken, fault: malformed}, {say: 'you said {prompt}'}]";

const MODEL: [&str; 3] = ["run", "--model", "scripted/script.yaml"];

#[test]
fn quiet_leaves_only_errors_on_stderr() {
    let stage = Stage::new(PLAIN);
    let run = |more: &[&'static str]| stage.offshoot([&MODEL[..], more].concat());
    for flag in ["--quiet", "-q"] {
        let done = run(&[flag, "hello"]).succeeded();
        assert_eq!(
            (done.stdout.as_str(), done.stderr.as_str()),
            ("you said hello\n", "")
        );
    }
    let done = run(&["--quiet", "broken"]).exited(1);
    assert!(done.stderr.starts_with("offshoot: failed: "), "{done:#?}");
    run(&["--quiet", "--agent", "nobody", "x"]).complained(2, "there is no agent nobody");
    let done = stage.offshoot(["--quiet", "sessions", "list"]).succeeded();
    assert_eq!(done.stderr, "");
}

#[test]
fn continue_goes_on_with_the_last_session_of_this_folder() {
    let stage = Stage::new(PLAIN);
    let goes_on = ["run", "--continue", "more"];
    stage
        .offshoot(goes_on)
        .complained(2, "to continue; start one with: offshoot run PROMPT");
    std::fs::create_dir(stage.path().join("elsewhere")).unwrap();
    let open = |id: &'static str, more: &[&'static str]| {
        let args = [&MODEL[..], &["--session", id], more, &["x"]].concat();
        stage.offshoot(args).succeeded();
    };
    open("first", &[]);
    open("second", &[]);
    open("other", &["--cwd", "elsewhere"]);
    let prompts = |id: &str| {
        let shown = stage.offshoot(["sessions", "show", id]).succeeded();
        shown.stdout.matches(" prompt ").count()
    };
    let done = stage.offshoot(goes_on).succeeded();
    assert_eq!(
        (done.stdout.as_str(), done.remarks().as_str()),
        ("you said more\n", "")
    );
    assert_eq!(
        [prompts("first"), prompts("second"), prompts("other")],
        [1, 2, 1]
    );
    // The one that changed last is the one.
    stage
        .offshoot(["sessions", "message", "first", "x"])
        .succeeded();
    stage.offshoot(goes_on).succeeded();
    assert_eq!(
        [prompts("first"), prompts("second"), prompts("other")],
        [3, 2, 1]
    );
    stage
        .offshoot(["run", "--continue", "--cwd", "elsewhere", "more"])
        .succeeded();
    assert_eq!(
        [prompts("first"), prompts("second"), prompts("other")],
        [3, 2, 2]
    );
    let done = stage.offshoot(["run", "--continue"]).succeeded();
    assert!(
        done.stderr.contains("nothing is waiting in session first"),
        "{done:#?}"
    );
    stage
        .offshoot(["run", "--continue", "--session", "first", "x"])
        .exited(2);
}

#[test]
fn a_log_says_what_was_done_and_not_what_was_said() {
    let stage = Stage::new(PLAIN);
    let log = ["--log-file", "a.log"];
    let args = [&log[..], &MODEL[..], &["my secret words"]].concat();
    let done = stage.offshoot(args).succeeded();
    assert_eq!(done.stdout, "you said my secret words\n");
    assert_eq!(done.remarks().lines().count(), 1, "{done:#?}");
    let text = std::fs::read_to_string(stage.path().join("a.log")).unwrap();
    for said in [
        "start",
        "source=--model",
        "order=\"open\"",
        "order=\"prompt\"",
        "end code=0",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("secret words"), "{text}");
    // It grows, and holds why something was refused.
    let refused = [&log[..], &["sessions", "show", "nobody at all"]].concat();
    stage.offshoot(refused).complained(2, "there is no session");
    let more = std::fs::read_to_string(stage.path().join("a.log")).unwrap();
    assert!(more.starts_with(&text));
    assert!(
        more.contains("ERROR") && more.contains("end code=2"),
        "{more}"
    );
}

#[test]
fn a_log_without_a_file_goes_to_stderr() {
    let stage = Stage::new(PLAIN);
    let args = [&["--log-level", "debug"], &MODEL[..], &["hello"]].concat();
    let done = stage.offshoot(args).succeeded();
    assert_eq!(done.stdout, "you said hello\n");
    assert!(done.stderr.contains(" INFO offshoot"), "{done:#?}");
    let mut command = stage.command([&MODEL[..], &["hello"]].concat());
    let done = wait(command.env("OFFSHOOT_LOG", "off").spawn().unwrap()).succeeded();
    assert_eq!(done.remarks().lines().count(), 1, "{done:#?}");
}

#[test]
fn a_log_that_cannot_be_opened_is_said_before_anything_is_done() {
    let stage = Stage::new(PLAIN);
    let args = [&["--log-file", "no/such/folder.log"], &MODEL[..], &["x"]].concat();
    stage
        .offshoot(args)
        .complained(2, "open log file no/such/folder.log, from --log-file: ");
    let mut command = stage.command([&MODEL[..], &["x"]].concat());
    let done = wait(command.env("OFFSHOOT_LOG_FILE", "/").spawn().unwrap());
    done.complained(2, "from the variable OFFSHOOT_LOG_FILE");
    assert!(!stage.data().exists());
}

#[test]
fn a_reader_who_leaves_a_list_is_no_error() {
    let stage = Stage::new(PLAIN);
    let run = [&MODEL[..], &["--session", "kept", "x"]].concat();
    let done = stage.unread(&run).succeeded();
    assert_eq!(done.remarks(), "session kept\n");
    assert_eq!(stage.status("kept"), "completed");
    for args in [
        &["sessions", "list"][..],
        &["sessions", "list", "--json"],
        &["sessions", "show", "kept"],
        &["sessions", "tree", "kept"],
        &["sessions", "attach", "--from-start", "kept"],
        &["--help"],
    ] {
        let done = stage.unread(args).succeeded();
        assert_eq!(done.stderr, "", "{args:?}");
    }
}

#[test]
fn a_list_is_as_wide_as_the_screen() {
    let stage = Stage::new(PLAIN);
    let title = "a title\u{1b}[2J that is far too long for the narrow screen of a telephone";
    stage.run(title).succeeded();
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    let id = listed.events()[0]["sessionId"].as_str().unwrap().to_owned();
    let last = &id[id.len() - 8..];
    let list = ["sessions", "list"];
    for width in [20, 40, 80, 200] {
        let shown = stage.on_terminal(width, &list);
        assert_eq!(shown.lines().count(), 2, "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
        for line in shown.lines() {
            assert!(
                line.chars().count() <= usize::from(width),
                "{width}: {line}"
            );
        }
    }
    let narrow = stage.on_terminal(20, &list);
    let row = narrow.lines().nth(1).unwrap();
    assert!(row.starts_with(last) && row.ends_with('…'), "{row}");
    // What is shown of it finds it again.
    stage.offshoot(["sessions", "show", last]).succeeded();
    let wide = stage.on_terminal(200, &list);
    assert!(wide.contains(&id) && wide.contains("a telephone"), "{wide}");
    // A pipe has no width.
    let piped = stage.offshoot(list).succeeded().stdout;
    assert!(
        piped.contains(&id) && piped.contains("a telephone"),
        "{piped}"
    );
}

#[test]
fn help_is_there_for_every_command_and_names_the_exit_codes() {
    let stage = Stage::new(PLAIN);
    let help = stage.offshoot(["--help"]).succeeded().stdout;
    for word in [
        "Examples:",
        "Exit codes: 0 done",
        "130 interrupted",
        "doctor",
        "completions",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
    for command in [
        "list", "show", "tree", "attach", "message", "cancel", "wait", "promote",
    ] {
        let help = stage.offshoot(["sessions", command, "--help"]).succeeded();
        assert!(help.stdout.contains("--data-dir <DIR>"), "{command}");
    }
    let version = stage.offshoot(["--version"]).succeeded().stdout;
    assert_eq!(version, format!("offshoot {}\n", env!("CARGO_PKG_VERSION")));
    for args in [
        &["--colour"][..],
        &["--color", "red", "doctor"],
        &["run", "--model", "", "x"],
    ] {
        stage.offshoot(args).exited(2);
    }
}

#[test]
fn a_time_that_stands_apart_from_its_flag_is_refused_and_not_taken_for_a_prompt() {
    let stage = Stage::new("replies: [{say: hello}]");
    let flag = ["--wait-for-answers", "5s"];
    for (before, after) in [
        (&["run"][..], &[][..]),
        (&["run"], &["hello"]),
        (&["run", "--session", "x"], &[]),
        (&["sessions", "message"], &["x", "hello"]),
    ] {
        let done = stage.offshoot([before, &flag, after].concat());
        done.complained(2, "--wait-for-answers=5s");
    }
    for odd in ["300", "5min", "1h30m", "0.5h"] {
        let done = stage.offshoot(["run", "--wait-for-answers", odd]);
        done.complained(2, "--wait-for-answers=30m");
    }
    // Elsewhere it is a prompt like any other.
    let args = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--wait-for-answers",
        "--",
        "5s",
    ];
    stage.offshoot(args).succeeded();
    let prompt = ["--wait-for-answers", "2 and 2 is?"];
    stage.offshoot([&args[..3], &prompt].concat()).succeeded();
}

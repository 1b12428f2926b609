//! Hooks that are commands: what they are told, what they say, and that nothing of them is left.

use std::time::Duration;

use offshoot_tools::hook::{CommandHook, Commands, Matcher};
use offshoot_tools::shell::{Base, Environment};
use offshoot_types::cancel::Cancel;
use offshoot_types::hook::{
    Ending, Occasion, Point, Say, Trouble, USUAL_LIMIT, Use, Watch as _, What, Who, Word,
};
use offshoot_types::id::{AgentId, CallId, RunNo};
use offshoot_types::json::RawJson;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bash_bench::{Switch, assert_nobody, inherited, keeper, mark, sleepers, until};

/// A folder to work in, and a command that is a hook.
struct Bench {
    folder: TempDir,
    hook: CommandHook,
}

impl Bench {
    fn new(command: &str) -> Self {
        Self::with(command, inherited())
    }

    fn with(command: &str, environment: Environment) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            hook: CommandHook {
                name: "guard".to_owned(),
                point: Point::PreToolUse,
                matcher: Matcher::all(),
                command: command.to_owned(),
                folder: None,
                limit: USUAL_LIMIT,
                commands: Commands::new(keeper(), environment),
            },
        }
    }

    fn occasion(&self, what: What) -> Occasion {
        Occasion {
            who: Who {
                session: AgentId::new("root"),
                agent: AgentId::new("kid"),
                definition: "worker".to_owned(),
                parent: Some(AgentId::new("root")),
                depth: 1,
                run: Some(RunNo::new(2)),
                workspace: self.folder.path().to_str().unwrap().to_owned(),
            },
            what,
        }
    }

    async fn call(&self, what: What) -> Result<Say, Trouble> {
        let occasion = self.occasion(what);
        self.hook.call(occasion, Cancel::never()).await
    }

    /// Calls it about a write.
    async fn say(&self) -> Result<Say, Trouble> {
        self.call(What::PreToolUse(write("a"))).await
    }
}

fn write(path: &str) -> Use {
    Use {
        call: CallId::new("c1"),
        tool: "write".to_owned(),
        input: RawJson::of(&json!({ "path": path })),
    }
}

/// Has a hook repeat what it is told.
async fn told(what: What) -> Value {
    let bench = Bench::new("cat > told.json");
    assert_eq!(bench.call(what).await, Ok(Say::nothing()));
    let text = std::fs::read_to_string(bench.folder.path().join("told.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[track_caller]
fn assert_broke_down(said: Result<Say, Trouble>, why: &str) {
    match said {
        Err(Trouble::BrokeDown(text)) => assert!(text.contains(why), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_command_is_told_who_does_what_in_the_words_of_claude_code() {
    let told = told(What::PreToolUse(write("a"))).await;
    for (field, expected) in [
        ("session_id", json!("root")),
        ("hook_event_name", json!("PreToolUse")),
        ("agent_id", json!("kid")),
        ("agent_type", json!("worker")),
        ("parent_agent_id", json!("root")),
        ("run", json!(2)),
        ("tool_name", json!("Write")),
        ("tool_id", json!("write")),
        ("tool_use_id", json!("c1")),
        ("transcript_path", Value::Null),
    ] {
        assert_eq!(told[field], expected, "{field}");
    }
    let cwd = told["cwd"].as_str().unwrap();
    assert!(cwd.starts_with('/'));
    let input = json!({ "path": "a", "file_path": format!("{cwd}/a") });
    assert_eq!(told["tool_input"], input);
}

#[tokio::test]
async fn a_command_is_told_what_an_end_is_like_and_what_a_call_gave() {
    let ending = Ending {
        status: "completed",
        kept: true,
        over: false,
        said: Some("all done".to_owned()),
    };
    let end = told(What::SubagentStop(ending)).await;
    assert_eq!(end["stop_hook_active"], json!(true));
    assert_eq!(end["last_assistant_message"], json!("all done"));
    assert_eq!(
        (&end["status"], &end["is_over"]),
        (&json!("completed"), &json!(false))
    );
    let given = told(What::PostToolUse {
        used: write("a"),
        response: RawJson::of(&json!({ "ok": 1 })),
    })
    .await;
    assert_eq!(given["tool_response"], json!({ "ok": 1 }));
}

#[tokio::test]
async fn code_2_objects_and_an_object_says_more() {
    let say = Bench::new("echo 'not here' >&2; exit 2").say().await;
    let reason = "not here".to_owned();
    assert_eq!(say, Ok(Say::word(Word::Deny { reason })));
    let answer = r#"{"systemMessage":"seen","hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"sure?","additionalContext":"it is new"}}"#;
    let say = Bench::new(&format!("echo '{answer}'")).say().await;
    let expected = Say {
        word: Word::Ask {
            reason: "sure?".to_owned(),
        },
        context: Some("it is new".to_owned()),
        note: Some("seen".to_owned()),
        switch: None,
    };
    assert_eq!(say, Ok(expected));
}

#[tokio::test]
async fn what_a_hook_complains_of_does_not_spoil_what_it_says() {
    let say = Bench::new(r#"echo 'warning: old' >&2; echo '{"decision":"block","reason":"no"}'"#);
    let reason = "no".to_owned();
    assert_eq!(say.say().await, Ok(Say::word(Word::Deny { reason })));
}

#[tokio::test]
async fn a_hook_that_is_not_there_prints_garbage_or_is_killed_has_not_answered() {
    assert_broke_down(
        Bench::new("./no-such-program").say().await,
        "could not be run",
    );
    assert_broke_down(Bench::new("echo '{ garbage'").say().await, "no answer");
    assert_broke_down(Bench::new("printf '{\\xff\\xfe'").say().await, "no answer");
    assert_broke_down(Bench::new("kill -9 $$").say().await, "signal");
    let failed = Bench::new("echo oops >&2; exit 1").say().await;
    assert_eq!(failed, Err(Trouble::Failed("exit code 1: oops".to_owned())));
}

#[tokio::test]
async fn a_hook_that_prints_without_end_is_kept_within_bounds() {
    let much = "head -c 50000000 /dev/zero | tr '\\0' x; head -c 9000000 /dev/zero >&2";
    assert_broke_down(Bench::new(much).say().await, "too much");
}

#[tokio::test]
async fn a_hook_need_not_read_what_it_is_told_and_may_be_told_much() {
    let input = RawJson::of(&json!({ "content": "x".repeat(1_500_000) }));
    let used = Use {
        input,
        ..write("a")
    };
    let said = Bench::new("exit 0")
        .call(What::PreToolUse(used.clone()))
        .await;
    assert_eq!(said, Ok(Say::nothing()));
    let said = Bench::new("wc -c > size")
        .call(What::PreToolUse(used))
        .await;
    assert_eq!(said, Ok(Say::nothing()));
}

#[tokio::test]
async fn tls_18_a_call_that_is_too_long_to_be_judged_is_denied() {
    let used = Use {
        input: RawJson::of(&"x".repeat(5_000_000)),
        ..write("a")
    };
    let bench = Bench::new("exit 0");
    for what in [
        What::PreToolUse(used.clone()),
        What::PermissionRequest(used.clone()),
    ] {
        match bench.call(what).await.map(|say| say.word) {
            Ok(Word::Deny { reason }) => assert!(reason.contains("too long"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
    let response = RawJson::of(&json!({}));
    let told = bench.call(What::PostToolUse { used, response }).await;
    assert_broke_down(told, "more than");
}

/// Starts what tries to get away, and waits for it.
fn runaways(mark: &str) -> String {
    format!(
        "setsid sleep {mark} & (setsid -f sleep {mark}) ; nohup sleep {mark} >/dev/null 2>&1 & "
    )
}

#[tokio::test]
async fn what_a_hook_leaves_running_is_ended_with_its_call() {
    let mark = mark();
    let bench = Bench::new(&format!("exec > /dev/null; {} exit 0", runaways(&mark)));
    assert_eq!(bench.say().await, Ok(Say::nothing()));
    assert_nobody(&mark);
}

#[tokio::test]
async fn tls_18_an_objection_that_comes_after_the_end_of_the_shell_is_heard() {
    let answer = r#"{"decision":"block","reason":"no"}"#;
    let late = format!("exec > >(sleep 0.3; cat); echo '{answer}'");
    let reason = "no".to_owned();
    let said = Bench::new(&late).say().await;
    assert_eq!(said, Ok(Say::word(Word::Deny { reason })));
}

#[tokio::test]
async fn tls_18_a_guard_that_leaves_its_output_to_who_never_ends_has_not_answered() {
    let mark = mark();
    let bench = Bench::new(&format!("{} exit 0", runaways(&mark)));
    let (switch, cancel) = Switch::new();
    let occasion = bench.occasion(What::PreToolUse(write("a")));
    let (said, ()) = tokio::join!(bench.hook.call(occasion, cancel), async {
        until("it is up", || sleepers(&mark) == 3).await;
        switch.fire();
    });
    assert_nobody(&mark);
    assert_broke_down(said, "ended");
    // An objection is heard all the same, and nobody waits where nothing is guarded.
    let objects = Bench::new(&format!("{} echo no >&2; exit 2", runaways(&mark)));
    let reason = "no".to_owned();
    assert_eq!(objects.say().await, Ok(Say::word(Word::Deny { reason })));
    let response = RawJson::of(&json!({}));
    let used = write("a");
    let told = bench.call(What::PostToolUse { used, response }).await;
    assert_eq!(told, Ok(Say::nothing()));
    assert_nobody(&mark);
}

#[tokio::test]
async fn a_hook_that_never_ends_is_ended_by_the_signal_with_all_it_started() {
    let mark = mark();
    let bench = Bench::new(&format!("trap '' TERM; {} sleep {mark}", runaways(&mark)));
    let (switch, cancel) = Switch::new();
    let occasion = bench.occasion(What::PreToolUse(write("a")));
    let (said, ()) = tokio::join!(bench.hook.call(occasion, cancel), async {
        until("it is up", || sleepers(&mark) == 4).await;
        switch.fire();
    });
    assert_nobody(&mark);
    assert_broke_down(said, "ended");
}

#[tokio::test]
async fn a_hook_that_is_dropped_is_ended_with_all_it_started() {
    let mark = mark();
    let bench = Bench::new(&format!("{} sleep {mark}", runaways(&mark)));
    let call = bench.say();
    let up = until("it is up", || sleepers(&mark) == 4);
    tokio::select! {
        biased;
        said = call => panic!("{said:?}"),
        () = up => {}
    }
    until("it is gone", || sleepers(&mark) == 0).await;
}

#[tokio::test]
async fn a_hook_sees_the_workspace_and_no_key_of_ours() {
    let given = |name: &str, value: &str| (name.into(), value.into());
    let environment = Environment {
        base: Base::Given(vec![
            given("PATH", "/usr/bin:/bin"),
            given("OUR_KEY", "secret"),
            given("THEIRS", "kept"),
        ]),
        remove: vec!["OUR_KEY".into()],
    };
    let command =
        r#"test "$PWD" = "$CLAUDE_PROJECT_DIR" && test -z "${OUR_KEY+x}" && test "$THEIRS" = kept"#;
    assert_eq!(
        Bench::with(command, environment).say().await,
        Ok(Say::nothing())
    );
}

#[test]
fn a_hook_says_how_long_it_may_take_and_what_it_is_about() {
    let mut bench = Bench::new("true");
    bench.hook.limit = Duration::from_secs(3);
    bench.hook.matcher = Matcher::parse("Bash|Write").unwrap();
    assert_eq!(bench.hook.limit(), Duration::from_secs(3));
    assert!(bench.hook.is_at(Point::PreToolUse) && !bench.hook.is_at(Point::Stop));
    assert!(bench.hook.wants(Point::PreToolUse, "write"));
    assert!(!bench.hook.wants(Point::PreToolUse, "read"));
}

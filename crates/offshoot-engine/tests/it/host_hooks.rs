//! The hooks of the program that hosts a session: they rewrite, and what they rewrite is judged (ruling 3).

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use offshoot_engine::{Asks, AttachError, Attachment, CommandError, Limits, Overlay};
use offshoot_types::cancel::Cancel;
use offshoot_types::command::{Order, Receipt, Verdict};
use offshoot_types::event::{Did, Event, Hooked};
use offshoot_types::hook::{
    CallPermission, CallReply, Hooks, HostHooks, Point, PromptReply, Say, USUAL_LIMIT, Use, What,
    Who, Word,
};
use offshoot_types::id::{AgentId, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, Mode, Toolset};
use offshoot_types::message::{Arguments, AssistantPart};
use offshoot_types::model::{Request, RequestMessage};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Need, Rule};
use offshoot_types::settlement::Status;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::asks::{answer, asked, write};
use crate::stage::{
    Guard, Line, Script, Stage, call, data, kind, opening, outcome_texts, say, task, user_texts,
};

type OnPrompt = dyn Fn(&str) -> Result<PromptReply, String> + Send + Sync;
type OnCall = dyn Fn(&Use) -> Result<CallReply, String> + Send + Sync;
type OnOutcome = dyn Fn(&Use, &Outcome) -> Result<Option<Outcome>, String> + Send + Sync;

/// A host that says what the test wants.
struct Host {
    on_prompt: Box<OnPrompt>,
    on_call: Box<OnCall>,
    on_outcome: Box<OnOutcome>,
    /// Where it never answers, whatever signal fires.
    hangs_at: Option<Point>,
    limit: Duration,
    asked: watch::Sender<usize>,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            on_prompt: Box::new(|_| Ok(PromptReply::Keep)),
            on_call: Box::new(|_| Ok(CallReply::default())),
            on_outcome: Box::new(|_, _| Ok(None)),
            hangs_at: None,
            limit: USUAL_LIMIT,
            asked: watch::Sender::new(0),
        }
    }
}

impl Host {
    fn on_prompt(
        reply: impl Fn(&str) -> Result<PromptReply, String> + Send + Sync + 'static,
    ) -> Self {
        let on_prompt = Box::new(reply);
        Self {
            on_prompt,
            ..Self::default()
        }
    }

    fn on_call(reply: impl Fn(&Use) -> Result<CallReply, String> + Send + Sync + 'static) -> Self {
        let on_call = Box::new(reply);
        Self {
            on_call,
            ..Self::default()
        }
    }

    fn on_outcome(
        reply: impl Fn(&Use, &Outcome) -> Result<Option<Outcome>, String> + Send + Sync + 'static,
    ) -> Self {
        let on_outcome = Box::new(reply);
        Self {
            on_outcome,
            ..Self::default()
        }
    }

    /// Rewrites every call of a tool.
    fn rewriting(tool: &'static str, arguments: Value) -> Self {
        Self::on_call(move |used| {
            if used.tool != tool {
                return Ok(CallReply::default());
            }
            Ok(CallReply::rewrite(RawJson::of(&arguments)))
        })
    }

    fn hanging_at(point: Point) -> Self {
        Self {
            hangs_at: Some(point),
            ..Self::default()
        }
    }

    /// Attaches it to the session on stage.
    fn on(self, stage: &Stage) -> Attachment {
        self.on_session(stage, &stage.tree)
    }

    fn on_session(self, stage: &Stage, session: &TreeId) -> Attachment {
        attach(stage, session, Arc::new(self))
    }

    /// Answers, unless it hangs there.
    fn reply<T: Send + 'static>(
        &self,
        point: Point,
        reply: Result<T, String>,
    ) -> BoxFuture<'static, Result<T, String>> {
        let hangs = self.hangs_at == Some(point);
        self.asked.send_modify(|asked| *asked += 1);
        Box::pin(async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            reply
        })
    }
}

impl HostHooks for Host {
    fn limit(&self) -> Duration {
        self.limit
    }

    fn on_prompt(
        &self,
        _who: Who,
        text: String,
        _cancel: Cancel,
    ) -> BoxFuture<'static, Result<PromptReply, String>> {
        self.reply(Point::UserPromptSubmit, (self.on_prompt)(&text))
    }

    fn on_call(
        &self,
        _who: Who,
        used: Use,
        _cancel: Cancel,
    ) -> BoxFuture<'static, Result<CallReply, String>> {
        self.reply(Point::PreToolUse, (self.on_call)(&used))
    }

    fn on_outcome(
        &self,
        _who: Who,
        used: Use,
        outcome: Outcome,
        _cancel: Cancel,
    ) -> BoxFuture<'static, Result<Option<Outcome>, String>> {
        self.reply(Point::PostToolUse, (self.on_outcome)(&used, &outcome))
    }
}

/// A tool that says what it ran with.
struct Echo(ToolSpec);

impl Echo {
    fn tool() -> Arc<dyn Tool> {
        let schema = json!({
            "type": "object",
            "properties": { "path": { "type": "string" } },
            "required": ["path"],
        });
        Arc::new(Self(ToolSpec::new(
            "echo",
            "Says it again.",
            &schema,
            Effect::Write,
        )))
    }
}

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn needs(&self, arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String> {
        let arguments: Value = arguments.read().map_err(|error| error.to_string())?;
        let path = arguments["path"].as_str().ok_or("path is missing")?;
        let target = format!("{}/{path}", place.workspace);
        Ok(vec![Need::new(Need::FS_WRITE, target)])
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        Box::pin(std::future::ready(Outcome::output(work.arguments)))
    }
}

fn attach(stage: &Stage, session: &TreeId, host: Arc<dyn HostHooks>) -> Attachment {
    let overlay = Overlay {
        host_hooks: Some(host),
        tools: vec![Echo::tool()],
        ..Overlay::default()
    };
    stage.runtime.attach(session, overlay).unwrap()
}

fn echo(path: &str) -> Line {
    call(&[("echo", json!({ "path": path }))])
}

fn echoes(path: &str) -> Script {
    Script::default().part("lead", [echo(path), say("done")])
}

/// A root that may write anything but `secret`.
fn lead() -> Manifest {
    Manifest {
        tools: Toolset::only(["*"]),
        permissions: Some(vec![
            Rule::new("*", "*", Action::Allow),
            Rule::new("fs.write", "/w/secret", Action::Deny),
        ]),
        ..Manifest::new("lead", Mode::Primary, "Lead.")
    }
}

/// Opens a session whose root may write anything but `secret`.
async fn ruled(script: Script, asks: Asks) -> Stage {
    Stage::cast(script, Limits::default(), asks, vec![lead()]).await
}

/// Returns what the hook of the host did, in order.
async fn hooked(stage: &Stage) -> Vec<Hooked> {
    let log = stage.log().await.into_iter();
    let hooked = log.filter_map(|entry| match entry.event {
        Event::Hooked(hooked) => Some(*hooked),
        _ => None,
    });
    hooked.filter(|hooked| hooked.by_host).collect()
}

/// Returns the arguments of the calls that a request says the model made.
fn said(request: &Request) -> Vec<Value> {
    let parts = request.messages.iter().flat_map(|message| match message {
        RequestMessage::Assistant(parts) => parts.as_slice(),
        RequestMessage::User(_) | RequestMessage::Outcomes(_) => &[],
    });
    let arguments = parts.filter_map(|part| match part {
        AssistantPart::Call(call) => Some(&call.arguments),
        _ => None,
    });
    let read = |arguments: &Arguments| match arguments {
        Arguments::Json(arguments) => arguments.read().unwrap(),
        Arguments::Malformed(text) => panic!("{text}"),
    };
    arguments.map(read).collect()
}

#[tokio::test]
async fn ruling_3_arguments_rewritten_to_a_denied_path_are_denied() {
    let stage = ruled(echoes("a"), Asks::YES).await;
    let _host = Host::rewriting("echo", json!({ "path": "secret" })).on(&stage);
    stage.ask("go").await;
    assert_eq!(kind(&stage.outcomes("lead").await[0]), ErrorKind::Denied);
}

#[tokio::test]
async fn ruling_3_arguments_rewritten_from_a_denied_path_run_and_the_model_reads_what_it_said() {
    let stage = ruled(echoes("secret"), Asks::YES).await;
    let rewritten = json!({ "path": "b" });
    let _host = Host::rewriting("echo", rewritten.clone()).on(&stage);
    stage.ask("go").await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), rewritten);
    let next = &stage.script.sent("lead")[1];
    assert_eq!(said(next), [json!({ "path": "secret" })]);
    assert_eq!(outcome_texts(next), [r#"{"path":"b"}"#]);
    let hooked = hooked(&stage).await.remove(0);
    assert_eq!(hooked.point, Point::PreToolUse);
    assert_eq!(hooked.arguments, Some(RawJson::of(&rewritten)));
}

#[tokio::test]
async fn ruling_3_hooks_of_projects_are_asked_about_what_was_rewritten() {
    let guard = Arc::new(Guard::at(&[Point::PreToolUse, Point::PostToolUse]));
    let stage = Stage::watched(echoes("a"), Asks::YES, &guard).await;
    let _host = Host::rewriting("echo", json!({ "path": "b" })).on(&stage);
    stage.ask("go").await;
    let inputs: Vec<Value> = guard
        .seen()
        .into_iter()
        .map(|occasion| match occasion.what {
            What::PreToolUse(used) | What::PostToolUse { used, .. } => used.input.read().unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(inputs, [json!({ "path": "b" }), json!({ "path": "b" })]);
}

#[tokio::test]
async fn ruling_3_tls_02_rewritten_arguments_that_do_not_fit_the_schema_are_told() {
    let stage = ruled(echoes("a"), Asks::YES).await;
    let _host = Host::rewriting("echo", json!({ "path": 7 })).on(&stage);
    stage.ask("go").await;
    let outcome = &stage.outcomes("lead").await[0];
    assert_eq!(kind(outcome), ErrorKind::InvalidInput, "{outcome:?}");
}

#[tokio::test]
async fn ruling_3_an_allow_answers_what_rules_ask_and_no_deny() {
    let allow = || Host::on_call(|_| Ok(CallReply::allow()));
    for asks in [Asks::NOBODY, Asks::SOMEBODY] {
        let stage = Stage::asking(echoes("a"), Limits::default(), asks).await;
        let _host = allow().on(&stage);
        stage.ask("go").await;
        let outcome = stage.outcomes("lead").await.remove(0);
        assert_eq!(data(&outcome), json!({ "path": "a" }));
    }
    let stage = ruled(echoes("secret"), Asks::SOMEBODY).await;
    let _host = allow().on(&stage);
    stage.ask("go").await;
    assert_eq!(kind(&stage.outcomes("lead").await[0]), ErrorKind::Denied);
}

#[tokio::test]
async fn ruling_3_an_allow_answers_no_hook_that_wants_a_person_to_be_asked() {
    let ask = Say::word(Word::Ask {
        reason: "sure?".to_owned(),
    });
    let guard = Arc::new(Guard::at(&[Point::PreToolUse]).saying(ask));
    let stage = Stage::watched(echoes("a"), Asks::NOBODY, &guard).await;
    let _host = Host::on_call(|_| Ok(CallReply::allow())).on(&stage);
    stage.ask("go").await;
    assert_eq!(kind(&stage.outcomes("lead").await[0]), ErrorKind::Denied);
}

#[tokio::test]
async fn ruling_3_an_allow_holds_for_a_call_that_starts_after_others_have_run() {
    let calls = [
        ("echo", json!({ "path": "a" })),
        ("echo", json!({ "path": "b" })),
    ];
    let script = Script::default().part("lead", [call(&calls), say("done")]);
    let stage = Stage::asking(script, Limits::default(), Asks::NOBODY).await;
    let _host = Host::on_call(|_| Ok(CallReply::allow())).on(&stage);
    stage.ask("go").await;
    let ran: Vec<Value> = stage.outcomes("lead").await.iter().map(data).collect();
    assert_eq!(ran, [json!({ "path": "a" }), json!({ "path": "b" })]);
}

#[tokio::test]
async fn ruling_3_a_deny_a_failure_a_panic_and_an_overrun_deny_the_call() {
    let hosts: [fn() -> Host; 4] = [
        || Host::on_call(|_| Ok(CallReply::deny("not today"))),
        || Host::on_call(|_| Err("its client is gone".to_owned())),
        || Host::on_call(|_| panic!("a bug of the host")),
        || Host {
            limit: Duration::ZERO,
            ..Host::hanging_at(Point::PreToolUse)
        },
    ];
    let limits = Limits {
        grace: Duration::ZERO,
        ..Limits::default()
    };
    for (index, host) in hosts.into_iter().enumerate() {
        let stage = Stage::asking(echoes("a"), limits.clone(), Asks::YES).await;
        let _host = host().on(&stage);
        stage.ask("go").await;
        let outcome = stage.outcomes("lead").await.remove(0);
        assert_eq!(kind(&outcome), ErrorKind::Denied, "{index}");
        let did = hooked(&stage).await.remove(0).did;
        let refused = matches!(did, Did::Refused { .. });
        assert_eq!(refused, index == 0, "{did:?}");
        assert_eq!(matches!(did, Did::Failed { .. }), index > 0, "{did:?}");
    }
}

#[tokio::test]
async fn ruling_3_a_result_and_a_childs_answer_are_replaced_before_they_are_stored() {
    let script = Script::default()
        .part("lead", [echo("a"), task("worker", "find it"), say("done")])
        .part("worker", [say("the key is 1234")]);
    let stage = Stage::new(script).await;
    let _host = Host::on_outcome(|used, outcome| {
        let text = outcome.for_model().replace("1234", "****");
        let text = format!("{} {text}", used.tool);
        Ok(Some(Outcome::output(RawJson::of(&text))))
    })
    .on(&stage);
    stage.ask("go").await;
    let stored: Vec<String> = stage
        .outcomes("lead")
        .await
        .iter()
        .map(Outcome::for_model)
        .collect();
    assert_eq!(stored[0], r#"echo {"path":"a"}"#);
    assert!(stored[1].starts_with("task "), "{}", stored[1]);
    assert!(stored[1].contains("the key is ****"), "{}", stored[1]);
    let requests = stage.script.sent("lead");
    assert_eq!(outcome_texts(&requests[2]), stored);
    let points: Vec<Point> = hooked(&stage).await.iter().map(|it| it.point).collect();
    assert_eq!(points, [Point::PostToolUse, Point::PostToolUse]);
}

#[tokio::test]
async fn ruling_3_an_outcome_stays_as_it_is_if_the_host_fails_or_answers_too_much() {
    let too_much = RawJson::of(&"x".repeat(2 * 1024 * 1024));
    let hosts = [
        Host::on_outcome(|_, _| Err("its client is gone".to_owned())),
        Host::on_outcome(move |_, _| Ok(Some(Outcome::output(too_much.clone())))),
    ];
    for host in hosts {
        let stage = Stage::new(echoes("a")).await;
        let _host = host.on(&stage);
        stage.ask("go").await;
        let outcome = stage.outcomes("lead").await.remove(0);
        assert_eq!(data(&outcome), json!({ "path": "a" }));
        let hooked = hooked(&stage).await.remove(0);
        assert!(matches!(hooked.did, Did::Failed { .. }), "{hooked:?}");
    }
}

#[tokio::test]
async fn ruling_3_a_prompt_is_rewritten_before_it_is_stored() {
    let script = Script::default().part("lead", [say("one"), say("two")]);
    let stage = Stage::new(script).await;
    let rewrite = || Host::on_prompt(|text| Ok(PromptReply::Rewrite(text.replace("1234", "****"))));
    let _host = rewrite().on(&stage);
    stage.ask("the key is 1234").await;
    assert_eq!(
        user_texts(&stage.script.sent("lead")[0]),
        ["the key is ****"]
    );

    let session = TreeId::of(AgentId::new("second"));
    let _other = rewrite().on_session(&stage, &session);
    stage.ask_another("second", "use 1234").await;
    stage.quiet_in(&session).await;
    assert_eq!(user_texts(&stage.script.sent("lead")[1]), ["use ****"]);
}

#[tokio::test]
async fn ruling_3_a_prompt_that_the_host_refuses_or_fails_at_is_stored_nowhere() {
    let hosts = [
        Host::on_prompt(|_| {
            let reason = "not here".to_owned();
            Ok(PromptReply::Refuse { reason })
        }),
        Host::on_prompt(|_| Err("its client is gone".to_owned())),
    ];
    for host in hosts {
        let stage = Stage::new(Script::default()).await;
        let host: Arc<dyn HostHooks> = Arc::new(host);
        let _host = attach(&stage, &stage.tree, host.clone());
        let receipt = stage
            .order(stage.root(), Order::Prompt(stage.words("secret words")))
            .await;
        assert!(matches!(receipt, Receipt::NoEffect { .. }), "{receipt:?}");
        let prompted = |event: &Event| matches!(event, Event::Prompted(_));
        let log = stage.log().await;
        assert!(!log.iter().any(|entry| prompted(&entry.event)));

        let agent = AgentId::new("second");
        let session = TreeId::of(agent.clone());
        let _other = attach(&stage, &session, host);
        let mut opening = opening("lead");
        opening.prompt = Some(stage.words("secret words"));
        let command = stage.command(&session, agent, Order::open(opening));
        let refused = stage.runtime.command(command).await.unwrap_err();
        assert!(matches!(refused, CommandError::Invalid(_)), "{refused}");
    }
}

#[tokio::test]
async fn ruling_3_a_host_that_never_answers_is_left_when_the_turn_is_cancelled() {
    let limits = Limits {
        grace: Duration::ZERO,
        ..Limits::default()
    };
    for (point, is_cancelled) in [(Point::PreToolUse, true), (Point::PostToolUse, false)] {
        let stage = Stage::asking(echoes("a"), limits.clone(), Asks::YES).await;
        let host = Arc::new(Host::hanging_at(point));
        let mut asked = host.asked.subscribe();
        let _host = attach(&stage, &stage.tree, host);
        stage.prompt(stage.root(), "go").await;
        // The prompt, the call, and the outcome if the call runs.
        let times = if is_cancelled { 2 } else { 3 };
        asked.wait_for(|asked| *asked == times).await.unwrap();
        let settlement = stage.cancel(stage.root()).await;
        assert!(
            matches!(settlement.status, Status::Cancelled { .. }),
            "{settlement:?}"
        );
        let outcome = stage.outcomes("lead").await.remove(0);
        if is_cancelled {
            assert_eq!(kind(&outcome), ErrorKind::Cancelled);
        } else {
            // It has run: what it came to is stored.
            assert_eq!(data(&outcome), json!({ "path": "a" }));
        }
    }
}

#[tokio::test]
async fn ruling_3_r12_two_sessions_with_hosts_of_their_own_do_not_meet() {
    let script = Script::default().part("lead", [echo("a"), say("one"), echo("a"), say("two")]);
    let stage = Stage::new(script).await;
    let second = TreeId::of(AgentId::new("second"));
    let _first = Host::rewriting("echo", json!({ "path": "first" })).on(&stage);
    let _second = Host::rewriting("echo", json!({ "path": "second" })).on_session(&stage, &second);
    stage.ask("go").await;
    stage.ask_another("second", "go").await;
    stage.quiet_in(&second).await;
    assert_eq!(
        data(&stage.outcomes("lead").await[0]),
        json!({ "path": "first" })
    );
    let answered = &stage.script.sent("lead")[3];
    assert_eq!(outcome_texts(answered), [r#"{"path":"second"}"#]);
}

#[tokio::test]
async fn ruling_3_a_session_has_one_host() {
    let stage = Stage::new(Script::default()).await;
    let overlay = || Overlay {
        host_hooks: Some(Arc::new(Host::default())),
        ..Overlay::default()
    };
    let first = stage.runtime.attach(&stage.tree, overlay()).unwrap();
    let refused = stage.runtime.attach(&stage.tree, overlay()).err();
    assert_eq!(refused, Some(AttachError::HostHooks));
    drop(first);
    assert!(stage.runtime.attach(&stage.tree, overlay()).is_ok());
}

#[tokio::test]
async fn ruling_3_r16_an_ask_of_a_rewritten_call_survives_with_what_was_rewritten() {
    let stage = Stage::asking(echoes("secret"), Limits::default(), Asks::SOMEBODY).await;
    let host = Host::rewriting("echo", json!({ "path": "b" })).on(&stage);
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    drop(host);
    let stage = stage.crash().await;
    // No host: what it rewrote is in the log.
    let _tools = stage.attach(vec![Echo::tool()]);
    let needs = stage.store_asks().await.remove(0).ask.needs;
    assert_eq!(needs, [Need::new(Need::FS_WRITE, "/w/b")]);
    stage.order(stage.root(), Order::Resume).await;
    assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Answered);
    stage.quiet().await;
    let outcome = stage.outcomes("lead").await.remove(0);
    assert_eq!(data(&outcome), json!({ "path": "b" }));
}

#[tokio::test]
async fn ruling_3_r16_an_allow_survives_for_a_call_that_had_not_started() {
    let calls = [
        ("write", json!({ "path": "a" })),
        ("echo", json!({ "path": "a" })),
    ];
    let script = Script::default().part("lead", [call(&calls), say("done")]);
    let stage = Stage::asking(script, Limits::default(), Asks::SOMEBODY).await;
    let host = Host::on_call(|used| {
        if used.tool != "echo" {
            return Ok(CallReply::default());
        }
        Ok(CallReply {
            arguments: Some(RawJson::of(&json!({ "path": "b" }))),
            permission: CallPermission::Allow,
        })
    });
    let host = host.on(&stage);
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    drop(host);
    let stage = stage.crash_with(Hooks::default()).await;
    let _tools = stage.attach(vec![Echo::tool()]);
    stage.order(stage.root(), Order::Resume).await;
    assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Answered);
    stage.quiet().await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(data(&outcomes[0]), json!("done"));
    assert_eq!(data(&outcomes[1]), json!({ "path": "b" }));
}

#[tokio::test]
async fn ruling_3_a_task_is_judged_by_the_agent_that_the_host_names() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), write("a"), say("done")])
        .part("reader", [write("b"), say("could not")]);
    let stage = Stage::new(script).await;
    let rewritten = json!({ "subagent_type": "reader", "prompt": "look only" });
    let _host = Host::rewriting("task", rewritten).on(&stage);
    stage.ask("go").await;
    assert_eq!(kind(&stage.outcomes("reader").await[0]), ErrorKind::Denied);
    let asked = &stage.script.sent("reader")[0];
    assert_eq!(user_texts(asked).pop().as_deref(), Some("look only"));
}

//! The files and terminals of a client, over a whole connection.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::connection::{Connection, Ground, prompt};

const SCRIPT: &str = r#"
agents:
  - {name: lead, mode: primary, description: Leads., prompt: Lead., tools: [task, read, edit, write, bash]}
  - {name: worker, mode: subagent, description: Works., prompt: Work., tools: [read]}
replies:
  - {agent: lead, after_tools: false, prompt: look, call: [{tool: read, arguments: {path: a.txt}}]}
  - {agent: lead, after_tools: false, prompt: change, call: [{tool: edit, arguments: {path: a.txt, old_string: typed, new_string: edited}}]}
  - {agent: lead, after_tools: false, prompt: create, call: [{tool: write, arguments: {path: new/b.txt, content: made}}]}
  - {agent: lead, after_tools: false, prompt: delegate, call: [{tool: task, arguments: {subagent_type: worker, prompt: look}}]}
  - {agent: lead, after_tools: false, prompt: run, call: [{tool: bash, arguments: {command: make}}]}
  - {agent: lead, after_tools: true, say: done}
  - {agent: worker, after_tools: false, prompt: look, call: [{tool: read, arguments: {path: a.txt}}]}
  - {agent: worker, after_tools: true, say: seen}
"#;

/// An editor: it answers what agents ask of it.
#[derive(Default)]
struct Editor {
    texts: BTreeMap<String, String>,
    /// The method that it answers with an error.
    fails: &'static str,
    /// Whether the command in its terminal goes on until it is killed.
    hangs: bool,
    /// The request that waits for the command's end.
    waits: Option<Value>,
}

impl Editor {
    async fn answer(&mut self, client: &mut Connection, request: &Value) {
        let params = &request["params"];
        let text = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
        let method = request["method"].as_str().unwrap_or_default();
        if method == self.fails {
            return client.refuse(request, -32603).await;
        }
        let result = match method {
            "fs/read_text_file" => match self.texts.get(&text("path")) {
                Some(content) => json!({ "content": content }),
                None => return client.refuse(request, -32002).await,
            },
            "fs/write_text_file" => {
                fs::write(text("path"), text("content")).unwrap();
                self.texts.insert(text("path"), text("content"));
                json!({})
            }
            "terminal/create" => json!({ "terminalId": "terminal-1" }),
            "terminal/wait_for_exit" if self.hangs => {
                self.waits = Some(request.clone());
                return;
            }
            "terminal/wait_for_exit" => json!({ "exitCode": 2 }),
            "terminal/output" => json!({ "output": "built\n", "truncated": false }),
            "terminal/kill" => {
                client.respond(request, json!({})).await;
                let waits = self.waits.take().unwrap();
                return client.respond(&waits, json!({ "signal": "SIGKILL" })).await;
            }
            "terminal/release" => json!({}),
            _ => return,
        };
        client.respond(request, result).await;
    }

    /// Prompts a session, and answers what is asked until the prompt is answered.
    async fn prompt(&mut self, client: &mut Connection, id: &str, text: &str) -> Value {
        let sent = client.send("session/prompt", prompt(id, text)).await;
        self.until_answered(client, sent).await
    }

    async fn until_answered(&mut self, client: &mut Connection, sent: u64) -> Value {
        loop {
            let message = client.next().await;
            if message["id"] == json!(sent) && message.get("method").is_none() {
                return message["result"].clone();
            }
            self.answer(client, &message).await;
        }
    }
}

fn files() -> Value {
    json!({ "fs": { "readTextFile": true, "writeTextFile": true } })
}

fn terminals() -> Value {
    json!({ "terminal": true })
}

/// Returns the requests whose method begins like this, in order, with the session that each is on.
fn requests<'a>(client: &'a Connection, prefix: &str) -> Vec<(&'a str, &'a str)> {
    let messages = client.seen.iter();
    let asked =
        messages.filter_map(|it| Some((it["method"].as_str()?, &it["params"]["sessionId"])));
    asked
        .filter(|(method, _)| method.starts_with(prefix))
        .map(|(method, session)| (method, session.as_str().unwrap()))
        .collect()
}

/// Returns what the last call came to: its status, and its words.
fn outcome(client: &Connection) -> (String, String) {
    let updates = client.updates_of("tool_call_update");
    let (_, last) = updates.last().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (
        text(&last["status"]),
        text(&last["content"][0]["content"]["text"]),
    )
}

/// A workspace with a file that the editor has changed and not saved.
fn ground() -> (Ground, String, Editor) {
    let ground = Ground::new(SCRIPT);
    let path = format!("{}/a.txt", ground.workspace());
    fs::write(&path, "saved").unwrap();
    let editor = Editor {
        texts: BTreeMap::from([(path.clone(), "typed".to_owned())]),
        ..Editor::default()
    };
    (ground, path, editor)
}

#[tokio::test]
async fn an_agent_reads_the_text_that_is_not_saved_and_its_edit_appears_in_the_editor() {
    let (ground, path, mut editor) = ground();
    let (mut client, id) = ground.session(files()).await;
    editor.prompt(&mut client, &id, "look").await;
    assert_eq!(outcome(&client), ("completed".into(), "typed".into()));
    editor.prompt(&mut client, &id, "change").await;
    assert_eq!(editor.texts[&path], "edited");
    editor.prompt(&mut client, &id, "create").await;
    let made = format!("{}/new/b.txt", ground.workspace());
    assert_eq!(editor.texts[&made], "made");
    let expected = [
        ("fs/read_text_file", id.as_str()),
        ("fs/read_text_file", &id),
        ("fs/write_text_file", &id),
        ("fs/read_text_file", &id),
        ("fs/write_text_file", &id),
    ];
    assert_eq!(requests(&client, "fs/"), expected);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_session_that_is_loaded_resumed_or_copied_works_with_the_files_of_its_new_client() {
    let (ground, path, mut editor) = ground();
    let (mut client, id) = ground.session(json!({})).await;
    editor.prompt(&mut client, &id, "look").await;
    assert_eq!(outcome(&client).1, "saved");
    client.hang_up().await.unwrap();
    for method in ["session/load", "session/resume", "session/fork"] {
        editor.texts.insert(path.clone(), "typed".to_owned());
        let mut client = ground.initialized(files()).await;
        let request = json!({ "sessionId": id, "cwd": ground.workspace(), "mcpServers": [] });
        let attached = client.call(method, request).await.unwrap();
        let session = attached["sessionId"].as_str().unwrap_or(&id).to_owned();
        editor.prompt(&mut client, &session, "change").await;
        assert_eq!(editor.texts[&path], "edited", "{method}");
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn rules_1_and_4_requests_of_a_child_bear_its_id_and_follow_its_announcement() {
    let (ground, _, mut editor) = ground();
    let mut capabilities = files();
    capabilities["subagents"] = json!({});
    let (mut client, id) = ground.session(capabilities).await;
    editor.prompt(&mut client, &id, "delegate").await;
    let at = |method: &str| client.seen.iter().position(|it| it["method"] == method);
    let is_announcement = |it: &Value| it["params"]["update"]["sessionUpdate"] == "subagent_update";
    let announced = client.seen.iter().position(is_announcement).unwrap();
    let asked = at("fs/read_text_file").unwrap();
    assert!(announced < asked);
    let child = &client.seen[announced]["params"]["update"]["sessionId"];
    assert_ne!(child, &json!(id));
    assert_eq!(&client.seen[asked]["params"]["sessionId"], child);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn in_the_flat_form_requests_of_a_child_are_on_the_session_of_the_root() {
    let (ground, _, mut editor) = ground();
    let (mut client, id) = ground.session(files()).await;
    editor.prompt(&mut client, &id, "delegate").await;
    assert_eq!(
        requests(&client, "fs/"),
        [("fs/read_text_file", id.as_str())]
    );
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_client_that_does_not_both_read_and_write_is_not_asked_for_files() {
    for capabilities in [
        json!({}),
        json!({ "fs": { "readTextFile": true } }),
        json!({ "fs": { "writeTextFile": true } }),
    ] {
        let (ground, path, mut editor) = ground();
        fs::write(&path, "typed on disk").unwrap();
        let (mut client, id) = ground.session(capabilities).await;
        editor.prompt(&mut client, &id, "change").await;
        assert_eq!(fs::read_to_string(&path).unwrap(), "edited on disk");
        assert_eq!(requests(&client, "fs/"), []);
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn an_error_of_the_client_is_the_error_of_the_call_and_the_file_stays() {
    for fails in ["fs/read_text_file", "fs/write_text_file"] {
        let (ground, path, mut editor) = ground();
        editor.fails = fails;
        let (mut client, id) = ground.session(files()).await;
        let answer = editor.prompt(&mut client, &id, "change").await;
        assert_eq!(answer["stopReason"], "end_turn");
        assert_eq!(outcome(&client).0, "failed");
        assert_eq!(fs::read_to_string(&path).unwrap(), "saved");
        assert_eq!(editor.texts[&path], "typed");
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn a_client_that_vanishes_in_the_middle_of_a_request_leaves_the_session_intact() {
    let (ground, path, mut editor) = ground();
    let (mut client, id) = ground.session(files()).await;
    client.send("session/prompt", prompt(&id, "change")).await;
    client.until(|it| it["method"] == "fs/read_text_file").await;
    client.hang_up().await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "saved");
    let mut client = ground.initialized(files()).await;
    let request = json!({ "sessionId": id, "cwd": ground.workspace(), "mcpServers": [] });
    client.call("session/load", request).await.unwrap();
    editor.prompt(&mut client, &id, "change").await;
    assert_eq!(editor.texts[&path], "edited");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_command_runs_in_a_terminal_that_its_call_shows() {
    let (ground, _, mut editor) = ground();
    let (mut client, id) = ground.session(terminals()).await;
    editor.prompt(&mut client, &id, "run").await;
    let asked: Vec<&str> = requests(&client, "terminal/")
        .into_iter()
        .map(|(method, _)| method)
        .collect();
    assert_eq!(
        asked,
        [
            "terminal/create",
            "terminal/wait_for_exit",
            "terminal/output",
            "terminal/release"
        ]
    );
    let created = client
        .seen
        .iter()
        .find(|it| it["method"] == "terminal/create")
        .unwrap();
    let params = &created["params"];
    assert_eq!(params["cwd"], ground.workspace());
    assert_eq!(params["args"], json!(["make"]));
    let updates = client.updates_of("tool_call_update");
    let shown = json!([{ "type": "terminal", "terminalId": "terminal-1" }]);
    assert!(updates.iter().any(|(_, update)| update["content"] == shown));
    assert!(outcome(&client).1.starts_with("built\n[exit code 2]"));
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_cancel_kills_the_command_and_releases_its_terminal() {
    let (ground, _, mut editor) = ground();
    editor.hangs = true;
    let (mut client, id) = ground.session(terminals()).await;
    let sent = client.send("session/prompt", prompt(&id, "run")).await;
    while editor.waits.is_none() {
        let message = client.next().await;
        editor.answer(&mut client, &message).await;
    }
    let cancel = json!({ "sessionId": id });
    client.notify("session/cancel", cancel).await;
    let answer = editor.until_answered(&mut client, sent).await;
    assert_eq!(answer["stopReason"], "cancelled");
    let asked = requests(&client, "terminal/");
    let has = |wanted: &str| asked.iter().any(|(method, _)| *method == wanted);
    assert!(has("terminal/kill") && has("terminal/release"));
    client.hang_up().await.unwrap();
}

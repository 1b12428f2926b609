//! A world for the offline model: files in memory, and tools over them in their real forms.
//!
//! Has no test of its own. An agent is run to its end, its children with it, as
//! the engine would; nothing here knows what the model will ask for.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::{FutureExt, StreamExt};
use offshoot_models::Offline;
use offshoot_types::cancel::Cancel;
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, AssistantPart, Call, StopReason, Usage};
use offshoot_types::model::{
    Asker, CallOutcome, Chunk, Model, Request, RequestMessage, ToolChoice,
};
use offshoot_types::tool::{Effect, ToolSpec};
use regex::Regex;
use serde_json::Value;

use crate::stage::sorted;

/// Most steps that any prompt may take.
pub(crate) const MOST_STEPS: usize = 12;

/// Where a list lies that is too long to show.
pub(crate) const WHOLE_LIST: &str = ".offshoot/list.txt";

/// Most bytes that one reading returns.
const MOST_READ: usize = 200 * 1024;

const ROOT_TOOLS: &[&str] = &["read", "glob", "grep", "task", "write", "bash"];
const CHILD_TOOLS: &[&str] = &["read", "glob", "grep"];

/// A workspace and what may be done in it.
#[derive(Clone)]
pub(crate) struct World {
    files: BTreeMap<String, String>,
    tools: Vec<&'static str>,
    denied: Vec<&'static str>,
    /// What a child of an area comes to instead of working, by a part of its prompt.
    played: Vec<(&'static str, Played)>,
    /// What searches say that they left out.
    gap: &'static str,
}

/// What a child comes to instead of working.
#[derive(Clone)]
pub(crate) enum Played {
    Fails(&'static str),
    Says(&'static str),
    GoesOn(&'static str),
}

/// What an agent did.
#[derive(Default)]
pub(crate) struct Run {
    /// Its last words.
    pub(crate) text: String,
    pub(crate) steps: usize,
    /// `tool {arguments}`, in order, by step.
    pub(crate) calls: Vec<Vec<String>>,
    pub(crate) children: Vec<Run>,
    pub(crate) messages: Vec<RequestMessage>,
    /// Whether it says that it could not do what was asked.
    pub(crate) unable: bool,
}

impl World {
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let own = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        Self {
            files: files.iter().map(own).collect(),
            tools: ROOT_TOOLS.to_vec(),
            denied: Vec::new(),
            played: Vec::new(),
            gap: "",
        }
    }

    pub(crate) fn file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    pub(crate) fn offering(mut self, tools: &[&'static str]) -> Self {
        self.tools = tools.to_vec();
        self
    }

    pub(crate) fn denying(mut self, tools: &[&'static str]) -> Self {
        self.denied = tools.to_vec();
        self
    }

    pub(crate) fn playing(mut self, prompt: &'static str, played: Played) -> Self {
        self.played.push((prompt, played));
        self
    }

    pub(crate) fn leaving_out(mut self, gap: &'static str) -> Self {
        self.gap = gap;
        self
    }

    /// Runs a root to its end.
    pub(crate) fn ask(&self, prompt: &str) -> Run {
        self.go_on(Vec::new(), prompt)
    }

    /// Runs a root on from an earlier conversation.
    pub(crate) fn go_on(&self, mut messages: Vec<RequestMessage>, prompt: &str) -> Run {
        messages.push(RequestMessage::User(prompt.into()));
        self.agent(messages, 0)
    }

    fn agent(&self, messages: Vec<RequestMessage>, depth: u32) -> Run {
        let tools = match depth {
            0 => &self.tools,
            _ => &CHILD_TOOLS.to_vec(),
        };
        let mut children = Vec::new();
        let mut run = drive(messages, depth, tools, &mut |call| {
            self.outcome(call, &mut children)
        });
        run.children = children;
        run
    }

    fn outcome(&self, call: &Call, children: &mut Vec<Run>) -> Result<String, String> {
        let Arguments::Json(json) = &call.arguments else {
            panic!("malformed arguments: {call:?}");
        };
        let arguments: Value = json.read().unwrap();
        if self.denied.contains(&call.tool.as_str()) {
            return Err(format!(
                "{} is denied by a rule of this workspace",
                call.tool
            ));
        }
        let text = |key: &str| arguments.get(key).and_then(Value::as_str);
        match call.tool.as_str() {
            "glob" | "grep" if !self.has(text("path")) => Err(format!(
                "{} `{}`: there is no such file or folder",
                call.tool,
                text("path").unwrap_or_default()
            )),
            "glob" => Ok(self.glob(text("pattern").unwrap(), text("path"))),
            "grep" => Ok(self.grep(text("pattern").unwrap(), text("path"), text("glob"))),
            "read" => self.read(text("path").unwrap(), &arguments),
            "task" => {
                assert_eq!(text("subagent_type"), Some("explore"));
                self.child(text("prompt").unwrap(), children)
            }
            "write" => Ok("Written.".to_owned()),
            "bash" => Ok("running 3 tests\n```\n\u{1b}[32mok\u{1b}[0m".to_owned()),
            other => panic!("no tool {other}"),
        }
    }

    fn child(&self, prompt: &str, children: &mut Vec<Run>) -> Result<String, String> {
        let played = self.played.iter().find(|(part, _)| prompt.contains(part));
        let output = match played.map(|(_, played)| played) {
            Some(Played::Fails(why)) => return Err((*why).to_owned()),
            Some(Played::GoesOn(session)) => {
                return Ok(serde_json::json!({ "session_id": session }).to_string());
            }
            Some(Played::Says(text)) => (*text).to_owned(),
            None => {
                let run = self.agent(vec![RequestMessage::User(prompt.into())], 1);
                let text = if run.unable {
                    format!("[partial: it could not] {}", run.text)
                } else {
                    run.text.clone()
                };
                children.push(run);
                text
            }
        };
        Ok(serde_json::json!({ "output": output }).to_string())
    }

    /// Tells whether there is a file or a folder of that name.
    fn has(&self, path: Option<&str>) -> bool {
        let Some(path) = path.filter(|path| *path != ".") else {
            return true;
        };
        let inside = format!("{}/", path.trim_end_matches('/'));
        let mut paths = self.files.keys();
        paths.any(|known| known == path || known.starts_with(&inside))
    }

    fn glob(&self, pattern: &str, folder: Option<&str>) -> String {
        const MOST: usize = 1000;
        let paths: Vec<&String> = self
            .matching(Some(pattern), folder)
            .map(|(path, _)| path)
            .collect();
        if paths.is_empty() {
            return format!("{}[no files match]\n", self.gap);
        }
        let mut text = String::new();
        for path in paths.iter().take(MOST) {
            writeln!(text, "{path}").unwrap();
        }
        let count = paths.len();
        if count > MOST {
            writeln!(
                text,
                "[truncated: {MOST} of {count} files shown; all of them are in {WHOLE_LIST}]"
            )
            .unwrap();
        }
        text += self.gap;
        let bytes: usize = paths.iter().map(|path| self.files[*path].len()).sum();
        let noun = if count == 1 { "file" } else { "files" };
        writeln!(text, "[{count} {noun}, {bytes} B]").unwrap();
        text
    }

    fn grep(&self, pattern: &str, folder: Option<&str>, files: Option<&str>) -> String {
        const MOST: usize = 200;
        let pattern = Regex::new(pattern).unwrap();
        let mut lines = Vec::new();
        let mut hit = std::collections::BTreeSet::new();
        for (path, text) in self.matching(files, folder) {
            for (line, number) in text.lines().zip(1..) {
                if pattern.is_match(line) {
                    lines.push(format!("{path}:{number}:{line}\n"));
                    hit.insert(path);
                }
            }
        }
        if lines.is_empty() {
            return format!("{}[no matches]\n", self.gap);
        }
        let count = lines.len();
        lines.truncate(MOST);
        let mut text = lines.concat();
        if count > MOST {
            writeln!(
                text,
                "[truncated: {MOST} of {count} matches shown; all of them are in x]"
            )
            .unwrap();
        }
        text += self.gap;
        writeln!(text, "[{count} matches in {} files]", hit.len()).unwrap();
        text
    }

    fn read(&self, path: &str, arguments: &Value) -> Result<String, String> {
        let whole;
        let text = if path == WHOLE_LIST {
            let paths: Vec<&str> = self.files.keys().map(String::as_str).collect();
            whole = paths.join("\n");
            &whole
        } else {
            let missing = || format!("read {path}: no such file");
            self.files.get(path).ok_or_else(missing)?
        };
        let number = |key: &str| arguments.get(key).and_then(Value::as_u64);
        let offset = number("offset").map_or(1, |offset| usize::try_from(offset).unwrap());
        let limit = number("limit").map_or(usize::MAX, |limit| usize::try_from(limit).unwrap());
        let lines = text.split_inclusive('\n').skip(offset - 1).take(limit);
        let mut shown = String::new();
        for (line, number) in lines.zip(offset..) {
            if shown.len() + line.len() > MOST_READ {
                let (last, next) = (number - 1, number);
                shown += &format!(
                    "[truncated: lines {offset} to {last} are shown; read on with offset {next}]"
                );
                break;
            }
            shown += line;
        }
        Ok(shown)
    }

    fn matching(
        &self,
        pattern: Option<&str>,
        folder: Option<&str>,
    ) -> impl Iterator<Item = (&String, &String)> {
        let pattern = pattern.map(glob_pattern);
        let folder = folder.map(|folder| format!("{folder}/"));
        self.files.iter().filter(move |(path, _)| {
            let inside = match &folder {
                Some(folder) => path.strip_prefix(folder.as_str()),
                None => Some(path.as_str()),
            };
            inside.is_some_and(|rest| pattern.as_ref().is_none_or(|p| p.is_match(rest)))
        })
    }
}

/// Runs one agent to its end over outcomes that `outcome` makes.
pub(crate) fn drive(
    messages: Vec<RequestMessage>,
    depth: u32,
    tools: &[&str],
    outcome: &mut dyn FnMut(&Call) -> Result<String, String>,
) -> Run {
    let tools: Arc<[ToolSpec]> = tools.iter().map(|id| spec(id)).collect();
    let mut run = Run {
        messages,
        ..Run::default()
    };
    loop {
        run.steps += 1;
        assert!(run.steps <= MOST_STEPS, "no end: {:#?}", run.calls);
        let step_no = u32::try_from(run.steps).unwrap();
        let messages = run.messages.clone();
        let request = request(messages, (depth, step_no), &tools, ToolChoice::Auto);
        let (parts, calls, stop) = whole_step(request);
        run.text = said(&parts);
        run.unable = stop == StopReason::Refusal;
        run.messages.push(RequestMessage::Assistant(parts));
        if calls.is_empty() {
            return run;
        }
        let mut outcomes = Vec::new();
        for call in &calls {
            assert!(
                tools.iter().any(|tool| tool.id == call.tool),
                "{call:?} is not offered"
            );
            let (text, failed) = match outcome(call) {
                Ok(text) => (text, false),
                Err(why) => (format!("error: {why}"), true),
            };
            outcomes.push(CallOutcome {
                call: call.id.clone(),
                tool: call.tool.clone(),
                text: text.into(),
                failed,
            });
        }
        let shown = |call: &Call| match &call.arguments {
            Arguments::Json(json) => format!("{} {}", call.tool, sorted(json)),
            Arguments::Malformed(text) => panic!("malformed: {text}"),
        };
        run.calls.push(calls.iter().map(shown).collect());
        run.messages.push(RequestMessage::Outcomes(outcomes));
    }
}

/// Returns the last words of an agent that reaches a limit before its first call.
pub(crate) fn cut_short(prompt: &str) -> String {
    let tools: Arc<[ToolSpec]> = ROOT_TOOLS.iter().map(|id| spec(id)).collect();
    let messages = vec![RequestMessage::User(prompt.into())];
    let (parts, calls) = step(request(messages, (0, 1), &tools, ToolChoice::None));
    assert!(calls.is_empty(), "{calls:?}");
    said(&parts)
}

fn request(
    messages: Vec<RequestMessage>,
    (depth, step): (u32, u32),
    tools: &Arc<[ToolSpec]>,
    choice: ToolChoice,
) -> Request {
    Request {
        from: Asker {
            agent: AgentId::new("a1"),
            definition: "build".into(),
            depth,
            step,
        },
        model: "offline".into(),
        system: Arc::from(""),
        tools: Arc::clone(tools),
        choice,
        messages,
        images: offshoot_types::model::Images::default(),
        temperature: None,
        effort: None,
        max_output_tokens: None,
    }
}

/// Takes one step; checks that the stream has the form that a model's must have.
pub(crate) fn step(request: Request) -> (Vec<AssistantPart>, Vec<Call>) {
    let (parts, calls, _) = whole_step(request);
    (parts, calls)
}

fn whole_step(request: Request) -> (Vec<AssistantPart>, Vec<Call>, StopReason) {
    let step = request.from.step;
    let stream = Offline.stream(request, Cancel::never());
    let chunks: Vec<_> = stream.collect::<Vec<_>>().now_or_never().unwrap();
    let mut text = String::new();
    let mut calls: Vec<Call> = Vec::new();
    let mut stopped = None;
    for (index, chunk) in chunks.into_iter().enumerate() {
        assert_eq!(stopped, None, "nothing follows the end");
        match chunk.unwrap() {
            Chunk::Started { model } => assert_eq!((index, model.as_str()), (0, "offline")),
            Chunk::Text(piece) => {
                assert!(!piece.trim_end_matches('\n').contains('\n'), "{piece:?}");
                text.push_str(&piece);
            }
            Chunk::Call {
                id,
                tool,
                arguments,
            } => calls.push(Call {
                id: CallId::new(format!("{step}-{id}")),
                tool,
                arguments,
            }),
            Chunk::End { stop, usage } => {
                assert_eq!(usage, Usage::default());
                stopped = Some(stop);
            }
            other @ (Chunk::Queued
            | Chunk::Reasoning(_)
            | Chunk::ReasoningBlock(_)
            | Chunk::Gathering { .. }
            | Chunk::File(_)
            | Chunk::Raw(_)) => {
                panic!("{other:?}")
            }
        }
    }
    let stop = stopped.unwrap();
    assert_eq!(stop == StopReason::Calls, !calls.is_empty());
    assert!(!text.trim().is_empty(), "it always says something");
    let mut parts = vec![AssistantPart::Text(text)];
    parts.extend(calls.iter().cloned().map(AssistantPart::Call));
    (parts, calls, stop)
}

fn said(parts: &[AssistantPart]) -> String {
    let text = parts.iter().filter_map(|part| match part {
        AssistantPart::Text(text) => Some(text.as_str()),
        _ => None,
    });
    text.collect()
}

fn spec(id: &str) -> ToolSpec {
    ToolSpec {
        id: id.to_owned(),
        description: match id {
            "task" => "Runs another agent. Agents: [general: works] [explore: reads]".to_owned(),
            _ => String::new(),
        },
        parameters: RawJson::of(&serde_json::json!({ "type": "object" })),
        effect: Effect::Read,
    }
}

/// Turns a glob into a pattern: `**/`, `*` and `{a,b}` are all that is used.
fn glob_pattern(glob: &str) -> Regex {
    let mut pattern = String::from("^");
    let mut rest = glob;
    while let Some(first) = rest.chars().next() {
        let (piece, length): (&str, usize) = if rest.starts_with("**/") {
            ("(?:.*/)?", 3)
        } else {
            match first {
                '*' => ("[^/]*", 1),
                '{' => ("(?:", 1),
                '}' => (")", 1),
                ',' => ("|", 1),
                _ => ("", 0),
            }
        };
        if length == 0 {
            pattern.push_str(&regex::escape(&first.to_string()));
            rest = &rest[first.len_utf8()..];
        } else {
            pattern.push_str(piece);
            rest = &rest[length..];
        }
    }
    pattern.push('$');
    Regex::new(&pattern).unwrap()
}

//! The MCP servers that a repository names in `.mcp.json`, each with what there is to be accepted of it.
//!
//! Reads the form that other programs write: by name a command to start, or an address to ask. Nothing
//! is started or asked here, nothing is put in the place of a variable, and no secret of the user's is
//! read: of what a server would be given only the names are shown. What is accepted of a server is all
//! that stands under its name, so whoever uses one later uses what was accepted or nothing.

use std::collections::BTreeSet;
use std::path::Path;

use crate::folder::read_beneath;
use offshoot_agents::{Diagnostic, MAX_FILE_BYTES};
use offshoot_types::suggest;
use serde_json::{Map, Value};

use crate::config::Settings;
use crate::trust::{self, Digest, Key, Kind, Thing, Trust};

/// Where a project names its servers, as seen from the folder to work in.
const FILE: &str = ".mcp.json";

/// What the servers stand under; some programs leave it out.
const SERVERS: &str = "mcpServers";

/// Most servers of a file.
const MOST_SERVERS: usize = 64;

/// Most letters of a server's name.
const MOST_OF_NAME: usize = 64;

/// How a server may be reached, in the words of the file.
const TYPES: [&str; 5] = ["stdio", "local", "http", "sse", "streamable-http"];

/// A server that somebody has written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub name: String,
    pub reach: Reach,
    /// The variables of the user's that are put into what stands there.
    pub variables: BTreeSet<String>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// By starting a program.
    Command {
        command: String,
        args: Vec<String>,
        /// Names of what is set for it.
        env: Vec<String>,
    },
    /// By asking a host.
    Url {
        url: String,
        /// Names of what is sent with every request.
        headers: Vec<String>,
    },
}

/// What a folder names, and what is wrong with the rest.
#[derive(Default)]
pub struct Servers {
    pub things: Vec<Thing>,
    pub problems: Vec<Diagnostic>,
}

/// Returns the servers that a folder brings.
pub fn brought(settings: &Settings, workspace: &str) -> Servers {
    let path = Path::new(workspace).join(FILE).display().to_string();
    let wrong = |line, why: &str| Servers {
        things: Vec::new(),
        problems: vec![Diagnostic::error(&path, line, why)],
    };
    let bytes = match read_beneath(Path::new(workspace), Path::new(FILE), MAX_FILE_BYTES) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Servers::default(),
        Err(why) => return wrong(None, &why),
    };
    if bytes.len() > MAX_FILE_BYTES {
        let why = format!("it is too large: it has at most {MAX_FILE_BYTES} bytes");
        return wrong(None, &why);
    }
    let entries = match entries(&bytes) {
        Ok(entries) => entries,
        Err((line, why)) => return wrong(line, &why),
    };
    let mut servers = Servers::default();
    let mut problem = |why: &str| {
        servers.problems.push(Diagnostic::error(&path, None, why));
    };
    if entries.len() > MOST_SERVERS {
        problem(&format!(
            "it names more than {MOST_SERVERS} servers; the others are not looked at"
        ));
    }
    let mut read = Vec::new();
    for (name, entry) in entries.iter().take(MOST_SERVERS) {
        match server(name, entry) {
            Ok(server) => read.push((server, text(name, entry))),
            Err(why) => problem(&format!("server {name:?}: {why}")),
        }
    }
    let trust = Trust::of(settings, workspace);
    let digest = |text: &str| Digest::of(text.as_bytes());
    let digests: Vec<Digest> = read.iter().map(|(_, text)| digest(text)).collect();
    let things = read
        .into_iter()
        .zip(&digests)
        .map(|((server, text), digest)| {
            let key = Key::of_content(FILE, Some(&server.name), digest);
            Thing {
                kind: Kind::Server,
                standing: trust.standing(Kind::Server, &key, digest, &digests),
                may: trust::what_a_server_may(&server),
                path: format!("{FILE}#{}", server.name),
                name: server.name,
                digest: digest.clone(),
                key,
                text,
            }
        });
    servers.things = things.collect();
    servers
}

/// Says that a folder names servers, which are not started yet; `None` if it names none.
pub fn notice(settings: &Settings, workspace: &str) -> Option<String> {
    let (what, verb) = match brought(settings, workspace).things.len() {
        0 => return None,
        1 => ("1 MCP server".to_owned(), "is"),
        many => (format!("{many} MCP servers"), "are"),
    };
    Some(format!(
        "{what} of this folder ({FILE}) {verb} not used: MCP servers are not started yet"
    ))
}

/// Returns what of a server is accepted, and shown to who wants to see it. Two files that say the same
/// in another order say the same.
fn text(name: &str, entry: &Map<String, Value>) -> String {
    let mut entry = Value::Object(entry.clone());
    // Maps keep the order of the file, because a dependency wants that of serde_json.
    entry.sort_all_objects();
    format!("{}: {entry:#}\n", Value::from(name))
}

/// What stands under each name, by name.
type Entries = Vec<(String, Map<String, Value>)>;

/// Returns what a file has by name, or what is wrong with it, and in which line.
fn entries(bytes: &[u8]) -> Result<Entries, (Option<usize>, String)> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| (Some(error.line()), format!("it is not JSON: {error}")))?;
    let odd = || (None, format!("it has no object `{SERVERS}`"));
    let Value::Object(mut file) = value else {
        return Err(odd());
    };
    let servers = match file.remove(SERVERS) {
        Some(Value::Object(servers)) => servers,
        Some(_) => return Err(odd()),
        // Of other keys it is not known whether they are servers if one of them is none.
        None if !file.is_empty() && file.values().all(Value::is_object) => file,
        None => return Err(odd()),
    };
    let entry = |(name, value): (String, Value)| match value.as_object() {
        Some(entry) => Ok((name, entry.clone())),
        None => Err((None, format!("server {name:?} is no object"))),
    };
    let mut entries = servers
        .into_iter()
        .map(entry)
        .collect::<Result<Entries, _>>()?;
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(entries)
}

/// Reads what stands under a name.
fn server(name: &str, entry: &Map<String, Value>) -> Result<Server, String> {
    let letters = name.chars().count();
    if letters == 0 || letters > MOST_OF_NAME || name.contains(|letter: char| letter.is_control()) {
        return Err(format!("a name has 1 to {MOST_OF_NAME} letters"));
    }
    let kind = string(entry, "type")?;
    if let Some(kind) = &kind
        && !TYPES.contains(&kind.as_str())
    {
        let way = match suggest::nearest(kind, TYPES) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("there are: {}", TYPES.join(", ")),
        };
        return Err(format!("there is no type {kind:?}; {way}"));
    }
    let starts = kind
        .as_deref()
        .map(|kind| matches!(kind, "stdio" | "local"));
    let kind = kind.unwrap_or_default();
    let reach = match (string(entry, "command")?, string(entry, "url")?) {
        (Some(_), Some(_)) => return Err("it has both `command` and `url`".to_owned()),
        (None, None) => return Err("it has neither `command` nor `url`".to_owned()),
        (Some(_), None) if starts == Some(false) => {
            return Err(format!("type {kind} needs `url`, and has no `command`"));
        }
        (None, Some(_)) if starts == Some(true) => {
            return Err(format!("type {kind} needs `command`, and has no `url`"));
        }
        (Some(command), None) => Reach::Command {
            command,
            args: strings(entry, "args")?,
            env: names(entry, "env")?,
        },
        (None, Some(url)) => Reach::Url {
            url,
            headers: names(entry, "headers")?,
        },
    };
    let mut variables = BTreeSet::new();
    entry
        .values()
        .for_each(|value| gather(value, &mut variables));
    Ok(Server {
        name: name.to_owned(),
        reach,
        variables,
    })
}

fn string(entry: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` is no text")),
    }
}

fn strings(entry: &Map<String, Value>, key: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{key}` is no list of texts");
    match entry.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect::<Option<_>>().ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

/// Returns under which names an object has texts.
fn names(entry: &Map<String, Value>, key: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{key}` is no object of texts");
    match entry.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(object)) if object.values().all(Value::is_string) => {
            Ok(object.keys().cloned().collect())
        }
        Some(_) => Err(wrong()),
    }
}

/// Gathers the variables that texts name: `${NAME}`, `${NAME:-otherwise}`, `${env:NAME}`.
fn gather(value: &Value, variables: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            for after in text.split("${").skip(1) {
                let inside = after.split('}').next().unwrap_or_default();
                let inside = inside.strip_prefix("env:").unwrap_or(inside);
                let name = inside.split(":-").next().unwrap_or_default();
                if !name.is_empty() {
                    variables.insert(name.to_owned());
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| gather(value, variables)),
        Value::Object(object) => object.values().for_each(|value| gather(value, variables)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

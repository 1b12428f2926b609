//! Names in `tools` that no tool has, and what their author probably meant.
//!
//! An agent whose tools do not exist would run without them and fail at its work,
//! so it is refused before. Many files come from other programs: their names for
//! the same tools are known here and suggested, never taken.

use offshoot_types::manifest::Manifest;
use offshoot_types::suggest;

/// Most names that one message explains.
const MOST_EXPLAINED: usize = 4;

/// Names of other programs, in lower case, and the tool that does the same here.
const ELSEWHERE: [(&str, &str); 25] = [
    ("agent", "task"),
    ("ask_user", "question"),
    ("askuserquestion", "question"),
    ("create", "write"),
    ("execute", "bash"),
    ("exitplanmode", "plan_exit"),
    ("find", "glob"),
    ("list", "glob"),
    ("list_directory", "glob"),
    ("ls", "glob"),
    ("multiedit", "edit"),
    ("patch", "edit"),
    ("read_file", "read"),
    ("read_many_files", "read"),
    ("replace", "edit"),
    ("run_shell_command", "bash"),
    ("run_terminal_cmd", "bash"),
    ("search", "grep"),
    ("search_file_content", "grep"),
    ("shell", "bash"),
    ("str_replace", "edit"),
    ("todoread", "todo"),
    ("todowrite", "todo"),
    ("view", "read"),
    ("write_file", "write"),
];

/// Says which names in `tools` no tool has, with suggestions; `known` are the tools there are.
pub fn unknown_tools(manifest: &Manifest, known: &[&str]) -> Option<String> {
    let unknown: Vec<&str> = manifest.tools.unknown(known).collect();
    if unknown.is_empty() {
        return None;
    }
    let mut parts: Vec<String> = Vec::new();
    let mut all_known = false;
    for name in unknown.iter().take(MOST_EXPLAINED) {
        let suggestion = suggestion(name, known);
        all_known |= suggestion.is_none();
        let suggestion = suggestion.unwrap_or_default();
        parts.push(format!(
            "there is no tool `{}`{suggestion}",
            name.escape_debug()
        ));
    }
    if let Some(more @ 1..) = unknown.len().checked_sub(MOST_EXPLAINED) {
        parts.push(format!("{more} more names are unknown"));
    }
    if all_known {
        let known = known.join(", ");
        parts.push(format!(
            "there are: {known}; tools of MCP servers cannot be used yet"
        ));
    }
    Some(parts.join("; "))
}

/// Returns what to write instead of a name; `None` if only the list of tools helps.
fn suggestion(name: &str, known: &[&str]) -> Option<String> {
    if name.starts_with("mcp") || name.contains(':') {
        return Some(": tools of MCP servers cannot be used yet".to_owned());
    }
    // Claude Code narrows a tool in the same place: `Bash(git *)`.
    let (bare, narrowed) = match name.split_once('(') {
        Some((bare, _)) => (bare.trim(), " What it may do is said in `permissions`"),
        None => (name, ""),
    };
    let meant = meant(bare, known)?;
    Some(format!(", did you mean `{meant}`?{narrowed}"))
}

fn meant<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let same = ELSEWHERE.iter().find(|(theirs, _)| *theirs == lower);
    let same = same.and_then(|(_, ours)| known.iter().find(|known| *known == ours));
    match same {
        Some(ours) => Some(ours),
        None => suggest::nearest(name, known.iter().copied()),
    }
}

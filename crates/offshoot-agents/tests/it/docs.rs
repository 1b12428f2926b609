//! The documentation's agent loads, and every key is in its table.

use offshoot_agents::{builtin, read};

const DOC: &str = include_str!("../../../../docs/agents.md");

#[test]
fn the_agents_of_the_document_load() {
    let mut files = DOC.split("```markdown\n").skip(1).peekable();
    assert!(files.peek().is_some());
    for file in files {
        let text = file.split("```").next().unwrap();
        let reading = read(text.as_bytes(), "docs/agents.md", "reader");
        assert!(reading.manifest.is_ok(), "{:?}", reading.manifest);
        assert!(reading.warnings.is_empty(), "{:?}", reading.warnings);
    }
}

#[test]
fn every_key_is_in_the_document() {
    let reading = read(b"---\nwhatever_it_may_be: 1\n---\n", "a.md", "a");
    let text = reading.manifest.unwrap_err().message;
    let (_, keys) = text.split_once("known are ").unwrap();
    assert!(keys.ends_with("git_status"), "all of them: {keys}");
    for key in keys.split(", ") {
        assert!(
            DOC.contains(&format!("\n| `{key}` | ")),
            "{key} is not documented"
        );
    }
}

#[test]
fn every_built_in_agent_is_in_the_document() {
    for manifest in builtin() {
        let name = format!("`{}`", manifest.name);
        assert!(DOC.contains(&name), "{name} is not documented");
    }
}

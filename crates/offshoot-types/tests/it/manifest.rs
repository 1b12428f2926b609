//! Manifests as their authors write them.

use offshoot_types::manifest::{Manifest, Mode, Registry};

#[test]
fn sa_02_a_manifest_without_a_mode_or_with_another_is_refused() {
    assert!(serde_json::from_str::<Manifest>(r#"{"name":"a"}"#).is_err());
    assert!(serde_json::from_str::<Manifest>(r#"{"name":"a","mode":"secondary"}"#).is_err());
    for mode in ["primary", "subagent", "all"] {
        let text = format!(r#"{{"name":"a","mode":"{mode}"}}"#);
        let manifest: Manifest = serde_json::from_str(&text).unwrap();
        assert_eq!(manifest.mode.to_string(), mode);
        assert!(
            !manifest.inspectable,
            "SA-37: opaque unless it says otherwise"
        );
    }
}

#[test]
fn sa_03_sa_04_sa_05_the_mode_says_who_may_start_it() {
    let mut registry = Registry::default();
    registry.extend([
        Manifest::new("p", Mode::Primary, ""),
        Manifest::new("s", Mode::Subagent, ""),
        Manifest::new("a", Mode::All, ""),
    ]);
    let names = |manifests: Vec<&std::sync::Arc<Manifest>>| {
        manifests
            .iter()
            .map(|manifest| manifest.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(registry.for_users().collect()), ["a", "p"]);
    assert_eq!(names(registry.for_agents().collect()), ["a", "s"]);
}

#[test]
fn everything_an_author_can_write_is_read_and_written_back() {
    let text = r#"{
        "name": "team/critic.v2", "mode": "subagent", "description": "d", "prompt": "p",
        "model": "a/b", "effort": "high", "temperature": 0.2, "max_output_tokens": 900,
        "tools": {"allow": ["read", "mcp_*"], "deny": ["mcp_shell"]},
        "permissions": [{"permission": "fs.read", "action": "allow"}],
        "inspectable": true, "caller": "agent", "read_only": true, "context": "fork",
        "spawns": ["explore"], "max_turns": 3, "max_total_tokens": 50000, "max_cost_usd": 0.25,
        "max_time": "10m", "max_stall": "90s", "max_descendants": 4,
        "output_schema": {"type": "object"}, "project_instructions": false, "git_status": true
    }"#;
    let manifest: Manifest = serde_json::from_str(text).unwrap();
    assert!(manifest.may_spawn("explore") && !manifest.may_spawn("general"));
    assert!(manifest.tools.has("mcp_search") && !manifest.tools.has("mcp_shell"));
    assert_eq!(manifest.limits.time.unwrap().to_string(), "10m");
    let again = serde_json::to_string(&manifest).unwrap();
    assert_eq!(serde_json::from_str::<Manifest>(&again).unwrap(), manifest);
}

#[test]
fn what_cannot_be_meant_is_refused_in_one_sentence() {
    let refused = |rest: &str| {
        let text = format!(r#"{{"name":"a","mode":"all",{rest}}}"#);
        serde_json::from_str::<Manifest>(&text)
            .expect_err(rest)
            .to_string()
    };
    assert!(refused(r#""temperature": 3"#).contains("from 0 to 2"));
    assert!(refused(r#""output_schema": "text""#).contains("not a JSON Schema"));
    assert!(refused(r#""max_time": 10"#).contains("expected a string"));
    assert!(refused(r#""max_time": "soon""#).contains("500ms, 30s, 10m, 1h"));
    assert!(refused(r#""max_cost_usd": -1"#).contains("not an amount"));
    assert!(refused(r#""tools": {"only": []}"#).contains("unknown field `only`"));
    assert!(refused(r#""max_output_tokens": 0"#).contains("no use"));
    let removed = refused(r#""own_permissions": []"#);
    for word in ["own_permissions", "`tools`", "`permissions`"] {
        assert!(removed.contains(word), "{removed}");
    }
    let nameless = serde_json::from_str::<Manifest>(r#"{"name":"a b","mode":"all"}"#);
    assert!(nameless.unwrap_err().to_string().contains("not a name"));
}

#[test]
fn tools_may_be_a_list_or_names_with_commas() {
    let tools = |tools: &str| {
        let text = format!(r#"{{"name":"a","mode":"all","tools":{tools}}}"#);
        serde_json::from_str::<Manifest>(&text).unwrap().tools
    };
    assert_eq!(tools(r#"["read", "grep"]"#), tools(r#""read, grep""#));
    assert!(!tools("[]").has("read"));
    let offered = ["read".to_owned()];
    let wanted = tools(r#"{"allow": ["read", "grep", "bash"], "deny": ["bash"]}"#);
    assert_eq!(wanted.missing(&offered).collect::<Vec<_>>(), ["grep"]);
}

#[test]
fn an_agent_answers_to_another_name_unless_one_has_that_name() {
    let mut registry = Registry::default();
    registry.add(Manifest::new("general", Mode::All, "G"));
    registry.add_alias("general-purpose", "general");
    assert_eq!(registry.get("general-purpose").unwrap().name, "general");
    assert_eq!(registry.for_agents().count(), 1, "a name is listed once");
    let both = ["general", "general-purpose"];
    assert_eq!(registry.names_of("general"), both);
    registry.add(Manifest::new("general-purpose", Mode::All, "Own."));
    assert_eq!(registry.get("general-purpose").unwrap().prompt, "Own.");
    assert_eq!(registry.names_of("general"), ["general"]);
}

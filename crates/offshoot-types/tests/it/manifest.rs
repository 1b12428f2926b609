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
fn sa_06_the_mode_changes_nothing_else() {
    let all = Manifest::new("x", Mode::All, "same");
    let one = Manifest {
        mode: Mode::Subagent,
        ..all.clone()
    };
    assert_eq!(
        Manifest {
            mode: Mode::All,
            ..one
        },
        all
    );
}

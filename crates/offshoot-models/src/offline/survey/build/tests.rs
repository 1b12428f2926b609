//! How to build and test, and from where that is known.

use super::{ci_commands, test_command};

#[test]
fn commands_of_ci_are_steps_and_scripts() {
    let text = "on: push\njobs:\n  a:\n    steps:\n      - uses: x\n      - run: \"cargo fmt\"\n      \
                - name: y\n        run: |\n          # why\n          a\n\n          b\n        env: c\n      - run: a\n";
    assert_eq!(ci_commands(text), ["cargo fmt", "a", "b"]);
    let text = "test:\n  script:\n    - make\n    - make check\nother:\n  x: y\n";
    assert_eq!(ci_commands(text), ["make", "make check"]);
    assert!(ci_commands("run:").is_empty());
}

#[test]
fn the_manifest_at_the_top_tells_how_to_test() {
    for (paths, expected) in [
        (vec!["package.json", "Cargo.toml"], Some("cargo test")),
        (vec!["a/Cargo.toml", "go.mod"], Some("go test ./...")),
        (vec!["package.json"], Some("npm test")),
        (vec!["package.json", "pnpm-lock.yaml"], Some("pnpm test")),
        (vec!["package.json", "a/yarn.lock"], Some("npm test")),
        (vec!["build.gradle", "gradlew"], Some("./gradlew test")),
        (vec!["Makefile"], None),
        (vec![], None),
    ] {
        assert_eq!(test_command(&paths).as_deref(), expected, "{paths:?}");
    }
}

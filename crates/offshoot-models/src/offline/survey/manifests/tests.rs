//! What manifests of each kind say.

use super::{Manifest, read};

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[track_caller]
fn check(path: &str, text: &str, expected: Manifest) {
    let expected = Manifest {
        path: path.to_owned(),
        ..expected
    };
    assert_eq!(read(path, text), expected);
}

#[test]
fn cargo() {
    let text = "[package]\nname = \"a\"\ndescription = \"Does.\"\n[dependencies]\nb.workspace = true\n\
                c = \"1\"\n[dev-dependencies.d]\nversion = \"1\"\n[workspace.dependencies]\nz = \"1\"\n\
                [[bin]]\nname = \"t\"\npath = \"src/t.rs\"\n[workspace]\nmembers = [\"x/*\"]\n";
    check(
        "Cargo.toml",
        text,
        Manifest {
            name: Some("a".into()),
            description: Some("Does.".into()),
            dependencies: strings(&["b", "c", "d"]),
            starts: vec![("t".into(), "src/t.rs".into())],
            members: strings(&["x/*"]),
            ..Manifest::default()
        },
    );
}

#[test]
fn package_json() {
    let text = r#"{"name": "a", "description": " ", "license": "MIT", "bin": {"t": "t.js"},
        "scripts": {"build": "x"}, "dependencies": {"b": "1"}, "devDependencies": {"b": "1"},
        "workspaces": {"packages": ["p/*"]}}"#;
    check(
        "p/package.json",
        text,
        Manifest {
            name: Some("a".into()),
            licence: Some("MIT".into()),
            starts: vec![("t".into(), "t.js".into())],
            targets: strings(&["build"]),
            dependencies: strings(&["b"]),
            members: strings(&["p/*"]),
            ..Manifest::default()
        },
    );
    for broken in ["", "[]", "{", "{\"name\": 1, \"bin\": 2, \"scripts\": []}"] {
        check("package.json", broken, Manifest::default());
    }
}

#[test]
fn pyproject() {
    let text = "[project]\nname = \"a\"\ndependencies = [\"b>=1\", \"c[x]\"]\n\
                [project.scripts]\nt = \"a.cli:main\"\n";
    check(
        "pyproject.toml",
        text,
        Manifest {
            name: Some("a".into()),
            dependencies: strings(&["b", "c"]),
            starts: vec![("t".into(), "a.cli:main".into())],
            ..Manifest::default()
        },
    );
}

#[test]
fn go_and_maven() {
    let text = "module example.org/a\n\nrequire (\n\texample.org/b v1.0.0\n)\nrequire c v2\n";
    check(
        "go.mod",
        text,
        Manifest {
            name: Some("example.org/a".into()),
            dependencies: strings(&["example.org/b", "c"]),
            ..Manifest::default()
        },
    );
    let text = "<project><parent><artifactId>p</artifactId></parent><artifactId>a</artifactId>\
                <description>Does.</description><modules><module>m</module></modules></project>";
    check(
        "pom.xml",
        text,
        Manifest {
            name: Some("a".into()),
            description: Some("Does.".into()),
            members: strings(&["m"]),
            ..Manifest::default()
        },
    );
}

#[test]
fn targets_and_recipes() {
    let make = ".PHONY: x\nall: a b\nX := 1\nY = 2\n\trecipe: no\n# c: no\n$(O): x\nall: c\n";
    check(
        "Makefile",
        make,
        Manifest {
            targets: strings(&["all"]),
            ..Manifest::default()
        },
    );
    let just = "set shell := [\"sh\"]\n# c\n@lint fix='x': a\n    cmd: no\ntest:\n  x\n";
    check(
        "justfile",
        just,
        Manifest {
            targets: strings(&["lint", "test"]),
            ..Manifest::default()
        },
    );
}

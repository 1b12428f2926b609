//! Surveys from the first look to the report, over whole repositories in memory.

use crate::offline_world::{Run, World};

fn survey(world: &World) -> Run {
    world.ask("Survey this repository")
}

fn rust_workspace() -> World {
    World::of(&[
        (
            "README.md",
            "# Ferry\n\n[![build](b.svg)](ci)\n\nFerry carries **parcels** between `docks`.\n\n\
             ```sh\n$ cargo test --workspace\nls\n```\n",
        ),
        ("ARCHITECTURE.md", "# Map\n"),
        ("LICENSE-MIT", "MIT License\n\nCopyright (c) somebody\n"),
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\n  \"crates/*\", # all\n  \"xtask\",\n]\n\n[workspace.package]\n\
             license = \"MIT\"\n",
        ),
        (
            "Makefile",
            "all: build\nbuild:\n\tcargo build\n.PHONY: all\nX := 1\n",
        ),
        (
            ".github/workflows/ci.yml",
            "jobs:\n  a:\n    steps:\n      - run: cargo fmt --check\n      - run: |\n          cargo clippy\n          cargo test\n",
        ),
        (
            "crates/dock/Cargo.toml",
            "[package]\nname = \"dock\"\ndescription = \"Where parcels wait.\"\n\n[dependencies]\nserde = \"1\"\n",
        ),
        (
            "crates/dock/src/lib.rs",
            "//! The dock.\n\npub struct Dock;\npub fn open() {}\n// TODO: doors\nfn inner() {}\n",
        ),
        (
            "crates/dock/src/crane.rs",
            "//! Lifts.\npub struct Crane;\n",
        ),
        (
            "crates/dock/tests/it.rs",
            "#[test]\nfn a() {}\n#[tokio::test]\nasync fn b() {}\n",
        ),
        (
            "crates/ferry/Cargo.toml",
            "[package]\nname = \"ferry\"\n\n[dependencies]\ndock.workspace = true\n",
        ),
        (
            "crates/ferry/src/main.rs",
            "//! The ferry itself.\nfn main() {}\n",
        ),
        ("crates/ferry/src/route.rs", "pub fn route() {}\n"),
        ("xtask/Cargo.toml", "[package]\nname = \"xtask\"\n"),
        ("xtask/src/main.rs", "fn main() {}\n"),
        ("xtask/src/tidy.rs", "pub(crate) fn tidy() {}\n"),
        (
            "docs/parcels.md",
            "# Parcels\n\nHow parcels are packed and sent.\n",
        ),
    ])
}

/// Checks that a report says all of these.
#[track_caller]
fn says(report: &str, facts: &[&str]) {
    for fact in facts {
        assert!(report.contains(fact), "not said: {fact}\n\n{report}");
    }
}

/// Checks what holds for every report.
#[track_caller]
fn is_well_formed(report: &str) {
    says(report, &["rule-based, no language model"]);
    let lines: Vec<&str> = report.lines().collect();
    assert!(lines.len() <= 120, "{} lines", lines.len());
    for line in lines {
        assert!(line.chars().count() <= 900, "{line}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
        assert!(!line.trim_start().starts_with("```"), "{line}");
        assert!(
            !line.starts_with("# ") || line == "# Survey of this repository",
            "{line}"
        );
        assert!(closes_code(line), "{line}");
    }
}

/// Tells whether every run of code marks in a line is closed by one of its length.
fn closes_code(line: &str) -> bool {
    let runs = line
        .split(|c| c != '`')
        .map(str::len)
        .filter(|run| *run > 0);
    let open = runs.fold(0, |open, run| match open {
        0 => run,
        open if open == run => 0,
        open => open,
    });
    open == 0
}

#[test]
fn a_rust_workspace_is_surveyed_by_one_child_for_each_area() {
    let run = survey(&rust_workspace());
    is_well_formed(&run.text);
    assert_eq!(run.steps, 5);
    assert_eq!(run.children.len(), 4);
    assert!(run.children.iter().all(|child| child.steps == 3));
    says(
        &run.text,
        &[
            "> Ferry carries parcels between `docks`.",
            "`README.md` is titled \"Ferry\"",
            "a workspace of `crates/*`, `xtask`",
            "17 files, ",
            "| Rust | 7 | ",
            "`Cargo.toml` (Cargo): `cargo build` and `cargo test` by convention",
            "`Makefile` has `make NAME` to run: `all`, `build`\n",
            "CI, from `.github/workflows/ci.yml`: `cargo fmt --check`, `cargo clippy`, `cargo test`",
            "Commands in `README.md`: `cargo test --workspace`\n",
            "### `crates/dock` (4 files)",
            "What: \"Where parcels wait.\" (`crates/dock/Cargo.toml`)",
            "What: \"The ferry itself.\" (`crates/ferry/src/main.rs`)",
            "Uses from this repository: `dock`",
            "Public surface (`pub` items): 3 in 2 files, such as `Crane`, `Dock`, `open`",
            "; 2 test functions in 1 file, 1 file named like tests",
            "Notes: 1 line with TODO",
            "- `crates/ferry/src/main.rs` (line 2: `fn main() {}`)",
            "Rust: 2 test functions in 1 file",
            "`LICENSE-MIT` (MIT License), \"MIT\" in `Cargo.toml`",
            "1. `README.md`: says what the project is for",
            "2. `ARCHITECTURE.md`: is named like a map of the whole",
        ],
    );
    assert!(!run.text.contains("What did not work"));
}

#[test]
fn looks_come_together_and_so_do_children() {
    let run = survey(&rust_workspace());
    let tools = |step: &Vec<String>| -> Vec<String> {
        let names = step.iter().map(|call| call.split(' ').next().unwrap());
        names.map(str::to_owned).collect()
    };
    assert_eq!(tools(&run.calls[0]), ["todo", "glob", "glob", "glob"]);
    assert_eq!(
        tools(&run.calls[2]),
        ["todo", "task", "task", "task", "task"]
    );
    assert_eq!(tools(&run.calls[3]), ["todo"]);
}

#[test]
fn a_python_package_is_surveyed() {
    let module = "\"\"\"Counts sheep.\n\nSlowly.\n\"\"\"\n\n\nclass Sheep:\n    pass\n\n\ndef count(n):\n    return n\n\n\ndef _hidden():\n    pass\n";
    let world = World::of(&[
        (
            "README.rst",
            "Sheep\n=====\n\nA library that counts sheep for people.\n",
        ),
        (
            "pyproject.toml",
            "[project]\nname = \"sheep\"\ndescription = \"\"\"Counts sheep\nwell.\"\"\"\n\
             dependencies = [\"attrs>=2\"]\n[project.scripts]\nsheep = \"sheep.cli:main\"\n",
        ),
        ("src/sheep/__init__.py", module),
        (
            "src/sheep/cli.py",
            "def main():\n    pass\n\n\nif __name__ == \"__main__\":\n    main()\n",
        ),
        ("src/sheep/flock.py", "class Flock:\n    pass\n"),
        (
            "tests/test_sheep.py",
            "def test_one():\n    pass\n\n\nasync def test_two():\n    pass\n",
        ),
        ("tests/test_flock.py", "def test_three():\n    pass\n"),
        ("tests/conftest.py", ""),
    ]);
    let run = survey(&world);
    is_well_formed(&run.text);
    says(
        &run.text,
        &[
            "> A library that counts sheep for people.",
            "titled \"Sheep\"",
            "package `sheep`, \"Counts sheep well.\"",
            "| Python | 6 |",
            "`pyproject.toml` (Python): `pip install .` and `python -m pytest` by convention",
            "What: \"Counts sheep.\" (`src/sheep/__init__.py`)",
            "such as `Sheep`, `Flock`, `count`, `main`",
            "`sheep.cli:main` (`sheep` in `pyproject.toml`)",
            "Python: 3 test functions in 2 files",
            "Licence: not found",
            "CI: no configuration found",
        ],
    );
}

#[test]
fn a_monorepo_of_typescript_has_an_area_for_each_package() {
    let mut world = World::of(&[
        (
            "package.json",
            r#"{"name": "shop", "private": true, "workspaces": ["packages/*"],
                "scripts": {"build": "tsc -b", "test": "vitest"}}"#,
        ),
        ("pnpm-lock.yaml", ""),
        (
            "packages/cart/node_modules/x/package.json",
            r#"{"name": "x"}"#,
        ),
        (
            "packages/cart/node_modules/x/index.js",
            "export function x() {}\n",
        ),
    ]);
    for (name, uses) in [
        ("cart", "@shop/money"),
        ("money", "left-pad"),
        ("ui", "@shop/cart"),
    ] {
        let manifest = format!(
            "{{\n  \"name\": \"@shop/{name}\",\n  \"description\": \"The {name}.\",\n  \
             \"main\": \"src/index.ts\",\n  \"dependencies\": {{\"{uses}\": \"*\"}}\n}}\n"
        );
        let index = format!(
            "// Entry of {name}.\nexport const {name} = 1;\nexport default class Main {{}}\n"
        );
        world = world
            .file(&format!("packages/{name}/package.json"), &manifest)
            .file(&format!("packages/{name}/src/index.ts"), &index)
            .file(
                &format!("packages/{name}/src/a.test.ts"),
                "test('a', () => {});\n",
            );
    }
    let run = survey(&world);
    is_well_formed(&run.text);
    assert_eq!(run.children.len(), 3);
    says(
        &run.text,
        &[
            "package `shop`, a workspace of `packages/*`",
            "`package.json` (npm): `pnpm install` and `pnpm test` by convention",
            "`package.json` has `pnpm run NAME` to run: `build`, `test`",
            "What: \"The cart.\" (`packages/cart/package.json`)",
            "Uses from this repository: `@shop/money`",
            "Uses from this repository: `@shop/cart`",
            "Uses: no other package of this repository is named in it",
            "such as `Main`, `cart`",
            "2 files in folders named like copies of others' code",
            "TypeScript: 3 test functions in 3 files",
        ],
    );
}

#[test]
fn go_and_c_are_surveyed() {
    let world = World::of(&[
        ("go.mod", "module example.org/tide\n\ngo 1.22\n"),
        (
            "cmd/tide/main.go",
            "// Command tide tells the tide.\npackage main\n\nfunc main() {}\n",
        ),
        ("cmd/tide/flags.go", "package main\n"),
        ("cmd/tide/more.go", "package main\n"),
        (
            "moon/moon.go",
            "// Package moon knows the moon.\npackage moon\n\ntype Moon struct{}\n\nfunc (m *Moon) Phase() int { return 0 }\n",
        ),
        (
            "moon/moon_test.go",
            "package moon\n\nfunc TestPhase(t *testing.T) {}\n",
        ),
        ("moon/sun.go", "package moon\n"),
        ("native/CMakeLists.txt", "project(tide)\n"),
        (
            "native/main.c",
            "/*\n * Copyright somebody\n */\n\n/* Reads gauges. */\nint main(void) { return 0; }\n",
        ),
        (
            "native/gauge.c",
            "int gauge_read(int port) { return port; }\n",
        ),
    ]);
    let run = survey(&world);
    is_well_formed(&run.text);
    says(
        &run.text,
        &[
            "package `example.org/tide`",
            "`go build ./...` and `go test ./...` by convention",
            "`cmd/tide/main.go` (line 4: `func main() {}`)",
            "`native/main.c` (line 6: ",
            "What: \"Package moon knows the moon.\" (`moon/moon.go`)",
            "such as `Moon`, `Phase`",
            "What: \"Reads gauges.\" (`native/main.c`)",
            "`gauge_read`",
            "Go: 1 test function in 1 file",
        ],
    );
}

#[test]
fn a_file_too_long_to_read_has_at_least_the_lines_that_were() {
    let world = rust_workspace().file("crates/dock/src/lib.rs", &"// padding\n".repeat(30_000));
    let run = survey(&world);
    says(
        &run.text,
        &["`crates/dock/src/lib.rs` (at least 18618 lines)"],
    );
}

#[test]
fn documents_alone_are_surveyed() {
    let world = World::of(&[
        (
            "index.md",
            "# Handbook\n\nAll that a new colleague has to know here.\n",
        ),
        (
            "guides/a.md",
            "# Arriving\n\nTake the second door on the left side.\n",
        ),
        ("guides/b.md", "# Leaving\n"),
        ("guides/c.md", "# Staying\n"),
    ]);
    let run = survey(&world);
    is_well_formed(&run.text);
    says(
        &run.text,
        &[
            "Not found: no README, and no manifest with a description",
            "| Markdown | 4 |",
            "What: \"Arriving\" (`guides/a.md`)",
            "Public surface: no language in it that the rules can search",
            "Build and test\n\n- Not found",
        ],
    );
}

#[test]
fn an_empty_folder_is_said_to_be_empty() {
    let run = survey(&World::of(&[]));
    is_well_formed(&run.text);
    assert!(run.children.is_empty());
    says(
        &run.text,
        &["no files were found", "Entry points\n\n- Not found"],
    );
}

#[test]
fn one_file_needs_no_child() {
    let run = survey(&World::of(&[("notes.xyz", "hello")]));
    is_well_formed(&run.text);
    assert!(run.children.is_empty());
    says(
        &run.text,
        &["1 file, 5 B.", "No file has an ending of a language"],
    );
}

#[test]
fn names_that_are_not_text_are_shown_and_not_read() {
    let world = World::of(&[
        ("README\u{fffd}.md", "# No\n"),
        ("\"a`b/\\xFF.py\"", "def x(): pass\n"),
        ("a`b/main.py", "def f(): pass\n"),
        ("a`b/\u{202e}evil.py", "def g(): pass\n"),
        ("a`b/three.py", "def h(): pass\n"),
    ]);
    let run = survey(&world);
    is_well_formed(&run.text);
    let all: Vec<&String> = run.calls.iter().flatten().collect();
    assert!(!all.iter().any(|call| call.contains('\u{fffd}')), "{all:?}");
    assert!(!all.iter().any(|call| call.contains("xFF")), "{all:?}");
    says(&run.text, &["### `` a`b `` (3 files)"]);
}

fn three_thousand() -> World {
    let mut world = World::of(&[("zz/Cargo.toml", "[package]\nname = \"last\"\n")]);
    for index in 0..2400 {
        world = world.file(
            &format!("alpha/part{}/m{index:04}.py", index % 3),
            "def f(): pass\n",
        );
    }
    for index in 0..600 {
        world = world.file(&format!("zz/src/n{index:04}.rs"), "pub fn g() {}\n");
    }
    world
}

#[test]
fn a_list_that_was_cut_is_read_on() {
    let run = survey(&three_thousand());
    is_well_formed(&run.text);
    assert_eq!(run.steps, 6);
    says(
        &run.text,
        &[
            "3001 files, ",
            "| Python | 2400 |",
            "| Rust | 600 |",
            "### `alpha/part0` (800 files)",
            "### `zz` (601 files)",
            "Public surface (`pub` items): 600 in 600 files",
        ],
    );
    assert!(!run.text.contains("could be listed"));
}

#[test]
fn a_list_that_cannot_be_read_on_is_said_to_be_cut() {
    let run = survey(&three_thousand().denying(&["read"]));
    is_well_formed(&run.text);
    says(
        &run.text,
        &[
            "3001 files, ",
            "Only 1001 files could be listed, so areas and languages may be missing below.",
            "| Rust | 600 |",
            "### `alpha/part0` (at least 800 files)",
            "### `zz` (at least 1 file)",
            "- Size: 601 files (600 Rust, 1 TOML)",
            "- Documentation: not found in what could be listed",
            "## What did not work",
            "denied by a rule",
        ],
    );
}

#[test]
fn areas_and_root_count_alike() {
    let mut world = World::of(&[
        ("app/a.py", ""),
        ("app/b.py", ""),
        ("app/c.py", ""),
        ("app/.gitlab-ci.yml", "a: b\n"),
        ("tests/screens/one.txt", "a screen"),
        ("tests/test_a.py", "def test_a(): pass\n"),
        ("tests/test_b.py", "def test_b(): pass\n"),
        ("requirements.txt", "attrs\n"),
        ("guide.md", "# Guide\n"),
    ]);
    for index in 0..3 {
        world = world.file(&format!("vendor/test_{index}.py"), "def test_x(): pass\n");
    }
    let run = survey(&world);
    says(
        &run.text,
        &[
            "### `app` (3 files)",
            "3 files named like tests, in `tests`; 3 more in folders named like copies",
            "- 1 document; at the top `guide.md`\n",
        ],
    );
}

#[test]
fn a_folder_of_one_or_two_files_is_begun_with_them() {
    let run = survey(&World::of(&[("a.py", "x = 1\n")]));
    says(&run.text, &["1. `a.py`: is the only file\n"]);
    let run = survey(&World::of(&[
        ("a.py", "x = 1\n"),
        ("guide.md", "# Guide\n"),
    ]));
    says(
        &run.text,
        &[
            "1. `guide.md`: is a document, by its ending\n",
            "2. `a.py`: is a source, by its ending\n",
        ],
    );
    let run = survey(&World::of(&[("README.md", "# Hi\n\nHello.\n")]));
    says(
        &run.text,
        &[
            "Not found: no prose to quote in `README.md`, and no manifest",
            "1. `README.md`: is the README, though without prose to quote\n",
        ],
    );
}

#[test]
fn starts_that_are_not_listed_are_counted() {
    let mut world = World::of(&[("go.mod", "module example.org/many\n"), ("a.sql", "")]);
    for index in 10..22 {
        let main = "package main\n\nfunc main() {}\n";
        world = world.file(&format!("cmd/c{index}/main.go"), main);
    }
    let run = survey(&world);
    is_well_formed(&run.text);
    says(
        &run.text,
        &[
            "- `cmd/c17/main.go` (line 3: `func main() {}`)\n- and 4 more\n",
            "Test functions were not looked for in SQL\n",
        ],
    );
}

#[test]
fn ten_areas_keep_what_they_use_and_their_notes() {
    let mut world = World::of(&[("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n")]);
    for index in 0..10 {
        let uses = (index + 1) % 10;
        let manifest =
            format!("[package]\nname = \"p{index}\"\n\n[dependencies]\np{uses}.workspace = true\n");
        world = world
            .file(&format!("crates/p{index}/Cargo.toml"), &manifest)
            .file(
                &format!("crates/p{index}/src/lib.rs"),
                "//! A part.\npub fn f() {}\n",
            )
            .file(&format!("crates/p{index}/src/main.rs"), "fn main() {}\n")
            .file(&format!("crates/p{index}/tests/a.rs"), "// TODO\n");
    }
    let run = survey(&world);
    is_well_formed(&run.text);
    for fact in [
        "Uses from this repository: `p",
        "Notes: 1 line with TODO",
        "Main files: ",
        "Public surface (`pub` items): 1 in 1 file",
    ] {
        assert_eq!(run.text.matches(fact).count(), 10, "{fact}\n{}", run.text);
    }
}

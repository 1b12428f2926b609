//! Each rule, shown what it refuses and what it lets pass; and our own tree.

use super::tree::File;
use super::*;

/// Joins halves of words that may not stand in this file either.
macro_rules! word {
    ($($half:literal)*) => { concat!($($half),*) };
}

fn tree(files: &[(&str, &str)]) -> Tree {
    let files = files.iter().map(|(path, text)| File {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
    });
    Tree {
        files: files.collect(),
    }
}

/// Checks that `rule` finds exactly `expected`, as `path:line`.
#[track_caller]
fn check(rule: Rule, files: &[(&str, &str)], expected: &[&str]) {
    let found: Vec<String> = rule(&tree(files))
        .iter()
        .map(|finding| format!("{}:{}", finding.path, finding.line))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn our_own_tree_is_tidy() {
    let tree = Tree::load(crate::root().unwrap()).unwrap();
    let findings: Vec<String> = check_lines(&tree);
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

fn check_lines(tree: &Tree) -> Vec<String> {
    super::check(tree).iter().map(Finding::to_string).collect()
}

#[test]
fn a_finding_says_where_what_and_what_to_do() {
    let lines = check_lines(&tree(&[("xtask/src/a.rs", "fn f() {}")]));
    assert_eq!(
        lines,
        [
            "xtask/src/a.rs:1: no header, start with `//!`: what it is, what it is not, its invariant"
        ]
    );
}

#[test]
fn a_file_without_a_header_is_found() {
    check(
        rules::headers,
        &[
            ("crates/a/src/lib.rs", "//! Good."),
            ("crates/a/src/b.rs", "use a;\n//! Late."),
            ("README.md", "not Rust"),
        ],
        &["crates/a/src/b.rs:1"],
    );
}

#[test]
fn a_long_file_is_found() {
    check(
        rules::lengths,
        &[
            ("a.rs", &"\n".repeat(800)),
            ("b.rs", &"\n".repeat(801)),
            ("c.md", &"\n".repeat(801)),
        ],
        &["b.rs:800"],
    );
}

#[test]
fn names_that_say_nothing_are_found() {
    check(
        rules::file_names,
        &[
            ("crates/a/src/b/mod.rs", ""),
            ("crates/a/src/helpers.rs", ""),
            ("crates/a/src/model.rs", ""),
        ],
        &["crates/a/src/b/mod.rs:1", "crates/a/src/helpers.rs:1"],
    );
}

#[test]
fn banned_words_are_found_in_code_and_comments() {
    let all = [
        word!("// FIX" "ME"),
        word!("tod" "o!()"),
        word!("unimple" "mented!()"),
        word!("#[ign" "ore = \"slow\"]"),
        word!("#[al" "low(dead_code)]"),
        word!("#![al" "low(dead_code)]"),
    ]
    .join("\n");
    check(
        rules::banned_words,
        &[
            ("a.rs", &all),
            ("b.rs", "#[expect(dead_code)]"),
            ("c.md", &all),
        ],
        &["a.rs:1", "a.rs:2", "a.rs:3", "a.rs:4", "a.rs:5", "a.rs:6"],
    );
}

#[test]
fn a_test_file_that_is_not_listed_is_found() {
    check(
        rules::listed_tests,
        &[
            ("crates/a/tests/it/main.rs", "mod listed;\nmod nested;"),
            ("crates/a/tests/it/listed.rs", ""),
            ("crates/a/tests/it/forgotten.rs", ""),
            ("crates/a/tests/it/nested/deep.rs", ""),
            ("crates/a/tests/second.rs", ""),
            ("crates/a/src/b/tests.rs", ""),
            ("crates/a/src/tests/c.rs", ""),
        ],
        &[
            "crates/a/tests/it/forgotten.rs:1",
            "crates/a/tests/second.rs:1",
        ],
    );
}

#[test]
fn sql_is_found_outside_the_store() {
    let sql = word!("let q = \"\n  SEL" "ECT 1\";\n// SEL" "ECT in a comment");
    check(
        rules::sql_only_in_store,
        &[
            ("crates/offshoot-store/src/a.rs", sql),
            ("crates/offshoot-engine/src/a.rs", sql),
            ("crates/offshoot/src/b.rs", word!("\"INSERT " "INTO t\"")),
        ],
        &[
            "crates/offshoot-engine/src/a.rs:2",
            "crates/offshoot/src/b.rs:1",
        ],
    );
}

#[test]
fn r9_a_face_that_calls_the_store_is_found() {
    let import = "use offshoot_types::store::{StoreError, Store};";
    let long =
        "use offshoot_types::store::{\n    OpenAsk, Store,\n};\nlet it = Error::Store(error);";
    let others =
        "use offshoot_types::store::StoreError;\n// dyn Store\nError::Store(error);\nself.Store_";
    check(
        rules::no_store_in_faces,
        &[
            ("crates/offshoot-cli/src/a.rs", import),
            ("crates/offshoot-cli/src/assemble.rs", import),
            ("crates/offshoot-cli/src/b.rs", others),
            (
                "crates/offshoot-cli/src/c.rs",
                "fn f(\n    store: &dyn Store,\n",
            ),
            (
                "crates/offshoot-cli/src/doctor.rs",
                "offshoot_store::look(folder)",
            ),
            (
                "crates/offshoot-cli/src/doctor/data.rs",
                "use offshoot_store::Look;",
            ),
            ("crates/offshoot-cli/tests/it/a.rs", import),
            ("crates/offshoot-engine/src/a.rs", import),
            ("crates/offshoot-server/src/a.rs", long),
            (
                "crates/offshoot/src/facade/a.rs",
                "offshoot_types::store::Store",
            ),
            ("crates/offshoot/src/facade/builder.rs", import),
        ],
        &[
            "crates/offshoot-cli/src/a.rs:1",
            "crates/offshoot-cli/src/c.rs:2",
            "crates/offshoot-cli/src/doctor.rs:1",
            "crates/offshoot-server/src/a.rs:2",
            "crates/offshoot/src/facade/a.rs:1",
        ],
    );
}

#[test]
fn exa_03_chains_and_grants_that_are_made_outside_the_engine_are_found() {
    let chain = word!("let chain = Permissions::" "empty();");
    let grant = word!("let grant = Grant::" "like(agent, &needs, \"/w\");");
    check(
        rules::authority_only_in_engine,
        &[
            ("crates/offshoot-engine/src/a.rs", chain),
            ("crates/offshoot-types/src/permission/charter.rs", chain),
            ("crates/offshoot-agents/tests/it/a.rs", chain),
            ("crates/offshoot-tools/src/a.rs", chain),
            ("crates/offshoot/src/b.rs", grant),
        ],
        &[
            "crates/offshoot-tools/src/a.rs:1",
            "crates/offshoot/src/b.rs:1",
        ],
    );
}

#[test]
fn paths_of_this_machine_are_found() {
    check(
        rules::machine_paths,
        &[
            ("a.md", word!("see /wo" "rk/main")),
            ("b.rs", word!("\"/ro" "ot/.config\"")),
            ("c.md", word!("/home/me/wo" "rk/x and ~/wo" "rk/y")),
        ],
        &["a.md:1", "b.rs:1"],
    );
}

#[test]
fn a_select_that_is_not_biased_is_found_in_the_engine() {
    let random = word!("tokio::sel" "ect! {\n    a = b => {}\n}");
    let biased = word!("tokio::sel" "ect! {\n    // Why.\n    biased;\n}");
    let inline = word!("sel" "ect! { biased; a = b => {} }");
    check(
        rules::biased_selects,
        &[
            ("crates/offshoot-engine/src/a.rs", random),
            ("crates/offshoot-engine/src/b.rs", biased),
            ("crates/offshoot-engine/src/c.rs", inline),
            ("crates/offshoot-store/src/a.rs", random),
        ],
        &["crates/offshoot-engine/src/a.rs:1"],
    );
}

#[test]
fn hashing_is_found_in_the_engine() {
    check(
        rules::no_hashing_in_engine,
        &[
            (
                "crates/offshoot-engine/src/a.rs",
                "// HashMap\nuse HashMap;",
            ),
            ("crates/offshoot-engine/src/b.rs", "use BTreeMap;"),
            ("crates/offshoot-store/src/a.rs", "use HashMap;"),
        ],
        &["crates/offshoot-engine/src/a.rs:2"],
    );
}

#[test]
fn types_may_depend_on_its_allow_list_only() {
    let manifest = "\
[package]
name = \"offshoot-types\"
[dependencies]
serde.workspace = true
tokio = \"1\"
proptest.workspace = true
[dev-dependencies]
proptest.workspace = true
[dependencies.libc]
version = \"1\"
";
    check(
        crates::types_allow_list,
        &[("crates/offshoot-types/Cargo.toml", manifest)],
        &[
            "crates/offshoot-types/Cargo.toml:5",
            "crates/offshoot-types/Cargo.toml:6",
            "crates/offshoot-types/Cargo.toml:9",
        ],
    );
}

#[test]
fn arrows_point_down_only() {
    let engine = "\
[dependencies]
offshoot-types.workspace = true
offshoot-store.workspace = true
tokio.workspace = true
[dev-dependencies]
offshoot-store.workspace = true
offshoot-models.workspace = true
";
    check(
        crates::arrows,
        &[
            (
                "Cargo.toml",
                "[workspace.dependencies]\noffshoot-types = {}",
            ),
            ("crates/offshoot-engine/Cargo.toml", engine),
            ("crates/offshoot-new/Cargo.toml", ""),
        ],
        &[
            "crates/offshoot-engine/Cargo.toml:3",
            "crates/offshoot-engine/Cargo.toml:7",
            "crates/offshoot-new/Cargo.toml:1",
        ],
    );
}

/// A lock file in which `printer` needs `clap` by way of another crate.
const LOCK: &str = "\
[[package]]
name = \"printer\"
version = \"1.0.0\"
dependencies = [
 \"arguments 2.0.1\",
]

[[package]]
name = \"arguments\"
version = \"2.0.1\"
dependencies = [
 \"clap\",
]

[[package]]
name = \"clap\"
version = \"4.0.0\"
";

#[test]
fn what_the_library_would_bring_to_a_program_is_found() {
    let library = "[dependencies]\noffshoot-host.workspace = true\n";
    let host = "[dependencies]\nprinter.workspace = true\n";
    let in_tests = "[dev-dependencies]\nprinter.workspace = true\n";
    let cli = "[dependencies]\nclap.workspace = true\noffshoot.workspace = true\n";
    for (host, expected) in [
        (host, &["crates/offshoot/Cargo.toml:1"][..]),
        (in_tests, &[]),
    ] {
        let files = [
            ("Cargo.lock", LOCK),
            ("crates/offshoot/Cargo.toml", library),
            ("crates/offshoot-host/Cargo.toml", host),
            ("crates/offshoot-cli/Cargo.toml", cli),
        ];
        check(crates::embeddable, &files, expected);
    }
}

#[test]
fn sources_other_than_crates_io_are_found() {
    let lock = "\
source = \"registry+https://github.com/rust-lang/crates.io-index\"
source = \"sparse+https://mirror.example/index/\"
";
    check(
        crates::sources,
        &[
            ("Cargo.lock", lock),
            (".cargo/config.toml", "[alias]\n[source.mirror]"),
            ("crates/a/Cargo.toml", "a = { git = \"https://example\" }"),
            ("b.md", "[source.mirror]"),
        ],
        &[
            "Cargo.lock:2",
            ".cargo/config.toml:2",
            "crates/a/Cargo.toml:1",
        ],
    );
}

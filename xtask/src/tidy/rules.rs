//! Rules about files and what may stand in them.
//!
//! Words that are searched for are written in two halves, so that this file
//! does not find itself.

use super::Finding;
use super::tree::{File, Tree};

const MOST_LINES: usize = 800;

/// What may not stand in Rust code, and what to do about it.
const BANNED: &[(&str, &str)] = &[
    (concat!("FIX", "ME"), "fix it, or open an issue"),
    (concat!("todo", "!("), "write it, or leave it out"),
    (concat!("unimplemented", "!("), "write it, or leave it out"),
    (
        concat!("#[ign", "ore"),
        "assert what happens today, with a note",
    ),
    (concat!("#[al", "low("), "use #[expect(…, reason = \"…\")]"),
    (
        concat!("#![al", "low("),
        "use #![expect(…, reason = \"…\")]",
    ),
];

/// Names that say nothing of what is inside.
const EMPTY_NAMES: &[&str] = &["util.rs", "utils.rs", "common.rs", "helpers.rs"];

/// Files of the engine that may hash, with the reason why order cannot leak from them.
const MAY_HASH: &[(&str, &str)] = &[];

/// What faces are made of.
const FACES: &[&str] = &[
    "crates/offshoot-cli/src/",
    "crates/offshoot-server/src/",
    "crates/offshoot/src/",
];

/// Where a face opens the store that it hands to its runtime, and where `doctor` looks at a data folder
/// that may have none.
const OPENS_STORES: &[&str] = &[
    "crates/offshoot-cli/src/assemble.rs",
    "crates/offshoot-cli/src/doctor/data.rs",
    "crates/offshoot/src/facade/builder.rs",
];

pub(super) fn headers(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| {
            let what = "no header, start with `//!`: what it is, what it is not, its invariant";
            Finding::new(&file.path, 1, what)
        })
        .collect()
}

pub(super) fn lengths(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter_map(|file| {
            let length = file.text.lines().count();
            let what = format!("{length} lines, split it below {MOST_LINES}");
            (length > MOST_LINES).then(|| Finding::new(&file.path, MOST_LINES, what))
        })
        .collect()
}

pub(super) fn file_names(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter_map(|file| {
            let (folder, name) = file.path.rsplit_once('/')?;
            let what = match name {
                "mod.rs" => format!("a mod.rs, move it to {folder}.rs"),
                name if EMPTY_NAMES.contains(&name) => {
                    "a name that says nothing, name it for what it does".to_owned()
                }
                _ => return None,
            };
            Some(Finding::new(&file.path, 1, what))
        })
        .collect()
}

pub(super) fn banned_words(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for (number, line) in file.lines() {
            for (word, instead) in BANNED.iter().filter(|(word, _)| line.contains(word)) {
                let what = format!("`{word}` is not used here, {instead}");
                findings.push(Finding::new(&file.path, number, what));
            }
        }
    }
    findings
}

/// One integration binary for each crate, in which no file is forgotten.
pub(super) fn listed_tests(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let Some((package, inside)) = file.path.split_once("/tests/") else {
            continue;
        };
        if package.contains("/src/") || package.ends_with("/src") {
            continue;
        }
        let Some(module) = inside.strip_prefix("it/") else {
            if !inside.contains('/') {
                let what = "a second test binary, move it to tests/it/ and list it in main.rs";
                findings.push(Finding::new(&file.path, 1, what));
            }
            continue;
        };
        let name = module.trim_end_matches(".rs");
        if name == "main" || name.contains('/') {
            continue;
        }
        let main = format!("{package}/tests/it/main.rs");
        let declaration = format!("mod {name};");
        let listed = tree
            .under(&main)
            .any(|main| main.text.lines().any(|line| line.trim() == declaration));
        if !listed {
            let what = format!("no test in it runs, add `{declaration}` to {main}");
            findings.push(Finding::new(&file.path, 1, what));
        }
    }
    findings
}

pub(super) fn sql_only_in_store(tree: &Tree) -> Vec<Finding> {
    let words = [concat!("SEL", "ECT "), concat!("INSERT ", "INTO")];
    let outside = |file: &&File| !file.path.starts_with("crates/offshoot-store/");
    let mut findings = Vec::new();
    for file in tree.rust().filter(outside) {
        for (number, line) in file.code() {
            if words.iter().any(|word| line.contains(word)) {
                let what = "SQL outside the store, ask the `Store` port for what you need";
                findings.push(Finding::new(&file.path, number, what));
            }
        }
    }
    findings
}

/// R9: what a face can do is a command or a query; none calls the store.
pub(super) fn no_store_in_faces(tree: &Tree) -> Vec<Finding> {
    let is_face = |file: &&File| FACES.iter().any(|face| file.path.starts_with(face));
    let has_none = |file: &&File| !file.is_test() && !OPENS_STORES.contains(&file.path.as_str());
    let mut findings = Vec::new();
    for file in tree.rust().filter(is_face).filter(has_none) {
        let mut is_import = false;
        for (number, line) in file.code() {
            let line = line.trim_start();
            is_import |= line.starts_with("use ") || line.starts_with("pub use ");
            if line.contains("offshoot_store") || names_store(line, is_import) {
                let what = "a face calls no store, use a query or a command of the runtime";
                findings.push(Finding::new(&file.path, number, what));
            }
            is_import &= !line.ends_with(';');
        }
    }
    findings
}

/// Tells whether a line names the trait `Store`, and not a variant or a longer word.
fn names_store(line: &str, is_import: bool) -> bool {
    line.match_indices("Store").any(|(at, word)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let is_word = !before.ends_with(char::is_alphanumeric)
            && !after.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        let is_trait = ["dyn ", "impl ", "store::", "as "];
        is_word && (is_import || is_trait.iter().any(|word| before.ends_with(word)))
    })
}

/// EXA-03: chains and grants are made where sessions are run, and nowhere else.
pub(super) fn authority_only_in_engine(tree: &Tree) -> Vec<Finding> {
    let words = [
        concat!("Permissions::", "empty("),
        concat!("Permissions::", "default("),
        concat!("Permissions::", "of_host("),
        concat!("Grant::", "like("),
    ];
    let hosts = [
        "crates/offshoot-engine/",
        "crates/offshoot-types/src/permission/",
    ];
    let outside = |file: &&File| !hosts.iter().any(|host| file.path.starts_with(host));
    let acts = |file: &&File| !file.is_test() && !file.path.contains("/benches/");
    let mut findings = Vec::new();
    for file in tree.rust().filter(outside).filter(acts) {
        for (number, line) in file.code() {
            if words.iter().any(|word| line.contains(word)) {
                let what = "authority is made in the engine only, hand in rules or an answer";
                findings.push(Finding::new(&file.path, number, what));
            }
        }
    }
    findings
}

/// No path of the machine it was written on, in any text.
pub(super) fn machine_paths(tree: &Tree) -> Vec<Finding> {
    let folders = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];
    let mut findings = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            for folder in folders.iter().filter(|folder| names_folder(line, folder)) {
                let what = format!("`{folder}` is a path of one machine, use a relative one");
                findings.push(Finding::new(&file.path, number, what));
            }
        }
    }
    findings
}

/// Tells whether an absolute path in `line` begins with `folder`; one that only contains it does not.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        !line[..at].ends_with(|before: char| before.is_alphanumeric() || "._-~}>*".contains(before))
    })
}

/// `select!` in the engine polls in the written order, so that a seed repeats a history.
pub(super) fn biased_selects(tree: &Tree) -> Vec<Finding> {
    let word = concat!("sel", "ect!");
    let mut findings = Vec::new();
    for file in tree.under("crates/offshoot-engine/src/") {
        let code: Vec<(usize, &str)> = file.code().collect();
        for (index, (number, line)) in code.iter().enumerate() {
            let Some((_, rest)) = line.split_once(word) else {
                continue;
            };
            let following = code.get(index + 1).map_or("", |(_, line)| *line);
            let body = format!("{rest} {following}");
            let first = body
                .trim_start()
                .trim_start_matches(['{', '('])
                .trim_start();
            if !first.starts_with("biased;") {
                let what = format!("`{word}` picks at random, begin it with `biased;`");
                findings.push(Finding::new(&file.path, *number, what));
            }
        }
    }
    findings
}

/// Nothing in the engine is iterated in an order that differs from run to run.
pub(super) fn no_hashing_in_engine(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.under("crates/offshoot-engine/src/") {
        let listed = MAY_HASH.iter().any(|(path, _)| *path == file.path);
        let mut hashes = file
            .code()
            .filter(|(_, line)| line.contains("HashMap") || line.contains("HashSet"));
        match (listed, hashes.next()) {
            (false, Some((number, _))) => {
                let what = "hashed order differs from run to run, use a BTreeMap or BTreeSet";
                findings.push(Finding::new(&file.path, number, what));
            }
            (true, None) => {
                let what = "listed in MAY_HASH and hashes nothing, take it off the list";
                findings.push(Finding::new(&file.path, 1, what));
            }
            (false, None) | (true, Some(_)) => {}
        }
    }
    findings
}

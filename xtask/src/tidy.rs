//! The house rules that no compiler checks.
//!
//! Every rule is a function from the tracked files to findings, each of which
//! says where, what is wrong and what to do. Rules look at text: they are cheap,
//! easily read, and may be fooled by somebody who wants to fool them. Nothing
//! here runs a build.

mod crates;
mod gauges;
mod rules;
mod tree;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

pub(crate) use tree::Tree;

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    rules::headers,
    rules::lengths,
    rules::file_names,
    rules::banned_words,
    rules::listed_tests,
    rules::sql_only_in_store,
    rules::no_store_in_faces,
    rules::authority_only_in_engine,
    rules::machine_paths,
    rules::biased_selects,
    rules::no_hashing_in_engine,
    crates::types_allow_list,
    crates::arrows,
    crates::embeddable,
    crates::sources,
];

/// Something that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// Counted from 1.
    line: usize,
    /// What is wrong, then what to do.
    what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, what } = self;
        write!(f, "{path}:{line}: {what}")
    }
}

/// Prints the gauges, then fails with one line for each finding.
pub(crate) fn run(root: &Path) -> Result<()> {
    let tree = Tree::load(root)?;
    println!("{}", gauges::measure(&tree));
    let findings = check(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => bail!("tidy: 1 thing to fix"),
        many => bail!("tidy: {many} things to fix"),
    }
}

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}

#[cfg(test)]
mod tests;

//! Numbers that show drift: printed, never a failure.
//!
//! The targets are those of CONVENTIONS.md. Functions are found by indentation,
//! which relies on rustfmt.

use std::fmt;

use super::tree::{File, Tree};

/// What is measured, over all Rust files unless it says otherwise.
pub(super) struct Gauges {
    files: Spread,
    functions: Spread,
    lines: usize,
    test_lines: usize,
    comment_lines: usize,
    headers: usize,
    sleeps_in_tests: usize,
}

/// How a measure is spread.
struct Spread {
    count: usize,
    median: usize,
    p90: usize,
    p99: usize,
    max: usize,
}

impl Spread {
    fn of(mut values: Vec<usize>) -> Self {
        values.sort_unstable();
        let at = |percent: usize| {
            let last = values.len().saturating_sub(1);
            values.get(last * percent / 100).copied().unwrap_or(0)
        };
        Self {
            count: values.len(),
            median: at(50),
            p90: at(90),
            p99: at(99),
            max: at(100),
        }
    }
}

pub(super) fn measure(tree: &Tree) -> Gauges {
    let count = |wanted: fn(&File, &str) -> bool| {
        tree.rust()
            .map(|file| file.text.lines().filter(|line| wanted(file, line)).count())
            .sum()
    };
    Gauges {
        files: Spread::of(tree.rust().map(|file| file.text.lines().count()).collect()),
        functions: Spread::of(tree.rust().flat_map(|file| functions(&file.text)).collect()),
        lines: count(|file, _| !file.is_test()),
        test_lines: count(|file, _| file.is_test()),
        comment_lines: count(|file, line| !file.is_test() && line.trim_start().starts_with("//")),
        headers: tree
            .rust()
            .filter(|file| file.text.starts_with("//!"))
            .count(),
        sleeps_in_tests: count(|file, line| file.is_test() && line.contains(concat!("sle", "ep("))),
    }
}

/// Returns the length of each function that has a body.
fn functions(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let mut lengths = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        if !is_function(code) {
            continue;
        }
        if code.ends_with('}') {
            lengths.push(1);
            continue;
        }
        let indent = &line[..line.len() - code.len()];
        let end = lines[start..].iter().position(|line| {
            line.strip_prefix(indent)
                .is_some_and(|rest| rest == "}" || rest.ends_with(';') && !rest.starts_with(' '))
        });
        match end {
            Some(length) if lines[start + length].trim() == "}" => lengths.push(length + 1),
            // A signature without a body, in a trait.
            Some(_) | None => {}
        }
    }
    lengths
}

fn is_function(code: &str) -> bool {
    let name = ["pub ", "pub(crate) ", "pub(super) ", "const ", "async "]
        .iter()
        .fold(code, |code, word| code.strip_prefix(word).unwrap_or(code));
    name.starts_with("fn ")
}

impl fmt::Display for Gauges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            files, functions, ..
        } = self;
        let per_hundred = |part: usize, whole: usize| part * 100 / whole.max(1);
        let ratio = per_hundred(self.test_lines, self.lines);
        writeln!(f, "gauge                         now            target")?;
        writeln!(
            f,
            "file lines, median/p90/max    {:<14} 200/500/800",
            format!("{}/{}/{}", files.median, files.p90, files.max)
        )?;
        writeln!(
            f,
            "function lines, p99/max       {:<14} 80/100",
            format!("{}/{}", functions.p99, functions.max)
        )?;
        writeln!(
            f,
            "comment share                 {:<14} 15 to 25 %",
            format!("{} %", per_hundred(self.comment_lines, self.lines))
        )?;
        writeln!(
            f,
            "files with a header           {:<14} all",
            format!("{} of {}", self.headers, files.count)
        )?;
        writeln!(
            f,
            "test lines by source lines    {:<14} 0.80 to 1.20",
            format!("{}.{:02}", ratio / 100, ratio % 100)
        )?;
        write!(
            f,
            "sleeps in tests               {:<14} 0",
            self.sleeps_in_tests
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_by_indentation() {
        let text = "\
fn short() {}

pub(crate) async fn three() {
    work();
}

trait T {
    fn without_body(
        &self,
    ) -> u32;

    fn five(&self) {
        if true {
            work();
        }
    }
}
";
        assert_eq!(functions(text), [1, 3, 5]);
    }

    #[test]
    fn a_spread_of_nothing_is_zero() {
        let Spread { count, max, .. } = Spread::of(Vec::new());
        assert_eq!((count, max), (0, 0));
    }
}

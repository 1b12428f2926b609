//! The program over HTTP, beside a bare loop in the same run.
//!
//! The benchmark prints a line a figure: name, unit, ours, the loop's, the aim.

use std::path::Path;

use anyhow::{Result, bail};

use super::benchmark;
use super::table::Table;

const TITLE: &str = "over HTTP, a server without latency, everything on disk (medians)";

pub(super) fn measure(root: &Path) -> Result<Table> {
    let printed = benchmark(root, "offshoot-cli", "http", &[])?;
    read(&printed)
}

fn read(printed: &str) -> Result<Table> {
    let columns = ["", "offshoot", "bare loop", "ratio", "aim", ""];
    let mut table = Table::new(TITLE, &columns);
    let lines = printed
        .lines()
        .filter_map(|line| line.strip_prefix("http\t"));
    let mut any = false;
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        let [name, unit, ours, bare, aim] = cells.as_slice() else {
            bail!("read what the benchmark printed: `{line}`");
        };
        any = true;
        let (of_ours, of_bare) = (ours.parse::<f64>()?, bare.parse::<f64>().ok());
        let aim = aim.parse::<f64>().ok();
        let met = |aim: f64| if of_ours < aim { "met" } else { "not met" };
        table.row(vec![
            (*name).to_owned(),
            format!("{ours} {unit}"),
            of_bare.map_or(String::new(), |_| format!("{bare} {unit}")),
            of_bare.map_or(String::new(), |bare| format!("{:.1}×", of_ours / bare)),
            aim.map_or(String::new(), |aim| format!("under {aim} {unit}")),
            aim.map_or(String::new(), |aim| met(aim).to_owned()),
        ]);
    }
    if !any {
        bail!("the benchmark printed no figure:\n{printed}");
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::{TITLE, read};

    #[test]
    fn a_figure_stands_beside_the_loop_and_its_aim() {
        let table = read("noise\nhttp\tstart\tms\t12.000\t3.000\t25\n").unwrap();
        let table = table.to_string();
        let row = table.strip_prefix(TITLE).unwrap().lines().last().unwrap();
        let cells: Vec<&str> = row.split_whitespace().collect();
        let expected = "start 12.000 ms 3.000 ms 4.0× under 25 ms met";
        assert_eq!(cells.join(" "), expected);
    }

    #[test]
    fn a_benchmark_that_prints_nothing_is_an_error() {
        assert!(read("nothing here\n").is_err());
    }
}

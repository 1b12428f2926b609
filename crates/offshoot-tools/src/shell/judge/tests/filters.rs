//! Programs that print: scripts of `sed` and `awk`, and what is fetched.

use super::{check_opaque, check_seen_through};

/// Some end a pattern at the first mark, some at the first that is in no brackets.
const SED: &[&str] = &[
    "sed -n 's/[]/x]/p;s|x|touch ran|p;/e;p#/p' f",
    "sed -n 's/[]/]/x/;s/a/touch ran/e;p' f",
    "sed -n 's/[^]/x]/p;s|x|touch ran|p;/e;p#/p' f",
    "sed -n 's/][/x/p;s|x]|touch ran|p;/e' f",
    "sed -n '/[]/]/p;w f' f",
    "sed 's/[/]/p;w f' f",
    "sed -n 's/[[:]/x/p;s|:]/|touch ran|e' f",
    "sed -n 's/[\\]/x]/p;s|x|touch ran|p;/e;p#/p' f",
    "sed -n 's/[[.].]/x/p;w f' f",
    "sed 's/[/]x/w f' f",
    "sed 's/a[/b/' f",
    "sed 's/[\n]/b/' f",
];

const PLAIN_SED: &[&str] = &[
    "sed 's/[^/]*$//' f",
    "sed 's/[^/]*\\.rs$//' f",
    "sed -E 's/^[^/]+/x/g' f",
    "sed -n '/[^/]*x/p' f",
    // A pattern with a blank in it, or an error: there is no command `]`.
    "sed -n '/[/]w f/p' f",
    "sed 's/[[:space:]]*$//' f",
    "sed 's/[]a]/x/; s/[^]a]/y/' f",
    "sed 's/[a-z][0-9]/x/g' f",
    "sed 's/[\\/]/x/' f",
    "sed 's/\\[x\\]/y/' f",
    "sed 's/[\\.]/x/' f",
    "sed 's|[/]|:|g' f",
];

#[test]
fn a_script_of_sed_is_plain_if_it_is_wherever_its_patterns_end() {
    check_opaque(SED);
    check_seen_through(PLAIN_SED);
}

const AWK: &[&str] = &[
    "awk '{ print $1 > \"f\" }' f",
    "awk '{ print \"a;\" > \"f\" }' f",
    "awk '{ print \"a}\" > \"f\" }' f",
    "awk '{ print a / b \";\" > \"f\" }' f",
    "awk '{ print $1,\n $2 > \"f\" }' f",
    "awk '{ print | \"touch x\" }' f",
    "awk '$1 ||| \"ls\"' f",
    "awk '/a/ | \"ls\"' f",
    "awk 'a /b|c/ \"ls\"' f",
    "awk '/[/]/ | \"touch x\" #/' f",
    "awk '/[]/] | \"touch x\" #/' f",
    "awk '/=/ x | \"touch x\" #/' f",
    "awk 'BEGIN { system(\"ls\") }'",
    "awk '{ \"ls\" | getline }' f",
    "awk '{ @x() }' f",
    "awk '{ pri\\\nnt > \"f\" }' f",
    "awk -f x f",
    "awk -i inplace '{ print }' f",
    "awk -F '|'",
    "awk -v \"$x\" '{ print }' f",
    "awk '{ print }' -f x",
    "awk '{ print }' $x",
    "awk \"$x\" f",
];

const PLAIN_AWK: &[&str] = &[
    "awk '$3 > 100 {print $1}' f",
    "awk 'NR>=10 && NR<=20 {print}' f",
    "awk -F '|' '{print $2}' f",
    "awk -F'|' -v x=1 '{print $2}' f",
    "awk '/a|b/ {print}' f",
    "awk '!/a|b/' f",
    "awk '$1 ~ /a|b/ {n++} END {print n}' f",
    "awk '{print \"a > b | c\"}' f",
    "awk '/@/ {print $1}' f",
    "awk '{ s += $1 / 2 } END { print s }' f",
    "awk '{print $1}' src/*.log",
    "awk '{print $1}' \"src/$f\" -",
    "awk '{print} # a > b' f",
];

#[test]
fn a_program_of_awk_is_plain_if_it_runs_and_writes_nothing() {
    check_opaque(AWK);
    check_seen_through(PLAIN_AWK);
}

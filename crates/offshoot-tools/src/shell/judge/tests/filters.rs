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

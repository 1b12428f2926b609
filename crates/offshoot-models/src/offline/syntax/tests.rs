//! Names that lines declare.

use super::super::survey::languages;
use super::of;

#[track_caller]
fn check(path: &str, line: &str, expected: Option<&str>) {
    let syntax = languages::of(path).and_then(of).unwrap();
    assert_eq!(syntax.declared(line), expected, "{path}: {line}");
}

#[test]
fn the_name_behind_the_keyword_is_declared() {
    check("a.rs", "pub const fn new() -> Self {", Some("new"));
    check("a.rs", "    pub(crate) struct Dock;", None);
    check("a.rs", "pub unsafe extern \"C\" fn call() {", Some("call"));
    check("a.rs", "let x = fn_name();", None);
    check("a.py", "async def fetch(url):", Some("fetch"));
    check("a.ts", "export default class Main {", Some("Main"));
    check("a.ts", "export async function go() {}", Some("go"));
    check("a.js", "exports.go = go;", Some("go"));
    check("a.js", "module.exports = class Cart {", Some("Cart"));
    check("a.js", "module.exports = require('./x');", None);
    check("a.go", "func (m *Moon) Phase() int {", Some("Phase"));
    check("a.go", "type Moon struct {", Some("Moon"));
    check("a.cpp", "enum class Colour {", Some("Colour"));
    check("a.java", "public final class Boat {", Some("Boat"));
    check("a.c", "static int read_all(int fd)", Some("read_all"));
    check("a.c", "    call(x);", None);
    check("a.sh", "deploy() {", Some("deploy"));
    check("a.py", "", None);
}

#[test]
fn every_syntax_is_of_a_language_that_is_known() {
    let paths = [
        "a.rs", "a.py", "a.ts", "a.js", "a.go", "a.c", "a.cpp", "a.java", "a.kt", "a.cs", "a.rb",
        "a.php", "a.swift", "a.ex", "a.sh",
    ];
    let found = paths.iter().filter_map(|path| of(languages::of(path)?));
    assert_eq!(found.count(), super::SYNTAXES.len());
}

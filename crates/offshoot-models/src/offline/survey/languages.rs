//! Languages, by the ending or the name of a file.
//!
//! A name decides, never the content: an ending that two languages share goes to
//! the one that is met more often.

use std::collections::BTreeMap;

/// A language.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Language {
    pub(in super::super) name: &'static str,
    pub(in super::super) kind: Kind,
    endings: &'static [&'static str],
}

/// What a language is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kind {
    Code,
    Text,
    Data,
}

/// How many files there are of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Share {
    pub(in super::super) language: &'static Language,
    pub(in super::super) files: usize,
}

const fn code(name: &'static str, endings: &'static [&'static str]) -> Language {
    Language {
        name,
        kind: Kind::Code,
        endings,
    }
}

const fn text(name: &'static str, endings: &'static [&'static str]) -> Language {
    Language {
        name,
        kind: Kind::Text,
        endings,
    }
}

const fn data(name: &'static str, endings: &'static [&'static str]) -> Language {
    Language {
        name,
        kind: Kind::Data,
        endings,
    }
}

const LANGUAGES: &[Language] = &[
    code("Ada", &["adb", "ads"]),
    text("AsciiDoc", &["adoc", "asciidoc"]),
    code("Assembly", &["s", "asm"]),
    code("Batch", &["bat", "cmd"]),
    code("C", &["c", "h"]),
    code("C#", &["cs"]),
    code("C++", &["cpp", "cc", "cxx", "hpp", "hh", "hxx"]),
    code("CMake", &["cmake"]),
    data("CSV", &["csv", "tsv"]),
    code("CSS", &["css", "scss", "sass", "less"]),
    code("Clojure", &["clj", "cljs", "cljc"]),
    code("Common Lisp", &["lisp", "cl"]),
    code("Crystal", &["cr"]),
    code("CUDA", &["cu", "cuh"]),
    code("D", &["d"]),
    code("Dart", &["dart"]),
    code("Dockerfile", &["dockerfile"]),
    code("Elixir", &["ex", "exs"]),
    code("Elm", &["elm"]),
    code("Emacs Lisp", &["el"]),
    code("Erlang", &["erl", "hrl"]),
    code("F#", &["fs", "fsx"]),
    code("Fortran", &["f90", "f95", "f", "for"]),
    code("GLSL", &["glsl", "vert", "frag"]),
    code("Go", &["go"]),
    code("GraphQL", &["graphql", "gql"]),
    code("Groovy", &["groovy", "gradle"]),
    code("HCL", &["tf", "hcl"]),
    text("HTML", &["html", "htm"]),
    code("Haskell", &["hs", "lhs"]),
    data("INI", &["ini", "cfg", "conf", "properties"]),
    data("JSON", &["json", "jsonl", "json5", "jsonc"]),
    code("Java", &["java"]),
    code("JavaScript", &["js", "jsx", "mjs", "cjs"]),
    code("Julia", &["jl"]),
    code("Jupyter", &["ipynb"]),
    code("Just", &["just"]),
    code("Kotlin", &["kt", "kts"]),
    code("Lua", &["lua"]),
    code("Makefile", &["mk", "mak"]),
    text("Markdown", &["md", "markdown", "mdx"]),
    code("Nim", &["nim"]),
    code("Nix", &["nix"]),
    code("OCaml", &["ml", "mli"]),
    code("Objective-C", &["m", "mm"]),
    code("PHP", &["php"]),
    code("Pascal", &["pas", "pp"]),
    code("Perl", &["pl", "pm"]),
    text("Plain text", &["txt", "text"]),
    code("PowerShell", &["ps1", "psm1"]),
    code("Protocol Buffers", &["proto"]),
    code("Python", &["py", "pyi", "pyx"]),
    code("R", &["r"]),
    code("Ruby", &["rb", "rake", "gemspec"]),
    code("Rust", &["rs"]),
    code("SQL", &["sql"]),
    code("Scala", &["scala", "sc"]),
    code("Scheme", &["scm", "ss"]),
    code("Shell", &["sh", "bash", "zsh", "fish"]),
    code("Solidity", &["sol"]),
    code("Starlark", &["bzl", "bazel"]),
    code("Svelte", &["svelte"]),
    code("Swift", &["swift"]),
    data("TOML", &["toml"]),
    text("TeX", &["tex", "sty", "bib"]),
    code("TypeScript", &["ts", "tsx", "mts", "cts"]),
    code("V", &["v"]),
    code("VHDL", &["vhd", "vhdl"]),
    code("Vim script", &["vim"]),
    code("Vue", &["vue"]),
    data("XML", &["xml", "xsd", "xsl"]),
    data("YAML", &["yml", "yaml"]),
    code("Zig", &["zig"]),
    text("reStructuredText", &["rst"]),
];

/// Names of files that say more than their endings.
const NAMES: &[(&str, &str)] = &[
    ("BUILD", "Starlark"),
    ("CMakeLists.txt", "CMake"),
    ("Dockerfile", "Dockerfile"),
    ("GNUmakefile", "Makefile"),
    ("Gemfile", "Ruby"),
    ("Jenkinsfile", "Groovy"),
    ("Justfile", "Just"),
    ("Makefile", "Makefile"),
    ("Rakefile", "Ruby"),
    ("justfile", "Just"),
    ("makefile", "Makefile"),
];

/// Returns the language of a file.
pub(in super::super) fn of(path: &str) -> Option<&'static Language> {
    let name = path.rsplit('/').next()?;
    if let Some((_, language)) = NAMES.iter().find(|(known, _)| *known == name) {
        return named(language);
    }
    let (_, ending) = name.rsplit_once('.')?;
    let ending = ending.to_ascii_lowercase();
    LANGUAGES
        .iter()
        .find(|language| language.endings.contains(&ending.as_str()))
}

/// Counts files by language, most first.
pub(in super::super) fn shares<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<Share> {
    let mut counts: BTreeMap<&str, Share> = BTreeMap::new();
    for language in paths.into_iter().filter_map(of) {
        let share = counts
            .entry(language.name)
            .or_insert(Share { language, files: 0 });
        share.files += 1;
    }
    let mut shares: Vec<Share> = counts.into_values().collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.files));
    shares
}

impl Language {
    /// Returns what matches its files by their endings.
    pub(in super::super) fn glob(&self) -> String {
        match self.endings {
            [only] => format!("**/*.{only}"),
            several => format!("**/*.{{{}}}", several.join(",")),
        }
    }
}

/// Finds a language by its name.
pub(super) fn named(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.name == name)
}

#[cfg(test)]
mod tests;

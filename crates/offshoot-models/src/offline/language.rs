//! Languages by the endings of files, and what declarations and tests look like in some.
//!
//! Patterns are for `grep`. They look at single lines and know no grammar, so what they count are
//! lines that look so, and reports say it in those words.

use std::collections::BTreeMap;

/// A language, as far as the rules know it.
#[derive(Debug)]
pub(super) struct Language {
    pub(super) name: &'static str,
    endings: &'static [&'static str],
    /// What others may use.
    pub(super) public: Option<&'static str>,
    /// A test.
    pub(super) test: Option<&'static str>,
}

const JS_PUBLIC: &str =
    r"^export (default |async |abstract )*(function|class|const|interface|type|enum) \w";
const JS_TEST: &str = r"^\s*(test|it)(\.\w+)?\(";

const LANGUAGES: &[Language] = &[
    code(
        "Rust",
        &["rs"],
        r"^\s*pub (async |const |unsafe )*(fn|struct|enum|trait|type|const|static) \w",
        r"^\s*#\[(\w+::)*test\b",
    ),
    code(
        "Python",
        &["py"],
        r"^(async )?(def|class) [A-Za-z]",
        r"^\s*(async )?def test_",
    ),
    code("TypeScript", &["ts", "tsx"], JS_PUBLIC, JS_TEST),
    code(
        "JavaScript",
        &["js", "jsx", "mjs", "cjs"],
        JS_PUBLIC,
        JS_TEST,
    ),
    code(
        "Go",
        &["go"],
        r"^(func (\([^)]*\) )?|type |var |const )[A-Z]",
        r"^func (Test|Benchmark|Fuzz)\w*\(",
    ),
    code(
        "Java",
        &["java"],
        r"^\s*public .*\b(class|interface|enum|record) \w",
        r"^\s*@(Test|ParameterizedTest)\b",
    ),
    code(
        "Kotlin",
        &["kt", "kts"],
        r"^(public |open |data )*(class|interface|object|fun) \w",
        r"^\s*@Test\b",
    ),
    code(
        "C#",
        &["cs"],
        r"^\s*public .*\b(class|interface|struct|enum|record) \w",
        r"^\s*\[(Fact|Test|TestMethod)\b",
    ),
    code(
        "C++",
        &["cpp", "cc", "cxx", "hpp", "hh"],
        r"^\s*(class|struct|namespace) \w+",
        r"^\s*TEST(_F|_P|_CASE)?\(",
    ),
    code(
        "Ruby",
        &["rb"],
        r"^\s*(class|module|def) [A-Za-z]",
        r#"^\s*(it|test) ["']"#,
    ),
    code(
        "PHP",
        &["php"],
        r"^\s*(abstract |final )?(class|interface|trait|function) \w",
        r"function test\w",
    ),
    code(
        "Swift",
        &["swift"],
        r"^\s*(public|open) .*\b(class|struct|enum|protocol|func) \w",
        r"func test\w",
    ),
    plain("C", &["c", "h"]),
    plain("Shell", &["sh", "bash", "zsh"]),
    plain("SQL", &["sql"]),
    plain("HTML", &["html", "htm"]),
    plain("CSS", &["css", "scss", "less"]),
    plain("Markdown", &["md", "mdx"]),
    plain("TOML", &["toml"]),
    plain("YAML", &["yml", "yaml"]),
    plain("JSON", &["json", "jsonl"]),
    plain("Plain text", &["txt"]),
];

const fn code(
    name: &'static str,
    endings: &'static [&'static str],
    public: &'static str,
    test: &'static str,
) -> Language {
    Language {
        name,
        endings,
        public: Some(public),
        test: Some(test),
    }
}

const fn plain(name: &'static str, endings: &'static [&'static str]) -> Language {
    Language {
        name,
        endings,
        public: None,
        test: None,
    }
}

impl Language {
    /// Returns the glob of its files.
    pub(super) fn glob(&self) -> String {
        match self.endings {
            [one] => format!("**/*.{one}"),
            many => format!("**/*.{{{}}}", many.join(",")),
        }
    }

    /// Returns the language of a file.
    pub(super) fn of(path: &str) -> Option<&'static Self> {
        let (_, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
        let ending = ending.to_ascii_lowercase();
        LANGUAGES
            .iter()
            .find(|language| language.endings.contains(&ending.as_str()))
    }
}

/// Counts files by language, most first.
pub(super) fn shares<'a>(
    paths: impl IntoIterator<Item = &'a str>,
) -> Vec<(&'static Language, usize)> {
    let mut counts: BTreeMap<&str, (&'static Language, usize)> = BTreeMap::new();
    for language in paths.into_iter().filter_map(Language::of) {
        counts.entry(language.name).or_insert((language, 0)).1 += 1;
    }
    let mut shares: Vec<_> = counts.into_values().collect();
    shares.sort_by_key(|(_, files)| std::cmp::Reverse(*files));
    shares
}

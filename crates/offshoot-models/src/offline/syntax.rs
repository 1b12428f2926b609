//! What declarations, tests and entry points look like, by language.
//!
//! Patterns are for `grep`, which searches; words are for reading a line that was
//! found. Both look at single lines and know no grammar, so what they count are
//! lines that look so, and reports say it in those words.

use super::survey::languages::Language;

/// What to look for in files of one language.
#[derive(Debug)]
pub(super) struct Syntax {
    language: &'static str,
    /// What others may use.
    pub(super) public: &'static str,
    /// What such lines are called, in the plural.
    pub(super) public_name: &'static str,
    /// A test.
    pub(super) test: Option<&'static str>,
    /// Where a program starts.
    pub(super) main: Option<&'static str>,
    /// Words that may come before a declaration's keyword.
    modifiers: &'static [&'static str],
    /// Words that a name follows.
    keywords: &'static [&'static str],
}

/// Words behind `exports` that are no names.
const NAMELESS: &[&str] = &["new", "require"];

const NO_MODIFIERS: &[&str] = &[];

const SYNTAXES: &[Syntax] = &[
    Syntax {
        language: "Rust",
        public: r"^\s*pub (async |const |unsafe )*(fn|struct|enum|trait|type|const|static|mod|union) \w",
        public_name: "`pub` items",
        test: Some(r"^\s*#\[(\w+::)*test\b"),
        main: Some(r"^(pub )?(async )?fn main\("),
        modifiers: &["pub", "async", "unsafe", "extern", "default"],
        keywords: &[
            "fn",
            "struct",
            "enum",
            "trait",
            "type",
            "const",
            "static",
            "mod",
            "union",
            "macro_rules",
        ],
    },
    Syntax {
        language: "Python",
        public: r"^(async )?(def|class) [A-Za-z]",
        public_name: "top-level functions and classes",
        test: Some(r"^\s*(async )?def test_"),
        main: Some(r#"^if __name__ == ["']__main__["']"#),
        modifiers: &["async"],
        keywords: &["def", "class"],
    },
    Syntax {
        language: "TypeScript",
        public: JS_PUBLIC,
        public_name: "exports",
        test: Some(JS_TEST),
        main: None,
        modifiers: JS_MODIFIERS,
        keywords: JS_KEYWORDS,
    },
    Syntax {
        language: "JavaScript",
        public: JS_PUBLIC,
        public_name: "exports",
        test: Some(JS_TEST),
        main: None,
        modifiers: JS_MODIFIERS,
        keywords: JS_KEYWORDS,
    },
    Syntax {
        language: "Go",
        public: r"^(func (\([^)]*\) )?|type |var |const )[A-Z]",
        public_name: "exported items",
        test: Some(r"^func (Test|Benchmark|Fuzz)\w*\("),
        main: Some(r"^func main\("),
        modifiers: NO_MODIFIERS,
        keywords: &["func", "type", "var", "const"],
    },
    Syntax {
        language: "C",
        public: r"^[A-Za-z_][A-Za-z0-9_ *]*\(",
        public_name: "lines that look like functions",
        test: None,
        main: Some(r"^(int|void) main\s*\("),
        modifiers: &["static", "extern", "const", "unsigned", "inline"],
        keywords: &["struct", "enum", "union", "typedef", "define"],
    },
    Syntax {
        language: "C++",
        public: r"^\s*(class|struct|namespace|enum class|enum) \w+",
        public_name: "types and namespaces",
        test: Some(r"^\s*(TEST|TEST_F|TEST_P|TEST_CASE)\("),
        main: Some(r"^(int|auto) main\s*\("),
        modifiers: &["template", "inline", "static", "constexpr", "enum"],
        keywords: &["class", "struct", "namespace", "enum", "union"],
    },
    Syntax {
        language: "Java",
        public: r"^\s*public .*\b(class|interface|enum|record) \w",
        public_name: "public types",
        test: Some(r"^\s*@(Test|ParameterizedTest)\b"),
        main: Some(r"public static void main\("),
        modifiers: JVM_MODIFIERS,
        keywords: &["class", "interface", "enum", "record"],
    },
    Syntax {
        language: "Kotlin",
        public: r"^\s*(public |open |data |sealed |abstract )*(class|interface|object|fun) \w",
        public_name: "types and functions",
        test: Some(r"^\s*@Test\b"),
        main: Some(r"^fun main\("),
        modifiers: JVM_MODIFIERS,
        keywords: &["class", "interface", "object", "fun"],
    },
    Syntax {
        language: "C#",
        public: r"^\s*public .*\b(class|interface|enum|record|struct) \w",
        public_name: "public types",
        test: Some(r"^\s*\[(Test|Fact|Theory|TestMethod)\b"),
        main: Some(r"static .*\bMain\("),
        modifiers: JVM_MODIFIERS,
        keywords: &["class", "interface", "enum", "record", "struct"],
    },
    Syntax {
        language: "Ruby",
        public: r"^\s*(class|module) [A-Z]",
        public_name: "classes and modules",
        test: Some(r#"^\s*(it|test|specify) ["']|^\s*def test_"#),
        main: None,
        modifiers: NO_MODIFIERS,
        keywords: &["class", "module", "def"],
    },
    Syntax {
        language: "PHP",
        public: r"^\s*(abstract |final )?(class|interface|trait|enum) \w",
        public_name: "types",
        test: Some(r"function test\w*\("),
        main: None,
        modifiers: &["abstract", "final", "public", "static"],
        keywords: &["class", "interface", "trait", "enum", "function"],
    },
    Syntax {
        language: "Swift",
        public: r"^\s*(public|open) .*\b(class|struct|enum|protocol|func) \w",
        public_name: "public items",
        test: Some(r"^\s*func test\w*\("),
        main: Some(r"^@main\b"),
        modifiers: &["public", "open", "final", "static", "indirect"],
        keywords: &["class", "struct", "enum", "protocol", "func"],
    },
    Syntax {
        language: "Elixir",
        public: r"^\s*(defmodule|def) \w",
        public_name: "modules and functions",
        test: Some(r#"^\s*test ""#),
        main: None,
        modifiers: NO_MODIFIERS,
        keywords: &["defmodule", "def", "defp", "defmacro"],
    },
    Syntax {
        language: "Shell",
        public: r"^(function )?\w+ ?\(\)",
        public_name: "functions",
        test: None,
        main: None,
        modifiers: NO_MODIFIERS,
        keywords: &["function"],
    },
];

const JS_PUBLIC: &str = r"^(module\.)?exports\b|^export (default |declare |abstract |async )*(function|class|const|let|var|interface|type|enum|namespace)\b";
const JS_TEST: &str = r"^\s*(it|test)(\.\w+)*\(";
const JS_MODIFIERS: &[&str] = &[
    "export", "default", "declare", "abstract", "async", "module",
];
const JS_KEYWORDS: &[&str] = &[
    "exports",
    "function",
    "class",
    "const",
    "let",
    "var",
    "interface",
    "type",
    "enum",
    "namespace",
];
const JVM_MODIFIERS: &[&str] = &[
    "public",
    "protected",
    "internal",
    "abstract",
    "final",
    "sealed",
    "static",
    "data",
    "open",
    "partial",
    "readonly",
    "non",
    "strictfp",
];

/// Returns what to look for in a language, where that is known.
pub(super) fn of(language: &Language) -> Option<&'static Syntax> {
    SYNTAXES
        .iter()
        .find(|syntax| syntax.language == language.name)
}

/// Returns what finds the lines that `declared` may take for declarations of a name, in whatever
/// case; `None` for what is no name.
pub(super) fn definition(name: &str) -> Option<String> {
    if name.is_empty() || !name.chars().all(is_word) {
        return None;
    }
    let mut keywords: Vec<&str> = SYNTAXES
        .iter()
        .flat_map(|syntax| syntax.keywords)
        .copied()
        .collect();
    keywords.sort_unstable();
    keywords.dedup();
    let keywords = keywords.join("|");
    let bare = super::wanted::literal(name);
    let name = format!(r"(?i:{bare})([^\w$]|$)");
    // Behind a keyword, behind a receiver of Go's, or at the end of what stands before a bracket.
    Some(format!(
        r"\b({keywords})\b[^\w$]+{name}|^func \([^)]*\)\s*{name}|^([A-Za-z_][^(]*[^\w$(])?(?i:{bare})\s*\("
    ))
}

impl Syntax {
    /// Returns the name that a line declares.
    pub(super) fn declared<'a>(&self, line: &'a str) -> Option<&'a str> {
        // A method of Go's names its receiver first.
        if let Some((_, method)) = line.strip_prefix("func (").and_then(|l| l.split_once(')')) {
            return words(method).next();
        }
        let mut keyword = None;
        for word in words(line) {
            if self.keywords.contains(&word) {
                // `const fn` and `enum class` have two.
                keyword = Some(word);
            } else if keyword.is_some() {
                let nameless = keyword == Some("exports") && NAMELESS.contains(&word);
                return (!nameless).then_some(word);
            } else if !self.modifiers.contains(&word) {
                break;
            }
        }
        self.bare_function(line).filter(|_| keyword.is_none())
    }

    /// C and shells have no keyword in front of a function: its name stands before the bracket.
    fn bare_function<'a>(&self, line: &'a str) -> Option<&'a str> {
        if !matches!(self.language, "C" | "Shell") || line.starts_with(char::is_whitespace) {
            return None;
        }
        let (head, _) = line.split_once('(')?;
        let name = head.trim_end().rsplit(|c: char| !is_word(c)).next()?;
        (!name.is_empty()).then_some(name)
    }
}

/// Returns the words of a line that do not stand in quotes.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split('"')
        .step_by(2)
        .flat_map(|part| part.split(|c: char| !is_word(c)))
        .filter(|word| !word.is_empty())
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

#[cfg(test)]
mod tests;

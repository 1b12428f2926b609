//! TeX and what runs it: plain with options that are known.
//!
//! A document is data as long as TeX runs no programs for it. Whether it does, with which
//! settings, which format and which Lua, is said by options, most of which may be shortened.

use offshoot_types::permission::argv::Word;

use super::options::{listed, may_be_option};

const TEX: &str = "etex latex luahbtex lualatex luatex pdfetex pdflatex pdftex tex xelatex xetex";

/// Options that change what is said and where it is written; behind the last of them stands a value.
const TEX_OPTIONS: &str = "-draftmode -file-line-error -halt-on-error -help -no-file-line-error -no-shell-escape \
                           -recorder -version -interaction -jobname -output-directory -output-format -synctex";

/// The same with their values in the same word.
const TEX_VALUED: [&str; 5] = [
    "-interaction=",
    "-jobname=",
    "-output-directory=",
    "-output-format=",
    "-synctex=",
];

/// Options of `latexmk` that choose what is made, and how much of it is said.
const LATEXMK: &str = "-C -CA -c -bibtex -bibtex- -cd -dvi -dvi- -f -f- -g -g- -gg -h -help -lualatex -nobibtex -pdf -pdf- \
                       -pdfdvi -pdflua -pdfps -pdfxe -ps -ps- -pvc- -quiet -silent -v -verbose -version -xelatex";

/// Those of `latexmk` with their values in the same word.
const LATEXMK_VALUED: [&str; 2] = ["-auxdir=", "-outdir="];

pub(super) fn is_tex(name: &str) -> bool {
    listed(TEX, name)
}

/// Tells whether TeX is given a document and nothing that runs programs or code.
pub(super) fn tex(arguments: &[Word]) -> bool {
    arguments.iter().all(|word| is_known(word, tex_option))
}

/// Tells whether `latexmk` is given a document, and neither settings nor other programs.
pub(super) fn latexmk(arguments: &[Word]) -> bool {
    let own =
        |word: &str| is_valued(word, &LATEXMK_VALUED) || listed(LATEXMK, word) || tex_option(word);
    arguments.iter().all(|word| is_known(word, own))
}

fn tex_option(word: &str) -> bool {
    is_valued(word, &TEX_VALUED) || listed(TEX_OPTIONS, word)
}

/// Tells whether a word is one of some options with a value that no shell would take for more than
/// a name.
fn is_valued(word: &str, options: &[&str]) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let values = options.iter().filter_map(|known| word.strip_prefix(known));
    values.into_iter().any(|value| value.chars().all(plain))
}

fn is_known(word: &Word, option: impl Fn(&str) -> bool) -> bool {
    match word {
        Word::Open(text) => !may_be_option(text),
        // Two dashes are one.
        Word::Fixed(word) if word.starts_with("--") => option(&word[1..]),
        Word::Fixed(word) if word.starts_with('-') => option(word),
        // Code, and a format to begin with.
        Word::Fixed(word) => !word.starts_with(['&', '*']) && !word.contains('\\'),
    }
}

//! Compilers, linkers and what sets them up: told by options to load code, or to run
//! programs that are no part of them.
//!
//! Which of many options do is known of those that are listed. What hands options on
//! to another program, or reads them from a file, is opaque as a whole.

use offshoot_types::permission::argv::Word;

use super::options::{listed, may_be_option};

const COMPILERS: &str = "c++ c89 c99 cc clang clang++ cpp g++ gcc gccgo gdc gfortran gnat";

/// Whoever reads objects may load a plugin for it.
const LINKERS: &str =
    "ar ld ld.bfd ld.gold ld.lld lld nm objcopy objdump ranlib size strings strip";

/// What makes a compiler load code or run a program of another place.
const COMPILING: [&str; 27] = [
    "-wrapper",
    "--wrapper",
    "-fplugin",
    "-fpass-plugin",
    "-iplugindir",
    "-specs",
    "--specs",
    "-B",
    "--prefix",
    "-Xclang",
    "-mllvm",
    "-load",
    "-ccc-",
    "--config",
    "-gcc-toolchain",
    "--gcc-",
    "-Wl,",
    "-Wa,",
    "-Wp,",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-fuse-ld",
    "--ld-path",
    "--for-",
    "-fmodule-mapper",
    "@",
];

pub(super) fn is_compiler(name: &str) -> bool {
    is_one_of(COMPILERS, name)
}

pub(super) fn is_linker(name: &str) -> bool {
    is_one_of(LINKERS, name)
}

/// Tells whether a name is in a list, of whatever version and for whatever machine: `gcc-13`,
/// `x86_64-linux-gnu-gcc`.
fn is_one_of(list: &str, name: &str) -> bool {
    let is_version = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let name = match name.rsplit_once('-') {
        Some((name, version)) if is_version(version) => name,
        Some(_) | None => name,
    };
    let bare = name.rsplit('-').next().unwrap_or_default();
    listed(list, bare)
}

/// Tells whether a compiler may be told by a word to run programs of another place.
pub(super) fn runs_beside_compiling(word: &Word) -> bool {
    begins(word, &COMPILING)
}

/// Tells whether a linker may be told by a word to load code.
pub(super) fn loads_beside_linking(word: &Word) -> bool {
    begins(word, &["-plug", "--plug", "-fplug", "@"])
}

/// Tells whether `rustc` uses its own linker and backend.
pub(super) fn rustc(arguments: &[Word]) -> bool {
    let options = ["-C", "-Z", "--codegen", "@", "--test-runtool", "--runtool"];
    !arguments.iter().any(|word| begins(word, &options))
}

/// Tells whether TeX may be told by a word to run programs.
pub(super) fn escapes_tex(word: &Word) -> bool {
    let options = [
        "-shell",
        "--shell",
        "-enable-w",
        "--enable-w",
        "-cnf",
        "--cnf",
        "-e",
        "-r",
        "--lua",
    ];
    begins(word, &options)
}

/// Settings of `cmake` itself that name no program and no script.
const CMAKE_SETTINGS: &str = "CMAKE_BUILD_TYPE CMAKE_C_STANDARD CMAKE_CXX_STANDARD CMAKE_INSTALL_PREFIX \
                              CMAKE_EXPORT_COMPILE_COMMANDS CMAKE_POSITION_INDEPENDENT_CODE";

/// Tells whether `cmake` does what the project says, with the programs that are there.
pub(super) fn cmake(arguments: &[Word]) -> bool {
    let runs = |word: &Word| match word {
        Word::Open(text) => may_be_option(text),
        Word::Fixed(word) => {
            let setting = word.strip_prefix("-D").unwrap_or(word);
            let name = setting.split([':', '=']).next().unwrap_or_default();
            // Behind `--` it is what builds that is told something.
            let tells = listed("-E --", word) || word.starts_with("-P") || word.starts_with("-C");
            let names = name.starts_with("CMAKE_") && !listed(CMAKE_SETTINGS, name);
            tells || word.starts_with("--toolchain") || names
        }
    };
    !arguments.iter().any(runs)
}

/// Tells whether `ctest` may be told by a word to run a script or a build.
pub(super) fn scripts_tests(word: &Word) -> bool {
    begins(word, &["-S", "--script", "--build", "-D", "-T", "-M"])
}

fn begins(word: &Word, options: &[&str]) -> bool {
    match word {
        Word::Open(text) => may_be_option(text),
        Word::Fixed(word) => options.iter().any(|option| word.starts_with(option)),
    }
}

//! Compilers and linkers: told by options to load code, or to run
//! programs that are no part of them.
//!
//! Which of many options do is known of those that are listed. What hands options on
//! to another program, or reads them from a file, is opaque as a whole.

use offshoot_types::permission::argv::Word;

use super::options::{begins, has_option, has_short, listed};

const COMPILERS: &str = "c++ c89 c99 cc clang clang++ cpp g++ gcc gccgo gdc gfortran gnat gnatlink \
                         gnatmake";

/// Whoever reads objects may load a plugin for it.
const LINKERS: &str =
    "ar ld ld.bfd ld.gold ld.lld lld mold nm objcopy objdump ranlib size strings strip";

/// What makes a compiler load code or run a program of another place.
const COMPILING: [&str; 34] = [
    "-wrapper",
    "--wrapper",
    "-fplugin",
    "-fpass-plugin",
    "-iplugindir",
    "-specs",
    "--specs",
    "-B",
    "--prefix",
    "-X",
    "-mllvm",
    "-load",
    "-ccc-",
    "--config",
    "-gcc-toolchain",
    "--gcc-",
    "-Wl,",
    "-Wa,",
    "-Wp,",
    "-fuse-ld",
    "--ld-path",
    "--for-",
    "-fmodule-mapper",
    "--GCC",
    "--GNAT",
    "--LINK",
    "--amdgpu-arch-tool",
    "--cuda-",
    "--hip",
    "--nvptx-arch-tool",
    "--offload-arch-tool",
    "--ptxas-",
    "--rocm-",
    "@",
];

/// What makes a linker, or what reads objects, load code or run a program. Some take long options
/// behind one dash, and shortened.
const LINKING: [&str; 9] = [
    "-pl",
    "-fplug",
    "-load-pass",
    "--load-pass",
    "-mllvm",
    "--mllvm",
    "-run",
    "--run",
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

/// Tells whether a compiler runs no program of another place.
pub(super) fn only_compiles(arguments: &[Word]) -> bool {
    let long = ["--config", "--prefix", "--specs", "--wrapper"];
    !arguments.iter().any(|word| begins(word, &COMPILING)) && !has_option(arguments, &long)
}

/// Tells whether a linker loads no code.
pub(super) fn only_links(arguments: &[Word]) -> bool {
    !arguments.iter().any(|word| begins(word, &LINKING)) && !has_option(arguments, &["--plugin*"])
}

/// Tells whether `rustc` uses its own linker and backend, and no macros but those of its own crates:
/// a macro is code that the compiler loads.
pub(super) fn rustc(arguments: &[Word]) -> bool {
    let options = [
        "@",
        "--codegen",
        "--doctest",
        "--extern",
        "--runtool",
        "--sysroot",
        "--test-builder",
        "--test-runtool",
    ];
    // A machine that is described in a file has its own linker.
    let described = |word: &Word| matches!(word, Word::Fixed(word) if word.contains(".json"));
    let tells = |word: &Word| begins(word, &options) || described(word);
    !arguments.iter().any(tells) && !has_short(arguments, &['C', 'L', 'Z'])
}

/// The same, where it is only to check: what writes is no part of that.
pub(super) fn rustc_checks(arguments: &[Word]) -> bool {
    let writes = ["--emit", "--out-dir", "-o"];
    rustc(arguments) && !arguments.iter().any(|word| begins(word, &writes))
}

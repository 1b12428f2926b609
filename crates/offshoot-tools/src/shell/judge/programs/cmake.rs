//! `cmake` and `ctest`: plain where they work on folders below the one they stand in, with
//! options that are known.
//!
//! A folder of another place is another project, and one that was set up there has the
//! programs that its settings name.

use offshoot_types::permission::argv::Word;

use super::options::{is, listed, may_be_option};

/// Options of `cmake` that run nothing and take no value, or one that is a word like a folder's name.
const CMAKE: &str = "-B -D -G -L -LA -LAH -LH -N -S -Wdev -Wno-dev --build --clean-first --component --config \
                     --debug-output --fresh --help --install --log-level --parallel --preset --strip --target \
                     --verbose --version -j -t -v --workflow --list-presets";

/// Options of `cmake` with their values in the same word.
const CMAKE_VALUED: [&str; 7] = [
    "--config=",
    "--log-level=",
    "--parallel=",
    "--preset=",
    "--target=",
    "-G",
    "-j",
];

/// Settings of `cmake` itself that name no program and no script.
const SETTINGS: &str = "CMAKE_BUILD_TYPE CMAKE_C_STANDARD CMAKE_CXX_STANDARD CMAKE_INSTALL_PREFIX \
                        CMAKE_EXPORT_COMPILE_COMMANDS CMAKE_POSITION_INDEPENDENT_CODE";

/// Tells whether `cmake` does what the project says, with the programs that are there.
pub(super) fn cmake(arguments: &[Word]) -> bool {
    arguments.iter().all(|word| match word {
        Word::Open(_) => false,
        Word::Fixed(word) => is_known(word),
    })
}

fn is_known(word: &str) -> bool {
    let folder = word.strip_prefix("-S").or_else(|| word.strip_prefix("-B"));
    if listed(CMAKE, word) {
        return true;
    }
    match (word.strip_prefix("-D"), folder) {
        (Some(setting), _) => is_setting(setting),
        (None, Some(folder)) => is_own(folder),
        (None, None) if word.starts_with('-') => {
            CMAKE_VALUED.iter().any(|known| word.starts_with(known))
        }
        (None, None) if word.contains('=') => is_setting(word),
        (None, None) => is_own(word),
    }
}

/// Tells whether a setting names no program, no script and no folder that holds one.
fn is_setting(setting: &str) -> bool {
    let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
    let name = name.split(':').next().unwrap_or_default();
    if name.starts_with("CMAKE_") {
        listed(SETTINGS, name)
    } else {
        !value.contains('/')
    }
}

/// Tells whether a folder lies below this one, or is the one above, as where people build in a folder
/// of the project.
fn is_own(folder: &str) -> bool {
    let mut parts = folder.split('/');
    let below = !folder.starts_with(['/', '~']) && !parts.any(|part| part == "..");
    below || folder == ".." || folder == "../"
}

/// Options of `ctest` that change which tests are run and what is said, also with a value behind them.
const CTEST: &str = "-C -E -F -I -L -LE -N -Q -R -U -V -VV -j --build-config --exclude-regex --extra-verbose --help \
                     --label-exclude --label-regex --output-on-failure --parallel --preset --progress --quiet --repeat \
                     --rerun-failed --schedule-random --show-only --stop-on-failure --test-dir --tests-regex \
                     --timeout --union --verbose --version";

/// Options of `ctest` with their values in the same word.
const CTEST_VALUED: [&str; 5] = ["--no-tests=", "--parallel=", "--preset=", "--repeat=", "-j"];

/// Tells whether `ctest` runs tests of the project, and neither a script nor a build.
pub(super) fn ctest(arguments: &[Word]) -> bool {
    let is_folder = |word: &Word| matches!(word, Word::Fixed(folder) if is_own(folder));
    let known = |word: &Word| match word {
        Word::Open(text) => !may_be_option(text),
        Word::Fixed(word) if word.starts_with('-') => {
            let own = word.strip_prefix("--test-dir=").is_some_and(is_own);
            let valued = CTEST_VALUED.iter().any(|known| word.starts_with(known));
            own || valued || listed(CTEST, word)
        }
        Word::Fixed(_) => true,
    };
    let elsewhere = |pair: &[Word]| is(&pair[0], "--test-dir") && !is_folder(&pair[1]);
    arguments.iter().all(known) && !arguments.windows(2).any(elsewhere)
}

//! Programs that find, print and pack: forms of them that run and write nothing.

use offshoot_types::permission::argv::Word;

use super::options::{has_option, has_short, has_short_of, is, listed, may_be_option};

/// Tells whether a word of `find` does nothing but find; an open one might.
pub(super) fn only_finds(word: &Word) -> bool {
    match word {
        Word::Open(_) => false,
        Word::Fixed(word) => {
            let acts = ["-exec", "-ok", "-delete", "-fprint", "-fls"];
            !acts.iter().any(|act| word.starts_with(act))
        }
    }
}

/// Tells whether a word of `awk` runs and writes nothing.
pub(super) fn only_prints(word: &Word) -> bool {
    match word {
        Word::Open(_) => false,
        Word::Fixed(word) if word.starts_with('-') => {
            word.starts_with("-F") || word.starts_with("-v")
        }
        Word::Fixed(word) => {
            // Without printing it compares, and two of the other are an or.
            let word = word.replace("||", " ");
            let compares = !word.contains("print");
            let runs = ["system", "|", "getline", "@"];
            !runs.iter().any(|code| word.contains(code)) && (compares || !word.contains('>'))
        }
    }
}

/// Tells whether `printf` only prints: `-v` and `%n` set variables.
pub(super) fn printf(arguments: &[Word]) -> bool {
    let format = match arguments {
        [] => return true,
        [Word::Fixed(format), ..] => format,
        [Word::Open(_), ..] => return false,
    };
    // Behind each `%` stand a width and the like, then the letter; `%%` is a letter as well.
    let mut rest = format.as_str();
    while let Some((_, behind)) = rest.split_once('%') {
        let behind =
            behind.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #.*'".contains(c));
        if !behind.starts_with(|c| "%diouxXeEfFgGaAcsbq".contains(c)) {
            return false;
        }
        rest = &behind[1..];
    }
    !format.starts_with('-')
}

pub(super) fn tar(arguments: &[Word]) -> bool {
    let runs = [
        "--to-command",
        "--checkpoint-action",
        "--use-compress-program",
        "--rsh-command",
        "--info-script",
        "--new-volume-script",
        "--rmt-command",
        // Such a file may hold options.
        "--files-from",
    ];
    // The first word needs no dash.
    let bundle = match arguments {
        [Word::Fixed(first), ..] => first.contains(['I', 'F', 'T']) && !first.starts_with('-'),
        _ => false,
    };
    // An archive on another machine is reached by a program.
    let remote = |word: &Word| matches!(word, Word::Fixed(word) if word.contains(':'));
    !has_option(arguments, &runs)
        && !has_short(arguments, &['I', 'F', 'T'])
        && !bundle
        && !arguments.iter().any(remote)
}

/// Tells whether `curl` only prints what it gets.
pub(super) fn curl(arguments: &[Word]) -> bool {
    let writes = [
        "--alt-svc",
        "--config",
        "--cookie-jar",
        "--dump-header",
        "--engine",
        "--etag-save",
        "--hsts",
        "--libcurl",
        "--output*",
        "--remote-name*",
        "--ssl-sessions",
        "--stderr",
        "--trace*",
    ];
    // What is printed at the end may be told to go to a file.
    let formats = |word: &Word| matches!(word, Word::Fixed(word) if word.contains("%output{"));
    let format_file = |pair: &[Word]| {
        let is_format = is(&pair[0], "-w") || is(&pair[0], "--write-out");
        is_format && !matches!(&pair[1], Word::Fixed(word) if !word.starts_with('@'))
    };
    !has_option(arguments, &writes)
        && !has_short_of(arguments, "cDKoOJ", "AbCdeEFhHmPQrtTuUwxXyYz")
        && !arguments.iter().any(formats)
        && !arguments.windows(2).any(format_file)
        && !arguments.iter().any(|word| matches!(word, Word::Fixed(word) if word.starts_with("-w@") || word.starts_with("--write-out=@")))
}

/// Tells whether `wget` prints what it gets, or looks whether it is there: else it writes a file.
pub(super) fn wget(arguments: &[Word]) -> bool {
    let flags = "-q -nv -v -S -O- -qO- -O - -nc --quiet --no-verbose --server-response --spider \
                 --output-document=-";
    let prints = |pair: &[Word]| {
        let option = is(&pair[0], "-O") || is(&pair[0], "-qO") || is(&pair[0], "--output-document");
        option && is(&pair[1], "-")
    };
    let valued = ["--timeout=", "--tries=", "--header=", "--user-agent="];
    let known = |word: &Word| match word {
        Word::Open(text) => !may_be_option(text),
        Word::Fixed(word) if word.starts_with('-') => {
            listed(flags, word)
                || listed("-qO --output-document", word)
                || valued.iter().any(|option| word.starts_with(option))
        }
        Word::Fixed(_) => true,
    };
    let one = "-O- -qO- --spider --output-document=-";
    let whole = |word: &Word| matches!(word, Word::Fixed(word) if listed(one, word));
    let writes_none = arguments.iter().any(whole) || arguments.windows(2).any(prints);
    writes_none && arguments.iter().all(known)
}

/// Tells whether `xxd` only prints: a second name is that of a file it writes.
pub(super) fn xxd(arguments: &[Word]) -> bool {
    let mut names = 0;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word {
            Word::Open(text) if may_be_option(text) => return false,
            Word::Fixed(word) if listed("-c -g -l -n -o -s", word) => drop(words.next()),
            Word::Fixed(word) if word.starts_with('-') && word != "-" => {}
            // A pattern may be several names.
            Word::Open(_) => names += 2,
            Word::Fixed(_) => names += 1,
        }
    }
    names < 2
}

/// Tells whether `uniq` only prints: a second name is that of a file it writes.
pub(super) fn uniq(arguments: &[Word]) -> bool {
    let is_flag = |word: &&Word| matches!(word, Word::Fixed(word) if word.starts_with('-'));
    arguments.iter().filter(|word| !is_flag(word)).count() < 2
        && arguments.iter().all(|word| matches!(word, Word::Fixed(_)))
}

/// Tells whether `less` only shows: its keys, which can be given to it, run programs and name one
/// that opens files, and it can write a copy.
pub(super) fn less(arguments: &[Word]) -> bool {
    let keys = |word: &Word| match word {
        Word::Fixed(word) => word
            .strip_prefix('+')
            .is_some_and(|key| !key.chars().all(|c| c.is_ascii_digit() || c == 'G')),
        Word::Open(_) => false,
    };
    let options = ["--lesskey*", "--log-file", "--LOG-FILE", "--cmd"];
    !has_option(arguments, &options)
        && !has_short(arguments, &['k', 'o', 'O'])
        && !arguments.iter().any(keys)
}

pub(super) fn zip(arguments: &[Word]) -> bool {
    let tests = |word: &Word| matches!(word, Word::Fixed(word) if word.contains("TT"));
    !has_option(arguments, &["--unzip-command"]) && !arguments.iter().any(tests)
}

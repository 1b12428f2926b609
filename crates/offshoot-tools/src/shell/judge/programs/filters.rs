//! Programs that find, print and pack: forms of them that run and write nothing.

use offshoot_types::permission::argv::Word;

use super::options::{has_option, has_short, has_short_of, is, listed, may_be_option};

/// Tells whether a word of `find` does nothing but find; an open one might.
pub(super) fn only_finds(word: &Word) -> bool {
    match word {
        // A path, whatever it becomes.
        Word::Open(text) => !may_be_option(text) || text == "~" || text.starts_with("~/"),
        Word::Fixed(word) => {
            let acts = ["-exec", "-ok", "-delete", "-fprint", "-fls"];
            word == "-executable" || !acts.iter().any(|act| word.starts_with(act))
        }
    }
}

/// Tells whether `printf` only prints: `-v` and `%n` set variables.
pub(super) fn printf(arguments: &[Word]) -> bool {
    let arguments = match arguments {
        [end, rest @ ..] if is(end, "--") => rest,
        arguments => {
            if matches!(arguments, [Word::Fixed(first), ..] if first.starts_with('-')) {
                return false;
            }
            arguments
        }
    };
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
    true
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
        // Files that are written.
        "--index-file",
        "--listed-incremental",
        "--volno-file",
    ];
    // The first word needs no dash.
    let letters = ['I', 'F', 'T', 'g'];
    let bundle = match arguments {
        [Word::Fixed(first), ..] => first.contains(letters) && !first.starts_with('-'),
        _ => false,
    };
    // An archive on another machine is reached by a program.
    let remote = |word: &Word| matches!(word, Word::Fixed(word) if word.contains(':'));
    let may_be_remote = |pair: &[Word]| match (&pair[0], &pair[1]) {
        (Word::Fixed(flags), Word::Open(text)) => {
            let known = text
                .find(['$', '`', '*', '?', '[', '{'])
                .unwrap_or_default();
            flags.contains('f') && !text[..known].contains('/')
        }
        _ => false,
    };
    !has_option(arguments, &runs)
        && !has_short(arguments, &letters)
        && !bundle
        && !arguments.iter().any(remote)
        && !arguments.windows(2).any(may_be_remote)
}

/// Tells whether `curl` only prints what it gets.
pub(super) fn curl(arguments: &[Word]) -> bool {
    let arguments = &without_nowhere(arguments);
    let writes = [
        "--alt-svc",
        "--config",
        "--cookie-jar",
        "--dump-header",
        "--engine",
        "--etag-save",
        // Addresses, files and schemes that are put together from variables and settings.
        "--expand-*",
        "--proto-default",
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
    let options = "AbCdeEFhHmPQrtTuUwxXyYz";
    let uploads = has_option(arguments, &["--upload-file"])
        || has_short_of(arguments, "T", &options.replace('T', ""));
    let writes_file = uploads && arguments.iter().any(may_be_file);
    !has_option(arguments, &writes)
        && !has_short_of(arguments, "cDKoOJ", options)
        && !arguments.iter().any(formats)
        && !has_format_file(arguments, options)
        && !has_list(arguments)
        && !writes_file
}

/// Tells whether `curl` reads addresses from a file.
fn has_list(arguments: &[Word]) -> bool {
    let is_url = |word: &Word| matches!(word, Word::Fixed(word) if word.starts_with("--ur"));
    let is_list = |word: &Word| match word {
        Word::Fixed(word) => word.starts_with('@'),
        Word::Open(text) => may_be_option(text),
    };
    let glued = |word: &Word| matches!(word, Word::Fixed(word) if word.starts_with("--ur") && word.contains("=@"));
    let pairs = arguments.windows(2);
    arguments.iter().any(glued)
        || pairs
            .into_iter()
            .any(|pair| is_url(&pair[0]) && is_list(&pair[1]))
}

/// Returns the words of `curl` but for an output that is thrown away.
fn without_nowhere(arguments: &[Word]) -> Vec<Word> {
    let is_output = |word: &Word| {
        let names = ["-o", "-so", "-sSo", "-sLo", "-sSLo", "--output"];
        names.iter().any(|name| is(word, name))
    };
    let mut kept = Vec::new();
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.next() {
        let is_nowhere = |next: &Word| is(next, "/dev/null") || is(next, "-");
        let nowhere = words.next_if(|next| is_output(word) && is_nowhere(next));
        if nowhere.is_none() {
            kept.push(word.clone());
        }
    }
    kept
}

/// Tells whether `curl` reads what it prints at the end from a file, which may name others to write.
fn has_format_file(arguments: &[Word], valued: &str) -> bool {
    arguments.iter().enumerate().any(|(index, word)| {
        let Word::Fixed(word) = word else {
            return false;
        };
        let behind = || match arguments.get(index + 1) {
            Some(Word::Fixed(format)) => format.starts_with('@'),
            Some(Word::Open(_)) | None => true,
        };
        if word.starts_with("--w") {
            let format = word.split_once('=').map(|(_, format)| format);
            return format.map_or_else(behind, |format| format.starts_with('@'));
        }
        let bundle = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let bundle = bundle.unwrap_or_default();
        match bundle.find(|c| valued.contains(c)) {
            Some(at) if bundle[at..].starts_with('w') => match &bundle[at + 1..] {
                "" => behind(),
                format => format.starts_with('@'),
            },
            Some(_) | None => false,
        }
    })
}

/// Tells whether a word may be the address of a file, which is written where something is sent to it.
/// Braces and brackets are several addresses in one.
fn may_be_file(word: &Word) -> bool {
    let text = match word {
        Word::Fixed(text) => text.as_str(),
        Word::Open(text) => text.trim_start_matches('"'),
    };
    let known = text.find(['$', '`', '{', '[', '*', '?']);
    let begins = text[..known.unwrap_or(text.len())].to_ascii_lowercase();
    begins.contains("file:") || (known.is_some() && "file:".starts_with(&begins))
}

/// Tells whether `wget` prints what it gets, or looks whether it is there: else it writes a file.
pub(super) fn wget(arguments: &[Word]) -> bool {
    let flags = "-q -nv -v -S -nc --quiet --no-verbose --server-response";
    let valued = ["--timeout=", "--tries=", "--header=", "--user-agent="];
    let mut writes_none = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let known = match word {
            Word::Open(text) => !may_be_option(text),
            Word::Fixed(word) if listed("-O- -qO- --spider --output-document=-", word) => {
                writes_none = true;
                true
            }
            // The last of them counts, so each has to be one that prints.
            Word::Fixed(word) if listed("-O -qO --output-document", word) => {
                writes_none = true;
                words.next().is_some_and(|file| is(file, "-"))
            }
            Word::Fixed(word) if word.starts_with('-') => {
                listed(flags, word) || valued.iter().any(|option| word.starts_with(option))
            }
            Word::Fixed(_) => true,
        };
        if !known {
            return false;
        }
    }
    writes_none
}

/// Tells whether `xxd` only prints: a second name is that of a file it writes.
pub(super) fn xxd(arguments: &[Word]) -> bool {
    let mut names = 0;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word {
            Word::Open(text) if may_be_option(text) => return false,
            Word::Fixed(word) if word == "--" => names += words.by_ref().count(),
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
    let mut names = 0;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word {
            Word::Open(_) => return false,
            // What follows is a name, whatever it looks like.
            Word::Fixed(word) if word == "--" => names += words.by_ref().count(),
            Word::Fixed(word) if listed("-f -s -w", word) => drop(words.next()),
            Word::Fixed(word) if word.starts_with('-') && word != "-" => {}
            Word::Fixed(_) => names += 1,
        }
    }
    names < 2
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

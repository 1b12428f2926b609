//! `grep`: the lines that fit a regular expression.
//!
//! Searches text files below a folder, or one file, on the same terms as `glob`.
//! Every file is opened beneath the root, so what becomes a link meanwhile is not
//! searched. Expressions take linear time; what they may grow to is bounded.

mod sink;

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use futures_core::future::BoxFuture;
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{Searcher, SearcherBuilder};
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::json;

use self::sink::Lines;
use crate::confined;
use crate::listing::{self, Listing};
use crate::patience::{self, Enough, Patience};
use crate::pattern::Pattern;
use crate::refusal::Refusal;
use crate::target::{self, Target};
use crate::walk::{self, Search, Seen, Start};

/// Most matches that one answer shows.
const MOST_SHOWN: usize = 200;

/// Most bytes that a compiled expression, and its tables, may take.
const MOST_COMPILED: usize = 8 * 1024 * 1024;

/// Longest line that is searched, in bytes.
const MOST_LINE: usize = 8 * 1024 * 1024;

/// How much of a file must look like text.
const SAMPLE: u64 = 64 * 1024;

/// The tool.
pub(crate) struct Grep {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    glob: Option<String>,
}

/// What is searched for, and where.
struct Query {
    target: Target,
    files: Pattern,
    expression: RegexMatcher,
}

impl Grep {
    pub(crate) fn new() -> Self {
        let description = "Searches text files for a regular expression and lists the matching \
             lines as `path:line:text`, sorted, with their number at the end. Use it to find where \
             something is; use read to see what is around it and glob to find files by name. \
             Matches within one line; begin with `(?i)` to ignore case. Skips binary files, what \
             ignore files such as .gitignore name, and hidden files unless `glob` names them; does \
             not follow links. Shows at most 200 matches and says where the others are.";
        let parameters = json!({
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "description":
                        "Regular expression in Rust's syntax: no look-around, no back-references."
                },
                "path": {
                    "type": "string",
                    "description":
                        "Folder or file to search: from the workspace, or absolute inside it or \
                         the scratch folder. The workspace if left out."
                },
                "glob": {
                    "type": "string",
                    "minLength": 1,
                    "description":
                        "Which files to search: by name (`*.rs`), or with a slash by path from \
                         `path` (`src/**/*.rs`)."
                }
            },
            "required": ["pattern"],
            "additionalProperties": false
        });
        Self {
            spec: ToolSpec::new("grep", description, &parameters, Effect::Read),
        }
    }
}

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn requires(&self) -> &[&'static str] {
        &[Need::FS_READ]
    }

    fn needs(&self, arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String> {
        let Query { target, .. } = parse(arguments, place)?;
        let searched = if walk::is_folder(&target) {
            target.inside()
        } else {
            target.absolute()
        };
        Ok(vec![Need::new(Need::FS_READ, searched)])
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        Box::pin(async move {
            match parse(&work.arguments, &work.place) {
                Ok(query) => {
                    let cancel = work.cancel.clone();
                    let search = move |patience: &Patience| {
                        grep(&query, &work, patience).unwrap_or_else(|refusal| {
                            refusal.into_outcome(&format!("grep {}", query.target.shown()))
                        })
                    };
                    patience::search(cancel, patience::TIME, search).await
                }
                Err(text) => Outcome::error(ErrorKind::InvalidInput, text),
            }
        })
    }
}

fn parse(arguments: &RawJson, place: &Place) -> Result<Query, String> {
    let Arguments {
        pattern,
        path,
        glob,
    } = arguments
        .read()
        .map_err(|error| format!("take the arguments of grep: {error}"))?;
    if pattern.is_empty() {
        return Err("`pattern` is empty; give what to search for".to_owned());
    }
    let expression = RegexMatcherBuilder::new()
        .crlf(true)
        .size_limit(MOST_COMPILED)
        .dfa_size_limit(MOST_COMPILED)
        .build(&pattern)
        .map_err(|error| format!("take the regular expression: {error}"))?;
    let files = match glob {
        None => Pattern::every(),
        Some(glob) => Pattern::of_names(&glob)
            .map_err(|why| format!("take the glob {}: {why}", target::quoted(&glob)))?,
    };
    Ok(Query {
        target: Target::new(path.as_deref().unwrap_or("."), place)?,
        files,
        expression,
    })
}

fn grep(query: &Query, work: &Work, patience: &Patience) -> Result<Outcome, Refusal> {
    let Query {
        target,
        files,
        expression,
    } = query;
    let mut listing = Listing::new(&work.place, "grep", "matches", MOST_SHOWN);
    let mut searcher = searcher();
    let (mut matching, mut failed) = (0, 0);
    // Of the one file that was named it is said why nothing was searched; others are counted.
    let mut refused = None;
    let search = Search {
        target,
        from: Start::FolderOrFile,
        pattern: files,
        sight: &work.sight,
        patience,
    };
    let mut walked = walk::walk(&search, |root, seen: &Seen| {
        let before = listing.lines();
        let name = listing::name(target.root(), seen.path);
        let is_named = seen.path == Path::new(target.below_root());
        match open(root, seen, patience) {
            Ok(Found::Text(text)) => {
                let lines = Lines::new(&name, &mut listing);
                let searched = searcher.search_reader(expression, text, lines);
                if searched.is_err() && patience.ends().is_none() {
                    failed += 1;
                }
            }
            Ok(Found::Binary) if is_named => refused = Some("it is a binary file, not text".into()),
            Ok(Found::Gone | Found::Binary) => {}
            Err(errno) if is_named => refused = Some(confined::explain(target, errno)),
            Err(_) => failed += 1,
        }
        matching += usize::from(listing.lines() > before);
    })?;
    // It may have ended inside the last file, after which the walk does not ask again.
    walked.enough = walked.enough.or_else(|| patience.ends());
    if walked.enough == Some(Enough::Cancelled) {
        return Err(Refusal::cancelled());
    }
    if let Some(why) = refused {
        return Err(Refusal::failed(why));
    }
    let summary = match listing.lines() {
        0 => "[no matches]".to_owned(),
        matches => {
            let matches = listing::count(matches, "match", "matches");
            let files = listing::count(matching, "file", "files");
            format!("[{matches} in {files}]")
        }
    };
    let notes = (failed > 0).then(|| format!("files that could not be searched: {failed}"));
    let notes: Vec<String> = notes.into_iter().collect();
    Ok(listing.finish(&walked, &notes, &summary))
}

fn searcher() -> Searcher {
    SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .line_number(true)
        .heap_limit(Some(MOST_LINE))
        .build()
}

/// What a file is to a search.
enum Found<T> {
    Text(T),
    Binary,
    /// Not there any more, or something else by now.
    Gone,
}

/// Opens a file for searching.
fn open<'a>(
    root: &OwnedFd,
    seen: &Seen,
    patience: &'a Patience,
) -> Result<Found<impl Read + 'a>, Errno> {
    let file = match confined::open(root, seen.path, confined::READ) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::NXIO) => {
            return Ok(Found::Gone);
        }
        Err(errno) => return Err(errno),
    };
    let stat = rustix::fs::fstat(&file)?;
    if confined::regular(&stat).is_err() {
        return Ok(Found::Gone);
    }
    let file = File::from(file);
    let mut sample = Vec::new();
    let read = (&file).take(SAMPLE).read_to_end(&mut sample);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    if sample.contains(&0) {
        return Ok(Found::Binary);
    }
    let text = Cursor::new(sample).chain(file);
    Ok(Found::Text(Patient { text, patience }))
}

/// A text that ends with an error once there is no more patience.
struct Patient<'a, T> {
    text: T,
    patience: &'a Patience,
}

impl<T: Read> Read for Patient<'_, T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.patience.ends() {
            None => self.text.read(buffer),
            Some(_) => Err(io::Error::other("the search was ended")),
        }
    }
}

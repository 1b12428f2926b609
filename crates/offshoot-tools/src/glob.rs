//! `glob`: the files whose paths fit a pattern.
//!
//! Lists regular files in the order of their paths, with how many there are and
//! how large they are together. Reads no file; does not list folders or links.

use futures_core::future::BoxFuture;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde::Deserialize;
use serde_json::json;

use crate::listing::{self, Listing};
use crate::patience::{self, Enough, Patience};
use crate::pattern::Pattern;
use crate::refusal::Refusal;
use crate::target::{self, Root, Target};
use crate::walk::{self, Search, Seen, Start};

/// Most files that one answer shows.
const MOST_SHOWN: usize = 1000;

/// The tool.
pub(crate) struct Glob {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
}

impl Glob {
    pub(crate) fn new() -> Self {
        let description = "Finds files by their paths and lists them, sorted, one per line, with \
             their number and total size at the end. In `pattern`, `*` stays within one folder, \
             `**` crosses folders: `src/**/*.rs`. Use it to see what there is; use grep to search \
             in files. Skips what ignore files such as .gitignore name, and hidden files unless \
             the pattern names them (`.github/**`). Does not list folders and does not follow \
             links. Shows at most 1000 files and says where the others are.";
        let parameters = json!({
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Which files, by their paths from `path`; `**` is every file."
                },
                "path": {
                    "type": "string",
                    "description":
                        "Folder to search: from the workspace, or absolute inside it or the \
                         scratch folder. The workspace if left out."
                }
            },
            "required": ["pattern"],
            "additionalProperties": false
        });
        Self {
            spec: ToolSpec::new("glob", description, &parameters, Effect::Read),
        }
    }
}

impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn requires(&self) -> &[&'static str] {
        &[Need::FS_READ]
    }

    fn needs(&self, arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String> {
        let (target, _) = parse(arguments, place)?;
        Ok(vec![Need::new(Need::FS_READ, target.inside())])
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        Box::pin(async move {
            match parse(&work.arguments, &work.place) {
                Ok((target, pattern)) => {
                    let cancel = work.cancel.clone();
                    let search = move |patience: &Patience| {
                        glob(&target, &pattern, &work, patience).unwrap_or_else(|refusal| {
                            refusal.into_outcome(&format!("glob {}", target.shown()))
                        })
                    };
                    patience::search(cancel, patience::TIME, search).await
                }
                Err(text) => Outcome::error(ErrorKind::InvalidInput, text),
            }
        })
    }
}

fn parse(arguments: &RawJson, place: &Place) -> Result<(Target, Pattern), String> {
    let Arguments { pattern, path } = arguments
        .read()
        .map_err(|error| format!("take the arguments of glob: {error}"))?;
    let shown = target::quoted(&pattern);
    let (path, relative) = match (path, pattern.starts_with('/')) {
        (path, false) => (path.unwrap_or_else(|| ".".to_owned()), pattern.as_str()),
        (None, true) => below_a_root(&pattern, place)
            .ok_or_else(|| format!("the pattern {shown} is outside the workspace"))?,
        (Some(_), true) => {
            return Err(format!(
                "the pattern {shown} is absolute; give it from `path`"
            ));
        }
    };
    let pattern =
        Pattern::of_paths(relative).map_err(|why| format!("take the pattern {shown}: {why}"))?;
    Ok((Target::new(&path, place)?, pattern))
}

/// Splits an absolute pattern into the root that it lies beneath and the rest.
fn below_a_root<'a>(pattern: &'a str, place: &Place) -> Option<(String, &'a str)> {
    let roots = [Root::scratch(place), Some(Root::workspace(place))];
    roots.into_iter().flatten().find_map(|root| {
        let path = root.path().trim_end_matches('/');
        let rest = pattern.strip_prefix(path)?.strip_prefix('/')?;
        Some((root.path().to_owned(), rest))
    })
}

fn glob(
    target: &Target,
    pattern: &Pattern,
    work: &Work,
    patience: &Patience,
) -> Result<Outcome, Refusal> {
    let mut listing = Listing::new(&work.place, "glob", "files", MOST_SHOWN);
    let mut size = 0_u64;
    let search = Search {
        target,
        from: Start::Folder,
        pattern,
        sight: &work.sight,
        patience,
    };
    let walked = walk::walk(&search, |_, seen: &Seen| {
        size = size.saturating_add(seen.size);
        listing.push(&listing::name(target.root(), seen.path));
    })?;
    if walked.enough == Some(Enough::Cancelled) {
        return Err(Refusal::cancelled());
    }
    let summary = match listing.lines() {
        0 => "[no files match]".to_owned(),
        files => {
            let files = listing::count(files, "file", "files");
            format!("[{files}, {}]", human(size))
        }
    };
    Ok(listing.finish(&walked, &[], &summary))
}

/// Writes a size as people do, never larger than it is: `1.2 MB`.
fn human(bytes: u64) -> String {
    let units = [
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("KB", 1_000),
    ];
    match units.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => {
            let (whole, tenths) = (bytes / unit, bytes % unit * 10 / unit);
            format!("{whole}.{tenths} {name}")
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_people_do() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 KB"),
            (1_250_000, "1.2 MB"),
            (999_999, "999.9 KB"),
            (10_000_000_003, "10.0 GB"),
            (u64::MAX, "18446744.0 TB"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(human(bytes), expected);
        }
    }
}

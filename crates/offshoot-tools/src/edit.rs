//! `edit`: one text in a file for another.
//!
//! Works on what the file contains at that moment and keeps no ledger of who
//! read it before (TLS-07). A text that is not there, or is there more than once,
//! is a conflict that leaves the file as it is. It does not create files.

mod replace;

use futures_core::future::BoxFuture;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde::Deserialize;
use serde_json::json;

use self::replace::{Replaced, Which};
use crate::change::{self, Plan};
use crate::refusal::Refusal;
use crate::target::Target;

/// The tool.
pub(crate) struct Edit {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: Option<bool>,
}

/// What is to be done to a file.
struct Replacement {
    old: String,
    new: String,
    which: Which,
}

impl Edit {
    pub(crate) fn new() -> Self {
        let description = "Replaces a text in a file by another. `old_string` must be in the file \
             exactly once, to the space, unless `replace_all` is set; otherwise nothing changes \
             and the answer says why. Use it to change a part of a file; use write to create one \
             or to rewrite it. Takes text files of at most 10 MiB; knows no patterns and does not \
             follow links.";
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description":
                        "Path of the file: from the workspace, or absolute inside it or the \
                         scratch folder."
                },
                "old_string": {
                    "type": "string",
                    "minLength": 1,
                    "description":
                        "The text to replace, as it stands in the file, with enough around it to \
                         be the only one."
                },
                "new_string": {
                    "type": "string",
                    "description": "The text to put in its place; may be empty."
                },
                "replace_all": {
                    "type": "boolean",
                    "description": "Replace every occurrence, not only a single one."
                }
            },
            "required": ["path", "old_string", "new_string"],
            "additionalProperties": false
        });
        Self {
            spec: ToolSpec::new("edit", description, &parameters, Effect::Write),
        }
    }
}

impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn requires(&self) -> &[&'static str] {
        &[Need::FS_WRITE]
    }

    fn needs(&self, arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String> {
        let (target, _) = parse(arguments, place)?;
        let need = |capability: &str| Need::new(capability, target.absolute());
        Ok(vec![need(Need::FS_READ), need(Need::FS_WRITE)])
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        Box::pin(async move {
            match parse(&work.arguments, &work.place) {
                Ok((target, replacement)) => edit(&work, &target, replacement).await,
                Err(text) => Outcome::error(ErrorKind::InvalidInput, text),
            }
        })
    }
}

fn parse(arguments: &RawJson, place: &Place) -> Result<(Target, Replacement), String> {
    let Arguments {
        path,
        old_string: old,
        new_string: new,
        replace_all,
    } = arguments
        .read()
        .map_err(|error| format!("take the arguments of edit: {error}"))?;
    if old.is_empty() {
        return Err("`old_string` is empty; give the text to replace, or use write".to_owned());
    }
    if old == new {
        let why = "`old_string` and `new_string` are the same, so there is nothing to change";
        return Err(why.to_owned());
    }
    let which = match replace_all {
        Some(true) => Which::All,
        Some(false) | None => Which::Only,
    };
    let target = Target::new(&path, place)?;
    Ok((target, Replacement { old, new, which }))
}

async fn edit(work: &Work, target: &Target, replacement: Replacement) -> Outcome {
    let shown = target.shown();
    let plan = move |before: Option<&[u8]>| plan(before, &replacement);
    match change::change(work, target, plan).await {
        Ok(changed) => {
            let (report, note) = (changed.report, changed.note);
            Outcome::output(RawJson::of(&format!("edited {shown}, {report}{note}")))
        }
        Err(refusal) => refusal.into_outcome(&format!("edit {shown}")),
    }
}

fn plan(before: Option<&[u8]>, replacement: &Replacement) -> Result<Plan<String>, Refusal> {
    let Replacement { old, new, which } = replacement;
    let text = before.ok_or("there is no such file; use write to create it")?;
    if text.contains(&0) {
        return Err("it is a binary file, not text".into());
    }
    let Replaced {
        text: after,
        count,
        line,
    } = replace::replace(text, old, new, *which)?;
    let report = match count {
        1 => format!("1 replacement at line {line}"),
        count => format!("{count} replacements from line {line} on"),
    };
    Ok(Plan { after, report })
}

//! `write`: a whole file, at once or not at all.
//!
//! Creates a file or replaces all it contains; does not edit or append, and does
//! not touch what is not a regular file. The answer acknowledges and never
//! repeats the content.

use futures_core::future::BoxFuture;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde::Deserialize;
use serde_json::json;

use crate::change::{self, Plan};
use crate::target::{self, Target};

/// The tool.
pub(crate) struct Write {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    content: String,
}

impl Write {
    pub(crate) fn new() -> Self {
        let description = "Writes a whole text file: creates it, with the folders on the way, or \
             replaces all it contains. Use it for new files and complete rewrites; use edit to \
             change a part. Give the whole content, at most 10 MiB. Does not append and does not \
             follow links.";
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "Path of the file: from the workspace, or absolute inside it or the scratch folder."
                },
                "content": {
                    "type": "string",
                    "description": "All that the file shall contain."
                }
            },
            "required": ["path", "content"],
            "additionalProperties": false
        });
        Self {
            spec: ToolSpec::new("write", description, &parameters, Effect::Write),
        }
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn requires(&self) -> &[&'static str] {
        &[Need::FS_WRITE]
    }

    fn needs(&self, arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String> {
        let (target, _) = parse(arguments, place)?;
        Ok(vec![Need::new(Need::FS_WRITE, target.absolute())])
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        Box::pin(async move {
            match parse(&work.arguments, &work.place) {
                Ok((target, content)) => write(&work, &target, content).await,
                Err(text) => Outcome::error(ErrorKind::InvalidInput, text),
            }
        })
    }
}

fn parse(arguments: &RawJson, place: &Place) -> Result<(Target, String), String> {
    let Arguments { path, content } = arguments
        .read()
        .map_err(|error| format!("take the arguments of write: {error}"))?;
    if path.ends_with('/') {
        let shown = target::quoted(&path);
        return Err(format!("{shown} names a folder; give the path of a file"));
    }
    Ok((Target::new(&path, place)?, content))
}

async fn write(work: &Work, target: &Target, content: String) -> Outcome {
    let shown = target.shown();
    let bytes = content.len();
    let plan = |_before: Option<&[u8]>| {
        Ok(Plan {
            after: content.into_bytes(),
            report: (),
        })
    };
    match change::change(work, target, plan).await {
        Ok(changed) => {
            let did = if changed.created {
                "created"
            } else {
                "replaced"
            };
            let text = format!("{did} {shown}, {bytes} bytes{}", changed.note);
            Outcome::output(RawJson::of(&text))
        }
        Err(refusal) => refusal.into_outcome(&format!("write {shown}")),
    }
}

//! Agents that are files in a folder which the program names.
//!
//! The format is that of `docs/agents.md`. The program names the folder, so its files are trusted as its
//! own code is. A file with a mistake fails the build of the runtime: a program that runs with fewer
//! agents than its author wrote would find that out too late.

use std::path::Path;

use offshoot_agents::Diagnostic;
use offshoot_engine::check_json_schema;
use offshoot_host::folder::{Contents, Folder};
use offshoot_types::manifest::Manifest;

use super::error::Error;

/// Reads all agent files of a folder; `tools` are the names of the tools there are.
pub(super) fn read(folder: &Path, tools: &[&str]) -> Result<Vec<Manifest>, Error> {
    let opened = Folder::open(folder).map_err(|wrong| invalid(&[wrong]))?;
    let Some(opened) = opened else {
        let why = format!("read agent files: there is no folder {}", folder.display());
        return Err(Error::Invalid(why));
    };
    let Contents { files, problems } = opened.read();
    let mut wrong = problems;
    let mut agents = Vec::new();
    for file in files {
        let mut reading = file.reading;
        let manifest = reading.manifest.as_ref().ok();
        let schema = manifest.and_then(|manifest| manifest.output_schema.as_ref());
        if let Some(Err(why)) = schema.map(check_json_schema) {
            let why = format!("`output_schema` is not a JSON Schema: {why}");
            reading.refuse("output_schema", &why);
        }
        reading.check_tools(tools);
        match reading.manifest {
            Ok(manifest) => agents.push(manifest),
            Err(diagnostic) => wrong.push(diagnostic),
        }
    }
    if wrong.is_empty() {
        Ok(agents)
    } else {
        Err(invalid(&wrong))
    }
}

fn invalid(wrong: &[Diagnostic]) -> Error {
    let wrong: Vec<String> = wrong.iter().map(Diagnostic::to_string).collect();
    Error::Invalid(format!("read agent files: {}", wrong.join("; ")))
}

//! The agents of a workspace: built in, the user's files, the project's, a script's.
//!
//! Finds the files and hands them on; which of one name counts and what a project
//! may do is judged in `offshoot-agents`. A file that is wrong is told of and keeps
//! nobody from working, except those who ask for that very agent.

mod folder;

use std::path::Path;

use offshoot_agents::{Catalogue, Diagnostic, Reading, Scope};
use offshoot_engine::check_json_schema;
use offshoot_types::manifest::{Manifest, names};

use crate::assemble::{self, Models};
use crate::config::Settings;
use crate::exit::Stop;
use crate::{output, render};
use folder::{Contents, Folder};

/// Where a project keeps its agents, as seen from the folder to work in.
const IN_PROJECT: &str = ".offshoot/agents";

/// The key of a schema that answers are held against.
const OUTPUT_SCHEMA: &str = "output_schema";

/// Most warnings that are told before a run; `doctor` tells all.
const MOST_WARNINGS: usize = 10;

/// Returns all agents of a workspace; the models that they name are added to those there are.
pub(crate) fn load(settings: &Settings, workspace: Option<&str>, models: &mut Models) -> Catalogue {
    let mut catalogue = Catalogue::builtin();
    let tools = assemble::tools();
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    let user = settings.agents_dir.as_deref().map(Folder::open);
    let user = taken(user, &mut catalogue);
    let project = workspace.map(|workspace| Folder::beneath(Path::new(workspace), IN_PROJECT));
    let project = taken(project, &mut catalogue);
    // Whoever works in their own config folder has one folder of agents there, not two.
    let project = project.filter(|project| user.as_ref().is_none_or(|user| !user.is_same(project)));
    for (scope, folder) in [(Scope::User, user), (Scope::Project, project)] {
        let Some(Contents {
            mut files,
            problems,
        }) = folder.map(|folder| folder.read())
        else {
            continue;
        };
        for reading in &mut files {
            if scope == Scope::User {
                find_model(reading, models);
            }
            check_schema(reading);
            reading.check_tools(&tools);
            reading.check_rules(&tools);
        }
        catalogue.add_files(scope, files);
        for problem in problems {
            catalogue.note(problem);
        }
    }
    if let Some((path, manifests)) = models.script() {
        let (usable, broken): (Vec<Manifest>, Vec<Manifest>) = manifests
            .iter()
            .cloned()
            .partition(|manifest| misfit(manifest, &tools).is_none());
        catalogue.add_script(path, &usable);
        for manifest in broken {
            let why = misfit(&manifest, &tools).unwrap_or_default();
            let why = format!("agent {}: {why}", manifest.name);
            catalogue.note(Diagnostic::error(path, None, &why));
        }
    }
    catalogue.check_spawns();
    for diagnostic in catalogue.diagnostics() {
        tracing::warn!("{diagnostic}");
    }
    catalogue
}

/// Says on stderr what is wrong with definitions.
pub(crate) fn warn(catalogue: &Catalogue) {
    let diagnostics = catalogue.diagnostics();
    for diagnostic in diagnostics.iter().take(MOST_WARNINGS) {
        tell(diagnostic);
    }
    let more = diagnostics.len().saturating_sub(MOST_WARNINGS);
    if more > 0 {
        output::note(&format!("warning: {more} more; see \"offshoot doctor\""));
    }
}

/// Says on stderr what is wrong with one file.
pub(crate) fn warn_of(catalogue: &Catalogue, path: &str) {
    let diagnostics = catalogue.diagnostics().iter();
    diagnostics
        .filter(|found| found.path == path)
        .for_each(tell);
}

/// Says on stderr one thing that is wrong.
pub(crate) fn tell(diagnostic: &Diagnostic) {
    let text = render::harmless(&diagnostic.to_string());
    output::note(&format!("warning: {text}"));
}

/// Refuses an agent whose file is broken: another one of its name is not what was asked for.
pub(crate) fn check(catalogue: &Catalogue, name: &str) -> Result<(), Stop> {
    match catalogue.fault(name) {
        Some(fault) => Err(Stop::usage(format!(
            "agent {name} cannot be used: {}",
            render::harmless(&fault.to_string())
        ))),
        None => Ok(()),
    }
}

/// Says that a person cannot start an agent, and which they can.
pub(crate) fn unknown(catalogue: &Catalogue, name: &str) -> Stop {
    let registry = catalogue.registry();
    let choices = names(registry.for_users());
    let shown = name.escape_debug();
    Stop::usage(match registry.get(name) {
        Some(_) if registry.is_hidden(name) => helps(&shown.to_string(), &choices),
        Some(_) => {
            format!("agent {shown} is started by other agents only; choose one of: {choices}")
        }
        None => format!("there is no agent {shown}; there are: {choices}"),
    })
}

/// Says that an agent works for the runtime only, and which a person can start.
pub(crate) fn helps(name: &str, choices: &str) -> String {
    format!("agent {name} is a helper that Offshoot starts itself; choose one of: {choices}")
}

/// Returns a folder that is there, and notes what is wrong with one that cannot be opened.
fn taken(
    folder: Option<Result<Option<Folder>, Diagnostic>>,
    catalogue: &mut Catalogue,
) -> Option<Folder> {
    match folder? {
        Ok(folder) => folder,
        Err(diagnostic) => {
            catalogue.note(diagnostic);
            None
        }
    }
}

/// Gives up an agent whose answers nothing could be held against.
fn check_schema(reading: &mut Reading) {
    let manifest = reading.manifest.as_ref().ok();
    if let Some(why) = manifest.and_then(no_schema) {
        reading.refuse(OUTPUT_SCHEMA, &why);
    }
}

/// Says why the agent of a script cannot be used.
fn misfit(manifest: &Manifest, tools: &[&str]) -> Option<String> {
    let rules = || manifest.check_rules(tools).err();
    no_schema(manifest).or_else(|| rules().map(|wrong| wrong.to_string()))
}

/// Says why what a manifest has for a schema is none.
fn no_schema(manifest: &Manifest) -> Option<String> {
    let schema = manifest.output_schema.as_ref()?;
    let why = check_json_schema(schema).err()?;
    Some(format!("`{OUTPUT_SCHEMA}` is no JSON Schema: {why}"))
}

/// Loads the model that a file of the user's names; a script is seen from the folder of the file.
fn find_model(reading: &mut Reading, models: &mut Models) {
    let Ok(manifest) = &mut reading.manifest else {
        return;
    };
    let Some(model) = &manifest.model else {
        return;
    };
    let folder = Path::new(&reading.path).parent().unwrap_or(Path::new(""));
    let whole = assemble::model_name(model, folder).and_then(|whole| {
        models.add(&whole)?;
        Ok(whole)
    });
    match whole {
        Ok(whole) => manifest.model = Some(whole),
        Err(stop) => reading.refuse("model", &stop.to_string()),
    }
}

//! The agents of a workspace: built in, the user's files, the project's, a script's.
//!
//! Finds the files and hands them on; which of one name counts is judged in
//! `offshoot-agents`, which of the project's are accepted in `trust.rs`; the others
//! are listed and nothing else. A file that is wrong is told of and keeps
//! nobody from working, except those who ask for that very agent.

mod foreign;

use std::collections::BTreeMap;
use std::path::Path;

use crate::folder::{File, Folder};
use offshoot_agents::{
    Catalogue, Diagnostic, Doubt, Origin, Reading, Scope, no_helper, unknown_tools,
};
use offshoot_engine::check_json_schema;
use offshoot_types::manifest::{Manifest, names};
use offshoot_types::tier::{ModelChoices, Tier};

use crate::assemble::{self, Models};
use crate::config::{Settings, Sourced};
use crate::error::HostError;
use crate::harmless::harmless;
use crate::trust::{self, Digest, Key, Kind, Standing, Thing, Trust};
use crate::{hooks, servers};

pub use foreign::{ForeignFolder, foreign_folders};

/// Where a project keeps its agents, as seen from the folder to work in.
pub(crate) const IN_PROJECT: &str = ".offshoot/agents";

/// The key of a schema that answers are held against.
const OUTPUT_SCHEMA: &str = "output_schema";

/// Returns all agents of a workspace; the models that they name are added to those there are.
pub fn load(settings: &Settings, workspace: Option<&str>, models: &mut Models) -> Catalogue {
    let tools = assemble::tools();
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    let (mut catalogue, user) = own(settings, models);
    if let Some(workspace) = workspace {
        let project = project(settings, workspace, &catalogue, user.as_ref());
        add_project(project, settings, models, &mut catalogue);
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
            catalogue.refuse(&manifest.name, Diagnostic::error(path, None, &why));
        }
    }
    catalogue.check_spawns();
    for diagnostic in catalogue.diagnostics() {
        tracing::warn!("{diagnostic}");
    }
    catalogue
}

/// What a workspace brings that acts, and what is wrong with the rest.
pub struct Brought {
    pub things: Vec<Thing>,
    pub problems: Vec<Diagnostic>,
}

/// Returns what a workspace brings.
pub fn brought(settings: &Settings, workspace: &str) -> Brought {
    let (catalogue, user) = own(settings, &mut Models::default());
    let Project {
        files,
        mut problems,
    } = project(settings, workspace, &catalogue, user.as_ref());
    let mut things = Vec::new();
    for (reading, thing) in files {
        problems.extend(reading.manifest.err());
        things.extend(thing);
    }
    match hooks::brought(settings, workspace) {
        Ok(hooks) => things.extend(hooks.into_iter().map(|(_, thing)| thing)),
        Err(stop) => problems.push(Diagnostic::error(workspace, None, &stop.to_string())),
    }
    let servers = servers::brought(settings, workspace);
    things.extend(servers.things);
    problems.extend(servers.problems);
    Brought { things, problems }
}

/// The agent files of a workspace.
struct Project {
    /// Those that are agents with what there is to be accepted of them.
    files: Vec<(Reading, Option<Thing>)>,
    problems: Vec<Diagnostic>,
}

/// Returns the agents that are there in every workspace, and the folder of the user's.
fn own(settings: &Settings, models: &mut Models) -> (Catalogue, Option<Folder>) {
    let mut catalogue = Catalogue::builtin();
    let user = settings.agents_dir.as_deref().map(Folder::open);
    let mut problems = Vec::new();
    let user = taken(user, &mut problems);
    let contents = user.as_ref().map(Folder::read);
    if let Some(contents) = contents {
        problems.extend(contents.problems);
        let files = contents.files.into_iter().map(|file| {
            let mut reading = file.reading;
            let folder = Path::new(&reading.path).parent().map(Path::to_owned);
            find_model(&mut reading, folder.as_deref(), settings, models);
            check(&mut reading);
            reading
        });
        catalogue.add_files(Scope::User, files.collect());
    }
    for problem in problems {
        catalogue.note(problem);
    }
    (catalogue, user)
}

/// Reads the agent files of a workspace, and finds out which of them are accepted.
fn project(
    settings: &Settings,
    workspace: &str,
    own: &Catalogue,
    user: Option<&Folder>,
) -> Project {
    let mut problems = Vec::new();
    let folder = Folder::beneath(Path::new(workspace), IN_PROJECT);
    let folder = taken(Some(folder), &mut problems);
    // Whoever works in their own config folder has one folder of agents there, not two.
    let folder = folder.filter(|folder| user.is_none_or(|user| !user.is_same(folder)));
    let Some(contents) = folder.map(|folder| folder.read()) else {
        return Project {
            files: Vec::new(),
            problems,
        };
    };
    problems.extend(contents.problems);
    let trust = Trust::of(settings, workspace);
    if let Some(problem) = trust.problem() {
        let why = format!("nothing of this folder is trusted: {problem}");
        problems.push(Diagnostic::error(workspace, None, &why));
    }
    let files = contents.files.into_iter().map(|file| {
        let File {
            mut reading,
            path,
            bytes,
        } = file;
        check(&mut reading);
        let thing = reading.manifest.as_ref().ok().map(|manifest| {
            let (digest, path) = (Digest::of(&bytes), path.display().to_string());
            let key = Key::Path(path.clone());
            let replaces = own.get(&manifest.name).map(|agent| &agent.origin);
            Thing {
                kind: Kind::Agent,
                name: manifest.name.clone(),
                standing: trust.standing(Kind::Agent, &key, &digest, &[]),
                may: trust::what_an_agent_may(manifest, replaces),
                text: String::from_utf8_lossy(&bytes).into_owned(),
                path,
                key,
                digest,
            }
        });
        (reading, thing)
    });
    Project {
        files: files.collect(),
        problems,
    }
}

/// Adds the agents of a project that are accepted, and lists the others.
fn add_project(
    project: Project,
    settings: &Settings,
    models: &mut Models,
    catalogue: &mut Catalogue,
) {
    let mut used = Vec::new();
    let mut listed = Vec::new();
    for (mut reading, thing) in project.files {
        let standing = thing.map(|thing| thing.standing);
        match (&reading.manifest, standing) {
            (Ok(manifest), Some(Standing::Doubted(doubt))) => {
                listed.push((reading.path, manifest.clone(), doubt));
            }
            (Ok(_), Some(Standing::Accepted(_))) => {
                find_model(&mut reading, None, settings, models);
                used.push(reading);
            }
            (Ok(_), None) | (Err(_), _) => used.push(reading),
        }
    }
    catalogue.add_files(Scope::Project, used);
    for (path, manifest, doubt) in listed {
        catalogue.list_untrusted(&path, manifest, doubt);
    }
    for problem in project.problems {
        catalogue.note(problem);
    }
}

/// Says that a folder brings agents that are not used, if it does.
pub fn untrusted(catalogue: &Catalogue) -> Option<String> {
    let all = catalogue.all_untrusted();
    let doubts: Vec<Doubt> = all.map(|(_, doubt)| doubt).collect();
    let what = match doubts.as_slice() {
        [] => return None,
        [_] => "1 agent of this folder is".to_owned(),
        many => format!("{} agents of this folder are", many.len()),
    };
    let why = if doubts.contains(&Doubt::Changed) {
        "not trusted, or changed since you accepted it"
    } else {
        "not trusted"
    };
    Some(format!(
        "{what} {why}, and not used; look and accept with: offshoot trust"
    ))
}

/// Returns the agents of files that get another model because their tier has none. `standard` without one
/// is the session's model. The built-in agents make do with any model, so nothing is said of them.
pub fn without_tier_model(catalogue: &Catalogue, choices: &ModelChoices) -> BTreeMap<String, Tier> {
    let written = catalogue
        .all()
        .filter(|agent| agent.origin != Origin::BuiltIn);
    let unmapped = written.filter_map(|agent| {
        let manifest = &agent.manifest;
        let tier = Tier::named(manifest.model.as_deref()?)?;
        let falls_back = tier != Tier::Standard && choices.tier(tier).is_none();
        falls_back.then(|| (manifest.name.clone(), tier))
    });
    unmapped.collect()
}

/// Refuses an agent whose file is broken: another one of its name is not what was asked for.
pub fn refuse_broken(catalogue: &Catalogue, name: &str) -> Result<(), HostError> {
    match catalogue.fault(name) {
        Some(fault) => Err(HostError::invalid(format!(
            "agent {name} cannot be used: {}",
            harmless(&fault.to_string())
        ))),
        None => Ok(()),
    }
}

/// Refuses such an agent, and one that nobody has accepted, unless another of its name is there,
/// which is then what is meant.
pub fn refuse(catalogue: &Catalogue, name: &str) -> Result<(), HostError> {
    refuse_broken(catalogue, name)?;
    let doubted = catalogue.untrusted(name);
    match doubted.filter(|_| catalogue.get(name).is_none()) {
        Some((agent, doubt)) => {
            let path = harmless(agent.origin.path().unwrap_or_default());
            let why = match doubt {
                Doubt::New => "is not trusted",
                Doubt::Changed => "has changed since you accepted it",
            };
            Err(HostError::invalid(format!(
                "agent {name} of this folder {why}: {path}; look and accept with: offshoot trust, \
                 or give --trust-project to use it once"
            )))
        }
        None => Ok(()),
    }
}

/// Returns the own name of an agent that a user asked for; refuses one that a user cannot start.
pub fn startable(catalogue: &Catalogue, asked: &Sourced<String>) -> Result<String, HostError> {
    let Sourced { value, source } = asked;
    refuse(catalogue, value).map_err(|stop| stop.coming_from(source))?;
    let own = catalogue.get(value).map(|agent| &agent.manifest);
    match own.filter(|manifest| manifest.mode.user_may_start()) {
        Some(manifest) => Ok(manifest.name.clone()),
        None => Err(unknown(catalogue, value).coming_from(source)),
    }
}

/// Says that a person cannot start an agent, and which they can.
pub fn unknown(catalogue: &Catalogue, name: &str) -> HostError {
    let registry = catalogue.registry();
    let choices = names(registry.for_users());
    let shown = name.escape_debug();
    HostError::invalid(match registry.get(name) {
        Some(_) if registry.is_hidden(name) => helps(&shown.to_string(), &choices),
        Some(_) => {
            format!("agent {shown} is started by other agents only; choose one of: {choices}")
        }
        None => format!("there is no agent {shown}; there are: {choices}"),
    })
}

/// Says that an agent works for the runtime only, and which a person can start.
pub fn helps(name: &str, choices: &str) -> String {
    format!("agent {name} is a helper that Offshoot starts itself; choose one of: {choices}")
}

/// Returns a folder that is there, and notes what is wrong with one that cannot be opened.
fn taken(
    folder: Option<Result<Option<Folder>, Diagnostic>>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Folder> {
    match folder? {
        Ok(folder) => folder,
        Err(problem) => {
            problems.push(problem);
            None
        }
    }
}

/// Looks for what is wrong with an agent and is known only here.
fn check(reading: &mut Reading) {
    let manifest = reading.manifest.as_ref().ok();
    // An agent with an invalid `output_schema` is refused.
    if let Some(why) = manifest.and_then(no_schema) {
        reading.refuse(OUTPUT_SCHEMA, &why);
    } else if let Some(why) = manifest.and_then(no_helper) {
        reading.refuse("mode", &why);
    }
    let tools = assemble::tools();
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    reading.check_tools(&tools);
    reading.check_rules(&tools);
}

/// Says why the agent of a script cannot be used.
fn misfit(manifest: &Manifest, tools: &[&str]) -> Option<String> {
    let rules = || manifest.check_rules(tools).err();
    no_schema(manifest)
        .or_else(|| unknown_tools(manifest, tools))
        .or_else(|| rules().map(|wrong| wrong.to_string()))
}

/// Says why what a manifest has for a schema is none.
fn no_schema(manifest: &Manifest) -> Option<String> {
    let schema = manifest.output_schema.as_ref()?;
    let why = check_json_schema(schema).err()?;
    Some(format!("`{OUTPUT_SCHEMA}` is no JSON Schema: {why}"))
}

/// Loads the model that a file names; a script is seen from the folder of the file, if its author
/// may name one.
fn find_model(
    reading: &mut Reading,
    scripts: Option<&Path>,
    settings: &Settings,
    models: &mut Models,
) {
    let Ok(manifest) = &mut reading.manifest else {
        return;
    };
    let named = manifest.model.as_ref();
    let Some(model) = named.filter(|model| Tier::named(model).is_none()) else {
        return;
    };
    if scripts.is_none() && model.starts_with("scripted/") {
        // What was accepted is the agent's file, and nobody has looked at another.
        let why = "a project's agent cannot have a script for a model";
        return reading.refuse("model", why);
    }
    let whole = assemble::model_name(model, scripts.unwrap_or(Path::new("")), settings);
    let whole = whole.and_then(|whole| {
        models.add(&whole)?;
        Ok(whole)
    });
    match whole {
        Ok(whole) => manifest.model = Some(whole),
        Err(stop) => {
            let [small, standard, large] = Tier::ALL;
            let why = format!("{stop}; or a tier: {small}, {standard}, {large}");
            reading.refuse("model", &why);
        }
    }
}

//! How a project is built and tested, each with where it was learnt.
//!
//! Nothing is run. A convention is called one; the rest was found written down.

use super::super::markdown::{self, code, codes};
use super::files::name_of;
use super::manifests::{self, Manifest};
use super::readme::Readme;

const MOST_COMMANDS: usize = 6;
const MOST_TARGETS: usize = 14;
const LONGEST_COMMAND: usize = 70;

/// What there is to learn it from.
pub(super) struct Sources<'a> {
    pub(super) manifests: &'a [Manifest],
    pub(super) readme: Option<(&'a str, &'a Readme)>,
    /// CI files with their text.
    pub(super) ci: &'a [(&'a str, &'a str)],
    /// Files at the top, for what their presence tells.
    pub(super) top: &'a [&'a str],
}

/// Returns one line for each source that tells something.
pub(super) fn lines(sources: &Sources<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for manifest in sources.manifests {
        lines.extend(convention(manifest, sources.top));
        lines.extend(targets(manifest, sources.top));
    }
    for (path, text) in sources.ci {
        let commands = ci_commands(text);
        lines.push(if commands.is_empty() {
            format!("CI: {} has no steps that the rules can read", code(path))
        } else {
            format!("CI, from {}: {}", code(path), shown(&commands))
        });
    }
    if let Some((path, readme)) = sources.readme
        && !readme.commands.is_empty()
    {
        let commands = shown(&readme.commands);
        lines.push(format!("Commands in {}: {commands}", code(path)));
    }
    lines
}

/// Files at the top that tell which of several programs builds it.
pub(in super::super) const TELLING: &str = "{gradlew,pnpm-lock.yaml,yarn.lock}";

/// Returns the command that tests by convention, from files at the top.
pub(in super::super) fn test_command(paths: &[&str]) -> Option<String> {
    let mut top: Vec<&str> = paths.to_vec();
    top.retain(|path| !path.contains('/'));
    top.sort_by_key(|path| manifests::rank(path));
    let test = |path: &&str| {
        let kind = manifests::kind(path)?;
        Some(here(kind.test?, kind, &top))
    };
    top.iter().find_map(test)
}

/// Returns a command of a convention for the program that is used here.
fn here(command: &str, kind: &manifests::Kind, top: &[&str]) -> String {
    match kind.system {
        "Gradle" if top.contains(&"gradlew") => {
            format!("./{}", command.replacen("gradle", "gradlew", 1))
        }
        "npm" => command.replacen("npm", package_manager(top), 1),
        _ => command.to_owned(),
    }
}

fn convention(manifest: &Manifest, top: &[&str]) -> Option<String> {
    let kind = manifests::kind(&manifest.path)?;
    let (build, test) = (kind.build?, kind.test?);
    let told = |command: &str| code(&here(command, kind, top));
    let path = code(&manifest.path);
    // A script that is not there would not run.
    if kind.system == "npm" && !manifest.targets.iter().any(|name| name == "test") {
        return Some(format!(
            "{path} (npm): {} by convention; no `test` script",
            told(build)
        ));
    }
    let system = kind.system;
    let (build, test) = (told(build), told(test));
    Some(format!(
        "{path} ({system}): {build} and {test} by convention"
    ))
}

fn targets(manifest: &Manifest, top: &[&str]) -> Option<String> {
    if manifest.targets.is_empty() {
        return None;
    }
    let names = codes(
        manifest
            .targets
            .iter()
            .take(MOST_TARGETS)
            .map(String::as_str),
    );
    let more = manifest.targets.len().saturating_sub(MOST_TARGETS);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let path = code(&manifest.path);
    let how = match name_of(&manifest.path) {
        "package.json" => format!("{} run NAME", package_manager(top)),
        "composer.json" => "composer NAME".to_owned(),
        "justfile" => "just NAME".to_owned(),
        _ => "make NAME".to_owned(),
    };
    Some(format!("{path} has {} to run: {names}{more}", code(&how)))
}

fn package_manager(top: &[&str]) -> &'static str {
    if top.contains(&"pnpm-lock.yaml") {
        "pnpm"
    } else if top.contains(&"yarn.lock") {
        "yarn"
    } else {
        "npm"
    }
}

fn shown(commands: &[String]) -> String {
    let first = commands.iter().take(MOST_COMMANDS);
    let shown: Vec<String> = first
        .map(|command| code(&markdown::capped(command, LONGEST_COMMAND)))
        .collect();
    let more = commands.len().saturating_sub(MOST_COMMANDS);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{more}", shown.join(", "))
}

/// Returns what `run:` and `script:` steps do, one line each.
fn ci_commands(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let depth = line.len() - line.trim_start().len();
        let step = line.trim_start().trim_start_matches("- ");
        let Some(rest) = ["run:", "script:"]
            .iter()
            .find_map(|key| step.strip_prefix(key))
        else {
            continue;
        };
        let rest = rest.trim();
        if !matches!(rest, "" | "|" | ">" | "|-" | ">-") {
            commands.push(rest.trim_matches(['"', '\'']).to_owned());
            continue;
        }
        while let Some(next) = lines.peek() {
            let inner = next.trim();
            let deeper = next.len() - next.trim_start().len() > depth
                || inner.starts_with("- ") && rest.is_empty();
            if !inner.is_empty() && !deeper {
                break;
            }
            let command = inner.trim_start_matches("- ");
            if !command.is_empty() && !command.starts_with('#') {
                commands.push(command.to_owned());
            }
            lines.next();
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    commands.retain(|command| seen.insert(command.clone()));
    commands
}

#[cfg(test)]
mod tests;

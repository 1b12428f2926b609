//! `agents list`: a line for each agent, those first that a person can start.

use std::io;

use offshoot_agents::{Catalogue, Definition, HELPERS};
use serde_json::json;

use super::Listed;
use crate::definitions::ForeignFolder;
use crate::exit::Stop;
use crate::output::{self, Stdout};
use crate::{render, table, terminal};

const HEAD: [&str; 4] = ["NAME", "MODE", "FROM", "DESCRIPTION"];

/// Lists the agents: for people, for agents, those that Offshoot starts itself; then those that
/// the user has not accepted, and those that cannot be used. Mentions folders that are not read.
pub(super) fn list(
    catalogue: &Catalogue,
    foreign: &[ForeignFolder],
    json: bool,
) -> Result<(), Stop> {
    let used = catalogue.all().map(Listed::trusted);
    let untrusted = catalogue.all_untrusted();
    let untrusted = untrusted.map(|(agent, doubt)| Listed::untrusted(agent, doubt));
    let mut agents: Vec<Listed<'_>> = used.chain(untrusted).collect();
    agents.sort_by_key(|Listed { agent, doubt }| {
        let helper = is_helper(agent);
        (
            doubt.is_some(),
            !agent.manifest.mode.user_may_start(),
            helper,
        )
    });
    let mut stdout = Stdout::default();
    if json {
        for agent in agents {
            stdout.line(&line(agent).to_string())?;
        }
        for (name, why) in catalogue.all_broken() {
            let (path, line, error) = (&why.path, why.line, &why.message);
            let broken = json!({ "name": name, "path": path, "line": line, "error": error });
            stdout.line(&broken.to_string())?;
        }
        for folder in foreign {
            let ForeignFolder {
                path,
                files,
                instead,
            } = folder;
            let line = json!({ "not_read": path, "files": files, "instead": instead });
            stdout.line(&line.to_string())?;
        }
        return Ok(());
    }
    let broken = catalogue.all_broken().map(|(name, why)| {
        let cells = [name, "-", "broken", &why.to_string()];
        cells.map(render::harmless)
    });
    let rows: Vec<[String; 4]> = agents.into_iter().map(row).chain(broken).collect();
    for line in table::lines(HEAD, &rows, terminal::width(&io::stdout())) {
        stdout.line(&line)?;
    }
    for folder in foreign {
        output::note(&render::harmless(&folder.line()));
    }
    Ok(())
}

/// Tells whether Offshoot starts an agent itself, whoever wrote it.
pub(super) fn is_helper(agent: &Definition) -> bool {
    HELPERS.contains(&agent.manifest.name.as_str())
}

fn row(Listed { agent, doubt }: Listed<'_>) -> [String; 4] {
    // Authors may write a paragraph, and a table has lines.
    let description = agent.manifest.description.split_whitespace();
    [
        agent.manifest.name.clone(),
        agent.manifest.mode.to_string(),
        match doubt {
            None => agent.origin.to_string(),
            Some(_) => format!("{}, not trusted", agent.origin),
        },
        description.collect::<Vec<_>>().join(" "),
    ]
    .map(|cell| render::harmless(&cell))
}

fn line(Listed { agent, doubt }: Listed<'_>) -> serde_json::Value {
    json!({
        "name": agent.manifest.name,
        "mode": agent.manifest.mode,
        "description": agent.manifest.description,
        "source": agent.origin.to_string(),
        "path": agent.origin.path(),
        "trusted": doubt.is_none(),
        "helper": is_helper(agent),
    })
}

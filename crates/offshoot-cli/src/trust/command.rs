//! `offshoot trust`: shows what a folder brings, and takes a person's word for it.
//!
//! Works where the project's own config file is wrong, which has no say here. Nothing
//! is accepted where nobody can be asked and nobody said `--all`.

use std::io;

use serde_json::json;

use super::{By, Kind, Standing, Thing, Trust, accept, ask, listed, revoke};
use crate::cli::{self, Wish};
use crate::config::{self, Settings};
use crate::definitions::{self, Brought};
use crate::exit::{Code, Stop};
use crate::inside_agent;
use crate::output::{self, Stdout};
use crate::{render, terminal};

/// Carries out `offshoot trust`.
pub(crate) fn trust(args: cli::Trust, settings: &Settings) -> Result<Code, Stop> {
    if args.wish() != Wish::List {
        inside_agent::refuse("`trust`")?;
    }
    let workspace = config::workspace(args.cwd.as_deref())?;
    if let Some(problem) = Trust::of(settings, &workspace).problem() {
        return Err(Stop::Failed(anyhow::anyhow!(problem.to_owned())));
    }
    if args.wish() == Wish::Revoke {
        return forget(settings, &workspace, args.json);
    }
    let Brought { things, problems } = definitions::brought(settings, &workspace);
    problems.iter().for_each(definitions::tell);
    let mut stdout = Stdout::default();
    match args.wish() {
        Wish::Ask | Wish::List => show(&mut stdout, &workspace, &things, args.json)?,
        Wish::All | Wish::Revoke => {}
    }
    if things.iter().any(|thing| thing.kind == Kind::Server) {
        output::note(ask::NO_SERVERS_YET);
    }
    let doubted = things.iter().filter(|it| !it.is_accepted()).cloned();
    let doubted: Vec<Thing> = doubted.collect();
    let take = |chosen: &[&Thing], stdout: &mut Stdout| {
        accept(settings, &workspace, &things, chosen.iter().copied())?;
        say_accepted(chosen, stdout, args.json)
    };
    match args.wish() {
        _ if things.is_empty() && !problems.is_empty() => {
            let folder = render::harmless(&workspace);
            output::note(&format!("{folder} brings nothing that could be read"));
            return Ok(Code::Failed);
        }
        _ if things.is_empty() => {
            let folder = render::harmless(&workspace);
            output::note(&format!("{folder} brings nothing that has to be accepted"));
        }
        Wish::List | Wish::Revoke => {}
        Wish::Ask | Wish::All if doubted.is_empty() => {
            output::note("all of it is accepted");
        }
        Wish::Ask if ask::can_ask() => {
            let chosen = ask::which(&doubted)?;
            if chosen.is_empty() {
                output::note("nothing was accepted")
            } else {
                take(&chosen, &mut stdout)?
            }
        }
        Wish::Ask => {
            return Err(Stop::usage(
                "nobody can be asked here; --all accepts what is shown above, --list only shows it",
            ));
        }
        Wish::All => {
            // Whoever says so beforehand sees what they have accepted all the same.
            if !args.json {
                show(&mut stdout, &workspace, &doubted, args.json)?;
            }
            let all: Vec<&Thing> = doubted.iter().collect();
            take(&all, &mut stdout)?;
        }
    }
    Ok(Code::Completed)
}

/// Says which things were accepted.
fn say_accepted(chosen: &[&Thing], stdout: &mut Stdout, json: bool) -> Result<(), Stop> {
    for thing in chosen {
        let thing = Thing {
            standing: Standing::Accepted(By::Record),
            ..(*thing).clone()
        };
        stdout.line(&if json {
            object(&thing)
        } else {
            let (kind, name) = (thing.kind.word(), &thing.name);
            render::harmless(&format!("accepted {kind} {name}, as {} is now", thing.path))
        })?;
    }
    Ok(())
}

fn forget(settings: &Settings, workspace: &str, json: bool) -> Result<Code, Stop> {
    let count = revoke(settings, workspace)?;
    let mut stdout = Stdout::default();
    if json {
        stdout.line(&json!({ "workspace": workspace, "revoked": count }).to_string())?;
    } else {
        let what = match count {
            0 => "nothing was accepted".to_owned(),
            1 => "1 thing is not accepted any more".to_owned(),
            many => format!("{many} things are not accepted any more"),
        };
        stdout.line(&render::harmless(&format!("{workspace}: {what}")))?;
    }
    if let Some(source) = listed(settings, workspace) {
        output::note(&format!(
            "warning: all of it is still used, because `trusted_projects` in {source} has it"
        ));
    }
    Ok(Code::Completed)
}

fn show(stdout: &mut Stdout, workspace: &str, things: &[Thing], json: bool) -> Result<(), Stop> {
    if json {
        for thing in things {
            stdout.line(&object(thing))?;
        }
        return Ok(());
    }
    if !things.is_empty() {
        let (count, _) = ask::counted(things);
        stdout.line(&render::harmless(&format!("{workspace} brings {count}:")))?;
    }
    let width = terminal::width(&io::stdout());
    for thing in things {
        for row in ask::rows(thing, width) {
            stdout.line(&row)?;
        }
    }
    Ok(())
}

/// Returns a thing for programs.
fn object(thing: &Thing) -> String {
    let (status, by) = match &thing.standing {
        Standing::Accepted(By::Record) => ("accepted", Some("record")),
        Standing::Accepted(By::List(_)) => ("accepted", Some("trusted_projects")),
        Standing::Accepted(By::Flag) => ("accepted", Some("--trust-project")),
        Standing::Doubted(doubt) => (doubt.word(), None),
    };
    let line = json!({
        "kind": thing.kind.word(),
        "name": thing.name,
        "path": thing.path,
        "sha256": thing.digest.as_str(),
        "may": thing.may,
        "status": status,
        "by": by,
    });
    line.to_string()
}

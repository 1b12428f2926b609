//! `offshoot doctor`: what is there, what is missing, and where settings come from.
//!
//! Looks and changes nothing: no folder is made, no log is begun, no session is
//! taken over. What can be looked at is, whatever else is wrong.

mod agents;
mod data;
mod model;
mod system;

use std::io;
use std::path::Path;

use serde_json::json;

use crate::config::{Color, Settings};
use crate::env::Surroundings;
use crate::exit::{Code, Stop};
use crate::output::Stdout;
use crate::{render, rules, terminal};

/// How it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// As it should be.
    Ok,
    /// Works, but not as well as it could.
    Warn,
    /// Does not work.
    Fail,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    verdict: Verdict,
    what: &'static str,
    detail: String,
}

/// Settings; or what is wrong with them, and those that hold without files.
pub(crate) type Loaded = Result<Settings, (Stop, Option<Settings>)>;

/// Carries out `offshoot doctor`.
pub(crate) async fn doctor(
    loaded: Loaded,
    surroundings: &Surroundings,
    json: bool,
) -> Result<Code, Stop> {
    let mut findings = vec![Finding::ok("version", env!("CARGO_PKG_VERSION"))];
    let settings = match loaded {
        Ok(settings) => {
            findings.extend(config(&settings, surroundings));
            Some(settings)
        }
        Err((stop, settings)) => {
            findings.push(Finding::fail("config", stop.to_string()));
            settings
        }
    };
    if let Some(settings) = &settings {
        findings.extend(data::look(&settings.data_dir));
        findings.extend(model::look(settings).await);
        findings.extend(agents::look(settings));
    }
    findings.extend(system::look(surroundings));
    let color = settings.map_or(Color::Auto, |settings| settings.color.value);
    let colors = terminal::has_colors(color, &io::stdout(), surroundings);
    findings.push(system::screen(surroundings, colors));
    print(&findings, json, colors)?;
    let failed = findings
        .iter()
        .any(|finding| finding.verdict == Verdict::Fail);
    Ok(if failed {
        Code::Failed
    } else {
        Code::Completed
    })
}

fn config(settings: &Settings, surroundings: &Surroundings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &settings.files {
        findings.push(Finding::ok("config file", shown(file)));
    }
    if settings.files.is_empty() {
        let yours = Settings::user_file(surroundings);
        let yours = yours.map_or(String::new(), |yours| {
            format!("; yours would be {}", yours.display())
        });
        findings.push(Finding::ok("config file", format!("none{yours}")));
    }
    for (name, value, source) in settings.made() {
        findings.push(Finding::ok(
            "setting",
            format!("{name} = {value}, from {source}"),
        ));
    }
    // A repository that nobody has accepted may have written any number of them.
    for warning in &rules::few(&settings.warnings) {
        findings.push(Finding::warn("config", warning));
    }
    findings
}

/// Prints findings, one a line. Words have colours only where that is wanted.
fn print(findings: &[Finding], json: bool, colors: bool) -> Result<(), Stop> {
    let mut stdout = Stdout::colored(colors);
    for finding in findings {
        let Finding {
            verdict,
            what,
            detail,
        } = finding;
        let word = verdict.word();
        if json {
            let line = json!({ "status": word, "what": what, "detail": detail });
            stdout.line(&line.to_string())?;
            continue;
        }
        let word = if colors {
            format!("\u{1b}[{}m{word:<4}\u{1b}[0m", verdict.color())
        } else {
            format!("{word:<4}")
        };
        let detail = render::harmless(detail);
        stdout.line(&format!("{word}  {what:<15}  {detail}"))?;
    }
    Ok(())
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }

    /// Returns the number by which a terminal knows its colour.
    fn color(self) -> u8 {
        match self {
            Self::Ok => 32,
            Self::Warn => 33,
            Self::Fail => 31,
        }
    }
}

impl Finding {
    fn ok(what: &'static str, detail: impl Into<String>) -> Self {
        Self::new(Verdict::Ok, what, detail)
    }

    fn warn(what: &'static str, detail: impl Into<String>) -> Self {
        Self::new(Verdict::Warn, what, detail)
    }

    fn fail(what: &'static str, detail: impl Into<String>) -> Self {
        Self::new(Verdict::Fail, what, detail)
    }

    fn new(verdict: Verdict, what: &'static str, detail: impl Into<String>) -> Self {
        Self {
            verdict,
            what,
            detail: detail.into(),
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

//! Native agent files: Markdown with a YAML header.
//!
//! The header is the manifest and the text below it the prompt. Nothing is opened
//! here. Whatever the bytes are, reading them neither panics nor takes long, and
//! what is wrong is said with its line.

mod fault;
mod frame;
mod header;

use std::collections::BTreeMap;

use offshoot_types::manifest::{Manifest, WrongRule};
use offshoot_types::permission::written::{Part, contradictions, overshadowed};

use self::header::RulePlaces;
use crate::diagnostic::Diagnostic;
use crate::tool_names::unknown_tools;

/// Most bytes of an agent file. Whoever reads files need not read more than one byte beyond it.
pub const MAX_FILE_BYTES: usize = 256 * 1024;

/// Where the keys of a header stand, by name.
type Lines = BTreeMap<String, usize>;

/// What was read of a file.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The file, as it was named.
    pub path: String,
    /// What the agent is called, or would have been if the file were right.
    pub name: String,
    /// The agent, or why there is none.
    pub manifest: Result<Manifest, Diagnostic>,
    /// What is odd and stands in nobody's way.
    pub warnings: Vec<Diagnostic>,
    lines: Lines,
    rules: RulePlaces,
}

impl Reading {
    /// A file of which nothing could be read.
    pub fn failed(path: &str, name: &str, why: &str) -> Self {
        Self::broken(path, name, Diagnostic::error(path, None, why))
    }

    /// Returns the line of a key of the header; `None` if it is not there.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        self.lines.get(key).copied()
    }

    /// Gives up the agent because of what a key says.
    pub fn refuse(&mut self, key: &str, why: &str) {
        self.manifest = Err(Diagnostic::error(&self.path, self.line_of(key), why));
    }

    /// Gives up the agent if `tools` names tools that do not exist; `known` are those that do.
    pub fn check_tools(&mut self, known: &[&str]) {
        let manifest = self.manifest.as_ref().ok();
        if let Some(why) = manifest.and_then(|manifest| unknown_tools(manifest, known)) {
            self.refuse("tools", &why);
        }
    }

    /// Gives up the agent because of a rule that cannot mean what its author thinks, and warns of
    /// rules that contradict each other; `tools` are those there are.
    pub fn check_rules(&mut self, tools: &[&str]) {
        let Ok(manifest) = &self.manifest else {
            return;
        };
        if let Err(WrongRule { index, fault }) = manifest.check_rules(tools) {
            let place = self.rules.find(index, fault.part);
            let line = place.map(|(line, _)| line).or(self.line_of("permissions"));
            let wrong = Diagnostic::error(&self.path, line, &fault.to_string());
            self.manifest = Err(wrong.in_column(place.map(|(_, column)| column)));
            return;
        }
        let rules = manifest.permissions.as_deref().unwrap_or_default();
        let line = |index| self.rules.find(index, Part::Permission);
        for (first, second) in contradictions(rules) {
            let earlier = line(first).map_or_else(String::new, |(line, _)| format!(" {line}"));
            let why = format!(
                "this rule and that of line{earlier} say different things of {} {}; the stricter \
                 holds",
                rules[second].permission, rules[second].pattern
            );
            let place = line(second).map(|(line, _)| line);
            let warning = Diagnostic::warning(&self.path, place, &why);
            self.warnings.push(warning);
        }
        for found in overshadowed(rules) {
            let by = line(found.by).map_or_else(String::new, |(line, _)| format!(" {line}"));
            let instead = found.instead.map(|pattern| format!("; write `{pattern}`"));
            let why = format!(
                "this rule does not hold where that of line{by} allows, {}{}",
                found.why,
                instead.unwrap_or_default()
            );
            let place = line(found.rule).map(|(line, _)| line);
            let warning = Diagnostic::warning(&self.path, place, &why);
            self.warnings.push(warning);
        }
    }

    fn broken(path: &str, name: &str, diagnostic: Diagnostic) -> Self {
        Self {
            path: path.to_owned(),
            name: name.to_owned(),
            manifest: Err(diagnostic),
            warnings: Vec::new(),
            lines: Lines::new(),
            rules: RulePlaces::default(),
        }
    }
}

/// Reads an agent file; `name` is what the agent is called unless the header says otherwise.
pub fn read(bytes: &[u8], path: &str, name: &str) -> Reading {
    let fail = |line, why: &str| Reading::broken(path, name, Diagnostic::error(path, line, why));
    if bytes.len() > MAX_FILE_BYTES {
        let why = format!("it is too large: an agent file has at most {MAX_FILE_BYTES} bytes");
        return fail(None, &why);
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let line = frame::line_at(&bytes[..error.valid_up_to()]);
            return fail(Some(line), "it is not UTF-8 text");
        }
    };
    let frame = match frame::split(text) {
        Ok(frame) => frame,
        Err((line, why)) => return fail(Some(line), why),
    };
    let mut lines = Lines::new();
    let read = header::read(frame.header, name, &frame.prompt, &mut lines);
    let mut reading = match read {
        Ok(manifest) => Reading {
            path: path.to_owned(),
            name: manifest.name.clone(),
            manifest: Ok(manifest),
            warnings: Vec::new(),
            lines: Lines::new(),
            rules: header::rules(frame.header),
        },
        Err(error) => {
            let (line, why) = fault::describe(&error, &lines);
            // Of what is wrong as a whole the beginning is the place.
            let diagnostic = Diagnostic::error(path, line.or(Some(1)), &why);
            let written = header::name(frame.header);
            Reading::broken(path, written.as_deref().unwrap_or(name), diagnostic)
        }
    };
    if frame.prompt.is_empty() && reading.manifest.is_ok() {
        let why = "there is no text below the header, so the agent has no instructions of its own";
        let warning = Diagnostic::warning(path, Some(frame.end), why);
        reading.warnings.push(warning);
    }
    reading.lines = lines;
    reading
}

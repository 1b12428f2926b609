//! The stored form of events, and its version.
//!
//! A line is written once and read for ever, so a change of this form never
//! touches lines that are there: they are brought up to date when they are read.
//! A field that may be absent needs no new version, because lines without it read
//! as they always did. Whatever an older program would misread does: a new
//! variant, a new meaning. It raises the version by adding a step to `STEPS`.

use crate::event::Event;

/// The version of the form that this code writes. Forms count from 1.
pub const FORM: u32 = STEPS.len() as u32 + 1;

/// What leads from one form to the next; the first from form 1 to form 2.
///
/// A step takes a line and returns it in the next form. What it does not change it leaves as it is,
/// byte for byte: blocks of providers are signed. A step for a new variant returns its line.
const STEPS: [Step; 3] = [unchanged, unchanged, unchanged];

type Step = fn(String) -> Result<String, serde_json::Error>;

/// Form 2 has more variants: titles, summaries, compactions, rewinds, helpers. Form 3 has hooks, and
/// questions in what is asked. Form 4 has client tools, calls that wait for a client, children without a
/// call, roles that a client has set, and parts that are no text in messages and outcomes; what is only text is stored as before.
fn unchanged(line: String) -> Result<String, serde_json::Error> {
    Ok(line)
}

/// Why a line cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Its form is not known here.
    #[error("it has form {0}, and this offshoot reads forms 1 to {FORM}; a newer one reads more")]
    Unknown(u32),
    /// It is not what we write.
    #[error(transparent)]
    Broken(#[from] serde_json::Error),
}

/// Returns the line of an event, in form `FORM`.
pub fn write(event: &Event) -> Result<String, serde_json::Error> {
    serde_json::to_string(event)
}

/// Reads a line of any form up to `FORM`.
pub fn read(form: u32, line: &str) -> Result<Event, Unreadable> {
    if form == FORM {
        return Ok(serde_json::from_str(line)?);
    }
    let line = raised(&STEPS, form, line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Brings a line of an older form to the one that the last step gives.
fn raised(steps: &[Step], form: u32, line: &str) -> Result<String, Unreadable> {
    let done = form
        .checked_sub(1)
        .and_then(|done| steps.get(done as usize..));
    let missing = done.ok_or(Unreadable::Unknown(form))?;
    let mut line = line.to_owned();
    for step in missing {
        line = step(line)?;
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What later versions might do: a field gets another name, then another place.
    const LATER: [Step; 2] = [
        |line| Ok(line.replacen("\"name\"", "\"title\"", 1)),
        |line| Ok(format!("{{\"titled\":{line}}}")),
    ];

    #[test]
    fn an_older_line_goes_through_the_steps_it_has_missed() {
        let raised = |form, line| raised(&LATER, form, line).unwrap();
        assert_eq!(raised(1, r#"{"name":"x"}"#), r#"{"titled":{"title":"x"}}"#);
        assert_eq!(raised(2, r#"{"title":"x"}"#), r#"{"titled":{"title":"x"}}"#);
        let now = r#"{"titled":{"title":"x"}}"#;
        assert_eq!(raised(3, now), now);
    }

    #[test]
    fn a_line_of_an_unknown_form_is_refused_and_says_so() {
        for form in [FORM + 1, u32::MAX, 0] {
            let error = read(form, "{}").unwrap_err();
            assert!(matches!(error, Unreadable::Unknown(_)), "{error}");
        }
        let error = read(FORM + 1, "{}").unwrap_err().to_string();
        assert!(error.contains("a newer one"), "{error}");
    }
}

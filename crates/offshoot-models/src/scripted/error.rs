//! Why a script was refused, in one line for the person who wrote it.
//!
//! Names the file, the line and the column, then what is wrong and what would be
//! right. Nobody branches on it.

use offshoot_types::manifest::REMOVED_KEY;
use offshoot_types::suggest;
use serde_saphyr::{Error, Location};

/// Why a script was refused: `load script FILE:LINE:COLUMN: what is wrong`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("load script {0}")]
pub struct ScriptError(String);

impl ScriptError {
    pub(super) fn new(source_name: &str, place: Option<Location>, what: &str) -> Self {
        Self(match place {
            Some(place) => format!("{source_name}:{}:{}: {what}", place.line(), place.column()),
            None => format!("{source_name}: {what}"),
        })
    }

    pub(super) fn unreadable(source_name: &str, error: &Error) -> Self {
        let error = error.without_snippet();
        Self::new(source_name, error.location(), &what_is_wrong(error))
    }
}

fn what_is_wrong(error: &Error) -> String {
    match error {
        Error::SerdeUnknownField {
            field, expected, ..
        } => format!("unknown key `{field}`{}", instead(field, expected)),
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => format!("unknown value `{variant}`{}", instead(variant, expected)),
        Error::SerdeMissingField { field, .. } => format!("key `{field}` is missing"),
        Error::InvalidScalar { ty, .. } => format!("{} was expected here", kind(ty)),
        other => one_line(other),
    }
}

/// Says in words what kind of number was expected.
fn kind(ty: &str) -> &'static str {
    match ty.chars().next() {
        Some('f') => "a number",
        _ => "a whole number, not less than 0 and not too large,",
    }
}

/// Says what was probably meant, or everything that would have been understood.
fn instead(wrong: &str, known: &[&'static str]) -> String {
    let known: Vec<&str> = known
        .iter()
        .copied()
        .filter(|known| *known != REMOVED_KEY)
        .collect();
    match suggest::nearest(wrong, known.iter().copied()) {
        Some(name) => format!(", did you mean `{name}`?"),
        None => format!(", known are {}", known.join(", ")),
    }
}

/// Renders an error of the parser without the place, which we give ourselves.
fn one_line(error: &Error) -> String {
    let text = error.to_string();
    let text = match error.location() {
        Some(place) => text.replace(
            &format!(" at line {}, column {}", place.line(), place.column()),
            "",
        ),
        None => text,
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

//! What is wrong with a header, in one sentence, and at which line.
//!
//! Says what would be right where that can be known: the key that was probably
//! meant, the values there are, what a missing key is for.

use offshoot_types::manifest::REMOVED_KEY;
use offshoot_types::suggest;
use serde_saphyr::Error;

use super::Lines;

const TOO_MUCH: &str = "the header has too many values, or they are nested too deeply";

/// Returns the line and what is wrong there.
pub(super) fn describe(error: &Error, lines: &Lines) -> (Option<usize>, String) {
    let error = error.without_snippet();
    let mut what = sentence(error);
    let place = error.location().map(|place| place.line());
    let place = place.and_then(|line| usize::try_from(line).ok());
    // What is wrong with a value beyond its type is found when all is read; it begins with its key.
    let named = lines.iter().find(|(key, _)| {
        let rest = what.strip_prefix(key.as_str());
        rest.is_some_and(|rest| rest.starts_with(' '))
    });
    let line = named.map(|(_, line)| *line).or(place);
    if what.starts_with("name is ") && !lines.contains_key("name") {
        what.push_str("; it is that of the file: rename it, or write a `name`");
    }
    (line.filter(|line| *line > 0), what)
}

fn sentence(error: &Error) -> String {
    match error {
        Error::SerdeUnknownField {
            field, expected, ..
        } => format!("unknown key `{field}`{}", instead(field, expected)),
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => format!("unknown value `{variant}`{}", instead(variant, expected)),
        Error::SerdeMissingField { field: "mode", .. } => missing_mode(),
        Error::SerdeMissingField { field, .. } => format!("key `{field}` is missing"),
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("key `{key}` is there more than once")
        }
        Error::Eof { .. } => format!("the header is empty: {}", missing_mode()),
        Error::Unexpected {
            expected: "mapping start",
            ..
        } => "keys and values were expected here, such as `mode: all`".to_owned(),
        Error::MultipleDocuments { .. } => "nothing may follow `...` in the header".to_owned(),
        Error::InvalidScalar { ty, .. } => format!("{} was expected here", kind(ty)),
        Error::InvalidBooleanStrict { .. } => "`true` or `false` was expected here".to_owned(),
        Error::NullIntoString { .. } => "the value is missing".to_owned(),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => TOO_MUCH.to_owned(),
        Error::AliasError { error, .. } => sentence(error),
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

fn missing_mode() -> String {
    "key `mode` is missing; it says who may start the agent: `primary` people, `subagent` other \
     agents, `all` both"
        .to_owned()
}

/// Says what was probably meant, or everything that would have been understood.
fn instead(wrong: &str, known: &[&'static str]) -> String {
    let known = known.iter().copied().filter(|known| *known != REMOVED_KEY);
    match suggest::nearest(wrong, known.clone()) {
        Some("prompt") => "; the prompt is the text below the header".to_owned(),
        Some(name) => format!(", did you mean `{name}`?"),
        None => {
            let known: Vec<&str> = known.filter(|known| *known != "prompt").collect();
            format!(", known are {}", known.join(", "))
        }
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
    // The parser bounds its own stack, in words of its own.
    if text.starts_with("recursion ") {
        return TOO_MUCH.to_owned();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

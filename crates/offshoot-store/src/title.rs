//! The title of a session, as lists show it.

/// Returns the first line of a prompt, cut to what a list can show.
pub(crate) fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(80)
        .collect()
}

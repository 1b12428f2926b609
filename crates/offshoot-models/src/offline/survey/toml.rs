//! As much of TOML as manifests need: sections, keys, texts and lists of texts.
//!
//! Reads line by line and never fails; what it does not understand it skips. It
//! is no parser: dates, inline tables and escapes stay as they were written.

/// One `key = value` of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// `workspace.package`; empty before the first header.
    pub(super) section: String,
    pub(super) key: String,
    /// As it was written, comments taken off.
    pub(super) value: String,
}

/// Longest value that is put together from several lines, in bytes.
const LONGEST: usize = 64 * 1024;

/// Returns the entries of a document, in its order.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let mut found = Vec::new();
    let mut section = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = without_comment(line).trim();
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_matches(['[', ']']);
            section = header.trim().to_owned();
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let mut value = value.trim().to_owned();
        if let Some(quotes) = open_text(&value) {
            for line in lines.by_ref() {
                value.push('\n');
                value.push_str(line);
                if line.contains(quotes) || value.len() > LONGEST {
                    break;
                }
            }
        }
        let mut open = brackets(&value);
        while value.starts_with('[') && open > 0 && value.len() < LONGEST {
            let Some(line) = lines.next() else { break };
            let line = without_comment(line).trim();
            open += brackets(line);
            value.push(' ');
            value.push_str(line);
        }
        found.push(Entry {
            section: section.clone(),
            key: key.trim().trim_matches(['"', '\'']).to_owned(),
            value,
        });
    }
    found
}

/// Returns the text of a key in a section.
pub(super) fn text(entries: &[Entry], section: &str, key: &str) -> Option<String> {
    let entry = entries
        .iter()
        .find(|entry| entry.section == section && entry.key == key)?;
    let value = entry.value.trim();
    let quoted = ["\"\"\"", "'''", "\"", "'"].iter().find_map(|quotes| {
        let (text, _) = value.strip_prefix(quotes)?.split_once(quotes)?;
        Some(text.trim().to_owned())
    });
    quoted.filter(|text| !text.is_empty())
}

/// Returns the texts that stand in a value, such as a list's.
pub(super) fn texts(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = value;
    while let Some(at) = rest.find(['"', '\'']) {
        let (quote, behind) = rest.split_at(at).1.split_at(1);
        let Some((text, after)) = behind.split_once(quote) else {
            break;
        };
        found.push(text.to_owned());
        rest = after;
    }
    found
}

/// Returns the quotes of a text of several lines that is not closed yet.
fn open_text(value: &str) -> Option<&'static str> {
    ["\"\"\"", "'''"].into_iter().find(|quotes| {
        value
            .strip_prefix(quotes)
            .is_some_and(|rest| !rest.contains(quotes))
    })
}

/// Returns how many more brackets are opened than closed.
fn brackets(text: &str) -> i64 {
    let weigh = |character| match character {
        '[' => 1,
        ']' => -1,
        _ => 0,
    };
    text.chars().map(weigh).sum()
}

/// Takes a comment off, unless its mark stands in quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, character) in line.char_indices() {
        match quote {
            Some(open) if open == character => quote = None,
            Some(_) => {}
            None if character == '#' => return line.get(..at).unwrap_or(line),
            None if matches!(character, '"' | '\'') => quote = Some(character),
            None => {}
        }
    }
    line
}

#[cfg(test)]
mod tests;

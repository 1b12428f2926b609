//! Foreign text, made harmless for a report.
//!
//! File names, files and other agents' answers are data. Whatever goes through
//! here comes out as one line of bounded length, without control characters, that
//! opens nothing which it does not close.

/// Longest path that is shown, in characters.
const LONGEST_PATH: usize = 160;

/// Writes a path or a name as code.
pub(super) fn code(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unseen(character) || character == '\n' {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    let shown = capped(&shown, LONGEST_PATH);
    let ticks = longest_run(&shown, '`');
    if ticks == 0 {
        return format!("`{shown}`");
    }
    let fence = "`".repeat(ticks + 1);
    format!("{fence} {shown} {fence}")
}

/// Writes names as code, with commas between.
pub(super) fn codes<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(code).collect();
    names.join(", ")
}

/// Returns some words of a document as one line of plain prose.
pub(super) fn prose(text: &str, longest: usize) -> String {
    // Whatever is far behind the end is not worth reading, and could be made to take long.
    let head = capped(text, longest.saturating_mul(4));
    let text = without_tags(&without_links(&one_line(&head)));
    let text = text.replace("**", "").replace('<', "\\<");
    whole_code(capped(text.trim(), longest))
}

/// Returns a line of another agent's answer, with its code and emphasis.
pub(super) fn line(text: &str, longest: usize) -> String {
    let text = one_line(text).replace('<', "\\<");
    let text = text.trim_start_matches(['#', '>', '~', '|', ' ']);
    let text = if text.starts_with("```") {
        text.trim_start_matches('`')
    } else {
        text
    };
    whole_code(capped(text.trim(), longest))
}

/// Writes text as it is, between fences that it cannot close.
pub(super) fn block(text: &str) -> String {
    let clean: String = text
        .chars()
        .filter(|character| *character == '\n' || *character == '\t' || !is_unseen(*character))
        .collect();
    let fence = "`".repeat(longest_run(&clean, '`').max(2) + 1);
    format!("{fence}text\n{}\n{fence}", clean.trim_end())
}

/// Cuts a text after so many characters, and shows that it was.
pub(super) fn capped(text: &str, longest: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(longest) else {
        return text.to_owned();
    };
    let head = text.get(..end).unwrap_or_default();
    format!("{}…", head.trim_end())
}

/// Writes a number with its noun.
pub(super) fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        many => format!("{many} {noun}s"),
    }
}

fn one_line(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .filter(|character| !is_unseen(*character))
        .collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Control characters, and those that are not seen but change how others are.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Drops code marks when one of them would stay open.
fn whole_code(text: String) -> String {
    if closes_code(&text) && longest_run(&text, '`') < 3 {
        text
    } else {
        text.replace('`', "'")
    }
}

/// Tells whether every run of marks has another of its length behind it.
fn closes_code(text: &str) -> bool {
    let mut open = None;
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        let marks = rest.get(at..).unwrap_or_default();
        rest = marks.trim_start_matches('`');
        let run = marks.len() - rest.len();
        open = match open {
            None => Some(run),
            Some(length) if length == run => None,
            Some(length) => Some(length),
        };
    }
    open.is_none()
}

fn longest_run(text: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for character in text.chars() {
        run = if character == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Keeps the words of links and drops images.
fn without_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let (before, from) = rest.split_at(at);
        let Some((words, behind)) = link(from) else {
            out.push_str(before);
            out.push('[');
            rest = from.get(1..).unwrap_or_default();
            continue;
        };
        match before.strip_suffix('!') {
            Some(before) => out.push_str(before),
            None => {
                out.push_str(before);
                out.push_str(&without_links(words));
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Splits a link at the start of a text into its words and what is behind it.
fn link(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    let close = text.char_indices().find_map(|(at, character)| {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })?;
    let words = text.get(1..close)?;
    let behind = text.get(close + 1..)?;
    let end = match behind.chars().next()? {
        '(' => behind.find(')')?,
        '[' => behind.find(']')?,
        _ => return None,
    };
    Some((words, behind.get(end + 1..)?))
}

fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let is_tag = from
            .chars()
            .nth(1)
            .is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!'));
        match from.find('>').filter(|_| is_tag) {
            Some(end) => rest = from.get(end + 1..).unwrap_or_default(),
            None => {
                out.push('<');
                rest = from.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;

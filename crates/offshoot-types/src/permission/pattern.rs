//! Patterns of paths: what they match, and how specific they are.
//!
//! Only text: whether a path exists, and what it links to, is nobody's business
//! here. What stands for a folder is escaped, so that no name is a pattern.

/// Matches `*` and `?` inside one path segment and `**` across segments; `\` takes the next literally.
///
/// Iterative with one point of return per kind of star, so that no pattern is
/// worse than pattern times text.
pub(super) fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut segment_star: Option<(usize, usize)> = None;
    let mut deep_star: Option<(usize, usize)> = None;
    loop {
        if t == text.len() && p == pattern.len() {
            return true;
        }
        if pattern[p..].starts_with(b"**") {
            p += 2;
            deep_star = Some((p, t));
            segment_star = None;
            continue;
        }
        if pattern.get(p) == Some(&b'*') {
            p += 1;
            segment_star = Some((p, t));
            continue;
        }
        if let Some(&byte) = text.get(t)
            && let Some(width) = one(&pattern[p..], byte)
        {
            p += width;
            t += 1;
            continue;
        }
        // A star that matched too little takes one byte more: the inner one first.
        if let Some((after, at)) = segment_star
            && text.get(at).is_some_and(|&byte| byte != b'/')
        {
            segment_star = Some((after, at + 1));
            (p, t) = (after, at + 1);
        } else if let Some((after, at)) = deep_star
            && at < text.len()
        {
            segment_star = None;
            deep_star = Some((after, at + 1));
            (p, t) = (after, at + 1);
        } else {
            return false;
        }
    }
}

/// Matches one byte of text and returns how much of the pattern that took.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [b'\\', literal, ..] => (*literal == byte).then_some(2),
        [b'?', ..] => (byte != b'/').then_some(1),
        [literal, ..] => (*literal == byte).then_some(1),
        [] => None,
    }
}

/// Counts the bytes of text that a pattern begins with; what is escaped is text.
pub(super) fn literal(pattern: &[u8]) -> usize {
    let (mut count, mut rest) = (0, pattern);
    while let [first, ..] = rest {
        let width = match first {
            b'*' | b'?' => break,
            b'\\' => 2,
            _ => 1,
        };
        count += 1;
        rest = rest.get(width..).unwrap_or_default();
    }
    count
}

/// Returns the pattern of everything in a folder.
pub(super) fn inside(folder: &str) -> String {
    format!("{}/**", glob_escape(folder.trim_end_matches('/')))
}

/// Returns a folder without the slashes at its end; `/` stays.
pub(super) fn bare(folder: &str) -> &str {
    match folder.trim_end_matches('/') {
        "" => "/",
        bare => bare,
    }
}

pub(super) fn glob_escape(literal: &str) -> String {
    let mut escaped = String::with_capacity(literal.len());
    for c in literal.chars() {
        if matches!(c, '*' | '?' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

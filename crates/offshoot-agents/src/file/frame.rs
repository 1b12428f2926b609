//! Where the header of an agent file ends and its prompt begins.
//!
//! Knows lines and nothing of YAML. Files of Windows and those that begin with a
//! byte order mark are read as if they had neither: equal texts are equal prompts.

/// Most bytes of a header. A real one has some hundred; a schema may have some thousand.
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// What stands before and after a header.
const FENCE: &str = "---";

/// An agent file in its two parts.
pub(super) struct Frame<'a> {
    /// The header with the line that opens it, so that its lines are those of the file.
    pub(super) header: &'a str,
    /// The text below, without blank lines around it.
    pub(super) prompt: String,
    /// The line that closes the header.
    pub(super) end: usize,
}

/// Takes a file apart, or says at which line that fails and why.
pub(super) fn split(text: &str) -> Result<Frame<'_>, (usize, &'static str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != FENCE {
        return Err((1, "there is no header: the first line has to be `---`"));
    }
    let mut at = first.len();
    for (number, line) in lines.enumerate() {
        let end = at + line.len();
        if line.trim_end() == FENCE {
            return if at > MAX_HEADER_BYTES {
                Err((1, "the header is too long: it has at most 65536 bytes"))
            } else {
                Ok(Frame {
                    header: &text[..at],
                    prompt: text[end..].replace("\r\n", "\n").trim().to_owned(),
                    end: number + 2,
                })
            };
        }
        at = end;
    }
    Err((
        1,
        "the header is not closed: another line `---` has to end it",
    ))
}

/// Returns the line that follows these bytes, counted from 1.
pub(super) fn line_at(before: &[u8]) -> usize {
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

//! Text that others wrote, as a terminal may have it.
//!
//! It cannot move the cursor, and it shows what there is: nothing in it is unseen, takes more room
//! than is counted, or changes how the rest is read. What would is written out by its number.

use unicode_width::UnicodeWidthChar as _;

/// Most marks that a letter may have; more would reach into the lines around it.
const MOST_MARKS: usize = 4;

/// Most spaces in a row that are shown as they are: as many as indent a text.
const MOST_SPACES: usize = 16;

/// Escapes what could do something to a terminal, or let it show another text than there is.
pub fn harmless(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let (mut before, mut marked) = (None, 0);
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        let is_mark = is_mark(character);
        if character.is_control() {
            safe.extend(character.escape_debug());
        } else if is_selected(before, character, next)
            || is_join(before, character, next)
            || is_mark && marked < MOST_MARKS && is_marked(before, character)
            || !is_mark && !is_deceptive(character)
        {
            safe.push(character);
        } else {
            safe.extend(character.escape_unicode());
        }
        marked = if is_mark { marked + 1 } else { 0 };
        before = Some(character);
    }
    safe
}

/// Escapes what could do something to a terminal, but leaves lines and tabs as they are.
pub fn harmless_lines(text: &str) -> String {
    let keep = |character: char| matches!(character, '\n' | '\t');
    let mut safe = String::with_capacity(text.len());
    for piece in text.split_inclusive(keep) {
        let words = piece.trim_end_matches(keep);
        safe.push_str(&harmless(words));
        safe.push_str(&piece[words.len()..]);
    }
    safe
}

/// Returns a text in which one sees how many spaces there are, where they are more than a few: they could
/// move the rest to another row, or out of sight.
pub fn counted_spaces(text: &str) -> String {
    let mut counted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(' ') {
        let (words, behind) = rest.split_at(at);
        let after = behind.trim_start_matches(' ');
        let many = behind.len() - after.len();
        counted.push_str(words);
        if many > MOST_SPACES {
            counted.push_str(&format!("[{many} spaces]"));
        } else {
            counted.push_str(&behind[..many]);
        }
        rest = after;
    }
    counted + rest
}

/// Returns a text to be read, in which all spaces are alike: many languages have some of their own.
///
/// Not for what somebody is asked about: to a shell they are not alike.
pub fn plain_spaces(text: &str) -> String {
    let plain = |character: char| match character {
        '\u{3000}' => "  ".to_owned(),
        other if is_odd_space(other) => " ".to_owned(),
        other => other.to_string(),
    };
    if text.contains(is_odd_space) {
        text.chars().map(plain).collect()
    } else {
        text.to_owned()
    }
}

/// Returns the beginning of a text, on one line, by which it is told from others.
pub fn first_words(text: &str, most: usize) -> String {
    let mut first = String::new();
    // Of a prompt of a megabyte no more is looked at than could be shown.
    for word in text.split_whitespace() {
        if first.chars().count() > most {
            break;
        }
        if !first.is_empty() {
            first.push(' ');
        }
        first.extend(word.chars().take(most + 1));
    }
    let end = first.char_indices().nth(most).map(|(end, _)| end);
    match end {
        Some(end) => harmless(&format!("{}…", &first[..end])),
        None => harmless(&first),
    }
}

/// Tells whether a character looks like a space and is none to a shell.
fn is_odd_space(character: char) -> bool {
    let breaks = matches!(character, '\u{2028}' | '\u{2029}');
    character.is_whitespace() && !character.is_control() && !breaks && character != ' '
}

/// Tells whether a character joins its neighbours, or keeps them apart, and they can be.
fn is_join(before: Option<char>, character: char, next: Option<char>) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}') && is_joined(before) && is_joined(next)
}

/// Tells whether a character chooses the picture of the one before it, and that has one.
fn is_selected(before: Option<char>, character: char, next: Option<char>) -> bool {
    let Some(before) = before.filter(|_| character == '\u{fe0f}') else {
        return false;
    };
    let is_key = matches!(before, '0'..='9' | '#' | '*') && next == Some('\u{20e3}');
    is_key || is_pictograph(before)
}

/// Tells whether a character may be joined to its neighbour, or kept from it: a letter of a script
/// that is written so, a pictograph, or a mark on one. Between other letters a joiner only hides.
fn is_joined(character: Option<char>) -> bool {
    character.is_some_and(|character| {
        let joined = matches!(character,
            '\u{600}'..='\u{109f}'
            | '\u{1780}'..='\u{1cff}'
            | '\u{a800}'..='\u{abff}'
            | '\u{fb50}'..='\u{fdff}'
            | '\u{fe70}'..='\u{fefc}'
            | '\u{11000}'..='\u{11fff}');
        let joined = joined && !is_deceptive(character);
        joined || character == '\u{fe0f}' || is_pictograph(character)
    })
}

fn is_pictograph(character: char) -> bool {
    let is_one = matches!(character,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}');
    is_one && !is_deceptive(character)
}

/// Tells whether a character is put onto the one before it, and so has no room of its own.
fn is_mark(character: char) -> bool {
    !character.is_ascii() && character.width() == Some(0) && !is_deceptive(character)
}

/// Tells whether a character may have this mark: a letter, or one that is marked already.
fn is_marked(before: Option<char>, mark: char) -> bool {
    before.is_some_and(|before| {
        if is_syllable_end(mark) {
            // The parts of a syllable of Korean; anything else takes no part in one.
            return matches!(before, '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97c}' | '\u{ac00}'..='\u{d7fb}');
        }
        let is_key = before == '\u{fe0f}' && mark == '\u{20e3}';
        before.is_alphanumeric() || is_mark(before) || is_key || is_pictograph(before)
    })
}

fn is_syllable_end(character: char) -> bool {
    matches!(character, '\u{1161}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7fb}')
}

/// Tells whether a character has no shape of its own, or changes how others are seen.
///
/// Marks of direction show a command in another order than the shell reads it; what has no shape
/// hides in a name, or fills rows that nobody counts, until what matters has left the window. Who
/// is asked whether something may be done must see what it is.
fn is_deceptive(character: char) -> bool {
    let is_hidden = matches!(character,
        // What Unicode says may be left out (Default_Ignorable_Code_Point).
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}'
        // Ends of lines, a pattern of dots without a dot, notes between lines, and hieroglyphs'
        // marks of order.
        | '\u{2028}'..='\u{2029}'
        | '\u{2800}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{13430}'..='\u{1343f}');
    is_hidden || is_odd_space(character)
}

//! What a person says to a question, in one line.
//!
//! The number of a choice stands for its label; anything else is taken as it is,
//! because choices are only offers. Where several may be chosen, commas divide.

use offshoot_types::question::Question;

/// Reads an answer, or says why it is none.
pub(crate) fn read(question: &Question, text: &str) -> Result<Vec<String>, String> {
    let parts = if question.multi_select {
        divided(question, text)
    } else {
        vec![text]
    };
    let parts = parts.into_iter().map(str::trim);
    let said = parts.filter(|part| !part.is_empty());
    let said: Vec<String> = said
        .map(|part| meant(question, part))
        .collect::<Result<_, _>>()?;
    if said.is_empty() {
        Err("an answer needs words".to_owned())
    } else {
        Ok(said)
    }
}

/// Divides several answers at their commas, but for those of a label that is written out.
fn divided<'a>(question: &Question, text: &'a str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let ends = rest.match_indices(',').map(|(at, _)| at);
        let mut ends: Vec<usize> = ends.chain([rest.len()]).collect();
        let first = ends[0];
        ends.reverse();
        let is_label = |end: &usize| {
            let part = rest[..*end].trim();
            let mut labels = question.options.iter().map(|choice| &choice.label);
            labels.any(|label| label.eq_ignore_ascii_case(part))
        };
        let end = ends.into_iter().find(is_label).unwrap_or(first);
        parts.push(&rest[..end]);
        match rest.get(end + 1..) {
            Some(behind) => rest = behind,
            None => return parts,
        }
    }
}

fn meant(question: &Question, part: &str) -> Result<String, String> {
    let labels = || question.options.iter().map(|choice| &choice.label);
    if let Some(label) = labels().find(|label| label.eq_ignore_ascii_case(part)) {
        return Ok(label.clone());
    }
    match part.parse::<usize>() {
        Ok(number) if !question.options.is_empty() => {
            let chosen = number.checked_sub(1).and_then(|at| labels().nth(at));
            let many = question.options.len();
            chosen
                .cloned()
                .ok_or_else(|| format!("there is no choice {number}; there are 1 to {many}"))
        }
        Ok(_) | Err(_) => Ok(part.to_owned()),
    }
}

/// Returns the lines of a question: its words, then its choices by number.
pub(crate) fn lines(question: &Question) -> Vec<String> {
    let head = match &question.header {
        Some(header) => format!("{header}: {}", question.question),
        None => question.question.clone(),
    };
    let mut lines: Vec<String> = head.lines().map(str::to_owned).collect();
    if let (Some(last), true) = (lines.last_mut(), question.multi_select) {
        last.push_str(" (several)");
    }
    for (number, choice) in (1..).zip(&question.options) {
        let meaning = choice.description.as_deref();
        let meaning = meaning.map(|meaning| format!(" - {meaning}"));
        let meaning = meaning.unwrap_or_default();
        lines.push(format!("  {number}. {}{meaning}", choice.label));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use offshoot_types::question::Choice;

    fn question(multi_select: bool) -> Question {
        let choice = |label: &str| Choice {
            label: label.to_owned(),
            description: None,
        };
        Question {
            question: "Which?".to_owned(),
            header: Some("Colour".to_owned()),
            options: vec![choice("red"), choice("7"), choice("blue, dark")],
            multi_select,
        }
    }

    #[track_caller]
    fn check(multi_select: bool, text: &str, expected: &[&str]) {
        let said = read(&question(multi_select), text).unwrap_or_default();
        assert_eq!(said, expected, "{text:?}");
    }

    #[test]
    fn a_number_stands_for_its_choice_and_other_words_for_themselves() {
        check(false, " 1 ", &["red"]);
        check(false, "RED", &["red"]);
        check(false, "7", &["7"]);
        assert!(read(&question(false), "9").is_err());
        assert!(read(&question(false), "0").is_err());
        check(false, "green, I think", &["green, I think"]);
        check(false, "blue, dark", &["blue, dark"]);
        check(true, "1, green,,2", &["red", "green", "7"]);
        check(true, "red, Blue, dark,7", &["red", "blue, dark", "7"]);
        check(true, "blue, light", &["blue", "light"]);
        check(true, " , ", &[]);
        check(false, "  ", &[]);
    }

    #[test]
    fn choices_are_shown_by_number() {
        assert_eq!(
            lines(&question(false)),
            ["Colour: Which?", "  1. red", "  2. 7", "  3. blue, dark"]
        );
    }
}

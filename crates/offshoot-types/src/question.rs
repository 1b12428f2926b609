//! What an agent asks a person in words (TLS-10), and what an answer has to be like.
//!
//! Choices are offers: whoever answers may say something else. Nothing here waits
//! or stores; a question is part of an `Asked` entry, and its answer the outcome of
//! the call.

use serde::{Deserialize, Serialize};

/// Most questions of one call.
pub const MOST_QUESTIONS: usize = 10;

/// Most choices of one question.
pub const MOST_CHOICES: usize = 50;

/// One question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The words.
    pub question: String,
    /// A word or two that say what it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// What is offered as an answer; may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// Whether an answer may be several things.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multi_select: bool,
}

/// Something that is offered as an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// What the answer says if it is chosen.
    pub label: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Says what is wrong with questions that nobody could answer.
pub fn check(questions: &[Question]) -> Result<(), String> {
    let blank = |text: &str| text.trim().is_empty();
    if questions.is_empty() || questions.len() > MOST_QUESTIONS {
        return Err(format!("ask 1 to {MOST_QUESTIONS} questions at a time"));
    }
    for question in questions {
        if blank(&question.question) {
            return Err("a question needs words".to_owned());
        }
        if question.options.len() > MOST_CHOICES {
            return Err(format!("a question has at most {MOST_CHOICES} options"));
        }
        if question.options.iter().any(|choice| blank(&choice.label)) {
            return Err("an option needs a label".to_owned());
        }
    }
    Ok(())
}

/// Says what is wrong with answers that do not fit their questions.
pub fn fit(questions: &[Question], answers: &[Vec<String>]) -> Result<(), String> {
    let (asked, said) = (questions.len(), answers.len());
    if asked != said {
        let plural = if asked == 1 { "" } else { "s" };
        return Err(format!(
            "there are {asked} question{plural} and {said} answers"
        ));
    }
    for (question, answer) in questions.iter().zip(answers) {
        let words = &question.question;
        if answer.is_empty() || answer.iter().any(|said| said.trim().is_empty()) {
            return Err(format!("{words:?} has no answer"));
        }
        if answer.len() > 1 && !question.multi_select {
            return Err(format!("{words:?} takes one answer, not {}", answer.len()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(multi_select: bool) -> Question {
        Question {
            question: "Which?".to_owned(),
            header: None,
            options: Vec::new(),
            multi_select,
        }
    }

    #[test]
    fn tls_10_answers_are_one_list_for_each_question() {
        let said = |answers: &[&[&str]]| -> Vec<Vec<String>> {
            let own = |answer: &&[&str]| answer.iter().map(|said| (*said).to_owned()).collect();
            answers.iter().map(own).collect()
        };
        let both = [question(false), question(true)];
        assert_eq!(fit(&both, &said(&[&["a"], &["b", "c"]])), Ok(()));
        assert!(fit(&both, &said(&[&["a"]])).is_err());
        assert!(fit(&both, &said(&[&["a", "b"], &["c"]])).is_err());
        assert!(fit(&both, &said(&[&["a"], &[]])).is_err());
        assert!(fit(&both, &said(&[&[" "], &["c"]])).is_err());
    }

    #[test]
    fn tls_10_what_nobody_could_answer_is_refused() {
        assert!(check(&[]).is_err());
        assert!(check(&[question(false)]).is_ok());
        assert!(check(&vec![question(false); MOST_QUESTIONS + 1]).is_err());
        let mut blank = question(false);
        blank.options.push(Choice {
            label: String::new(),
            description: None,
        });
        assert!(check(&[blank]).is_err());
    }
}

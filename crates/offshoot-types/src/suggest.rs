//! What somebody may have meant.
//!
//! The nearest of a few words by the number of letters that differ, if it is
//! near enough to be worth saying. Whoever reads what people write (settings,
//! scripts, agent files) guesses alike.

/// Returns the word that is nearest to what was written; `None` if none is near.
pub fn nearest<'a>(written: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = words
        .into_iter()
        .map(|word| (distance(&written.to_lowercase(), word), word))
        .min_by_key(|(far, _)| *far);
    // A third of the letters may differ: `modle` is `model`, `cat` is not `dog`.
    near.filter(|(far, word)| *far <= word.chars().count().div_ceil(3))
        .map(|(_, word)| word)
}

/// Counts the letters to insert, delete, replace or swap with their neighbour.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    // Words of ours are short; of a long one only its length matters.
    if from.len() > 64 {
        return from.len();
    }
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for (row, letter) in from.iter().enumerate() {
        let above = &rows[row];
        let mut next = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let replaced = above[column] + usize::from(letter != other);
            let mut least = replaced.min(above[column + 1] + 1).min(next[column] + 1);
            let swapped =
                row > 0 && column > 0 && *letter == to[column - 1] && from[row - 1] == *other;
            if swapped {
                least = least.min(rows[row - 1][column - 1] + 1);
            }
            next.push(least);
        }
        rows.push(next);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, meant: Option<&str>) {
        let words = ["model", "agent", "data_dir", "log.level", "limits.depth"];
        assert_eq!(nearest(written, words), meant, "{written}");
    }

    #[test]
    fn a_slip_of_the_finger_is_known() {
        check("modle", Some("model"));
        check("Model", Some("model"));
        check("agnet", Some("agent"));
        check("data-dir", Some("data_dir"));
        check("log_level", Some("log.level"));
        check("limits.dept", Some("limits.depth"));
    }

    #[test]
    fn what_is_far_from_everything_is_not_guessed_at() {
        check("theme", None);
        check("", None);
        check(&"model".repeat(1000), None);
    }

    #[test]
    fn distances_are_those_of_letters_not_bytes() {
        for (from, to, expected) in [
            ("", "", 0),
            ("ab", "ba", 1),
            ("abc", "", 3),
            ("größe", "grösse", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
            assert_eq!(distance(to, from), expected, "{to} {from}");
        }
    }
}

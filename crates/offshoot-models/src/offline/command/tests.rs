//! How commands are said to have ended.

use super::{ended, refusal};

#[test]
fn the_notes_below_the_output_tell_how_it_ended() {
    for (output, expected) in [
        (
            "[exit code 1]",
            "It was run and failed, by the last lines of its output: exit code 1",
        ),
        (
            "a\n[exit code 101]",
            "It was run and failed, by the last lines of its output: exit code 101",
        ),
        (
            "[exit code 2]\n[1 process still runs; it ends with this agent: sleep 1]",
            "It was run and failed, by the last lines of its output: exit code 2",
        ),
        (
            "[killed by signal 9]",
            "It was run and ended, by the last lines of its output: killed by signal 9",
        ),
        (
            "[exit code 1]\nsaid by itself",
            "It was run and ended with exit code 0",
        ),
        ("[no output]", "It was run and ended with exit code 0"),
        ("", "It was run and ended with exit code 0"),
    ] {
        assert_eq!(ended(output), expected, "{output}");
    }
}

#[test]
fn what_was_not_allowed_is_told_from_what_failed() {
    let asked = "error: bash needs permission and nobody is here to give it";
    assert!(refusal(asked).is_some_and(|text| text.contains("--yes")));
    for by_a_person in [
        "error: bash was denied by the user",
        "error: bash was denied by the user: the user's rules say so",
    ] {
        let text = refusal(by_a_person).unwrap();
        assert!(text.contains("asked about and denied"), "{by_a_person}");
    }
    for by_a_rule in [
        "error: bash was denied by the user's rules",
        "error: bash was denied by the workspace's rules",
        "error: bash was denied by hook guard: no",
    ] {
        let text = refusal(by_a_rule).unwrap();
        assert!(text.contains("a rule or a hook denies it"), "{by_a_rule}");
    }
    let failed =
        "error: the command timed out after 1 s and was ended; output so far:\nneeds permission";
    assert_eq!(refusal(failed), None);
}

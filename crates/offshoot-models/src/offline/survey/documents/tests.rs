//! What texts of rights are called.

use super::licence_name;

#[test]
fn rights_are_known_by_their_words_or_quoted() {
    for (text, expected) in [
        ("\n   Apache License\n  Version 2.0", "Apache License"),
        ("MIT License\n\nCopyright", "MIT License"),
        ("GNU LESSER GENERAL PUBLIC LICENSE", "GNU LGPL"),
        (
            "\n\nThe npm `application\n",
            "begins \"The npm 'application\"",
        ),
        ("", "empty"),
    ] {
        assert_eq!(licence_name(text), expected);
    }
}

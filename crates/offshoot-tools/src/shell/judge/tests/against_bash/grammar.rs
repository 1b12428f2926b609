//! Makes commands as people with bad intentions write them: valid in most places.
//!
//! A text of random pieces is seldom bash, and what is not bash is not allowed. Here
//! templates are filled into each other, so that quotes, expansions, backquotes,
//! patterns and here-documents stand in each other as bash lets them, with pieces
//! at their edges on which bash and a grammar may disagree. The same number makes
//! the same command.

/// What is filled into a hole and has none itself.
const PIECES: &[&str] = &[
    "a", "a", "x", "1", "$x", "$#", "*", "?", "[", "]", "{", "}", "{}", "{a,b}", "#", " #", "%",
    "-", ":", "!", "=", "~", "\\", "\\\\", "\\'", "\\\"", "\\\n", "\\\n#", "\\\n#", "$\\\n", "$",
    "'", "\"", "`", " ", "\n", "|", "&", ";", "(", ")", "<", ">", "\u{e9}",
];

/// What may end the thing that a denied command stands in, or mislead about its end.
const ENDS: &[&str] = &[
    "", "", "", "", "", "", "}", "{}", "{a,b}", ")", "'", "\"", "`", "]", "\nEOF\n",
];

/// What may not run, or be written to.
const DENIED: &[&str] = &[
    "$(rm x)",
    "$(rm x)",
    "$\\\n(rm x)",
    "`rm x`",
    "; rm x",
    "; rm x",
    "\nrm x",
    "&& rm x",
    "| rm x",
    "|| rm -f x",
    "> f",
    ">f",
];

/// What makes the rest of the text harmless.
const RESTS: &[&str] = &["", "", " #", "; echo ", "\n"];

/// Words and parts of them; a `@` is a hole.
const WORDS: &[&str] = &[
    "\"@\"",
    "\"@\"",
    "'@'",
    "'@'",
    "$'@'",
    "${x:-@}",
    "\"${x:-@}\"",
    "\"${x:-'@'}\"",
    "${x+@}",
    "${x?@}",
    "${x#@}",
    "${x%@}",
    "\"${x%@}\"",
    "${x^@}",
    "${x/@/@}",
    "\"${x/@/@}\"",
    "${x//@}",
    "`echo @`",
    "`echo @ # `",
    "`echo '`@`'`",
    "$(echo @)",
    "$(echo a # @\n)",
    "$(cat <<EOF\n@\nEOF\n)",
    "$(( 1@ ))",
    "<(echo @)",
];

/// Whole commands.
const COMMANDS: &[&str] = &[
    "echo @",
    "echo @",
    "echo \"@\"",
    "echo @ @",
    "echo @#@",
    "echo @ # @",
    "echo @ | cat @",
    "echo @ >/dev/null @",
    "cat <<< @",
    "cat <<EOF\n@\nEOF",
    "cat <<'EOF'\n@\nEOF",
    "cat <<-EOF\n@\n\tEOF",
    "cat <<EOF | cat\n@\nEOF\necho @",
    "cat <<EOF && echo @\n@\nEOF",
    "[ @ ]",
    "[ a @ ]",
    "[ a @ ]",
    "[ -n @ ]",
    "[ @ = @ ]",
    "[[ x == @ ]]",
    "[[ @ =~ @ ]]",
    "[[ -f @ && @ ]]",
    "case x in @) echo;; esac",
    "case @ in a|@) echo @;; *) ls;; esac",
    "x=@; echo @",
    "for f in @; do echo @; done",
    "if echo @; then echo @; fi",
    "{ echo @; }",
    "(echo @)",
    "! echo @",
    "time echo @",
];

/// Between two commands.
const JOINTS: &[&str] = &[";", "\n", " && ", " | ", " & ", " "];

/// Makes the command of a number.
pub(super) fn command(number: u64) -> String {
    let mut dice = Dice(number);
    loop {
        let mut text = dice.fill(COMMANDS, 3);
        if dice.below(4) == 0 {
            text.push_str(dice.pick(JOINTS));
            text.push_str(&dice.fill(COMMANDS, 2));
        }
        // Without it there is nothing to find, and what is long is seldom allowed.
        if ["rm x", "rm -f x", "> f", ">f"]
            .iter()
            .any(|act| text.contains(act))
            && text.len() < 100
        {
            return text;
        }
    }
}

/// A source of choices that are always the same.
struct Dice(u64);

impl Dice {
    /// Returns a number below another.
    fn below(&mut self, end: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let end = u64::try_from(end).unwrap();
        usize::try_from((z ^ (z >> 31)) % end).unwrap()
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }

    /// Fills the holes of one of some templates.
    fn fill(&mut self, templates: &[&'static str], depth: usize) -> String {
        let mut parts = self.pick(templates).split('@');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            // Most often one: each more makes it less likely that all of it is valid.
            for _ in 0..=[0, 0, 0, 1, 2][self.below(5)] {
                text.push_str(&self.piece(depth));
            }
            text.push_str(part);
        }
        text
    }

    fn piece(&mut self, depth: usize) -> String {
        match self.below(10) {
            0..=2 => [ENDS, DENIED, RESTS].map(|part| self.pick(part)).concat(),
            3..=6 if depth > 0 => self.fill(WORDS, depth - 1),
            _ => self.pick(PIECES).to_owned(),
        }
    }
}

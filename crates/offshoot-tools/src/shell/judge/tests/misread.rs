//! Where a grammar and bash read the same text differently, bash runs what it reads.
//!
//! Each row runs `rm` in bash, or touches a file, and was once taken for a command
//! that only does what is allowed.

use offshoot_types::permission::Action;

use super::{check_not_allowed, check_opaque};

/// Lines that are joined join words, and dollars with brackets.
const JOINED: &[&str] = &[
    "git status\\\n# ; rm x",
    "git status\\\n#\nrm x",
    "git status\\\n#&& rm x",
    "git status\\\n# > f",
    "echo a\\\n#; rm x",
    "echo \"a\"\\\n# ; rm x",
    "echo $(ls)\\\n#; rm x",
    "ls -l\\\n\\\n#c && rm x",
    "\\\n# ; rm x",
    "echo \"$\\\n(rm x)\"",
    "echo \"$\\\n{x:-$(rm x)}\"",
    "echo \"a\\\nb\"",
    "echo $\\\n(rm x)",
    "echo $\"$\\\n(rm x)\"",
    "cat <<EOF\n$\\\n(rm x)\nEOF",
    "cat <<EOF\n${x:-\"$\\\n(rm x)\"}\nEOF",
    "ls &\\\n& rm x",
    "ls |\\\n| rm x",
    "echo {PATH}\\\n>/dev/null; ls",
    "[[ -v\\\n 'a[$(rm x)]' ]]",
    "[[ 1 -eq\\\n 'a[$(rm x)]' ]]",
];

#[test]
fn lines_that_join_two_things_are_not_read_as_two() {
    check_opaque(JOINED);
}

/// Between double quotes a single quote is text.
const QUOTES_IN_QUOTES: &[&str] = &[
    "echo \"${x:-'$(rm x)'}\"",
    "echo \"${x:-'`rm x`'}\"",
    "echo \"${x:+'$(rm x)'}\"",
    "echo \"${x:-$'$(rm x)'}\"",
    "echo \"${x:-a'$(rm x)'}\"",
    "echo \"${x:-${y:-'$(rm x)'}}\"",
    "x=a; echo \"${x/a/'$(rm x)'}\"",
    "x=a; echo \"${x#'$(rm x)'}\"",
    "cat <<EOF\n${x:-'$(rm x)'}\nEOF",
    "cat <<EOF\n\"${x:-'$(rm x)'}\"\nEOF",
    "cat <<< \"${x:-'$(rm x)'}\"",
    "git diff \"${x:-'$(rm x)'}\"",
];

#[test]
fn single_quotes_between_double_quotes_hide_nothing() {
    check_opaque(QUOTES_IN_QUOTES);
}

/// Bash and the grammar find the end of `${…}` in different places.
const BRACES: &[&str] = &[
    "echo ${x#{}; rm x; echo }",
    "echo ${x##{}; rm x; echo }",
    "echo ${x%{}; rm x; echo }",
    "echo ${x%%{}; rm x; echo }",
    "echo ${x^{}; rm x; echo }",
    "echo ${x,{}; rm x; echo }",
    "echo ${x/{/a}; rm x; echo /}",
    "echo ${x//{/}; rm x; echo }",
    "echo ${x:-{}; rm x; echo }",
    "echo ${x/{a,b}\nrm x\n/x}",
    "echo ${x/(/b}; rm x; echo )}",
    "echo ${x:- #}\nrm x\n}",
    "echo ${x:-<(rm x)}",
    "echo \"${x#{}\"; rm x; echo \"}\"",
    "echo \"${x%{}\" ; rm x ; echo \"}\"",
    "x=${x#{}; rm x; echo }",
    "grep x ${x%%{}f; rm x # }",
    "cat <<EOF\n${x#{}\nEOF\nrm x\n: }\nEOF",
];

#[test]
fn a_brace_in_a_pattern_does_not_move_its_end() {
    check_not_allowed(BRACES);
}

/// Bash ends backquotes at the next one, wherever that stands.
const BACKQUOTES: &[&str] = &[
    "echo `echo '` ; rm x; echo `'`",
    "echo `echo \"` ; rm x; echo `\"`",
    "echo `ls # x` ; rm x # `\n`",
    "echo \"`echo '` ; rm x; echo `'`\"",
    "git status `ls # x` ; rm x # `\n`",
    "echo `echo \\$(rm x)`",
    "echo `echo $(ls)`",
    "echo `ls; ls`",
    "echo `ls > f`",
];

#[test]
fn backquotes_are_seen_through_only_around_words() {
    check_not_allowed(BACKQUOTES);
}

/// A single bracket is a program: what would be operators of an expression are the shell's.
const BRACKETS: &[&str] = &[
    "[ a > /x/f ]",
    "[ a >> f ]",
    "[ $x > f ]",
    "[ \"$x\" > \"f\" ] && echo",
    "if [ \"$x\" > f ]; then ls; fi",
    "[ a < /etc/passwd ]",
    "[ a || rm -f x ]",
    "[ a && rm -f x ]",
    "[ a | rm -f x ]",
    "[ a & rm ]",
    "[ a & rm & ]",
    "[ ( rm ) ]",
    "[ a -a ( rm ) ]",
    "[ a = \nrm ]",
    "[ -f \nrm ]",
    "[ ! \nrm ]",
    "[ \nrm ]",
    "[[ a = \nrm ]]",
    "[[ a == *( ]] ; rm x ; [[ b == ) ]]",
    "[[ a =~ ( ]] ; rm x ; [[ b =~ ) ]]",
    "[[ a =~ [ ]] ; rm x ; [[ b =~ ] ]]",
];

#[test]
fn a_bracket_is_read_as_a_command() {
    check_opaque(BRACKETS);
}

/// The text of a here-document begins behind the line of its operator, which may be joined.
const DOCUMENTS: &[&str] = &[
    "cat <<EOF \\\nEOF\nrm x\nEOF",
    "cat <<'EOF' \\\n $(rm x)\nx\nEOF",
    "cat <<EOF \"a\nEOF\n$(rm x)\"\nEOF",
];

#[test]
fn a_here_document_begins_where_bash_has_it() {
    check_opaque(DOCUMENTS);
}

#[test]
fn a_command_that_is_denied_is_found_in_what_is_misread() {
    let denied = [
        "echo \"${x:-\"$(rm x)\"}\"",
        "[ a > $(rm x) ]",
        "[[ $(rm x) -eq 1 ]]",
        "[[ a &&\n $(rm x) ]]",
        "echo `rm x; ls`",
    ];
    super::check(&denied, Action::Deny);
}

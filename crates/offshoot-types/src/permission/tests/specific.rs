//! Which rule of a layer is the most specific, where its pattern has stars.

use super::*;

#[test]
fn a_deny_of_a_folder_is_as_specific_as_a_beginning() {
    let decide =
        |rules: &str, target: &str, expected| check(rules, "", "fs.write", target, expected);
    let write = |rules: &str| {
        let named = rules.split(' ').map(|rule| format!("fs.write:{rule}"));
        named.collect::<Vec<_>>().join(" ")
    };
    for above in ["/w/*", "/*"] {
        for folder in ["/w/docs/**", "/w/docs/***", "/w/docs/**/*"] {
            let rules = write(&format!("{above}=allow {folder}=deny"));
            decide(&rules, "/w/docs/a/b", Action::Deny);
            decide(&rules, "/w/src/a", Action::Allow);
            let rules = write(&format!("{above}=allow {folder}=deny /w/docs/a/**=allow"));
            decide(&rules, "/w/docs/a/b", Action::Allow);
            decide(&rules, "/w/docs/b", Action::Deny);
        }
    }
    decide("*:/w/*=allow *:/w/docs/**=deny", "/w/docs/a", Action::Deny);
    decide(
        "fs.write:/w/*=allow *:/w/docs/**=ask",
        "/w/docs/a",
        Action::Ask,
    );
    // Among globs it is one of them, and what a beginning denies it does not allow.
    for (rules, expected) in [
        ("/w/**=allow /w/**/x=deny", Action::Deny),
        ("/w/**=deny /w/docs/**/x=allow", Action::Allow),
        ("/w/**=deny /w/docs/**=allow", Action::Allow),
        ("/w/*=deny /w/docs/**=allow", Action::Deny),
        ("/w/**=allow /w/**/x=deny /*=deny", Action::Deny),
        ("**=deny /w/docs/**/x=allow", Action::Allow),
    ] {
        decide(&write(rules), "/w/docs/x", expected);
    }
}

#[test]
fn a_text_that_is_too_long_for_stars_asks_where_it_may_be_forbidden() {
    let long = format!("python a {} b c", "x".repeat(15_000));
    let said = |rule: &str, target: &str| {
        let rules = format!("shell.opaque=allow shell.opaque:{rule}");
        said_of(&rules, "shell.opaque", target)
    };
    assert_eq!(said("*a*b*c=deny", &long), Action::Ask);
    assert_eq!(said("*a*qqq*c=deny", &long), Action::Allow);
    assert_eq!(said("**a*c=deny", &long), Action::Deny);
    assert_eq!(said("*a*b*c=deny", "a b c"), Action::Deny);
    assert_eq!(said("python*=deny", &long), Action::Deny);
}

fn said_of(rules: &str, capability: &str, target: &str) -> Action {
    let grant = Layer {
        standing: Standing::Grants,
        ..layer(rules)
    };
    let need = Need::new(capability, target);
    Permissions::empty()
        .narrow(grant)
        .decide("tool", &need)
        .action
}

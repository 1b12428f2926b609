//! Commands as others would write them, held against what is forbidden and what is allowed.

use offshoot_types::permission::Action;

use super::{decide_with, shown};

#[track_caller]
fn check(allow: &[&str], deny: &[&str], command: &str, expected: Action) {
    fn runs<'a>(patterns: &[&'a str]) -> Vec<(&'static str, &'a str)> {
        patterns
            .iter()
            .map(|pattern| ("shell.run", *pattern))
            .collect()
    }
    let said = decide_with(&runs(allow), &runs(deny), command);
    let shown = shown(command);
    assert_eq!(said, expected, "{allow:?} {deny:?}: {command} {shown:?}");
}

#[test]
fn behind_a_cd_an_allowed_path_is_another_one() {
    for command in [
        "cd /home/me && rm -rf target",
        "cd .. && rm -rf target",
        "cd $x && rm -rf target",
        "cd sub && rm -rf target",
        "cd sub; rm -rf target",
        "cd / && cat docs/a",
        "cd sub && cat docs/a",
        "cd sub && ./scripts/a",
        "cd sub && pytest tests/a",
        "cd sub && python x.py",
        "git -C sub diff docs/a",
        "cd link && cat ../docs/a",
    ] {
        let allowed = [
            "cd *",
            "rm -rf target",
            "cat docs/*",
            "./scripts/*",
            "pytest tests/*",
            "python x.py",
            "git diff docs/*",
        ];
        check(&allowed, &[], command, Action::Ask);
    }
    for (allowed, command) in [
        ("rm -rf target", "rm -rf target"),
        ("rm -rf target", "cd sub && cd .. && rm -rf target"),
        ("rm -rf sub/target", "cd sub && rm -rf target"),
        ("cat docs/*", "cd docs && cat a"),
        ("cat *", "cd /x && cat a"),
        ("cat *", "cd $x && cat a"),
        ("head -n 5 *", "cd sub && head -n 5 f"),
        ("chmod +x *", "cd sub && chmod +x f"),
        ("cargo test *", "cd sub && cargo test a"),
        ("npm run build", "cd sub && npm run build"),
        ("git status", "git -C sub status"),
        ("git status", "cd sub && git status"),
        ("echo hello", "cd sub && echo hello"),
    ] {
        check(&["cd *", allowed], &[], command, Action::Allow);
    }
}

#[test]
fn a_forbidden_path_is_forbidden_from_wherever_it_is_named() {
    for (denied, command) in [
        ("cat /.ssh/*", "cat ../.ssh/id_rsa"),
        ("cat /.ssh/*", "cd /.ssh && cat id_rsa"),
        ("cat secrets/*", "cat /w/secrets/x"),
        ("cat secrets/*", "cat a/../secrets/x"),
        ("cat secrets/*", "cd secrets && cat x"),
        ("cat secrets/*", "cd sub && cat ../secrets/x"),
        ("rm -rf /w/data *", "rm -rf data"),
        ("rm -rf /w/data *", "cd data/.. && rm -rf ./data"),
        ("rm x", "cd sub && rm x"),
        ("git diff secrets/*", "git diff /w/secrets/x"),
        ("git diff sub/secrets/*", "git -C sub diff secrets/x"),
        ("./deploy.sh *", "bash -x deploy.sh"),
    ] {
        check(&["*"], &[denied], command, Action::Deny);
    }
    check(&["*"], &["cat /.ssh/*"], "cd $x && cat id_rsa", Action::Ask);
    check(&["*"], &["cat secrets/*"], "cat src/a", Action::Allow);
    // What is excepted stays that.
    for (allowed, denied, command) in [
        ("rm x *", "rm", "rm x y"),
        ("rm -rf target", "rm *", "rm -rf target"),
        ("rm sub/*", "rm *", "cd sub && rm x"),
        ("cat secrets/public", "cat secrets/*", "cat secrets/public"),
        ("git push origin a/b", "git push *", "git push origin a/b"),
    ] {
        check(&["cd *", allowed], &[denied], command, Action::Allow);
    }
}

#[test]
fn options_and_targets_hide_no_command_that_is_forbidden() {
    for (denied, command) in [
        ("make deploy *", "make -s deploy"),
        ("make deploy *", "make -j4 deploy"),
        ("make deploy *", "make V=1 deploy"),
        ("make deploy *", "make all deploy"),
        ("make deploy", "make -C sub deploy"),
        ("make deploy", "make ./a b deploy c"),
        ("mvn deploy *", "mvn -q deploy"),
        ("./gradlew publish *", "./gradlew -q publish"),
        ("docker compose down *", "docker compose -f c.yml down -v"),
        ("docker-compose down *", "docker compose down -v"),
        ("docker compose down *", "docker-compose down -v"),
        ("pip install *", "pip -q install x"),
        ("pip install *", "pip3 install x"),
        ("terraform destroy *", "terraform -chdir=. destroy"),
        ("systemctl stop *", "systemctl --user stop x"),
        ("npm run deploy *", "npm run --silent deploy"),
        ("npm install *", "npm -g install x"),
        ("sed *", "gsed -n 1p f"),
        ("tar *", "bsdtar tf a"),
    ] {
        check(&["*"], &[denied], command, Action::Deny);
    }
}

#[test]
fn other_names_hide_no_command_that_is_forbidden() {
    for (denied, command) in [
        ("cargo build *", "cargo b"),
        ("cargo run *", "cargo -q r"),
        ("cargo test *", "cargo t x"),
        ("cargo remove *", "cargo rm x"),
        ("npm install *", "npm i x"),
        ("npm install *", "npm add x"),
        ("npm i *", "npm install x"),
        ("npm test *", "npm t"),
        ("npm test *", "npm run test"),
        ("npm run test *", "npm test"),
        ("npm uninstall *", "npm rm x"),
        ("npm run deploy *", "npm run-script deploy"),
        ("yarn deploy *", "yarn run deploy"),
        ("yarn run deploy *", "yarn deploy"),
        ("docker rm *", "docker container rm x"),
        ("docker push *", "docker image push x"),
    ] {
        check(&["*"], &[denied], command, Action::Deny);
    }
    // What is excepted stays that.
    for (allowed, denied, command) in [
        ("npm i *", "npm *", "npm i x"),
        ("npm test", "npm *", "npm test"),
        ("make test", "make *", "make test"),
        ("yarn lint", "yarn *", "yarn lint"),
    ] {
        check(&[allowed], &[denied], command, Action::Allow);
    }
    check(&["npm install *"], &[], "npm -g install x", Action::Ask);
}

//! Programs of which some commands run others.

use super::{check_opaque, check_seen_through, shown};

const KUBECTL: &[&str] = &[
    "kubectl get pods --kubeconfig=/x",
    "kubectl get pods --kubeconfig /x",
    "kubectl --kubeconfig /x get pods",
    "kubectl get -s http://x pods",
    "kubectl get -Ashttp://x pods",
    "kubectl get pods --server=http://x",
    "kubectl get pods --cache-dir=/x",
    "kubectl get pods --profile=cpu --profile-output=f",
    "kubectl get $x",
    "kubectl exec a -- ls",
    "kubectl -n a exec b -- ls",
    "kubectl cp a:b c",
    "kubectl config set-credentials a --exec-command=ls",
    "kubectl edit a",
    "kubectl x",
];

const PLAIN_KUBECTL: &[&str] = &[
    "kubectl get pods -A -o yaml",
    "kubectl get pods -oyaml -nkube-system",
    "kubectl -n kube-system get pods",
    "kubectl --context a describe pod \"a$x\"",
    "kubectl logs -f a -c b --tail=5",
    "kubectl apply -f k/",
    "kubectl --context=x get pods",
    "kubectl --namespace=x -v 3 get pods",
];

#[test]
fn a_cluster_is_the_one_that_is_chosen_and_nothing_runs_in_it() {
    check_opaque(KUBECTL);
    check_seen_through(PLAIN_KUBECTL);
}

#[test]
fn a_tool_chain_has_a_name_and_is_no_folder() {
    check_opaque(&[
        "cargo +/tmp/evil build",
        "cargo +../evil build",
        "cargo +.. build",
        "rustc +/tmp/evil a.rs",
        "/usr/bin/rustfmt +./evil a.rs",
    ]);
    check_seen_through(&["cargo +nightly-2024-01-01 build", "rustc +1.80.0 a.rs"]);
}

#[test]
fn rustup_is_seen_through_to_what_it_runs() {
    let expected = ["shell.run rm x", "shell.wrapper rustup run nightly rm x"];
    assert_eq!(shown("rustup run nightly rm x"), expected);
    check_opaque(&[
        "rustup run /tmp/evil ls",
        "rustup run --install nightly ls",
        "rustup run nightly sh -c ls",
        "rustup toolchain link a /x",
        "rustup override set /x",
        "rustup default $x",
    ]);
    check_seen_through(&[
        "rustup show",
        "rustup which cargo",
        "rustup --version",
        "rustup run 1.80 cargo test",
        "rustup target add wasm32-unknown-unknown",
        "rustup toolchain list",
    ]);
}

const RUNNERS: &[&str] = &[
    "uv run pytest",
    "uv --directory /x run a",
    "poetry run ls",
    "pipenv run ls",
    "pdm run ls",
    "hatch run ls",
    "bundle exec ls",
    "docker run a ls",
    "docker exec a ls",
    "docker compose exec a ls",
    "docker compose -f c.yml run web rm -rf /",
    "docker compose --profile x exec web ls",
    "docker compose --unknown run web ls",
    "docker compose -f $x up",
    "docker-compose -f c.yml run web ls",
    "docker-compose -p x exec web ls",
    "docker create --name x a ls",
    "docker container create a ls",
    "docker service create a ls",
    "podman create a ls",
    "podman play kube f",
    "conda run ls",
    "install -s --strip-program=./x a b",
    "prove --exec ./x t",
    "prove -e ./x t",
    "groff -U f",
    "nroff -U f",
    "ghc -e x",
    "netcat -e ls",
    "svn diff --diff-cmd ./x",
    "pandoc --filter ./x f",
    "pandoc -t x.lua f",
    "tcpdump -z ./x -w f",
    "docker container run a",
    "docker -H tcp://x ps",
    "podman run a ls",
    "podman exec a ls",
    "just -f /x a",
    "just --command ls",
    "just ../x/a",
    "nix-shell --run ls",
    "nix run x",
    "nix develop -c ls",
    "watchexec ls",
    "nodemon a.js",
    "pee ls cat",
    "mispipe ls cat",
    "busybox sh -c ls",
    "busybox hush -c ls",
    "busybox ash -c ls",
    "systemd-cat ls",
    "systemd-run ls",
    "tcc -run a.c",
    "pylint --init-hook='x' a",
    "hg --config x=y status",
    "hg -R /x status",
    "rpm --eval '%(ls)'",
    "rpm -E '%(ls)'",
    "runhaskell -e x",
    "ip netns exec a ls",
    "ip net e a ls",
    "ip -batch f",
    "coreutils --coreutils-prog=rm x",
    "logsave f ls",
    "debconf ls",
    "dpkg-architecture -c ls",
    "pyenv exec ls",
    "rbenv exec ls",
    "nodenv exec ls",
    "asdf exec ls",
    "mise exec -- ls",
    "mise x -- ls",
    "direnv exec . ls",
    "/usr/lib/git-core/git-submodule foreach ls",
    "/usr/lib/git-core/git-merge-x a",
    "git-config alias.p '!ls'",
];

const PLAIN_RUNNERS: &[&str] = &[
    "uv sync",
    "uv pip install a",
    "poetry install",
    "bundle install",
    "docker ps -a",
    "docker compose up -d",
    "docker compose -f c.yml up -d",
    "docker compose -f \"c$x.yml\" up -d",
    "docker-compose -f c.yml logs -f web",
    "docker volume create x",
    "docker start x",
    "install -m 755 a b",
    "prove -rv t",
    "groff -Tutf8 -man f",
    "pandoc a.md -o a.html",
    "conda list",
    "svn status",
    "docker build -t a .",
    "just",
    "just test",
    "nix build",
    "hg status",
    "rpm -qa",
    "ip addr show",
    "pyenv versions",
    "mise ls",
    "tcc -c a.c",
    "pylint src",
    "/usr/lib/git-core/git-status",
];

#[test]
fn what_runs_others_by_one_of_its_commands_is_opaque_there() {
    check_opaque(RUNNERS);
    check_seen_through(PLAIN_RUNNERS);
}

//! What one decision of the permission chain costs.
//!
//! Five layers of forty rules each, as people and authors write them, and what
//! agents need most: a file, a command, a host; a layer of ten thousand rules; a
//! pattern that was made to explode. Making a chain is measured by itself: it is
//! done once for an agent.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use offshoot_types::permission::{Action, Layer, Need, Permissions, Rule, Standing};

/// Forty rules: what is usual, and folders and programs of the layer's own.
fn rules(layer: usize) -> Vec<Rule> {
    let mut rules = vec![
        Rule::new("fs.read", "/home/me/project/**", Action::Allow),
        Rule::new("fs.read", "**/secrets/**", Action::Deny),
        Rule::new("fs.read", "**/.env", Action::Deny),
        Rule::new("fs.read", "**/*.pem", Action::Deny),
        Rule::new("fs.write", "/home/me/project/src/**", Action::Allow),
        Rule::new("fs.write", "/home/me/project/docs/**/*.md", Action::Allow),
        Rule::new("fs.write", "**/.git/**", Action::Deny),
        Rule::new("shell.run", "git *", Action::Allow),
        Rule::new("shell.run", "git push *", Action::Deny),
        Rule::new("shell.run", "cargo test *", Action::Allow),
        Rule::new("shell.run", "npm run test:*", Action::Allow),
        Rule::new("shell.run", "rm *", Action::Ask),
        Rule::new("net.fetch", "*.example.com", Action::Allow),
        Rule::new("net.fetch", "docs.rs", Action::Allow),
        Rule::new("bash", "sudo *", Action::Deny),
        Rule::new("*", "/etc/**", Action::Deny),
    ];
    for n in 0..8 {
        let folder = format!("/home/me/other/{layer}/{n}/**");
        rules.push(Rule::new("fs.write", folder.clone(), Action::Allow));
        rules.push(Rule::new("fs.read", folder, Action::Allow));
        rules.push(Rule::new(
            "shell.run",
            format!("tool{layer}-{n} run *"),
            Action::Allow,
        ));
    }
    assert_eq!(rules.len(), 40);
    rules
}

fn layers() -> Vec<Layer> {
    let layer = |index| Layer {
        name: format!("layer {index}"),
        rules: rules(index),
        standing: if index < 2 {
            Standing::Grants
        } else {
            Standing::Narrows
        },
        ..Layer::default()
    };
    (0..5).map(layer).collect()
}

fn chain(layers: Vec<Layer>) -> Permissions {
    let chain = Permissions::empty();
    layers
        .into_iter()
        .fold(chain, |chain, layer| chain.narrow(layer))
}

fn decide(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("one decision, 5 layers, 200 rules");
    let chain = chain(layers());
    let needs = [
        (
            "a file",
            "read",
            Need::new("fs.read", "/home/me/project/src/main.rs"),
            Action::Allow,
        ),
        (
            "a command",
            "bash",
            Need::new("shell.run", "git log --oneline -20"),
            Action::Allow,
        ),
        (
            "a command that is denied",
            "bash",
            Need::new("shell.run", "git push origin"),
            Action::Deny,
        ),
        (
            "a host",
            "web_fetch",
            Need::new("net.fetch", "www.example.com"),
            Action::Allow,
        ),
    ];
    for (name, tool, need, expected) in needs {
        assert_eq!(chain.decide(tool, &need).action, expected, "{name}");
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(chain.decide(tool, black_box(&need))));
        });
    }
    group.finish();
}

fn extremes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("permission rules");
    group.bench_function("make a chain of 200", |bencher| {
        bencher.iter_batched(
            layers,
            |layers| black_box(chain(layers)),
            criterion::BatchSize::SmallInput,
        );
    });
    let many = (0..10_000).map(|n| Rule::new("fs.read", format!("/w/{n}/**"), Action::Deny));
    let many = Layer {
        rules: many.collect(),
        ..Layer::default()
    };
    let need = Need::new("fs.read", "/home/me/project/src/main.rs");
    let ten_thousand = chain(vec![many]);
    group.bench_function("one decision, 10,000 rules", |bencher| {
        bencher.iter(|| black_box(ten_thousand.decide("read", black_box(&need))));
    });
    let exploding = Rule::new(
        "fs.read",
        format!("**/{}**c*b", "*a".repeat(100)),
        Action::Deny,
    );
    let exploding = chain(vec![Layer {
        rules: vec![exploding],
        ..Layer::default()
    }]);
    let need = Need::new("fs.read", format!("/{}cb/ab", "a".repeat(4000)));
    group.bench_function("one decision, 100 stars, 4,000 letters", |bencher| {
        bencher.iter(|| black_box(exploding.decide("read", black_box(&need))));
    });
    group.finish();
}

criterion_group!(benches, decide, extremes);
criterion_main!(benches);

//! The areas of a repository: its packages if there are several, otherwise its folders.

use std::collections::BTreeSet;

use super::brief::{Brief, is_below};
use crate::offline::markdown::counted;

/// Most areas; the smallest folders are put together into the last one.
const MOST_AREAS: usize = 10;

/// A folder with more than this share of all files is split into its subfolders.
const LARGE_PERCENT: usize = 50;

/// Files that make their folder a package.
pub(super) const MANIFESTS: &[(&str, &str)] = &[
    ("Cargo.toml", "`cargo build`, `cargo test`"),
    ("package.json", "`npm install`, `npm test`"),
    ("pyproject.toml", "`pip install .`, `pytest`"),
    ("setup.py", "`pip install .`, `pytest`"),
    ("go.mod", "`go build ./...`, `go test ./...`"),
    ("pom.xml", "`mvn package`, `mvn test`"),
    ("build.gradle", "`gradle build`, `gradle test`"),
    ("build.gradle.kts", "`gradle build`, `gradle test`"),
    ("composer.json", "`composer install`"),
    ("Gemfile", "`bundle install`"),
    ("CMakeLists.txt", "`cmake -B build`, `cmake --build build`"),
    ("Makefile", "`make`"),
];

/// Folders of code that others wrote, or that was generated.
const FOREIGN: &[&str] = &["node_modules", "vendor", "third_party", "target", "dist"];

/// Returns the areas with how many files each has, by name.
pub(super) fn of(paths: &[&str]) -> Vec<(Brief, usize)> {
    let packages = packages(paths);
    let mut folders = if packages.len() > 1 {
        packages
    } else {
        BTreeSet::new()
    };
    // What lies in no package belongs to its top folder.
    for path in paths {
        let in_package = folders.iter().any(|folder| is_below(path, folder));
        if let Some((top, _)) = path.split_once('/')
            && !in_package
        {
            folders.insert(top.to_owned());
        }
    }
    split_large(&mut folders, paths);
    let mut areas: Vec<(Brief, usize)> = Vec::new();
    for folder in &folders {
        let area = Brief {
            area: folder.clone(),
            paths: vec![folder.clone()],
            skip: folders
                .iter()
                .filter(|inner| is_below(inner, folder))
                .cloned()
                .collect(),
        };
        let files = paths.iter().filter(|path| area.holds(path)).count();
        if files > 0 {
            areas.push((area, files));
        }
    }
    together(areas)
}

/// Returns the folders of the packages, outermost only.
fn packages(paths: &[&str]) -> BTreeSet<String> {
    let mut packages: BTreeSet<String> = BTreeSet::new();
    for path in paths {
        let Some((folder, name)) = path.rsplit_once('/') else {
            continue;
        };
        let is_manifest = MANIFESTS.iter().any(|(manifest, _)| *manifest == name);
        let is_foreign = folder.split('/').any(|part| FOREIGN.contains(&part));
        if is_manifest && name != "Makefile" && !is_foreign {
            packages.insert(folder.to_owned());
        }
    }
    let all = packages.clone();
    packages.retain(|inner| !all.iter().any(|outer| is_below(inner, outer)));
    packages
}

/// Adds the subfolders of a folder that has most of all files.
fn split_large(folders: &mut BTreeSet<String>, paths: &[&str]) {
    let is_large = |folder: &&String| {
        let files = paths.iter().filter(|path| is_below(path, folder)).count();
        files * 100 > paths.len() * LARGE_PERCENT
    };
    let Some(large) = folders.iter().find(is_large).cloned() else {
        return;
    };
    for path in paths.iter().filter(|path| is_below(path, &large)) {
        let rest = path.strip_prefix(large.as_str());
        let rest = rest.and_then(|rest| rest.strip_prefix('/'));
        if let Some((inner, _)) = rest.and_then(|rest| rest.split_once('/')) {
            folders.insert(format!("{large}/{inner}"));
        }
    }
}

/// Puts the smallest areas together where there are too many.
fn together(mut areas: Vec<(Brief, usize)>) -> Vec<(Brief, usize)> {
    if areas.len() > MOST_AREAS {
        areas.sort_by_key(|(_, files)| std::cmp::Reverse(*files));
        let small = areas.split_off(MOST_AREAS - 1);
        let mut rest = (Brief::default(), 0);
        let names: Vec<&str> = small.iter().map(|(area, _)| area.area.as_str()).collect();
        let many = counted(small.len(), "smaller folder");
        rest.0.area = format!("{many}: {}", names.join(", "));
        for (area, files) in small {
            rest.0.paths.extend(area.paths);
            rest.0.skip.extend(area.skip);
            rest.1 += files;
        }
        areas.sort_by(|one, other| one.0.area.cmp(&other.0.area));
        areas.push(rest);
    }
    areas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(paths: &[&str], expected: &[(&str, usize)]) {
        let areas = of(paths);
        let areas: Vec<(&str, usize)> = areas
            .iter()
            .map(|(area, files)| (area.area.as_str(), *files))
            .collect();
        assert_eq!(areas, expected);
    }

    #[test]
    fn packages_are_areas_and_else_folders_and_every_file_is_in_one() {
        let packages = [
            "Cargo.toml",
            "a/Cargo.toml",
            "a/src/x.rs",
            "b/Cargo.toml",
            "docs/x.md",
        ];
        check(&packages, &[("a", 2), ("b", 1), ("docs", 1)]);
        check(
            &["x.py", "lib/a.py", "tests/b.py"],
            &[("lib", 1), ("tests", 1)],
        );
        check(&["x.py"], &[]);
        let large = ["src/a/1.c", "src/a/2.c", "src/b/1.c", "src/x.c", "doc/1.md"];
        check(
            &large,
            &[("doc", 1), ("src", 1), ("src/a", 2), ("src/b", 1)],
        );
    }

    #[test]
    fn small_folders_are_put_together_where_there_are_many() {
        let paths: Vec<String> = (0..14).map(|folder| format!("f{folder:02}/x.c")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let areas = of(&paths);
        assert_eq!(areas.len(), MOST_AREAS);
        assert_eq!(areas.iter().map(|(_, files)| files).sum::<usize>(), 14);
        assert_eq!(areas.last().unwrap().0.paths.len(), 5);
    }
}

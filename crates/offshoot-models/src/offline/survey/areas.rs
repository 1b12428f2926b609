//! The areas of a repository: what is handed to one child each.
//!
//! Packages where there are packages, folders elsewhere. What holds most of the
//! files is split, what is tiny is put together, so that there are never more
//! than `MOST` and every listed file below the top belongs to exactly one, but for
//! those whose names no tool takes.

use std::collections::BTreeMap;

use super::super::markdown::{code, codes, counted};
use super::brief::is_below;
use super::files::{Files, is_foreign, is_hidden, is_readable};

/// Most areas, the one of small folders included.
pub(super) const MOST: usize = 10;

/// Fewest files of a repository that is worth handing out.
const WORTH: usize = 4;
/// Fewest files of a folder that may be split.
const LARGE: usize = 40;
/// Most files of a folder that is put together with others.
const TINY: usize = 2;
/// How often folders are split at most; every split goes one level down.
const MOST_SPLITS: usize = 40;

/// A part of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) name: String,
    pub(super) paths: Vec<String>,
    /// Folders below that are areas of their own.
    pub(super) skip: Vec<String>,
    pub(super) files: usize,
}

impl Area {
    /// Writes its name.
    pub(super) fn shown(&self) -> String {
        match (self.paths.len(), self.skip.is_empty()) {
            (1, true) => code(&self.name),
            (1, false) => format!("the rest of {}", code(&self.name)),
            (_, _) => {
                let first = codes(self.paths.iter().take(4).map(String::as_str));
                let more = if self.paths.len() > 4 { ", …" } else { "" };
                format!("{}: {first}{more}", self.name)
            }
        }
    }
}

/// A folder on its way to become an area.
#[derive(Clone, Debug)]
struct Unit<'a> {
    path: &'a str,
    skip: Vec<&'a str>,
    files: Vec<&'a str>,
}

/// Returns the areas, by path; what was put together comes last.
pub(super) fn of(files: &Files<'_>, packages: &[&str]) -> Vec<Area> {
    // What begins with a dot is about tools; the root tells of it, and children do not list it.
    let inner: Vec<&str> = files
        .paths
        .iter()
        .copied()
        .filter(|path| path.contains('/') && !is_hidden(path) && is_readable(path))
        .collect();
    if inner.is_empty() || files.paths.len() < WORTH {
        return Vec::new();
    }
    let mut units = Vec::new();
    for unit in children("", &inner) {
        units.extend(by_package(unit, packages));
    }
    let own = inner.iter().filter(|path| !is_foreign(path)).count();
    split_large(&mut units, own);
    together(units)
}

/// Groups files by the folder below `path` that they are in; files right in it are left out.
fn children<'a>(path: &str, files: &[&'a str]) -> Vec<Unit<'a>> {
    let start = if path.is_empty() { 0 } else { path.len() + 1 };
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files {
        let rest = file.get(start..).unwrap_or_default();
        if let Some(at) = rest.find('/')
            && let Some(folder) = file.get(..start + at)
        {
            groups.entry(folder).or_default().push(file);
        }
    }
    groups
        .into_iter()
        .map(|(path, files)| Unit {
            path,
            skip: Vec::new(),
            files,
        })
        .collect()
}

/// Splits a folder into the packages in it and the rest; one that is a package stays whole.
fn by_package<'a>(unit: Unit<'a>, packages: &[&str]) -> Vec<Unit<'a>> {
    let outermost = |package: &str| {
        !packages
            .iter()
            .any(|other| is_below(package, other) && is_below(other, unit.path))
    };
    let inside: Vec<&str> = packages
        .iter()
        .copied()
        .filter(|package| is_below(package, unit.path) && outermost(package))
        .collect();
    if packages.contains(&unit.path) || inside.is_empty() {
        return vec![unit];
    }
    let mut units: Vec<Unit<'a>> = Vec::new();
    let mut rest = unit.clone();
    for package in inside {
        let (own, other): (Vec<&str>, Vec<&str>) =
            rest.files.iter().partition(|file| is_below(file, package));
        rest.files = other;
        // The folder's name as the list has it, so that it lives as long.
        let Some(path) = own.first().and_then(|file| file.get(..package.len())) else {
            continue;
        };
        rest.skip.push(path);
        units.push(Unit {
            path,
            skip: Vec::new(),
            files: own,
        });
    }
    if !rest.files.is_empty() {
        units.push(rest);
    }
    units
}

/// Splits folders while one holds most of the files.
fn split_large(units: &mut Vec<Unit<'_>>, total: usize) {
    for _ in 0..MOST_SPLITS {
        let large = |unit: &Unit<'_>| {
            let dominates = unit.files.len() >= LARGE && unit.files.len() * 5 > total * 2;
            dominates && unit.skip.is_empty() && !is_foreign_folder(unit.path)
        };
        let Some(at) = units.iter().position(large) else {
            return;
        };
        let Some(unit) = units.get(at).cloned() else {
            return;
        };
        let mut parts = children(unit.path, &unit.files);
        if parts.is_empty() || units.len() + parts.len() > MOST + 2 && parts.len() > 1 {
            parts.sort_by_key(|part| std::cmp::Reverse(part.files.len()));
            // With many folders in it only the larger are worth an agent of their own.
            parts.truncate((MOST + 1).saturating_sub(units.len()));
            parts.retain(|part| part.files.len() > TINY);
            if parts.is_empty() {
                return;
            }
        }
        let skip: Vec<&str> = parts.iter().map(|part| part.path).collect();
        let rest: Vec<&str> = unit
            .files
            .iter()
            .copied()
            .filter(|file| !skip.iter().any(|folder| is_below(file, folder)))
            .collect();
        units.remove(at);
        units.extend(parts);
        if !rest.is_empty() {
            units.push(Unit {
                path: unit.path,
                skip,
                files: rest,
            });
        }
    }
}

/// Tells whether all files in a folder are other people's.
fn is_foreign_folder(path: &str) -> bool {
    is_foreign(&format!("{path}/x"))
}

/// Puts what is tiny together, and what is more than can be handed out.
fn together(mut units: Vec<Unit<'_>>) -> Vec<Area> {
    units.sort_by_key(|unit| (std::cmp::Reverse(unit.files.len()), unit.path));
    let tiny = units.iter().filter(|unit| unit.files.len() <= TINY).count();
    let mut keep = if tiny > 1 {
        units.len() - tiny
    } else {
        units.len()
    };
    if keep > MOST || keep == MOST && keep < units.len() {
        keep = MOST - 1;
    }
    let rest = units.split_off(keep);
    units.sort_by_key(|unit| unit.path);
    let mut areas: Vec<Area> = units.iter().map(area).collect();
    if let [only] = rest.as_slice() {
        areas.push(area(only));
    } else if !rest.is_empty() {
        let mut paths: Vec<String> = rest.iter().map(|unit| unit.path.to_owned()).collect();
        paths.sort();
        let skip = rest.iter().flat_map(|unit| unit.skip.iter());
        let skip = skip.map(|path| (*path).to_owned());
        areas.push(Area {
            name: counted(rest.len(), "smaller folder"),
            // What one of them leaves out may be another of them.
            skip: skip.filter(|path| !paths.contains(path)).collect(),
            paths,
            files: rest.iter().map(|unit| unit.files.len()).sum(),
        });
    }
    areas
}

fn area(unit: &Unit<'_>) -> Area {
    Area {
        name: unit.path.to_owned(),
        paths: vec![unit.path.to_owned()],
        skip: unit.skip.iter().map(|path| (*path).to_owned()).collect(),
        files: unit.files.len(),
    }
}

#[cfg(test)]
mod tests;

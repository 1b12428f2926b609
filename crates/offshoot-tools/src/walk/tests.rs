//! What a walk does when it has to end early, and when folders move under it.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use futures_core::future::BoxFuture;
use offshoot_types::cancel::{Cancel, Signal};
use offshoot_types::tool::Place;
use tempfile::TempDir;

use super::*;

fn tree() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["w/a/1", "w/b/2", "w/c/3", "outside/secret"] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    folder
}

/// Walks the workspace `w` and returns what was seen; `visit` meddles in between.
fn seen(folder: &TempDir, patience: &Patience, visit: impl Fn(&str)) -> (Vec<String>, Walked) {
    seen_holding(MOST_HELD, folder, patience, visit)
}

fn seen_holding(
    most_held: usize,
    folder: &TempDir,
    patience: &Patience,
    visit: impl Fn(&str),
) -> (Vec<String>, Walked) {
    let place = Place::new(folder.path().join("w").to_str().unwrap());
    let target = Target::new(".", &place).unwrap();
    let mut paths = Vec::new();
    let every = Pattern::every();
    let search = Search {
        target: &target,
        from: Start::Folder,
        pattern: &every,
        sight: &Sight::unhindered(),
        patience,
    };
    let walked = walk_holding(most_held, &search, |_, seen| {
        let path = seen.path.to_str().unwrap();
        visit(path);
        paths.push(path.to_owned());
    });
    (paths, walked.unwrap())
}

#[test]
fn a_walk_that_is_out_of_time_returns_what_it_has() {
    let folder = tree();
    let (paths, walked) = seen(&folder, &Patience::with(Cancel::never(), true), |_| {});
    assert_eq!(paths, Vec::<String>::new());
    assert_eq!(walked.enough, Some(Enough::OutOfTime));
}

#[test]
fn tls_19_a_walk_that_is_cancelled_ends() {
    #[derive(Clone, Default)]
    struct Fires(Arc<AtomicBool>);
    impl Signal for Fires {
        fn is_cancelled(&self) -> bool {
            self.0.load(Relaxed)
        }
        fn cancelled(&self) -> BoxFuture<'_, ()> {
            Box::pin(std::future::pending())
        }
    }
    let folder = tree();
    let signal = Fires::default();
    let patience = Patience::with(Cancel::new(signal.clone()), false);
    let (paths, walked) = seen(&folder, &patience, |_| signal.0.store(true, Relaxed));
    assert_eq!(paths, ["a/1"]);
    assert_eq!(walked.enough, Some(Enough::Cancelled));
}

#[test]
fn a_folder_swapped_for_a_link_during_the_walk_leads_nowhere() {
    let folder = tree();
    let w = folder.path().join("w");
    let patience = Patience::with(Cancel::never(), false);
    let (paths, walked) = seen(&folder, &patience, |path| {
        // `b` was seen to be a folder and is not entered yet.
        if path == "a/1" {
            fs::remove_dir_all(w.join("b")).unwrap();
            symlink("../outside", w.join("b")).unwrap();
        }
    });
    assert_eq!(paths, ["a/1", "c/3"]);
    assert_eq!(walked, Walked::default());
}

#[test]
fn folders_that_are_removed_during_the_walk_are_left_out() {
    let folder = tree();
    let patience = Patience::with(Cancel::never(), false);
    let (paths, _) = seen(&folder, &patience, |_| {
        if folder.path().join("w/b").exists() {
            fs::remove_dir_all(folder.path().join("w/b")).unwrap();
            fs::remove_dir_all(folder.path().join("w/c")).unwrap();
        }
    });
    assert_eq!(paths, ["a/1"]);
}

#[test]
fn no_more_names_are_held_than_may_be_and_that_is_told() {
    let folder = tree();
    let patience = Patience::with(Cancel::never(), false);
    // Three folders, and in each of them a file.
    let (paths, walked) = seen_holding(3, &folder, &patience, |_| {});
    assert_eq!((paths.len(), walked.overfull), (3, false));
    let (paths, walked) = seen_holding(2, &folder, &patience, |_| {});
    assert_eq!((paths.len(), walked.overfull), (2, true));
}

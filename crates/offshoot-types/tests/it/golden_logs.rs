//! The golden logs, which the tests of every projection read, are logs.
//!
//! `golden/logs` has a story a file, an entry a line. Nine of them are the stories
//! of the captures that wires are held against, the others have what no capture
//! has: a child that fails, one that is refused something and asked again, and a turn
//! that the runtime opens, with images, files and an immediate prompt (`parts`).

use std::fs;
use std::path::Path;

use offshoot_types::event::Entry;
use offshoot_types::tree::Tree;

/// Calls back with the name and the lines of each log.
fn each(mut check: impl FnMut(&str, &str)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/logs");
    let mut count = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let log = fs::read_to_string(&path).unwrap();
        check(&path.display().to_string(), &log);
        count += 1;
    }
    assert_eq!(count, 12);
}

#[test]
fn r1_every_golden_log_breaks_no_rule() {
    each(|name, log| {
        let mut tree = Tree::default();
        for line in log.lines() {
            let entry: Entry = serde_json::from_str(line).unwrap();
            let applied = tree.apply(&entry);
            assert!(applied.is_ok(), "{name}: {applied:?}: {line}");
        }
        for id in tree.walk() {
            let agent = tree.agent(id).unwrap();
            assert!(agent.open_run().is_none(), "{name}: {id} is not settled");
            assert!(agent.mail.is_empty(), "{name}: {id} has not been told");
        }
    });
}

#[test]
fn r5_every_golden_log_is_written_back_byte_for_byte() {
    each(|name, log| {
        for line in log.lines() {
            let entry: Entry = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&entry).unwrap(), line, "{name}");
        }
    });
}

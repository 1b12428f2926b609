//! Whom a file belongs to after `write` and `edit`.

use std::fs::{self, Metadata, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

use rustix::fs::XattrFlags;
use rustix::io::Errno;
use serde_json::json;

use crate::bench::Bench;

/// Replaces a file once by each tool that can, and returns what is there afterwards.
async fn replaced(bench: &Bench) -> Metadata {
    let write = json!({"path": "f", "content": "new"});
    assert_eq!(
        bench.call("write", &write).await,
        "replaced `f`, 3 bytes",
        "{}",
        bench.absolute("f")
    );
    let edit = json!({"path": "f", "old_string": "new", "new_string": "newer"});
    bench.call("edit", &edit).await;
    assert_eq!(bench.content("f"), "newer");
    fs::metadata(bench.path("f")).unwrap()
}

fn attribute(path: &Path, name: &str) -> Result<Vec<u8>, Errno> {
    let mut value = vec![0; 1024];
    let length = rustix::fs::getxattr(path, name, &mut value[..])?;
    value.truncate(length);
    Ok(value)
}

#[tokio::test]
async fn a_setuid_file_of_another_user_does_not_become_ours() {
    let bench = Bench::new();
    bench.file("f", "old");
    // Only root gives files away. Everybody else's stays theirs, and so do its bits.
    let is_root = rustix::process::geteuid().is_root();
    let own = fs::metadata(bench.path("f")).unwrap();
    let expected = if is_root {
        (12_345, 23_456)
    } else {
        (own.uid(), own.gid())
    };
    chown(bench.path("f"), Some(expected.0), Some(expected.1)).unwrap();
    fs::set_permissions(bench.path("f"), Permissions::from_mode(0o6754)).unwrap();
    let found = replaced(&bench).await;
    assert_eq!((found.uid(), found.gid()), expected);
    assert_eq!(found.mode() & 0o7777, 0o6754);
}

#[tokio::test]
async fn what_a_user_noted_about_a_file_stays() {
    let bench = Bench::new();
    bench.file("f", "old");
    let path = bench.path("f");
    let flags = XattrFlags::empty();
    let (name, value) = ("user.offshoot.test", &b"kept"[..]);
    let expected = match rustix::fs::setxattr(&path, name, value, flags) {
        Ok(()) => Ok(value.to_vec()),
        // A file system without attributes: then the text is all there is to be kept.
        Err(errno) => Err(errno),
    };
    replaced(&bench).await;
    match expected {
        Ok(value) => assert_eq!(attribute(&path, name), Ok(value)),
        Err(_) => assert!(attribute(&path, name).is_err()),
    }
}

#[tokio::test]
async fn an_access_list_stays_and_none_is_taken_from_the_folder() {
    /// Owner rw, user 12345 rw, group none, mask rw, others none, in the form of the kernel.
    fn list() -> Vec<u8> {
        let entries: [(u16, u16, u32); 5] = [
            (0x01, 6, u32::MAX),
            (0x02, 6, 12_345),
            (0x04, 0, u32::MAX),
            (0x10, 6, u32::MAX),
            (0x20, 0, u32::MAX),
        ];
        let mut list = 2_u32.to_le_bytes().to_vec();
        for (tag, may, who) in entries {
            list.extend(tag.to_le_bytes());
            list.extend(may.to_le_bytes());
            list.extend(who.to_le_bytes());
        }
        list
    }
    const ACCESS: &str = "system.posix_acl_access";
    let flags = XattrFlags::empty();
    let bench = Bench::new();
    bench.file("f", "old");
    let path = bench.path("f");
    if let Err(errno) = rustix::fs::setxattr(&path, ACCESS, &list(), flags) {
        assert_eq!(errno, Errno::NOTSUP);
    }
    let before = (attribute(&path, ACCESS), path.metadata().unwrap().mode());
    let found = replaced(&bench).await;
    assert_eq!((attribute(&path, ACCESS), found.mode()), before);

    let bench = Bench::new();
    bench.file("f", "old");
    fs::set_permissions(bench.path("f"), Permissions::from_mode(0o640)).unwrap();
    let default = "system.posix_acl_default";
    if let Err(errno) = rustix::fs::setxattr(bench.path("."), default, &list(), flags) {
        assert_eq!(errno, Errno::NOTSUP);
    }
    let found = replaced(&bench).await;
    assert!(attribute(&bench.path("f"), ACCESS).is_err());
    assert_eq!(found.mode() & 0o7777, 0o640);
}

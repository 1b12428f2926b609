//! The data folder: where it is, whether it can be used, what is in it.
//!
//! What is not there yet is judged by the folder it would be made in.

use std::path::Path;

use offshoot_store::Look;
use rustix::fs::{Access, StatVfs, access, statfs, statvfs};

use super::{Finding, shown};
use crate::config::Sourced;

const MIB: u64 = 1024 * 1024;

/// Less than this is worth a word.
const LITTLE: u64 = 100 * MIB;

/// With less than this nothing can be written.
const NOTHING: u64 = MIB;

pub(super) fn look(data_dir: &Sourced<std::path::PathBuf>) -> Vec<Finding> {
    let folder = data_dir.value.as_path();
    let place = format!("{}, {}", folder.display(), data_dir.source.phrase());
    let Some(there) = folder.ancestors().find(|folder| folder.exists()) else {
        return vec![Finding::fail(
            "data folder",
            format!("{place}: no such path"),
        )];
    };
    let mut findings = vec![writable(folder, there, &place)];
    findings.push(space(there));
    findings.push(file_system(there));
    // Where it cannot be read, that was said.
    if folder.is_dir() {
        findings.extend(database(folder));
    }
    findings
}

fn writable(folder: &Path, there: &Path, place: &str) -> Finding {
    let what = "data folder";
    if !there.is_dir() {
        return Finding::fail(what, format!("{place}: {} is not a folder", shown(there)));
    }
    if let Err(error) = access(there, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        return Finding::fail(what, format!("{place}: write to {}: {error}", shown(there)));
    }
    if there == folder {
        Finding::ok(what, format!("{place}, writable"))
    } else {
        Finding::ok(what, format!("{place}, is made by the first session"))
    }
}

fn space(there: &Path) -> Finding {
    let what = "free space";
    match statvfs(there) {
        Ok(StatVfs {
            f_bavail, f_frsize, ..
        }) => {
            let free = f_bavail.saturating_mul(f_frsize);
            let detail = format!("{} MiB", free / MIB);
            match free {
                0..NOTHING => Finding::fail(what, detail),
                NOTHING..LITTLE => Finding::warn(what, detail),
                LITTLE.. => Finding::ok(what, detail),
            }
        }
        Err(error) => Finding::warn(what, format!("cannot tell: {error}")),
    }
}

/// What a file system is to a database that several processes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Local,
    /// Locks and shared memory do not reach over it.
    Network,
    /// Depends on what is behind it.
    Unclear,
}

/// File systems by the number that the kernel gives them.
const KINDS: [(u64, &str, Kind); 20] = [
    (0xEF53, "ext4", Kind::Local),
    (0x9123_683E, "btrfs", Kind::Local),
    (0x5846_5342, "xfs", Kind::Local),
    (0x0102_1994, "tmpfs", Kind::Local),
    (0x8584_58F6, "ramfs", Kind::Local),
    (0x794C_7630, "overlay", Kind::Local),
    (0x2FC1_2FC1, "zfs", Kind::Local),
    (0xF2F5_2010, "f2fs", Kind::Local),
    (0xCA45_1A4E, "bcachefs", Kind::Local),
    (0xF15F, "ecryptfs", Kind::Local),
    (0x6969, "nfs", Kind::Network),
    (0xFF53_4D42, "cifs", Kind::Network),
    (0xFE53_4D42, "smb2", Kind::Network),
    (0x517B, "smb", Kind::Network),
    (0x5346_414F, "afs", Kind::Network),
    (0x00C3_6400, "ceph", Kind::Network),
    (0x0BD0_0BD0, "lustre", Kind::Network),
    (0x7461_636F, "ocfs2", Kind::Network),
    (0x0102_1997, "9p", Kind::Unclear),
    (0x6573_5546, "fuse", Kind::Unclear),
];

fn file_system(there: &Path) -> Finding {
    match statfs(there) {
        // The kernel's word may be signed; only its lower half is a number of this kind.
        Ok(about) => judge(about.f_type as u64 & 0xFFFF_FFFF),
        Err(error) => Finding::warn("file system", format!("cannot tell: {error}")),
    }
}

fn judge(number: u64) -> Finding {
    let what = "file system";
    let known = KINDS.iter().find(|(known, _, _)| *known == number);
    match known {
        Some((_, name, Kind::Local)) => Finding::ok(what, *name),
        Some((_, name, Kind::Network)) => Finding::warn(
            what,
            format!(
                "{name} is a network file system, on which a write-ahead log is not safe; keep \
                 the data folder on a local disk (--data-dir)"
            ),
        ),
        Some((_, name, Kind::Unclear)) => Finding::warn(
            what,
            format!("{name}; if it reaches over a network, a write-ahead log is not safe there"),
        ),
        None => Finding::ok(what, format!("of type 0x{number:x}")),
    }
}

fn database(folder: &Path) -> Vec<Finding> {
    let what = "database";
    match offshoot_store::look(folder) {
        Ok(Some(Look::Interrupted)) => vec![Finding::warn(
            what,
            "the last start was interrupted; the next command that opens it repairs it",
        )],
        Ok(Some(Look::Usable { schema, sessions })) => {
            let opens = Finding::ok(what, format!("opens, schema {schema}"));
            let open = sessions.iter().filter(|session| session.open_runs > 0);
            let (running, interrupted): (Vec<_>, Vec<_>) = open.partition(|session| session.owned);
            let detail = format!(
                "{}, {} running, {} interrupted",
                sessions.len(),
                running.len(),
                interrupted.len()
            );
            let mut findings = vec![opens, Finding::ok("sessions", detail)];
            match offshoot_store::unrecoverable(folder, &sessions) {
                Ok(unrecoverable) => findings.extend(unrecoverable.iter().map(|(tree, why)| {
                    let detail = format!("session {tree} cannot be recovered: {why}");
                    Finding::fail("sessions", detail)
                })),
                Err(error) => findings.push(Finding::fail("sessions", error.to_string())),
            }
            findings
        }
        Ok(None) => vec![Finding::ok(what, "is made by the first session")],
        Err(error) => vec![Finding::fail(what, error.to_string())],
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn a_network_file_system_is_warned_of() {
        for (number, expected) in [
            (0xEF53, Verdict::Ok),
            (0x6969, Verdict::Warn),
            (0xFF53_4D42, Verdict::Warn),
            (0x6573_5546, Verdict::Warn),
            (0x1234, Verdict::Ok),
        ] {
            assert_eq!(judge(number).verdict, expected, "{number:x}");
        }
    }
}

//! What the system offers: the kernel, programs, limits, the terminal.
//!
//! Nothing here is needed to start; each finding says what is worse without it.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use rustix::fs::{Access, CWD, Mode, OFlags, ResolveFlags, access, openat2};
use rustix::io::Errno;
use rustix::process::{Resource, child_subreaper, getrlimit};

use super::{Finding, shown};
use crate::env::Surroundings;
use crate::terminal;

/// Programs that agents use.
const PROGRAMS: [(&str, &str); 2] = [
    ("bash", "agents cannot run commands"),
    ("git", "agents cannot look at the history of a repository"),
];

/// With fewer open files than this a large tree may not get the ones it needs.
const FEW_FILES: u64 = 256;

pub(super) fn look(surroundings: &Surroundings) -> Vec<Finding> {
    let mut findings = vec![
        kernel(),
        confinement(),
        landlock(),
        namespaces(),
        subreaper(),
    ];
    for (name, without) in PROGRAMS {
        findings.push(program(surroundings, name, without));
    }
    findings.push(files());
    findings
}

fn kernel() -> Finding {
    let about = rustix::system::uname();
    let text = |word: &std::ffi::CStr| word.to_string_lossy().into_owned();
    let detail = format!("{} {}", text(about.sysname()), text(about.release()));
    Finding::ok("kernel", detail)
}

/// Tries the call by which file tools stay in the workspace.
fn confinement() -> Finding {
    let what = "openat2";
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, ".", flags, Mode::empty(), ResolveFlags::BENEATH) {
        Err(Errno::NOSYS | Errno::PERM) => {
            Finding::fail(what, "is missing, without which file tools do not work")
        }
        // Whatever else it says, it is there.
        Ok(_) | Err(_) => Finding::ok(what, "is there"),
    }
}

fn landlock() -> Finding {
    let what = "landlock";
    match fs::read_to_string("/sys/kernel/security/lsm") {
        Ok(modules) if modules.trim().split(',').any(|module| module == "landlock") => {
            Finding::ok(what, "is active")
        }
        Ok(_) => Finding::warn(what, "is not active, so nothing can be confined by it"),
        Err(error) => Finding::warn(what, format!("cannot tell: {error}")),
    }
}

fn namespaces() -> Finding {
    let what = "user namespaces";
    let number = |path: &str| {
        let text = fs::read_to_string(path).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let most = number("/proc/sys/user/max_user_namespaces");
    let for_all = number("/proc/sys/kernel/unprivileged_userns_clone");
    let restricted = number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    match (most, for_all, restricted) {
        (None | Some(0), _, _) => Finding::warn(what, "are not there, or none is allowed"),
        (_, Some(0), _) => Finding::warn(what, "are for root only"),
        (_, _, Some(1)) => Finding::warn(what, "are restricted by AppArmor"),
        (Some(_), _, _) => Finding::ok(what, "are there"),
    }
}

fn subreaper() -> Finding {
    let what = "subreaper";
    match child_subreaper() {
        Ok(_) => Finding::ok(what, "is there"),
        Err(error) => Finding::warn(
            what,
            format!("cannot be had ({error}), so what a command leaves behind may stay"),
        ),
    }
}

fn program(surroundings: &Surroundings, name: &'static str, without: &str) -> Finding {
    match find(surroundings, name) {
        Some(path) => Finding::ok(name, shown(&path)),
        None => Finding::warn(name, format!("is not in PATH: {without}")),
    }
}

fn find(surroundings: &Surroundings, name: &str) -> Option<PathBuf> {
    let path = surroundings.filled("PATH")?;
    let mut folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.find_map(|folder| {
        let program = folder.join(name);
        let runs = program.is_file() && access(&program, Access::EXEC_OK).is_ok();
        runs.then_some(program)
    })
}

fn files() -> Finding {
    let what = "open files";
    let limit = getrlimit(Resource::Nofile);
    let word = |most: Option<u64>| most.map_or("no limit".to_owned(), |most| most.to_string());
    let detail = format!("{} (at most {})", word(limit.current), word(limit.maximum));
    match limit.current {
        Some(few) if few < FEW_FILES => Finding::warn(what, detail),
        Some(_) | None => Finding::ok(what, detail),
    }
}

/// Looks at the terminal.
pub(super) fn screen(surroundings: &Surroundings, colors: bool) -> Finding {
    let what = "terminal";
    let word = |is_terminal: bool| if is_terminal { "a terminal" } else { "none" };
    let stdout = io::stdout();
    let mut detail = format!(
        "stdin {}, stdout {}, stderr {}",
        word(io::stdin().is_terminal()),
        word(stdout.is_terminal()),
        word(io::stderr().is_terminal())
    );
    if let Some(columns) = terminal::width(&stdout) {
        detail.push_str(&format!(", {columns} columns"));
    }
    detail.push_str(if colors { ", colours" } else { ", no colours" });
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| surroundings.filled(name))
        .map(|locale| locale.to_string_lossy().into_owned());
    let utf8 = locale.as_deref().is_some_and(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    let locale = locale.unwrap_or_else(|| "none".to_owned());
    detail.push_str(&format!(", locale {locale}"));
    // What is piped is UTF-8 whatever the locale says.
    if stdout.is_terminal() && !utf8 {
        detail.push_str(": not UTF-8, so some characters may show as others");
        return Finding::warn(what, detail);
    }
    Finding::ok(what, detail)
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn programs_are_looked_for_in_the_path_that_was_given() {
        let with = |path: &str| Surroundings::new(Some("/".into()), [("PATH", path)]);
        let found = program(&with("/nowhere:/bin:/usr/bin"), "sh", "nothing");
        assert_eq!(found.verdict, Verdict::Ok, "{found:?}");
        assert!(found.detail.ends_with("/sh"), "{found:?}");
        for path in ["", "/nowhere", "."] {
            let missed = program(&with(path), "sh", "nothing works");
            assert_eq!(missed.verdict, Verdict::Warn, "{missed:?}");
            assert_eq!(missed.detail, "is not in PATH: nothing works");
        }
    }
}

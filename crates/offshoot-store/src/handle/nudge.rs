//! Nudges between processes: datagrams in the data folder.
//!
//! A nudge says which tree has a command; the command itself is a row. Nudges
//! may be lost, and nothing depends on one: owners poll. The path of a socket
//! may have 108 bytes, and data folders may be deeper than that, so sockets are
//! named through the descriptor of their folder.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use offshoot_types::id::{AgentId, MAX_ID_BYTES, TreeId};

use super::mailbox::{join, spawn};
use super::place::{Listeners, call_nudged};

/// The folder of sockets.
pub(super) struct Sockets {
    path: PathBuf,
    folder: File,
}

impl Sockets {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            folder: File::open(path)?,
        })
    }

    /// Sends a nudge to everybody, and forgets about it: they are few, and one of them has the tree.
    pub(super) fn send(&self, tree: &TreeId) {
        let Ok(all) = fs::read_dir(&self.path) else {
            return;
        };
        for name in all.flatten().map(|file| file.file_name()) {
            if let Some(name) = name.to_str().filter(|name| is_name(name)) {
                self.send_to(name, tree);
            }
        }
    }

    fn send_to(&self, name: &str, tree: &TreeId) {
        let sent = UnixDatagram::unbound().and_then(|socket| {
            socket.set_nonblocking(true)?;
            socket.send_to(tree.as_str().as_bytes(), self.address(name))
        });
        // A socket that nobody reads is left over from a process that died.
        if sent.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            self.remove(name);
        }
    }

    /// Returns a path that is short enough, however deep the folder is.
    fn address(&self, name: &str) -> PathBuf {
        let direct = self.path.join(name);
        if direct.as_os_str().len() < 100 {
            return direct;
        }
        let folder = self.folder.as_raw_fd();
        PathBuf::from(format!("/proc/self/fd/{folder}/{name}"))
    }

    fn remove(&self, name: &str) {
        if let Err(error) = fs::remove_file(self.path.join(name))
            && error.kind() != ErrorKind::NotFound
        {
            // It stays, and the next one to find it tries again.
        }
    }

    /// Makes a socket of our own.
    fn bind(&self) -> io::Result<(String, UnixDatagram)> {
        loop {
            // In two containers on one folder two processes have the same number, and each would take
            // the other's name away.
            let handle = RandomState::new().build_hasher().finish();
            let name = format!("{}-{handle}.sock", process::id());
            // A file that cannot be sent to yet looks like one that nobody reads any more, and would be
            // cleared away: it has its name when it can.
            let making = format!("{name}.new");
            match UnixDatagram::bind(self.address(&making)) {
                Ok(socket) => {
                    fs::rename(self.path.join(&making), self.path.join(&name))?;
                    return Ok((name, socket));
                }
                // Left over from a process that had our numbers.
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Whatever else is in the folder is not ours to talk to, or to remove.
fn is_name(name: &str) -> bool {
    name.strip_suffix(".sock").is_some_and(|stem| {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        stem.split_once('-')
            .is_some_and(|(process, handle)| is_number(process) && is_number(handle))
    })
}

/// A handle's own socket and the thread that hears it.
pub(super) struct Ears {
    name: String,
    sockets: Arc<Sockets>,
    socket: Arc<UnixDatagram>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ears {
    pub(super) fn open(sockets: &Arc<Sockets>, listeners: &Listeners) -> io::Result<Self> {
        let (name, socket) = sockets.bind()?;
        let socket = Arc::new(socket);
        let stop = Arc::new(AtomicBool::new(false));
        let hear = {
            let (socket, stop) = (Arc::clone(&socket), Arc::clone(&stop));
            let listeners = Arc::clone(listeners);
            move || hear(&socket, &stop, &listeners)
        };
        let thread = spawn("offshoot-nudge", hear).map_err(io::Error::other)?;
        Ok(Self {
            name,
            sockets: Arc::clone(sockets),
            socket,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Ears {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // The socket itself, and not by its name, which may lead to somebody else by now. One that cannot
        // be shut is left to the end of the process rather than waited for.
        if self.socket.shutdown(std::net::Shutdown::Both).is_ok() {
            join(&mut self.thread);
        }
        self.sockets.remove(&self.name);
    }
}

fn hear(socket: &UnixDatagram, stop: &AtomicBool, listeners: &Listeners) {
    let mut buffer = [0; MAX_ID_BYTES];
    while !stop.load(Ordering::SeqCst) {
        let Ok(length) = socket.recv(&mut buffer) else {
            return;
        };
        match std::str::from_utf8(&buffer[..length]) {
            Ok(tree) if !tree.is_empty() => {
                call_nudged(listeners, &TreeId::of(AgentId::new(tree)));
            }
            Ok(_) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_of_one_number_have_sockets_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let sockets = Sockets::open(folder.path()).unwrap();
        let (one, _first) = sockets.bind().unwrap();
        let (other, _second) = sockets.bind().unwrap();
        assert_ne!(one, other);
        assert!(is_name(&one) && is_name(&other), "{one} {other}");
    }

    #[test]
    fn ears_close_although_somebody_else_has_their_name_by_now() {
        let folder = tempfile::tempdir().unwrap();
        let sockets = Arc::new(Sockets::open(folder.path()).unwrap());
        let ears = Ears::open(&sockets, &Listeners::default()).unwrap();
        let theirs = UnixDatagram::bind(folder.path().join("theirs")).unwrap();
        let name = folder.path().join(&ears.name);
        fs::rename(folder.path().join("theirs"), name).unwrap();
        drop(ears);
        drop(theirs);
    }
}

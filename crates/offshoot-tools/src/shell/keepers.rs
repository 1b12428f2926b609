//! The keepers that live, by owner.
//!
//! Each has a task here that owns its socket and its process from start to end,
//! so whoever ends an owner can wait for keepers whose calls are long over, or
//! were dropped. Closing drops the tasks, the sockets with them, and on that the
//! keepers end what they keep. A keeper that does not do as it is told, or was
//! killed, has its work done for it.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use offshoot_types::tool::Place;
use rustix::process::Pid;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::environment::Environment;
use super::orphans::{Ended, Known, Mark};
use super::wire::{Job, Order, Told, Until};

/// How long a keeper has to do as it is told.
const PATIENCE: Duration = Duration::from_millis(3500);

/// How long ending an owner may take.
const MOST_ENDING: Duration = Duration::from_secs(5);

/// The program that runs as keeper: one that calls `keep` and returns what that returns.
#[derive(Clone, Debug)]
pub struct Keeper {
    /// Such as `/proc/self/exe`.
    pub program: PathBuf,
    /// What tells it that it is one.
    pub arguments: Vec<OsString>,
}

pub(super) struct Keepers {
    keeper: Keeper,
    environment: Environment,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    closed: bool,
    tasks: JoinSet<()>,
    kept: Vec<Kept>,
}

/// A keeper that lives. Its task holds the other end of `orders` as long as it does.
struct Kept {
    owner: String,
    orders: watch::Sender<Option<Order>>,
}

impl Keepers {
    pub(super) fn new(keeper: Keeper, environment: Environment) -> Self {
        Self {
            keeper,
            environment,
            state: Mutex::default(),
        }
    }

    pub(super) fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Carries on work that no call waits for any more; it ends with the keepers at the latest.
    pub(super) fn look_after(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.lock();
        state.forget_the_gone();
        // The call may be dropped because the runtime is.
        if !state.closed && tokio::runtime::Handle::try_current().is_ok() {
            state.tasks.spawn(work);
        }
    }

    /// Starts a keeper with a command of the owner, and how a hook is told and heard.
    pub(super) fn start(
        &self,
        place: &Place,
        command: String,
        told: Option<Told>,
    ) -> Result<Started, String> {
        let (stdin, until) = match told {
            Some(told) => (Some(told.stdin), told.until),
            None => (None, Until::ItEnds),
        };
        let job = Job {
            command,
            workspace: place.workspace.clone(),
            scratch: place.scratch.clone(),
            stdin,
            until,
        };
        let job = job.encode()?;
        let (child, socket) = self.spawn(place).map_err(|error| {
            let program = self.keeper.program.display();
            format!("start the keeper {program}: {error}")
        })?;
        let (messages, orders_out) = socket.into_split();
        let (orders, orders_in) = watch::channel(None);
        let tended = Tended {
            mark: child.id().and_then(pid).and_then(Mark::of),
            ended: Ended::new(),
            child,
            socket: orders_out,
            orders: orders_in,
        };
        let mut state = self.lock();
        if state.closed {
            return Err("the shell is closed".to_owned());
        }
        state.forget_the_gone();
        state.tasks.spawn(tended.run(job));
        state.kept.push(Kept {
            owner: place.owner.clone(),
            orders: orders.clone(),
        });
        Ok(Started {
            messages,
            hold: Hold {
                orders,
                released: false,
            },
        })
    }

    fn spawn(&self, place: &Place) -> std::io::Result<(Child, UnixStream)> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let Keeper { program, arguments } = &self.keeper;
        let mut command = Command::new(program);
        command
            .args(arguments)
            // It keeps no folder busy that somebody may want to remove.
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.environment
            .apply(place.scratch.as_deref(), &mut command);
        let mut known = Known::lock();
        let child = command.spawn()?;
        if let Some(keeper) = child.id().and_then(pid) {
            known.add(keeper);
        }
        drop(known);
        Ok((child, UnixStream::from_std(ours)?))
    }

    /// Ends all keepers of an owner with what they keep; resolves when they are gone.
    pub(super) fn end(&self, owner: &str) -> impl Future<Output = ()> + Send + 'static {
        let mut state = self.lock();
        state.forget_the_gone();
        let kept = state.kept.iter().filter(|kept| kept.owner == owner);
        let orders: Vec<_> = kept.map(|kept| kept.orders.clone()).collect();
        async move {
            for orders in &orders {
                give(orders, Order::Terminate);
            }
            let all_gone = async {
                for orders in &orders {
                    orders.closed().await;
                }
            };
            // A task that is not done by then has killed what can be killed.
            tokio::time::timeout(MOST_ENDING, all_gone).await.ok();
        }
    }

    /// Ends everything, without waiting.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.tasks.abort_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn forget_the_gone(&mut self) {
        self.kept.retain(|kept| !kept.orders.is_closed());
        while self.tasks.try_join_next().is_some() {}
    }
}

fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

/// A keeper that was started, as its call sees it.
pub(super) struct Started {
    pub(super) messages: OwnedReadHalf,
    pub(super) hold: Hold,
}

/// A call's hold on its keeper. Dropped before it is released, everything is killed.
pub(super) struct Hold {
    orders: watch::Sender<Option<Order>>,
    released: bool,
}

impl Hold {
    pub(super) fn terminate(&self) {
        give(&self.orders, Order::Terminate);
    }

    /// Waits until the keeper and all it kept are gone.
    pub(super) async fn gone(&self) {
        tokio::time::timeout(MOST_ENDING, self.orders.closed())
            .await
            .ok();
    }

    /// Kills what still runs, and waits until it is gone.
    pub(super) async fn kill(&self) {
        give(&self.orders, Order::Kill);
        self.gone().await;
    }

    /// Lets what still runs go on until its owner ends.
    pub(super) fn release(mut self) {
        self.released = true;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if !self.released {
            give(&self.orders, Order::Kill);
        }
    }
}

/// Gives an order; one that asks for less than the last changes nothing.
fn give(orders: &watch::Sender<Option<Order>>, order: Order) {
    orders.send_if_modified(|given| {
        let more = *given < Some(order);
        if more {
            *given = Some(order);
        }
        more
    });
}

/// A keeper, as its task has it.
struct Tended {
    mark: Option<Mark>,
    /// What had to be ended for it.
    ended: Ended,
    child: Child,
    socket: OwnedWriteHalf,
    orders: watch::Receiver<Option<Order>>,
}

impl Tended {
    async fn run(mut self, job: Vec<u8>) {
        let sent = tokio::select! {
            biased;
            sent = self.socket.write_all(&job) => sent.is_ok(),
            // Before it has begun there is nothing to end gently.
            _ = self.orders.changed() => false,
        };
        if !sent {
            self.socket.shutdown().await.ok();
        }
        let mut late = (!sent).then(|| Instant::now() + PATIENCE);
        let status = loop {
            let at = late.unwrap_or_else(Instant::now);
            tokio::select! {
                biased;
                status = self.child.wait() => break status,
                Ok(()) = self.orders.changed() => {
                    if let Some(order) = *self.orders.borrow_and_update() {
                        // One byte fits, or the keeper is gone.
                        self.socket.try_write(&[order.byte()]).ok();
                    }
                    late.get_or_insert_with(|| Instant::now() + PATIENCE);
                }
                () = tokio::time::sleep_until(at), if late.is_some() => {
                    late = None;
                    self.end_bearers().await;
                    self.child.start_kill().ok();
                }
            }
        };
        // It ends well only when it has nothing left to keep.
        if !status.is_ok_and(|status| status.success()) {
            self.end_bearers().await;
        }
    }

    async fn end_bearers(&mut self) {
        let Some(mark) = self.mark.clone() else {
            return;
        };
        let ended = std::mem::take(&mut self.ended);
        #[expect(
            clippy::disallowed_methods,
            reason = "awaited on the next line, and bounded"
        )]
        let task = tokio::task::spawn_blocking(move || mark.end_bearers(ended));
        self.ended = task.await.unwrap_or_default();
    }
}

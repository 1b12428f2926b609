//! Reads what happens in one session, in order.
//!
//! The log is the only truth, so a follower sees the same whether its own process runs the session or
//! another does, and also when that other process dies: then this one takes the session over, if its
//! caller wants that. Every method may be dropped while it waits, as `select!` does: nothing is lost.

use std::collections::VecDeque;

use futures_util::future::BoxFuture;
use offshoot_engine::{CommandError, Subscription, Update};
use offshoot_types::command::{Order, Receipt};
use offshoot_types::id::TreeId;
use offshoot_types::store::StoreError;

use super::client::Client;

/// What to do about a session whose process is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphan {
    /// Take it over: something is waited for.
    TakeUp,
    /// Leave it, until a later call says otherwise or another process takes it over.
    Leave,
}

/// What a follower tells.
#[derive(Clone, Debug)]
pub enum News {
    /// Something happened. It is never `Update::Orphaned`: the follower acts on that.
    Update(Update),
    /// The session was taken over, and sleeps: it waits for an answer that this process cannot get.
    Asleep,
}

/// A session that is followed.
pub struct Follower {
    client: Client,
    tree: TreeId,
    updates: Subscription,
    /// What came while a command was carried out.
    heard: VecDeque<Update>,
    /// Whether no process owned the session when its log had been read, and none was asked to since.
    orphaned: bool,
    taking_up: Option<BoxFuture<'static, Result<Receipt, CommandError>>>,
}

impl Follower {
    pub(super) fn new(client: Client, tree: TreeId, updates: Subscription) -> Self {
        Self {
            client,
            tree,
            updates,
            heard: VecDeque::new(),
            orphaned: false,
            taking_up: None,
        }
    }

    /// Leaves out what agents say and do before it comes to something.
    #[must_use]
    pub fn news_only(mut self) -> Self {
        self.updates = self.updates.news_only();
        self
    }

    /// Carries out a command while the session is heard: the answer to a prompt may begin before the
    /// command has returned, and what is not in the log is told only once.
    pub async fn hear<T>(&mut self, command: impl Future<Output = T>) -> Result<T, StoreError> {
        let mut command = std::pin::pin!(command);
        loop {
            tokio::select! {
                biased;
                done = &mut command => return Ok(done),
                update = self.updates.next() => self.heard.push_back(update?),
            }
        }
    }

    /// Returns what happens next. After a shutdown, and after the last entry, it is `Closed`.
    pub async fn next(&mut self, orphan: Orphan) -> Result<News, CommandError> {
        loop {
            if let Some(update) = self.heard.pop_front() {
                if let Some(news) = self.take(update) {
                    return Ok(news);
                }
                continue;
            }
            if orphan == Orphan::TakeUp {
                self.take_up()?;
            }
            let update = tokio::select! {
                biased;
                receipt = taken_up(&mut self.taking_up), if self.taking_up.is_some() => {
                    self.taking_up = None;
                    match receipt {
                        Ok(Receipt::NoEffect { .. }) => return Ok(News::Asleep),
                        // This runtime is leaving: it says so below once it has left.
                        Ok(_) | Err(CommandError::Closed) => continue,
                        Err(error) => return Err(error),
                    }
                }
                update = self.updates.next() => update?,
                () = self.client.closed() => {
                    if self.updates.is_caught_up().await? {
                        return Err(CommandError::Closed);
                    }
                    self.updates.next().await?
                }
            };
            if let Some(news) = self.take(update) {
                return Ok(news);
            }
        }
    }

    /// Tells whether everything that is in the log has been told.
    pub fn is_caught_up(&self) -> impl Future<Output = Result<bool, StoreError>> + Send {
        // Not all of `self` may be lent to another thread: a take-over may be on its way.
        let (nothing_heard, updates) = (self.heard.is_empty(), &self.updates);
        async move { Ok(nothing_heard && updates.is_caught_up().await?) }
    }

    fn take(&mut self, update: Update) -> Option<News> {
        if let Update::Orphaned = update {
            self.orphaned = true;
            return None;
        }
        Some(News::Update(update))
    }

    /// Takes over a session that no process owns, unless another order of this process has done so.
    fn take_up(&mut self) -> Result<(), CommandError> {
        if !std::mem::take(&mut self.orphaned) {
            return Ok(());
        }
        let Ok(engine) = self.client.engine() else {
            return Ok(());
        };
        if !engine.is_run_here(&self.tree) {
            let root = self.tree.root();
            let command = self.client.command(&self.tree, root, Order::Resume);
            let client = self.client.clone();
            self.taking_up = Some(Box::pin(async move { client.carry_out(command).await }));
        }
        Ok(())
    }
}

async fn taken_up(
    taking_up: &mut Option<BoxFuture<'static, Result<Receipt, CommandError>>>,
) -> Result<Receipt, CommandError> {
    match taking_up {
        Some(taking_up) => taking_up.await,
        None => std::future::pending().await,
    }
}

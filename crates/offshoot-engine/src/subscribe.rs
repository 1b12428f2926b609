//! Following a tree (R4): the log after a position, what is being done and said, then live.
//!
//! Gives every entry exactly once and in order, whatever happens in between: a
//! subscriber that lags, or whose tree is let go and taken up again, reads on
//! from the log. Deltas carry offsets, so that nothing is shown twice. A tree
//! that another process owns is followed by reading its log and looking at its lock:
//! the only timer there is for that, and none runs for a tree of this process.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use offshoot_types::id::{Pos, TreeId};
use offshoot_types::store::{Store, StoreError};
use tokio::sync::broadcast;

use crate::board::Board;
use crate::sabotage::{Bug, planted};
use crate::update::Update;

/// How often the log of a tree that another process owns is read.
const FOLLOW: Duration = Duration::from_millis(100);

/// How long a board may take to fold what is in the log already.
const BEHIND: Duration = Duration::from_millis(2);

/// Entries read at one time.
const PAGE: usize = if cfg!(test) { 32 } else { 512 };

/// How much of a tree's life a subscriber is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Whatever agents do and say, as they do.
    All,
    /// What comes of it.
    News,
}

/// A follower of one tree.
pub struct Subscription {
    store: Arc<dyn Store>,
    tree: TreeId,
    /// The last entry that was given.
    pos: Pos,
    ready: VecDeque<Update>,
    source: Source,
    detail: Detail,
    find: Find,
    /// Whether `Update::Orphaned` was given since an owner was last seen or heard of.
    orphaned: bool,
}

/// Finds the board of a tree, if this process owns it by now.
pub(crate) type Find = Arc<dyn Fn(&TreeId) -> Option<Arc<Board>> + Send + Sync>;

enum Source {
    /// This process owns the tree.
    Live {
        board: std::sync::Weak<Board>,
        updates: broadcast::Receiver<Arc<[Update]>>,
    },
    /// Read up to here, then live.
    Behind {
        board: std::sync::Weak<Board>,
        updates: broadcast::Receiver<Arc<[Update]>>,
        upto: Pos,
        then: Vec<Update>,
    },
    /// Nobody here owns it.
    Log,
}

impl Source {
    /// Up to where the log has to be read first.
    fn upto(&self) -> Option<Pos> {
        match self {
            Self::Behind { upto, .. } => Some(*upto),
            Self::Live { .. } | Self::Log => None,
        }
    }
}

impl Subscription {
    /// Joins the tree at once if this process owns it: a prompt that is sent next may be answered
    /// before the first call of `next`, and text that streams before a subscriber joins is not repeated.
    pub(crate) fn new(store: Arc<dyn Store>, tree: TreeId, after: Pos, find: Find) -> Self {
        let mut subscription = Self {
            store,
            tree,
            pos: after,
            ready: VecDeque::new(),
            source: Source::Log,
            detail: Detail::All,
            find,
            orphaned: false,
        };
        subscription.join_if_owned();
        subscription
    }

    /// Leaves out what agents say and do before it comes to something: pieces of messages and outputs,
    /// and what they wait for but a model that is asked again. For who does not watch.
    #[must_use]
    pub fn news_only(mut self) -> Self {
        self.detail = Detail::News;
        self.join_if_owned();
        self
    }

    /// Joins the tree live if this process owns it and has folded it as far as this subscription has read.
    ///
    /// Returns whether this process owns the tree.
    fn join_if_owned(&mut self) -> bool {
        let board = (self.find)(&self.tree);
        if let Some(source) = board.as_ref().map(|board| join(board, self.detail))
            && source.upto().is_none_or(|upto| upto >= self.pos)
        {
            self.source = source;
        }
        board.is_some()
    }

    /// Returns the next update; waits for one. Fails only when the log cannot be read.
    pub async fn next(&mut self) -> Result<Update, StoreError> {
        loop {
            if let Some(update) = self.ready.pop_front() {
                if let Some(update) = self.fresh(update) {
                    return Ok(update);
                }
                continue;
            }
            self.fill().await?;
        }
    }

    /// Tells whether every entry that is in the log now was given.
    ///
    /// Between two entries that were committed together a tree may look quiet: judge it only then.
    pub async fn is_caught_up(&self) -> Result<bool, StoreError> {
        let is_entry = |update: &Update| matches!(update, Update::Entry(_));
        if self.ready.iter().any(is_entry) {
            return Ok(false);
        }
        let rest = self.store.entries(&self.tree, self.pos, 1).await?;
        Ok(rest.is_empty())
    }

    /// Drops an entry that was given before, and notes the place of one that was not.
    fn fresh(&mut self, update: Update) -> Option<Update> {
        if let Update::Entry(entry) = &update {
            if entry.pos <= self.pos {
                return None;
            }
            self.pos = entry.pos;
        }
        Some(update)
    }

    async fn fill(&mut self) -> Result<(), StoreError> {
        match &mut self.source {
            Source::Live { board, updates } => match updates.recv().await {
                Ok(updates) => {
                    let detail = self.detail;
                    let wanted = updates.iter().filter(|update| is_wanted(update, detail));
                    self.ready.extend(wanted.cloned());
                }
                // Too slow: read what was missed and join again.
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    let board = board.upgrade();
                    let join = |board| join(board, self.detail);
                    self.source = board.as_ref().map_or(Source::Log, join);
                }
                Err(broadcast::error::RecvError::Closed) => self.source = Source::Log,
            },
            Source::Behind { upto, .. } => {
                let upto = *upto;
                if self.pos < upto {
                    self.read(upto).await?;
                } else if let Source::Behind {
                    board,
                    updates,
                    then,
                    ..
                } = std::mem::replace(&mut self.source, Source::Log)
                {
                    self.ready.extend(then);
                    self.source = Source::Live { board, updates };
                }
            }
            Source::Log => {
                let ours = self.join_if_owned();
                if !matches!(self.source, Source::Log) {
                    return Ok(());
                }
                // Before the log is read: an owner that was gone by then has written all of it.
                let owned = ours || self.store.is_owned(&self.tree).await?;
                self.read(Pos::new(u64::MAX)).await?;
                if owned || !self.ready.is_empty() {
                    self.orphaned = false;
                } else if !self.orphaned && self.pos > Pos::ZERO {
                    self.orphaned = true;
                    self.ready.push_back(Update::Orphaned);
                }
                if self.ready.is_empty() {
                    // A board of ours that the log is ahead of is about to fold, or about to be let go.
                    tokio::time::sleep(if ours { BEHIND } else { FOLLOW }).await;
                }
            }
        }
        Ok(())
    }

    /// Reads a page of the log, up to a place.
    ///
    /// No further than where the board was when we joined: what it said then (that the tree is quiet,
    /// say) comes between the entries of that moment and the next.
    async fn read(&mut self, upto: Pos) -> Result<(), StoreError> {
        let entries = self.store.entries(&self.tree, self.pos, PAGE).await?;
        let wanted = entries
            .into_iter()
            .take_while(|entry| entry.pos <= upto || planted(Bug::StaleIdle));
        self.ready
            .extend(wanted.map(|entry| Update::Entry(Arc::new(entry))));
        Ok(())
    }
}

fn is_wanted(update: &Update, detail: Detail) -> bool {
    detail == Detail::All || update.is_news()
}

fn join(board: &Arc<Board>, detail: Detail) -> Source {
    let (snapshot, updates) = board.join(detail);
    let doing = snapshot.activities.into_iter();
    let mut then: Vec<Update> = doing
        .map(|(id, activity)| Update::Activity(id, activity))
        .collect();
    then.extend(snapshot.open.into_iter().map(Update::Delta));
    then.extend(snapshot.outputs.into_iter().map(Update::Output));
    if snapshot.idle {
        then.push(Update::Idle);
    }
    Source::Behind {
        board: Arc::downgrade(board),
        updates,
        upto: snapshot.pos,
        then,
    }
}

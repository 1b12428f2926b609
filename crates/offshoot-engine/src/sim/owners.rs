//! Which process owned each tree when, and what was done to it.
//!
//! A run may be lost, and a session may give its tree up, only because of an injected cause: the
//! owner died, its lock was stolen, or one of its writes found the disk full. The disk notes every
//! ownership and every cause; a loss without a cause fails the history.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use offshoot_store::{Write, Written};
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, Epoch, TreeId};
use offshoot_types::settlement::Status;
use offshoot_types::store::StoreError;

/// The ownerships of all trees of a history, in order.
#[derive(Default)]
pub(super) struct Owners {
    trees: Mutex<BTreeMap<TreeId, Vec<Ownership>>>,
    dead: Mutex<BTreeSet<u32>>,
}

struct Ownership {
    epoch: Epoch,
    process: u32,
    /// Its lock was stolen, or a write of it was refused.
    is_disturbed: bool,
    is_released: bool,
    /// Its process has worked, and not only recovered what another left.
    has_worked: bool,
}

/// What the ownerships have to know of a write once it is committed.
pub(super) struct Noted {
    tree: TreeId,
    epoch: Option<Epoch>,
    /// An agent whose run it settles as lost.
    loses: Option<AgentId>,
    /// Whether it writes of work.
    works: bool,
}

impl Noted {
    pub(super) fn of(write: &Write) -> Self {
        let (tree, epoch, append) = match write {
            Write::Append(tree, epoch, append) => (tree, Some(*epoch), Some(append)),
            Write::Release(tree, epoch)
            | Write::Delete(tree, epoch)
            | Write::Journal(tree, epoch, _) => (tree, Some(*epoch), None),
            Write::Claim(tree) | Write::Create(tree, _) => (tree, None, None),
            Write::Submit(command, _) => (&command.tree, None, None),
        };
        let is_loss = |event: &Event| {
            matches!(event, Event::Settled { settlement, .. }
                if matches!(settlement.status, Status::Lost { .. }))
        };
        let is_work = |event: &Event| {
            matches!(
                event,
                Event::TurnStarted { .. } | Event::Replied(_) | Event::CallStarted { .. }
            )
        };
        let entries = || append.into_iter().flat_map(|append| &append.entries);
        let loses = entries().find(|new| is_loss(&new.event));
        Self {
            tree: tree.clone(),
            epoch,
            loses: loses.map(|new| new.agent.clone()),
            works: entries().any(|new| is_work(&new.event)),
        }
    }
}

impl Owners {
    /// Notes what a commit of a process came to; an error names a loss that has no cause.
    pub(super) fn committed(
        &self,
        process: u32,
        noted: &Noted,
        result: &Result<Written, StoreError>,
    ) -> Result<(), String> {
        let mut trees = self.trees.lock().unwrap();
        let owned = trees.entry(noted.tree.clone()).or_default();
        match result {
            Ok(Written::Claimed(epoch) | Written::Created(epoch, _)) => owned.push(Ownership {
                epoch: *epoch,
                process,
                is_disturbed: false,
                is_released: false,
                has_worked: false,
            }),
            Ok(Written::Released(true)) => {
                let released = owned.iter_mut().filter(|it| Some(it.epoch) == noted.epoch);
                released.for_each(|ownership| ownership.is_released = true);
            }
            Ok(Written::Appended(_)) => {
                let own = owned.iter_mut().find(|it| Some(it.epoch) == noted.epoch);
                own.into_iter()
                    .for_each(|own| own.has_worked |= noted.works);
                if let Some(agent) = &noted.loses
                    && !noted.epoch.is_some_and(|epoch| self.may_lose(owned, epoch))
                {
                    return Err(format!(
                        "a run of {agent} was lost, and nothing had happened to its process"
                    ));
                }
            }
            Ok(_) | Err(_) => {}
        }
        Ok(())
    }

    /// Tells whether something has happened to the last owner before an epoch that had worked, or to
    /// one after it that may have been recovering what that one left.
    fn may_lose(&self, owned: &[Ownership], epoch: Epoch) -> bool {
        for former in owned.iter().rev().filter(|it| it.epoch < epoch) {
            if self.has_cause(former) {
                return true;
            }
            if former.has_worked {
                return false;
            }
        }
        // Its process has created the tree, and the client had gone before a session began.
        true
    }

    fn has_cause(&self, ownership: &Ownership) -> bool {
        let died = self.dead.lock().unwrap().contains(&ownership.process);
        !ownership.is_released && (ownership.is_disturbed || died)
    }

    /// Notes that the lock of a tree was stolen, or that a write to it was refused.
    pub(super) fn disturbed(&self, tree: &TreeId) {
        let mut trees = self.trees.lock().unwrap();
        if let Some(last) = trees.get_mut(tree).and_then(|owned| owned.last_mut()) {
            last.is_disturbed = true;
        }
    }

    /// Notes the same of the tree of a write.
    pub(super) fn refused(&self, noted: &Noted) {
        self.disturbed(&noted.tree);
    }

    pub(super) fn died(&self, process: u32) {
        self.dead.lock().unwrap().insert(process);
    }

    /// Tells whether a process has a reason to have given a tree up.
    pub(super) fn may_park(&self, tree: &TreeId, process: u32) -> bool {
        let trees = self.trees.lock().unwrap();
        let mut owned = trees.get(tree).into_iter().flatten();
        let died = self.dead.lock().unwrap().contains(&process);
        died || owned.any(|ownership| ownership.process == process && ownership.is_disturbed)
    }
}

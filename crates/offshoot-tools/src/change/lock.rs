//! Taking turns on a path, within this process.
//!
//! One lock for each path that somebody holds or waits for, and none for any
//! other: the last one to let go removes it. Paths do not wait for each other.
//! Other processes do not see these locks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

static TURNS: Mutex<BTreeMap<String, Arc<Turn<()>>>> = Mutex::new(BTreeMap::new());

/// The right to change a path, until dropped.
pub(super) struct Lock {
    /// Dropped before the place, so that whoever is last finds nobody else.
    _turn: OwnedMutexGuard<()>,
    _place: Place,
}

/// A place in the queue of a path.
struct Place {
    path: String,
    turn: Arc<Turn<()>>,
}

/// Waits for the path's turn; giving up is dropping the future.
pub(super) async fn acquire(path: &str) -> Lock {
    let place = Place::take(path);
    let turn = Arc::clone(&place.turn).lock_owned().await;
    Lock {
        _turn: turn,
        _place: place,
    }
}

impl Place {
    fn take(path: &str) -> Self {
        let turn = Arc::clone(turns().entry(path.to_owned()).or_default());
        let path = path.to_owned();
        Self { path, turn }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut turns = turns();
        // The table's and this one; others are only made under the table's lock.
        if Arc::strong_count(&self.turn) == 2 {
            turns.remove(&self.path);
        }
    }
}

fn turns() -> MutexGuard<'static, BTreeMap<String, Arc<Turn<()>>>> {
    // Nothing that could panic half way is done under it.
    TURNS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::{Pin, pin};
    use std::task::Poll;

    use super::*;

    async fn is_ready(mut future: Pin<&mut impl Future>) -> bool {
        poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await
    }

    #[tokio::test]
    async fn a_path_is_held_by_one_and_others_do_not_wait_for_it() {
        let held = acquire("/lock/a").await;
        let mut next = pin!(acquire("/lock/a"));
        assert!(!is_ready(next.as_mut()).await);
        drop(acquire("/lock/b").await);
        drop(held);
        drop(next.await);
    }

    #[tokio::test]
    async fn nothing_is_kept_of_a_path_that_nobody_wants() {
        let is_known = |path: &str| turns().contains_key(path);
        let held = acquire("/lock/c").await;
        {
            let mut gives_up = pin!(acquire("/lock/c"));
            assert!(!is_ready(gives_up.as_mut()).await);
        }
        assert!(is_known("/lock/c"));
        drop(held);
        assert!(!is_known("/lock/c"));

        let held = acquire("/lock/c").await;
        {
            let mut gives_up = Box::pin(acquire("/lock/c"));
            assert!(!is_ready(gives_up.as_mut()).await);
            drop(held);
            assert!(is_known("/lock/c"));
        }
        assert!(!is_known("/lock/c"));
    }
}

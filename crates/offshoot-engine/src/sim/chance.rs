//! All randomness of a history, from one seed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A source of draws that all parts of a history share.
#[derive(Clone)]
pub(crate) struct Chance(Arc<Mutex<u64>>);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66,
        )))
    }

    /// Draws a number (splitmix64).
    pub(crate) fn draw(&self) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&self, limit: usize) -> usize {
        (self.draw() % limit.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Lets others go first for a while: some yields, or a virtual delay that is never quite equal.
    pub(crate) async fn pause(&self) {
        match self.below(4) {
            0 => {}
            1 | 2 => {
                for _ in 0..=self.below(3) {
                    tokio::task::yield_now().await;
                }
            }
            _ => tokio::time::sleep(Duration::from_micros(1 + self.draw() % 5_000)).await,
        }
    }
}

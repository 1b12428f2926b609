//! Sums of tokens.

use offshoot_types::message::Usage;

#[test]
fn sums_of_absurd_counts_stop_at_the_largest_number() {
    let most = Usage {
        input: u64::MAX,
        output: u64::MAX - 1,
        reasoning: 0,
        cache_read: 1,
        cache_write: u64::MAX,
    };
    let mut sum = most;
    sum += most;
    let expected = Usage {
        output: u64::MAX,
        cache_read: 2,
        ..most
    };
    assert_eq!(sum, expected);
    assert_eq!(sum.total(), u64::MAX);
    assert_eq!(sum.at_most(7).total(), 7 + 7 + 2 + 7);
}

//! Whole numbers, as models write them.
//!
//! To JSON `2` and `2.0` are one number, and a schema that says `integer` takes
//! both. What is not whole is refused in words about numbers, not about types.

use std::num::NonZeroUsize;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::Number;

/// Takes a whole number from 1 on, or none.
pub(crate) fn from_one<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<NonZeroUsize>, D::Error> {
    let read = |whole| NonZeroUsize::new(usize::try_from(whole).ok()?);
    take(deserializer, "whole number from 1 on", read)
}

/// Takes a whole number from 0 on, or none, for who says more of what it may be.
pub(crate) fn from_zero<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    take(deserializer, "whole number", Some)
}

fn take<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    what: &str,
    read: impl Fn(u64) -> Option<T>,
) -> Result<Option<T>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let refuse = || D::Error::custom(format!("invalid value: {number} is no {what}"));
    whole(&number).and_then(read).map(Some).ok_or_else(refuse)
}

/// Returns a number that is whole and not below zero, whichever way it is written.
fn whole(number: &Number) -> Option<u64> {
    /// Up to here every whole number has a form with a point of its own.
    const MOST: f64 = 9_007_199_254_740_992.0;
    let with_point = || {
        let value = number.as_f64()?;
        let is_whole = value.fract() == 0.0 && (0.0..=MOST).contains(&value);
        is_whole.then_some(value as u64)
    };
    number.as_u64().or_else(with_point)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_whole_whichever_way_it_is_written() {
        let check = |text: &str, expected: Option<usize>| {
            let mut deserializer = serde_json::Deserializer::from_str(text);
            let taken = from_one(&mut deserializer).ok().flatten();
            assert_eq!(taken.map(NonZeroUsize::get), expected, "{text}");
        };
        check("2", Some(2));
        check("2.0", Some(2));
        check("2e3", Some(2000));
        check("null", None);
        for refused in ["0", "0.0", "-1", "2.5", "1e300", "\"2\""] {
            check(refused, None);
        }
    }
}

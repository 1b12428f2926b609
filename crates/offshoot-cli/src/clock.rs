//! Times for people: of a day, how long ago, how long it took.
//!
//! Dates and the form for wires are in `offshoot_types::date`.

pub(crate) use offshoot_types::date::{date, iso};
use offshoot_types::id::Timestamp;

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Renders a time of day as `18:41:35`.
pub(crate) fn time(at: Timestamp) -> String {
    iso(at)[11..19].to_owned()
}

/// Renders how long ago something was, in its largest unit: `45s`, `3m`, `2h`, `9d`.
pub(crate) fn age(then: Timestamp, now: Timestamp) -> String {
    let passed = now.get().saturating_sub(then.get());
    match passed {
        0..MINUTE => format!("{}s", passed / SECOND),
        MINUTE..HOUR => format!("{}m", passed / MINUTE),
        HOUR..DAY => format!("{}h", passed / HOUR),
        DAY.. => format!("{}d", passed / DAY),
    }
}

/// Renders a span: `12ms`, `1.5s`, `3m 20s`.
pub(crate) fn span(milliseconds: u64) -> String {
    match milliseconds {
        0..SECOND => format!("{milliseconds}ms"),
        SECOND..MINUTE => format!("{}.{}s", milliseconds / SECOND, milliseconds % SECOND / 100),
        MINUTE.. => format!(
            "{}m {}s",
            milliseconds / MINUTE,
            milliseconds % MINUTE / SECOND
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_spans_are_short() {
        let at = Timestamp::new;
        assert_eq!(age(at(10), at(5)), "0s");
        assert_eq!(age(at(0), at(59_999)), "59s");
        assert_eq!(age(at(0), at(HOUR - 1)), "59m");
        assert_eq!(age(at(0), at(DAY - 1)), "23h");
        assert_eq!(age(at(0), at(40 * DAY)), "40d");
        assert_eq!(span(999), "999ms");
        assert_eq!(span(1_540), "1.5s");
        assert_eq!(span(200_000), "3m 20s");
    }
}

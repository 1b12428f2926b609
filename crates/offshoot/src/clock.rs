//! Times for people and for wires.
//!
//! UTC only and by hand: the two forms that are needed do not pay for a library.

use offshoot_types::id::Timestamp;

pub(crate) use crate::date::date;

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Renders a time as `2026-11-15T18:41:35.175Z`.
pub(crate) fn iso(at: Timestamp) -> String {
    let of_day = at.get() % DAY;
    format!(
        "{}T{:02}:{:02}:{:02}.{:03}Z",
        date(at),
        of_day / HOUR,
        of_day % HOUR / MINUTE,
        of_day % MINUTE / SECOND,
        of_day % SECOND
    )
}

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

    #[track_caller]
    fn check(at: u64, expected: &str) {
        assert_eq!(iso(Timestamp::new(at)), expected);
    }

    #[test]
    fn times_are_rendered_in_utc_with_milliseconds() {
        check(0, "1970-01-01T00:00:00.000Z");
        check(999, "1970-01-01T00:00:00.999Z");
        check(951_782_399_999, "2000-02-28T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(951_868_800_000, "2000-03-01T00:00:00.000Z");
        check(1_709_164_800_000, "2024-02-29T00:00:00.000Z");
        check(1_735_689_599_123, "2024-12-31T23:59:59.123Z");
        check(1_735_689_600_000, "2025-01-01T00:00:00.000Z");
        check(1_794_768_095_175, "2026-11-15T18:41:35.175Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
        check(253_402_300_799_999, "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn every_day_of_four_centuries_follows_the_one_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for number in 0..146_097 {
            let expected = format!("{year:04}-{month:02}-{day:02}");
            assert_eq!(date(Timestamp::new(number * DAY)), expected);
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 if leap => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }

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

//! The two forms of a time that agents, clients and people see, by hand: they do not pay for a library.
//!
//! UTC only.

use crate::id::Timestamp;

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Renders a time as `2026-11-15T18:41:35.175Z`.
pub fn iso(at: Timestamp) -> String {
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

/// Renders a time's date as `2026-11-15`.
pub fn date(at: Timestamp) -> String {
    // Counted in years that begin in March, so that a leap day is a year's last day, and from the
    // year 0, so that every 400 years look alike.
    let days = at.get() / DAY + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + carry)
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
}

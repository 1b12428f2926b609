//! The date that agents are shown, by hand: one form does not pay for a library.
//!
//! UTC only. Both targets of this package open sessions, so both have this file as a module; other
//! forms of time are the command line's, in `clock`, which also tests this one.

use offshoot_types::id::Timestamp;

/// Milliseconds of a day.
const DAY: u64 = 24 * 60 * 60 * 1000;

/// Renders a time's date as `2026-11-15`.
pub(crate) fn date(at: Timestamp) -> String {
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

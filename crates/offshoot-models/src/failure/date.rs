//! The dates of HTTP headers, as seconds that can be subtracted.
//!
//! Only the form that servers are told to send (`Sun, 06 Nov 1994 08:49:37 GMT`);
//! the two forms from before 1995 are read by nobody here. Not a calendar: leap
//! seconds and nonsense such as 31 February are not looked for.

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Returns the seconds from the first of March of the year 0 to a date.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let (_weekday, rest) = text.trim().split_once(", ")?;
    let [day, month, year, time, "GMT"] = rest.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    // Bounded, so that no sum overflows.
    let number = |text: &str, most: u64| text.parse::<u64>().ok().filter(|number| *number <= most);
    let [hours, minutes, seconds] = time.split(':').collect::<Vec<_>>()[..] else {
        return None;
    };
    let month = MONTHS.iter().position(|name| *name == month)? as u64;
    // Years begin in March here, so that the day that may be missing is their last.
    let month_from_march = (month + 10) % 12;
    let year = number(year, 9999)?.checked_sub(u64::from(month < 2))?;
    let days_of_years = year * 365 + year / 4 - year / 100 + year / 400;
    let days_of_months = (153 * month_from_march + 2) / 5;
    let days = days_of_years + days_of_months + number(day, 31)?;
    let day_seconds = number(hours, 23)? * 3600 + number(minutes, 59)? * 60;
    // The last second of a day may be one more.
    Some(days * 86_400 + day_seconds + number(seconds, 60)?)
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[track_caller]
    fn check(from: &str, to: &str, apart: u64) {
        assert_eq!(seconds(to).unwrap() - seconds(from).unwrap(), apart);
    }

    #[test]
    fn dates_are_as_far_apart_as_their_clocks_say() {
        let day = 86_400;
        check(
            "Tue, 17 Nov 2026 03:14:00 GMT",
            "Tue, 17 Nov 2026 03:14:07 GMT",
            7,
        );
        check(
            "Thu, 31 Dec 2026 23:59:59 GMT",
            "Fri, 01 Jan 2027 00:00:00 GMT",
            1,
        );
        check(
            "Mon, 28 Feb 2028 00:00:00 GMT",
            "Wed, 01 Mar 2028 00:00:00 GMT",
            2 * day,
        );
        check(
            "Sun, 28 Feb 2027 00:00:00 GMT",
            "Mon, 01 Mar 2027 00:00:00 GMT",
            day,
        );
        check(
            "Thu, 01 Jan 1970 00:00:00 GMT",
            "Tue, 17 Nov 2026 00:00:00 GMT",
            1_794_873_600,
        );
    }

    #[test]
    fn what_is_no_date_of_that_form_is_none() {
        for text in [
            "",
            "5",
            "Tue, 17 Nov 2026",
            "Tue, 17 Nov 2026 03:14 GMT",
            "Tue, 17 Now 2026 03:14:00 GMT",
            "Tue, 17 Nov 2026 03:14:00 CET",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Tue, x Nov 99999999999999999999 03:14:00 GMT",
            "Tue, 17 Nov 18446744073709551615 03:14:00 GMT",
            "Tue, 17 Nov 50000000000000000 03:14:00 GMT",
            "Tue, 18446744073709551615 Nov 2026 03:14:00 GMT",
            "Tue, 17 Nov 2026 18446744073709551615:14:00 GMT",
            "Tue, 17 Nov 2026 03:18446744073709551615:00 GMT",
            "Tue, 17 Nov 2026 03:14:18446744073709551615 GMT",
            "Tue, 32 Nov 2026 03:14:00 GMT",
            "Tue, 17 Nov 2026 24:14:00 GMT",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}

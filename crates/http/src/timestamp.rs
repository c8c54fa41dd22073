//! Timestamps as people and programs write them: RFC 3339, in UTC, to the millisecond.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aldis_control::Time;

const DAY_S: u64 = 86_400;

/// Turns the controller's times into dates. Both clocks are read once, so that a time has one date,
/// always.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calendar {
    /// The date of [`Time::START`], after 1970.
    start: Duration,
}

impl Calendar {
    /// It is `now` on the controller's clock.
    pub(crate) fn new(now: Time) -> Calendar {
        let date = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Calendar { start: date.saturating_sub(now.since(Time::START)) }
    }

    /// Names this run of the controller among all others: when it started, in hexadecimal
    /// milliseconds.
    pub(crate) fn run(&self) -> String {
        format!("{:x}", self.start.as_millis())
    }

    /// Milliseconds of a moment since 1970.
    pub(crate) fn millis(&self, moment: Time) -> u64 {
        (self.start + moment.since(Time::START)).as_millis() as u64
    }

    /// The date of a moment.
    pub(crate) fn date(&self, moment: Time) -> String {
        rfc3339(self.start + moment.since(Time::START))
    }
}

/// The date of a moment that is so long after 1970.
pub(crate) fn rfc3339(since_1970: Duration) -> String {
    let (days, second) = (since_1970.as_secs() / DAY_S, since_1970.as_secs() % DAY_S);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let mut text = *b"0000-00-00T00:00:00.000Z";
    let ms = since_1970.subsec_millis().into();
    let parts = [(0..4, year), (5..7, month), (8..10, day), (11..13, hour), (14..16, minute)];
    for (place, number) in parts.into_iter().chain([(17..19, second), (20..23, ms)]) {
        write_digits(&mut text[place], number);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The last digits of a number, as many as there is room for. A list of ten thousand hosts has
/// twenty thousand dates; with `format!` they and the addresses were a third of its time.
fn write_digits(place: &mut [u8], mut number: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Year, month and day of a day after 1970-01-01, in the Gregorian calendar: eras of 400 years, and
/// years that begin in March, so that the odd day comes last.
pub fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00.250Z"),
            (951_782_399, "2000-02-28T23:59:59.250Z"),
            (951_782_400, "2000-02-29T00:00:00.250Z"),
            (1_709_251_199, "2024-02-29T23:59:59.250Z"),
            (1_709_251_200, "2024-03-01T00:00:00.250Z"),
            (4_107_542_400, "2100-03-01T00:00:00.250Z"),
            (1_798_761_599, "2026-12-31T23:59:59.250Z"),
        ] {
            assert_eq!(rfc3339(Duration::new(seconds, 250_000_000)), date);
        }
    }

    #[test]
    fn a_moment_has_one_date() {
        let calendar = Calendar::new(Time(5_000_000_000));
        assert_eq!(calendar.date(Time(1_000_000_000)), calendar.date(Time(1_000_000_000)));
        assert!(calendar.date(Time(1_000_000_000)) < calendar.date(Time(1_001_000_000)));
    }
}

//! Up to when a recording is played.

use std::str::FromStr;

use super::look::RecordingLook;

const SECOND_NS: u64 = 1_000_000_000;

/// A time, as the command line says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PlayUntil {
    /// Nanoseconds from the beginning of the recording.
    From(u64),
    /// Nanoseconds since 1970.
    Of(u64),
}

impl FromStr for PlayUntil {
    type Err = String;

    fn from_str(text: &str) -> Result<PlayUntil, String> {
        let read = match text.strip_suffix('Z').and_then(|text| text.split_once('T')) {
            Some((day, time)) => moment(day, time).map(PlayUntil::Of),
            None => seconds(text).map(PlayUntil::From),
        };
        read.ok_or_else(|| {
            "a time is seconds from the beginning, as 12.5, or a time of day in UTC, as \
             2026-11-26T11:51:43Z"
                .into()
        })
    }
}

impl PlayUntil {
    /// The time since the start of the controller.
    ///
    /// # Errors
    /// One sentence: the recording begins later.
    pub(super) fn at_ns(self, look: &RecordingLook) -> Result<u64, String> {
        match self {
            PlayUntil::From(ns) => Ok(look.begin_ns.saturating_add(ns)),
            PlayUntil::Of(ns) => ns
                .checked_sub(look.started_ns)
                .filter(|at| *at >= look.begin_ns)
                .ok_or_else(|| "--until: the recording begins later than that".into()),
        }
    }
}

/// Seconds with a fraction, in nanoseconds: up to some years.
fn seconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty()
        || whole.len() > 9
        || fraction.len() > 9
        || !digits(whole)
        || !digits(fraction)
    {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<9}").parse().ok()?;
    Some(whole.parse::<u64>().ok()? * SECOND_NS + fraction)
}

/// A day, as 2026-11-26, and a time, as 11:51:43.5, in nanoseconds since 1970.
fn moment(day: &str, time: &str) -> Option<u64> {
    let numbers = |text: &str, between| {
        let parts: Option<Vec<u64>> = text.split(between).map(|part| part.parse().ok()).collect();
        parts.and_then(|parts| <[u64; 3]>::try_from(parts).ok())
    };
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let ([year, month, day], [hour, minute, second]) = (numbers(day, '-')?, numbers(clock, ':')?);
    let fits = (1970..=2500).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let within = seconds(&format!("{}.{fraction}", hour * 3600 + minute * 60 + second));
    let whole = days(year, month, day) * 86_400 * SECOND_NS;
    within.filter(|_| fits).map(|within| whole + within)
}

/// Days from 1970 to a day: of years that begin in March, so that the leap day is their last.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_years = year * 365 + year / 4 - year / 100 + year / 400;
    // From 1 March of year 0 to 1970.
    of_years + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_seconds_or_a_moment() {
        let read = |text: &str| text.parse::<PlayUntil>();
        assert_eq!(read("12.5"), Ok(PlayUntil::From(12_500_000_000)));
        assert_eq!(read("0"), Ok(PlayUntil::From(0)));
        assert_eq!(read("1970-01-01T00:00:01Z"), Ok(PlayUntil::Of(SECOND_NS)));
        assert_eq!(read("2000-03-01T00:00:00Z"), Ok(PlayUntil::Of(951_868_800 * SECOND_NS)));
        assert_eq!(
            read("2026-11-26T11:51:43.5Z"),
            Ok(PlayUntil::Of(1_795_693_903 * SECOND_NS + SECOND_NS / 2))
        );
        for text in ["", ".", "-1", "1e3", "11:51", "2026-11-26", "2026-13-26T11:51:43Z", "Z", "TZ"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }
}

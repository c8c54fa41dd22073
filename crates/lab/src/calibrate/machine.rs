//! The machine, as far as costs depend on it, and the day.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use aldis_engine::pin;
use serde::{Deserialize, Serialize};

/// A machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineInfo {
    /// The model of its processor, as the kernel names it; the architecture where the kernel does
    /// not.
    pub cpu: String,
    /// Cores that could be used.
    pub cores: usize,
    /// The kernel: `Linux 6.12.0`.
    pub kernel: String,
}

impl MachineInfo {
    /// The machine that this runs on.
    pub fn here() -> MachineInfo {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let model = model(&read("/proc/cpuinfo")).unwrap_or(std::env::consts::ARCH.into());
        let release = read("/proc/sys/kernel/osrelease");
        MachineInfo {
            cpu: model,
            cores: pin::cores().len().max(1),
            kernel: format!("Linux {}", release.trim()),
        }
    }
}

/// The first processor's model.
fn model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    let (_, model) = line.split_once(':')?;
    Some(model.trim().to_owned()).filter(|model| !model.is_empty())
}

/// The day, UTC: `2026-11-21`.
pub fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs() / 86_400)
}

/// The date `days` after 1970-01-01, of the Gregorian calendar: counted from a March, so that the
/// leap day comes last.
fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_the_dates_of_the_calendar() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (19_722, "2023-12-31"),
            (20_778, "2026-11-21"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(date(days), expected);
        }
    }

    #[test]
    fn the_model_is_found_where_there_is_one() {
        let text = "processor\t: 0\nmodel\t\t: 207\nmodel name\t: A Processor\n\nprocessor\t: 1\n";
        assert_eq!(model(text).as_deref(), Some("A Processor"));
        assert_eq!(model("processor\t: 0\nmodel name\t: \n"), None);
        assert!(!MachineInfo::here().cpu.is_empty());
    }
}

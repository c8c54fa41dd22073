//! A calibration as a file: TOML that a person can read, and that is read back.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{fmt, process};

use aldis_engine::sim::COST_MAX;
use serde::{Deserialize, Deserializer, de};

use super::{Calibration, CostQuartiles, MachineInfo, StepCosts};

/// The least cost that is taken for one, in its field's unit.
pub const COST_MIN: f64 = 0.1;

/// The largest file that is read, in bytes.
const FILE_MAX: u64 = 64 * 1024;

/// The sentence that says which file cannot be used and why, with the line and the key where it is
/// about one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CostsFileError(String);

impl fmt::Display for CostsFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Calibration {
    /// Reads a file that [`Calibration::write`] wrote, or that was written like it by hand.
    ///
    /// # Errors
    /// Which file, line and key are wrong, and why.
    pub fn read(path: &Path) -> Result<Calibration, CostsFileError> {
        let shown = path.display();
        let failed = |error: io::Error| CostsFileError(format!("cannot read {shown}: {error}"));
        if fs::metadata(path).map_err(failed)?.len() > FILE_MAX {
            let why = format!("{shown} is larger than {FILE_MAX} bytes, and so no file of costs");
            return Err(CostsFileError(why));
        }
        let text = fs::read_to_string(path).map_err(failed)?;
        Calibration::parse(&text).map_err(|why| CostsFileError(format!("{shown}:{why}")))
    }

    /// The same from its text; the error begins with the line.
    fn parse(text: &str) -> Result<Calibration, String> {
        let record: Record = toml::from_str(text).map_err(|error| explain(text, &error))?;
        Ok(Calibration {
            aldis: record.aldis,
            date: record.date,
            machine: record.machine,
            costs: record.costs.map(|Cost(cost)| cost),
        })
    }
}

impl Calibration<CostQuartiles> {
    /// Without the spread: what a file keeps.
    pub fn values(&self) -> Calibration {
        Calibration {
            aldis: self.aldis.clone(),
            date: self.date.clone(),
            machine: self.machine.clone(),
            costs: self.costs.map(|spread| spread.value),
        }
    }

    /// Writes the file whole or not at all; one that is there is replaced.
    ///
    /// # Errors
    /// What the system refuses, with the file's name.
    pub fn write(&self, path: &Path) -> Result<(), CostsFileError> {
        let draft = CostsDraft::of(path)?;
        let failed =
            |error: io::Error| CostsFileError(format!("cannot write {}: {error}", path.display()));
        let mut file = File::create(&draft.0).map_err(failed)?;
        file.write_all(self.text().as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        fs::rename(&draft.0, path).map_err(failed)
    }

    /// The file's text.
    fn text(&self) -> String {
        let Calibration { aldis, date, machine, costs } = self;
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let mut text = format!(
            "# What the steps of a worker cost on one machine: measured by aldis lab calibrate, with the quartiles behind\n\
             # them. _ns is nanoseconds, _ps is picoseconds, _pct is percent.\n\n\
             aldis = {}\ndate = {}\n\n[machine]\ncpu = {}\ncores = {}\nkernel = {}\n\n[costs]\n",
            quoted(aldis),
            quoted(date),
            quoted(&machine.cpu),
            machine.cores,
            quoted(&machine.kernel),
        );
        for row in costs.rows() {
            text += &match row.cost {
                Some(CostQuartiles { value, low, high, .. }) => {
                    let value = format!("{} = {value:.1}", row.name);
                    format!("{value:<28}# {low:.1} to {high:.1}: {}\n", row.words)
                }
                None => format!("# {} was not measured: {}\n", row.name, row.words),
            };
        }
        text
    }
}

/// Says before anything is measured whether a calibration could be written to `path`. A file that
/// is there has to be one of costs: nothing else is overwritten.
///
/// # Errors
/// Why not.
pub fn check(path: &Path) -> Result<(), CostsFileError> {
    let shown = path.display();
    if path.exists() {
        Calibration::read(path).map_err(|why| {
            CostsFileError(format!(
                "{why}; {shown} is not overwritten: remove it or name another file"
            ))
        })?;
    }
    let draft = CostsDraft::of(path)?;
    let made = File::create(&draft.0);
    made.map_err(|error| CostsFileError(format!("cannot write {shown}: {error}"))).map(drop)
}

/// A file beside the one that is meant, gone in the end unless it took that one's place.
struct CostsDraft(PathBuf);

impl CostsDraft {
    fn of(path: &Path) -> Result<CostsDraft, CostsFileError> {
        let no_file =
            || CostsFileError(format!("cannot write {}: it names no file", path.display()));
        let mut name = path.file_name().ok_or_else(no_file)?.to_owned();
        name.push(format!(".{}", process::id()));
        Ok(CostsDraft(path.with_file_name(name)))
    }
}

impl Drop for CostsDraft {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A file's content.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    aldis: String,
    date: String,
    machine: MachineInfo,
    costs: StepCosts<Cost>,
}

/// A cost within bounds.
#[derive(Clone, Copy)]
struct Cost(f64);

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let cost = f64::deserialize(from)?;
        if !(COST_MIN..=COST_MAX).contains(&cost) {
            let why = format!("{cost} is no cost; accepted are {COST_MIN} to {COST_MAX}");
            return Err(de::Error::custom(why));
        }
        Ok(Cost(cost))
    }
}

/// `LINE: KEY: what is wrong`, as far as the error says where it is.
fn explain(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().lines().collect::<Vec<_>>().join("; ");
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else {
        return format!(" {message}");
    };
    let line = before.matches('\n').count();
    let key = text.lines().nth(line).and_then(|line| line.split_once('=')).map(|(key, _)| key);
    match key {
        Some(key) => format!("{}: {}: {message}", line + 1, key.trim()),
        None => format!("{}: {message}", line + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Middle;
    use super::*;
    use proptest::prelude::*;

    fn some(cores: usize) -> Calibration<CostQuartiles> {
        let middle = Middle::Median;
        let row =
            |at: f64| CostQuartiles { value: at, middle, low: at - 0.1, high: at + 0.1, rounds: 5 };
        let two = (cores > 1).then_some(());
        Calibration {
            aldis: "0.1.0".into(),
            date: "2026-11-21".into(),
            machine: MachineInfo {
                cpu: "A \"quoted\" processor".into(),
                cores,
                kernel: "Linux 6.12.0".into(),
            },
            costs: StepCosts {
                poll_ns: row(200.1),
                poll_event_ns: row(50.2),
                read_ns: row(700.3),
                read_byte_ps: row(80.4),
                empty_read_ns: row(150.5),
                write_ns: row(2000.6),
                write_byte_ps: row(120.7),
                full_read_ns: row(900.3),
                full_read_byte_ps: row(140.4),
                full_write_ns: row(2100.6),
                full_write_byte_ps: row(125.7),
                joined_ns: row(180.2),
                wake_ns: row(4000.8),
                ring_ns: row(900.9),
                batch_ns: row(60.0),
                gather_ns: row(3.7),
                request_ns: row(18.2),
                visit_ns: Some(row(60.5)),
                finish_pct: two.map(|()| row(39.5)),
                run_ns: Some(row(61.5)),
                send_ns: Some(row(62.5)),
                crowd_read_ns: two.map(|()| row(300.5)),
                crowd_read_byte_ps: two.map(|()| row(60.5)),
                crowd_write_ns: two.map(|()| row(700.5)),
                crowd_write_byte_ps: two.map(|()| row(9.5)),
                crowd_batch_ns: two.map(|()| row(90.5)),
                crowd_request_ns: two.map(|()| row(5.5)),
                waver_pct: row(12.5),
                away_pct: row(2.5),
                away_ns: row(7000.5),
                line_transfer_ns: two.map(|()| row(90.3)),
                moved_visit_ns: two.map(|()| row(100.5)),
                hand_ns: two.map(|()| row(101.5)),
                handed_visit_ns: two.map(|()| row(102.5)),
                handed_byte_ps: two.map(|()| row(103.5)),
                pull_ns: two.map(|()| row(104.5)),
                pulled_visit_ns: two.map(|()| row(105.5)),
                pulled_byte_ps: two.map(|()| row(106.5)),
                cas_ns: row(6.4),
                contended_cas_ns: two.map(|()| row(150.5)),
                round_trip_ns: row(9000.6),
            },
        }
    }

    /// The refusal of the text of [`some`] with one line changed.
    fn refusal(key: &str, instead: &str) -> String {
        let line = |line: &str| match line.starts_with(&format!("{key} =")) {
            true => instead.to_owned(),
            false => line.to_owned(),
        };
        let text = some(2).text().lines().map(line).collect::<Vec<_>>().join("\n");
        assert!(text.contains(instead), "{key} was not found");
        Calibration::parse(&text).expect_err("it has to be refused")
    }

    #[test]
    fn what_is_written_is_read_again() {
        for cores in [1, 2] {
            let written = some(cores);
            assert_eq!(Calibration::parse(&written.text()).unwrap(), written.values());
        }
    }

    #[test]
    fn a_whole_number_is_a_cost_too() {
        let text = some(2).text().replace("poll_ns = 200.1", "poll_ns = 200");
        assert_eq!(Calibration::parse(&text).unwrap().costs.poll_ns, 200.0);
    }

    #[test]
    fn what_is_no_cost_is_refused_with_its_line() {
        for (value, shown) in [
            ("-3.0", "-3 is no cost"),
            ("0", "0 is no cost"),
            ("nan", "NaN is no cost"),
            ("inf", "inf is no cost"),
            ("2e9", "2000000000 is no cost"),
            ("\"fast\"", "invalid type"),
        ] {
            let refusal = refusal("read_ns", &format!("read_ns = {value}"));
            assert!(refusal.starts_with("15: read_ns: "), "{refusal}");
            assert!(refusal.contains(shown), "{refusal}");
        }
    }

    #[test]
    fn missing_and_unknown_keys_are_refused() {
        assert!(refusal("cas_ns", "").contains("missing field `cas_ns`"));
        let unknown = refusal("cas_ns", "cas_us = 1.0");
        assert!(unknown.contains("unknown field `cas_us`"), "{unknown}");
        assert!(unknown.starts_with("51: cas_us"), "{unknown}");
        assert!(refusal("cores", "cores = -1").starts_with("9: cores: "));
        assert!(refusal("cas_ns", "cas_ns = = 1").starts_with("51: "));
    }

    proptest! {
        #[test]
        fn no_text_is_more_than_refused(text in ".{0,200}", at in 0usize..1000) {
            let _ = Calibration::parse(&text);
            let mut broken = some(2).text();
            let at = (0..=at.min(broken.len())).rev().find(|&at| broken.is_char_boundary(at));
            broken.insert_str(at.unwrap_or(0), &text);
            let _ = Calibration::parse(&broken);
        }
    }
}

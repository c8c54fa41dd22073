//! A whole calibration, short, on whatever machine runs the tests.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use aldis_lab::calibrate::{
    self, Calibration, CalibrationFailure, CalibrationStep, Conditions, CostQuartiles, Middle,
};
use aldis_testkit::Folder;

const SHORT: Duration = Duration::from_millis(100);

/// Soon told, on a busy machine and without optimisation too.
const FEW: Conditions = Conditions { switches: 4, macs: 1_000 };

/// In ns, or ps: outside of these only a broken measurement lies, on a busy machine and without
/// optimisation too. What a byte or a batch costs may be too little to be told from nothing.
const SANE: std::ops::RangeInclusive<f64> = calibrate::COST_MIN..=1e7;

/// Two at once would wait for each other's cores.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One calibration for all tests that look at a whole one, and its steps.
fn whole() -> &'static (Calibration<CostQuartiles>, Vec<CalibrationStep>) {
    static WHOLE: OnceLock<(Calibration<CostQuartiles>, Vec<CalibrationStep>)> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let _alone = alone();
        let mut steps = Vec::new();
        let run = calibrate::run(SHORT, FEW, &AtomicBool::new(false), &mut |step| steps.push(step));
        (run.unwrap(), steps)
    })
}

#[test]
fn every_cost_is_measured_written_and_read_again() {
    let (measured, steps) = whole();
    assert_eq!(steps, &CalibrationStep::ALL);
    for row in measured.costs.rows() {
        let Some(CostQuartiles { value, middle, low, high, .. }) = row.cost else {
            assert_eq!(measured.machine.cores, 1, "{} is missing", row.name);
            continue;
        };
        assert!(SANE.contains(&value), "{}: {value}", row.name);
        let is_between = low <= value && value <= high;
        assert!(middle == Middle::Mean || is_between, "{}: {low} {value} {high}", row.name);
    }
    let folder = Folder::new("whole");
    let path = folder.join("costs.toml");
    calibrate::check(&path).unwrap();
    assert!(folder.names().is_empty(), "a check leaves nothing");
    measured.write(&path).unwrap();
    calibrate::check(&path).unwrap();
    assert_eq!(Calibration::read(&path).unwrap(), measured.values());
    assert_eq!(folder.names(), ["costs.toml"]);
}

#[test]
fn several_sittings_have_their_middle_and_quartiles() {
    let (one, _) = whole();
    let sitting = |factor: f64| {
        let change = |cost: CostQuartiles| CostQuartiles { value: cost.value * factor, ..cost };
        Calibration { costs: one.costs.map(change), ..one.clone() }
    };
    let together = Calibration::of(&[3.0, 1.0, 400.0, 2.0, 0.5].map(sitting));
    assert_eq!((&together.date, &together.machine), (&one.date, &one.machine));
    for (row, alone) in together.costs.rows().iter().zip(one.costs.rows()) {
        let (Some(cost), Some(alone)) = (row.cost, alone.cost) else { continue };
        let parts = [cost.low, cost.value, cost.high].map(|part| part / alone.value);
        let middle = match cost.middle {
            Middle::Median => 2.0,
            Middle::Mean => (3.0 + 1.0 + 400.0 + 2.0 + 0.5) / 5.0,
        };
        for (part, factor) in parts.iter().zip([1.0, middle, 3.0]) {
            // They are kept in tenths.
            assert!((part - factor).abs() * alone.value <= 0.06, "{}: {parts:?}", row.name);
        }
    }
}

#[test]
fn it_stops_in_the_middle() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let mut last = None;
    let stopped = calibrate::run(SHORT, FEW, &stop, &mut |step| {
        last = Some(step);
        stop.store(step == CalibrationStep::Exchange, Ordering::Relaxed);
    });
    assert!(matches!(stopped, Err(CalibrationFailure::Stopped)), "{stopped:?}");
    assert_eq!(last, Some(CalibrationStep::Exchange));
}

#[test]
fn nothing_but_costs_is_overwritten() {
    let folder = Folder::new("other");
    let path = folder.join("precious.toml");
    fs::write(&path, "listen = []\n").unwrap();
    let refused = calibrate::check(&path).unwrap_err().to_string();
    assert!(refused.contains("precious.toml:1: listen: unknown field `listen`"), "{refused}");
    assert!(refused.contains("is not overwritten"), "{refused}");
    let nowhere = calibrate::check(&folder.join("no/such/folder.toml")).unwrap_err();
    assert!(nowhere.to_string().contains("cannot write"), "{nowhere}");
    assert_eq!(folder.names(), ["precious.toml"]);
}

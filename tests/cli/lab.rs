//! `aldis lab` as a person runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use aldis_lab::calibrate::Calibration;
use aldis_testkit::Folder;
use rustix::process::{Pid, Signal, kill_process};

fn calibrate(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    command.args(["lab", "calibrate"]).args(args).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_file_holds_the_values_that_are_printed() {
    let folder = Folder::new("lab-json");
    let output = calibrate(&folder, &["--seconds", "1", "--json"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "no progress without a terminal: {output:?}");
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let kept = Calibration::read(&folder.join("costs.toml")).unwrap();
    assert_eq!(printed["date"], kept.date);
    assert_eq!(printed["machine"]["cores"], kept.machine.cores);
    for row in kept.costs.rows() {
        assert_eq!(printed["costs"][row.name]["value"].as_f64(), row.cost, "{}", row.name);
    }
}

#[test]
fn a_check_runs_what_it_predicts() {
    let folder = Folder::new("lab-check");
    let args = ["--seconds", "1", "--switches", "2", "--macs", "1000", "--check", "--json"];
    let output = calibrate(&folder, &args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let checked = printed["checked"].as_array().unwrap();
    let designs: Vec<_> = checked.iter().map(|row| row["design"].as_str().unwrap()).collect();
    match printed["machine"]["cores"].as_u64() {
        Some(1) => assert!(designs.is_empty()),
        _ => {
            let adaptive = ["fair-rounds", "maestro-static-partition", "maestro-round-robin"];
            let fixed = "maestro-round-robin batching=fixed ibt=1000";
            assert_eq!(designs, [&adaptive[..], &[fixed]].concat());
        }
    }
    assert_eq!(printed["verdict"].is_string(), !checked.is_empty(), "{printed}");
    for row in checked {
        assert!(row["off"].is_number() && row["fairness_off"].is_number(), "{row}");
        let verdict = printed["verdict"].as_str().unwrap();
        let is_named = verdict.contains(&format!("{} (", row["design"].as_str().unwrap()));
        assert_eq!(row["within"].as_bool(), Some(!is_named), "{verdict}: {row}");
        for figure in ["measured_rps", "simulated_rps"] {
            assert!(row[figure].as_f64().unwrap() > 0.0, "{figure}: {row}");
        }
        let measured = row["measured_rps"].as_f64().unwrap();
        let range = row["measured_rps_range"].as_array().unwrap();
        let [least, most] = [0, 1].map(|end| range[end].as_f64().unwrap());
        assert!(least <= measured && measured <= most, "{row}");
    }
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let folder = Folder::new("lab-stopped");
    let child = calibrate(&folder, &["--seconds", "600"]).spawn().unwrap();
    // It watches for signals once it has threads: one that measures, one at the other end.
    let tasks = format!("/proc/{}/task", child.id());
    while fs::read_dir(&tasks).unwrap().count() < 2 {
        std::thread::yield_now();
    }
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(130), "{}", text(&stderr));
    assert!(stdout.is_empty() && folder.names().is_empty());
    assert_eq!(
        text(&stderr),
        "aldis: stopped before everything was measured; nothing is written\n"
    );
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_measured() {
    let folder = Folder::new("lab-refused");
    let refused = |args: &[&str]| {
        let output = calibrate(&folder, args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        text(&output.stderr)
    };
    for seconds in ["0", "601", "-1", "many"] {
        assert!(refused(&[&format!("--seconds={seconds}")]).contains("--seconds"));
    }
    let nowhere = refused(&["--out", "nowhere/costs.toml"]);
    assert!(nowhere.contains("aldis: cannot write nowhere/costs.toml: No such file"), "{nowhere}");
    fs::write(folder.join("mine.toml"), "[costs]\npoll_ns = -1\n").unwrap();
    let mine = refused(&["--out", "mine.toml"]);
    assert!(mine.contains("mine.toml:2: poll_ns: -1 is no cost; accepted are"), "{mine}");
}

#[test]
fn the_help_teaches() {
    let help = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_aldis")).args(args).output().unwrap();
        text(&output.stdout)
    };
    assert!(help(&["lab", "--help"]).contains("calibrate"));
    let calibrate = help(&["lab", "calibrate", "--help"]);
    for word in ["--out", "--json", "--seconds", "Examples:", "Ctrl-C"] {
        assert!(calibrate.contains(word), "{word} is missing");
    }
}

fn simulate(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    command.args(["lab", "simulate"]).args(args).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_simulation_says_that_it_is_one_and_is_the_same_twice() {
    let args = ["--design", "fair-rounds", "--workers", "1,2", "--switches", "5"];
    let args = [&args[..], &["--milliseconds", "5", "--seed", "3"]].concat();
    let table = simulate(&args);
    assert!(table.status.success() && table.stderr.is_empty(), "{table:?}");
    assert!(text(&table.stdout).starts_with("simulated: 5 switches"), "{table:?}");
    let json = simulate(&[&args[..], &["--json"]].concat());
    assert_eq!(json, simulate(&[&args[..], &["--json"]].concat()));
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&report["simulated"], &report["seed"]), (&true.into(), &3.into()));
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.iter().map(|row| row["workers"].as_u64()).eq([Some(1), Some(2)]));
}

#[test]
fn a_simulation_of_nonsense_is_refused_with_a_sentence() {
    for (args, why) in [
        (["--workers", "65"], "give 1 to 64"),
        (["--switches", "0"], "give 1 to"),
        (["--scenario", "5"], "give full, 1, 2, 3 or 4"),
        (["--scale", "0"], "give 0.001 to 1000"),
        (["--design", "beacom"], "there is no design"),
        (["--costs", "nowhere.toml"], "cannot read nowhere.toml"),
    ] {
        let output = simulate(&args);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(why), "{args:?}: {said}");
    }
}

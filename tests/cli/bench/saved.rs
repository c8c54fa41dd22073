//! What becomes of a result: files, and what stands in their way.

use super::{Null, SHORT, aldis, bench};
use aldis_testkit::Folder;
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};

#[test]
fn a_full_disk_is_said_so_and_the_table_was_printed() {
    let null = Null::start();
    let output = bench(&[&[null.address.as_str(), "--save", "/dev/full"], &SHORT[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cannot save the result to /dev/full: No space left"), "{said}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("requests/s"));
    // The same of what a CSV file's name leads to.
    let dir = Folder::new("bench-full");
    std::os::unix::fs::symlink("/dev/full", dir.file("result-switches.csv")).unwrap();
    let save = ["--save", &dir.file("result.csv")];
    let output = bench(&[&[null.address.as_str()], &save[..], &SHORT].concat());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("result-switches.csv: No space left"), "{said}");
    assert_eq!(
        dir.names(),
        ["result-switches.csv"],
        "none of the three is there without the others"
    );
}

/// Nothing listens, which is said of runs that begin.
#[test]
fn a_file_that_cannot_be_written_is_found_before_anything_runs() {
    let dir = Folder::new("bench-unwritable");
    let in_the_way = ["result-1-switches-delays.csv", "result-delays.csv"];
    in_the_way.iter().for_each(|name| fs::create_dir(dir.file(name)).unwrap());
    for (save, why) in [
        ("/no/such/place/result.json", "there is no directory /no/such/place"),
        ("/proc/result.json", "cannot save the result to /proc/result.json: "),
        (&dir.file("result.csv"), "result-delays.csv: "),
    ] {
        for more in [&[][..], &["-r"], &["--mode", "connect"]] {
            let output = bench(&[&["127.0.0.1:1", "-s", "1", "--save", save], more].concat());
            let said = String::from_utf8(output.stderr).unwrap();
            let wrong = if save.starts_with("/no/") { 2 } else { 1 };
            assert_eq!(output.status.code(), Some(wrong), "{save} {more:?}: {said}");
            assert!(!said.contains("could not connect"), "{save} {more:?}: {said}");
        }
        let output = bench(&["127.0.0.1:1", "--save", save]);
        assert!(String::from_utf8(output.stderr).unwrap().contains(why), "{save}");
    }
    assert_eq!(dir.names(), in_the_way);
}

/// It fails before it is saved, or while.
#[test]
fn a_run_that_fails_leaves_the_files_of_an_earlier_one() {
    let null = Null::start();
    let dir = Folder::new("bench-earlier");
    let names = ["result-delays.csv", "result-switches.csv", "result.csv", "result.json"];
    names.iter().for_each(|name| fs::write(dir.file(name), name).unwrap());
    // No file may have more than a block or two, and a process that tries is told so.
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    for save in ["result.csv", "result.json"].map(|name| dir.file(name)) {
        let nobody = bench(&["127.0.0.1:1", "--save", &save]);
        assert_eq!(nobody.status.code(), Some(1), "{nobody:?}");
        let mut shell = Command::new("sh");
        shell.args(["-c", limited, env!("CARGO_BIN_EXE_aldis"), "bench", &null.address]);
        let output = shell.args(["--save", &save]).args(SHORT).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(": File too large"), "{said}");
    }
    assert_eq!(dir.names(), names);
    for name in names {
        assert_eq!(fs::read_to_string(dir.file(name)).unwrap(), name);
    }
    let output =
        bench(&[&[&null.address, "--save", &dir.file("result.json")], &SHORT[..]].concat());
    assert!(output.status.success(), "{output:?}");
    let new: Value = serde_json::from_slice(&fs::read(dir.file("result.json")).unwrap()).unwrap();
    assert!(new["origin"].is_object());
    assert_eq!(dir.names(), names);
}

/// What was measured is saved, whatever reads the table and wherever it goes.
#[test]
fn a_table_that_cannot_be_printed_does_not_cost_the_result() {
    let null = Null::start();
    let file = std::env::temp_dir().join(format!("aldis-bench-lost-{}.json", std::process::id()));
    let save = ["--save", file.to_str().unwrap()];
    let wanted = [&["bench", null.address.as_str()], &save[..], &SHORT].concat();
    let run = |out: Stdio| {
        let _ = std::fs::remove_file(&file);
        let output = aldis(&wanted).stdout(out).stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        let saved: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert!(saved["counts"]["answered"].as_u64() > Some(0));
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (code, said) = run(full.into());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("aldis: cannot write to standard output: No space left"), "{said}");
    // Nothing reads any more, as behind `| head`.
    let (_, gone) = std::io::pipe().unwrap();
    let (code, said) = run(gone.into());
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("aldis:") && !said.contains("panicked"), "{said}");
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_directory_gets_every_file_and_they_agree() {
    let null = Null::start();
    let dir = std::env::temp_dir().join(format!("aldis-bench-save-{}/", std::process::id()));
    let wanted = ["--mode", "fairness", "-o", "100", "--save", dir.to_str().unwrap(), "--json"];
    let output = bench(&[&[null.address.as_str()], &wanted[..], &SHORT].concat());
    assert!(output.status.success(), "{output:?}");
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut files: Vec<_> =
        std::fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let text: Vec<String> =
        files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    std::fs::remove_dir_all(&dir).unwrap();
    let [delays, switches, summary, json] = &text[..] else { panic!("{files:?}") };
    let saved: Value = serde_json::from_str(json).unwrap();
    for key in ["requests_per_second", "counts", "delay_us", "fairness", "generator"] {
        assert_eq!(saved[key], printed[key], "{key}");
    }
    let origin = &saved["origin"];
    assert_eq!(origin["aldis"], env!("CARGO_PKG_VERSION"));
    assert_eq!(origin["seed"], 1);
    assert!(origin["command"].as_str().unwrap().contains("--mode fairness"));
    assert!(["commit", "date"].iter().all(|key| !origin[key].as_str().unwrap().is_empty()));
    assert!(!origin["machine"]["cpu"].as_str().unwrap().is_empty());
    // Every answer of the measured loops is some switch's, and every delay is in the histogram.
    let served = saved["per_switch"].as_array().unwrap();
    let dpids: Vec<_> = served.iter().map(|switch| switch["dpid"].as_u64().unwrap()).collect();
    assert_eq!(dpids, [100, 101, 102]);
    let histogram = saved["request_delay_histogram_ns"].as_array().unwrap();
    let timed: u64 = histogram.iter().map(|seen| seen[1].as_u64().unwrap()).sum();
    assert_eq!(saved["delay_us"]["samples"], timed);
    assert_eq!(delays.lines().count(), 1 + histogram.len());
    assert_eq!(switches.lines().count(), 1 + served.len());
    assert!(summary.lines().any(|line| line == format!("delay_us.samples,{timed}")), "{summary}");
}

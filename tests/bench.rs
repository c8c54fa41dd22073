//! `aldis bench` as a person runs it: against the null controller, and against nobody.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

/// A running null controller; it ends with the test.
struct Null {
    process: Child,
    address: String,
}

impl Null {
    fn start() -> Null {
        let mut process = aldis(&["bench", "null", "--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split_whitespace().find_map(|word| word.strip_suffix(';'));
        Null { address: address.expect(&line).into(), process }
    }
}

impl Drop for Null {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn aldis(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    command.args(args);
    command
}

fn bench(args: &[&str]) -> Output {
    aldis(&[&["bench"], args].concat()).output().unwrap()
}

const SHORT: [&str; 8] = ["-s", "3", "-M", "50", "-l", "2", "-m", "50"];

#[test]
fn the_json_object_says_what_was_measured() {
    let null = Null::start();
    for version in ["1.0", "1.3"] {
        let more = [&null.address, "--openflow", version, "--outstanding", "20", "--json"];
        let output = bench(&[&more[..], &SHORT].concat());
        assert!(output.status.success(), "{output:?}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let rates = &report["requests_per_second"];
        assert_eq!(rates["loops"].as_array().unwrap().len(), 2);
        assert!(
            rates["min"].as_f64() > Some(0.0) && rates["min"].as_f64() <= rates["max"].as_f64()
        );
        assert!(report["delay_us"]["samples"].as_u64() > Some(0));
        assert_eq!(report["counts"]["strays"], 0);
        assert_eq!(report["switches"]["openflow"], format!("OpenFlow {version}"));
        assert_eq!(
            report["controller_cpu"]["pid"],
            null.process.id(),
            "found by its listening socket"
        );
        assert!(report["controller_cpu"]["ns_per_request"].as_f64() > Some(0.0));
    }
}

#[test]
fn the_json_object_has_what_unequal_load_did() {
    let null = Null::start();
    let unequal = [
        "-t",
        "--json",
        "--steps",
        "9000x0.2,900x0.2",
        "--scale",
        "0.5",
        "--spread",
        "skewed",
        "--storm",
        "1",
        "--probes",
        "2",
        "--probe-rate",
        "50",
        "--weights",
        "1,2",
        "--hot-port",
        "5",
        "--slow",
        "1:1000",
        "--dead",
        "1",
        "--threads",
        "2",
    ];
    let output = bench(&[&[null.address.as_str(), "-s", "4", "-M", "50"], &unequal[..]].concat());
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let phases = report["phases"].as_array().unwrap();
    let offered: Vec<_> = phases.iter().map(|phase| phase["offered_per_second"].as_f64()).collect();
    assert_eq!(offered, [Some(4500.0), Some(450.0)]);
    assert!(phases.iter().all(|phase| phase["probe_delay_us"]["p50"].as_f64() > Some(0.0)));
    let fairness = &report["fairness"];
    assert_eq!(fairness["sorted"].as_array().unwrap().len(), 5, "the storm counts, probes do not");
    assert!(fairness["worst"].is_number() && fairness["p99"].is_number());
    assert_eq!(report["storm"]["switches"], 1);
    assert!(report["probe_delay_us"]["samples"].as_u64() > Some(0));
    assert_eq!(report["ports"].as_array().unwrap().len(), 4);
    for kind in ["slow", "dead"] {
        assert_eq!(report[kind]["switches"], 1);
        assert_eq!(report[kind]["evicted"], 0, "the null controller never gives up");
    }
    assert_eq!(report["mode"]["rate"]["spread"]["zipf"], 1.0);
}

#[test]
fn the_table_says_only_what_there_was() {
    let null = Null::start();
    let probing = ["--probes", "1", "--probe-rate", "100", "--dead", "1"];
    let output = bench(&[&[null.address.as_str()], &SHORT[..], &probing].concat());
    let table = String::from_utf8(output.stdout).unwrap();
    let has = |label| table.lines().any(|line: &str| line.starts_with(label));
    assert!(["fairness", "probe µs", "dead"].into_iter().all(has), "{table}");
    assert!(!["steps", "storm", "hot port", "slow"].into_iter().any(has), "{table}");
    assert!(table.contains("none of 1 disconnected"));
}

#[test]
fn the_table_has_a_line_for_each_figure() {
    let null = Null::start();
    let output = bench(&[&[null.address.as_str(), "-t"], &SHORT[..]].concat());
    let table = String::from_utf8(output.stdout).unwrap();
    for label in ["requests/s", "delay µs", "switch share", "counts", "generator", "CPU/request"] {
        assert!(table.lines().any(|line| line.starts_with(label)), "{label}:\n{table}");
    }
    assert!(table.contains("destinations cycle over all addresses"));
}

/// Refused before anything connects.
fn refused(options: &[&str]) {
    let output = bench(&[&["127.0.0.1:1"], options].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{options:?}");
    assert!(!said.contains("could not connect"), "{options:?}: {said}");
}

#[test]
fn what_cannot_be_done_is_one_sentence_and_exit_code_2() {
    let output = bench(&["127.0.0.1:1", "-s", "1"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("aldis: switch 1 could not connect to 127.0.0.1:1"), "{said}");
    for wrong in
        [&["127.0.0.1:1", "-s", "0"][..], &["no port"], &[], &["127.0.0.1:1", "--rate", "-3"]]
    {
        assert_eq!(bench(wrong).status.code(), Some(2), "{wrong:?}");
    }
    for wrong in [
        ["--steps", "5"],
        ["--scenario", "5"],
        ["--spread", "zipf:11"],
        ["--weights", "1,0"],
        ["--hot-port", "1001"],
        ["--ports", "2000"],
        ["--dead", "10000"],
        ["--slow", "5"],
        ["--probe-rate", "101"],
    ] {
        refused(&wrong);
    }
    refused(&["--rate", "5", "--scenario", "1"]);
    let null = Null::start();
    let busy = bench(&["null", "--listen", &null.address]);
    assert_eq!(busy.status.code(), Some(2));
    let none = bench(&[&null.address, "--pid", "4000000000"]);
    assert_eq!(none.status.code(), Some(2));
}

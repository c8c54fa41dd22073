//! `aldis bench` as a person runs it: against the null controller, and against none.

mod parts;
mod saved;
mod stopped;

use aldis_emulator::peer::{Peer, bare, hello};
use aldis_wire::Version;
use aldis_wire::header::kind;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

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

const SHORT: [&str; 8] = ["-s", "3", "-M", "50", "-l", "2", "-m", "250"];

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
fn what_cannot_be_done_is_one_sentence_and_an_exit_code() {
    let output = bench(&["127.0.0.1:1", "-s", "1"]);
    assert_eq!(output.status.code(), Some(1));
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
        ["--on-off", "1"],
        ["--on-off", "1,2"],
        ["-o", "0"],
        ["--mode", "speed"],
    ] {
        refused(&wrong);
    }
    refused(&["--rate", "5", "--scenario", "1"]);
    refused(&["--mode", "latency", "-t"]);
    let null = Null::start();
    let busy = bench(&["null", "--listen", &null.address]);
    assert_eq!(busy.status.code(), Some(1));
    let none = bench(&[&null.address, "--pid", "4000000000"]);
    assert_eq!(none.status.code(), Some(1));
}

/// What two options say of each other, and what to say instead.
#[test]
fn options_that_cannot_be_together_are_named_both() {
    let a_rate = "say --rate, --switch-rate, --steps or --scenario as well";
    let another_mode = "or say another --mode";
    for (options, named, instead) in [
        (&["--mode", "fairness", "--spread", "skewed"][..], "--spread", a_rate),
        (&["-t", "--spread", "zipf:0.5"], "--spread", a_rate),
        (&["--scale", "0.5"], "--scale", a_rate),
        (&["--on-off", "1,2"], "--on-off", a_rate),
        (&["--mode", "latency", "--outstanding", "9"], "--outstanding", "or say --mode throughput"),
        (&["--mode", "connect", "--outstanding", "9"], "--outstanding", another_mode),
        (&["--mode", "connect", "--rate", "9"], "--rate", another_mode),
        (&["--mode", "connect", "--switch-rate", "9"], "--switch-rate", another_mode),
        (&["--mode", "connect", "--steps", "9x1"], "--steps", another_mode),
        (&["--mode", "connect", "--scenario", "1"], "--scenario", another_mode),
        (&["--mode", "connect", "--scale", "2"], "--scale", another_mode),
        (&["--mode", "connect", "--spread", "skewed"], "--spread", another_mode),
        (&["--mode", "connect", "--on-off", "1,2"], "--on-off", another_mode),
        (&["--mode", "connect", "--weights", "1,2"], "--weights", another_mode),
        (&["--mode", "connect", "--hot-port", "2"], "--hot-port", another_mode),
        (&["--mode", "connect", "--storm", "1"], "--storm", another_mode),
        (&["--mode", "connect", "--probes", "1"], "--probes", another_mode),
        (&["--mode", "connect", "--slow", "1:1000"], "--slow", another_mode),
        (&["--mode", "connect", "--dead", "1"], "--dead", another_mode),
        (&["--mode", "connect", "-D", "5"], "-D", another_mode),
        (&["--mode", "connect", "-I", "5"], "-I", another_mode),
        (&["--mode", "connect", "-i", "5"], "-i", another_mode),
        (&["--mode", "connect", "--poll"], "--poll", another_mode),
    ] {
        let output = bench(&[&["127.0.0.1:1"], options].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(
            said.contains(&format!("{named} ")) && said.contains(instead),
            "{options:?}: {said}"
        );
        assert!(said.starts_with("aldis: ") && said.lines().count() == 1, "{options:?}: {said}");
    }
}

/// A controller of one switch that answers so many requests and then hangs up; where it listens.
fn mortal(answers: usize) -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let controller = std::thread::spawn(move || {
        let patience = Duration::from_secs(30);
        let mut peer = Peer::over(listener.accept().unwrap().0, patience).unwrap();
        peer.send(&[hello(Version::V10), bare(Version::V10, 5, 2)].concat()).unwrap();
        for _ in 0..answers {
            let request = peer.expect(kind::PACKET_IN).unwrap();
            // A PACKET_OUT that names the buffer.
            peer.send(&[&[1, 13, 0, 16, 0, 0, 0, 0], &request[8..12], &[0; 4]].concat()).unwrap();
        }
    });
    (address, controller)
}

#[test]
fn what_was_measured_before_the_controller_died_is_printed_and_saved() {
    let (address, controller) = mortal(20);
    let file =
        std::env::temp_dir().join(format!("aldis-bench-partial-{}.json", std::process::id()));
    let save = ["--save", file.to_str().unwrap(), "--no-teach", "-w", "0", "-s", "1", "-M", "10"];
    let output = bench(&[&[address.as_str()], &save[..]].concat());
    controller.join().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    let why = "during the measurement";
    assert!(said.starts_with("aldis: the result is partial: ") && said.contains(why), "{said}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("** partial **") && table.contains("requests/s"), "{table}");
    let saved: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(saved["partial"].as_str().unwrap().contains(why), "{saved}");
    assert!(saved["counts"]["answered"].as_u64() >= Some(19), "{saved}");
}

#[test]
fn a_rate_at_which_nothing_is_due_is_said_so() {
    let null = Null::start();
    let silent = ["--no-teach", "--rate", "0.001", "-l", "1", "-m", "50", "-w", "0", "-s", "1"];
    let output = bench(&[&[null.address.as_str()], &silent[..]].concat());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("no request was due"), "{said}");
}

/// It takes in so many switches, with HELLO and a question if it is to be polite, and says no more.
fn silent(switches: usize, is_polite: bool) -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let controller = std::thread::spawn(move || {
        let patience = Duration::from_secs(60);
        let mut peers: Vec<_> = (0..switches)
            .map(|_| Peer::over(listener.accept().unwrap().0, patience).unwrap())
            .collect();
        for peer in peers.iter_mut().filter(|_| is_polite) {
            peer.send(&[hello(Version::V10), bare(Version::V10, 5, 2)].concat()).unwrap();
        }
        peers.iter_mut().for_each(|peer| peer.expect_close().unwrap());
    });
    (address, controller)
}

#[test]
fn a_controller_that_answers_nothing_is_said_so() {
    let (address, controller) = silent(2, true);
    let load = ["--no-teach", "-s", "2", "-M", "10", "-w", "0", "-l", "1", "-m", "300"];
    let output = bench(&[&[address.as_str(), "--outstanding", "5"], &load[..]].concat());
    controller.join().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    let why = "the controller answered none of 10 requests; is a switch application running in it?";
    assert_eq!(said, format!("aldis: the result is partial: {why}\n"));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains(&format!("** partial ** {why}")), "{table}");
    assert!(table.contains("no request was timed"), "{table}");
}

/// Half a minute is how long a handshake may take.
#[test]
fn a_controller_that_says_nothing_at_all_is_said_so() {
    let (address, controller) = silent(1, false);
    let output = bench(&[&address, "-s", "1", "-M", "10"]);
    controller.join().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("aldis: switch 1 still waits for the controller's HELLO"), "{said}");
    assert!(said.ends_with("does the controller speak OpenFlow?\n"), "{said}");
}

#[test]
fn modes_have_names_too() {
    let null = Null::start();
    for (mode, expected) in [("latency", "latency"), ("throughput", "full"), ("fairness", "full")] {
        let more = [null.address.as_str(), "--mode", mode, "--json"];
        let output = bench(&[&more[..], &SHORT].concat());
        assert!(output.status.success(), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["mode"]["mode"], expected);
    }
}

#[test]
fn a_load_that_never_sleeps_counts_looking_in_vain_as_idle() {
    let null = Null::start();
    let more = [&null.address, "--poll", "--outstanding", "20", "--rate", "1000", "--json"];
    let output = bench(&[&more[..], &SHORT].concat());
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["generator"]["idle"].as_f64().unwrap() > 0.0, "{report}");
    assert!(report["counts"]["answered"].as_u64().unwrap() > 0, "{report}");
}

#[test]
fn cbenchs_letters_are_understood() {
    let null = Null::start();
    let port = null.address.rsplit_once(':').unwrap().1;
    let letters = [
        "-c",
        "127.0.0.1",
        "-p",
        port,
        "-t",
        "-d",
        "-L",
        "-C",
        "1",
        "-o",
        "7",
        "-i",
        "1",
        "-I",
        "2",
        "-D",
        "1",
    ];
    let output = bench(&[&letters[..], &SHORT].concat());
    assert!(output.status.success(), "{output:?}");
    let range = bench(&[&[null.address.as_str(), "-r"], &SHORT[..]].concat());
    let table = String::from_utf8(range.stdout).unwrap();
    let numbers: Vec<_> = table
        .lines()
        .filter_map(|line| line.strip_prefix("switches")?.split_whitespace().next())
        .collect();
    assert_eq!(numbers, ["1", "2", "3"], "{table}");
    refused(&["-c", "127.0.0.1"]);
    let none = bench(&["-s", "3"]);
    assert!(String::from_utf8(none.stderr).unwrap().contains("which controller?"));
}

#[test]
fn a_soak_says_what_changed() {
    let null = Null::start();
    let soak = ["--mode", "soak", "-s", "2", "-M", "20", "-l", "20", "-m", "20", "--json"];
    let output = bench(&[&[null.address.as_str()], &soak[..]].concat());
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["mode"]["mode"]["outstanding"], 16);
    assert_eq!(report["phases"].as_array().unwrap().len(), 20);
    let resident = report["soak"]["resident_bytes"].as_array().unwrap();
    assert_eq!(resident.len(), 21, "one at the beginning and one after each phase: {resident:?}");
    assert!(resident.iter().all(|bytes| bytes.as_u64() > Some(0)), "{resident:?}");
}

#[test]
fn handshakes_are_counted_and_saved() {
    let null = Null::start();
    let file = std::env::temp_dir().join(format!("aldis-bench-connect-{}.csv", std::process::id()));
    let connect = ["--mode", "connect", "--save", file.to_str().unwrap()];
    let output = bench(&[&[null.address.as_str()], &connect[..], &SHORT].concat());
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.lines().any(|line| line.starts_with("handshakes/s")), "{table}");
    let base = file.with_extension("");
    let read = |end: &str| {
        let path = format!("{}{end}", base.display());
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        text
    };
    let [summary, delays, _] = [".csv", "-delays.csv", "-switches.csv"].map(read);
    let line = summary.lines().find_map(|line| line.strip_prefix("counts.done,"));
    let timed: u64 = delays
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(2).unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(line.unwrap().parse::<u64>(), Ok(timed));
}

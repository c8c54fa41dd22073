//! What an operator changes and asks for while the controller runs: SIGHUP, SIGUSR1, weights and
//! counters.

use std::fs;
use std::ops::Range;

use aldis_emulator::load::{self, Load, Mode};
use aldis_testkit::Folder;
use aldis_testkit::running::{Running, WITHIN, refused};
use aldis_wire::Version;
use serde_json::Value;
use std::time::Instant;

/// A controller with a configuration file and a file for its counters.
struct Configured {
    running: Running,
    config: String,
    stats: String,
    _folder: Folder,
}

impl Configured {
    fn start(name: &str, config: &str, args: &[&str]) -> Configured {
        let folder = Folder::new(name);
        let (file, stats) = (folder.file("aldis.toml"), folder.file("stats.json"));
        fs::write(&file, config).unwrap();
        let papers = ["--apps", "learning-switch"];
        let all = [&["--config", &file, "--stats", &stats], &papers[..], args].concat();
        let running = Running::start(&all);
        Configured { running, config: file, stats, _folder: folder }
    }

    /// Changes the file, and has it read again; waits for the line that holds these words.
    fn change(&mut self, config: &str, words: &str) -> String {
        fs::write(&self.config, config).unwrap();
        self.running.signal("-HUP");
        self.running.says(words)
    }

    /// The counters now.
    fn counters(&mut self) -> Value {
        self.running.signal("-USR1");
        self.running.says("counters written to");
        serde_json::from_slice(&fs::read(&self.stats).unwrap()).unwrap()
    }

    /// Asks for the counters until they are as they should be.
    fn counters_when(&mut self, what: &str, are: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + WITHIN;
        loop {
            let counters = self.counters();
            if are(&counters) {
                return counters;
            }
            assert!(Instant::now() < deadline, "{what}: {}", counters["switches"]);
        }
    }
}

#[test]
fn the_file_is_read_again_and_what_changed_is_said() {
    let before = "design = \"maestro-shared-queue\"\n[knobs]\nbdu-us = 100\n[weights]\n\"7\" = 2\n";
    let mut one = Configured::start("reread", before, &["--workers", "1"]);
    assert!(
        one.running.said[0].contains("maestro-shared-queue with other bdu-us"),
        "{:?}",
        one.running.said
    );
    let after = "poll = true\nlisten = [\"127.0.0.1:1\"]\ndesign = \"maestro-shared-queue\"\n\
                 [knobs]\nbdu-us = 200\nprt = 50\n[weights]\n\"7\" = 3\n\"1-9\" = 2\n";
    fs::write(&one.config, after).unwrap();
    one.running.signal("-HUP");
    for words in [
        "aldis.toml: bdu-us: 100 → 200",
        "aldis.toml: prt: 400 → 50",
        "aldis.toml: weight of 7: 2 → 3",
        "aldis.toml: weight of 1-9: no rule → 2",
        "only a restart applies it: poll",
    ] {
        one.running.says(words);
    }
    let said = one.change("design = \"maestro-shared-queue\"\n[knobs]\nbdu-us = 0\n", "stay");
    assert!(said.contains("aldis.toml:3: bdu-us: ") && said.contains("150 µs"), "{said}");
    // Had it been applied, it would differ from this.
    one.running.signal("-HUP");
    one.running.says("the old settings stay");
    one.change(&after.replace("poll = true\n", "").replace("200", "300"), "bdu-us: 200 → 300");
    assert_eq!(one.running.end("-TERM"), Some(0));
}

#[test]
fn without_a_file_there_is_nothing_to_read_again() {
    let mut running = Running::start(&["--workers", "1"]);
    running.signal("-HUP");
    running.says("there is nothing to read again without --config");
    assert_eq!(running.end("-INT"), Some(0));
}

#[test]
fn counters_are_written_when_asked_for_and_at_the_end() {
    let mut one = Configured::start("counters", "", &["--workers", "1"]);
    let load = Load {
        version: Version::V13,
        switches: 2,
        macs: 10,
        mode: Mode::Window(8),
        requests_per_switch: Some(100),
        warm_up: 0,
        loops: 20,
        ..Load::new(one.running.address.parse().unwrap())
    };
    assert_eq!(load::run(&load).unwrap().counts.answered, 200);
    let counters = one.counters();
    let requests = counters["total"]["requests"].as_u64().unwrap();
    assert!(requests >= 200 && counters["workers"].as_array().unwrap().len() == 1, "{counters}");
    // Another file takes its place: counters are told to be lost, and the controller goes on.
    fs::remove_file(&one.stats).unwrap();
    fs::create_dir(&one.stats).unwrap();
    one.running.signal("-USR1");
    one.running.says("no ordinary file");
    fs::remove_dir(&one.stats).unwrap();
    let _switch = joined(&mut one.running);
    assert_eq!(one.running.end("-TERM"), Some(0));
    let counters: Value = serde_json::from_slice(&fs::read(&one.stats).unwrap()).unwrap();
    assert_eq!(counters["switches"][0]["dpid"], "0000000000000009", "as it was before the end");
    assert!(counters["total"]["requests"].as_u64().unwrap() >= requests);
}

/// A switch that has shaken hands.
fn joined(running: &mut Running) -> aldis_emulator::peer::Peer {
    use aldis_emulator::peer::{Peer, PeerPart, hello};
    const BARRIER_REQUEST: u8 = 20;
    let mut peer = Peer::connect(running.address.parse().unwrap(), WITHIN).unwrap();
    peer.send(&hello(Version::V13)).unwrap();
    peer.play(PeerPart { version: Version::V13, number: 9, ports: 4 }, BARRIER_REQUEST).unwrap();
    running.says("switch 0000000000000009 is up");
    peer
}

#[test]
fn without_a_file_counters_are_a_line_of_standard_output() {
    let mut running = Running::start(&["--workers", "1"]);
    for _ in 0..2 {
        running.signal("-USR1");
        let line: Value = serde_json::from_str(&running.line_out()).unwrap();
        assert_eq!(line["workers"].as_array().unwrap().len(), 1);
    }
    assert_eq!(running.end("-TERM"), Some(0));
}

#[test]
fn what_cannot_work_is_refused_at_the_start() {
    let folder = Folder::new("refused");
    let file = folder.file("aldis.toml");
    fs::write(&file, "[weights]\n\"00:00:00:00:00:00:00:01\" = -4\n").unwrap();
    let said = refused(&["run", "--config", &file]);
    assert!(said.contains("aldis.toml:2: \"00:00:00:00:00:00:00:01\": -4 is below 0"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for (args, accepted) in [
        (&["--set", "ibt=0"][..], "1 request or more"),
        (&["--design", "nox", "--set", "prt=5"], "--set prt: "),
        (&["--set", "io-threads=2"], "only shared queues"),
        (&["--weight", "1=0"], "1 or more"),
        (&["--weight", "s1=2"], "a datapath id"),
        (&["--stats", "/nowhere/stats.json"], "no folder /nowhere"),
        (&["--stats", "/dev/null"], "no ordinary file"),
    ] {
        let said = refused(&[&["run"], args].concat());
        assert!(said.contains(accepted), "{args:?}: {said}");
    }
}

/// Requests of the two switches so far.
fn requests(counters: &Value) -> [u64; 2] {
    let of = |switch: usize| counters["switches"][switch]["requests"].as_u64().unwrap();
    [of(0), of(1)]
}

/// Requests that are counted for a share: a slowed controller serves them in a second or two on a
/// machine that is busy besides.
const COUNTED: u64 = 10_000;

/// Waits until as many times as many requests of switch 2 are served as of switch 1, and returns
/// how many. A machine that is busy with other things may starve the switches themselves for a
/// while, so that their shares say nothing yet.
fn shares_come_to(one: &mut Configured, expected: Range<f64>) -> f64 {
    let deadline = Instant::now() + WITHIN;
    loop {
        let from = requests(&one.counters());
        let to = one.counters_when("requests are served", |counters| {
            let now = requests(counters);
            now[0] + now[1] - from[0] - from[1] >= COUNTED
        });
        let to = requests(&to);
        let ratio = (to[1] - from[1]) as f64 / (to[0] - from[0]) as f64;
        if expected.contains(&ratio) {
            return ratio;
        }
        assert!(Instant::now() < deadline, "shares of {ratio} stay, where {expected:?} is due");
    }
}

#[test]
fn shares_follow_weights_that_change_while_switches_are_connected() {
    for design in ["fair-rounds", "maestro-round-robin", "maestro-shared-queue"] {
        let equal = format!("design = \"{design}\"\n");
        let mut one = Configured::start(&format!("weights-{design}"), &equal, &["--workers", "1"]);
        let load = Load {
            switches: 2,
            macs: 100,
            mode: Mode::Full,
            threads: 2,
            warm_up: 0,
            loops: 600,
            ..Load::new(one.running.address.parse().unwrap())
        };
        // The switches ask faster than a slow controller answers, whatever else this machine does.
        let slowed = one.running.slowed();
        // They end with the controller.
        let switches = std::thread::spawn(move || load::run(&load).map(|_| ()));
        let counters = one.counters_when("both switches ask", |counters| {
            let both = counters["switches"].as_array().unwrap().len() == 2;
            both && requests(counters).iter().all(|requests| *requests > 5_000)
        });
        let connections = counters["total"]["connections"].clone();
        assert_eq!(connections, 2, "{design}: each connection is counted once");
        let before = shares_come_to(&mut one, 0.8..1.25);
        one.change(&format!("{equal}[weights]\n\"2\" = 4\n"), "weight of 2: no rule → 4");
        one.counters_when("the weight is there", |counters| counters["switches"][1]["weight"] == 4);
        let after = shares_come_to(&mut one, 2.5..6.0);
        let counters = one.counters();
        println!("{design}: {before:.3}, then {after:.3}");
        assert_eq!(
            counters["total"]["connections"], connections,
            "{design}: nobody connected again"
        );
        assert!(!switches.is_finished(), "{design}: {:?}", switches.join());
        drop(slowed);
        drop(one);
        assert!(switches.join().unwrap().is_err(), "{design}: the controller is gone");
    }
}

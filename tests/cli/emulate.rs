//! `aldis emulate` under `aldis run`, and what it says where it cannot run.

use aldis_testkit::client::Api;
use aldis_testkit::running::{Running, WITHIN, refused};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

/// What `aldis emulate` prints, and its exit code.
fn emulate(controller: &str, words: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    // What is not said by the test.
    let usual = [["--settle", "0"], ["--patience", "30"]];
    let usual = usual.iter().filter(|option| !words.contains(&option[0])).flatten();
    let output = command.args(["emulate", controller]).args(usual).args(words).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_progress =
        |line: &str| line.contains(" switches have shaken hands") || line.contains(" s · ");
    assert!(errors.lines().all(is_progress), "{errors}");
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

/// A file with this text, where the build keeps its own.
fn file(name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn no_ping_is_lost_under_the_learning_switch() {
    let mut controller = Running::start(&["--apps", "learning-switch"]);
    for openflow in ["1.0", "1.3"] {
        for (topology, pings) in [("single,3", "6/6"), ("linear,4", "12/12"), ("tree,2,3", "72/72")]
        {
            for six in [&[][..], &["--ipv6"]] {
                let words = ["--topology", topology, "--openflow", openflow, "--pingall"];
                let (said, code) = emulate(&controller.address, &[&words, six].concat());
                let result = format!("*** Results: 0% dropped ({pings} received)");
                assert!(said.contains(&result), "{topology} {openflow}: {said}");
                assert!(said.contains("\nerrors       none\n"), "{said}");
                assert_eq!(code, Some(0));
            }
        }
    }
    assert_eq!(controller.end("-INT"), Some(0));
}

#[test]
fn a_network_with_loops_works_by_default() {
    // Each network is another one, though all have the same switches and hosts, and begins where
    // the one before it ended.
    let mut controller = Running::start(&[]);
    for openflow in ["1.0", "1.3", "1.0", "1.3"] {
        let words = ["--topology", "torus,3,3", "--openflow", openflow, "--pingall"];
        let (said, code) = emulate(&controller.address, &words);
        assert!(said.contains("*** Results: 0% dropped (72/72 received)"), "{said}");
        assert!(said.contains("\nerrors       none\n") && code == Some(0), "{said}");
    }
    assert_eq!(controller.end("-INT"), Some(0));
}

/// All built-in topologies, one after the other, with the same switches, ports and hosts at other
/// places: each works as if it were the first. Hosts speak when floods by every port are over, so
/// that they need the links.
fn one_network_after_the_other(openflow: &str, topologies: &[&str]) {
    let mut controller = Running::start(&[]);
    for topology in topologies {
        let words = ["--topology", topology, "--openflow", openflow, "--pingall"];
        let (said, code) = emulate(&controller.address, &[&words[..], &["--settle", "2"]].concat());
        let all = said.contains("*** Results: 0% dropped");
        assert!(all && code == Some(0), "{topology}, OpenFlow {openflow}: {said}");
    }
    assert_eq!(controller.end("-INT"), Some(0));
}

const BUILT_IN: [&str; 8] = [
    "single,4",
    "linear,4",
    "tree,2,3",
    "torus,3,3",
    "ring,5",
    "fat-tree,4",
    "waxman,8",
    "preferential,8",
];

#[test]
fn every_topology_works_after_every_other_one() {
    one_network_after_the_other("1.3", &BUILT_IN);
}

#[test]
fn every_topology_works_in_another_order_with_openflow_1_0() {
    let mut topologies = BUILT_IN;
    topologies.reverse();
    topologies.swap(1, 6);
    one_network_after_the_other("1.0", &topologies);
}

/// As many switches as the largest topology of the papers has. What has crossed a link is not yet
/// what the controller knows: while it learns 5,370 of them, it may drop a packet.
#[test]
fn a_network_of_more_than_a_thousand_switches_is_routed() {
    let mut controller = Running::start(&[]);
    let words = ["--topology", "waxman,1347", "--await-links", "--connect-within", "120"];
    let pings = ["--settle", "5", "--pingall=100"];
    let (said, code) = emulate(&controller.address, &[&words[..], &pings].concat());
    assert!(said.contains("waxman,1347: 1347 switches"), "{said}");
    assert!(said.contains("*** Results: 0% dropped (100/100 received)"), "{said}");
    assert!(said.contains("\nerrors       none\n") && code == Some(0), "{said}");
    assert!(!said.contains("connections"), "none was lost: {said}");
    assert_eq!(controller.end("-INT"), Some(0));
}

/// It says so by one gratuitous ARP, which comes in before the switch could say that the port is
/// up. A host that the others know at a port that went down is reached within two seconds.
#[test]
fn a_host_that_moves_and_says_so_once_is_reached_where_it_is() {
    for openflow in ["1.0", "1.3"] {
        let mut controller = Running::start(&[]);
        let words = ["--topology", "linear,4", "--openflow", openflow, "--await-links"];
        let before = ["--at", "1s ping h1 h3", "--at", "1s ping h4 h3"];
        let moves = ["--at", "3s host-move h3 s1"];
        let after = ["--at", "4500ms ping h1 h3", "--at", "4500ms ping h4 h3"];
        let again = ["--at", "5s host-move h3 s4", "--at", "6500ms ping h1 h3"];
        let words = [&words[..], &before, &moves, &after, &again].concat();
        let (said, code) = emulate(&controller.address, &words);
        assert_eq!(said.matches(" -> h3: answered after ").count(), 5, "{openflow}: {said}");
        assert!(!said.contains("no answer") && code == Some(0), "{openflow}: {said}");
        assert_eq!(controller.end("-INT"), Some(0));
    }
}

/// Two links of a ring are cut and come back. Until they are found again packets are flooded, and
/// come to their receivers' switches from both sides, some of them when the links are known again.
#[test]
fn a_packet_that_is_flooded_while_links_are_found_arrives_once() {
    for openflow in ["1.0", "1.3"] {
        let controller = Running::start(&[]);
        let words = ["--topology", "ring,5", "--delay-us", "20000", "--openflow", openflow];
        // Those that are lost are not waited for any longer.
        let load = ["--load", "400", "--for", "2", "--patience", "3", "--json"];
        let cut = ["--at", "500ms link-down s1 s2", "--at", "500ms link-down s3 s4"];
        let mended = ["--at", "700ms link-up s1 s2", "--at", "700ms link-up s3 s4"];
        let words = [&words[..], &load, &cut, &mended].concat();
        let (said, code) = emulate(&controller.address, &words);
        let report: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(code, Some(0), "{report:#}");
        let phase = &report["load"]["phases"][0];
        let count = |name: &str| phase[name].as_u64().unwrap();
        // What was sent between the parts while they were apart is lost.
        assert!(count("arrived") > count("sent") * 4 / 5, "{phase:#}");
        assert_eq!(count("copies"), 0, "OpenFlow {openflow}: {phase:#}");
    }
}

/// The same switches and hosts say the same again, within the second in which a frame is not
/// flooded twice.
#[test]
fn a_network_that_was_started_again_works_at_once() {
    let mut controller = Running::start(&[]);
    for nth in 0..5 {
        let words = ["--topology", "linear,3", "--await-links", "--pingall"];
        let (said, code) = emulate(&controller.address, &words);
        let all = said.contains("*** Results: 0% dropped (6/6 received)");
        assert!(all && code == Some(0), "the {nth}th time: {said}");
    }
    assert_eq!(controller.end("-INT"), Some(0));
}

#[test]
fn faults_and_measures_are_told_as_json() {
    let controller = Running::start(&["--apps", "learning-switch"]);
    let script = file(
        "faults.txt",
        "200ms reset s2\n300ms slow-reader s1 100\n400ms fast-reader s1\n\
         500ms storm h1 500\n600ms calm h1\n1500ms broadcast h2 # when all is quiet again\n",
    );
    let words = ["--topology", "linear,3", "--json", "--ping", "h1", "h3", "--watch", "h1", "h3"];
    let words = [&words[..], &["--script", &script]];
    let (said, code) = emulate(&controller.address, &words.concat());
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!((&report["switches"], &report["links"]), (&Value::from(3), &Value::from(2)));
    let findings = report["findings"].as_array().unwrap();
    let found = |key: &str| findings.iter().find(|finding| !finding[key].is_null()).unwrap();
    assert_eq!(found("ping")["received"], 1);
    assert!(found("broadcast")["copies_max"].as_u64().unwrap() <= 1);
    assert_eq!(found("watch")["fault"], "reset s2");
    assert!(found("watch")["apart_s"].is_number(), "{report:#}");
    assert_eq!(report["connections"]["lost"], 1);
    assert!(report["messages"]["packet_ins"].as_u64().unwrap() > 0);
    assert!(report["frames"]["storm_sent"].as_u64().unwrap() > 0);
}

#[test]
fn load_arrives_over_the_flows_that_the_controller_sets() {
    let controller = Running::start(&["--apps", "learning-switch"]);
    let words = ["--topology", "tree,2,2", "--load-steps", "200x0.3,50x0.4", "--spread", "skewed"];
    let (said, code) = emulate(&controller.address, &[&words[..], &["--json"]].concat());
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(code, Some(0), "{report:#}");
    let load = &report["load"];
    assert_eq!((&load["found"], &load["pairs"]), (&Value::from(12), &Value::from(12)));
    for (phase, due) in load["phases"].as_array().unwrap().iter().zip([60, 20]) {
        let count = |name: &str| phase[name].as_u64().unwrap();
        assert!((due - 2..=due + 2).contains(&count("due")), "{report:#}");
        assert_eq!(count("due"), count("sent") + count("missed"));
        assert_eq!((count("arrived"), count("copies")), (count("sent"), 0), "{report:#}");
        assert!(phase["delay_s"]["median"].is_number());
    }
    assert_eq!(load["switches"].as_array().unwrap().len(), 2, "those that have hosts");
    let idle =
        report["generator"]["idle"].as_f64().expect("load went on for more than half a second");
    assert!((0.0..=1.0).contains(&idle), "{report:#}");
    assert_eq!(report["generator"]["limited"], idle < 0.05);
    let (said, _) =
        emulate(&controller.address, &["--topology", "linear,2", "--load", "50", "--for", "0.2"]);
    assert!(said.contains("2 of 2 pairs of hosts found each other"), "{said}");
    assert!(
        said.contains("load         50 packets/s for 0.200 s: 10 sent, 10 arrived; delay"),
        "{said}"
    );
    let line = said.lines().find(|line| line.starts_with("generator    ")).expect(&said);
    assert!(line.contains(" % idle while load and pings went on"), "{line}");
}

/// They are none of the network: LLDP has its links to cross and no others, and no ping is lost.
#[test]
fn switches_that_probe_ask_while_hosts_offer_load() {
    let controller = Running::start(&[]);
    for openflow in ["1.0", "1.3"] {
        let words =
            ["--topology", "torus,3,3", "--openflow", openflow, "--pingall", "--load", "50"];
        let probes = ["--for", "1", "--probes", "2", "--probe-rate", "50", "--json"];
        let (said, code) = emulate(&controller.address, &[&words[..], &probes].concat());
        let report: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(code, Some(0), "{report:#}");
        assert_eq!(report["findings"][0]["received"], 72, "{report:#}");
        assert_eq!((&report["switches"], &report["lldp"]["directions"]), (&9.into(), &36.into()));
        let probes = &report["probes"];
        let count = |name: &str| probes[name].as_u64().unwrap();
        assert!((98..=400).contains(&count("offered")), "two times 50 in a second: {report:#}");
        assert_eq!((count("answered"), count("unanswered")), (count("offered"), 0), "{report:#}");
        let delay = ["p50", "p99", "max"].map(|name| probes["delay_s"][name].as_f64().unwrap());
        assert!(delay[0] > 0.0 && delay.is_sorted() && delay[2] < 30.0, "{report:#}");
        assert_eq!(probes["ended_early"], Value::Null);
    }
    let words = ["--topology", "single,2", "--for", "0.2", "--probes", "1", "--probe-rate", "100"];
    let (said, _) = emulate(&controller.address, &words);
    let line = said.lines().find(|line| line.starts_with("probe µs     p50 ")).expect(&said);
    assert!(line.ends_with(" · 0 unanswered"), "{line}");
    let (said, _) = emulate(&controller.address, &["--topology", "single,2", "--for", "0"]);
    assert!(!said.contains("probe"), "there are none: {said}");
}

/// A network whose process goes on after it was ready.
fn network(controller: &str, words: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    let command = command.args(["emulate", controller, "--patience", "30"]).args(words);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    until(&mut out, "ready after");
    (child, out)
}

/// The next line that has these words.
fn until(out: &mut impl BufRead, words: &str) -> String {
    let mut lines = out.lines().map(Result::unwrap);
    lines.find(|line| line.contains(words)).unwrap_or_else(|| panic!("no line has {words}"))
}

/// What it goes on to say.
fn rest((mut child, mut out): (Child, BufReader<ChildStdout>)) -> (String, Option<i32>) {
    let mut said = String::new();
    out.read_to_string(&mut said).unwrap();
    (said, child.wait().unwrap().code())
}

fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
}

#[test]
fn two_networks_stand_side_by_side_at_one_controller() {
    let mut controller = Running::start(&["--http", "127.0.0.1:0"]);
    let api = Api::of(&mut controller);
    let words = ["--topology", "linear,3", "--await-links", "--for", "60", "--probes", "2"];
    let again = ["--pingall", "--at", "1s pingall"];
    let mut first = network(&controller.address, &[&words[..], &again].concat());
    let beside = ["--dpid-offset", "6", "--pingall"];
    let mut second = network(&controller.address, &[&words[..], &beside].concat());
    for network in [&mut first, &mut second] {
        let said = until(&mut network.1, "*** Results");
        assert!(said.contains("0% dropped (6/6 received)"), "{said}");
    }
    let said = until(&mut first.1, "*** Results");
    assert!(said.contains("0% dropped (6/6 received)"), "{said}");
    let switches = api.get("/v1.0/topology/switches").json();
    assert_eq!(switches.as_array().unwrap().len(), 10);
    // Those of the switches that probe have others.
    let hosts = api.get("/v1.0/topology/hosts").json();
    let macs = hosts.as_array().unwrap().iter().map(|host| host["mac"].as_str().unwrap());
    let macs: BTreeSet<&str> = macs.filter(|mac| mac.starts_with("00:")).collect();
    let ends = ["00:01", "00:02", "00:03", "05:01", "05:02", "05:03"];
    assert!(macs.into_iter().eq(ends.map(|end| format!("00:00:00:00:{end}"))), "{hosts}");
    for network in [first, second] {
        interrupt(&network.0);
        let (said, code) = rest(network);
        assert!(said.contains("LLDP         crossed 4 of 4"), "{said}");
        assert!(said.contains("\nerrors       none\n") && said.contains("\nprobe"), "{said}");
        assert!(!said.contains("connections") && code == Some(3), "--for had more: {said}");
    }
    assert_eq!(controller.end("-INT"), Some(0));
}

#[test]
fn several_networks_are_one_measurement() {
    let mut controller = Running::start(&["--http", "127.0.0.1:0"]);
    let api = Api::of(&mut controller);
    let words = ["--topology", "linear,3", "--networks", "3", "--pingall", "--probes", "1"];
    let load = ["--load", "300", "--for", "1", "--json"];
    let (said, code) = emulate(&controller.address, &[&words[..], &load].concat());
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(code, Some(0), "{report:#}");
    let networks = report["networks"].as_array().unwrap();
    let sum = |path: &str| {
        let counts = networks.iter().map(|network| network.pointer(path).unwrap());
        counts.map(|count| count.as_f64().unwrap()).sum::<f64>()
    };
    for (path, expected) in [
        ("/switches", Some(9.0)),
        ("/hosts", Some(9.0)),
        ("/links", Some(6.0)),
        ("/load/phases/0/rate", Some(300.0)),
        ("/load/phases/0/sent", None),
        ("/load/phases/0/arrived", None),
        ("/messages/packet_ins", None),
        ("/messages/packet_outs", None),
        ("/messages/flow_mods", None),
        ("/probes/offered", None),
        ("/probes/answered", None),
    ] {
        let whole = report.pointer(path).unwrap().as_f64().unwrap();
        assert_eq!(whole, sum(path), "{path}: {report:#}");
        assert_eq!(whole, expected.unwrap_or(whole), "{path}");
        assert!(whole > 0.0, "{path}: {report:#}");
    }
    let received = networks.iter().map(|network| &network["findings"][0]["received"]);
    assert!(received.eq([6; 3].map(Value::from).iter()), "{report:#}");
    let first: Vec<_> = networks.iter().map(|network| network["first_dpid"].as_u64()).collect();
    assert_eq!(first, [Some(1), Some(5), Some(9)], "three switches and one that probes each");
    // The networks are gone, and their hosts with them: what happened says which there were.
    let events = api.get("/api/v1/events/recent").json();
    let events = events["items"].as_array().unwrap().iter();
    let macs = events.filter_map(|event| event["host"]["mac"].as_str());
    let macs: BTreeSet<&str> = macs.filter(|mac| mac.starts_with("00:")).collect();
    assert_eq!(macs.len(), 9, "no two networks have an address in common: {macs:?}");

    let words = ["--topology", "single,2", "--networks", "2", "--pingall"];
    let (said, code) = emulate(&controller.address, &words);
    assert!(said.starts_with("2 networks of single,2: 2 switches, 0 links, 4 hosts"), "{said}");
    for network in ["network 1: ", "network 2: "] {
        assert!(
            said.contains(&format!("{network}*** Results: 0% dropped (2/2 received)")),
            "{said}"
        );
    }
    assert_eq!(said.matches("ready after").count(), 1, "{said}");
    assert_eq!(code, Some(0));
    assert_eq!(controller.end("-INT"), Some(0));
}

#[test]
fn that_probes_lost_their_controller_is_told() {
    let mut controller = Running::start(&[]);
    let words = ["--topology", "single,2", "--for", "60", "--probes", "1", "--probe-rate", "100"];
    let network = network(&controller.address, &words);
    assert_eq!(controller.end("-INT"), Some(0));
    interrupt(&network.0);
    let (said, code) = rest(network);
    assert!(said.contains("; they ended before the run did: "), "{said}");
    assert!(said.contains("switch 2 ") && code == Some(3), "{said}");
    let partial = said.lines().find(|line| line.starts_with("partial ")).expect(&said);
    for why in ["told to stop with this left: ", "; 1 of 1 switches had lost the controller"] {
        assert!(partial.contains(why), "{partial}");
    }
}

#[test]
fn a_ping_without_answer_is_the_exit_code() {
    let controller = Running::start(&[]);
    let words = ["--topology", "linear,2", "--patience", "0.3", "--at", "0s link-down s1 s2"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    let command = command.args(["emulate", &controller.address]).args(words);
    let output = command.args(["--ping", "h1", "h2"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    // The link breaks behind the ping of the same time, and before any frame has gone.
    assert!(said.contains("h1 -> h2: no answer"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn ctrl_c_ends_a_network_that_is_only_there() {
    let controller = Running::start(&[]);
    let network = network(&controller.address, &["--topology", "tree,2,2"]);
    interrupt(&network.0);
    let (said, code) = rest(network);
    assert!(said.contains("connected    after") && !said.contains("partial"), "{said}");
    assert_eq!(code, Some(0), "within {WITHIN:?}");
}

/// Pings without an answer, a load, a step of the script and time: all of it is cut.
#[test]
fn what_ctrl_c_cuts_is_partial_and_as_long_as_it_was() {
    let controller = Running::start(&["--apps", "learning-switch"]);
    let at = |step| ["--at", step];
    let steps = ["0s link-down s1 s2", "0s pingall", "1s broadcast h1", "20s calm h1"].map(at);
    let words = ["--topology", "linear,2,3", "--load", "100", "--for", "30", "--peers", "1"];
    let mut network = network(&controller.address, &[&words[..], &steps.concat()].concat());
    until(&mut network.1, "broadcast h1");
    interrupt(&network.0);
    let (said, code) = rest(network);
    let line = |words: &str| said.lines().find(|line| line.contains(words)).expect(&said);
    let pings = line("*** Results: 0% dropped (12/12 received)");
    assert!(pings.ends_with("; ** partial ** 18 more waited for an answer, 0 were not sent"));
    let load: Vec<&str> = line("load         100 packets/s for ").split(' ').collect();
    let place = load.iter().position(|word| *word == "for").unwrap();
    assert_eq!(load[place + 2..place + 5], ["s", "of", "30.000"], "{load:?}");
    let length: f64 = load[place + 1].parse().unwrap();
    assert!((1.0..20.0).contains(&length), "{load:?}");
    let sent: f64 = load[place + 6].parse().unwrap();
    assert!(sent > 0.0 && sent <= 100.0 * length + 5.0, "{load:?}");
    let partial = line("partial      ** partial ** told to stop with this left: ");
    for left in [" s of its time, ", " s of the load, 18 pings, ", "1 step of the script"] {
        assert!(partial.contains(left), "{partial}");
    }
    assert_eq!(code, Some(3));
}

#[test]
fn that_the_controller_died_and_stayed_away_makes_it_partial() {
    let mut controller = Running::start(&["--apps", "learning-switch"]);
    let words = ["--topology", "linear,2", "--for", "2", "--json"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    let command = command.args(["emulate", &controller.address]).args(words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    (0..2).for_each(|_| drop(controller.says(" is up")));
    assert_eq!(controller.end("-INT"), Some(0));
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let why = report["partial"].as_str().expect("it is partial");
    assert!(
        why.starts_with("2 of 2 switches had lost the controller at the end, s1 first: "),
        "{why}"
    );
    assert_eq!((&report["stopped"], output.status.code()), (&false.into(), Some(3)));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors, format!("aldis: the result is partial: {why}\n"));
}

/// With JSON as well, which leaves standard error free.
#[test]
fn how_far_it_has_come_is_told_every_ten_seconds() {
    let controller = Running::start(&["--apps", "learning-switch"]);
    let words = ["--topology", "linear,2", "--load", "20", "--for", "12", "--ping", "h1", "h2"];
    let (mut command, json) = (Command::new(env!("CARGO_BIN_EXE_aldis")), ["--json"]);
    let command = command.args(["emulate", &controller.address]).args(words).args(json);
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let line = errors.lines().next().expect("it says how far it has come");
    let [time, packets, pings] = line.split(" · ").collect::<Vec<_>>()[..] else {
        panic!("{line}")
    };
    assert!(time.ends_with(" s of 12 s") && pings == "1 of 1 pings answered", "{line}");
    let sent: u64 = packets.split(' ').next().unwrap().parse().unwrap();
    assert!((100..=240).contains(&sent) && packets.contains(" packets sent, "), "{line}");
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok());
}

#[test]
fn what_cannot_be_emulated_is_a_sentence() {
    let script = &file("bad-day.txt", "# a bad day\n\n1s link-down s1\n");
    for (words, sentence) in [
        (&["--topology", "star,3"][..], "there is no topology \"star,3\""),
        (&["--topology", "torus,2,3"], "X of a torus topology must be 3 to 10000"),
        (&["--topology", "no/such.graphml"], "no/such.graphml: the topology cannot be read"),
        (&["--topology", "linear,3", "--at", "soon reset s1"], "\"soon\" is no time"),
        (
            &["--topology", "linear,3", "--at", "1s reset s4"],
            "no switch s4: the topology has s1 to s3",
        ),
        (&["--topology", "linear,3", "--ping", "h1", "s1"], "\"s1\" is no host"),
        (
            &["--topology", "linear,3", "--script", script],
            "bad-day.txt:3: \"link-down s1\" cannot be read",
        ),
        (&["--topology", "linear,3", "--script", "no/such"], "no/such: the script cannot be read"),
        (&["--topology", "single,1", "--pingall"], "two are needed to ping"),
        (&["--topology", "linear,3", "--for", "long"], "a time is wanted"),
        (&["--topology", "linear,3", "--scenario", "1"], "up to 1000000 packets a second"),
        (&["--topology", "single,1", "--load", "1"], "load needs two"),
        (&["--topology", "linear,3", "--probes", "-1"], "'-1'"),
        (&["--topology", "linear,3", "--probes", "10001"], "10001 is not in 0..=10000"),
        (
            &["--topology", "linear,3", "--probes", "9998"],
            "the number of switches must be 1 to 10,000",
        ),
        (
            &["--topology", "linear,3", "--probes", "1", "--probe-rate", "100.5"],
            "a number of requests a second is wanted, above 0 and at most 100",
        ),
        (&["--topology", "linear,3", "--probe-rate", "nan"], "above 0 and at most 100"),
        (&["--topology", "linear,3", "-o", "0"], "0 is not in 1..=55535"),
        (&["--topology", "linear,3", "--networks", "65"], "65 is not in 1..=64"),
        (
            &["--topology", "linear,10000", "--networks", "7"],
            "the first datapath id must be 1 to 55,535",
        ),
        (&["--topology", "linear,3", "--spread", "skewed"], "say --load, --load-steps or"),
    ] {
        let said = refused(&[&["emulate", "127.0.0.1:1"], words].concat());
        assert!(said.contains(sentence), "{words:?}: {said}");
    }
}

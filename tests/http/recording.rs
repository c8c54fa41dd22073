//! `aldis record`: what switches and controller say becomes a file that tshark reads as OpenFlow.

use std::process::{Child, Command, Output, Stdio};

use aldis_testkit::Folder;
use aldis_testkit::client::Api;
use aldis_testkit::network::Network;
use aldis_testkit::running::{Running, failed, program};
use aldis_wire::Version;
use rustix::process::{Pid, Signal, kill_process};

use crate::when;

fn recording(mib: &str) -> (Running, Api, String) {
    let args = ["--http", "127.0.0.1:0", "--apps", "learning-switch", "--recording-mib", mib];
    let mut running = Running::start(&args);
    let api = Api::of(&mut running);
    let url = format!("http://{}", api.address);
    (running, api, url)
}

fn record(url: &str, file: &str, args: &[&str]) -> Child {
    let mut command = Command::new(program());
    command.args(["record", "--http", url, "--out", file]).args(args);
    command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What it says in the end.
fn said(child: Child, code: i32) -> String {
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(code), "{stderr}");
    stderr
}

/// The messages of this type that tshark finds, to a port of the controller.
fn found(file: &str, port: &str, kind: u8) -> usize {
    let decode = format!("tcp.port=={port},openflow");
    let filter = format!("openflow_v4.type == {kind}");
    seen(file, &["-d", &decode, "-Y", &filter])
}

/// The packets that tshark shows.
fn seen(file: &str, args: &[&str]) -> usize {
    let tshark = Command::new("tshark").args(["-r", file]).args(args).output();
    let tshark = tshark.expect("tshark is installed");
    String::from_utf8(tshark.stdout).unwrap().lines().count()
}

#[test]
fn a_recording_and_the_last_minute_are_openflow_to_tshark() {
    let folder = Folder::new("recording");
    let (controller, api, url) = recording("4");
    let port = controller.address.rsplit_once(':').unwrap().1.to_owned();
    let [live, last, one] = ["live", "last", "one"].map(|name| folder.file(name));
    let recorder = record(&url, &live, &[]);
    when(&api, "/api/v1/health", |_| std::fs::metadata(&live).is_ok_and(|file| file.len() > 0));
    {
        let _network = Network::start(&controller, Version::V13, "linear,3", &["0s ping h1 h3"]);
        let asked = |switch: &serde_json::Value| switch["counters"]["requests"] != 0;
        for dpid in 1..=3 {
            when(&api, &format!("/api/v1/switches/{dpid}"), asked);
        }
        let conclusion = said(record(&url, &last, &["--last", "60s"]), 0);
        assert!(conclusion.contains("3 connections") && conclusion.contains("nothing is missing"));
        said(record(&url, &one, &["--last", "60s", "--switch", "2"]), 0);
    }
    when(&api, "/api/v1/switches", |switches| switches["total"] == 0);
    // What happened is in the file a moment later, while the recorder goes on.
    when(&api, "/api/v1/health", |_| found(&live, &port, 6) == 3);
    kill_process(Pid::from_child(&recorder), Signal::INT).unwrap();
    let conclusion = said(recorder, 0);
    assert!(conclusion.contains("nothing is missing"), "{conclusion}");
    for file in [&live, &last] {
        // FEATURES_REPLY, PACKET_IN, and what it is answered by: FLOW_MOD or PACKET_OUT.
        assert_eq!(found(file, &port, 6), 3, "{file}");
        assert!(found(file, &port, 10) >= 3 && found(file, &port, 13) + found(file, &port, 14) > 0);
    }
    assert_eq!(found(&one, &port, 6), 1);
}

/// Connections, reads, writes, and what is missing of both, in the words of a conclusion.
fn counted(conclusion: &str) -> [u64; 4] {
    let numbers = conclusion.rsplit_once(": ").unwrap().1.split([',', ';']);
    let number = |words: &str| match words.split_whitespace().next().unwrap() {
        "nothing" => 0,
        number => number.parse().unwrap(),
    };
    let numbers: Vec<u64> = numbers.take(4).map(number).collect();
    numbers.try_into().unwrap()
}

#[test]
fn a_ring_that_is_full_has_the_newest_and_counts_what_it_threw_away() {
    let folder = Folder::new("full-ring");
    let (controller, api, url) = recording("1");
    let [live, last] = ["live", "last"].map(|name| folder.file(name));
    let recorder = record(&url, &live, &[]);
    when(&api, "/api/v1/health", |_| std::fs::metadata(&live).is_ok_and(|file| file.len() > 0));
    let load = ["-s", "2", "-M", "100", "-l", "1", "-m", "500", "-w", "0", "-t", "--rate", "50000"];
    let bench = Command::new(program()).args(["bench", &controller.address]).args(load).output();
    assert!(bench.unwrap().status.success());
    when(&api, "/api/v1/switches", |switches| switches["total"] == 0);
    let kept = counted(&said(record(&url, &last, &["--last", "60s"]), 0));
    // Both ends of both connections end in the file.
    when(&api, "/api/v1/health", |_| seen(&live, &["-Y", "tcp.flags.fin == 1"]) == 4);
    kill_process(Pid::from_child(&recorder), Signal::INT).unwrap();
    let [conns, read, written, missing] = counted(&said(recorder, 0));
    assert_eq!((conns, missing), (2, 0));
    assert!(kept[1] > 0 && kept[2] > 0 && kept[3] > kept[1], "{kept:?} of {read} and {written}");
    assert_eq!(kept[1] + kept[2] + kept[3], read + written);
    // Connections that began before the ring did have their ends and their switch all the same.
    assert_eq!(kept[0], 2);
    let bytes = std::fs::metadata(&last).unwrap().len();
    assert!((600_000..3_000_000).contains(&bytes), "{bytes}");
}

#[test]
fn a_full_disk_ends_the_recording_and_nothing_else() {
    let (_controller, api, url) = recording("1");
    let words = said(record(&url, "/dev/full", &[]), 1);
    assert!(words.contains("No space left on device"), "{words}");
    assert!(words.contains("the controller goes on"), "{words}");
    assert_eq!(api.get("/api/v1/switches").status, 200);
}

#[test]
fn what_is_not_kept_is_said() {
    let mut running = Running::start(&["--http", "127.0.0.1:0", "--apps", "learning-switch"]);
    let api = Api::of(&mut running);
    let url = format!("http://{}", api.address);
    let words = failed(&["record", "--http", &url, "--out", "/dev/null", "--last", "60s"]);
    assert!(words.contains("--recording-mib 64"), "{words}");
    assert!(api.get("/api/v1/recording?last=0").is_problem(400, "1 to 86400 seconds"));
    assert!(api.get("/api/v1/recording?switches=one").is_problem(400, "is not a datapath id"));
}

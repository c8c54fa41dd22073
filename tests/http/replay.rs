//! `aldis replay`: what was recorded comes out again, byte for byte; what cannot is said.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use aldis_testkit::Folder;
use aldis_testkit::client::Api;
use aldis_testkit::network::Network;
use aldis_testkit::running::{Running, program, refused};
use aldis_wire::Version;

use crate::when;

fn aldis(args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a command says, and its exit code.
fn said(args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = aldis(args).output().unwrap();
    let [stdout, stderr] = [stdout, stderr].map(|said| String::from_utf8(said).unwrap());
    (status.code().unwrap(), stdout, stderr)
}

/// Records what happens in a network from the start of a controller, which has these arguments.
fn recorded(file: &str, args: &[&str], version: Version, shape: &str, script: &[&str]) {
    let fixed = ["--http", "127.0.0.1:0", "--recording-mib", "32"];
    let mut controller = Running::start(&[&fixed, args].concat());
    let api = Api::of(&mut controller);
    let url = format!("http://{}", api.address);
    {
        let _network = Network::start(&controller, version, shape, script);
        let asked = |switch: &serde_json::Value| switch["counters"]["requests"] != 0;
        for dpid in 1..=3 {
            when(&api, &format!("/api/v1/switches/{dpid}"), asked);
        }
        // What seconds bring: probes, timers, the end of a link.
        std::thread::sleep(Duration::from_secs(3));
    }
    when(&api, "/api/v1/switches", |switches| switches["total"] == 0);
    let (code, _, words) = said(&["record", "--http", &url, "--out", file, "--last", "24h"]);
    assert_eq!(code, 0, "{words}");
    assert!(words.contains("nothing is missing"), "{words}");
}

const PINGS: [&str; 4] =
    ["0s ping h1 h3", "500ms ping h2 h1", "1s ping h3 h2", "2s link-down s1 s2"];

#[test]
fn what_was_recorded_comes_out_again_and_other_applications_send_something_else() {
    let folder = Folder::new("replay");
    let file = folder.file("net.pcapng");
    recorded(&file, &["--workers", "1"], Version::V13, "ring,3", &PINGS);
    let (code, stdout, stderr) = said(&["replay", &file]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("commands came out byte for byte as recorded"), "{stdout}");

    let (code, stdout, _) = said(&["replay", &file, "--diff"]);
    assert_eq!((code, stdout.contains("the same would have been sent")), (0, true), "{stdout}");
    let (code, stdout, _) = said(&["replay", &file, "--diff", "--apps", "hub"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("times something else would have been sent"), "{stdout}");
    assert!(stdout.contains("OFPT_PACKET_OUT") && stdout.contains("recorded:"), "{stdout}");
    let words = refused(&["replay", &file, "--apps", "hub"]);
    assert!(words.contains("route-flow") && words.contains("--diff"), "{words}");
}

#[test]
fn what_two_workers_did_in_the_same_moment_comes_out_in_that_order() {
    let folder = Folder::new("replay-workers");
    let file = folder.file("net.pcapng");
    let args = ["--http", "127.0.0.1:0", "--recording-mib", "64", "--workers", "2"];
    let mut controller = Running::start(&args);
    let api = Api::of(&mut controller);
    let url = format!("http://{}", api.address);
    // Hosts of two rows ask one another, sixteen at a time, and the paths are moved once.
    let mut script: Vec<String> = (0..240)
        .map(|at| {
            let (from, to) = (at % 16, (at + 1 + at / 16) % 16);
            format!("{}ms ping h{} h{}", 500 + at / 16 * 20, from + 1, to + 1)
        })
        .collect();
    script.push("1s link-down s1 s5".into());
    let script: Vec<&str> = script.iter().map(String::as_str).collect();
    let _network = Network::start(&controller, Version::V13, "fat-tree,4", &script);
    when(&api, "/api/v1/hosts", |hosts| hosts["total"] == 16);
    std::thread::sleep(Duration::from_secs(4));
    let (code, _, words) = said(&["record", "--http", &url, "--out", &file, "--last", "24h"]);
    assert_eq!(code, 0, "{words}");
    assert!(words.contains("nothing is missing"), "{words}");
    let (code, stdout, stderr) = said(&["replay", &file]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(!stderr.contains("of 2 workers"), "{stderr}");
}

#[test]
fn a_replay_goes_step_by_step_and_up_to_a_time() {
    let folder = Folder::new("replay-step");
    let file = folder.file("net.pcapng");
    // Of two workers, neither of which has anything to do while the other one does.
    let args = ["--apps", "learning-switch", "--workers", "2"];
    recorded(&file, &args, Version::V10, "linear,3", &PINGS);
    let (code, stdout, stderr) = said(&["replay", &file, "--until", "0.8"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let count = |text: &str| -> u64 {
        let before = text.split(" messages played").next().unwrap();
        before.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let some = count(&stdout);
    let (_, stdout, _) = said(&["replay", &file]);
    assert!(some > 0 && some < count(&stdout), "{stdout}");

    let mut command = aldis(&["replay", &file, "--step"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"\n\n\nq\n").unwrap();
    let Output { status, stdout, .. } = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(stdout).unwrap();
    assert_eq!(status.code(), Some(0), "{stdout}");
    assert_eq!(stdout.matches(", worker ").count(), 4, "{stdout}");
    assert!(stdout.contains("a switch connects") && stdout.contains("OFPT_HELLO"), "{stdout}");
}

#[test]
fn what_cannot_be_played_is_a_sentence_with_the_file_and_the_place() {
    let folder = Folder::new("replay-bad");
    let file = folder.file("net.pcapng");
    let args = ["--apps", "learning-switch", "--workers", "1"];
    recorded(&file, &args, Version::V13, "linear,3", &PINGS);
    let whole = std::fs::read(&file).unwrap();
    let bad = |name: &str, bytes: &[u8]| {
        let file = folder.file(name);
        std::fs::write(&file, bytes).unwrap();
        let words = refused(&["replay", &file]);
        assert!(words.contains(&file), "{words}");
        words
    };
    let cut = bad("cut.pcapng", &whole[..whole.len() - 7]);
    assert!(cut.contains("at byte ") && cut.contains("it was cut"), "{cut}");
    assert!(cut.contains("can be played with --until "), "{cut}");
    // The head stands behind the first two blocks; its format is a number of two bytes.
    let mark = whole.windows(4).position(|four| four == b"ALDS").unwrap();
    let mut newer = whole.clone();
    newer[mark + 8] = 9;
    let words = bad("newer.pcapng", &newer);
    assert!(words.contains("a newer Aldis wrote this"), "{words}");
    // The length of the block in the middle.
    let (mut altered, mut at) = (whole.clone(), 0);
    while at < whole.len() / 2 {
        at += u32::from_le_bytes(*whole[at + 4..].first_chunk().unwrap()) as usize;
    }
    altered[at + 4..at + 8].fill(0xff);
    let words = bad("altered.pcapng", &altered);
    assert!(words.contains(&format!("at byte {at}: ")) && words.contains("was altered"), "{words}");
    assert!(bad("none.pcapng", b"no recording").contains("this is no pcapng file"));
    let until = cut.split("--until ").nth(1).unwrap().trim();
    let (code, stdout, stderr) = said(&["replay", &folder.file("cut.pcapng"), "--until", until]);
    assert_eq!(code, 0, "{stdout}{stderr}");

    // A byte of an answer that was recorded: something else comes out.
    let reason = |text: &[u8]| whole.windows(text.len()).rposition(|it| it == text);
    let flow_mod = reason(&[4, 14, 0]).unwrap();
    let mut other = whole.clone();
    other[flow_mod + 17] ^= 1;
    let file = folder.file("other.pcapng");
    std::fs::write(&file, other).unwrap();
    let (code, stdout, _) = said(&["replay", &file]);
    assert_eq!(code, 1, "{stdout}");
    for words in ["the first difference:", "switch 0000", "recorded:", "now:", "OFPT_FLOW_MOD"] {
        assert!(stdout.contains(words), "{stdout}");
    }
}

#[test]
fn a_recording_that_begins_too_late_or_has_a_gap_is_refused() {
    let folder = Folder::new("replay-late");
    let [late, gap] = ["late.pcapng", "gap.pcapng"].map(|name| folder.file(name));
    let apps = ["--apps", "learning-switch"];
    let args = [&["--http", "127.0.0.1:0", "--recording-mib", "1"], &apps[..]].concat();
    let mut controller = Running::start(&args);
    let api = Api::of(&mut controller);
    let url = format!("http://{}", api.address);
    let _network = Network::start(&controller, Version::V13, "linear,2", &["0s ping h1 h2"]);
    when(&api, "/api/v1/switches", |switches| switches["total"] == 2);
    // What the recorder did not take yet would be in it.
    std::thread::sleep(Duration::from_millis(300));
    let (code, _, words) = said(&["record", "--http", &url, "--out", &late, "--for", "1s"]);
    assert_eq!(code, 0, "{words}");
    let words = refused(&["replay", &late]);
    assert!(words.contains("no switch connects in it"), "{words}");

    // More than a ring of 1 MiB holds.
    let load = ["-o", "100", "-s", "4", "-M", "100", "-l", "2", "-m", "500"];
    let (code, _, words) = said(&[&["bench", &controller.address], &load[..]].concat());
    assert_eq!(code, 0, "{words}");
    let (code, _, words) = said(&["record", "--http", &url, "--out", &gap, "--last", "60s"]);
    assert_eq!(code, 0, "{words}");
    assert!(words.contains("reads and writes are missing, where the file says so"), "{words}");
    let words = refused(&["replay", &gap]);
    assert!(words.contains("at byte ") && words.contains("are missing from here on"), "{words}");
}

//! Runs that Ctrl-C ends: of one process, and of several that measure together.

use super::parts::{Scripted, coordinator};
use super::{Null, SHORT, aldis};
use aldis_emulator::peer::{Peer, bare, hello};
use aldis_wire::Version;
use aldis_wire::header::kind;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A loop whose end is not waited for.
const LONG: [&str; 9] = ["--no-teach", "-M", "10", "-w", "0", "-l", "1", "-m", "120000"];
/// Long before that.
const SOON: Duration = Duration::from_secs(30);
/// Answers to a switch after which a run is under way.
const SOME: u64 = 20;

/// A controller of so many switches that says of each when it has given it [`SOME`] answers, and
/// goes on.
fn attentive(switches: usize) -> (String, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (busy, all_busy) = channel();
    for _ in 0..switches {
        let (listener, busy) = (listener.try_clone().unwrap(), busy.clone());
        std::thread::spawn(move || {
            let mut peer = Peer::over(listener.accept().unwrap().0, SOON).unwrap();
            peer.send(&[hello(Version::V10), bare(Version::V10, 5, 2)].concat()).unwrap();
            for answered in 1.. {
                let Ok(request) = peer.expect(kind::PACKET_IN) else { return };
                // A PACKET_OUT that names the buffer.
                let answer = [&[1, 13, 0, 16, 0, 0, 0, 0], &request[8..12], &[0; 4]].concat();
                if peer.send(&answer).is_err() {
                    return;
                }
                if answered == SOME {
                    busy.send(()).unwrap();
                }
            }
        });
    }
    (address, all_busy)
}

/// Waits until `switches` of them are served.
fn await_busy(busy: &Receiver<()>, switches: usize) {
    (0..switches).for_each(|_| busy.recv_timeout(SOON).unwrap());
}

fn spawn(args: &[&str]) -> Child {
    aldis(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(process: &Child, signal: Signal) {
    kill_process(Pid::from_raw(process.id() as i32).unwrap(), signal).unwrap();
}

/// What it said and its exit code; that it did not wait for the loop's end.
fn end(process: Child) -> (Output, String) {
    let begun = Instant::now();
    let output = process.wait_with_output().unwrap();
    assert!(begun.elapsed() < SOON, "{output:?}");
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    (output, said)
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("aldis-bench-{name}-{}.json", std::process::id()))
}

fn saved(file: &PathBuf) -> Value {
    let saved = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    std::fs::remove_file(file).unwrap();
    saved
}

#[test]
fn what_was_measured_until_ctrl_c_is_printed_and_saved() {
    let (address, busy) = attentive(1);
    let file = scratch("stopped");
    let save = ["bench", &address, "-s", "1", "--save", file.to_str().unwrap()];
    let process = spawn(&[&save[..], &LONG].concat());
    await_busy(&busy, 1);
    signal(&process, Signal::INT);
    let (output, said) = end(process);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(said, "aldis: the result is partial: it was told to stop\n");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("** partial ** it was told to stop"), "{table}");
    let saved = saved(&file);
    assert_eq!(saved["partial"], "it was told to stop");
    assert!(saved["counts"]["answered"].as_u64() >= Some(SOME - 1), "{saved}");
}

#[test]
fn the_second_ctrl_c_ends_the_process() {
    let null = Null::start();
    let (process, address) = coordinator(&null.address, &LONG);
    let mut part = Scripted::join(&address);
    part.pass_gates();
    signal(&process, Signal::INT);
    // The other part is asked for its report, and has none.
    assert_eq!(part.hear(), "\"Stop\"");
    signal(&process, Signal::INT);
    let (output, _) = end(process);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(130), &[][..]), "{output:?}");
}

#[test]
fn ctrl_c_of_who_coordinates_ends_all_parts_and_keeps_what_they_measured() {
    let (controller, busy) = attentive(2);
    let file = scratch("stopped-parts");
    let load = [&["-s", "2", "--save", file.to_str().unwrap()][..], &LONG].concat();
    let (process, address) = coordinator(&controller, &load);
    let other = spawn(&["bench", "--join", &address]);
    await_busy(&busy, 2);
    signal(&process, Signal::INT);
    let (output, said) = end(process);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(said.contains("partial: it was told to stop"), "{said}");
    let saved = saved(&file);
    assert_eq!(saved["partial"], "it was told to stop");
    let switches = saved["per_switch"].as_array().unwrap();
    let answered: Vec<_> = switches.iter().map(|switch| switch["answered"].as_u64()).collect();
    assert!(answered.len() == 2 && answered.iter().all(|&some| some >= Some(SOME - 1)), "{saved}");
    let (output, said) = end(other);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(said.ends_with("the result is partial: the coordinator said to stop\n"), "{said}");
}

#[test]
fn a_part_that_loses_its_coordinator_stops() {
    let (controller, busy) = attentive(2);
    let (mut process, address) = coordinator(&controller, &[&["-s", "2"][..], &LONG].concat());
    let other = spawn(&["bench", "--join", &address]);
    await_busy(&busy, 2);
    process.kill().unwrap();
    process.wait().unwrap();
    let (output, said) = end(other);
    assert!(!output.status.success(), "{output:?}");
    assert!(said.contains("the coordinator was lost"), "{said}");
}

/// Whatever it measures, and wherever it is.
#[test]
fn a_part_that_is_told_to_stop_hands_over_its_report_at_once() {
    let null = Null::start();
    for (mode, gates) in [("throughput", 0), ("throughput", 2), ("connect", 1), ("connect", 2)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let other = spawn(&["bench", "--join", &listener.local_addr().unwrap().to_string()]);
        let mut coordinator = Scripted::over(listener.accept().unwrap().0);
        assert!(coordinator.hear().contains(env!("CARGO_PKG_VERSION")));
        let args = [&[null.address.as_str(), "--mode", mode][..], &LONG].concat();
        coordinator.say(&serde_json::json!({ "args": args, "index": 1, "of": 2 }).to_string());
        for gate in ["\"Connected\"", "\"Taught\""].into_iter().take(gates) {
            assert_eq!(coordinator.hear(), gate, "{mode}");
            coordinator.say("\"Go\"");
        }
        coordinator.say("\"Stop\"");
        let mut heard = coordinator.hear();
        if !heard.starts_with('{') {
            // It was at a gate already.
            heard = coordinator.hear();
        }
        let finding: Value = serde_json::from_str(&heard).unwrap();
        assert_eq!(finding["failure"], "the coordinator said to stop", "{mode}");
        drop(coordinator);
        let (output, said) = end(other);
        assert!(matches!(output.status.code(), Some(1 | 3)), "{output:?}");
        assert!(said.ends_with("the coordinator said to stop\n"), "{said}");
    }
}

#[test]
fn ctrl_c_while_parts_are_waited_for_says_how_many_were_there() {
    let (mut process, _) = coordinator("127.0.0.1:1", &SHORT);
    signal(&process, Signal::INT);
    let mut said = String::new();
    BufReader::new(process.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "aldis: told to stop when 1 of 2 parts were there\n");
    assert_eq!(process.wait().unwrap().code(), Some(1));
}

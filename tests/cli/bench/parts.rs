//! Several processes that make one measurement.

use super::{Null, SHORT, aldis, bench};
use aldis_emulator::peer::{Peer, bare, hello};
use aldis_wire::Version;
use aldis_wire::header::kind;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

/// A coordinator of two parts of a run against `controller`, and where it waits for the other.
pub(super) fn coordinator(controller: &str, more: &[&str]) -> (Child, String) {
    let args = ["bench", controller, "--coordinate", "127.0.0.1:0", "--parts", "2", "--json"];
    let mut process = aldis(&[&args[..], more].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(process.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    let address = said.trim_end().rsplit_once(' ').expect(&said).1.to_owned();
    (process, address)
}

#[test]
fn two_processes_make_one_measurement() {
    let null = Null::start();
    let load =
        ["-s", "3", "-M", "50", "-l", "2", "-m", "400", "--outstanding", "8", "--probes", "2"];
    let (process, address) = coordinator(&null.address, &load);
    let joined = bench(&["--join", &address]);
    assert!(joined.status.success(), "{joined:?}");
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["requests_per_second"]["loops"].as_array().unwrap().len(), 2);
    assert_eq!(report["fairness"]["sorted"].as_array().unwrap().len(), 3);
    // Of three switches and two that probe the other part plays every second.
    let said = String::from_utf8(joined.stderr).unwrap();
    assert_eq!(said, "part 2 of 2: 2 switches\n");
    assert_eq!(report["partial"], Value::Null);
}

/// A controller that serves so many handshakes, one connection after another, and is gone then. How
/// many it finished.
fn doorman(handshakes: u64) -> (String, std::thread::JoinHandle<u64>) {
    let patience = Duration::from_secs(60);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let controller = std::thread::spawn(move || {
        let mut finished = 0;
        while finished < handshakes {
            let mut peer = Peer::over(listener.accept().unwrap().0, patience).unwrap();
            let questions = [hello(Version::V10), bare(Version::V10, 5, 2)].concat();
            peer.send(&questions).unwrap();
            let echo = peer.expect(kind::ECHO_REQUEST).unwrap();
            peer.send(&[&[Version::V10.wire(), kind::ECHO_REPLY], &echo[2..]].concat()).unwrap();
            finished += 1;
            if finished < handshakes {
                peer.expect_close().unwrap();
            }
        }
        finished
    });
    (address, controller)
}

#[test]
fn handshakes_of_two_processes_are_as_many_as_the_controller_served() {
    let (controller, served) = doorman(60);
    let load = ["--mode", "connect", "-s", "4", "-l", "1", "-m", "60000", "-w", "0"];
    let (process, address) = coordinator(&controller, &load);
    let joined = bench(&["--join", &address]);
    let said = String::from_utf8(joined.stderr).unwrap();
    assert!(said.starts_with("part 2 of 2: 2 switches\n"), "{said}");
    let output = process.wait_with_output().unwrap();
    // The controller went away in the middle.
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["counts"]["done"].as_u64(), Some(served.join().unwrap()), "{report}");
    assert!(report["partial"].is_string(), "{report}");
}

#[test]
fn handshakes_of_two_processes_are_one_measurement() {
    let null = Null::start();
    let (process, address) =
        coordinator(&null.address, &[&["--mode", "connect"], &SHORT[..]].concat());
    let joined = bench(&["--join", &address]);
    assert!(joined.status.success(), "{joined:?}");
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["counts"]["done"].as_u64() > Some(0), "{report}");
    assert_eq!(report["partial"], Value::Null);
}

/// One of two parts, of which a test says every word.
pub(super) struct Scripted {
    socket: TcpStream,
    lines: BufReader<TcpStream>,
}

impl Scripted {
    /// Introduces itself to the coordinator at `address`, and hears what it is to do.
    pub(super) fn join(address: &str) -> Scripted {
        let mut part = Scripted::over(TcpStream::connect(address).unwrap());
        part.say(&format!("{{\"aldis\":\"{}\"}}", env!("CARGO_PKG_VERSION")));
        assert!(part.hear().contains("\"index\":1"));
        part
    }

    pub(super) fn over(socket: TcpStream) -> Scripted {
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Scripted { lines: BufReader::new(socket.try_clone().unwrap()), socket }
    }

    pub(super) fn say(&mut self, line: &str) {
        self.socket.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(super) fn hear(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().into()
    }

    /// Is at both gates, and told to go on.
    pub(super) fn pass_gates(&mut self) {
        for word in ["\"Connected\"", "\"Taught\""] {
            self.say(word);
            assert_eq!(self.hear(), "\"Go\"");
        }
    }
}

#[test]
fn a_part_that_is_lost_is_said_so() {
    let null = Null::start();
    let (process, address) = coordinator(&null.address, &SHORT);
    // It introduces itself and hangs up.
    drop(Scripted::join(&address));
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("part 2 of 2") && said.contains("was lost before measuring"), "{said}");
}

#[test]
fn a_part_that_dies_in_the_middle_makes_the_result_partial() {
    let null = Null::start();
    let (process, address) = coordinator(&null.address, &SHORT);
    // It passes both gates and is gone when its report is wanted.
    let mut part = Scripted::join(&address);
    part.pass_gates();
    drop(part);
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let why = report["partial"].as_str().unwrap();
    assert!(why.contains("part 2 of 2") && why.contains("no report came: it left"), "{why}");
}

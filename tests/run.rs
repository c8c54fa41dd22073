//! `aldis run` as a person starts it: what it says, how it refuses, how it stops.

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const WITHIN: Duration = Duration::from_secs(10);

fn aldis(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn refused(args: &[&str]) -> String {
    let Output { status, stdout, stderr } = aldis(args).output().unwrap();
    assert_eq!(status.code(), Some(2), "{args:?}");
    assert!(stdout.is_empty());
    String::from_utf8(stderr).unwrap()
}

/// A controller that is ended with the test.
struct Running {
    child: Child,
    said: Vec<String>,
    address: String,
}

impl Running {
    fn start(args: &[&str]) -> Running {
        let mut child =
            aldis(&[&["run", "--listen", "127.0.0.1:0"], args].concat()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        while !said.iter().any(|line: &String| line.starts_with("Listening")) {
            said.push(lines.next().expect("it ended before it listened").unwrap());
        }
        let address = said
            .last()
            .unwrap()
            .split(' ')
            .find(|word| word.starts_with("127."))
            .unwrap()
            .to_owned();
        // What it says later is read away, so that it never waits for us.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Running { child, said, address }
    }

    fn signal(&mut self, signal: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let deadline = Instant::now() + WITHIN;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::yield_now();
        }
        panic!("it did not stop on {signal} within {WITHIN:?}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_says_what_it_does() {
    let running = Running::start(&["--workers", "1"]);
    assert!(
        running.said[0]
            .contains("1 worker, design static-partition, applications: learning-switch")
    );
    assert!(running.said[1].contains("OpenFlow 1.0 and 1.3"), "{:?}", running.said);
}

#[test]
fn it_stops_in_order_on_ctrl_c_and_on_sigterm() {
    for signal in ["-INT", "-TERM"] {
        let mut running = Running::start(&[]);
        let mut switch = TcpStream::connect(&running.address).unwrap();
        switch.set_read_timeout(Some(WITHIN)).unwrap();
        let mut hello = [0; 8];
        switch.read_exact(&mut hello).unwrap();
        assert_eq!(hello[1], 0, "the first message is a HELLO");
        assert_eq!(running.signal(signal), Some(0));
        assert!(TcpStream::connect(&running.address).is_err(), "nobody listens any more");
    }
}

#[test]
fn a_busy_port_is_one_sentence() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = refused(&["run", "--listen", &address]);
    assert!(
        said.contains(&address) && said.contains("taken") && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn a_missing_file_is_one_sentence() {
    let said = refused(&["run", "--config", "/nowhere/aldis.toml"]);
    assert!(said.contains("/nowhere/aldis.toml") && said.lines().count() == 1, "{said}");
}

#[test]
fn a_bad_value_is_said_with_what_is_accepted() {
    let cases = [
        (&["--design", "beacom"][..], "static-partition"),
        (&["--apps", "hubb"], "learning-switch"),
        (&["--workers", "0"], "from 1 to 256"),
        (&["--listen", "here"], "--listen"),
        (&["--log", "loud"], "trace"),
    ];
    for (args, accepted) in cases {
        let said = refused(&[&["run"], args].concat());
        assert!(said.contains(accepted), "{args:?}: {said}");
    }
}

#[test]
fn an_error_in_the_file_names_file_line_and_field() {
    let file = std::env::temp_dir().join(format!("aldis-run-test-{}.toml", std::process::id()));
    std::fs::write(&file, "poll = false\nworkers = 0\n").unwrap();
    let said = refused(&["run", "--config", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    assert!(said.contains(&format!("{}:2: workers: ", file.display())), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

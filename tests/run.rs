//! `aldis run` as a person starts it: what it says, how it refuses, how it stops.

#[path = "common/running.rs"]
#[allow(dead_code)]
mod running;

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};

use running::{Running, WITHIN, failed, refused};

#[test]
fn it_says_what_it_does() {
    let running = Running::start(&["--workers", "1"]);
    let cores = std::thread::available_parallelism().unwrap();
    let plural = if cores.get() == 1 { "" } else { "s" };
    let apps =
        "static-flows, topology, hosts, arp-proxy, nd-proxy, dhcp, routing, route-flow, spanning";
    let expected =
        format!(": 1 worker on {cores} core{plural}; design fair-rounds; applications: {apps}");
    assert!(running.said[0].ends_with(&expected), "{:?}", running.said);
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
        assert_eq!(running.end(signal), Some(0));
        assert!(TcpStream::connect(&running.address).is_err(), "nobody listens any more");
    }
}

/// The papers' systems, and ours, each with the section it comes from and its knobs.
#[test]
fn designs_are_listed_with_their_knobs_and_where_they_come_from() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_aldis")).arg("designs").output();
    let listed = String::from_utf8(output.unwrap().stdout).unwrap();
    let lines: Vec<&str> = listed.lines().collect();
    for (name, knobs, source) in [
        ("fair-rounds", "512 requests", "ours"),
        ("maestro-round-robin", " 2 KB  adaptive, 150", "Maestro §3.2.4"),
        ("maestro-dynamic-partition", "dynamic partition, 1s", "Maestro §3.2.3"),
        ("maestro-static-partition", "64 KB  per read", "Maestro §3.2.2"),
        ("maestro-shared-queue", "400", "Maestro §3.2.1"),
        ("maestro-plain", "immediate off", "earlier Maestro paper §III"),
        ("beacon", "batched", "Beacon §5.2"),
        ("beacon-queue", "2 I/O threads", "Beacon §5.2"),
        ("beacon-queue-per-switch", "queue a switch, 2 I/O threads", "Beacon §5.2.1"),
        ("beacon-immediate", "immediate", "Beacon §5.3"),
        ("nox", "512 KB", "Maestro §4"),
    ] {
        let at = lines.iter().position(|line| line.split_whitespace().next() == Some(name));
        let at = at.unwrap_or_else(|| panic!("{name} is not listed: {listed}"));
        assert!(lines[at].contains(knobs), "{}", lines[at]);
        assert!(lines[at + 1].trim_start().starts_with(source), "{}", lines[at + 1]);
    }
}

/// A full disk is a sentence, a reader that has seen enough is nothing.
#[test]
fn what_cannot_be_printed_is_one_sentence() {
    for args in
        [&["designs"][..], &["lab", "list"], &["version"], &["completions", "bash"], &["man"]]
    {
        let run = |out: std::process::Stdio| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_aldis"));
            let output = command.args(args).stdout(out).stderr(std::process::Stdio::piped());
            let output = output.spawn().unwrap().wait_with_output().unwrap();
            (output.status.code(), String::from_utf8(output.stderr).unwrap())
        };
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (code, said) = run(full.into());
        let one = said.starts_with("aldis: cannot write to standard output: No space left");
        assert!(code == Some(1) && one && said.lines().count() == 1, "{args:?}: {code:?}, {said}");
        let (_, gone) = std::io::pipe().unwrap();
        assert_eq!(run(gone.into()), (Some(0), String::new()), "{args:?}");
    }
}

/// All that it says on standard error from its start to its end, the lines of greeting and farewell among them.
fn said(args: &[&str], journal: bool) -> Vec<String> {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_aldis"));
    command.args(["run", "--listen", "127.0.0.1:0", "--http", "off"]).args(args);
    let file = rustix::fs::fstat(&writer).unwrap();
    if journal {
        command.env("JOURNAL_STREAM", format!("{}:{}", file.st_dev, file.st_ino));
    } else {
        command.env("JOURNAL_STREAM", format!("{}:{}", file.st_dev, file.st_ino + 1));
    }
    let mut child = command.stderr(writer).spawn().unwrap();
    drop(command);
    let mut lines = vec![];
    for line in BufReader::new(reader).lines() {
        let line = line.unwrap();
        if line.contains("Ctrl-C stops") {
            let pid = child.id().to_string();
            let kill = std::process::Command::new("kill").args(["-TERM", &pid]).status();
            assert!(kill.unwrap().success());
        }
        lines.push(line);
    }
    assert_eq!(child.wait().unwrap().code(), Some(0), "{lines:?}");
    lines
}

#[test]
fn every_line_is_json_where_that_is_asked_for() {
    let lines = said(&["--log-format", "json"], true);
    let all: Vec<serde_json::Value> =
        lines.iter().map(|line| serde_json::from_str(line).expect(line)).collect();
    let has =
        |words: &str| all.iter().any(|line| line["message"].as_str().unwrap().contains(words));
    assert!(
        has("Listening for switches on 127.0.0.1:") && has("aldis: stopped after"),
        "{lines:?}"
    );
    let are = all.iter().all(|line| line["level"] == "info" && line["time"].is_string());
    assert!(are, "{lines:?}");
}

#[test]
fn the_journal_gets_priorities_and_no_times() {
    for (args, journal) in [(&[][..], true), (&["--log-format", "journald"], false)] {
        let lines = said(args, journal);
        assert!(lines.iter().all(|line| line.starts_with("<6>")), "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with("<6>Listening for switches on ")));
        assert!(!lines.iter().any(|line| line.contains('\u{1b}')), "{lines:?}");
    }
    // Standard error went elsewhere since, or text was asked for.
    for (args, journal) in [(&[][..], false), (&["--log-format", "text"], true)] {
        let lines = said(args, journal);
        assert!(lines.iter().any(|line| line.starts_with("Listening for ")), "{lines:?}");
        assert!(!lines.iter().any(|line| line.starts_with('<')), "{lines:?}");
    }
}

#[test]
fn a_busy_port_is_one_sentence() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = failed(&["run", "--listen", &address]);
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
        (&["--design", "beacom"][..], "fair-rounds"),
        (&["--apps", "hubb"], "learning-switch"),
        (&["--workers", "0"], "from 1 to 256"),
        (&["--listen", "here"], "--listen"),
        (&["--log", "loud"], "trace"),
        (&["--log-format", "xml"], "text, json, journald"),
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

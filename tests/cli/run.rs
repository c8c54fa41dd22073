//! `aldis run` as a person starts it: what it says, how it refuses, how it stops.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use aldis_testkit::running::{Running, WITHIN, failed, refused};

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
    let output = Command::new(env!("CARGO_BIN_EXE_aldis")).arg("designs").output();
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
        ("beacon-queue-priorities", "queue a switch, 2 I/O threads", "Beacon §5.2.1"),
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
        let run = |out: Stdio| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
            let output = command.args(args).stdout(out).stderr(Stdio::piped());
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

/// All that it says on standard error from its start to its end, the lines of greeting and farewell
/// among them.
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

/// A pipe that takes no more, and is not read.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'.'; 4096]).is_ok() {}
    while writer.write(b".").is_ok() {}
    fcntl_setfl(&writer, flags).unwrap();
    (reader, writer)
}

#[test]
fn a_pipe_that_is_full_and_not_read_keeps_nobody_waiting() {
    let (_reader, writer) = full_pipe();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut child = Command::new(env!("CARGO_BIN_EXE_aldis"))
        .args(["run", "--listen", &address, "--http", "off", "--log", "debug"])
        .stdin(Stdio::null())
        .stdout(writer.try_clone().unwrap())
        .stderr(writer)
        .spawn()
        .unwrap();
    let pid = child.id().to_string();
    let signal =
        |name: &str| assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    let deadline = Instant::now() + WITHIN;
    let connected = || loop {
        match TcpStream::connect(&address) {
            Ok(stream) => return stream,
            Err(_) => assert!(Instant::now() < deadline, "it does not listen"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    // More lines than a pipe holds, and counters, which go to standard output.
    for _ in 0..100 {
        connected().write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    }
    for _ in 0..20 {
        signal("-USR1");
    }
    let mut switch = connected();
    switch.set_read_timeout(Some(WITHIN)).unwrap();
    let mut hello = [0; 8];
    switch.read_exact(&mut hello).expect("switches are served meanwhile");
    signal("-TERM");
    let deadline = Instant::now() + WITHIN;
    let ended = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if Instant::now() > deadline => break None,
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    if ended.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    assert_eq!(ended.and_then(|status| status.code()), Some(0), "it ends on SIGTERM");
}

/// What README prints is what is said, but for the machine's cores; and so is the end of the help.
#[test]
fn the_banner_of_the_readme_is_what_is_said() {
    let readme = include_str!("../../README.md");
    let next =
        readme.lines().find(|line| line.trim_start().starts_with("mn --controller")).unwrap();
    assert!(
        next.contains("datapath=user"),
        "it works without Open vSwitch's kernel module: {next}"
    );
    let mut running = Running::start(&[]);
    let said = running.says("  mn --controller");
    let port = running.address.rsplit_once(':').unwrap().1;
    assert_eq!(said, next.replace("port=6653", &format!("port={port}")));
    for line in ["Next, as root in another terminal:", "Ctrl-C stops."] {
        assert!(readme.contains(&format!("\n{line}\n")), "{line}");
    }
    let Output { stdout, .. } = aldis(&["run", "--help"], &[]);
    let help = String::from_utf8(stdout).unwrap();
    assert!(help.ends_with(&format!("\n{next}\n")), "{help}");
}

#[test]
fn without_any_switch_it_is_said_once_what_to_check() {
    let mut running = Running::start(&[]);
    let said = running.says("no switch has connected within 15 s");
    let port = running.address.rsplit_once(':').unwrap().1;
    let told = format!("ovs-vsctl set-controller BRIDGE tcp:127.0.0.1:{port}");
    assert!(said.contains(&told) && said.contains("protocols=OpenFlow13"), "{said}");
}

#[test]
fn a_port_or_a_name_is_enough_to_listen_on() {
    for (listen, address) in
        [("0", " 0.0.0.0:"), (":0", " 0.0.0.0:"), ("localhost:0", " 127.0.0.1:")]
    {
        let mut running = Running::start(&["--listen", listen]);
        let (_, others) = running.said.last().unwrap().split_once(" and ").unwrap();
        assert!(format!(" {others}").contains(address), "{listen}: {others}");
        assert_eq!(running.end("-TERM"), Some(0));
    }
}

fn aldis(args: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    command.args(args).env("COLUMNS", "80").envs(variables.iter().copied()).output().unwrap()
}

#[test]
fn a_command_that_there_is_not_is_told_with_the_one_that_was_meant() {
    for (args, sentence) in [
        (
            &["swiches"][..],
            "there is no command `swiches`; did you mean `switches`? \"aldis help\" lists them",
        ),
        (
            &["lab", "rn"],
            "there is no command `rn` of aldis lab; did you mean `run`? \"aldis help lab\" lists them",
        ),
        (&["frobnicate"], "there is no command `frobnicate`; \"aldis help\" lists them"),
    ] {
        assert_eq!(refused(args), format!("aldis: {sentence}\n"));
    }
    assert!(refused(&["run", "--lisen", "6653"]).contains("'--listen'"));
    assert!(refused(&["run", "--apps", "hubb"]).contains("did you mean `hub`?"));
}

#[test]
fn the_controller_to_ask_is_named_by_a_variable_too() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = format!("http://{}", taken.local_addr().unwrap());
    drop(taken);
    let output = aldis(&["switches"], &[("ALDIS_HTTP", &nowhere)]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains(&nowhere), "{said}");
    let output = aldis(&["switches"], &[("ALDIS_HTTP", "nowhere")]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(2) && said.contains("ALDIS_HTTP is \"nowhere\""),
        "{said}"
    );
    let help = String::from_utf8(aldis(&["switches", "--help"], &[]).stdout).unwrap();
    assert!(help.contains("ALDIS_HTTP"), "{help}");
}

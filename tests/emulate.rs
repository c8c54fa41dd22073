//! `aldis emulate` under `aldis run`, and what it says where it cannot run.

#[path = "common/running.rs"]
#[allow(dead_code)]
mod running;

use running::{Running, WITHIN, refused};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What `aldis emulate` prints, and its exit code.
fn emulate(controller: &str, words: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    let output = command
        .args(["emulate", controller, "--patience", "30", "--settle", "0"])
        .args(words)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.is_empty(), "{errors}");
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
    // Each network is another one, though all have the same switches and hosts, and begins where the one before it ended.
    let mut controller = Running::start(&[]);
    for openflow in ["1.0", "1.3", "1.0", "1.3"] {
        let words = ["--topology", "torus,3,3", "--openflow", openflow, "--pingall"];
        let (said, code) = emulate(&controller.address, &words);
        assert!(said.contains("*** Results: 0% dropped (72/72 received)"), "{said}");
        assert!(said.contains("\nerrors       none\n") && code == Some(0), "{said}");
    }
    assert_eq!(controller.end("-INT"), Some(0));
}

/// The same switches and hosts say the same again, within the second in which a frame is not flooded twice.
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
    let (said, _) =
        emulate(&controller.address, &["--topology", "linear,2", "--load", "50", "--for", "0.2"]);
    assert!(said.contains("2 of 2 pairs of hosts found each other"), "{said}");
    assert!(
        said.contains("load         50 packets/s for 0.200 s: 10 sent, 10 arrived; delay"),
        "{said}"
    );
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    let command = command.args(["emulate", &controller.address, "--topology", "tree,2,2"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("ready after") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended before it was ready");
    }
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("connected    after"), "{rest}");
    assert_eq!(child.wait().unwrap().code(), Some(0), "within {WITHIN:?}");
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
        (&["--topology", "linear,3", "--spread", "skewed"], "say --load, --load-steps or"),
    ] {
        let said = refused(&[&["emulate", "127.0.0.1:1"], words].concat());
        assert!(said.contains(sentence), "{words:?}: {said}");
    }
}

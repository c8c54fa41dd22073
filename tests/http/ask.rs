//! The commands that ask a running controller, as a person and as a script use them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use aldis_wire::Version;
use serde_json::Value;

use super::client::Api;
use super::network::Network;
use super::{serving, when};

/// What a command says that asks this controller, and its exit code.
fn asked(api: &Api, words: &[&str]) -> (String, String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    let url = format!("http://{}", api.address);
    let output = command.args(words).args(["--http", &url]).output().unwrap();
    let Output { status, stdout, stderr } = output;
    (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap(), status.code())
}

/// What it says where it does as it is asked.
fn told(api: &Api, words: &[&str]) -> String {
    let (said, errors, code) = asked(api, words);
    assert_eq!((errors.as_str(), code), ("", Some(0)), "{words:?}");
    said
}

#[test]
fn commands_print_tables_for_people_and_json_for_scripts() {
    let (controller, api) = serving();
    let _network = Network::start(&controller, Version::V13, "linear,2", &["0s pingall"]);
    when(&api, "/api/v1/switches", |page| page["total"] == 2);
    let table = told(&api, &["switches"]);
    assert!(table.starts_with("dpid ") && table.ends_with("2 switches\n"), "{table}");
    assert!(table.contains("\n0000000000000002  127.0.0.1:"), "{table}");
    assert!(told(&api, &["switches", "0x1"]).contains("OpenFlow 1.3\n"));
    let json: Value = serde_json::from_str(&told(&api, &["switches", "--json"])).unwrap();
    assert_eq!(json["total"], 2);
    assert!(told(&api, &["ports", "1"]).ends_with("2 ports\n"));
    assert!(told(&api, &["ports"]).ends_with("4 ports\n"));
    assert!(told(&api, &["stats"]).contains("\nqueue wait "));
    assert!(told(&api, &["metrics"]).contains("\naldis_switches 2\n"));
    assert!(told(&api, &["health"]).starts_with("state     up\n"));
    let recent = told(&api, &["events", "--recent"]);
    assert_eq!(recent.matches("switch-up").count(), 2, "{recent}");
}

#[test]
fn what_is_refused_is_one_sentence() {
    let (_controller, api) = serving();
    for (words, sentence) in [
        (&["switches", "7"][..], "aldis: switch 0000000000000007 is not connected\n"),
        (&["ports", "../../x"], "\"../../x\" is not a datapath id"),
        (&["hosts"], "no application looks for hosts here"),
        (&["links"], "no application looks for links here"),
        (&["events", "--after", "x\r\ny"], "is no event's id"),
    ] {
        let (said, errors, code) = asked(&api, words);
        assert_eq!((said.as_str(), code), ("", Some(2)), "{words:?}");
        assert!(errors.contains(sentence) && errors.lines().count() == 1, "{words:?}: {errors}");
    }
    let nobody = Api { address: "127.0.0.1:1".into() };
    let (_, errors, code) = asked(&nobody, &["switches"]);
    assert!(errors.contains("no controller answers at http://127.0.0.1:1") && code == Some(2));
}

#[test]
fn weights_are_changed_while_it_runs() {
    let (mut controller, api) = serving();
    let _network = Network::start(&controller, Version::V13, "linear,3", &[]);
    when(&api, "/api/v1/switches", |page| page["total"] == 3);
    let table = told(&api, &["weights", "--set", "0x2=4", "--set", "1-9=3"]);
    assert_eq!(table, "switches  weight\n0x2       4\n1-9       3\nall others: 1\n");
    // Workers follow each in its own time.
    let reach = |weights: [u32; 3]| {
        when(&api, "/api/v1/switches", |page| {
            let items = page["items"].as_array().unwrap();
            items.iter().zip(weights).all(|(switch, weight)| switch["weight"] == weight)
        });
    };
    reach([3, 4, 3]);
    controller.says("HTTP: weight of 0x2: no rule → 4");
    let first = api.get("/api/v1/weights");
    let tag = first.header("etag").unwrap();
    let put = |body: &str, more: &[(&str, &str)]| {
        let headers = [&[("Content-Type", "application/json")], more].concat();
        api.ask("PUT", "/api/v1/weights", &headers, body.as_bytes())
    };
    let rules = r#"{"rules": [{"switches": "*", "weight": 2}]}"#;
    assert!(put(rules, &[("If-Match", "\"other\"")]).is_problem(412, "read them again"));
    assert_eq!(put(rules, &[("If-Match", tag)]).status, 200);
    assert!(put(rules, &[("If-Match", tag)]).is_problem(412, "read them again"));
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let long = format!(r#"{{"rules": [], "x": "{}"}}"#, "x".repeat(1 << 20));
    for (body, status, words) in [
        (r#"{"rules": [{"switches": "1", "weight": 0}]}"#, 422, "rules[0]: \"1\": "),
        (r#"{"rules": [{"switches": "<b>", "weight": 1}]}"#, 422, "rules[0]: \"<b>\": "),
        (r#"{"rules": [{"switches": "1", "weight": 1.5}]}"#, 422, "rules[0].weight: invalid type"),
        (r#"{"rules": [{"switches": "1"}]}"#, 422, "missing field `weight`"),
        (r#"{"rules": [], "rules": []}"#, 422, "duplicate field `rules`"),
        (r#"{"rules": [], "more": 1}"#, 422, "unknown field `more`"),
        (r#"{"rules": 99999999999999999999999999}"#, 422, "rules: invalid type"),
        (r#"{"rules": []}]"#, 400, "no JSON"),
        ("nonsense", 400, "no JSON"),
        (&deep, 400, "deeper than 32"),
        (&long, 413, "longer than the 1048576 bytes"),
    ] {
        let answer = put(body, &[]);
        assert!(answer.is_problem(status, words), "{}: {answer:?}", &body[..body.len().min(99)]);
    }
    let many = vec![r#"{"switches": "1", "weight": 1}"#; 1025].join(",");
    assert!(put(&format!(r#"{{"rules": [{many}]}}"#), &[]).is_problem(422, "rules[1024]"));
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let answer = api.ask("PUT", "/api/v1/weights", &form, rules.as_bytes());
    assert!(answer.is_problem(415, "has to be JSON"), "{answer:?}");
    let page = [("Content-Type", "application/json"), ("Origin", "http://evil.example")];
    let answer = api.ask("PUT", "/api/v1/weights", &page, rules.as_bytes());
    assert!(answer.is_problem(403, "another origin"), "{answer:?}");
    let now = api.get("/api/v1/weights").json();
    assert_eq!(now["rules"], serde_json::from_str::<Value>(rules).unwrap()["rules"]);
    assert_eq!(now["source"], "http");
    reach([2, 2, 2]);
    told(&api, &["weights", "--reset"]);
    assert_eq!(api.get("/api/v1/weights").json()["source"], "configuration");
    reach([1, 1, 1]);
}

#[test]
fn what_runs_is_told() {
    let (_controller, api) = serving();
    let apps = api.get("/api/v1/apps").json();
    assert_eq!(apps["apps"][0]["name"], "learning-switch");
    let sequences = apps["sequences"].as_array().unwrap();
    assert!(sequences.iter().any(|sequence| sequence["on"] == "flow-request"), "{apps}");
    let design = api.get("/api/v1/design").json();
    assert_eq!((&design["design"], &design["weighs"]), (&"fair-rounds".into(), &true.into()));
    assert_eq!(design["knobs"]["write"], "batched");
}

/// A command that is ended with the test.
struct Following(Child);

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn events_are_followed_until_the_controller_ends() {
    let (mut controller, api) = serving();
    let url = format!("http://{}", api.address);
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    command.args(["events", "--after", "oldest", "--http", &url]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut following = Following(child);
    let mut lines = BufReader::new(following.0.stdout.take().unwrap()).lines();
    let _network = Network::start(&controller, Version::V10, "single,1", &[]);
    let line = lines.next().unwrap().unwrap();
    assert!(line.contains("switch-up") && line.contains("OpenFlow 1.0, 1 ports"), "{line}");
    assert_eq!(controller.end("-INT"), Some(0));
    assert_eq!(following.0.wait().unwrap().code(), Some(2));
}

#[test]
fn shells_and_man_are_told_about_the_command() {
    let said = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_aldis")).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for shell in ["bash", "zsh", "fish"] {
        assert!(said(&["completions", shell]).contains("switches"), "{shell}");
    }
    assert!(said(&["man"]).starts_with(".ie"));
    let folder = std::env::temp_dir().join(format!("aldis-man-{}", std::process::id()));
    said(&["man", folder.to_str().unwrap()]);
    let page = std::fs::read_to_string(folder.join("aldis-run.1")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(page.contains("weight"));
}

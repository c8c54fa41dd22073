//! The commands that ask a running controller, as a person and as a script use them.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};

use aldis_wire::Version;
use serde_json::Value;

use super::{serving, when};
use aldis_testkit::client::Api;
use aldis_testkit::network::Network;
use aldis_testkit::running::Running;

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// What a command says that asks this controller, and its exit code.
pub(super) fn asked(api: &Api, words: &[&str]) -> (String, String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    let url = format!("http://{}", api.address);
    let output = command.args(words).args(["--http", &url]).output().unwrap();
    let Output { status, stdout, stderr } = output;
    (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap(), status.code())
}

/// What it says where it does as it is asked.
pub(super) fn told(api: &Api, words: &[&str]) -> String {
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
    done(&api, "PUT", "/api/v1/names/2", r#"{"name": "core"}"#);
    assert!(told(&api, &["switches"]).contains("Z  core\n"), "{table}");
    assert!(told(&api, &["switches", "2"]).contains("\nname           core\n"));
    assert!(told(&api, &["ports", "1"]).ends_with("2 ports\n"));
    assert!(told(&api, &["ports"]).ends_with("4 ports\n"));
    assert!(told(&api, &["stats"]).contains("\nqueue wait "));
    assert!(told(&api, &["metrics"]).contains("\naldis_switches 2\n"));
    assert!(told(&api, &["health"]).starts_with("state     up\n"));
    let recent = told(&api, &["events", "--recent"]);
    assert_eq!(recent.matches("switch-up").count(), 2, "{recent}");
}

/// Sends this JSON there.
fn done(api: &Api, method: &str, path: &str, body: &str) {
    let answer = api.ask(method, path, &[JSON], body.as_bytes());
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
}

/// What a command prints as JSON.
fn json(api: &Api, words: &[&str]) -> Value {
    serde_json::from_str(&told(api, &[words, &["--json"]].concat())).unwrap()
}

#[test]
fn what_switches_have_is_listed_of_one_and_of_all() {
    let (controller, api) = serving();
    let _network = Network::start(&controller, Version::V13, "linear,2", &[]);
    when(&api, "/api/v1/switches", |page| page["total"] == 2);
    for (switch, port) in [(1, 7), (2, 8), (2, 9)] {
        let flow = format!(
            r#"{{"flows": [{{"switch": "{switch}", "command": "add", "priority": {port}, "cookie": "0x77", "hard_timeout_s": 600,
                "match": {{"in_port": {port}}}, "actions": ["output:1"]}}]}}"#
        );
        done(&api, "POST", "/api/v1/flows", &flow);
    }
    let ours = |more: &[&str]| told(&api, &[&["flows", "--cookie", "0x77"], more].concat());
    let all = ours(&[]);
    assert!(all.starts_with("switch ") && all.ends_with("\n3 flows\n"), "{all}");
    assert!(
        all.contains("\n0x1     0      7 ") && all.contains(" in_port=7  output:1  0 "),
        "{all}"
    );
    assert!(!all.contains("0/600 s"), "{all}");
    let wide = ours(&["--wide"]);
    assert!(
        wide.contains("\n0000000000000001  0      7 ") && wide.contains("  0/600 s  "),
        "{wide}"
    );
    let second = ours(&["2"]);
    assert!(second.starts_with("table ") && second.ends_with("\n2 flows\n"), "{second}");
    assert!(ours(&["--match", "in_port=8"]).ends_with("\n1 flow\n"));
    assert!(ours(&["--out-port", "2"]).ends_with("\n0 flows\n"));
    let listed = json(&api, &["flows", "--cookie", "0x77"]);
    assert_eq!((&listed["total"], &listed["items"][2]["priority"]), (&3.into(), &8.into()));
    assert_eq!(listed["items"][0]["dpid"], "0000000000000001");
    assert_eq!(json(&api, &["flows", "1", "--cookie", "0x77"])["items"][0]["cookie"], "0x77");

    let group = r#"{"dpid": 2, "type": "SELECT", "group_id": 5, "buckets": [
        {"weight": 50, "actions": [{"type": "OUTPUT", "port": 1}]}, {"weight": 20, "actions": [{"type": "OUTPUT", "port": 2}]}]}"#;
    done(&api, "POST", "/stats/groupentry/add", group);
    let meter = r#"{"dpid": 1, "flags": "KBPS", "meter_id": 3, "bands": [{"type": "DROP", "rate": 1000, "burst_size": 9}]}"#;
    done(&api, "POST", "/stats/meterentry/add", meter);
    // Ryu's are not confirmed where they are sent.
    when(&api, "/api/v1/switches/2/groups", |page| page["total"] == 1);
    when(&api, "/api/v1/switches/1/meters", |page| page["total"] == 1);
    let groups = told(&api, &["groups"]);
    let line = "0000000000000002  5      select  output:1 weight 50 | output:2 weight 20  0 ";
    assert!(groups.contains(line) && groups.ends_with("\n1 group\n"), "{groups}");
    assert_eq!(told(&api, &["groups", "1"]).lines().last(), Some("0 groups"));
    let meters = told(&api, &["meters", "1"]);
    assert!(meters.contains("\n3      kbps   drop above 1000, burst 9  0 "), "{meters}");
    assert_eq!(json(&api, &["meters"])["items"][0]["dpid"], "0000000000000001");
    assert!(told(&api, &["queues"]).ends_with("queues\n"));

    let nonsense = asked(&api, &["flows", "--match", "colour=red"]);
    assert!(nonsense.1.contains("match: ") && nonsense.1.lines().count() == 1, "{nonsense:?}");
    assert_eq!((nonsense.0.as_str(), nonsense.2), ("", Some(1)));
}

#[test]
fn switches_of_the_first_version_have_no_groups_and_no_meters() {
    let (controller, api) = serving();
    let _network = Network::start(&controller, Version::V10, "linear,2", &[]);
    when(&api, "/api/v1/switches", |page| page["total"] == 2);
    for what in ["groups", "meters"] {
        assert_eq!(told(&api, &[what]).lines().last(), Some(&*format!("0 {what}")));
        let (said, errors, code) = asked(&api, &[what, "1"]);
        assert_eq!((said.as_str(), code), ("", Some(1)));
        assert!(errors.contains("OpenFlow 1.0 cannot say"), "{errors}");
    }
}

#[test]
fn who_does_not_tell_is_named_beside_those_who_do_and_who_is_busy_is_asked_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let api = Api { address: listener.local_addr().unwrap().to_string() };
    let controller = std::thread::spawn(move || {
        let mut asked = vec![];
        // The list, the first switch, which is told to be asked later, the first again, and the
        // second.
        for _ in 0..4 {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let lines: Vec<_> =
                lines.map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
            let path = lines[0].split(' ').nth(1).unwrap().to_owned();
            let gone = r#"{"type": "urn:aldis:no-such-switch", "title": "Not Found", "status": 404, "detail": "switch 2 is not connected"}"#;
            let (head, body) = match path.as_str() {
                "/api/v1/switches" => (
                    "200 OK",
                    r#"{"total": 2, "items": [{"dpid": "1", "version": "1.3"}, {"dpid": "2", "version": "1.3"}]}"#,
                ),
                "/api/v1/switches/2/queues" => ("404 Not Found", gone),
                _ if asked.contains(&path) => (
                    "200 OK",
                    r#"{"total": 1, "items": [{"port": "4", "queue": 6, "tx_packets": null, "tx_bytes": 8, "tx_errors": 0, "age_s": 0.0}]}"#,
                ),
                _ => ("429 Too Many Requests\r\nRetry-After: 0", "{}"),
            };
            asked.push(path);
            write!(stream, "HTTP/1.0 {head}\r\n\r\n{body}").unwrap();
        }
    });
    let (said, errors, code) = asked(&api, &["queues"]);
    let table = "dpid  port  queue  packets  bytes  dropped  age\n1     4     6      -        8      0        0 s\n1 queue\n";
    assert_eq!(said, table);
    assert_eq!((errors.as_str(), code), ("aldis: switch 2 is not connected\n", Some(3)));
    controller.join().unwrap();
}

#[test]
fn rules_and_flows_that_are_kept_are_listed_with_what_became_of_them() {
    let apps = "acl,static-flows,topology,learning-switch";
    let mut controller = Running::start(&["--http", "127.0.0.1:0", "--apps", apps]);
    let api = Api::of(&mut controller);
    let _network = Network::start(&controller, Version::V13, "linear,2", &[]);
    when(&api, "/api/v1/switches", |page| page["total"] == 2);
    let rule = r#"{"action": "deny", "match": {"eth_type": "0x0800", "ip_proto": 6, "tcp_dst": 23}, "switches": ["1"]}"#;
    done(&api, "PUT", "/api/v1/acl/no%20telnet", rule);
    let flow =
        r#"{"switch": "*", "priority": 500, "match": {"in_port": 1}, "actions": ["output:2"]}"#;
    done(&api, "PUT", "/api/v1/static-flows/up%2Flink", flow);
    when(&api, "/api/v1/static-flows", |page| page["items"][0]["there"] == 2);
    when(&api, "/api/v1/acl/no%20telnet", |rule| rule["at"][0]["there"] == true);
    let rules = told(&api, &["acl"]);
    assert!(
        rules.contains("\nno telnet  deny    ") && rules.ends_with("http\n1 rule\n"),
        "{rules}"
    );
    let one = told(&api, &["acl", "no telnet"]);
    assert!(one.contains("tcp_dst=23") && one.contains("\n0000000000000001  there: "), "{one}");
    let flows = told(&api, &["static-flows"]);
    let line =
        "\nup/link  *         -      500       in_port=1  output:2  2 of 2  http\n1 static flow\n";
    assert!(flows.ends_with(line), "{flows}");
    let owned = told(&api, &["flows", "2"]);
    assert!(owned.contains("  static-flows\n"), "whose the flow is: {owned}");
    let one = told(&api, &["static-flows", "up/link"]);
    assert!(one.contains("\n0000000000000002  there: "), "{one}");
    assert_eq!(json(&api, &["static-flows"])["items"][0]["name"], "up/link");
    let (_, errors, code) = asked(&api, &["acl", "nobody"]);
    assert!(errors.contains("nobody") && code == Some(1), "{errors}");
    let runs = told(&api, &["apps"]);
    assert!(runs.starts_with("what runs\n  acl  ") && runs.contains("\nsequences\n"), "{runs}");
    assert_eq!(json(&api, &["apps"])["apps"][1]["name"], "static-flows");
    // What runs there is not what would run here.
    let (_, errors, code) = asked(&api, &["apps", "--apps", "acl"]);
    assert!(errors.contains("cannot be used with") && code == Some(2), "{errors}");
}

#[test]
fn what_is_refused_is_one_sentence() {
    let (_controller, api) = serving();
    for (words, sentence) in [
        (&["switches", "7"][..], "aldis: switch 0000000000000007 is not connected\n"),
        (&["ports", "../../x"], "\"../../x\" is not a datapath id"),
        (&["hosts"], "no application looks for hosts here"),
        (&["links"], "no application looks for links here"),
        (&["flows", "7"], "aldis: switch 0000000000000007 is not connected\n"),
        (&["acl"], "the application \"acl\" does not run here"),
        (&["events", "--after", "x\r\ny"], "is no event's id"),
    ] {
        let (said, errors, code) = asked(&api, words);
        assert_eq!((said.as_str(), code), ("", Some(1)), "{words:?}");
        assert!(errors.contains(sentence) && errors.lines().count() == 1, "{words:?}: {errors}");
    }
    let nobody = Api { address: "127.0.0.1:1".into() };
    let (_, errors, code) = asked(&nobody, &["switches"]);
    assert!(errors.contains("no controller answers at http://127.0.0.1:1") && code == Some(1));
}

#[test]
fn knobs_of_the_design_are_turned_while_it_runs() {
    let args = ["--http", "127.0.0.1:0", "--design", "maestro-round-robin"];
    let mut controller = Running::start(&args);
    let api = Api::of(&mut controller);
    let knob = |name: &str| api.get("/api/v1/design").json()["knobs"][name].clone();
    let put = |body: &str| {
        let json = [("Content-Type", "application/json")];
        api.ask("PUT", "/api/v1/design", &json, body.as_bytes())
    };
    for body in [r#"{"knobs": {"bdu-us": 300}}"#, r#"{"knobs": {"bdu-us": " 301 "}}"#] {
        assert_eq!(put(body).status, 200, "{body}");
    }
    assert_eq!(knob("bdu-us"), "301");
    for (body, words) in [
        (r#"{"knobs": {"bdu-us": 500, "ibt": 100}}"#, "knobs.ibt: design maestro-round-robin"),
        (r#"{"knobs": {"bdu-us": -1}}"#, "knobs.bdu-us: -1 is below 0"),
        (r#"{"knobs": {"bdu-us": "soon"}}"#, "knobs.bdu-us: "),
        (r#"{"knobs": {"prt": 9}}"#, "knobs.prt: "),
        (r#"{"knobs": {"write": "immediate"}}"#, "knobs.write: only a restart applies it"),
        (r#"{"knobs": {"wings": 2}}"#, "knobs.wings: "),
        (r#"{"knob": {}}"#, "`knob`"),
    ] {
        let answer = put(body);
        assert!(answer.is_problem(422, words), "{body}: {answer:?}");
    }
    assert_eq!(knob("bdu-us"), "301");
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
        (
            r#"{"rules": [{"switches": "1", "weight": 1.5}]}"#,
            422,
            "rules[0].weight: the number 1.5 is given where a whole number",
        ),
        (r#"{"rules": [{"switches": "1"}]}"#, 422, "`weight` is missing"),
        (r#"{"rules": [], "rules": []}"#, 422, "`rules` is there twice"),
        (r#"{"rules": [], "more": 1}"#, 422, "there is no key `more` here"),
        (
            r#"{"rules": 99999999999999999999999999}"#,
            422,
            "rules: the number 1e+26 is given where a list",
        ),
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
    let running = |app: &&Value| app["state"] == "running";
    let running = apps["apps"].as_array().unwrap().iter().filter(running);
    let names: Vec<_> = running.map(|app| app["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["learning-switch", "leftovers"]);
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
    assert_eq!(following.0.wait().unwrap().code(), Some(1));
}

#[test]
fn shells_and_man_are_told_about_the_command() {
    let said = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_aldis")).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for shell in ["bash", "zsh", "fish"] {
        let completions = said(&["completions", shell]);
        for command in ["switches", "flows", "static-flows"] {
            assert!(completions.contains(command), "{shell}: {command}");
        }
    }
    assert!(said(&["man"]).starts_with(".ie"));
    let folder = std::env::temp_dir().join(format!("aldis-man-{}", std::process::id()));
    said(&["man", folder.to_str().unwrap()]);
    let page = std::fs::read_to_string(folder.join("aldis-run.1")).unwrap();
    for command in ["flows", "groups", "meters", "queues", "acl", "static-flows"] {
        assert!(folder.join(format!("aldis-{command}.1")).is_file(), "{command}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(page.contains("weight"));
}

//! Floodlight's routes, with what scripts send that were written for it, against emulated switches
//! of both versions.

mod circuit;
mod rules;

use std::time::Instant;

use aldis_testkit::client::{Api, HttpAnswer};
use aldis_testkit::network::Network;
use aldis_testkit::running::{Running, WITHIN};
use aldis_wire::Version;
use serde_json::{Value, json};

const ONE: &str = "00:00:00:00:00:00:00:01";
const TWO: &str = "00:00:00:00:00:00:00:02";
const PUSHER: &str = "/wm/staticentrypusher/json";

struct Scene {
    controller: Running,
    api: Api,
}

impl Scene {
    fn new(apps: &[&str]) -> Scene {
        let args = [&["--http", "127.0.0.1:0"], apps].concat();
        let mut controller = Running::start(&args);
        let api = Api::of(&mut controller);
        Scene { controller, api }
    }

    fn network(&self, version: Version) -> Network {
        let network = Network::start(&self.controller, version, "linear,2", &["0s pingall"]);
        self.when("/wm/core/controller/switches/json", |all| all.as_array().unwrap().len() == 2);
        network
    }

    fn when(&self, path: &str, is: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + WITHIN;
        loop {
            let answer = self.api.get(path);
            if answer.status == 200 && is(&answer.json()) {
                return answer.json();
            }
            assert!(Instant::now() < deadline, "{path} stayed {answer:?}");
            std::thread::yield_now();
        }
    }

    fn get(&self, path: &str) -> Value {
        let answer = self.api.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    fn ask(&self, method: &str, body: &Value) -> HttpAnswer {
        let headers = [("Content-type", "application/json"), ("Accept", "application/json")];
        self.api.ask(method, PUSHER, &headers, body.to_string().as_bytes())
    }

    fn pushed(&self, body: Value) {
        let answer = self.ask("POST", &body);
        assert_eq!(
            (answer.status, answer.json()),
            (200, json!({"status": "Entry pushed"})),
            "{body}"
        );
    }

    /// The flows of a switch with this priority.
    fn flows(&self, switch: &str, priority: &str) -> Vec<Value> {
        let all = self.get(&format!("/wm/core/switch/{switch}/flow/json"));
        let all = all["flows"].as_array().unwrap();
        all.iter().filter(|flow| flow["priority"] == priority).cloned().collect()
    }
}

#[test]
fn entries_are_pushed_listed_and_removed() {
    for version in Version::ALL {
        let scene = Scene::new(&["--apps", "learning-switch"]);
        let _network = scene.network(version);
        // As the static pusher of Floodlight's tutorial sends them.
        let flow = json!({
            "switch": ONE, "name": "flow_mod_1", "cookie": "0", "priority": "2001", "in_port": "1", "active": "true",
            "actions": "output=2",
        });
        scene.pushed(flow.clone());
        scene.pushed(json!({
            "switch": ONE, "name": "flow_mod_2", "cookie": "0", "priority": "2002", "eth_type": "0x0800", "ipv4_dst": "10.0.0.2",
            "active": "true", "actions": "set_field=eth_dst->00:00:00:00:00:02,output=flood",
        }));
        let does = if version == Version::V10 { "actions" } else { "instructions" };
        let flows = scene.flows(ONE, "2001");
        assert_eq!(flows.len(), 1);
        assert_eq!(flows[0]["match"], json!({"in_port": "1"}));
        assert!(flows[0]["packetCount"].is_string(), "{flows:?}");
        let text = flows[0][does].to_string();
        assert!(text.contains("output=2"), "{text}");
        let flows = scene.flows(ONE, "2002");
        assert_eq!(flows[0]["match"], json!({"eth_type": "0x800", "ipv4_dst": "10.0.0.2"}));
        let list = scene.get("/wm/staticentrypusher/list/all/json");
        let names: Vec<_> = list[ONE]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one.as_object().unwrap().keys().next().unwrap().clone())
            .collect();
        assert_eq!(names, ["flow_mod_1", "flow_mod_2"]);
        assert_eq!(list[ONE][0]["flow_mod_1"]["priority"], "2001");
        assert_eq!(scene.get(&format!("/wm/staticflowpusher/list/{TWO}/json")), json!({TWO: []}));
        // Another of its name takes its place, also elsewhere.
        let mut other = flow;
        other["priority"] = "2003".into();
        other["switch"] = TWO.into();
        scene.pushed(other);
        assert!(scene.flows(ONE, "2001").is_empty());
        assert_eq!(scene.flows(TWO, "2003").len(), 1);
        let answer = scene.ask("DELETE", &json!({"name": "flow_mod_1"}));
        assert_eq!(answer.json(), json!({"status": "Entry flow_mod_1 deleted"}));
        assert!(scene.flows(TWO, "2003").is_empty());
        let path = format!("/wm/staticentrypusher/clear/{ONE}/json");
        let site = [("Sec-Fetch-Site", "cross-site")];
        assert_eq!(scene.api.ask("GET", &path, &site, b"").status, 403);
        assert_eq!(scene.flows(ONE, "2002").len(), 1);
        let cleared = scene.get(&path);
        assert_eq!(
            cleared,
            json!({"status": format!("Deleted all flows/groups for switch {ONE}.")})
        );
        assert!(scene.flows(ONE, "2002").is_empty());
        assert_eq!(scene.get("/wm/staticentrypusher/list/all/json"), json!({}));
    }
}

#[test]
fn an_entry_waits_for_its_switch_and_comes_back_with_it() {
    let scene = Scene::new(&["--apps", "learning-switch"]);
    scene.pushed(json!({"switch": TWO, "name": "waits", "priority": "7", "in_port": "1", "actions": "output=2"}));
    for version in Version::ALL {
        let network = scene.network(version);
        let path = format!("/wm/core/switch/{TWO}/flow/json");
        scene.when(&path, |flows| {
            flows["flows"].as_array().unwrap().iter().any(|flow| flow["priority"] == "7")
        });
        drop(network);
        scene.when("/wm/core/controller/switches/json", |all| all == &json!([]));
    }
    let cleared = scene.get("/wm/staticentrypusher/clear/all/json");
    assert_eq!(cleared, json!({"status": "Deleted all flows/groups."}));
}

#[test]
fn what_is_not_done_says_so_in_words_and_in_its_status() {
    let scene = Scene::new(&["--apps", "learning-switch"]);
    let _network = scene.network(Version::V13);
    for (body, words) in [
        (json!({"switch": ONE, "name": "x", "actions": "group=9"}), "OFPBAC_BAD_OUT_GROUP"),
        (json!({"switch": ONE, "name": "x", "actions": "fly"}), "actions: there is no \"fly\""),
        (json!({"switch": ONE, "name": "x", "ipv4_dst": "x"}), "match.ipv4_dst"),
        (json!({"switch": "one", "name": "x"}), "is not a datapath id"),
        (json!({"switch": ONE}), "name: it has to be there"),
        (json!([]), "it has to be a dict"),
    ] {
        let answer = scene.ask("POST", &body);
        let said = answer.json()["status"].as_str().unwrap().to_owned();
        assert!(
            answer.status == 400 && said.starts_with("Error! ") && said.contains(words),
            "{body}: {answer:?}"
        );
    }
    assert_eq!(scene.get("/wm/staticentrypusher/list/all/json"), json!({}));
    assert!(
        scene
            .api
            .get("/wm/core/switch/00:00:00:00:00:00:00:07/flow/json")
            .is_problem(404, "not connected")
    );
    assert!(
        scene
            .api
            .get(&format!("/wm/core/switch/{ONE}/fly/json"))
            .is_problem(404, "there are: aggregate, desc")
    );
    assert!(scene.api.get("/wm/core/switch/x/flow/json").is_problem(400, "datapath id"));
}

#[test]
fn the_controller_its_switches_and_the_network_are_shown() {
    for version in Version::ALL {
        let scene = Scene::new(&[]);
        let _network = scene.network(version);
        let of = if version == Version::V10 { "OF_10" } else { "OF_13" };
        let switches = scene.get("/wm/core/controller/switches/json");
        assert_eq!(
            (&switches[0]["switchDPID"], &switches[0]["openFlowVersion"]),
            (&json!(ONE), &json!(of))
        );
        assert!(switches[0]["inetAddress"].as_str().unwrap().starts_with("/127.0.0.1:"));
        assert!(switches[0]["connectedSince"].as_u64() > Some(1_600_000_000_000));
        let links =
            scene.when("/wm/topology/links/json", |links| links.as_array().unwrap().len() == 1);
        assert_eq!((&links[0]["src-switch"], &links[0]["dst-switch"]), (&json!(ONE), &json!(TWO)));
        assert_eq!(
            (&links[0]["type"], &links[0]["direction"]),
            (&json!("internal"), &json!("bidirectional"))
        );
        assert!(links[0]["src-port"].is_u64());
        assert_eq!(scene.get("/wm/topology/switchclusters/json"), json!({ONE: [ONE, TWO]}));
        let devices = scene.when("/wm/device/", |all| all.as_array().unwrap().len() == 2);
        let host = &devices[0];
        let ip = host["ipv4"][0].as_str().unwrap();
        let at = &host["attachmentPoint"][0];
        assert!(at["port"].is_u64() && host["lastSeen"].is_u64(), "{host}");
        assert!([ONE, TWO].map(Value::from).contains(&at["switchDPID"]), "{host}");
        assert_eq!(scene.get(&format!("/wm/device/?ipv4={ip}")), json!([host]));
        // As it is since 1.2, for requests for all.
        let all = scene.get(&format!("/wm/device/all/json?ipv4={ip}"));
        let later = &all["devices"][0]["attachmentPoint"][0];
        assert_eq!(later["switch"], at["switchDPID"]);
        assert_eq!(later["port"], at["port"].to_string());
        let summary = scene.get("/wm/core/controller/summary/json");
        let expected = json!({"# Switches": 2, "# hosts": 2, "# inter-switch links": 2, "# quarantine ports": 0});
        assert_eq!(summary, expected);
        assert_eq!(scene.get("/wm/core/health/json"), json!({"healthy": true}));
        assert!(scene.get("/wm/core/memory/json")["total"].as_u64() > Some(0));
        assert!(scene.get("/wm/core/system/uptime/json")["systemUptimeMsec"].is_u64());
        assert_eq!(scene.get("/wm/core/version/json")["name"], "aldis");
        for (kind, key) in [
            ("flow", "flows"),
            ("port", "port_reply"),
            ("aggregate", "aggregate"),
            ("desc", "desc"),
            ("table", "table"),
            ("queue", "queue"),
            ("features", "capabilities"),
            ("port-desc", "portDesc"),
        ] {
            let all = scene.get(&format!("/wm/core/switch/all/{kind}/json"));
            assert!(!all[ONE][key].is_null() && !all[TWO][key].is_null(), "{kind}: {all}");
        }
        let port =
            &scene.get(&format!("/wm/core/switch/{ONE}/port/json"))["port_reply"][0]["port"][0];
        assert!(
            port["receivePackets"].as_str().is_some_and(|text| text.parse::<u64>().is_ok()),
            "{port}"
        );
        for kind in ["group", "group-desc", "meter", "meter-config", "role"] {
            let answer = scene.api.get(&format!("/wm/core/switch/{ONE}/{kind}/json"));
            assert_eq!(
                answer.status,
                if version == Version::V10 { 501 } else { 200 },
                "{kind}: {answer:?}"
            );
        }
    }
}

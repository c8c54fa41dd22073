//! Flows over HTTP, on emulated switches of both versions: what is written is there, and what is
//! refused is said.

use std::time::Instant;

use aldis_testkit::client::{Api, HttpAnswer};
use aldis_testkit::network::Network;
use aldis_testkit::running::{Running, WITHIN};
use aldis_wire::Version;
use serde_json::{Value, json};

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// A controller with switches 1 and 2.
struct Scene {
    _controller: Running,
    api: Api,
    _network: Network,
}

fn scene(version: Version) -> Scene {
    let mut controller = Running::start(&["--http", "127.0.0.1:0"]);
    let api = Api::of(&mut controller);
    let network = Network::start(&controller, version, "linear,2", &[]);
    let deadline = Instant::now() + WITHIN;
    while api.get("/api/v1/switches").json()["total"] != 2 {
        assert!(Instant::now() < deadline, "the switches do not come");
        std::thread::yield_now();
    }
    Scene { _controller: controller, api, _network: network }
}

impl Scene {
    fn post(&self, path: &str, body: &Value) -> HttpAnswer {
        self.api.ask("POST", path, &[JSON], body.to_string().as_bytes())
    }

    fn delete(&self, path: &str) -> HttpAnswer {
        self.api.ask("DELETE", path, &[], b"")
    }

    /// The flows of a switch that have this priority.
    fn flows(&self, switch: u32, priority: u16) -> Vec<Value> {
        let answer = self.api.get(&format!("/api/v1/switches/{switch}/flows"));
        assert_eq!(answer.status, 200, "{answer:?}");
        let json = answer.json();
        let items = json["items"].as_array().unwrap();
        assert_eq!(json["total"], items.len());
        items.iter().filter(|flow| flow["priority"] == priority).cloned().collect()
    }
}

#[test]
fn what_is_written_is_there_and_what_is_removed_is_gone() {
    for version in Version::ALL {
        let scene = scene(version);
        let written = scene.post(
            "/api/v1/switches/1/flows",
            &json!({"flows": [{
                "priority": 777, "cookie": "0x7", "idle_timeout_s": 60,
                "match": {"in_port": 1, "tcp_dst": 80, "eth_type": "0x0800", "ipv4_dst": "10.0.0.0/8"},
                "actions": ["set-field:eth_dst=02:00:00:00:00:01", "output:2"],
            }]}),
        );
        assert_eq!(written.status, 200, "{version}: {written:?}");
        let result = json!({"switch": "0000000000000001", "done": true});
        assert_eq!(
            written.json(),
            json!({"dry_run": false, "done": 1, "failed": 0, "results": [result]})
        );
        let flows = scene.flows(1, 777);
        let matching = json!({
            "in_port": "1", "eth_type": "0x0800", "ip_proto": "6", "ipv4_dst": "10.0.0.0/8", "tcp_dst": "80",
        });
        assert_eq!(flows.len(), 1);
        assert_eq!((&flows[0]["match"], &flows[0]["cookie"]), (&matching, &json!("0x7")));
        let actions = json!(["set-field:eth_dst=02:00:00:00:00:01", "output:2"]);
        assert_eq!((&flows[0]["actions"], &flows[0]["packets"]), (&actions, &json!(0)));
        assert!(scene.flows(2, 777).is_empty());

        let dry = scene.delete("/api/v1/switches/1/flows?match=in_port=1&dry_run=true");
        assert_eq!((dry.status, &dry.json()["done"]), (200, &json!(0)), "{dry:?}");
        let other = scene.delete("/api/v1/switches/1/flows?priority=778&match=in_port=1");
        assert_eq!(other.status, 200, "{other:?}");
        assert_eq!(scene.flows(1, 777).len(), 1);
        let gone = scene.delete("/api/v1/switches/1/flows?match=in_port=1,eth_type=0x0800");
        assert_eq!((gone.status, &gone.json()["done"]), (200, &json!(1)), "{gone:?}");
        assert!(scene.flows(1, 777).is_empty());
    }
}

/// Whatever the way in: bits that a mask ignores are zero, and what a field needs is added.
#[test]
fn every_way_in_reads_a_match_alike() {
    for version in Version::ALL {
        let scene = scene(version);
        let ours = json!({"ipv4_dst": "10.9.9.7/24", "tcp_dst": 80});
        let native = json!({"flows": [{"priority": 7001, "match": ours, "actions": ["output:2"]}]});
        assert_eq!(scene.post("/api/v1/switches/1/flows", &native).status, 200);
        let ryu = json!({
            "dpid": 1, "priority": 7002, "match": {"nw_dst": "10.9.9.7/24", "tcp_dst": 80},
            "actions": [{"type": "OUTPUT", "port": 2}],
        });
        assert_eq!(scene.post("/stats/flowentry/add", &ryu).status, 200);
        let floodlight = json!({
            "switch": "1", "name": "one", "priority": "7003", "ipv4_dst": "10.9.9.7/24", "tcp_dst": "80", "actions": "output=2",
        });
        assert_eq!(scene.post("/wm/staticentrypusher/json", &floodlight).status, 200);
        let kept = json!({"switch": "1", "priority": 7004, "match": ours, "actions": ["output:2"]});
        let put =
            scene.api.ask("PUT", "/api/v1/static-flows/one", &[JSON], kept.to_string().as_bytes());
        assert_eq!(put.status, 200, "{put:?}");
        let deadline = Instant::now() + WITHIN;
        while scene.api.get("/api/v1/static-flows/one").json()["there"] != 1 {
            assert!(Instant::now() < deadline, "the flow is not there");
            std::thread::yield_now();
        }
        let expected = json!({
            "eth_type": "0x0800", "ip_proto": "6", "ipv4_dst": "10.9.9.0/24", "tcp_dst": "80",
        });
        for priority in 7001..=7004 {
            let flows = scene.flows(1, priority);
            assert_eq!(flows.len(), 1, "{version}: {priority}");
            assert_eq!(flows[0]["match"], expected, "{version}: {priority}");
        }
        // As a filter, too.
        let found = scene.api.get("/api/v1/switches/1/flows?match=ipv4_dst=10.9.9.7/24");
        assert_eq!((found.status, &found.json()["total"]), (200, &json!(4)), "{found:?}");
        let gone = scene
            .delete("/api/v1/switches/1/flows?priority=7001&match=ipv4_dst=10.9.9.7/24,tcp_dst=80");
        assert_eq!(gone.status, 200, "{gone:?}");
        assert!(scene.flows(1, 7001).is_empty());
        let choice = json!({"flows": [{"match": {"tcp_dst": 80}}]});
        let refused = scene.post("/api/v1/switches/1/flows", &choice);
        let words = "tcp-dst needs eth-type 0x0800 (IPv4) or 0x86dd (IPv6); say which";
        assert!(refused.is_problem(422, words), "{refused:?}");
    }
}

#[test]
fn many_are_written_in_one_request_each_with_its_result() {
    let scene = scene(Version::V13);
    let flow = |switch: u32, port: u32| {
        let action = if port == 500 { "group:99" } else { "output:1" };
        json!({"switch": switch, "priority": 99, "match": {"udp_dst": port, "eth_type": "0x0800"}, "actions": [action]})
    };
    // More than one command for each switch, one flow that it refuses, and a switch that is not
    // there.
    let mut flows: Vec<Value> = (1..=700).map(|port| flow(1, port)).collect();
    flows.extend((1..=300).map(|port| flow(2, port)));
    flows.push(flow(3, 1));
    let dry = scene.post("/api/v1/flows?dry_run=true", &json!({"flows": flows}));
    assert_eq!((dry.status, &dry.json()["failed"]), (207, &json!(1)));
    assert!(scene.flows(1, 99).is_empty(), "nothing was sent");
    let answer = scene.post("/api/v1/flows", &json!({"flows": flows}));
    assert_eq!(answer.status, 207);
    let json = answer.json();
    assert_eq!((&json["done"], &json["failed"]), (&json!(999), &json!(2)));
    let problem = |place: usize| &json["results"][place]["problem"];
    assert!(problem(499)["detail"].as_str().unwrap().contains("OFPBAC_BAD_OUT_GROUP"), "{json}");
    assert_eq!((&problem(499)["status"], &problem(1000)["status"]), (&json!(422), &json!(404)));
    assert_eq!((scene.flows(1, 99).len(), scene.flows(2, 99).len()), (699, 300));

    let (mut seen, mut path) = (0, "/api/v1/switches/1/flows?limit=300".to_owned());
    loop {
        let page = scene.api.get(&path).json();
        seen += page["items"].as_array().unwrap().len();
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/v1/switches/1/flows?limit=300&cursor={next}");
    }
    assert!(seen >= 699);
}

#[test]
fn what_is_not_done_is_a_problem_in_words() {
    let scene = scene(Version::V13);
    let one = "/api/v1/switches/1/flows";
    let flow = |flow: Value| json!({ "flows": [flow] });
    for (path, body, status, words) in [
        (one, flow(json!({"actions": ["group:99"]})), 422, "refused OFPT_FLOW_MOD"),
        (one, flow(json!({"match": {"tcp_dst": "x"}})), 422, "flows[0].match: tcp_dst: \"x\""),
        (one, flow(json!({"switch": "1"})), 422, "flows[0].switch: the path says"),
        (one, flow(json!({"actions": "output:2"})), 422, "flows[0].actions"),
        (one, json!({"flows": []}), 422, "0 of them; accepted are 1 to 10000"),
        (one, json!({"flows": vec![json!({}); 10_001]}), 422, "accepted are 10000 at most"),
        ("/api/v1/flows", flow(json!({})), 422, "flows[0]: `switch` is missing"),
        (
            "/api/v1/switches/7/flows",
            flow(json!({})),
            404,
            "switch 0000000000000007 is not connected",
        ),
    ] {
        let answer = scene.post(path, &body);
        assert!(answer.is_problem(status, words), "{path}: {answer:?}");
    }
    for (query, words) in [
        ("", "say which flows"),
        ("?all=true&table=1", "contradicts"),
        ("?match=in_port", "match: in_port"),
        ("?cookie=x", "cookie: \"x\" is no number"),
        ("?colour=red", "there is no key `colour` here"),
    ] {
        let answer = scene.delete(&format!("{one}{query}"));
        assert!(answer.is_problem(400, words), "{query}: {answer:?}");
    }
    let long = "x".repeat(9 * 1024 * 1024);
    let answer = scene.post(one, &json!(long));
    assert!(answer.is_problem(413, "longer than the 4194304 bytes"), "{}", answer.status);
    let one_of_many = format!("{{\"switch\": \"1\"}}{}", " ".repeat(1000));
    let wide = format!("{{\"flows\": [{}]}}", vec![one_of_many; 2000].join(","));
    let answer = scene.api.ask("POST", one, &[JSON], wide.as_bytes());
    assert!(answer.is_problem(422, "flows[0].switch: the path says"), "{answer:?}");
    let cursor = scene.api.get("/api/v1/switches/1/flows?cursor=x");
    assert!(cursor.is_problem(400, "cursor"), "{cursor:?}");
    assert!(scene.api.get("/api/v1/switches/7/tables").is_problem(404, "not connected"));
}

#[test]
fn switches_say_what_they_have_and_count() {
    for version in Version::ALL {
        let scene = scene(version);
        let get = |what: &str| scene.api.get(&format!("/api/v1/switches/1/{what}"));
        let ports = get("ports/stats").json();
        let numbers =
            ports["items"].as_array().unwrap().iter().map(|port| port["port"].as_str().unwrap());
        assert!(numbers.clone().any(|port| port == "1") && numbers.clone().any(|port| port == "2"));
        assert!(ports["items"][0]["rx_packets"].is_u64());
        let tables = get("tables").json();
        assert_eq!(
            (&tables["items"][0]["table"], tables["items"][0]["flows"].is_u64()),
            (&json!(0), true)
        );
        assert_eq!(get("queues").status, 200);
        for what in ["groups", "meters"] {
            let answer = get(what);
            match version {
                Version::V10 => {
                    assert!(answer.is_problem(422, "OpenFlow 1.0 cannot say"), "{answer:?}")
                }
                Version::V13 => {
                    assert_eq!((answer.status, &answer.json()["total"]), (200, &json!(0)))
                }
            }
        }
    }
}

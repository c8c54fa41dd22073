//! Ryu's REST, with what scripts send that were written for it: bodies of `curl -d`, of
//! `requests.post(json=…)` and of `str(dict)`, against emulated switches of both versions.

mod rules;

use std::time::Instant;

use aldis_testkit::client::{Api, HttpAnswer};
use aldis_testkit::network::Network;
use aldis_testkit::running::{Running, WITHIN};
use aldis_testkit::websocket::WebSocket;
use aldis_wire::Version;
use serde_json::{Value, json};

/// What `curl -d` says that it sends, whatever it is.
const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// A controller with switches 1 and 2.
struct Scene {
    _controller: Running,
    api: Api,
    _network: Network,
}

fn scene(version: Version, apps: &[&str]) -> Scene {
    let args = [&["--http", "127.0.0.1:0"], apps].concat();
    let mut controller = Running::start(&args);
    let api = Api::of(&mut controller);
    let network = Network::start(&controller, version, "linear,2", &["0s pingall"]);
    let scene = Scene { _controller: controller, api, _network: network };
    scene.when("/stats/switches", |switches| *switches == json!([1, 2]));
    scene
}

fn quiet(version: Version) -> Scene {
    scene(version, &["--apps", "learning-switch"])
}

impl Scene {
    /// Asks until the answer is as it should be.
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
        assert_eq!(answer.header("content-type"), Some("application/json"));
        answer.json()
    }

    fn post(&self, path: &str, body: &str) -> HttpAnswer {
        self.api.ask("POST", path, &[FORM], body.as_bytes())
    }

    /// Says this, and it is done: Ryu answers with nothing then.
    fn done(&self, path: &str, body: &str) {
        let answer = self.post(path, body);
        assert_eq!((answer.status, answer.body.len()), (200, 0), "{body}: {answer:?}");
    }

    fn refused(&self, path: &str, body: &str, status: u16, words: &str) {
        let answer = self.post(path, body);
        assert!(answer.is_problem(status, words), "{path} {body}: {answer:?}");
    }

    /// The flows of switch 1 with this priority, without what changes by itself.
    fn flows(&self, priority: u16) -> Vec<Value> {
        let body = format!("{{\"priority\": {priority}}}");
        let answer = self.post("/stats/flow/1", &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        let mut flows = answer.json()["1"].as_array().unwrap().clone();
        for flow in &mut flows {
            let flow = flow.as_object_mut().unwrap();
            assert!(flow.remove("duration_sec").unwrap().is_u64());
            assert!(flow.remove("duration_nsec").unwrap().is_u64());
        }
        flows
    }
}

#[test]
fn what_people_copy_from_documents_and_later_versions_does_what_it_says() {
    for version in Version::ALL {
        let scene = quiet(version);
        // With the comments of a page, and with bits that the prefix leaves out.
        scene.done(
            "/stats/flowentry/add",
            "{ # one flow\n 'dpid': 1,     # the switch\n 'priority': 7001,\n 'match': {'nw_dst': '10.9.9.7/24', 'nw_proto': 6, \
             'dl_type': 2048, 'tp_dst': 80},\n 'actions': [{'type': 'OUTPUT', 'port': 2}] # and out\n}\n",
        );
        let flow = &scene.flows(7001)[0];
        let net = if version == Version::V10 { "10.9.9.0/24" } else { "10.9.9.0/255.255.255.0" };
        let matching = json!({"dl_type": 2048, "nw_proto": 6, "nw_dst": net, "tp_dst": 80});
        assert_eq!((&flow["match"], &flow["actions"]), (&matching, &json!(["OUTPUT:2"])));
        // Ryu has `instructions` for 1.4: for a switch of 1.3 it would leave them out, and the flow
        // would drop.
        let apply = r#"{"type": "APPLY_ACTIONS", "actions": [{"type": "OUTPUT", "port": 2}]}"#;
        let flow = |what: &str| {
            format!(r#"{{"dpid": 1, "priority": 7002, "match": {{"in_port": 1}}, {what}}}"#)
        };
        scene.done("/stats/flowentry/add", &flow(&format!(r#""instructions": [{apply}]"#)));
        assert_eq!(scene.flows(7002)[0]["actions"], json!(["OUTPUT:2"]), "{version}");
        let goto = r#"{"type": "GOTO_TABLE", "table_id": 1}"#;
        let both = flow(&format!(r#""instructions": [{goto}, {apply}]"#));
        match version {
            Version::V13 => {
                scene.done("/stats/flowentry/add", &both);
                let actions = json!(["OUTPUT:2", "GOTO_TABLE:1"]);
                assert_eq!(scene.flows(7002)[0]["actions"], actions);
            }
            Version::V10 => scene.refused("/stats/flowentry/add", &both, 501, "OpenFlow 1.0"),
        }
        let bare = flow(r#""instructions": [{"type": "OUTPUT", "port": 2}]"#);
        scene.refused("/stats/flowentry/add", &bare, 400, r#"{"type": "APPLY_ACTIONS""#);
        let two = flow(&format!(r#""actions": [], "instructions": [{apply}]"#));
        scene.refused("/stats/flowentry/add", &two, 400, "write one of them");
    }
}

#[test]
fn a_flow_is_added_shown_changed_and_removed_on_1_3() {
    let scene = quiet(Version::V13);
    // As `curl -d` sends it, with a number that is none of JSON.
    scene.done(
        "/stats/flowentry/add",
        r#"{
        "dpid": 1, "cookie": 1, "cookie_mask": 1, "table_id": 0, "idle_timeout": 300, "hard_timeout": 600,
        "priority": 11111, "flags": 1,
        "match": {"in_port": 1, "dl_type": 0x0800, "nw_proto": 6, "tcp_dst": 9999},
        "actions": [{"type": "OUTPUT", "port": 2}]
     }"#,
    );
    let shown = json!({
        "table_id": 0, "priority": 11111, "cookie": 1, "idle_timeout": 300, "hard_timeout": 600, "flags": 1,
        "packet_count": 0, "byte_count": 0, "length": 104,
        "match": {"in_port": 1, "dl_type": 2048, "nw_proto": 6, "tp_dst": 9999},
        "actions": ["OUTPUT:2"],
    });
    assert_eq!(scene.flows(11111), [shown]);
    // As `str(dict)` sends it; the datapath id as text, as one that was read from a URL.
    scene.done(
        "/stats/flowentry/modify_strict",
        "{'dpid': '1', 'priority': 11111, 'match': {'in_port': 1, 'eth_type': 2048, 'ip_proto': 6, 'tcp_dst': 9999}, \
         'actions': [{'type': 'SET_FIELD', 'field': 'eth_dst', 'value': '02:00:00:00:00:09'}, \
         {'type': 'OUTPUT', 'port': 'CONTROLLER', 'max_len': 'NO_BUFFER'}, {'type': 'GOTO_TABLE', 'table_id': 1}]}",
    );
    let actions =
        json!(["SET_FIELD: {eth_dst:02:00:00:00:00:09}", "OUTPUT:CONTROLLER", "GOTO_TABLE:1"]);
    assert_eq!(scene.flows(11111)[0]["actions"], actions);
    // One that drops, as firewalls make them, and one that the switch refuses.
    scene.done(
        "/stats/flowentry/add",
        r#"{"dpid":"1","priority":42,"match":{"dl_type":2054,"nw_dst":"10.0.0.0/24"}}"#,
    );
    let dropping = &scene.flows(42)[0];
    assert_eq!(dropping["actions"], json!([]));
    assert_eq!(dropping["match"], json!({"dl_type": 2054, "arp_tpa": "10.0.0.0/255.255.255.0"}));
    let sum = scene.get("/stats/aggregateflow/1");
    assert!(sum["1"][0]["flow_count"].as_u64() >= Some(2), "{sum}");
    let filtered = scene.post(
        "/stats/aggregateflow/1",
        r#"{"table_id": 0, "match": {"in_port": 1, "dl_type": 2048}}"#,
    );
    assert_eq!(filtered.json()["1"][0]["flow_count"], 1);
    let by_port = scene.post(
        "/stats/flow/1",
        r#"{"table_id": "ALL", "out_port": "CONTROLLER", "cookie": 1, "cookie_mask": 1}"#,
    );
    assert_eq!(by_port.json()["1"].as_array().unwrap().len(), 1);

    scene.done(
        "/stats/flowentry/delete_strict",
        r#"{"dpid":1,"priority":42,"match":{"dl_type":2054,"nw_dst":"10.0.0.0/24"}}"#,
    );
    assert!(scene.flows(42).is_empty());
    scene.done(
        "/stats/flowentry/delete",
        r#"{"dpid": 1, "cookie": 1, "cookie_mask": 1, "match": {}}"#,
    );
    assert!(scene.flows(11111).is_empty());
    scene.done("/stats/flowentry/add", r#"{"dpid": 1, "table_id": 3, "match": {"dl_vlan": "7"}}"#);
    let last: Vec<_> = scene.flows(0).into_iter().filter(|flow| flow["table_id"] == 3).collect();
    assert_eq!((last.len(), &last[0]["match"]), (1, &json!({"dl_vlan": "7"})));
    let cleared = scene.api.ask("DELETE", "/stats/flowentry/clear/1", &[], b"");
    assert_eq!((cleared.status, cleared.body.len()), (200, 0));
    assert_eq!(scene.get("/stats/flow/1"), json!({"1": []}));
}

#[test]
fn a_flow_is_added_shown_and_removed_on_1_0() {
    let scene = quiet(Version::V10);
    scene.done(
        "/stats/flowentry/add",
        r#"{"dpid": 1, "cookie": 7, "priority": 1000, "idle_timeout": 0,
            "match": {"in_port": 1, "dl_type": 2048, "nw_src": "10.0.0.0/8", "nw_proto": 17, "tp_dst": 53, "dl_vlan": 65535},
            "actions": [{"type": "SET_VLAN_VID", "vlan_vid": 12}, {"type": "SET_NW_DST", "nw_dst": "10.0.0.9"},
                        {"type": "ENQUEUE", "port": 2, "queue_id": 1}, {"type": "OUTPUT", "port": 65533}]}"#,
    );
    let shown = json!({
        "table_id": 0, "priority": 1000, "cookie": 7, "idle_timeout": 0, "hard_timeout": 0,
        "packet_count": 0, "byte_count": 0,
        "match": {"in_port": 1, "dl_type": 2048, "nw_src": "10.0.0.0/8", "nw_proto": 17, "tp_dst": 53, "dl_vlan": 65535},
        "actions": ["SET_VLAN_VID:12", "SET_NW_DST:10.0.0.9", "ENQUEUE:2:1", "OUTPUT:CONTROLLER"],
    });
    assert_eq!(scene.flows(1000), [shown]);
    scene.done(
        "/stats/flowentry/add",
        r#"{"dpid": 1, "match": {"dl_dst": "02:00:00:00:00:01"}, "actions": []}"#,
    );
    assert_eq!(scene.flows(32768).iter().filter(|flow| flow["actions"] == json!([])).count(), 1);
    scene.done("/stats/flowentry/modify", r#"{"dpid": 1, "match": {"in_port": 1, "dl_type": 2048}, "actions": [{"type": "STRIP_VLAN"}]}"#);
    assert_eq!(scene.flows(1000)[0]["actions"], json!(["STRIP_VLAN"]));
    scene.done("/stats/flowentry/delete", r#"{"dpid": 1, "match": {"in_port": 1}}"#);
    assert!(scene.flows(1000).is_empty());
    let tables = scene.get("/stats/table/1");
    assert!(
        tables["1"][0]["max_entries"].is_u64() && tables["1"][0]["name"].is_string(),
        "{tables}"
    );
    for path in [
        "/stats/groupdesc/1",
        "/stats/meter/1",
        "/stats/meterfeatures/1",
        "/stats/tablefeatures/1",
        "/stats/role/1",
    ] {
        let answer = scene.api.get(path);
        assert!(answer.is_problem(501, "OpenFlow 1.0 cannot say"), "{path}: {answer:?}");
    }
    scene.refused("/stats/groupentry/add", r#"{"dpid": 1, "group_id": 1}"#, 501, "a group");
}

#[test]
fn groups_and_meters_come_and_go() {
    let scene = quiet(Version::V13);
    scene.done(
        "/stats/groupentry/add",
        r#"{"dpid": 1, "type": "SELECT", "group_id": 1,
            "buckets": [{"weight": 50, "actions": [{"type": "OUTPUT", "port": 1}]},
                        {"weight": 50, "actions": [{"type": "OUTPUT", "port": 2}]}]}"#,
    );
    let desc = scene.get("/stats/groupdesc/1");
    assert_eq!(
        desc,
        json!({"1": [{
            "type": "SELECT", "group_id": 1,
            "buckets": [
                {"weight": 50, "watch_port": 4294967295_u32, "watch_group": 4294967295_u32, "actions": ["OUTPUT:1"]},
                {"weight": 50, "watch_port": 4294967295_u32, "watch_group": 4294967295_u32, "actions": ["OUTPUT:2"]},
            ],
        }]})
    );
    let group = scene.get("/stats/group/1/1");
    assert_eq!((&group["1"][0]["length"], &group["1"][0]["ref_count"]), (&json!(72), &json!(0)));
    assert_eq!(group["1"][0]["bucket_stats"][1], json!({"packet_count": 0, "byte_count": 0}));
    scene.refused(
        "/stats/groupentry/add",
        r#"{"dpid": 1, "group_id": 1}"#,
        400,
        "OFPGMFC_GROUP_EXISTS",
    );
    scene.done(
        "/stats/groupentry/modify",
        r#"{"dpid": 1, "type": "INDIRECT", "group_id": 1, "buckets": [{"actions": [{"type": "OUTPUT", "port": 2}]}]}"#,
    );
    assert_eq!(scene.get("/stats/groupdesc/1")["1"][0]["type"], "INDIRECT");
    scene.done("/stats/groupentry/delete", r#"{"dpid": 1, "group_id": 1}"#);
    assert_eq!(scene.get("/stats/group/1"), json!({"1": []}));
    let features = scene.get("/stats/groupfeatures/1");
    assert_eq!(features["1"][0]["types"][0], "ALL");
    assert!(features["1"][0]["actions"][0]["ALL"].as_array().unwrap().contains(&json!("OUTPUT")));

    scene.done(
        "/stats/meterentry/add",
        r#"{"dpid": 1, "flags": "KBPS", "meter_id": 1, "bands": [{"type": "DROP", "rate": 1000}]}"#,
    );
    // A burst that is not named is that of a second, as with Open vSwitch.
    assert_eq!(
        scene.get("/stats/meterconfig/1/1"),
        json!({"1": [{"flags": ["KBPS"], "meter_id": 1, "bands": [{"type": "DROP", "rate": 1000, "burst_size": 1000}]}]})
    );
    let meter = scene.get("/stats/meter/1");
    assert_eq!(
        (&meter["1"][0]["len"], &meter["1"][0]["band_stats"][0]["packet_band_count"]),
        (&json!(56), &json!(0))
    );
    scene.done(
        "/stats/meterentry/modify",
        r#"{"dpid": 1, "flags": ["PKTPS", "BURST"], "meter_id": 1, "bands": [{"type": "DROP", "rate": "10", "burst_size": 5}]}"#,
    );
    let config = &scene.get("/stats/meterconfig/1")["1"][0];
    assert_eq!(
        (&config["flags"], &config["bands"][0]["burst_size"]),
        (&json!(["PKTPS", "BURST"]), &json!(5))
    );
    scene.done("/stats/meterentry/delete", r#"{"dpid": 1, "meter_id": 1}"#);
    assert_eq!(scene.get("/stats/meter/1/ALL"), json!({"1": []}));
    assert!(scene.get("/stats/meterfeatures/1")["1"][0]["max_meter"].as_u64() > Some(0));
}

#[test]
fn a_switch_says_what_it_is_and_counts() {
    for version in Version::ALL {
        let scene = quiet(version);
        let desc = scene.get("/stats/desc/1");
        for key in ["mfr_desc", "hw_desc", "sw_desc", "serial_num", "dp_desc"] {
            assert!(desc["1"][key].is_string(), "{key}: {desc}");
        }
        let ports = scene.get("/stats/port/1");
        let numbers: Vec<_> =
            ports["1"].as_array().unwrap().iter().map(|port| port["port_no"].clone()).collect();
        assert!(numbers.contains(&json!(1)) && numbers.contains(&json!(2)), "{ports}");
        let one = scene.get("/stats/port/1/1");
        assert_eq!((one["1"].as_array().unwrap().len(), &one["1"][0]["port_no"]), (1, &json!(1)));
        assert!(one["1"][0]["rx_packets"].is_u64());
        assert_eq!(one["1"][0]["duration_sec"].is_u64(), version == Version::V13);
        let desc = scene.get("/stats/portdesc/1");
        let port = desc["1"].as_array().unwrap().iter().find(|port| port["port_no"] == 1).unwrap();
        assert!(port["name"].as_str().unwrap().starts_with("s1-eth"), "{port}");
        assert_eq!((&port["config"], port["hw_addr"].as_str().unwrap().len()), (&json!(0), 17));
        assert_eq!(scene.get("/stats/queue/1/ALL/ALL"), scene.get("/stats/queue/1"));
        scene
            .done("/stats/portdesc/modify", r#"{"dpid": 1, "port_no": 2, "config": 1, "mask": 1}"#);
        let down = |desc: &Value| {
            desc["1"]
                .as_array()
                .unwrap()
                .iter()
                .any(|port| port["port_no"] == 2 && port["config"] == 1)
        };
        scene.when("/stats/portdesc/1", down);
        scene.refused(
            "/stats/portdesc/modify",
            r#"{"dpid": 1, "port_no": 77}"#,
            404,
            "has no port 77",
        );
        for path in ["/stats/queuedesc/1", "/stats/queuedesc/1/1/1", "/stats/meterdesc/1"] {
            assert!(scene.api.get(path).is_problem(501, "does not have this"), "{path}");
        }
        let tables = scene.get("/stats/table/1");
        assert_eq!(tables["1"][0]["table_id"], 0);
    }
}

#[test]
fn what_1_3_has_besides_is_served_too() {
    let scene = quiet(Version::V13);
    let features = scene.get("/stats/tablefeatures/1");
    let types: Vec<_> =
        features["1"][0]["properties"].as_array().unwrap().iter().map(|one| &one["type"]).collect();
    assert!(
        types.contains(&&json!("MATCH")) && types.contains(&&json!("INSTRUCTIONS")),
        "{features}"
    );
    assert_eq!(scene.get("/stats/role/1")["1"][0]["role"], "EQUAL");
    scene.done("/stats/role", r#"{"dpid": 1, "role": "MASTER"}"#);
    assert_eq!(scene.get("/stats/role/1")["1"][0]["role"], "MASTER");
    scene.refused("/stats/role", r#"{"dpid": 1, "role": "KING"}"#, 400, "role: \"KING\"");
    let body = r#"{"dpid": 1, "experimenter": 255, "exp_type": 1, "data_type": "base64", "data": "AAECAw=="}"#;
    scene.refused("/stats/experimenter/1", body, 400, "OFPBRC_BAD_EXPERIMENTER");
}

#[test]
fn what_cannot_be_done_has_the_status_of_ryu_and_says_why() {
    let scene = quiet(Version::V13);
    let add = "/stats/flowentry/add";
    for (path, body, status, words) in [
        (add, "{\"dpid\": 1, ", 400, "it ends too early"),
        (add, "", 400, "dpid: it has to be said"),
        (add, "[]", 400, "it has to be a dict"),
        (add, r#"{"dpid": "one"}"#, 400, "is not a datapath id"),
        (add, r#"{"dpid": 7}"#, 404, "switch 0000000000000007 is not connected"),
        (add, r#"{"dpid": 1, "priority": 70000}"#, 400, "priority: 70000; accepted: 0 to 65535"),
        (
            add,
            r#"{"dpid": 1, "match": {"nw_sorc": 1}}"#,
            400,
            "match.nw_sorc: there is no such field",
        ),
        (add, r#"{"dpid": 1, "actions": [{"type": "FLY"}]}"#, 400, "actions[0].type"),
        (
            add,
            r#"{"dpid": 1, "actions": [{"type": "GROUP", "group_id": 9}]}"#,
            400,
            "OFPBAC_BAD_OUT_GROUP",
        ),
        (add, r#"{"dpid": 1, "dpid": 2}"#, 400, "there twice"),
        (add, "__import__('os').system('true')", 400, "no value begins like this"),
        ("/stats/flow/1", r#"{"match": 1}"#, 400, "match: 1; accepted: a dict"),
        ("/stats/flowentry/fly", "{}", 404, "there is no /stats/flowentry/fly"),
    ] {
        scene.refused(path, body, status, words);
    }
    for (path, status, words) in [
        ("/stats/flow/7", 404, "is not connected"),
        ("/stats/flow/x", 400, "is not a datapath id"),
        ("/stats/port/1/x", 400, "port: \"x\""),
        ("/stats/port/1/77", 400, "OFPBRC_BAD_PORT"),
        ("/stats/flowentry/clear/1", 405, "cannot be used with GET"),
    ] {
        let answer = scene.api.get(path);
        assert!(answer.is_problem(status, words), "{path}: {answer:?}");
    }
    let long = format!("{{\"dpid\": 1, \"x\": \"{}\"}}", "x".repeat(1 << 20));
    scene.refused(add, &long, 413, "longer than the 1048576 bytes");
    let deep = format!("{{\"dpid\": {}1{}}}", "[".repeat(1000), "]".repeat(1000));
    scene.refused(add, &deep, 400, "nested too deep");
    let foreign = [FORM, ("Origin", "http://evil.example")];
    let answer = scene.api.ask("POST", add, &foreign, br#"{"dpid": 1}"#);
    assert!(answer.is_problem(403, "another origin"), "{answer:?}");
}

/// What brings LLDP here is removed with all other flows, and comes back: a link that has to be
/// found anew afterwards is found.
#[test]
fn links_are_found_though_all_flows_were_removed() {
    for version in Version::ALL {
        let scene = scene(version, &["--apps", "topology,learning-switch"]);
        let links = |count| {
            let are = |links: &Value| links.as_array().unwrap().len() == count;
            scene.when("/v1.0/topology/links", are);
        };
        links(2);
        let cleared = scene.api.ask("DELETE", "/stats/flowentry/clear/1", &[], b"");
        assert_eq!(cleared.status, 200, "{cleared:?}");
        for (config, count) in [(1, 0), (0, 2)] {
            let port = json!({"dpid": 1, "port_no": 2, "config": config, "mask": 1});
            scene.done("/stats/portdesc/modify", &port.to_string());
            links(count);
        }
        let deadline = Instant::now() + WITHIN;
        while scene.flows(u16::MAX).len() != 2 {
            assert!(Instant::now() < deadline, "the flows did not come back: {version}");
        }
    }
}

#[test]
fn the_topology_is_shown_as_ryu_shows_it() {
    for version in Version::ALL {
        let scene = scene(version, &[]);
        let links =
            scene.when("/v1.0/topology/links", |links| links.as_array().unwrap().len() == 2);
        let switches = scene.get("/v1.0/topology/switches");
        let ports = switches[0]["ports"].as_array().unwrap();
        assert_eq!((&switches[0]["dpid"], ports.len()), (&json!("0000000000000001"), 2));
        let names: Vec<_> = ports
            .iter()
            .map(|port| (port["port_no"].as_str().unwrap(), port["dpid"].as_str().unwrap()))
            .collect();
        assert_eq!(names, [("00000001", "0000000000000001"), ("00000002", "0000000000000001")]);
        // The same port, byte by byte, wherever it is named: scripts compare them.
        let there = links
            .as_array()
            .unwrap()
            .iter()
            .find(|link| link["src"]["dpid"] == "0000000000000001")
            .unwrap();
        let back = links
            .as_array()
            .unwrap()
            .iter()
            .find(|link| link["dst"]["dpid"] == "0000000000000001")
            .unwrap();
        assert_eq!((&there["src"], &there["dst"]), (&back["dst"], &back["src"]));
        assert!(ports.contains(&there["src"]), "{there}");
        let hosts =
            scene.when("/v1.0/topology/hosts", |hosts| hosts.as_array().unwrap().len() == 2);
        assert!(hosts[0]["ipv4"][0].as_str().unwrap().starts_with("10."), "{hosts}");
        assert_eq!((hosts[0]["mac"].as_str().unwrap().len(), &hosts[0]["ipv6"]), (17, &json!([])));
        let at = hosts[0]["port"]["dpid"].as_str().unwrap();
        assert_eq!(scene.get(&format!("/v1.0/topology/hosts/{at}")), json!([hosts[0]]));
        assert_eq!(scene.get("/v1.0/topology/switches/0000000000000002"), json!([switches[1]]));
        assert_eq!(scene.get("/v1.0/topology/links/0000000000000001"), json!([there]));
        assert_eq!(scene.get("/v1.0/topology/switches/00000000000000ff"), json!([]));
        assert!(scene.api.get("/v1.0/topology/links/x").is_problem(400, "not a datapath id"));
    }
}

#[test]
fn changes_of_the_topology_are_called_over_a_websocket() {
    let mut controller = Running::start(&["--http", "127.0.0.1:0"]);
    let api = Api::of(&mut controller);
    let mut socket = WebSocket::open(&api, "/v1.0/topology/ws");
    let network = Network::start(&controller, Version::V13, "linear,2", &["0s pingall"]);
    let mut seen: Vec<Value> = vec![];
    let mut until = |is: &dyn Fn(&[Value]) -> bool| {
        while !is(&seen) {
            let call = socket.next_message();
            assert_eq!((&call["jsonrpc"], &call["id"]), (&json!("2.0"), &json!(seen.len() + 1)));
            // As Ryu's client has to.
            socket.say(&json!({"jsonrpc": "2.0", "id": call["id"], "result": ""}).to_string());
            seen.push(call);
        }
    };
    let count =
        |seen: &[Value], method: &str| seen.iter().filter(|call| call["method"] == method).count();
    until(&|seen| {
        count(seen, "event_switch_enter") == 2
            && count(seen, "event_link_add") == 2
            && count(seen, "event_host_add") >= 2
    });
    drop(network);
    until(&|seen| count(seen, "event_switch_leave") == 2 && count(seen, "event_link_delete") == 2);
    let enter = seen.iter().find(|call| call["method"] == "event_switch_enter").unwrap();
    assert_eq!(enter["params"][0]["ports"][0]["port_no"], "00000001");
    assert_eq!(enter["params"].as_array().unwrap().len(), 1);
    let link = seen.iter().find(|call| call["method"] == "event_link_add").unwrap();
    assert!(
        link["params"][0]["src"]["name"].is_string()
            && link["params"][0]["dst"]["dpid"].is_string()
    );
    assert!(api.get("/v1.0/topology/ws").is_problem(400, "for WebSockets"));
}

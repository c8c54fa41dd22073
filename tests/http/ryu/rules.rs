//! `rest_firewall` and `rest_qos` with the requests of Ryu's book, and what is elsewhere.

use aldis_testkit::Folder;
use aldis_testkit::client::{Api, HttpAnswer};
use aldis_testkit::network::Network;
use aldis_testkit::running::Running;
use aldis_wire::Version;
use serde_json::{Value, json};

use super::{FORM, Scene};

const ONE: &str = "0000000000000001";

fn scene(version: Version, store: &str) -> Scene {
    // With OpenFlow 1.3 the first table is for rules; 1.0 has one.
    let apps = match version {
        Version::V10 => "learning-switch,static-flows",
        Version::V13 => "acl,learning-switch,static-flows",
    };
    let args = ["--http", "127.0.0.1:0", "--store", store, "--apps", apps];
    let mut controller = Running::start(&args);
    let api = Api::of(&mut controller);
    let network = Network::start(&controller, version, "linear,2", &[]);
    let scene = Scene { _controller: controller, api, _network: network };
    scene.when("/stats/switches", |switches| *switches == json!([1, 2]));
    scene
}

fn tell(scene: &Scene, method: &str, path: &str, body: &Value) -> HttpAnswer {
    scene.api.ask(method, path, &[FORM], body.to_string().as_bytes())
}

/// What is answered about the first switch.
fn said(scene: &Scene, method: &str, path: &str, body: &Value) -> Value {
    let answer = tell(scene, method, path, body);
    assert_eq!(answer.status, 200, "{method} {path} {body}: {answer:?}");
    let all = answer.json();
    assert_eq!(all[0]["switch_id"], ONE, "{all}");
    all[0]["command_result"].clone()
}

fn success(details: &str) -> Value {
    json!({"result": "success", "details": details})
}

/// Priorities and actions of the flows of the first switch that rules made, in order.
fn flows(scene: &Scene) -> Vec<(u64, Value)> {
    let all = scene.get("/stats/flow/1");
    let flow = |flow: &Value| (flow["priority"].as_u64().unwrap(), flow["actions"].clone());
    let all = all["1"].as_array().unwrap().iter().filter(|flow| flow["table_id"] == 0).map(flow);
    let mut rules: Vec<_> =
        all.filter(|(priority, _)| (33_000..=60_000).contains(priority)).collect();
    rules.sort_by_key(|(priority, _)| *priority);
    rules
}

fn icmp(from: &str, to: &str) -> Value {
    json!({"nw_src": from, "nw_dst": to, "nw_proto": "ICMP"})
}

#[test]
fn a_firewall_of_the_book_lets_pass_what_its_rules_allow_and_is_kept() {
    let folder = Folder::new("ryu-firewall");
    let store = folder.file("store");
    let pass = json!(["GOTO_TABLE:1"]);
    let rules = format!("/firewall/rules/{ONE}");
    {
        let scene = scene(Version::V13, &store);
        let status = scene.get("/firewall/module/status");
        assert_eq!(status[0], json!({"switch_id": ONE, "status": "disable"}));
        let enabled = said(&scene, "PUT", &format!("/firewall/module/enable/{ONE}"), &json!({}));
        assert_eq!(enabled, success("firewall running."));
        // Its rest drops, and ARP passes.
        assert_eq!(flows(&scene), [(33_000, json!([])), (59_500, pass.clone())]);
        let added = said(&scene, "POST", &rules, &icmp("10.0.0.1/32", "10.0.0.2/32"));
        assert_eq!(added, json!([success("Rule added. : rule_id=1")]));
        // The same again takes its place, whatever it does now.
        let mut again = icmp("10.0.0.1/32", "10.0.0.2/32");
        for actions in ["DENY", "ALLOW"] {
            again["actions"] = actions.into();
            said(&scene, "POST", &rules, &again);
            assert_eq!(flows(&scene).len(), 3);
        }
        let mut deny = icmp("10.0.0.2/32", "10.0.0.1/32");
        (deny["actions"], deny["priority"]) = ("DENY".into(), "10".into());
        let added = said(&scene, "POST", &format!("{rules}/110"), &deny);
        let mut in_vlan = success("Rule added. : rule_id=1");
        in_vlan["vlan_id"] = 110.into();
        assert_eq!(added, json!([in_vlan]));
        let shown = said_of(&scene, &rules, "access_control_list");
        assert_eq!(
            shown,
            json!([{"rules": [{
                "rule_id": 3, "priority": 1, "dl_type": "IPv4", "nw_src": "10.0.0.1", "nw_dst": "10.0.0.2", "nw_proto": "ICMP",
                "actions": "ALLOW",
            }]}])
        );
        let all = said_of(&scene, &format!("{rules}/all"), "access_control_list");
        assert_eq!(
            (&all[1]["vlan_id"], &all[1]["rules"][0]["actions"]),
            (&110.into(), &"DENY".into())
        );
        assert_eq!(flows(&scene).len(), 4);
        let stopped = said(&scene, "PUT", "/firewall/module/disable/all", &json!({}));
        assert_eq!(stopped, success("firewall stopped."));
        assert_eq!(flows(&scene).last(), Some(&(60_000, json!([]))));
    }
    // What was answered is found again.
    let scene = scene(Version::V13, &store);
    scene.when("/api/v1/static-flows", |flows| {
        flows["items"].as_array().unwrap().iter().all(|flow| flow["there"] == 1)
    });
    assert_eq!(flows(&scene).len(), 5);
    assert_eq!(scene.get("/firewall/module/status")[1]["status"], "disable");
    said(&scene, "PUT", &format!("/firewall/module/enable/{ONE}"), &json!({}));
    let status = scene.get("/firewall/module/status");
    assert_eq!((&status[0]["status"], &status[1]["status"]), (&"enable".into(), &"disable".into()));
    let gone = said(&scene, "DELETE", &format!("{rules}/all"), &json!({"rule_id": "all"}));
    assert_eq!(gone[0], success("Rule deleted. : ruleID=3"));
    assert_eq!(gone[1]["vlan_id"], 110);
    assert_eq!(flows(&scene).len(), 2);
    let gone = said(&scene, "DELETE", &rules, &json!({"rule_id": "7"}));
    assert_eq!(gone, json!({"result": "failure", "details": "Rule is not exist. : ruleID=7"}));
}

/// Another key of what is answered about the first switch.
fn said_of(scene: &Scene, path: &str, key: &str) -> Value {
    scene.get(path)[0][key].clone()
}

#[test]
fn qos_of_the_book_queues_marks_and_meters() {
    let folder = Folder::new("ryu-qos");
    let scene = scene(Version::V13, &folder.file("store"));
    let (rules, meter) = (format!("/qos/rules/{ONE}"), format!("/qos/meter/{ONE}"));
    let made = said(
        &scene,
        "POST",
        &meter,
        &json!({"meter_id": "1", "flags": "KBPS", "bands": [{"type": "DROP", "rate": "400"}]}),
    );
    assert_eq!(made, json!([success("Meter added. : Meter ID=1")]));
    assert_eq!(said_of(&scene, &meter, "command_result")["1"][0]["meter_id"], 1);
    for (body, id) in [
        (
            json!({"match": {"nw_dst": "10.0.0.1", "nw_proto": "UDP", "tp_dst": "5002"}, "actions": {"queue": "1"}}),
            1,
        ),
        (
            json!({"match": {"priority": "2", "nw_src": "10.0.0.1"}, "actions": {"mark": "26", "meter": "1"}}),
            2,
        ),
        (json!({"match": {"priority": "3"}}), 3),
    ] {
        let added = said(&scene, "POST", &rules, &body);
        assert_eq!(added, json!([success(&format!("QoS added. : qos_id={id}"))]));
    }
    let shown = said_of(&scene, &rules, "command_result");
    let does: Vec<_> =
        shown[0]["qos"].as_array().unwrap().iter().map(|rule| &rule["actions"]).collect();
    assert_eq!(
        json!(does),
        json!([[{"queue": "1"}], [{"meter": "1"}, {"mark": "26"}], [{"queue": "0"}]])
    );
    assert_eq!(flows(&scene)[0], (33_001, json!(["SET_QUEUE:1", "GOTO_TABLE:1"])));
    let gone = said(&scene, "DELETE", &rules, &json!({"qos_id": "all"}));
    assert_eq!(gone, json!([success(" deleted. : QoS ID=1,2,3")]));
    let gone = said(&scene, "DELETE", &meter, &json!({"meter_id": "1"}));
    assert_eq!(gone, success("Meter deleted. : Meter ID=1"));
    assert!(flows(&scene).is_empty());
    let none = said_of(&scene, &format!("/qos/queue/{ONE}"), "command_result");
    assert_eq!(none, json!({"result": "failure", "details": "Queue is not exists."}));
    assert!(said_of(&scene, &format!("/qos/queue/status/{ONE}"), "command_result")["1"].is_array());
}

#[test]
fn rules_that_cannot_be_leave_nothing_behind() {
    let folder = Folder::new("ryu-rules-refused");
    let scene = scene(Version::V13, &folder.file("store"));
    let rules = format!("/firewall/rules/{ONE}");
    for (method, path, body, status, words) in [
        (
            "POST",
            &*rules,
            json!({"priority": 26_001}),
            400,
            "Invalid priority value. Set [1-26000]",
        ),
        ("POST", &rules, json!({"actions": "MAYBE"}), 400, "ALLOW or DENY"),
        ("POST", &rules, json!({"nw_sorc": "10.0.0.1"}), 400, "nw_sorc: there is no such field"),
        ("POST", "/firewall/rules/0000000000000001/1", json!({}), 400, "Invalid {vlan_id} value"),
        (
            "POST",
            "/firewall/rules/0000000000000009",
            json!({}),
            400,
            "firewall sw is not connected",
        ),
        ("DELETE", &rules, json!({"rule_id": "x"}), 400, "rule_id"),
        ("DELETE", &rules, json!({}), 400, "rule_id"),
        (
            "POST",
            "/qos/rules/0000000000000001",
            json!({"actions": {"fly": 1}}),
            400,
            "no such action",
        ),
        // The switch has no such meter.
        (
            "POST",
            "/qos/rules/0000000000000001",
            json!({"actions": {"meter": "99"}}),
            400,
            "refused",
        ),
        ("POST", "/qos/queue/all", json!({}), 501, "ovs-vsctl"),
        (
            "PUT",
            "/v1.0/conf/switches/0000000000000001/ovsdb_addr",
            json!("tcp:127.0.0.1:6632"),
            501,
            "ovs-vsctl",
        ),
        ("PUT", "/firewall/log/enable/all", json!({}), 501, "mirror"),
        ("POST", "/router/0000000000000001", json!({"address": "10.0.0.1/24"}), 501, "aldis ryu"),
        ("GET", "/router/all/all", json!({}), 501, "rest_router.py"),
    ] {
        let answer = tell(&scene, method, path, &body);
        assert!(answer.is_problem(status, words), "{method} {path} {body}: {answer:?}");
    }
    assert_eq!(scene.get("/api/v1/static-flows")["total"], 0);
    assert!(flows(&scene).is_empty());
}

#[test]
fn a_switch_that_cannot_forward_by_itself_is_no_firewall_without_a_second_table() {
    let folder = Folder::new("ryu-rules-unforwarding");
    let scene = scene(Version::V10, &folder.file("store"));
    let refused = tell(&scene, "PUT", "/firewall/module/enable/all", &json!({}));
    assert!(refused.is_problem(400, "OFPBAC_BAD_OUT_PORT"), "{refused:?}");
    assert_eq!(scene.get("/api/v1/static-flows")["total"], 0);
    scene.when("/stats/flow/1", |_| flows(&scene).is_empty());
    assert_eq!(scene.get("/firewall/module/status")[0]["status"], "disable");
}

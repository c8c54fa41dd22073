//! The way of a packet, over links that were found and flows that are there.

use std::process::Command;

use aldis_wire::Version;
use serde_json::{Value, json};

use super::{Network, post, put, serving, when};

#[test]
fn the_way_of_a_packet_is_told_hop_by_hop() {
    let (controller, api) = serving(&[]);
    let _network = Network::start(&controller, Version::V13, "linear,2", &[]);
    let links = when(&api, "/api/v1/links?state=up", |page| page["total"] == 1);
    let ends = [&links["items"][0]["a"]["port"], &links["items"][0]["b"]["port"]];
    let ends = ends.map(|port| port.as_u64().unwrap());
    let [host_1, host_2] = ends.map(|port| if port == 1 { 2 } else { 1 });
    let to = "02:00:00:00:00:99";
    let output = |port: u64| format!("output:{port}");
    let flows = json!({"set": [
        {"name": "there", "switch": 1, "priority": 900, "match": {"eth_dst": to},
         "actions": ["push-vlan:0x8100", "set-field:vlan_vid=7", output(ends[0])]},
        {"name": "less", "switch": 2, "priority": 800, "match": {"eth_dst": to}},
        {"name": "on", "switch": 2, "priority": 900, "match": {"vlan_vid": 7}, "actions": ["pop-vlan", output(host_2)]},
    ]});
    assert_eq!(post(&api, "/api/v1/static-flows", &flows).status, 200);
    for name in ["there", "less", "on"] {
        when(&api, &format!("/api/v1/static-flows/{name}"), |flow| flow["there"] == 1);
    }
    let question = json!({"switch": 1, "port": host_1, "packet": {"eth_dst": to}});
    let answer = post(&api, "/api/v1/trace", &question);
    assert_eq!(answer.status, 200, "{answer:?}");
    let trace = answer.json();
    let hops = trace["hops"].as_array().unwrap();
    assert_eq!(hops.len(), 2, "{trace}");
    assert_eq!(hops[0]["tables"][0]["flow"]["priority"], 900);
    let on = json!([{"port": ends[0].to_string(), "maybe": false, "to": {"hop": 1}}]);
    assert_eq!(hops[0]["out"], on, "{trace}");
    assert_eq!(hops[1]["switch"], "0000000000000002");
    assert_eq!(hops[1]["packet"]["vlan_vid"], "7");
    assert_eq!(hops[1]["out"][0]["port"], host_2.to_string());
    assert_eq!(hops[1]["out"][0]["to"], "nobody", "{trace}");
    for (body, status, words) in [
        (json!({"switch": 9, "port": 1}), 404, "0000000000000009 is not connected"),
        (json!({"switch": 1, "port": 77}), 422, "has no port 77"),
        (json!({"switch": 1, "port": 1, "packet": {"ipv4_dst": "10.0.0.0/8"}}), 422, "ipv4_dst"),
        (json!({"switch": 1, "port": 1, "packet": {"colour": "red"}}), 422, "packet: colour"),
    ] {
        let answer = post(&api, "/api/v1/trace", &body);
        assert!(answer.is_problem(status, words), "{body}: {answer:?}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    let (url, port) = (format!("http://{}", api.address), host_1.to_string());
    command.args(["trace", "1", &port, &format!("eth_dst={to}"), "--http", &url]);
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(said.contains("table 0: priority 900 eth_dst=02:00:00:00:00:99 → push-vlan"), "{said}");
    assert!(said.ends_with(&format!("   out {host_2} → nobody who is known\n")), "{said}");
    let rule = json!({"switch": "*", "priority": 900, "match": {"eth_src": to}, "actions": ["output:in-port"]});
    assert_eq!(put(&api, "/api/v1/static-flows/back", &rule).status, 200);
    when(&api, "/api/v1/static-flows/back", |flow: &Value| flow["there"] == 2);
    let question = json!({"switch": 1, "port": ends[0], "packet": {"eth_src": to}});
    let trace = post(&api, "/api/v1/trace", &question).json();
    assert_eq!(trace["hops"][1]["out"][0]["to"], json!({"loop": 0}), "{trace}");
}

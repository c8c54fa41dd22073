//! An example of each body that something is told with. A test has ours read as the server reads
//! them.

use serde_json::{Value, json};
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::Operation;

/// A flow as Ryu's scripts write it.
fn ryu_flow() -> Value {
    json!({
        "dpid": 1, "priority": 100, "match": {"in_port": 1, "eth_type": 2048},
        "actions": [{"type": "OUTPUT", "port": 2}]
    })
}

/// An entry as Floodlight's scripts write it.
fn floodlight_entry() -> Value {
    json!({
        "switch": "00:00:00:00:00:00:00:01", "name": "uplink", "priority": "100", "in_port": "1",
        "active": "true", "actions": "output=2"
    })
}

/// The example for a method, in small letters, and a path; none where nothing is told.
pub(super) fn of(method: &str, path: &str) -> Option<Value> {
    let flow = json!({
        "match": {"ipv4_dst": "10.0.0.0/8", "in_port": 1}, "priority": 100, "actions": ["output:2"]
    });
    let rule = json!({
        "action": "deny", "match": {"ipv4_dst": "10.0.0.9", "tcp_dst": 23}, "switches": ["1-9"]
    });
    Some(match (method, path) {
        ("put", "/api/v1/acl") => json!({"rules": [with("name", "no telnet", rule)]}),
        ("put", "/api/v1/acl/{name}") => rule,
        ("post", "/api/v1/flows") => json!({"flows": [with("switch", "1", flow)]}),
        ("post", "/api/v1/switches/{dpid}/flows") => json!({"flows": [flow]}),
        ("put", "/api/v1/guests/{name}") => json!({
            "connect": "127.0.0.1:6654", "switches": ["1-4"], "match": {"vlan_vid": 10},
            "tables": "10-19", "priorities": "100-200"
        }),
        ("put", "/api/v1/names/{dpid}") => json!({"name": "core, rack 3"}),
        ("post", "/api/v1/static-flows") => json!({
            "set": [with("name", "uplink", with("switch", "1-9", flow))], "remove": ["old"]
        }),
        ("put", "/api/v1/static-flows/{name}") => with("switch", "1-9", flow),
        ("post", "/api/v1/trace") => json!({
            "switch": "1", "port": "1",
            "packet": {"ipv4_src": "10.0.0.1", "ipv4_dst": "10.0.0.2", "tcp_dst": 80}
        }),
        ("put", "/api/v1/design") => json!({"knobs": {"bdu-us": 300}}),
        ("put", "/api/v1/sequences/{on}") => json!({"apps": ["hosts", "learning-switch"]}),
        ("put", "/api/v1/weights") => json!({"rules": [{"switches": "1", "weight": 4}]}),
        ("post" | "delete", path) => return foreign(method, path),
        _ => return None,
    })
}

fn with(key: &str, value: &str, mut object: Value) -> Value {
    object[key] = value.into();
    object
}

/// In the words of other controllers.
fn foreign(method: &str, path: &str) -> Option<Value> {
    let group = json!({
        "dpid": 1, "type": "ALL", "group_id": 1,
        "buckets": [{"actions": [{"type": "OUTPUT", "port": 1}]}, {"actions": [{"type": "OUTPUT", "port": 2}]}]
    });
    let meter = json!({
        "dpid": 1, "flags": "KBPS", "meter_id": 1, "bands": [{"type": "DROP", "rate": 1000}]
    });
    Some(match (method, path) {
        (
            "post",
            "/stats/flow/{dpid}" | "/stats/flowdesc/{dpid}" | "/stats/aggregateflow/{dpid}",
        ) => {
            json!({"table_id": 0, "match": {"in_port": 1}})
        }
        (
            "post",
            "/stats/flowentry/add" | "/stats/flowentry/modify" | "/stats/flowentry/modify_strict",
        ) => ryu_flow(),
        ("post", "/stats/flowentry/delete" | "/stats/flowentry/delete_strict") => {
            json!({"dpid": 1, "priority": 100, "match": {"in_port": 1, "eth_type": 2048}})
        }
        ("post", "/stats/groupentry/add" | "/stats/groupentry/modify") => group,
        ("post", "/stats/groupentry/delete") => json!({"dpid": 1, "group_id": 1}),
        ("post", "/stats/meterentry/add" | "/stats/meterentry/modify") => meter,
        ("post", "/stats/meterentry/delete") => json!({"dpid": 1, "meter_id": 1}),
        ("post", "/stats/portdesc/modify") => {
            json!({"dpid": 1, "port_no": 1, "config": 1, "mask": 1})
        }
        ("post", "/stats/role") => json!({"dpid": 1, "role": "MASTER"}),
        ("post", "/stats/experimenter/{dpid}") => {
            json!({"dpid": 1, "experimenter": 8992, "exp_type": 0, "data_type": "ascii", "data": "data"})
        }
        (
            "post",
            "/wm/staticentrypusher/json"
            | "/wm/staticflowentrypusher/json"
            | "/wm/staticflowpusher/json",
        ) => floodlight_entry(),
        (
            "delete",
            "/wm/staticentrypusher/json"
            | "/wm/staticflowentrypusher/json"
            | "/wm/staticflowpusher/json",
        ) => {
            json!({"name": "uplink"})
        }
        _ => return rule(method, path),
    })
}

/// Rules of Ryu's and Floodlight's firewalls, and their like.
fn rule(method: &str, path: &str) -> Option<Value> {
    Some(match (method, path) {
        ("post", "/firewall/rules/{switchid}" | "/firewall/rules/{switchid}/{vlanid}") => {
            json!({"nw_src": "10.0.0.1/32", "nw_dst": "10.0.0.2/32", "nw_proto": "ICMP"})
        }
        ("delete", "/firewall/rules/{switchid}" | "/firewall/rules/{switchid}/{vlanid}") => {
            json!({"rule_id": "1"})
        }
        ("post", "/qos/rules/{switchid}" | "/qos/rules/{switchid}/{vlanid}") => json!({
            "match": {"nw_dst": "10.0.0.1", "nw_proto": "UDP", "tp_dst": "5002"},
            "actions": {"queue": "1"}
        }),
        ("delete", "/qos/rules/{switchid}" | "/qos/rules/{switchid}/{vlanid}") => {
            json!({"qos_id": "1"})
        }
        ("post", "/qos/meter/{switchid}") => {
            json!({"meter_id": "1", "flags": "KBPS", "bands": [{"type": "DROP", "rate": "10000"}]})
        }
        ("delete", "/qos/meter/{switchid}") => json!({"meter_id": "1"}),
        ("post", "/wm/acl/rules/json") => {
            json!({"src-ip": "10.0.0.1/32", "dst-ip": "10.0.0.2/32", "action": "deny"})
        }
        ("post", "/wm/firewall/rules/json") => {
            json!({"src-ip": "10.0.0.1/32", "dst-ip": "10.0.0.2/32", "priority": "10"})
        }
        ("delete", "/wm/acl/rules/json" | "/wm/firewall/rules/json") => json!({"ruleid": "1"}),
        _ => return None,
    })
}

/// Puts them into the document.
pub(super) fn add(document: &mut OpenApi) {
    for (path, item) in &mut document.paths.paths {
        let told = [("put", &mut item.put), ("post", &mut item.post), ("delete", &mut item.delete)];
        for (method, operation) in told {
            if let (Some(operation), Some(example)) = (operation, of(method, path)) {
                show(operation, &example);
            }
        }
    }
}

fn show(operation: &mut Operation, example: &Value) {
    let contents = operation.request_body.iter_mut().flat_map(|body| body.content.values_mut());
    contents.for_each(|content| content.example = Some(example.clone()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::acl::{self, NewAcl};
    use crate::api::apps::Order;
    use crate::api::flows::Changes;
    use crate::api::guests::spec;
    use crate::api::names::NewName;
    use crate::api::static_flows::{StaticFlowChanges, named};
    use crate::api::trace::Question;
    use crate::api::weights::{DesignChange, Rules};
    use crate::extract::parse;

    #[test]
    fn every_body_has_an_example() {
        let document = serde_json::to_value(crate::openapi::document::document()).unwrap();
        let mut told = 0;
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let body = &operation["requestBody"]["content"];
                let kinds = body.as_object().into_iter().flatten();
                let json = kinds.filter(|(kind, _)| *kind == "application/json");
                for (_, content) in json {
                    assert!(content["example"].is_object(), "{method} {path}: {content}");
                    told += 1;
                }
            }
        }
        assert!(told > 25, "{told}");
    }

    /// As the server reads them.
    #[test]
    fn our_examples_are_understood() {
        fn read<T: serde::de::DeserializeOwned>(method: &str, path: &str) -> T {
            let example = of(method, path).unwrap_or_else(|| panic!("{method} {path}"));
            parse(example.to_string().as_bytes()).unwrap_or_else(|why| panic!("{path}: {why:?}"))
        }
        for value in read::<NewAcl>("put", "/api/v1/acl").rules {
            assert_eq!(*acl::rule(value).unwrap().0.name, *"no telnet");
        }
        acl::rule(read("put", "/api/v1/acl/{name}")).unwrap();
        read::<Changes>("post", "/api/v1/flows");
        read::<Changes>("post", "/api/v1/switches/{dpid}/flows");
        spec("lab-3", read("put", "/api/v1/guests/{name}")).unwrap();
        read::<NewName>("put", "/api/v1/names/{dpid}");
        let changes: StaticFlowChanges = read("post", "/api/v1/static-flows");
        assert_eq!((changes.set.len(), changes.remove.len()), (1, 1));
        named(read("put", "/api/v1/static-flows/{name}"), "x").unwrap();
        read::<Question>("post", "/api/v1/trace");
        read::<Order>("put", "/api/v1/sequences/{on}");
        read::<DesignChange>("put", "/api/v1/design");
        read::<Rules>("put", "/api/v1/weights");
    }
}

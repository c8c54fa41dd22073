use std::sync::Arc;

use aldis_wire::msg::PortNo;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::acl::{Rule, Verdict};
use crate::static_flows::StaticFlow;

fn flow(json: Value) -> Result<StaticFlow, String> {
    serde_json::from_value(json).map_err(|why| why.to_string())
}

fn rule(json: Value) -> Result<Rule, String> {
    serde_json::from_value(json).map_err(|why| why.to_string())
}

#[test]
fn a_flow_is_spelled_in_one_way_and_read_in_several() {
    let said = json!({
        "name": "a", "switch": 7, "match": {"tcp-dst": 80, "ipv4_dst": "10.9.9.7/8"},
        "then": ["goto-table:0x5", "write:group:9", "clear", "meter:4"], "actions": ["OUTPUT:2"],
    });
    let shown = json!({
        "name": "a", "switch": "0000000000000007", "priority": 32768,
        "match": {"eth_type": "0x0800", "ip_proto": "6", "ipv4_dst": "10.0.0.0/8", "tcp_dst": "80"},
        "actions": ["output:2"], "then": ["meter:4", "clear", "write:group:9", "goto-table:5"],
    });
    let flow = flow(said).unwrap();
    assert_eq!(serde_json::to_value(&flow).unwrap(), shown);
    assert_eq!(serde_json::from_value::<StaticFlow>(shown).unwrap(), flow);
}

#[test]
fn a_rule_is_spelled_in_one_way_and_read_in_several() {
    for (said, shown, verdict) in [
        (json!({"action": "allow"}), json!({"action": "allow"}), Verdict::Allow),
        (json!({"action": "deny"}), json!({"action": "deny"}), Verdict::Deny),
        (
            json!({"action": "mirror", "mirror-to": 4}),
            json!({"action": "mirror", "mirror_to": "4"}),
            Verdict::Mirror(PortNo(4)),
        ),
        (
            json!({"action": "mirror", "mirror_to": "LOCAL"}),
            json!({"action": "mirror", "mirror_to": "local"}),
            Verdict::Mirror(PortNo::LOCAL),
        ),
    ] {
        let read = rule(said).unwrap();
        assert_eq!(read.verdict, verdict);
        let mut whole = json!({"name": "", "match": {}, "switches": []});
        whole.as_object_mut().unwrap().extend(shown.as_object().unwrap().clone());
        assert_eq!(serde_json::to_value(&read).unwrap(), whole);
        assert_eq!(rule(whole).unwrap(), read);
    }
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    for (json, words) in [
        (json!({"switch": 1, "match": {"in_port": -1}}), "a text or a number"),
        (json!({"switch": 1, "actions": ["fly"]}), "accepted: output:PORT"),
        (json!({"switch": 1, "then": ["goto-table:255"]}), "accepted: write:ACTION"),
        (json!({"switch": 1, "colour": 1}), "unknown field `colour`"),
        (json!({}), "missing field `switch`"),
    ] {
        let refused = flow(json.clone()).unwrap_err();
        assert!(refused.contains(words), "{json}: {refused}");
    }
    for (json, words) in [
        (json!({"action": "mirror"}), "needs mirror_to"),
        (json!({"action": "deny", "mirror_to": 1}), "\"mirror\" only"),
        (json!({"action": "mirror", "mirror_to": "flood"}), "no port for copies"),
        (json!({"action": "burn"}), "unknown variant `burn`"),
    ] {
        let refused = rule(json.clone()).unwrap_err();
        assert!(refused.contains(words), "{json}: {refused}");
    }
}

fn then() -> impl Strategy<Value = Then> {
    prop_oneof![
        (1..1000_u32).prop_map(|port| Then::Write(Action::output(PortNo(port)))),
        Just(Then::Instruction(Instruction::ClearActions(vec![]))),
        (1..255_u8).prop_map(|to| Then::Instruction(Instruction::GotoTable(TableNo(to)))),
        (1..1000_u32).prop_map(|meter| Then::Instruction(Instruction::Meter(MeterNo(meter)))),
        (any::<u64>(), any::<u64>()).prop_map(|(metadata, mask)| {
            Then::Instruction(Instruction::WriteMetadata { metadata, mask })
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_spelled_is_read_again(
        ports in prop::collection::vec(1..1000_u32, 0..3),
        then in prop::collection::vec(then(), 0..5),
        table in prop::option::of(0..255_u8),
        dpid: u64,
        in_port in prop::option::of(1..1000_u32),
    ) {
        let actions = ports.into_iter().map(|port| Spelled(Action::output(PortNo(port))));
        let in_port = in_port.map(|port| Field::InPort(PortNo(port)));
        let flow = StaticFlow {
            name: Arc::from("a"),
            switches: dpid.to_string().parse().unwrap(),
            table: table.map(TableNo),
            priority: 7,
            match_: Match { fields: in_port.into_iter().collect() },
            instructions: instructions(actions.collect(), then.into_iter().map(Spelled).collect()),
        };
        let json = serde_json::to_string(&flow).unwrap();
        prop_assert_eq!(serde_json::from_str::<StaticFlow>(&json).unwrap(), flow, "{}", json);
    }
}

//! Datapath ids, matches and actions as Floodlight writes them.

use aldis_wire::msg::{Action, Field, Instruction, Match, PortNo};
use aldis_wire::v10::{self, convert};
use aldis_wire::{DatapathId, Version};
use serde_json::{Map, Value, json};

use crate::compat::ryu::fields::name_and_value;

/// `00:00:00:00:00:00:00:01`.
pub(super) fn dpid(DatapathId(number): DatapathId) -> String {
    let octets = number.to_be_bytes().map(|octet| format!("{octet:02x}"));
    octets.join(":")
}

/// `OF_13`.
pub(super) fn version(version: Version) -> &'static str {
    match version {
        Version::V10 => "OF_10",
        Version::V13 => "OF_13",
    }
}

/// A port, by its name where it is a reserved one.
pub(super) fn port(number: PortNo) -> String {
    match number.name() {
        Some(name) => name.to_ascii_lowercase(),
        None => number.0.to_string(),
    }
}

/// With every number as text, as Floodlight has them in statistics and entries.
pub(super) fn quoted(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::String(number.to_string()),
        Value::Array(all) => Value::Array(all.into_iter().map(quoted).collect()),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, value)| (key, quoted(value))).collect())
        }
        other => other,
    }
}

pub(super) fn matching(match_: &Match) -> Value {
    let mut map = Map::new();
    for field in &match_.fields {
        let (name, value) = name_and_value(field);
        let (name, text) = match field {
            Field::InPort(number) | Field::InPhyPort(number) => (name, port(*number)),
            Field::EthType(kind) => (name, format!("{kind:#x}")),
            Field::IpProto(proto) => (name, format!("{proto:#x}")),
            Field::ArpOp(op) => ("arp_opcode".into(), op.to_string()),
            Field::VlanVid(vid) => (
                "eth_vlan_vid".into(),
                match vid.mask {
                    Some(mask) => format!("{:#x}/{mask:#x}", vid.value),
                    None => format!("{:#x}", vid.value),
                },
            ),
            Field::VlanPcp(pcp) => ("eth_vlan_pcp".into(), pcp.to_string()),
            Field::Ipv6Flabel(_) => ("ipv6_label".into(), plain(&value)),
            _ => (name, plain(&value)),
        };
        map.insert(name, text.into());
    }
    Value::Object(map)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a flow does: the actions of 1.0, or the instructions of 1.3.
pub(super) fn does(
    instructions: &[Instruction],
    match_: &Match,
    version: Version,
) -> (&'static str, Value) {
    match (version, instructions) {
        (Version::V10, [Instruction::ApplyActions(all)]) => {
            ("actions", json!({ "actions": actions(all, match_, version) }))
        }
        (Version::V10, _) => ("actions", json!({ "none": "drop" })),
        (Version::V13, []) => ("instructions", json!({ "none": "drop" })),
        (Version::V13, all) => {
            let shown = all.iter().map(|one| instruction(one, match_));
            ("instructions", Value::Object(shown.collect()))
        }
    }
}

fn instruction(instruction: &Instruction, match_: &Match) -> (String, Value) {
    let text = |all: &[Action]| match all {
        [] => json!({ "none": "drop" }),
        all => json!({ "actions": actions(all, match_, Version::V13) }),
    };
    let (name, value) = match instruction {
        Instruction::ApplyActions(all) => ("instruction_apply_actions", text(all)),
        Instruction::WriteActions(all) => ("instruction_write_actions", text(all)),
        Instruction::ClearActions(_) => ("instruction_clear_actions", json!({})),
        Instruction::GotoTable(table) => ("instruction_goto_table", json!({ "table_id": table.0 })),
        Instruction::Meter(meter) => ("instruction_goto_meter", json!({ "meter_id": meter.0 })),
        Instruction::WriteMetadata { metadata, mask } => {
            ("instruction_write_metadata", json!({ "metadata": metadata, "mask": mask }))
        }
        Instruction::Experimenter { experimenter, .. } => {
            ("instruction_experimenter", json!({ "experimenter": experimenter }))
        }
        Instruction::Unknown { kind, .. } => ("unknown", json!({ "type": kind.0 })),
    };
    (name.into(), value)
}

/// Actions, with commas between them; what is shown can be said again.
pub(super) fn actions(actions: &[Action], match_: &Match, version: Version) -> String {
    let exact = match version {
        Version::V10 => convert::actions_from_neutral(actions, convert::Packet::matching(match_)),
        Version::V13 => Ok(vec![]),
    };
    let texts: Vec<String> = match (version, exact) {
        (Version::V10, Ok(exact)) => exact.iter().map(action_10).collect(),
        _ => actions.iter().map(action_13).collect(),
    };
    texts.join(",")
}

fn action_10(action: &v10::Action) -> String {
    use v10::Action::*;
    let number = |number: v10::PortNo| port(PortNo(number.widen()));
    match action {
        Output { port, .. } => format!("output={}", number(*port)),
        SetVlanVid(vid) => format!("set_vlan_vid={vid}"),
        SetVlanPcp(pcp) => format!("set_vlan_pcp={pcp}"),
        StripVlan => "strip_vlan".into(),
        SetDlSrc(mac) => format!("set_eth_src={mac}"),
        SetDlDst(mac) => format!("set_eth_dst={mac}"),
        SetNwSrc(ip) => format!("set_ipv4_src={ip}"),
        SetNwDst(ip) => format!("set_ipv4_dst={ip}"),
        SetNwTos(tos) => format!("set_ip_tos={tos}"),
        SetTpSrc(tp) => format!("set_tp_src={tp}"),
        SetTpDst(tp) => format!("set_tp_dst={tp}"),
        Enqueue { port, queue_id } => format!("enqueue={}:{queue_id}", number(*port)),
        Vendor { vendor, .. } => format!("experimenter={vendor}"),
        Unknown { kind, .. } => format!("unknown={}", kind.0),
    }
}

fn action_13(action: &Action) -> String {
    match action {
        Action::Output { port: number, .. } => format!("output={}", port(*number)),
        Action::CopyTtlOut => "copy_ip_ttl_out".into(),
        Action::CopyTtlIn => "copy_ip_ttl_in".into(),
        Action::SetMplsTtl(ttl) => format!("set_mpls_ttl={ttl}"),
        Action::DecMplsTtl => "dec_mpls_ttl".into(),
        Action::PushVlan(kind) => format!("push_vlan={kind:#x}"),
        Action::PopVlan => "pop_vlan".into(),
        Action::PushMpls(kind) => format!("push_mpls={kind:#x}"),
        Action::PopMpls(kind) => format!("pop_mpls={kind:#x}"),
        Action::SetQueue(queue) => format!("set_queue={}", queue.0),
        Action::Group(group) => format!("group={}", group.0),
        Action::SetNwTtl(ttl) => format!("set_ip_ttl={ttl}"),
        Action::DecNwTtl => "dec_ip_ttl".into(),
        Action::SetField(field) => {
            let shown = matching(&Match { fields: vec![field.clone()] });
            let one = shown.as_object().and_then(|map| map.iter().next());
            one.map_or_else(String::new, |(name, value)| {
                format!("set_field={name}->{}", plain(value))
            })
        }
        Action::PushPbb(kind) => format!("push_pbb={kind:#x}"),
        Action::PopPbb => "pop_pbb".into(),
        Action::Experimenter { experimenter, .. } => format!("experimenter={experimenter}"),
        Action::Unknown { kind, .. } => format!("unknown={}", kind.0),
    }
}

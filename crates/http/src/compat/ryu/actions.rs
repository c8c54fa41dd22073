//! Actions and instructions as Ryu has them: dicts where they are asked for, text where they are
//! shown.
//!
//! The actions of 1.0 (`SET_VLAN_VID`, `ENQUEUE`) and those of 1.3 (`PUSH_VLAN`, `SET_FIELD`) are
//! both read for either version; what the switch's version cannot say is refused when it is to be
//! sent.

use aldis_wire::msg::{
    Action, Field, GroupNo, Instruction, Masked, Match, MeterNo, PortNo, QueueNo, TableNo,
};
use aldis_wire::v10::{self, convert};
use aldis_wire::{MacAddr, Version};
use base64ct::{Base64, Encoding};
use serde_json::Value;

use super::body::{Dict, ReservedNames, beginning, wrong};
use super::fields::name_and_value;
use super::names::{GROUPS, LENGTHS, METERS, PORTS_13, QUEUES, TABLES, port, ports};
use crate::problem::Problem;

const VID_PRESENT: u16 = 0x1000;

/// How much of a packet an output to the controller takes where nothing is said (`OFPCML_MAX`).
const LENGTH: u32 = 0xffe5;

/// The field `actions` of a body as instructions, in the order in which a switch carries them out;
/// or its field `instructions`, which Ryu has for OpenFlow 1.4, where `APPLY_ACTIONS` stands around
/// what is done at once. Ryu would leave that out for an older version, and the flow would drop.
///
/// # Errors
/// One that is not known, which Ryu would leave out, or what it needs is missing; both fields.
pub(crate) fn instructions(
    body: &Dict<'_>,
    match_: &Match,
    version: Version,
) -> Result<Vec<Instruction>, Problem> {
    let (mut all, mut apply) = (vec![], vec![]);
    match (body.field("actions"), body.field("instructions")) {
        (Some(_), Some(_)) => {
            let detail = "actions, instructions: both say what is done; write one of them";
            return Err(Problem::bad("bad-field", detail));
        }
        (None, Some(_)) => {
            for dict in body.dicts("instructions")? {
                all.push(enclosed(&dict, match_, version)?);
            }
        }
        (_, None) => {
            for dict in body.dicts("actions")? {
                match instruction(&dict, match_, version)? {
                    Some(instruction) => all.push(instruction),
                    None => apply.push(dict),
                }
            }
        }
    }
    if !apply.is_empty() {
        all.push(Instruction::ApplyActions(actions(&apply, match_, version)?));
    }
    all.sort_by_key(|instruction| match instruction {
        Instruction::Meter(_) => 0,
        Instruction::ApplyActions(_) => 1,
        Instruction::ClearActions(_) => 2,
        Instruction::WriteActions(_) => 3,
        _ => 4,
    });
    Ok(all)
}

/// One of `instructions`.
fn enclosed(dict: &Dict<'_>, match_: &Match, version: Version) -> Result<Instruction, Problem> {
    let kind = dict.text("type")?;
    if kind == "APPLY_ACTIONS" {
        let all = actions(&dict.dicts("actions")?, match_, version)?;
        return Ok(Instruction::ApplyActions(all));
    }
    instruction(dict, match_, version)?.ok_or_else(|| {
        let (at, kind) = (dict.named("type"), beginning(kind));
        let others = "GOTO_TABLE, WRITE_METADATA, WRITE_ACTIONS, CLEAR_ACTIONS, METER";
        let apply = r#"{"type": "APPLY_ACTIONS", "actions": […]}"#;
        let detail = format!(
            "{at}: {kind:?} is no instruction of OpenFlow 1.3; there are {others}, and {apply} around actions"
        );
        Problem::bad("bad-field", detail)
    })
}

/// One that is no action.
fn instruction(
    dict: &Dict<'_>,
    match_: &Match,
    version: Version,
) -> Result<Option<Instruction>, Problem> {
    Ok(Some(match dict.text("type")? {
        "WRITE_ACTIONS" => {
            Instruction::WriteActions(actions(&dict.dicts("actions")?, match_, version)?)
        }
        "CLEAR_ACTIONS" => Instruction::ClearActions(vec![]),
        "GOTO_TABLE" => Instruction::GotoTable(TableNo(needed(dict, "table_id", &TABLES)? as u8)),
        "WRITE_METADATA" => Instruction::WriteMetadata {
            metadata: dict.needed("metadata", u64::MAX)?,
            mask: dict.number("metadata_mask", u64::MAX, u64::MAX)?,
        },
        "METER" => Instruction::Meter(MeterNo(needed(dict, "meter_id", &METERS)?)),
        _ => return Ok(None),
    }))
}

/// Actions of a flow with this match, or of a bucket.
///
/// # Errors
/// As [`instructions`].
pub(crate) fn actions(
    dicts: &[Dict<'_>],
    match_: &Match,
    version: Version,
) -> Result<Vec<Action>, Problem> {
    let packet = convert::Packet::matching(match_);
    let old = dicts.iter().map(|dict| action_10(dict, version)).collect::<Result<Vec<_>, _>>()?;
    if version == Version::V10
        && let Some(all) = old.iter().cloned().collect::<Option<Vec<_>>>()
        && let Some(neutral) = convert::actions_to_neutral(&all, packet)
    {
        return Ok(neutral);
    }
    let mut neutral = vec![];
    for (dict, old) in dicts.iter().zip(old) {
        let one = old.filter(|old| !matches!(old, v10::Action::Output { .. }));
        match one.and_then(|one| convert::actions_to_neutral(&[one], packet)) {
            Some(several) => neutral.extend(several),
            None => neutral.push(action_13(dict, version)?),
        }
    }
    Ok(neutral)
}

fn needed(dict: &Dict<'_>, key: &str, names: &ReservedNames<'_>) -> Result<u32, Problem> {
    match dict.field(key) {
        Some(_) => dict.reserved(key, 0, names),
        None => dict.needed(key, u32::MAX.into()).map(|_| 0),
    }
}

fn output_port(dict: &Dict<'_>, version: Version) -> Result<PortNo, Problem> {
    let Some(value) = dict.field("port") else { return Ok(PortNo::ANY) };
    port(value, version).ok_or_else(|| wrong(&dict.named("port"), value, "a port"))
}

/// An action that 1.0 has, by the name that it has there.
fn action_10(dict: &Dict<'_>, version: Version) -> Result<Option<v10::Action>, Problem> {
    use v10::Action::*;
    let narrow = |port: PortNo| {
        let narrow = v10::PortNo::narrow(port.0);
        narrow.ok_or_else(|| wrong(&dict.named("port"), &port.0.into(), "0 to 65535"))
    };
    let port = |number: u64| number as u16;
    Ok(Some(match dict.text("type")? {
        "OUTPUT" if version == Version::V10 => Output {
            port: narrow(output_port(dict, version)?)?,
            max_len: dict.reserved("max_len", LENGTH, &LENGTHS)? as u16,
        },
        "SET_VLAN_VID" => SetVlanVid(port(dict.number("vlan_vid", 0xffff, 0xffff)?)),
        "SET_VLAN_PCP" => SetVlanPcp(dict.number("vlan_pcp", 0, 7)? as u8),
        "STRIP_VLAN" => StripVlan,
        "SET_DL_SRC" => SetDlSrc(mac(dict, "dl_src")?),
        "SET_DL_DST" => SetDlDst(mac(dict, "dl_dst")?),
        "SET_NW_SRC" => SetNwSrc(ip(dict, "nw_src")?),
        "SET_NW_DST" => SetNwDst(ip(dict, "nw_dst")?),
        "SET_NW_TOS" => SetNwTos(dict.number("nw_tos", 0, 255)? as u8),
        "SET_TP_SRC" => SetTpSrc(port(dict.number("tp_src", 0, 0xffff)?)),
        "SET_TP_DST" => SetTpDst(port(dict.number("tp_dst", 0, 0xffff)?)),
        "ENQUEUE" => Enqueue {
            port: narrow(output_port(dict, version)?)?,
            queue_id: dict.reserved("queue_id", 0, &QUEUES)?,
        },
        _ => return Ok(None),
    }))
}

fn mac(dict: &Dict<'_>, key: &str) -> Result<MacAddr, Problem> {
    let text = dict.text(key)?;
    text.parse()
        .map_err(|_| wrong(&dict.named(key), &text.into(), "an address such as 02:00:00:00:00:01"))
}

fn ip(dict: &Dict<'_>, key: &str) -> Result<std::net::Ipv4Addr, Problem> {
    let text = dict.text(key)?;
    text.parse().map_err(|_| wrong(&dict.named(key), &text.into(), "an address such as 10.0.0.1"))
}

fn action_13(dict: &Dict<'_>, version: Version) -> Result<Action, Problem> {
    let ethertype = || dict.needed("ethertype", 0xffff).map(|ethertype| ethertype as u16);
    Ok(match dict.text("type")? {
        "OUTPUT" => Action::Output {
            port: output_port(dict, version)?,
            max_len: dict.reserved("max_len", LENGTH, &LENGTHS)? as u16,
        },
        "COPY_TTL_OUT" => Action::CopyTtlOut,
        "COPY_TTL_IN" => Action::CopyTtlIn,
        "SET_MPLS_TTL" => Action::SetMplsTtl(dict.needed("mpls_ttl", 255)? as u8),
        "DEC_MPLS_TTL" => Action::DecMplsTtl,
        "PUSH_VLAN" => Action::PushVlan(ethertype()?),
        "POP_VLAN" => Action::PopVlan,
        "PUSH_MPLS" => Action::PushMpls(ethertype()?),
        "POP_MPLS" => Action::PopMpls(ethertype()?),
        "SET_QUEUE" => Action::SetQueue(QueueNo(needed(dict, "queue_id", &QUEUES)?)),
        "GROUP" => Action::Group(GroupNo(needed(dict, "group_id", &GROUPS)?)),
        "SET_NW_TTL" => Action::SetNwTtl(dict.needed("nw_ttl", 255)? as u8),
        "DEC_NW_TTL" => Action::DecNwTtl,
        "SET_FIELD" => Action::SetField(set_field(dict)?),
        "PUSH_PBB" => Action::PushPbb(ethertype()?),
        "POP_PBB" => Action::PopPbb,
        "EXPERIMENTER" => Action::Experimenter {
            experimenter: dict.needed("experimenter", u32::MAX.into())? as u32,
            body: data(dict)?,
        },
        other => {
            let detail = format!("{}: there is no {:?}", dict.named("type"), beginning(other));
            return Err(Problem::bad("bad-field", detail));
        }
    })
}

fn set_field(dict: &Dict<'_>) -> Result<Field, Problem> {
    let name = dict.text("field")?;
    let value = dict.field("value").unwrap_or(&Value::Null);
    let refused = |accepted: &str| wrong(&dict.named("value"), value, accepted);
    if name == "vlan_vid" {
        // The bit that says that there is a tag is always meant.
        let vid = super::body::whole(value).and_then(|vid| u16::try_from(vid).ok());
        let vid = vid.filter(|vid| *vid < 2 * VID_PRESENT).ok_or_else(|| refused("0 to 4095"))?;
        return Ok(Field::VlanVid(Masked::exact(vid | VID_PRESENT)));
    }
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err(refused("a number or a text")),
    };
    Field::named(name, &text).map_err(|why| match Field::NAMES.contains(&name) {
        true => refused(why.accepted),
        false => {
            let detail =
                format!("{}: there is no field {:?}", dict.named("field"), beginning(name));
            Problem::bad("bad-field", detail)
        }
    })
}

/// Bytes, as text or in base 64.
///
/// # Errors
/// They are neither.
pub(crate) fn data(dict: &Dict<'_>) -> Result<Vec<u8>, Problem> {
    let data = dict.field("data").map_or(Ok(""), |_| dict.text("data"))?;
    match dict.field("data_type").map_or(Ok("ascii"), |_| dict.text("data_type"))? {
        "ascii" => Ok(data.chars().map(|c| c as u32 as u8).collect()),
        "base64" => Base64::decode_vec(data)
            .map_err(|why| Problem::bad("bad-field", format!("{}: {why}", dict.named("data")))),
        other => Err(wrong(&dict.named("data_type"), &other.into(), "ascii or base64")),
    }
}

/// What a flow does, as Ryu shows it.
pub(crate) fn show_instructions(
    instructions: &[Instruction],
    match_: &Match,
    version: Version,
) -> Value {
    let mut shown: Vec<Value> = vec![];
    let texts = |actions: &[Action]| show(actions, match_, version);
    for instruction in instructions {
        match instruction {
            Instruction::ApplyActions(actions) => {
                shown.extend(texts(actions).into_iter().map(Value::from))
            }
            Instruction::WriteActions(actions) if actions.is_empty() => {}
            Instruction::WriteActions(actions) => {
                shown.push(serde_json::json!({ "WRITE_ACTIONS": texts(actions) }));
            }
            Instruction::ClearActions(_) => shown.push("CLEAR_ACTIONS".into()),
            Instruction::GotoTable(table) => {
                shown.push(format!("GOTO_TABLE:{}", plain(&super::names::table(*table))).into());
            }
            Instruction::WriteMetadata { metadata, mask: 0 } => {
                shown.push(format!("WRITE_METADATA:{metadata:#x}").into());
            }
            Instruction::WriteMetadata { metadata, mask } => {
                shown.push(format!("WRITE_METADATA:{metadata:#x}/{mask:#x}").into());
            }
            Instruction::Meter(meter) => {
                shown.push(format!("METER:{}", plain(&METERS.show(meter.0))).into());
            }
            Instruction::Experimenter { .. } | Instruction::Unknown { .. } => {}
        }
    }
    Value::Array(shown)
}

/// Actions, each as text.
pub(crate) fn show(actions: &[Action], match_: &Match, version: Version) -> Vec<String> {
    let packet = convert::Packet::matching(match_);
    match version {
        Version::V10 => match convert::actions_from_neutral(actions, packet) {
            Ok(exact) => exact.iter().map(show_10).collect(),
            Err(_) => actions.iter().map(show_13).collect(),
        },
        Version::V13 => actions.iter().map(show_13).collect(),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn show_10(action: &v10::Action) -> String {
    use v10::Action::*;
    let port = |port: v10::PortNo| plain(&ports(Version::V10).show(port.widen()));
    match action {
        Output { port: number, .. } => format!("OUTPUT:{}", port(*number)),
        SetVlanVid(vid) => format!("SET_VLAN_VID:{vid}"),
        SetVlanPcp(pcp) => format!("SET_VLAN_PCP:{pcp}"),
        StripVlan => "STRIP_VLAN".into(),
        SetDlSrc(mac) => format!("SET_DL_SRC:{mac}"),
        SetDlDst(mac) => format!("SET_DL_DST:{mac}"),
        SetNwSrc(ip) => format!("SET_NW_SRC:{ip}"),
        SetNwDst(ip) => format!("SET_NW_DST:{ip}"),
        SetNwTos(tos) => format!("SET_NW_TOS:{tos}"),
        SetTpSrc(number) => format!("SET_TP_SRC:{number}"),
        SetTpDst(number) => format!("SET_TP_DST:{number}"),
        Enqueue { port: number, queue_id } => {
            format!("ENQUEUE:{}:{}", port(*number), plain(&QUEUES.show(*queue_id)))
        }
        Vendor { .. } => "VENDOR".into(),
        Unknown { .. } => "UNKNOWN".into(),
    }
}

fn show_13(action: &Action) -> String {
    match action {
        Action::Output { port, .. } => format!("OUTPUT:{}", plain(&PORTS_13.show(port.0))),
        Action::CopyTtlOut => "COPY_TTL_OUT".into(),
        Action::CopyTtlIn => "COPY_TTL_IN".into(),
        Action::SetMplsTtl(ttl) => format!("SET_MPLS_TTL:{ttl}"),
        Action::DecMplsTtl => "DEC_MPLS_TTL".into(),
        Action::PushVlan(kind) => format!("PUSH_VLAN:{kind}"),
        Action::PopVlan => "POP_VLAN".into(),
        Action::PushMpls(kind) => format!("PUSH_MPLS:{kind}"),
        Action::PopMpls(kind) => format!("POP_MPLS:{kind}"),
        Action::SetQueue(queue) => format!("SET_QUEUE:{}", plain(&QUEUES.show(queue.0))),
        Action::Group(group) => format!("GROUP:{}", plain(&GROUPS.show(group.0))),
        Action::SetNwTtl(ttl) => format!("SET_NW_TTL:{ttl}"),
        Action::DecNwTtl => "DEC_NW_TTL".into(),
        Action::SetField(field) => {
            let (name, value) = name_and_value(field);
            format!("SET_FIELD: {{{name}:{}}}", plain(&value))
        }
        Action::PushPbb(kind) => format!("PUSH_PBB:{kind}"),
        Action::PopPbb => "POP_PBB".into(),
        Action::Experimenter { experimenter, body } => {
            let data = Base64::encode_string(body);
            format!("EXPERIMENTER: {{experimenter:{experimenter}, data:{data}}}")
        }
        Action::Unknown { .. } => "UNKNOWN".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::DictBody;
    use super::super::fields;
    use super::*;
    use serde_json::json;

    fn again(match_: Value, actions: Value, version: Version) -> Result<Value, String> {
        let body = json!({ "match": match_, "actions": actions }).to_string();
        let body = DictBody::read(body.as_bytes()).unwrap();
        let match_ = fields::read(&body.dict(), version).unwrap();
        let read = instructions(&body.dict(), &match_, version);
        read.map(|read| show_instructions(&read, &match_, version)).map_err(|why| why.detail)
    }

    #[test]
    fn actions_of_1_3_are_shown_as_text() {
        for (action, text) in [
            (json!({"type": "OUTPUT", "port": 2}), json!("OUTPUT:2")),
            (
                json!({"type": "OUTPUT", "port": "CONTROLLER", "max_len": "MAX"}),
                json!("OUTPUT:CONTROLLER"),
            ),
            (json!({"type": "OUTPUT", "port": 4294967291_u32}), json!("OUTPUT:FLOOD")),
            (json!({"type": "PUSH_VLAN", "ethertype": 33024}), json!("PUSH_VLAN:33024")),
            (
                json!({"type": "SET_FIELD", "field": "vlan_vid", "value": 4102}),
                json!("SET_FIELD: {vlan_vid:4102}"),
            ),
            (
                json!({"type": "SET_FIELD", "field": "eth_dst", "value": "02:00:00:00:00:01"}),
                json!("SET_FIELD: {eth_dst:02:00:00:00:00:01}"),
            ),
            (
                json!({"type": "SET_FIELD", "field": "ipv4_src", "value": "10.0.0.1"}),
                json!("SET_FIELD: {ipv4_src:10.0.0.1}"),
            ),
            (json!({"type": "POP_MPLS", "ethertype": "0x0800"}), json!("POP_MPLS:2048")),
            (json!({"type": "GROUP", "group_id": 1}), json!("GROUP:1")),
            (json!({"type": "SET_QUEUE", "queue_id": 7}), json!("SET_QUEUE:7")),
            (json!({"type": "DEC_NW_TTL"}), json!("DEC_NW_TTL")),
            (json!({"type": "GOTO_TABLE", "table_id": 8}), json!("GOTO_TABLE:8")),
            (json!({"type": "METER", "meter_id": 3}), json!("METER:3")),
            (json!({"type": "CLEAR_ACTIONS"}), json!("CLEAR_ACTIONS")),
            (
                json!({"type": "WRITE_METADATA", "metadata": 0x10, "metadata_mask": 0xff}),
                json!("WRITE_METADATA:0x10/0xff"),
            ),
            (
                json!({"type": "WRITE_ACTIONS", "actions": [{"type": "POP_VLAN"}]}),
                json!({"WRITE_ACTIONS": ["POP_VLAN"]}),
            ),
            (
                json!({"type": "EXPERIMENTER", "experimenter": 101, "data_type": "base64", "data": "AAECAwQFBgc="}),
                json!("EXPERIMENTER: {experimenter:101, data:AAECAwQFBgc=}"),
            ),
        ] {
            assert_eq!(
                again(json!({}), json!([action]), Version::V13),
                Ok(json!([text])),
                "{action}"
            );
        }
    }

    #[test]
    fn actions_of_1_0_are_shown_as_text() {
        for (action, text) in [
            (json!({"type": "OUTPUT", "port": 65533}), "OUTPUT:CONTROLLER"),
            (json!({"type": "SET_VLAN_VID", "vlan_vid": 5}), "SET_VLAN_VID:5"),
            (json!({"type": "SET_VLAN_PCP", "vlan_pcp": 3}), "SET_VLAN_PCP:3"),
            (json!({"type": "STRIP_VLAN"}), "STRIP_VLAN"),
            (
                json!({"type": "SET_DL_SRC", "dl_src": "02:00:00:00:00:01"}),
                "SET_DL_SRC:02:00:00:00:00:01",
            ),
            (json!({"type": "SET_NW_DST", "nw_dst": "10.0.0.1"}), "SET_NW_DST:10.0.0.1"),
            (json!({"type": "SET_NW_TOS", "nw_tos": 184}), "SET_NW_TOS:184"),
            (json!({"type": "SET_TP_SRC", "tp_src": 8080}), "SET_TP_SRC:8080"),
            (json!({"type": "ENQUEUE", "port": 3, "queue_id": 1}), "ENQUEUE:3:1"),
        ] {
            for match_ in [json!({}), json!({"nw_proto": 6, "dl_type": 2048, "dl_vlan": 65535})] {
                let shown =
                    again(match_, json!([action, {"type": "OUTPUT", "port": 1}]), Version::V10);
                assert_eq!(shown, Ok(json!([text, "OUTPUT:1"])), "{action}");
            }
        }
    }

    #[test]
    fn instructions_as_ryu_has_them_for_1_4_are_read() {
        let read = |body: Value, version| {
            let body = DictBody::read(body.to_string().as_bytes()).unwrap();
            let match_ = fields::read(&body.dict(), version).unwrap();
            let read = instructions(&body.dict(), &match_, version);
            read.map(|read| show_instructions(&read, &match_, version)).map_err(|why| why.detail)
        };
        let output = json!([{"type": "OUTPUT", "port": 2, "max_len": 65535}]);
        let apply = json!({"type": "APPLY_ACTIONS", "actions": output});
        for version in Version::ALL {
            let shown = read(json!({"instructions": [apply]}), version);
            assert_eq!(shown, Ok(json!(["OUTPUT:2"])), "{version}");
            let none = read(json!({"instructions": []}), version);
            assert_eq!(none, Ok(json!([])), "{version}");
        }
        let all = json!([
            {"type": "GOTO_TABLE", "table_id": 1}, {"type": "WRITE_METADATA", "metadata": 1, "metadata_mask": 3}, apply,
            {"type": "CLEAR_ACTIONS"}, {"type": "METER", "meter_id": 3}, {"type": "WRITE_ACTIONS", "actions": [{"type": "POP_VLAN"}]},
        ]);
        let expected = json!([
            "METER:3", "OUTPUT:2", "CLEAR_ACTIONS", {"WRITE_ACTIONS": ["POP_VLAN"]}, "GOTO_TABLE:1", "WRITE_METADATA:0x1/0x3",
        ]);
        assert_eq!(read(json!({"instructions": all}), Version::V13), Ok(expected));
        for (body, words) in [
            (
                json!({"instructions": [{"type": "OUTPUT", "port": 2}]}),
                "instructions[0].type: \"OUTPUT\" is no instruction of OpenFlow 1.3; there are GOTO_TABLE",
            ),
            (
                json!({"instructions": [apply, {"type": "STAT_TRIGGER"}]}),
                "{\"type\": \"APPLY_ACTIONS\", \"actions\": […]} around actions",
            ),
            (json!({"instructions": [apply], "actions": output}), "both say what is done"),
            (
                json!({"instructions": [{"type": "APPLY_ACTIONS", "actions": [{"type": "FLY"}]}]}),
                "instructions[0].actions[0].type: there is no \"FLY\"",
            ),
            (json!({"instructions": apply}), "instructions: {"),
            (json!({"instructions": [{}]}), "instructions[0].type"),
        ] {
            let refused = read(body, Version::V13).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused_and_not_left_out() {
        for (action, words) in [
            (json!({"type": "FLY"}), "actions[0].type: there is no \"FLY\""),
            (json!({}), "actions[0].type: it has to be there"),
            (json!({"type": "OUTPUT", "port": "nowhere"}), "actions[0].port"),
            (json!({"type": "PUSH_VLAN"}), "actions[0].ethertype: it has to be there"),
            (json!({"type": "SET_FIELD", "field": "eth_dts", "value": 1}), "no field \"eth_dts\""),
            (json!({"type": "SET_FIELD", "field": "ip_proto", "value": 256}), "0 to 255"),
            (json!({"type": "GOTO_TABLE"}), "actions[0].table_id"),
            (json!({"type": "SET_DL_SRC", "dl_src": "x"}), "actions[0].dl_src"),
            (
                json!({"type": "WRITE_ACTIONS", "actions": [{"type": "FLY"}]}),
                "actions[0].actions[0].type",
            ),
        ] {
            let refused = again(json!({}), json!([action]), Version::V13).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
